"""Counts of walks, log-odds and ranks, against enumeration and against exact inference."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import markovlogic as mln
from markovlogic.errors import InputError
from markovlogic.kernels.paths import CONSTANT, MEMBER, OPEN
from markovlogic.paths.graph import Graph, graph_of
from markovlogic.paths.reading import read_rules
from markovlogic.paths.rules import FIRST, PAIRS, SECOND, PathRule, Scratch, Target, targets_of
from markovlogic.problem.model import Model

NAMES = ("P", "Q", "R")
DECLARED = "P(thing, thing)\nQ(thing, thing)\nR(thing, thing)\nS(thing)\n"


def random_graph(seed: int, n: int = 5) -> tuple[Graph, dict[str, set[tuple[int, ...]]], str]:
    """Facts as a graph, as sets of numbers, and as text."""
    rng = np.random.default_rng(seed)
    facts: dict[str, set[tuple[int, ...]]] = {name: set() for name in (*NAMES, "S")}
    lines = []
    for name in NAMES:
        for x, y in itertools.product(range(n), repeat=2):
            if rng.random() < 0.3:
                facts[name].add((x, y))
                lines.append(f"{name}(C{x}, C{y})")
    for x in range(n):
        if rng.random() < 0.5:
            facts["S"].add((x,))
            lines.append(f"S(C{x})")
    text = f"thing = {{{', '.join(f'C{x}' for x in range(n))}}}\n{DECLARED}"
    model = Model.parse(text)
    return graph_of(model, [evidence_of(model, lines)]), facts, text


def evidence_of(model: mln.Model, lines: list[str]) -> mln.Evidence:
    tables: dict[str, list[list[str]]] = {name: [] for name in model.declared}
    for line in lines:
        name, _, rest = line.partition("(")
        tables[name].append([part.strip() for part in rest.rstrip(")").split(",")])
    import pyarrow as pa

    arrow = {}
    for name, rows in tables.items():
        arity = model.predicates[name].arity
        arrow[name] = pa.table({f"a{at}": pa.array([row[at] for row in rows], pa.string()) for at in range(arity)})
    return model.evidence(**arrow)


def walks(facts: dict[str, set[tuple[int, ...]]], path: tuple[int, ...], x: int, n: int) -> dict[int, int]:
    """Walks from x by their end, by enumeration of all intermediate nodes."""
    found: dict[int, int] = {}
    for nodes in itertools.product(range(n), repeat=len(path)):
        at, holds = x, True
        for d, to in zip(path, nodes, strict=True):
            pair = (to, at) if d & 1 else (at, to)
            holds &= pair in facts[NAMES[d >> 1]]
            at = to
        if holds:
            found[at] = found.get(at, 0) + 1
    return found


def count(facts: dict[str, set[tuple[int, ...]]], rule: PathRule, x: int, y: int, n: int) -> int:
    """Walks of a body for one pair, without the pair's own fact of R."""
    own = {**facts, "R": facts["R"] - {(x, y)}}
    found = walks(own, rule.path, y if rule.shape == SECOND else x, n)
    if rule.head_constant >= 0 and rule.head_constant != (x if rule.shape == SECOND else y):
        return 0
    if rule.shape == PAIRS:
        return found.get(y, 0)
    if rule.end == OPEN:
        return sum(found.values())
    if rule.end == CONSTANT:
        return found.get(rule.what, 0)
    return sum(times for node, times in found.items() if (node,) in facts["S"])


rules = st.builds(
    PathRule,
    st.sampled_from([PAIRS, FIRST, SECOND]),
    st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple),
).flatmap(
    lambda rule: (
        st.just(rule)
        if rule.shape == PAIRS
        else st.builds(
            lambda end, constant: PathRule(rule.shape, rule.path, end[0], end[1], constant),
            st.sampled_from([(OPEN, -1), (CONSTANT, 2), (MEMBER, 0)]),
            st.sampled_from([-1, 0, 3]),
        )
    )
)


def head_of(graph: Graph) -> Target:
    return next(one for one in targets_of(graph, ("R",), {"R": (False, False)}))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), rules)
def test_counts_are_those_of_enumeration(seed: int, rule: PathRule) -> None:
    n = 5
    graph, facts, _ = random_graph(seed, n)
    target = head_of(graph)
    column = target.column(rule, Scratch(graph), 1.0, 0, n * n)
    assert column is not None
    for x, y, found in zip(target.first.tolist(), target.second.tolist(), column.at_fact.tolist(), strict=True):
        assert found == count(facts, rule, x, y, n)
    false = {}
    for x, y in set(itertools.product(range(n), repeat=2)) - facts["R"]:
        false[x, y] = count(facts, rule, x, y, n)
    if column.by_node is not None:
        assert all(column.by_node[y if rule.shape == SECOND else x] == times for (x, y), times in false.items())
        return
    assert column.key is not None and column.value is not None
    made = {divmod(int(key), n): value for key, value in zip(column.key, column.value, strict=True)}
    assert made == {pair: times for pair, times in false.items() if times}
    assert column.n_false == len(made) and column.sum_false == sum(made.values())
    assert column.squares_false == sum(times**2 for times in made.values())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.tuples(rules, st.booleans(), st.floats(-2, 2)), min_size=1, max_size=4))
def test_log_odds_are_those_of_exact_inference(seed: int, chosen: list[tuple[PathRule, bool, float]]) -> None:
    """Rules are written, read back as paths, and give the probabilities that `infer` gives for the text."""
    graph, facts, text = random_graph(seed, 4)
    target = head_of(graph)
    lines = ["-0.7 R(x, y)"]
    for rule, each, weight in chosen:
        shown, formula = target.formula(PathRule(**{**vars(rule), "each": each}), weight, frozenset({"R"}))
        lines.append(f"{shown!r} {formula}")
    model = mln.Model.parse(text + "\n".join(lines) + "\n")
    atoms = [f"{name}({', '.join(f'C{x}' for x in args)})" for name, own in facts.items() for args in own]
    evidence = evidence_of(model, atoms)
    read = read_rules(graph, model.rules, [target])
    assert not read.others
    result = mln.infer(model, evidence, ["R"], progress=False)
    for atom in result:
        x, y = (int(part) for part in atom[2:-1].replace("C", "").split(","))
        for side, node in ((0, x), (1, y)):
            log_odds = read.heads[0].log_odds(node, side)[(y, x)[side]]
            assert float(result[atom]) == pytest.approx(1 / (1 + math.exp(-log_odds)), abs=1e-9)


@pytest.mark.parametrize(
    "rule",
    [
        "R(x, y) => P(x, y)",
        "1 R(x, y) => R(y, x)",
        "1 P(x, z) ^ Q(z, y) ^ P(w, u) => R(x, y)",
        "1 P(x, z) v Q(z, y) => R(x, y)",
        "1 P(x, z) ^ Q(z, y) ^ S(z) => R(x, y)",
        "1 P(x, y) => R(x, x)",
    ],
)
def test_what_is_no_path_is_said_to_be_none(rule: str) -> None:
    graph, _, text = random_graph(1)
    model = mln.Model.parse(text + rule + "\n")
    assert len(read_rules(graph, model.rules, [head_of(graph)]).others) == 1


def naive_rank(score: dict[tuple[int, int], float], fact: tuple[int, int], side: int, known: set[tuple[int, int]]) -> float:
    others = [value for pair, value in score.items() if pair[side] == fact[side] and pair not in known]
    return 1 + sum(value > score[fact] for value in others) + sum(value == score[fact] for value in others) / 2


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ranks_are_filtered_and_ties_share_their_mean(seed: int, tmp_path: Path) -> None:
    """The same ranks from a rule file, from its complete results, and from all scores one by one."""
    _, facts, text = random_graph(seed, 6)
    rules = "-1 R(x, y)\n1.5 P(x, z) ^ Q(z, y) => R(x, y)\n0.5 P(x, C2) => R(x, y)\n2 Known(R(y, x)) => R(x, y)\n"
    model = mln.Model.parse(text + rules)
    pairs = sorted(facts["R"])
    test, valid, train = pairs[::3], pairs[1::3], pairs[2::3]

    def lines(own: list[tuple[int, int]]) -> list[str]:
        return [f"R(C{x}, C{y})" for x, y in own]

    others = [f"{name}({', '.join(f'C{x}' for x in args)})" for name, own in facts.items() if name != "R" for args in own]
    evidence = evidence_of(model, [*others, *lines(train)])
    (tmp_path / "test.db").write_text("\n".join(lines(test)))
    (tmp_path / "valid.db").write_text("\n".join(lines(valid)))
    found = mln.rank(model, tmp_path / "test.db", evidence=evidence, known=tmp_path / "valid.db")
    head = read_rules(graph_of(model, [evidence]), model.rules, [head_of(graph_of(model, [evidence]))]).heads[0]
    score = {(x, y): round(float(head.log_odds(x, 0)[y]), 9) for x in range(6) for y in range(6)}
    wanted = [naive_rank(score, fact, side, set(pairs)) for fact in test for side in (0, 1)]
    assert sorted(found.rank.tolist()) == sorted(wanted)
    assert found.mrr == pytest.approx(np.mean([1 / one for one in wanted]))
    assert found.overall["hits@1"] == np.mean([one <= 1 for one in wanted])
    result = mln.infer(model, evidence, ["R"], progress=False)
    again = mln.rank(result, tmp_path / "test.db", known=tmp_path / "valid.db")
    assert sorted(again.rank.tolist()) == sorted(wanted)
    with pytest.raises(InputError, match="complete results"):
        mln.rank(result.top(2), tmp_path / "test.db")


@pytest.mark.parametrize("seed", range(4))
def test_links_of_large_relations_are_those_of_exact_inference(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every relation taken as a large one, the best rows of patterns are the same, ties by name too."""
    from markovlogic.api import links

    _, facts, text = random_graph(seed, 6)
    rules = "-1 R(x, y)\n1.5 P(x, z) ^ Q(z, y) => R(x, y)\n2 Known(R(y, x)) => R(x, y)\n0.3 S(y) => !R(x, y)\n"
    model = mln.Model.parse(text + rules)
    atoms = [f"{name}({', '.join(f'C{x}' for x in args)})" for name, own in facts.items() for args in own]
    evidence = evidence_of(model, atoms)
    query = ["R(C1,_)", "R(_,C2)"]
    known = mln.infer(model, evidence, query, top=3, progress=False)
    assert not any("followed from" in remark for remark in known.remarks)
    monkeypatch.setattr(links, "MANY_ATOMS", 0)
    found = mln.infer(model, evidence, query, top=3, progress=False)
    assert any("followed from" in remark for remark in found.remarks)
    assert list(found) == list(known)
    assert np.allclose(found.probability, known.probability, atol=1e-12)
    coupled = mln.Model.parse(text + rules + "0.1 R(x, y) => R(y, x)\n")
    other = mln.infer(coupled, evidence, query, top=3, progress=False)
    assert not any("followed from" in remark for remark in other.remarks)
