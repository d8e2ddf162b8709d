"""Partitions: records that chains of MC-SAT do not resolve, and how a sweep grows with the number of records."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.generate import make, write
from markovlogic.methods.analysis import analysis_of
from markovlogic.methods.resources import Resources
from markovlogic.methods.sampling.partition import Partition
from markovlogic.problem.prepare import prepare_problem
from markovlogic.system.measures import Stopwatch, peak_memory


@pytest.mark.parametrize(("method", "variant"), [("partition", ""), ("partition", "hard"), ("mcsat", "")])
def test_three_hundred_records(method: str, variant: str, tmp_path: Path) -> None:
    rules, facts = write(make("records", 300, 0.0, 1, variant=variant), tmp_path)
    if method == "partition":  # its kernels are compiled once on a machine
        mln.infer(rules, [facts], "Same", method=method, threads=1, chains=1, draws=1)
    options = {"chains": 8, "draws": 500} if method == "partition" else {"time_limit": 60}
    begun, used = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = mln.infer(rules, [facts], "Same", method=method, threads=1, **options)
    print(
        f"\n{method} {variant}: {time.perf_counter() - begun:.1f} s, {time.process_time() - used:.1f} s of processor, "
        f"sampling {result.run.seconds['sample']:.1f} s, worst R-hat {np.nanmax(result.rhat):.4f} "
        f"({int(np.count_nonzero(result.rhat >= 1.01))} atoms at 1.01 or more), guarantee {result.guarantee}"
    )
    if method == "partition" and not variant:
        assert np.nanmax(result.rhat) < 1.01


@pytest.mark.parametrize("method", ["auto", "ilp"])
def test_the_most_probable_partition(method: str, tmp_path: Path) -> None:
    rules, facts = write(make("records", 300, 0.0, 1), tmp_path)
    mln.maximize(rules, [facts], "Same", method=method, tries=1, flips=1)
    used = time.process_time()
    world = mln.maximize(rules, [facts], "Same", method=method, time_limit=60)
    print(f"\nmap by {method}: {time.process_time() - used:.1f} s of processor, {world.description}")


@pytest.mark.parametrize("command", ["infer", "cluster"])
def test_a_hundred_thousand_records_by_command(command: str, tmp_path: Path) -> None:
    rules, facts = write(make("records", 100_000, 0.0, 1), tmp_path)
    # all pairs of the answer to -q Same would be ten billion rows, most of them impossible
    what = ["-q", "Same(R0_0,_)", "--method", "partition"] if command == "infer" else ["--predicate", "Same"]
    limits = ["--chains", "1", "--time-limit", "300", "-o", str(tmp_path / "out.csv"), "--quiet"]
    mln_command = str(Path(sys.executable).with_name("mln"))
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([mln_command, command, str(rules), "-e", str(facts), *what, *limits], check=False)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime - begun.ru_utime - begun.ru_stime
    print(f"\nmln {command}: {seconds:.0f} s of processor, memory {used.ru_maxrss / 1e6:,.2f} GB, exit code {done.returncode}")
    assert done.returncode in {0, 1}


def test_a_hundred_thousand_records(tmp_path: Path) -> None:
    rules, facts = write(make("records", 100_000, 0.0, 1), tmp_path)
    prepared = prepare_problem(rules, [facts], "Same(R0_0,R0_1)")
    with analysis_of(prepared, Resources(), Stopwatch()) as analysis:
        network = analysis.partition.network
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
