"""What stands for all atoms where there are too many: each body's atoms by their number, and weights where facts are rare."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import markovlogic as mln
from markovlogic.kernels.paths import CONSTANT
from markovlogic.learning.structure import columns
from markovlogic.learning.structure.columns import columns_of
from markovlogic.learning.structure.selection import STRENGTHS, by_chance, fitted, path_of
from markovlogic.paths.graph import graph_of
from markovlogic.paths.rules import FIRST, PAIRS, SECOND, PathRule, Target, targets_of
from markovlogic.system.cancellation import Deadline

P, BACK, R = 0, 1, 2
BODIES = [
    PathRule(PAIRS, (P,)),
    PathRule(PAIRS, (P, BACK)),
    PathRule(PAIRS, (R + 1,)),
    PathRule(FIRST, (P,)),
    PathRule(SECOND, (P,)),
    PathRule(FIRST, (P,), CONSTANT, 3),
    PathRule(FIRST, (P,), head_constant=5),
    PathRule(SECOND, (), head_constant=7),
]


def head_of(n: int, n_facts: int, seed: int, databases: int = 1) -> Target:
    """Facts of P at random, and of R where P is or not; in several databases."""
    model = mln.Model.parse(f"thing = {{{', '.join(f'C{x}' for x in range(n))}}}\nP(thing, thing)\nR(thing, thing)\n")
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(databases):
        first, second = rng.integers(0, n, n_facts), (rng.integers(0, n, n_facts) ** 2) // n  # some often, most seldom
        also = rng.random(n_facts) < 0.5
        x = np.concatenate([first[also], rng.integers(0, n // 3, n_facts // 5)])
        y = np.concatenate([second[also], rng.integers(0, n, n_facts // 5)])
        tables = {
            name: pa.table({"a": [f"C{one}" for one in u.tolist()], "b": [f"C{one}" for one in v.tolist()]})
            for name, u, v in (("P", first, second), ("R", x, y))
        }
        made.append(model.evidence(**tables))
    graph = graph_of(model, made)
    return targets_of(graph, ("R",), {"R": (False, False)})[0]


@pytest.mark.parametrize("databases", [1, 2])
def test_a_sample_stands_for_all_atoms(databases: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over many seeds the observations that a body reaches stand for as many atoms as it reaches, no more and no fewer."""
    target = head_of(60, 90, 1, databases)
    whole = columns_of(target, BODIES, 0, Deadline(100))
    assert set(whole.weight) == {1.0} and len(whole.weight) == target.n_atoms
    for name, value in (("ALL_PAIRS", 10), ("FAR_SAMPLE", 300), ("NEAR_SAMPLE", 12), ("NEAR_A_FACT", 1)):
        monkeypatch.setattr(columns, name, value)
    sums: dict[PathRule, list[float]] = {rule: [] for rule in whole.rules}
    for seed in range(60):
        some = columns_of(target, BODIES, seed, Deadline(100))
        assert len(some.weight) < target.n_atoms and some.weight.sum() == pytest.approx(target.n_atoms)
        at_false = some.weight * ~some.truth
        for rule, total in zip(some.rules, at_false @ (some.matrix > 0), strict=True):
            sums[rule].append(total)
    true = whole.body - whole.support
    for rule, wanted in zip(whole.rules, true, strict=True):
        own = np.array(sums[rule])
        assert len(own) == 60
        assert abs(own.mean() - wanted) <= 4.5 * own.std(ddof=1) / np.sqrt(60) + 1e-9, (rule, own.mean(), wanted)


def test_counts_of_whole_columns_are_those_of_all_atoms() -> None:
    """The matrix holds, at false atoms too, what was counted."""
    target = head_of(40, 60, 2)
    whole = columns_of(target, BODIES, 0, Deadline(100))
    assert ((whole.matrix > 0).sum(axis=0) == whole.body).all()
    assert ((whole.matrix > 0)[whole.truth].sum(axis=0) == whole.support).all()


def test_weights_are_right_where_facts_are_rare() -> None:
    """One body among 10⁸ atoms: the weight is the log-odds where it holds less those elsewhere, as in closed form."""
    target = head_of(10_000, 400, 3)
    made = columns_of(target, [BODIES[0]], 0, Deadline(100))
    fit = fitted(made, np.array([0]), 0.0)
    support, body, facts = made.support[0], made.body[0], len(target.first)
    rest = np.log((facts - support) / (target.n_atoms - body - facts + support))
    assert fit.base == pytest.approx(rest, abs=0.02)
    assert fit.base + fit.weights[0] == pytest.approx(np.log(support / (body - support)), abs=0.2)  # a weak prior pulls it
    assert [len(one.chosen) for one in path_of(made, STRENGTHS)] == [1] * len(STRENGTHS)


def test_the_furthest_by_chance_is_that_of_drawn_truth() -> None:
    """The slow way: the best weight of each body by search, on truth that no body explains; its twin: fewer bodies reach less."""
    made = columns_of(head_of(60, 90, 1), BODIES, 0, Deadline(100))
    base = fitted(made, np.zeros(0, np.int64), 0.0)
    p = 1 / (1 + np.exp(-base.base))
    rng = np.random.default_rng(8)
    weights = np.linspace(-6, 6, 241)
    drawn = (rng.random((400, made.matrix.shape[0])) < p).astype(float)
    furthest = np.zeros(400)
    for at in range(made.matrix.shape[1]):
        own = made.matrix[:, [at]].toarray().ravel()
        several = np.unique(own[own > 0])
        often = np.array([(own == value).sum() for value in several])
        least = sum(n * np.log(1 - p + p * np.exp(value * weights)) for value, n in zip(several, often, strict=True))
        gain = (np.outer(drawn @ own, weights) - least).max(axis=1)
        furthest = np.maximum(furthest, np.sqrt(2 * np.maximum(gain, 0)))
    assert by_chance(made, base, 0) == pytest.approx(np.quantile(furthest, 0.95), rel=0.12)
    few = columns_of(head_of(60, 90, 1), BODIES[:1], 0, Deadline(100))
    assert by_chance(few, fitted(few, np.zeros(0, np.int64), 0.0), 0) < by_chance(made, base, 0)
    alike = replace(few, matrix=few.matrix[:, [0] * 50])  # fifty that say the same are worth one
    assert by_chance(alike, base, 0) == by_chance(few, base, 0)


def test_in_an_open_world_a_sample_is_false() -> None:
    """So many for each fact, each with an argument of a fact, none a fact; rules come back with rates among the sample."""
    target = head_of(60, 90, 1)
    made = columns_of(target, BODIES, 0, Deadline(100), is_open=True)
    false = [(x, y) for x, y, true in zip(*(own.tolist() for own in made.sides), made.truth.tolist(), strict=True) if not true]
    facts = set(zip(target.first.tolist(), target.second.tolist(), strict=True))
    assert set(made.weight) == {1.0} and not facts & set(false)
    assert 7 * len(facts) < len(false) == len(set(false)) <= 10 * len(facts)
    assert all(x in set(target.first) or y in set(target.second) for x, y in false)
    last = path_of(made, STRENGTHS)[-1]
    weight = {made.rules[at]: weight for at, weight in zip(last.chosen, last.weights, strict=True)}
    assert max(weight, key=lambda rule: weight[rule]) == BODIES[0] and weight[BODIES[0]] > 0
