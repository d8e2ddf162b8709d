"""Random typed models, from text to network, against direct evaluation of the whole formulas in random worlds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from tests.grounding.from_text import known_true, open_atoms, posed_model
from tests.oracle.evaluation import is_exclusive, log_weight
from tests.oracle.worlds import log_weight_of
from tests.strategies import RandomProblem, problems

from markovlogic.errors import InputError
from markovlogic.grounding.ground import ground
from markovlogic.grounding.predict import groundings_of
from markovlogic.language.load import parse
from markovlogic.language.lower import lower

N_WORLDS = 12


@pytest.mark.ways("grid", "database")
@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(problems())
def test_the_network_weighs_worlds_as_the_formulas_do(drawn: RandomProblem) -> None:
    check(drawn)


@pytest.mark.ways("spark")
@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(drawn=problems())
def test_some_of_them_on_another_engine(drawn: RandomProblem) -> None:
    check(drawn)


def check(drawn: RandomProblem) -> None:
    problem = posed_model(parse(drawn.mln), drawn.db, open_=drawn.query)
    domains = {name: list(domain.names) for name, domain in problem.domains.items()}
    known, atoms = known_true(problem), open_atoms(problem)
    rng = np.random.default_rng(len(drawn.mln))
    worlds = rng.random((N_WORLDS, len(atoms))) < rng.random((N_WORLDS, 1))
    expected = []
    for world in worlds:
        true = frozenset(known | {atom for atom, value in zip(atoms, world, strict=True) if value})
        expected.append(log_weight(problem.model, domains, true) if is_exclusive(problem.model, domains, true) else -math.inf)
    try:
        network = ground(problem, lower(problem.model))
    except InputError as error:
        assert all(w == -math.inf for w in expected)
        assert error.faults[0].place is not None and error.faults[0].place.line
        return
    for world, wanted in zip(worlds, expected, strict=True):
        found, _ = log_weight_of(network, world.tolist())
        assert found == pytest.approx(wanted, abs=1e-9)
    assert sum(groundings_of(problem.model, problem.domains)) == sum(
        math.prod(len(domains[rule.type_of[name]]) for name in rule.free) for rule in problem.model.rules
    )
