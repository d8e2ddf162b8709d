"""Compiled kernels are dropped when any kernel's source changes, because Numba looks at the caller's file only."""

import numpy as np
import pytest

from markovlogic.kernels import are_cold, drop_stale_kernels, sources_digest
from markovlogic.networks.ground import network_of
from markovlogic.samplers.blocked import Blocked
from markovlogic.samplers.gibbs import Gibbs
from markovlogic.samplers.mcsat import MCSAT


def test_the_digest_changes_with_any_source(tmp_path):
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "b.py").write_text("y = 1")
    before = sources_digest(tmp_path)
    (tmp_path / "b.py").write_text("y = 2")
    assert sources_digest(tmp_path) != before


def test_another_digest_empties_the_cache_and_the_same_one_does_not(tmp_path):
    assert drop_stale_kernels(tmp_path, "one")
    compiled = tmp_path / "gibbs.sweep-1.py311.nbi"
    compiled.write_bytes(b"")
    assert not drop_stale_kernels(tmp_path, "one")
    assert compiled.exists()
    assert drop_stale_kernels(tmp_path, "two")
    assert not compiled.exists()


def test_a_cache_that_cannot_be_made_is_left_alone(tmp_path):
    (tmp_path / "file").write_text("")
    assert not drop_stale_kernels(tmp_path / "file" / "cache", "one")


def test_an_unknown_module_is_cold():
    assert are_cold(("no_such_kernel",))
    assert not are_cold(())


@pytest.mark.parametrize("settings", [Gibbs(), MCSAT(), Blocked()], ids=lambda settings: settings.method)
@pytest.mark.parametrize("chains", [1, 8])
def test_after_a_step_the_kernels_that_a_sampler_names_are_warm(settings, chains):
    sampler = settings.build(network_of(3, [(1.0, [1, 3]), (0.5, [0, 5])]), chains)
    assert sampler.kernel_modules
    sampler.step(sampler.init(np.random.SeedSequence(1)), 1)
    assert not are_cold(sampler.kernel_modules)
