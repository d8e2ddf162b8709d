"""What methods say of a problem: of its network where that is at hand, else of its predicted sizes, and never more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

import markovlogic as mln
from markovlogic.estimation.estimator import Estimator
from markovlogic.methods import forecast
from markovlogic.methods.analysis import Analysis, analysis_of
from markovlogic.methods.base import InferOptions
from markovlogic.methods.forecast import Scale
from markovlogic.methods.rates import Use
from markovlogic.methods.resources import Resources
from markovlogic.methods.sampler_method import SamplingMethod
from markovlogic.methods.table import method_named
from markovlogic.networks.base import NetworkKind
from markovlogic.problem import pose
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.running.sampling import Sampling
from markovlogic.system.measures import Stopwatch

RULES = """
person = {A, B, C}
class = {X, Y}
Friends(person, person)
Smokes(person)
In(person, class!)
1.5 Friends(x, y) ^ Smokes(x) => Smokes(y)
0.4 In(p, X) => Smokes(p)
0.2 Smokes(x) => EXIST y Friends(x, y)
"""
OPTIONS = InferOptions(Sampling(draws=100))


@contextmanager
def opened(rules: str = RULES, memory_limit: int | None = None) -> Iterator[Analysis]:
    model = mln.Model.parse(rules)
    prepared = PreparedProblem(pose(model, model.evidence(), ["Friends", "Smokes", "In"]))
    with analysis_of(prepared, Resources(memory_limit=memory_limit), Stopwatch()) as analysis:
        yield analysis


def gibbs() -> SamplingMethod:
    found = method_named("gibbs")
    assert isinstance(found, SamplingMethod)
    return found


def test_scales_before_and_after_grounding() -> None:
    with opened() as analysis:
        before, sizes = analysis.scale, analysis.forecast.sizes
        literals = sizes.literals_at_most + 6  # the atoms of the three exclusive groups
        size = 24 * sizes.clauses_at_most + 8 * literals + 16 * 18
        assert before == Scale(18, 18, sizes.clauses_at_most, literals, size, predicted=True)
        network, after = analysis.grounded.ground_network, analysis.grounded.scale
        literals = network.n_literals + 6 + len(network.definition_literal)
        assert after == Scale(18, network.n_all, network.n_clauses, literals, network.nbytes, predicted=False)
        assert after.literals <= before.literals and after.clauses <= before.clauses


def test_a_cost_is_that_of_the_rates() -> None:
    method = gibbs()
    for grounded in (False, True):
        with opened() as analysis:
            analysis = analysis.grounded if grounded else analysis
            cost = method.cost(analysis, OPTIONS)
            use = Use(OPTIONS.sampling.schedule(64), Estimator(conditional=True), 18, 0, None)
            assert cost.seconds == pytest.approx(method.rates.seconds(analysis.scale, use), rel=1e-12)
            assert cost.memory_bytes == max(analysis.forecast.sizes.memory_bytes, method.rates.memory_bytes(analysis.scale, use))
            assert cost.possible and cost.reason == "64 chains of 100 draws"


def test_what_takes_long_to_ground_has_no_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "REFINING_SECONDS", 0.0)
    with opened() as analysis:
        assert not analysis.forecast.can_refine
        cost = gibbs().cost(analysis, OPTIONS)
        assert cost.seconds is None and cost.possible and cost.memory_bytes == analysis.forecast.sizes.memory_bytes
        assert cost.reason.startswith("grounding needs up to ")
        assert gibbs().cost(analysis.grounded, OPTIONS).seconds is not None  # once it is there it is known


def test_what_does_not_fit_is_not_possible() -> None:
    with opened() as analysis:
        needed = analysis.forecast.sizes.memory_bytes
    for limit, fits in ((needed, True), (needed - 1, False)):
        with opened(memory_limit=limit) as analysis:
            assert analysis.forecast.can_refine == fits
            assert gibbs().cost(analysis, replace(OPTIONS, network=NetworkKind.GROUND)).possible == fits
            on_either = dict(gibbs().costs(analysis, OPTIONS))  # eight chains take more than the few clauses do
            assert [cost.possible for cost in on_either.values()] == [fits, False]
            assert gibbs().network_for(analysis, OPTIONS) == NetworkKind.GROUND


def test_hard_rules_are_reported_where_they_may_confine() -> None:
    tied = RULES + "Smokes(A) <=> Smokes(B).\n"
    with opened(tied) as analysis:
        assert "hard clauses may keep single-site moves from reaching every world" in gibbs().cost(analysis, OPTIONS).reason
    free = RULES + "Smokes(A) v Smokes(B).\n"
    with opened(free) as analysis:
        analysis = analysis.grounded
        assert "hard" not in gibbs().cost(analysis, OPTIONS).reason
        assert "hard" not in method_named("mcsat").cost(analysis, OPTIONS).reason


def test_lifted_blocked_takes_longer_for_more_draws() -> None:
    rules = "".join(line for line in RULES.splitlines(True) if "In(" not in line and "EXIST" not in line) + "In(person)\n"
    with opened(rules) as analysis:
        method = method_named("lifted-blocked")
        requests = [replace(OPTIONS, sampling=Sampling(chains=64, draws=draws)) for draws in (10, 100_000)]
        short, long = (method.cost(analysis, wanted).seconds for wanted in requests)
    assert short is not None and long is not None and 0 < short < long
