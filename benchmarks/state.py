"""A day's change: `--state` beside a fresh run of the same facts. CPU seconds, and peak memory of the process tree.

python -m benchmarks.state                  # all problems at the sizes of the documentation, some minutes
python -m benchmarks.state pages proteins   # some of them
python -m benchmarks.state records --size 10000

One percent of the facts changes: *new* ones come with a few new objects (records, sites), or tell something of a few (proteins);
*scattered* ones change anywhere. What is scattered over a giant component touches all of it.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.cost import measured

DATA = Path(__file__).parents[2] / "shared" / "data"
PAGES = 10  # of a site


class Day(NamedTuple):
    """A command, its outputs, and the facts: all of them, without the new ones, and with one percent changed anywhere."""

    command: list[str]
    facts: list[str]
    before: list[str]
    scattered: list[str]


def records(folder: Path, size: int) -> Day:
    """Records to be matched: the last one percent is new, with all its candidate pairs; or some pairs get another score."""
    mln = str(Path(sys.executable).with_name("mln"))
    subprocess.run([mln, "generate", "records", "--size", str(size), "-o", str(folder), "--quiet"], check=True)
    facts = (folder / "records.db").read_text().splitlines()
    pairs = [n for n, fact in enumerate(facts) if fact[0].isdigit()]
    some = set(random.Random(1).sample(pairs, len(pairs) // 100))
    names = [name for fact in facts for name in _arguments(fact)]
    new = set(list(dict.fromkeys(names))[-size // 100 :])
    command = ["cluster", str(folder / "records.mln"), "--predicate", "Same", "-o", str(folder / "out.csv")]
    scattered = [_other(fact) if n in some else fact for n, fact in enumerate(facts)]
    return Day(command, facts, [fact for fact in facts if not new & set(_arguments(fact))], scattered)


def _arguments(fact: str) -> list[str]:
    return fact.partition("(")[2].rstrip(")").split(",")


def _other(fact: str) -> str:
    """Another score of the same pair."""
    score, atom = fact.split()
    return f"{1 - float(score):.4f} {atom}"


def pages(folder: Path, size: int) -> Day:
    """Pages of sites; a class and the words of a page hang together, and so do linked pages. Sites are new, or words go."""
    rng = random.Random(2)
    rules = "Topic(page)\nHas(page, word)\nLinked(page, page)\n-0.4 Topic(p)\n0.6 Has(p, w) => Topic(p)\n"
    rules += "0.7 Linked(p, q) => (Topic(p) <=> Topic(q))\n"
    (folder / "pages.mln").write_text(rules)
    facts, sites = [], size // PAGES
    for site in range(sites):
        names = [f"S{site}_{page}" for page in range(PAGES)]
        facts += [f"Has({name},W{rng.randrange(200)})" for name in names for _ in range(3)]
        facts += [f"Linked({a},{b})" for a in names for b in rng.sample(names, 2) if a != b]
    gone = set(rng.sample([n for n, fact in enumerate(facts) if fact.startswith("Has(")], len(facts) // 100))
    command = ["infer", str(folder / "pages.mln"), "-q", "Topic", "-o", str(folder / "out.csv")]
    before = facts[: -len(facts) // 100]
    return Day(command, facts, before, [fact for n, fact in enumerate(facts) if n not in gone])


def proteins(folder: Path, size: int) -> Day:
    """The yeast proteins: half of the functions are known; new ones are of a few proteins."""
    rng = random.Random(3)
    facts = (DATA / "protein" / "protein.db").read_text().splitlines()
    functions = sorted({fact.partition("(")[0] for fact in facts if fact.startswith("Func_id")})
    known = [fact for fact in facts if not fact.startswith("Func_id") or rng.random() < 0.5]
    own = [n for n, fact in enumerate(known) if fact.startswith("Func_id")]
    count = len(known) // 100
    by_protein = sorted(own, key=lambda n: (_arguments(known[n]), n))
    new, some = set(by_protein[:count]), set(rng.sample(own, count))
    command = ["infer", str(DATA / "protein" / "protein.mln"), "-q", ",".join(functions), "-o", str(folder / "out.csv")]
    before, scattered = (["?" + fact if n in gone else fact for n, fact in enumerate(known)] for gone in (new, some))
    return Day(command, known, before, scattered)


PROBLEMS: dict[str, tuple[Callable[[Path, int], Day], int]] = {
    "records": (records, 100_000),
    "pages": (pages, 50_000),
    "proteins": (proteins, 0),
}


def show(name: str, size: int, folder: Path) -> None:
    """Print a row a run."""
    day = PROBLEMS[name][0](folder, size)
    mln, files = str(Path(sys.executable).with_name("mln")), {}
    shuffled = random.Random(4).sample(day.facts, len(day.facts))
    for what, facts in (("all", day.facts), ("before", day.before), ("scattered", day.scattered), ("shuffled", shuffled)):
        files[what] = folder / f"{what}.db"
        files[what].write_text("\n".join(facts) + "\n")
    state = ["--state", str(folder / "state")]
    plan: list[tuple[str, str, str, list[str]]] = [  # what is shown, the facts, the fresh run to set it beside, options
        ("fresh", "all", "", []),
        ("first, with a state", "before", "", state),
        ("1 % is new", "all", "fresh", state),
        ("nothing changed", "all", "fresh", state),
        ("facts in another order", "shuffled", "fresh", state),
        ("fresh, scattered", "scattered", "", []),
        ("1 % scattered", "scattered", "fresh, scattered", state),
    ]
    print(f"{name} {size or ''}", flush=True)
    fresh: dict[str, float] = {}
    for what, facts, beside, options in plan:
        seconds, peak, code, _ = measured([mln, *day.command, "-e", str(files[facts]), *options, "--quiet"])
        assert code in (0, 1), f"exit code {code}"
        fresh[what] = seconds
        times = f"{fresh[beside] / seconds:6.1f} times as quick" if beside else ""
        print(f"  {what:24} {seconds:8.2f} CPU s  {peak / 1e6:7.0f} MB  {times}", flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=list(PROBLEMS), choices=[*PROBLEMS, []])
    parser.add_argument("--size", type=int, help="records or pages")
    given = parser.parse_args()
    for name in given.problems:
        with TemporaryDirectory() as folder:
            show(name, given.size or PROBLEMS[name][1], Path(folder))


if __name__ == "__main__":
    main()
