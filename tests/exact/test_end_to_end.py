"""From rules and facts to probabilities: both exact methods against the formulas themselves, world by world.

The judge reads the facts and the world assumptions anew (what is known, what is open) and evaluates whole formulas on whole
worlds; it shares the parser with the package, and nothing else.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from tests.oracle.evaluation import GroundAtom, domains_of, is_exclusive, log_weight
from tests.strategies import RandomProblem, problems

from markovlogic.data.evidence import decode
from markovlogic.data.readers import read_evidence
from markovlogic.errors import InputError
from markovlogic.grounding.ground import ground
from markovlogic.language.load import parse
from markovlogic.language.lower import lower
from markovlogic.language.syntax import Model
from markovlogic.methods.exact.solve import solve
from markovlogic.problem import Problem, pose

METHODS = ["enumerate", "eliminate", "exact"]
TOLERANCE = 1e-10

FACT = re.compile(r"([!?]?)(\w+)(?:\((.*)\))?")
CONSTANT = re.compile(r'"[^"]*"|[^,\s]+')


@dataclass
class Judged:
    """What the formulas say: possible worlds over the open atoms, each with its log weight."""

    open: list[GroundAtom]
    worlds: list[tuple[frozenset[GroundAtom], float]]

    @property
    def log_z(self) -> float:
        top = max(w for _, w in self.worlds)
        return top + math.log(math.fsum(math.exp(w - top) for _, w in self.worlds))

    def probability(self, *atoms: GroundAtom) -> float:
        """That all of the atoms are true."""
        log_z = self.log_z
        return math.fsum(math.exp(w - log_z) for world, w in self.worlds if world.issuperset(atoms))


def facts_of(db: str) -> dict[GroundAtom, str]:
    found = {}
    for line in db.splitlines():
        match = FACT.fullmatch(line)
        assert match, line
        sign, name, args = match.groups()
        found[name, tuple(c.strip('"') for c in CONSTANT.findall(args or ""))] = sign
    return found


def judge(model: Model, problem: RandomProblem) -> Judged:
    domains, facts = domains_of(model), facts_of(problem.db)
    true: list[GroundAtom] = []
    unknown: list[GroundAtom] = []
    for predicate in model.predicates.values():
        name = predicate.name
        is_open = name in problem.query or all(of != name for of, _ in facts)
        groups: dict[tuple[str, ...], list[GroundAtom]] = {}
        for number, args in enumerate(itertools.product(*(domains[t] for t in predicate.types))):
            others = tuple(a for a, exclusive in zip(args, predicate.exclusive, strict=True) if not exclusive)
            key = others if any(predicate.exclusive) else (str(number),)
            groups.setdefault(key, []).append((name, args))
        for atoms in groups.values():
            known_true = [a for a in atoms if facts.get(a) == ""]
            true += known_true
            if any(predicate.exclusive):
                unknown += [] if known_true else [a for a in atoms if facts.get(a) != "!"]
            else:
                unknown += [a for a in atoms if facts.get(a, "?" if is_open else "!") == "?"]
    worlds = []
    for values in itertools.product((False, True), repeat=len(unknown)):
        world = frozenset(true) | {a for a, value in zip(unknown, values, strict=True) if value}
        weight = log_weight(model, domains, world) if is_exclusive(model, domains, world) else -math.inf
        if weight > -math.inf:
            worlds.append((world, weight))
    return Judged(unknown, worlds)


def names_of(problem: Problem) -> list[GroundAtom]:
    """The open atoms of a original problem, in the order of their numbers."""
    found = []
    for predicate in problem.atoms.predicates:
        types = problem.model.predicates[predicate].types
        args = decode(problem.atoms.codes(predicate), problem.statuses[predicate].sizes)
        found += [(predicate, tuple(problem.domains[t].names[i] for t, i in zip(types, row, strict=True))) for row in args]
    return found


def check(drawn: RandomProblem, db_file) -> None:
    model = parse(drawn.mln)
    db_file.write_text(drawn.db)
    expected = judge(model, drawn)
    prepared = pose(model, read_evidence(model, [db_file]), list(drawn.query))
    names = names_of(prepared)
    assert set(names) <= set(expected.open)
    try:
        network = ground(prepared, lower(model), threads=1)
        if expected.worlds:
            pairs = list(itertools.islice(itertools.combinations(range(len(names)), 2), 6))
            events = [np.array([2 * a + 1, 2 * b + 1], np.int32) for a, b in pairs]
            answers = [solve(network, method=method, events=events) for method in METHODS]
    except InputError:
        assert not expected.worlds
        return
    if not expected.worlds:
        for method in METHODS:
            with pytest.raises(InputError, match="no world"):
                solve(network, method=method)
        return
    marginal = [expected.probability(name) for name in names]
    joint = [expected.probability(names[a], names[b]) for a, b in pairs]
    for answer in answers:
        assert answer.log_z == pytest.approx(expected.log_z, abs=TOLERANCE)
        np.testing.assert_allclose(answer.marginal, marginal, atol=TOLERANCE, rtol=0)
        np.testing.assert_allclose(answer.event_probability, joint, atol=TOLERANCE, rtol=0)


@pytest.fixture(scope="module")
def db_file(tmp_path_factory):
    return tmp_path_factory.mktemp("facts") / "facts.db"


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=problems(max_atoms=7))
def test_random_models(drawn, db_file):
    check(drawn, db_file)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=problems(max_atoms=7, hard=False))
def test_random_soft_models(drawn, db_file):
    check(drawn, db_file)


def test_the_golden_model(db_file):
    """Five people and one formula, from text: P(Friends(A,B)) = 0.4580488556."""
    model = parse("person = {A, B, C, D, E}\nFriends(person, person)\nSmokes(person)\n2 Friends(x,y) ^ Smokes(x) => Smokes(y)\n")
    prepared = pose(model, None, ["Friends", "Smokes"])
    answer = solve(ground(prepared, lower(model), threads=1))
    of = dict(zip(names_of(prepared), answer.marginal, strict=True))
    assert of["Friends", ("A", "B")] == pytest.approx(0.4580488556, abs=5e-11)
    assert of["Friends", ("A", "A")] == pytest.approx(0.5, abs=1e-12)
    assert of["Smokes", ("C",)] == pytest.approx(0.5, abs=1e-12)
