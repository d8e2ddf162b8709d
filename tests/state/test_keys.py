"""Keys and digests depend on names and weights alone, and tell everything apart."""

from __future__ import annotations

import random

import numpy as np
from tools.random_models import Case, Features, Maker

import markovlogic as mln
from markovlogic.grounding.ground import ground
from markovlogic.networks.components import components
from markovlogic.problem.pose import pose
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.state.keys import ConstantKeys, component_digests, text_keys


def digests(model_text: str, facts: str, query: list[str], tmp_path) -> tuple[dict[str, tuple[int, int]], set[tuple[int, int]]]:
    path = tmp_path / "facts.db"
    path.write_text(facts)
    model = mln.Model.parse(model_text)
    problem = pose(model, model.evidence(str(path)), query)
    network = ground(problem, PreparedProblem(problem).lowered)
    keys = ConstantKeys(problem).of_open_atoms()
    found = component_digests(network, components(network), keys)
    names = {}
    for name in problem.atoms.predicates:
        own = problem.atoms.range_of(name)
        for number, code in zip(own, problem.atoms.codes(name).tolist(), strict=True):
            from markovlogic.problem.names import name_of

            names[name_of(problem, name, code)] = tuple(keys[number].tolist())
    return names, {tuple(row) for row in found.tolist()}


def grounded(case: Case, tmp_path):
    try:
        return digests(case.model_text, case.evidence_text, case.asked, tmp_path)
    except mln.InputError:
        return None


def test_other_orders_of_facts_and_constants_give_the_same_digests(tmp_path) -> None:
    seen = 0
    for seed in range(40):
        rng = random.Random(seed)
        case = Maker(rng, Features()).case()
        text = case.model_text
        line = next(line for line in text.splitlines() if line.startswith("thing ="))
        turned = text.replace(line, f"thing = {{{', '.join(reversed(case.domains['thing']))}}}")
        facts = case.evidence_text.splitlines()
        rng.shuffle(facts)
        one = grounded(case, tmp_path)
        if one is not None:
            seen += 1
            assert one == digests(turned, "\n".join(facts) + "\n", case.asked, tmp_path)
    assert seen > 25


def test_no_two_components_of_random_models_share_a_digest_unless_they_are_alike(tmp_path) -> None:
    """Components over other atoms, or with other clauses, have other digests: 400 models, each rendered as sorted text."""
    known: dict[tuple[int, int], str] = {}
    keys: dict[tuple[int, int], str] = {}
    for seed in range(150):
        case = Maker(random.Random(f"digest {seed}"), Features()).case()
        path = tmp_path / "facts.db"
        path.write_text(case.evidence_text)
        model = mln.Model.parse(case.model_text)
        try:
            problem = pose(model, model.evidence(str(path)), case.asked)
            network = ground(problem, PreparedProblem(problem).lowered)
        except mln.InputError:
            continue
        parts = components(network)
        key = ConstantKeys(problem).of_open_atoms()
        found = component_digests(network, parts, key)
        names = _names(problem)
        for number, own in enumerate(key.tolist()):
            assert keys.setdefault(tuple(own), names[number]) == names[number]
        for number, text in enumerate(_texts(network, parts, names)):
            assert known.setdefault(tuple(found[number].tolist()), text) == text
    assert len(set(known.values())) == len(known) > 200
    assert len(set(keys.values())) == len(keys)


def _names(problem) -> list[str]:
    from markovlogic.problem.names import atom_name

    return [atom_name(problem, number) for number in range(len(problem.atoms))]


def _texts(network, parts, names: list[str]) -> list[str]:
    def shown(literal: int) -> str:
        atom = literal >> 1
        if atom >= network.n_atoms:
            start, end = network.definition_start[atom - network.n_atoms : atom - network.n_atoms + 2]
            name = "{" + " v ".join(sorted(shown(one) for one in network.definition_literal[start:end].tolist())) + "}"
        else:
            name = names[atom]
        return name if literal & 1 else f"!{name}"

    lines: list[list[str]] = [[] for _ in range(parts.n_components)]
    for atom in range(network.n_all):
        lines[parts.component_of[atom]].append(f"{network.atom_bias[atom]:.9f} {shown(2 * atom + 1)}")
    for clause in range(network.n_clauses):
        row = network.clause_literal[network.clause_start[clause] : network.clause_start[clause + 1]].tolist()
        text = f"{network.clause_weight[clause]:.9f} {' v '.join(sorted(map(shown, row)))}"
        lines[parts.component_of[row[0] >> 1]].append(text)
    for group in range(network.n_groups):
        row = network.group_atom[network.group_start[group] : network.group_start[group + 1]].tolist()
        lines[parts.component_of[row[0]]].append("one of " + " ".join(sorted(names[atom] for atom in row)))
    return ["\n".join(sorted(own)) for own in lines]


def test_text_keys_tell_texts_apart() -> None:
    texts = [f"{a}{b}{c}" for a in ("", "A", "B", "AB", "é") for b in ("", "1", "12", "\0") for c in ("", "A", "2", "B")]
    every = sorted(set(texts))
    found = {tuple(row) for row in text_keys(every).tolist()}
    assert len(found) == len(every)
    np.testing.assert_array_equal(text_keys(["Ann", "Bob"])[1], text_keys(["Bob"])[0])
    assert text_keys([]).shape == (0, 2)
