"""What plans predict beside what runs take, one problem a method: CPU seconds, and peak memory of the process tree.

python -m benchmarks.predictions                  # all of them, a few minutes
python -m benchmarks.predictions orbital lifted   # some of them

Everything runs on one core, so that the predicted seconds are those of one, and each run is an `mln infer` of its own. Seconds
are those of the stages that the plan predicts (a search for symmetries, and the method), times the share of a core that the run
got. Memory is what was seen from outside beyond the same method on a small problem of the same rules. All methods on all
problems: `benchmarks/test_predictions.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.cost import measured
from benchmarks.test_predictions import (
    BYTES_WITHIN,
    LEAST_BYTES,
    LEAST_SECONDS,
    SECONDS_WITHIN,
    Files,
    Sized,
    existentials,
    family,
    planned,
    written,
)

from markovlogic.methods.table import method_named

PAIRS = "Smokes(p)\nFriends(p, p)\n0.8 Smokes(x) ^ Friends(x, y) => Smokes(y)\n-0.4 Smokes(x)\n-1.5 Friends(x, y)\n"


def pair_evidence(people: int, known: int) -> object:
    """Smokers whose friendships are open, but for a few that are known."""
    facts = [f"Friends(P{i}, P{(i + 1) % people})" for i in range(known)]
    return written(PAIRS, [*facts, *(f"Smokes(P{i})" for i in range(people - 3, people))], "Smokes")


HARD = Sized(family("asthma", 300, variant="hard"), family("asthma", 30, variant="hard"))


class Case(NamedTuple):
    """A method and the problem that it is given."""

    method: str
    title: str
    problem: Sized


CASES = [  # the small one is large enough for the database that grounds: what that takes itself is part of the program
    Case("partition", "records, 300", Sized(family("records", 300), family("records", 30), 2000)),
    Case("lifted", "smokers, 60, 20 pairs known", Sized(pair_evidence(60, 20), pair_evidence(60, 4))),
    Case("mcsat", "asthma with hard rules, 300", HARD),
    Case("orbital", "smokers, 300", Sized(family("smokers", 300), family("smokers", 20))),
    Case("gibbs", "protein, 2,000", Sized(family("protein", 2000), family("protein", 60), 200)),
    Case("exact", "Ising, 23 × 23", Sized(family("ising", 23), family("ising", 16))),
    Case("blocked", "people and courses, 200", Sized(existentials(200, 300), existentials(30, 30))),
    Case("tempered", "Ising, 150 × 150", Sized(family("ising", 150), family("ising", 20), 200)),
    Case("bp", "Ising, 150 × 150", Sized(family("ising", 150), family("ising", 20))),
    Case("lifted-blocked", "smokers, 60", Sized(family("smokers", 60), family("smokers", 20), 1000)),
]


class Run(NamedTuple):
    """What a run took: CPU seconds of the stages that plans predict, and bytes of the process tree."""

    seconds: float
    memory: int


def run(files: Files, method: str, draws: int, folder: Path) -> Run:
    """One `mln infer`, in a process of its own."""
    stats = folder / "stats.json"
    sampling = ["--draws", str(draws)] if method_named(method).samples else []
    asked = ["infer", files.model, "-e", files.evidence, "-q", files.query, "--method", method, *sampling]
    begun = time.perf_counter()
    command = [str(Path(sys.executable).with_name("mln")), *asked, "--stats", str(stats), "-o", str(folder / "answer.parquet")]
    total, peak, code, _ = measured([*command, "--quiet"])
    share = min(1.0, total / (time.perf_counter() - begun))
    if code not in (0, 1):  # 1: an answer with a concern, since draws are few
        raise SystemExit(f"{' '.join(command)} ended with {code}")
    found = json.loads(stats.read_text())
    stages = found["seconds"]
    return Run(share * (stages["symmetry"] + stages["sample"]), max(peak, found["peak_memory_bytes"]))


def _told(ratio: float, judged: bool, within: float) -> str:
    """Predicted over measured; bold where that misses the aim."""
    if not judged:
        return "too small"
    return f"{ratio:.2f}" if 1 / within <= ratio <= within else f"**{ratio:.2f}**"


def row(case: Case, folder: Path) -> str:
    """A line of the table."""
    method, problem = case.method, case.problem
    files, small = problem.made(folder / "made"), problem.tiny(folder / "small")
    base = min(run(small, method, 20, folder).memory for _ in range(2))  # the first run may compile
    cost = planned(files, method, problem.draws).cost
    took = run(files, method, problem.draws, folder)
    memory = max(1, took.memory - base)
    seconds_ratio, memory_ratio = cost.seconds / took.seconds, cost.memory_bytes / memory
    told = [
        _told(seconds_ratio, took.seconds >= LEAST_SECONDS, SECONDS_WITHIN),
        _told(memory_ratio, memory >= LEAST_BYTES, BYTES_WITHIN),
    ]
    return (
        f"| `{method}` | {case.title} | {cost.seconds:.2f} | {took.seconds:.2f} | {told[0]}"
        f" | {cost.memory_bytes / 1e6:,.0f} | {memory / 1e6:,.0f} | {told[1]} |"
    )


def main() -> None:
    """Run the cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("method", nargs="*", help=", ".join(case.method for case in CASES))
    wanted = parser.parse_args().method
    if unknown := set(wanted) - {case.method for case in CASES}:
        parser.error(f"no case of {', '.join(sorted(unknown))}")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # children inherit it
    print("| method | problem | CPU s predicted | measured | ratio | MB predicted | measured | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for case in CASES:
        if not wanted or case.method in wanted:
            with TemporaryDirectory() as folder:
                print(row(case, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
