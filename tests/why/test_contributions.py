"""Contributions against the integral over all worlds: numbers, soft evidence, quantifiers, hard rules, exclusive arguments."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.exact.test_end_to_end import judge as judge_groups
from tests.oracle.evaluation import count_true, domains_of
from tests.strategies import problems
from tools.attack import Case, Maker, _holds, _shown

import markovlogic as mln
from markovlogic.errors import InputError
from markovlogic.language.load import parse
from markovlogic.reasons.values import Reasons

HEADER = 7  # lines of a random case before its rules
FALSE_ALARM_Z = 6.0  # of some hundred normal numbers: 10^-7


def integral(weights: np.ndarray, truth: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Logit, base and contributions from worlds: weights (n_worlds, n_rules) at t = 1, truth (n_worlds,) of the atom."""

    def logit(t: float) -> float:
        total = t * weights.sum(axis=1)
        top = total.max()
        share = np.exp(total - top)
        return math.log(share[truth].sum()) - math.log(share[~truth].sum())

    node, measure = np.polynomial.legendre.leggauss(40)
    found = np.zeros(weights.shape[1])
    for panel in range(8):
        for x, w in zip(node, measure, strict=True):
            total = (panel + (x + 1) / 2) / 8 * weights.sum(axis=1)
            share = np.exp(total - total.max())
            means = [(share[own][:, None] * weights[own]).sum(axis=0) / share[own].sum() for own in (truth, ~truth)]
            found += w / 16 * (means[0] - means[1])
    return logit(1.0), logit(0.0), found


def worlds_of(case: Case, query: str) -> tuple[list[set[tuple[str, tuple[str, ...]]]], np.ndarray]:
    """All possible worlds, and what each rule and soft evidence (last column) weigh in them."""
    atoms = case.open_atoms(query)
    known = {atom for atom, true in case.facts.items() if true}
    worlds, rows = [], []
    for values in itertools.product((False, True), repeat=len(atoms)):
        world = known | {atom for atom, value in zip(atoms, values, strict=True) if value}
        row = np.zeros(len(case.rules) + 1)
        row[-1] = sum(odds for atom, odds in case.soft.items() if atom in world)
        possible = True
        for at, rule in enumerate(case.rules):
            for choice in itertools.product(case.constants, repeat=len(rule.free)):
                binding = dict(zip(rule.free, choice, strict=True))
                true = _holds(rule.formula, binding, case.constants, world)
                times = 1.0
                if rule.factor is not None:
                    times = case.numbers.get((rule.factor[0], tuple(binding.get(t, t) for t in rule.factor[1])), 0.0)
                possible &= rule.weight is not None or true
                row[at] += (rule.weight or 0.0) * times * true
        if possible:
            worlds.append(world)
            rows.append(row)
    return worlds, np.array(rows).reshape(len(worlds), len(case.rules) + 1)


def check_sum(found: Reasons) -> None:
    total = found.base + math.fsum(one.log_odds for one in found.contributions)
    assert abs(total - found.logit) < 1e-8 * max(1.0, abs(found.logit))


def check_exact(case: Case, query: str, folder: Path) -> str:
    worlds, weights = worlds_of(case, query)
    (folder / "facts.db").write_text(case.evidence_text)
    model = mln.Model.parse(case.model_text)
    rng = random.Random(len(worlds))
    atom = rng.choice([one for one in case.open_atoms(query) if one[0] == query] or [(query, ("A",) * (query == "R") + ("A",))])
    if not worlds:
        with pytest.raises(InputError):
            mln.why(model, folder / "facts.db", _shown(atom))
        return "no world"
    found = mln.why(model, folder / "facts.db", _shown(atom))
    truth = np.array([atom in world for world in worlds])
    if truth.all() or not truth.any():
        assert found.probability == float(truth[0]) and not found.contributions
        assert not found.decided or found.decided[-1].literal == ("" if truth[0] else "!") + found.atom
        return "decided"
    logit, base, parts = integral(weights, truth)
    assert abs(found.logit - logit) < 1e-8 and abs(found.base - base) < 1e-8
    check_sum(found)
    by_place = {one.place: one for one in found.contributions}
    for at, part in enumerate(parts):
        place = "" if at == len(case.rules) else f"<text>:{HEADER + 1 + at}:1"
        one = by_place.get(place)
        assert abs((one.log_odds if one else 0.0) - part) < 1e-8, (place, one, part)
        if one is not None:
            rest = np.delete(weights, at, axis=1)
            share = np.exp(rest.sum(axis=1) - rest.sum(axis=1).max())
            assert abs(one.without - share[truth].sum() / share.sum()) < 1e-8
            listed = math.fsum(ground.log_odds for ground in one.groundings)
            assert one.n_groundings > len(one.groundings) or abs(listed - part) < 1e-8
    return "found"


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1), query=st.sampled_from(["P", "Q", "R"]), family=st.sampled_from(["map", "numbers", "hard"]))
def test_contributions_are_the_integral_over_all_worlds(tmp_path: Path, seed: int, query: str, family: str) -> None:
    check_exact(Maker(random.Random(seed), family).case(query), query, tmp_path)


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(problem=problems(max_atoms=8), data=st.data())
def test_exclusive_arguments_and_quantifiers(tmp_path: Path, problem, data) -> None:
    model = parse(problem.mln)
    judged = judge_groups(model, problem)
    asked = [atom for atom in judged.open if atom[0] in problem.query]
    if not asked or not judged.worlds:
        return
    atom = data.draw(st.sampled_from(asked))
    (tmp_path / "facts.db").write_text(problem.db)
    text = atom[0] + (
        f"({','.join(name if name[0].isalnum() and ' ' not in name else f'{chr(34)}{name}{chr(34)}' for name in atom[1])})"
        if atom[1]
        else ""
    )
    found = mln.why(model, tmp_path / "facts.db", text, query=problem.query)
    domains = domains_of(model)
    truth = np.array([atom in world for world, _ in judged.worlds])
    if truth.all() or not truth.any():
        assert found.probability == float(truth[0])
        return
    rows = [
        [0.0 if rule.is_hard else rule.weight * count_true(rule, domains, world) for rule in model.rules]
        for world, _ in judged.worlds
    ]
    logit, base, parts = integral(np.array(rows), truth)
    assert abs(found.logit - logit) < 1e-8 and abs(found.base - base) < 1e-8
    check_sum(found)
    got = {one.place: one.log_odds for one in found.contributions}
    for rule, part in zip(model.rules, parts, strict=True):
        assert abs(got.get(str(rule.place), 0.0) - part) < 1e-8


MODEL = "thing = {A, B, C}\nP(thing)\nR(thing, thing)\n0.7 P(x)\n1.1 P(x) ^ R(x, y) => P(y)\n-0.4 EXIST y (R(x, y) ^ P(y))\n"


def test_sampled_contributions_are_within_their_errors_and_a_planted_error_is_not() -> None:
    model = mln.Model.parse(MODEL)
    exact = mln.why(model, None, "P(A)", query="R")
    right = {one.place: one for one in exact.contributions}
    wrong = mln.why(mln.Model.parse(MODEL.replace("1.1", "1.3")), None, "P(A)", query="R")
    z, planted = [], []
    for seed in range(3):
        found = mln.why(model, None, "P(A)", query="R", method="gibbs", seed=seed, draws=300)
        for one in found.contributions:
            z.append((one.log_odds - right[one.place].log_odds) / one.stderr)
            z.append((one.without - right[one.place].without) / one.without_stderr)
            other = next(w for w in wrong.contributions if w.place == one.place)
            planted.append((one.log_odds - other.log_odds) / one.stderr)
    assert np.abs(z).max() < FALSE_ALARM_Z < np.abs(planted).max()
