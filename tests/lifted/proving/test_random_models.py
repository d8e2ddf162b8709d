"""Random models: log Z and all marginals against the ground network, with and without partial grounding."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, settings
from tests.lifted.proving.models import liftable
from tests.lifted.proving.solved import assert_exact, drawn_problem
from tests.strategies import problems

from markovlogic.methods.lifted.answer import Refusal
from markovlogic.methods.lifted.proving import shattering

MANY = settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)


def ways(strategy, most=MANY) -> Counter[str]:
    """How often each rule was used, over random models that all come out right."""
    used: Counter[str] = Counter()

    @most
    @given(strategy)
    def run(drawn):
        prepared = drawn_problem(drawn)
        work = None if prepared is None else assert_exact(*prepared)
        if isinstance(work, Refusal):
            used["refused"] += 1
        elif work is not None:
            used["solved"] += 1
            used.update(work.proof.rules)

    run()
    return used


def test_unary_evidence():
    used = ways(liftable())
    assert used["solved"] > 60, used
    assert used["refused"] == 0, used


def test_any_evidence():
    used = ways(liftable(binary=True))
    assert used["solved"] > 60, used


def test_without_partial_grounding(monkeypatch):
    """Blocks are never taken apart, so that the other rules have to do; some models are refused then."""
    monkeypatch.setattr(shattering, "SMALL", 0)
    used = ways(liftable(named=False), settings(MANY, max_examples=200))
    assert used["partial grounding"] == 0
    assert used["solved"] > 120, used
    for rule in ("binomial rule", "power rule", "power rule over pairs", "independent parts", "conditioning"):
        assert used[rule], used


def test_everything_that_the_language_has():
    """Quantifiers, exclusive arguments, constants, equality, hard rules; domains of up to three constants."""
    used = ways(problems(max_atoms=12))
    assert used["solved"] > 60, used
