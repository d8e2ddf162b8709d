"""What `auto` takes beside the methods that could be named: CPU seconds of whole commands, one row a problem.

python -m benchmarks.auto_choice                  # nine problems, some five CPU minutes
python -m benchmarks.auto_choice smokers grid     # some of them
python -m benchmarks.auto_choice --data FOLDER    # texas too, from FOLDER/webkb/texas.db

Each run ends at a standard error of 0.005, or with an exact answer. Methods that `explain` predicts to take ten times as long
as the quickest are not run, nor those that promise nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.cost import measured

PRECISION = ("--target-stderr", "0.005")
WITHIN, LEAST = 10.0, 1.0  # times the quickest prediction, or what is below this second
CLASSES = "Course,Faculty,ResearchProject,Staff,Student"


class Problem(NamedTuple):
    """A problem of `mln generate`; without a size, texas with the rules of the family webkb."""

    family: str
    size: int | None
    query: str
    evidence: float = 0.1


PROBLEMS = {
    "smokers": Problem("smokers", 60, "Smokes,Cancer"),
    "texas": Problem("webkb", None, CLASSES),
    "webkb": Problem("webkb", 1000, CLASSES, 0.3),
    "grid": Problem("grid", 30, "Red"),
    "ising": Problem("ising", 30, "Up"),
    "protein": Problem("protein", 300, ",".join(f"Func_{i}" for i in range(1, 11))),
    "er": Problem("er", 30, "SameBib,SameAuthor,SameTitle,SameVenue"),
    "m3": Problem("m3", 40, "R,S,T"),
    "rst": Problem("rst", 40, "R,S,T"),
    "asthma": Problem("asthma", 60, "Asthma,Smokes,Cancer"),
}


def arguments(problem: Problem, folder: Path, mln: str, data: Path | None) -> list[str]:
    """What follows the command's name."""
    size = ("--size", str(problem.size or 20), "--evidence", str(problem.evidence))
    subprocess.run([mln, "generate", problem.family, *size, "-o", str(folder), "--quiet"], check=True)
    rules, facts = folder / f"{problem.family}.mln", folder / f"{problem.family}.db"
    if problem.size is None:
        assert data is not None
        text = rules.read_text()
        rules.write_text("\n".join(line for line in text.splitlines() if not line.startswith(("page =", "word ="))))
        classes = tuple(f"{name}(" for name in CLASSES.split(","))
        known = (*classes, "Linked(", "HasWord(")
        lines = [line for line in (data / "webkb" / "texas.db").read_text().splitlines() if line.startswith(known)]
        hidden = [at for at, line in enumerate(lines) if line.startswith(classes)][::2]  # every second label is open
        facts.write_text("\n".join(line for at, line in enumerate(lines) if at not in set(hidden)) + "\n")
    return [str(rules), "-e", str(facts), "-q", problem.query]


def compared(problem: Problem, folder: Path, mln: str, data: Path | None) -> str:
    """The cells of a row after the problem's name."""
    given = arguments(problem, folder, mln, data)
    shown = subprocess.run([mln, "explain", *given, *PRECISION, "--json", "--quiet"], capture_output=True, text=True, check=True)
    found = json.loads(shown.stdout)
    possible = {
        (one["method"], one["network"]): one["seconds"]
        for one in found["candidates"]
        if one["possible"] and one["seconds"] is not None and one["guarantee"] != "unbounded"
    }
    quickest = min(possible.values(), default=0.0)
    rivals = [which for which, seconds in possible.items() if seconds <= max(LEAST, WITHIN * quickest)]

    def took(*more: str) -> tuple[float, int]:
        seconds, _, code, _ = measured([mln, "infer", *given, *PRECISION, *more, "-o", str(folder / "out.csv"), "--quiet"])
        return seconds, code

    auto, code = took()
    named = {}
    for method, network in rivals:
        seconds, ended = took("--method", method, *(("--network", network) if network == "counting" else ()))
        if ended <= code:  # an answer with concerns is none where `auto` has none
            named[method if network != "counting" else f"{method} (counting)"] = seconds
    best = min(named, key=lambda name: named[name])
    others = ", ".join(f"{name} {named[name]:.1f}" for name in sorted(named, key=lambda name: named[name])[1:])
    return f"{found['plan']['method']} {auto:.1f} | {best} {named[best]:.1f} | {auto / named[best]:.2f} | {others}"


def main() -> None:
    """Run the problems and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problem", nargs="*", help=", ".join(PROBLEMS))
    parser.add_argument("--mln", default=str(Path(sys.executable).with_name("mln")))
    parser.add_argument("--data", type=Path, help="folder with webkb/texas.db")
    given = parser.parse_args()
    wanted = given.problem or [name for name, problem in PROBLEMS.items() if problem.size is not None or given.data is not None]
    if unknown := [name for name in wanted if name not in PROBLEMS]:
        parser.error(f"unknown problem {unknown[0]}: one of {', '.join(PROBLEMS)}")
    print("| problem | `auto`: method, CPU s | best by name | ratio | others |\n|---|---|---|---|---|")
    for name in wanted:
        with TemporaryDirectory() as folder:
            print(f"| {name} | {compared(PROBLEMS[name], Path(folder), given.mln, given.data)} |", flush=True)


if __name__ == "__main__":
    main()
