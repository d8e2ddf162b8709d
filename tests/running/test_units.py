"""Samplers that report units of their own, block means for instance, in place of single atoms."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.oracle.plain_gibbs import PlainGibbs, PlainSampler, unpack
from tests.running.made import all_atoms, assert_same, marginals, random_network, run

from markovlogic.methods.sampling.base import Units
from markovlogic.networks.ground import GroundNetwork

BLOCK = np.array([0, 0, 1, 1, 1], np.int32)


class BlockMeans(PlainSampler):
    """Plain Gibbs that tells only the mean of each block."""

    @property
    def units(self) -> Units:
        return Units(2, BLOCK)

    def unit_values(self, state: Any) -> np.ndarray:
        truth = unpack(state.world, self.n_chains)
        return np.stack([truth[block == BLOCK].mean(axis=0) for block in (0, 1)])

    def step(self, state: Any, sweeps: int, planes: Any = None, conditionals: Any = None, *, burn_in: bool = False) -> Any:
        assert planes is None and conditionals is None
        return super().step(state, sweeps, burn_in=burn_in)


@dataclass(frozen=True)
class ByBlocks(PlainGibbs):
    has_conditionals: bool = False

    def build(self, network: GroundNetwork, n_chains: int) -> BlockMeans:
        return BlockMeans(self, network, n_chains)


NETWORK = random_network(4)


def test_an_atom_s_estimate_is_its_block_s_mean_with_an_honest_error() -> None:
    """z-test of two means, false-alarm rate below 1e-5."""
    found = run(ByBlocks(), NETWORK, query_atoms=all_atoms(NETWORK), chains=16, draws=400, seed=2)
    truth = marginals(NETWORK)
    for block in (0, 1):
        own = block == BLOCK
        assert len(set(found.atoms.mean[own].tolist())) == 1
        assert abs(found.atoms.mean[own][0] - truth[own].mean()) < 5 * found.atoms.stderr[own][0]
        assert 0 < found.atoms.stderr[own][0] < 0.05 and found.atoms.rhat[own][0] < 1.05
    assert not found.concerns()


def test_the_mean_is_that_of_kept_draws() -> None:
    found = run(ByBlocks(), NETWORK, query_atoms=np.array([4, 0]), chains=70, draws=30, keep_draws=True)
    whole = run(PlainGibbs(), NETWORK, query_atoms=all_atoms(NETWORK), chains=70, draws=30, keep_draws=True)
    assert found.kept is not None and whole.kept is not None
    np.testing.assert_array_equal(found.kept, whole.kept[:, :, [4, 0]])
    expected = [whole.kept[:, :, block == BLOCK].mean() for block in (1, 0)]
    np.testing.assert_allclose(found.atoms.mean, expected, atol=1e-12)


def test_a_checkpoint_holds_them(tmp_path: Path) -> None:
    options: dict[str, Any] = {"query_atoms": all_atoms(NETWORK), "chains": 4, "draws": 50}
    whole = run(ByBlocks(), NETWORK, **options)
    with pytest.raises(RuntimeError, match="planted"):
        run(ByBlocks(fail_at=40), NETWORK, checkpoint=tmp_path / "c", **options)
    whole_again = run(ByBlocks(), NETWORK, checkpoint=tmp_path / "d", **options)
    assert_same(whole, whole_again)
    resumed = run(ByBlocks(), NETWORK, checkpoint=tmp_path / "d", resume=True, **options)
    assert_same(whole, resumed)


def test_conjunctions_are_estimated_from_worlds() -> None:
    events = [np.array([1, 3], np.int32)]
    found = run(ByBlocks(), NETWORK, query_atoms=all_atoms(NETWORK), events=events, chains=16, draws=200)
    plain = run(PlainGibbs(), NETWORK, query_atoms=all_atoms(NETWORK), events=events, chains=16, draws=200)
    np.testing.assert_array_equal(found.events.mean, plain.events.mean)
