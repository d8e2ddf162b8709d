"""What whole commands cost: CPU seconds and peak memory of the process tree, one row a command.

python -m benchmarks.cost                        # all cases but the largest, a few minutes
python -m benchmarks.cost cluster-100000 atoms   # some of them
python -m benchmarks.cost --mln OTHER/bin/mln    # another build, to set beside this one
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

Case = Callable[[Path, str], list[str]]  # a folder and a command to generate with; gives arguments of mln
SIZES = (1000, 10_000, 100_000, 1_000_000)
LARGEST = 1_000_000  # records, only when they are named


def generated(name: str, size: int, *command: str, evidence: float = 0.1) -> Case:
    """A command on a problem of `mln generate`."""

    def make(folder: Path, mln: str) -> list[str]:
        call = [mln, "generate", name, "--size", str(size), "--evidence", str(evidence), "-o", str(folder), "--quiet"]
        subprocess.run(call, check=True)
        return [command[0], str(folder / f"{name}.mln"), "-e", str(folder / f"{name}.db"), *command[1:]]

    return make


def independent_atoms(folder: Path, _: str) -> list[str]:
    """833,134 atoms that no clause mentions, each with a weight of its own rule."""
    (folder / "m.mln").write_text("Likes(person, thing)\nBuys(person, thing)\n1.2 Likes(p, t) => Buys(p, t)\n0.3 Buys(p, t)\n")
    rows = [f"Likes(P{i // 913}, T{i % 913})" for i in range(0, 833_134, 7)]
    (folder / "m.db").write_text("\n".join(rows) + "\n" + "".join(f"Likes(P{i}, T{i})\n" for i in range(913)))
    return ["infer", str(folder / "m.mln"), "-e", str(folder / "m.db"), "-q", "Buys"]


def communities(folder: Path, _: str) -> list[str]:
    """A million objects in 100,000 small communities, and one community of 150."""
    rng = np.random.default_rng(26)
    (folder / "m.mln").write_text("Smokes(p)\nFriends(p, p)\n0.8 Smokes(x) ^ Friends(x, y) => Smokes(y)\n-0.4 Smokes(x)\n")
    size = np.concatenate([[150], rng.integers(5, 16, 100_000)])
    begin = np.repeat(np.cumsum(size) - size, size)
    one, sizes = np.arange(size.sum()), np.repeat(size, size)
    other = begin + rng.integers(0, sizes)
    more = rng.integers(0, 150, (2, 300))  # the largest community has more friends
    pairs = np.concatenate([np.stack([one, other]), more], axis=1).T
    (folder / "m.db").write_text("".join(f"Friends(P{a}, P{b})\n" for a, b in pairs.tolist() if a != b))
    return ["infer", str(folder / "m.mln"), "-e", str(folder / "m.db"), "-q", "Smokes"]


CASES: dict[str, Case] = {
    **{f"cluster-{n}": generated("records", n, "cluster", "--predicate", "Same") for n in SIZES},
    **{f"explain-{n}": generated("records", n, "explain", "-q", "Same") for n in SIZES},
    "atoms": independent_atoms,
    "communities": communities,
    "smokers-60": generated("smokers", 60, "infer", "-q", "Smokes,Cancer", "--target-stderr", "0.005"),
    "webkb-1000": generated("webkb", 1000, "infer", "-q", "Course,Faculty,Student", "--target-stderr", "0.005", evidence=0.3),
}


def tree_memory(pid: int) -> int:
    """Bytes in memory of a process and its children."""
    try:
        own = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
        children = [
            int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
        ]
    except OSError:
        return 0
    return own + sum(tree_memory(child) for child in children)


def measured(command: list[str]) -> tuple[float, float, int, str]:
    """CPU seconds, peak bytes, exit code and notes of a command."""
    before, peak = resource.getrusage(resource.RUSAGE_CHILDREN), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(process.stderr or []))
    reader.start()
    while process.poll() is None:
        peak = max(peak, tree_memory(process.pid))
        time.sleep(0.05)
    reader.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, peak, process.returncode, "".join(line for line in lines if line.startswith(("note", "concern")))


def main() -> None:
    """Run the cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="*", help=", ".join(CASES))
    parser.add_argument("--mln", default=str(Path(sys.executable).with_name("mln")))
    parser.add_argument("--notes", action="store_true", help="print notes and concerns too")
    given = parser.parse_args()
    if unknown := [name for name in given.case if name not in CASES]:
        parser.error(f"unknown case {unknown[0]}: one of {', '.join(CASES)}")
    print("| command | CPU s | peak memory, MB | exit code |\n|---|---|---|---|")
    for name in given.case or [name for name in CASES if not name.endswith(f"-{LARGEST}")]:
        with TemporaryDirectory() as folder:
            output = ["-o", str(Path(folder) / "out.csv")]
            arguments = CASES[name](Path(folder), given.mln)
            seconds, peak, code, notes = measured([given.mln, *arguments, *([] if arguments[0] == "explain" else output)])
        print(f"| {name} | {seconds:.1f} | {peak / 1e6:,.0f} | {code} |", flush=True)
        if given.notes:
            print(notes, file=sys.stderr)


if __name__ == "__main__":
    main()
