"""The loop: what a result depends on, and what it must not depend on."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracle.plain_gibbs import PlainGibbs
from tests.running.made import all_atoms, assert_same, marginals, plain_run, random_network
from tests.waiting import Clock

from markovlogic.errors import InputError, ResourceError
from markovlogic.guarantee import Guarantee
from markovlogic.networks.ground import network_of
from markovlogic.running import loop

EVENTS = [np.array([1, 3], np.int32), np.array([0, 5], np.int32), np.array([], np.int32)]


@pytest.mark.parametrize("estimator", ["sample", "conditional"])
@pytest.mark.parametrize("chains", [1, 3, 8, 64, 65, 200])
def test_estimates_are_near_the_truth(estimator: str, chains: int) -> None:
    network = random_network(3)
    result = plain_run(network, chains=chains, draws=max(40, 1600 // chains), estimator=estimator, seed=5)
    # 5 atoms, 12 cases; |z| < 5 has a false-alarm rate below 1e-4 in all, few degrees of freedom included
    assert (np.abs(result.atoms.mean - marginals(network)) < 5 * result.atoms.stderr).all()
    assert result.estimator.name == estimator
    assert result.atoms.chain_mean is not None and result.atoms.chain_mean.shape == (5, chains)
    assert result.updates == 5 * chains * (result.draws + result.burn_in)
    assert result.guarantee is Guarantee.EXACT and result.stopped == "draws" and result.resumed_at is None


def test_a_wrong_weight_is_seen() -> None:
    network = random_network(3)
    wrong = network_of(
        5,
        [(w * 1.5, network.clause_literal[s:e].tolist()) for w, s, e in zip(
            network.clause_weight, network.clause_start[:-1], network.clause_start[1:], strict=True)],
        bias=dict(enumerate(network.atom_bias)),
    )  # fmt: skip
    result = plain_run(wrong, chains=64, draws=150, seed=5)
    assert (np.abs(result.atoms.mean - marginals(network)) > 5 * result.atoms.stderr).any()


@pytest.mark.parametrize("estimator", ["sample", "conditional"])
def test_neither_threads_nor_the_grouping_of_sweeps_matter(estimator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network = random_network(4)
    options = {"chains": 130, "draws": 101, "events": EVENTS, "keep_draws": True, "estimator": estimator}
    first = plain_run(network, threads=1, **options)
    assert_same(first, plain_run(network, threads=3, **options))
    for sweeps in (1, 7, 1000):
        monkeypatch.setattr(loop.Pace, "within", lambda self, seconds, sweeps=sweeps: sweeps)
        assert_same(first, plain_run(network, **options))


@pytest.mark.parametrize("chains", [2, 64])
def test_events_do_not_change_what_atoms_get(chains: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network = random_network(4)
    alone = plain_run(network, chains=chains, draws=300)  # more than one plane holds
    together = plain_run(network, chains=chains, draws=300, events=EVENTS)
    np.testing.assert_array_equal(alone.atoms.mean, together.atoms.mean)
    np.testing.assert_array_equal(alone.atoms.stderr, together.atoms.stderr)


def test_events_and_kept_draws_agree() -> None:
    network = random_network(6)
    result = plain_run(network, chains=65, draws=50, events=EVENTS, keep_draws=True, estimator="sample")
    kept = result.kept
    assert kept is not None and kept.shape == (65, 50, 5)
    np.testing.assert_allclose(result.atoms.mean, kept.mean(axis=(0, 1)), rtol=1e-12)
    truth = [kept[..., 0] & kept[..., 1], ~kept[..., 0] & kept[..., 2], np.ones(kept.shape[:2], bool)]
    np.testing.assert_allclose(result.events.mean, [t.mean() for t in truth], rtol=1e-12)
    assert result.events.mean[2] == 1


def test_thinned_draws_are_every_third() -> None:
    network = random_network(6)
    every = plain_run(network, draws=50, keep_draws=True).kept
    third = plain_run(network, draws=50, keep_draws=True, thin=3).kept
    assert every is not None and third is not None
    np.testing.assert_array_equal(every[:, 2::3], third)


def test_seeds_differ_and_repeat() -> None:
    network = random_network(6)
    assert_same(plain_run(network, seed=1), plain_run(network, seed=1))
    assert (plain_run(network, seed=1).atoms.mean != plain_run(network, seed=2).atoms.mean).any()


@pytest.mark.parametrize("batches", [1, 5])
def test_smaller_batches_on_request(batches: int) -> None:
    network = random_network(6)
    result = plain_run(network, PlainGibbs(chains_per_batch=-(-8 // batches)), keep_draws=True)
    assert result.kept is not None and result.kept.shape[0] == 8
    assert len({chain.tobytes() for chain in result.kept}) == 8  # no two chains alike


def test_decided_atoms_have_no_error() -> None:
    network = network_of(3, [(1.0, [1, 3])], bias={0: np.inf, 2: -np.inf})
    for estimator in ("sample", "conditional"):
        result = plain_run(network, estimator=estimator)
        assert result.atoms.mean[[0, 2]].tolist() == [1, 0] and result.atoms.stderr[[0, 2]].tolist() == [0, 0]
        assert np.isnan(result.atoms.rhat[[0, 2]]).all() and np.isnan(result.atoms.ess[[0, 2]]).all()
        assert not result.atoms.never_moved.any() and result.atoms.stderr[1] > 0


def test_an_atom_that_never_moves_is_reported() -> None:
    network = network_of(2, [], bias={0: -30.0})
    result = plain_run(network, estimator="sample")
    assert result.atoms.never_moved.sum() == 1 and result.atoms.mean[0] == 0
    assert np.isnan(result.atoms.rhat[0]) and np.isnan(result.atoms.ess[0])
    assert 0 < result.atoms.stderr[0] < 0.01
    assert any("kept one value" in c and "A(1)" in c for c in result.concerns(lambda row: f"A({row + 1})"))
    # its conditionals tell that no move was to be expected
    result = plain_run(network, estimator="conditional")
    assert not any("kept one value" in c for c in result.concerns())
    assert any("1 of 2 query atoms kept one value" in r and "for atom 0" in r for r in result.remarks())


def test_empty_networks_and_queries() -> None:
    empty = network_of(0)
    result = plain_run(empty, events=[np.array([], np.int32)])
    assert len(result.atoms) == 0 and result.events.mean.tolist() == [1.0]
    nothing = plain_run(random_network(1), query_atoms=np.zeros(0, np.int32), target_stderr=0.1, keep_draws=True)
    assert len(nothing.atoms) == 0 and nothing.draws == 60 and nothing.concerns() == []


@pytest.mark.parametrize(("chains", "draws"), [(1, 1), (1, 2), (2, 1), (9, 1), (1, 3), (64, 2)])
def test_very_short_runs(chains: int, draws: int) -> None:
    for estimator in ("sample", "conditional"):
        result = plain_run(random_network(2), chains=chains, draws=draws, burn_in=0, estimator=estimator)
        assert np.isfinite(result.atoms.mean).all() and result.draws == draws
        assert not (result.atoms.stderr == 0).any()


def test_target_stops_early_and_at_a_fixed_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    network = random_network(4)
    options = {"chains": 64, "draws": 2000, "burn_in": 10, "target_stderr": 0.005, "estimator": "sample"}
    first = plain_run(network, **options)
    assert first.stopped == "target" and 100 <= first.draws < 2000 and first.atoms.stderr.max() <= 0.005
    monkeypatch.setattr(loop.Pace, "within", lambda self, seconds: 3)
    assert_same(first, plain_run(network, **options))
    assert not any("target" in c for c in first.concerns())


def test_missed_target_is_a_concern() -> None:
    result = plain_run(random_network(4), target_stderr=1e-6)
    assert result.stopped == "draws" and any("target" in c for c in result.concerns())


def test_time_limit() -> None:
    result = plain_run(random_network(4), PlainGibbs(seconds_a_sweep=0.01), draws=10**7, burn_in=2, time_limit=0.5)
    assert result.stopped == "time" and 0 < result.draws < 100
    assert 0.4 < result.seconds < 5


def test_time_limit_does_not_count_the_first_compilation(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    def cold_for_a_while(modules: tuple[str, ...]) -> bool:
        clock.now += 0.7
        return True

    monkeypatch.setattr("markovlogic.running.loop.are_cold", cold_for_a_while)
    result = plain_run(random_network(4), PlainGibbs(), draws=8, burn_in=2, time_limit=0.5)
    assert result.draws == 8


def test_failures_reach_the_caller() -> None:
    with pytest.raises(RuntimeError, match="planted failure in sweep 17"):
        plain_run(random_network(4), PlainGibbs(fail_at=17), chains=130)


def test_sampler_concerns_are_passed_on_once() -> None:
    assert plain_run(random_network(4), PlainGibbs(worried=True), chains=65, draws=400).concerns() == ["planted concern"]


@pytest.mark.parametrize(
    "options",
    [
        {"chains": 0}, {"draws": 0}, {"burn_in": -1}, {"seed": -1}, {"thin": 0}, {"time_limit": 0.0}, {"threads": 0},
        {"target_stderr": -1.0}, {"target_stderr": float("nan")}, {"estimator": "orbit"},
    ],
)  # fmt: skip
def test_senseless_numbers_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        plain_run(random_network(1), **options)


def test_numbers_of_other_kinds() -> None:
    network = random_network(1)
    result = plain_run(network, chains=np.int64(3), draws=np.int32(20), time_limit=float("inf"), target_stderr=np.float32(1))
    assert_same(result, plain_run(network, chains=3, draws=20))


def test_refusals() -> None:
    network = random_network(1)
    with pytest.raises(InputError, match="--checkpoint"):
        plain_run(network, resume=True)
    with pytest.raises(InputError, match="no conditionals"):
        plain_run(network, PlainGibbs(has_conditionals=False), estimator="conditional")
    assert plain_run(network, PlainGibbs(has_conditionals=False)).estimator.name == "sample"
    with pytest.raises(ValueError, match="outside"):
        plain_run(network, query_atoms=np.array([5], np.int32))
    with pytest.raises(ValueError, match="outside"):
        plain_run(network, events=[np.array([-1], np.int32)])
    with pytest.raises(ResourceError, match="GiB"):
        plain_run(network, draws=10**10, keep_draws=True)


class Heard:
    def __init__(self) -> None:
        self.stages: list[tuple[str, float | None]] = []
        self.calls: list[tuple[float, str]] = []

    def stage(self, name: str, total: float | None = None) -> None:
        self.stages.append((name, total))

    def advance(self, done: float, note: str = "") -> None:
        self.calls.append((done, note))


def test_progress_tells_sweeps_worst_numbers_and_time_left() -> None:
    heard = Heard()
    plain_run(random_network(4), PlainGibbs(seconds_a_sweep=0.02), draws=80, burn_in=5, progress=heard)
    assert heard.stages == [("sample", 85)]
    done = [d for d, _ in heard.calls]
    assert done == sorted(done) and done[-1] == 85
    assert any("R-hat" in note and "stderr" in note and "s left" in note for _, note in heard.calls)


def test_queries_in_any_order() -> None:
    network = random_network(4)
    forward = plain_run(network)
    backward = plain_run(network, query_atoms=all_atoms(network)[::-1])
    np.testing.assert_array_equal(forward.atoms.mean, backward.atoms.mean[::-1])


def test_a_search_for_a_start_is_a_stage_of_its_own_reported_once() -> None:
    from markovlogic.running.run import _Waiting

    reported: list[tuple[object, ...]] = []

    class Seen:
        def stage(self, name: str, total: float | None = None) -> None:
            reported.append((name,))

        def advance(self, done: float, note: str = "") -> None:
            reported.append((done, note))

    waiting = _Waiting(Seen())
    waiting.report("two rules broken")
    waiting.report("one rule broken")
    assert reported == [("search",), (0, "two rules broken"), (0, "one rule broken")]
