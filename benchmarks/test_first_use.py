"""First use of each kernel on a machine that has compiled none, and later use, which loads it from the cache."""

import pytest
from benchmarks.test_gibbs import BUSY, in_fresh_process

USE = """
import time
import numba
import numpy as np
from markovlogic import MCSAT, Blocked, Gibbs
from markovlogic.networks.ground import network_of
from markovlogic.system.progress import SILENT
from markovlogic.running.loop import warm_up
network = {network}
begun = time.perf_counter()
sampler = {settings}.build(network, {chains})
warm_up(sampler, SILENT)
sampler.step(sampler.init(np.random.SeedSequence(1)), 1)
print(time.perf_counter() - begun)
"""


PLAIN = "network_of(6, [(1.0, [1, 3]), (0.5, [1, 5, 7])])"
MANY_KINDS = "network_of(6, [(1.0, [1, 3]), (float('inf'), [1, 5, 7])], groups=[[4, 5]])"


@pytest.mark.parametrize(
    ("settings", "chains", "network", "most"),
    [
        ("Gibbs()", 64, PLAIN, 6),
        ("Gibbs()", 64, MANY_KINDS, 20),
        ("Gibbs()", 1, MANY_KINDS, 20),
        ("MCSAT()", 8, MANY_KINDS, 20),
        ("Blocked()", 8, MANY_KINDS, 20),
    ],
    ids=["gibbs, short clauses alone", "gibbs", "gibbs, one chain", "mcsat", "blocked"],
)
def test_first_use_and_later_use(benchmark, tmp_path, settings, chains, network, most):
    code = USE.format(settings=settings, chains=chains, network=network)
    first = float(in_fresh_process(code, NUMBA_CACHE_DIR=str(tmp_path)))
    later = float(benchmark.pedantic(in_fresh_process, (code,), {"NUMBA_CACHE_DIR": str(tmp_path)}, rounds=1))
    benchmark.extra_info |= {"first_use_seconds": first, "later_use_seconds": later, "busy": BUSY}
    print(f"\n{settings}, {chains} chains: first use {first:.1f} s, later {later:.2f} s{' (busy machine)' if BUSY else ''}")
    assert BUSY or (first < most and later < 1)
