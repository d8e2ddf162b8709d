"""Runs of the real samplers: neither cores, nor the grouping of sweeps, nor death and resumption change a number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.running.made import all_atoms, assert_same, random_network, run

from markovlogic.estimation.tallies import Saved
from markovlogic.methods.sampling import gibbs
from markovlogic.methods.sampling.gibbs import SHARED_FROM, Gibbs
from markovlogic.methods.sampling.mcsat import MCSAT
from markovlogic.running import loop as loop_module
from markovlogic.running.checkpoint import Checkpoint

NETWORK = random_network(9, n_atoms=7, n_clauses=9)
SAMPLERS = [Gibbs(), Gibbs(scan="random"), MCSAT()]
EVENTS = [np.array([1, 3], np.int32)]


class Bomb:
    """An observer that counts the draws it sees and fails at one of them."""

    name = "bomb"

    def __init__(self, at: int = -1) -> None:
        self.at, self.seen = at, np.zeros(1, np.int64)

    def watch(self, batch: int, n_chains: int) -> Bomb:
        return Bomb(self.at)

    def see(self, draw: int, world: np.ndarray) -> None:
        self.seen += 1
        assert self.seen[0] == draw
        if draw == self.at:
            raise RuntimeError("planted")

    def saved(self) -> Iterator[Saved]:
        yield Saved("seen", self.seen, int(self.seen[0]))

    def restore(self, arrays: Any, draws: int) -> None:
        self.seen = arrays.like("seen", self.seen)


def sampled(settings: Any, **options: Any) -> Any:
    return run(settings, NETWORK, query_atoms=all_atoms(NETWORK), **{"draws": 90, "burn_in": 10, **options})


@pytest.mark.parametrize("chains", [1, 8, 65])
@pytest.mark.parametrize("settings", SAMPLERS, ids=repr)
def test_grouping_and_threads(settings: Any, chains: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sampled(settings, chains=chains, events=EVENTS, threads=1)
    assert_same(whole, sampled(settings, chains=chains, events=EVENTS, threads=2))
    for sweeps in (1, 13):
        monkeypatch.setattr(loop_module.Pace, "within", lambda self, seconds, sweeps=sweeps: sweeps)
        plain = sampled(settings, chains=chains)
        np.testing.assert_array_equal(plain.atoms.mean, whole.atoms.mean)
        np.testing.assert_array_equal(plain.atoms.stderr, whole.atoms.stderr)


@pytest.mark.parametrize("estimator", ["sample", "conditional"])
@pytest.mark.parametrize("chains", [40, 128])
def test_threads_that_share_batches_change_nothing(chains: int, estimator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network large enough for that; with 128 chains two threads have a batch each, and four share both."""
    network = random_network(10, n_atoms=SHARED_FROM, n_clauses=2 * SHARED_FROM)
    seen = set()
    halves = gibbs.halves_of
    monkeypatch.setattr(gibbs, "halves_of", lambda all_: seen.add(threads) or halves(all_))
    results = []
    for threads in (1, 2, 3, 4):
        options = {"chains": chains, "draws": 20, "burn_in": 3, "estimator": estimator, "threads": threads}
        results.append(run(Gibbs(), network, query_atoms=all_atoms(network), **options))
        assert_same(results[0], results[-1])
    assert seen == ({2, 3, 4} if chains == 40 else {4})


@pytest.mark.parametrize("chains", [1, 65])
@pytest.mark.parametrize("settings", SAMPLERS, ids=repr)
def test_death_and_resumption(settings: Any, chains: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sampled(settings, chains=chains)
    monkeypatch.setattr(loop_module, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(loop_module, "WRITE_SPACING", 0)
    monkeypatch.setattr(loop_module.Pace, "within", lambda self, seconds: 3)
    monkeypatch.setattr(Checkpoint, "busy", False)
    for at in (20, 47, 80):
        with pytest.raises(RuntimeError, match="planted"):
            sampled(settings, chains=chains, checkpoint=tmp_path, resume=True, observers=[Bomb(at)])
    resumed = sampled(settings, chains=chains, checkpoint=tmp_path, resume=True, observers=[Bomb()])
    assert resumed.resumed_at and resumed.resumed_at >= 20
    assert_same(whole, resumed)
