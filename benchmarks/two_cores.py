"""What a second core costs: CPU seconds of two threads in one process, beside two processes at once and one alone.

python -m benchmarks.two_cores

Each side makes the same sweeps of the Gibbs kernel over networks of its own that do not fit the cache: twice in one thread;
in two threads of one process; in two processes at once, which share nothing but the machine. Where two processes lose as much
as two threads, it is memory, caches and clock that the cores share, and not the program.
"""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from benchmarks.test_gibbs import Ours, random_clauses

SIZES = {"in the cache": 2_000, "beyond it": 40_000}  # atoms
ROUNDS = 3


def side(atoms: int) -> Ours:
    """Three clauses of three literals an atom, 64 chains."""
    return Ours(random_clauses(atoms, {3: 3 * atoms}, 1), 64)


def sweeps(atoms: int) -> int:
    """As many as take some tenths of a second."""
    return max(2, 2_000_000 // atoms)


def worker(atoms: int) -> None:
    """Say when ready, wait for the start, and say how many CPU seconds the sweeps took."""
    own = side(atoms)
    own.seconds(1)
    for _ in range(ROUNDS):
        print("ready", flush=True)
        sys.stdin.readline()
        begun = time.process_time()
        own.seconds(sweeps(atoms))
        print(time.process_time() - begun, flush=True)


def main() -> None:
    """Measure and print a table."""
    print("| network | one thread | two threads | two processes |\n|---|---|---|---|")
    for name, atoms in SIZES.items():
        first, second = side(atoms), side(atoms)
        both = (first, second)
        call = [sys.executable, "-m", "benchmarks.two_cores", "worker", str(atoms)]
        others = [subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in both]
        found = []
        with ThreadPoolExecutor(2) as pool:
            for own in both:
                own.seconds(1)
            for _ in range(ROUNDS):
                begun = time.process_time()
                for own in both:
                    own.seconds(sweeps(atoms))
                alone = time.process_time() - begun
                begun = time.process_time()
                list(pool.map(Ours.seconds, both, [sweeps(atoms)] * len(both)))
                threads = time.process_time() - begun
                for other in others:
                    assert other.stdout is not None and other.stdout.readline()
                for other in others:
                    assert other.stdin is not None
                    other.stdin.write("go\n")
                    other.stdin.flush()
                processes = sum(float(other.stdout.readline()) for other in others if other.stdout is not None)
                found.append((alone, threads, processes))
        for other in others:
            other.wait()
        alone, threads, processes = np.median(found, axis=0)
        print(
            f"| {name} | {alone:.2f} | {threads:.2f} ({threads / alone:.2f}) | {processes:.2f} ({processes / alone:.2f}) |",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        worker(int(sys.argv[2]))
    else:
        main()
