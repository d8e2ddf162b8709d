"""Partitions: records that chains of MC-SAT do not resolve, and how a sweep grows with the number of records."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.generate import make, write
from markovlogic.measures import Stopwatch, peak_memory
from markovlogic.methods.case import Resources, case_of
from markovlogic.posing import pose_problem
from markovlogic.samplers.partition import Partition


@pytest.mark.parametrize("method", ["partition", "mcsat"])
def test_three_hundred_records(method: str, tmp_path: Path) -> None:
    rules, facts = write(make("records", 300, 0.0, 1), tmp_path)
    options = {"chains": 8, "draws": 500} if method == "partition" else {"time_limit": 60}
    begun, used = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = mln.infer(rules, [facts], "Same", method=method, threads=1, **options)
    print(
        f"\n{method}: {time.perf_counter() - begun:.1f} s, {time.process_time() - used:.1f} s of processor, "
        f"sampling {result.run.seconds['sample']:.1f} s, worst R-hat {np.nanmax(result.rhat):.4f}, guarantee {result.guarantee}"
    )
    if method == "partition":
        assert np.nanmax(result.rhat) < 1.01


def test_a_hundred_thousand_records(tmp_path: Path) -> None:
    rules, facts = write(make("records", 100_000, 0.0, 1), tmp_path)
    posed = pose_problem(rules, [facts], "Same(R0_0,R0_1)")
    with case_of(posed, Resources(), Stopwatch()) as case:
        network = case.partition.network
        sampler = Partition().build(network, 1)
        state = sampler.init(np.random.SeedSequence(0))
        sampler.step(state, 1)
        begun = time.perf_counter()
        sampler.step(state, 5)
        sweep = (time.perf_counter() - begun) / 5
    memory = peak_memory() or 0
    size = f"{network.n_nodes:,} records, {len(network.edge):,} pairs"
    print(f"\n{size}: a sweep takes {sweep:.2f} s, memory {memory / 1e6:,.0f} MB")
    assert sweep < 2 and memory < 1e9
