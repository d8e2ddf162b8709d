"""Grounding: ground clauses a second, and the peak memory of a process of its own that does nothing else.

Run with `make bench`. Targets: full WebKB in 5 s and 1 GB; 250,000 clauses of a web-page problem in 1 s (Alchemy 2 takes about
12 s, Tuffy about 2.5 s); a million clauses a second on ten million.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from markovlogic.data.readers import read_evidence
from markovlogic.grounding.ground import ground
from markovlogic.grounding.predict import predict
from markovlogic.language.load import load, parse
from markovlogic.language.lower import lower
from markovlogic.problem import pose

pytestmark = pytest.mark.benchmark(group="grounding")

DATA = Path(__file__).parents[2] / "shared" / "data"
CLASSES = ["Course", "Department", "Person", "Faculty", "ResearchProject", "Staff", "Student"]


def webkb():
    """All five files, words and links closed, classes open."""
    model = load(DATA / "webkb" / "webkb.mln")
    evidence = read_evidence(model, sorted((DATA / "webkb").glob("*.db")))
    return pose(model, evidence, CLASSES), lower(model)


def protein():
    """211 rules, so that what a query costs matters."""
    model = load(DATA / "protein" / "protein.mln")
    evidence = read_evidence(model, [DATA / "protein" / "protein.db"])
    return pose(model, evidence, [name for name in model.predicates if name.startswith("Func")]), lower(model)


def pages(n_pages, n_links, n_classes=5):
    """Class pairs over links: n_links clauses for each pair of classes."""
    import pyarrow as pa

    names = [f"C{i}" for i in range(n_classes)]
    rules = [f"0.{i + 1}{j + 1} {a}(x) ^ Linked(x, y) => {b}(y)" for i, a in enumerate(names) for j, b in enumerate(names)]
    model = parse("\n".join([f"{name}(page)" for name in names] + ["Linked(page, page)"] + rules) + "\n")
    pair = np.random.default_rng(1).choice(n_pages**2, n_links, replace=False)
    links = pa.table({"x": pair // n_pages, "y": pair % n_pages})
    return pose(model, read_evidence(model, [("Linked", links)]), names), lower(model)


def transitivity(n):
    """Nothing is known: n³ groundings with three literals."""
    constants = ", ".join(f"A{i}" for i in range(n))
    model = parse(f"person = {{{constants}}}\nFriends(person, person)\n1 Friends(x,y) ^ Friends(y,z) => Friends(x,z)\n")
    return pose(model, None, ["Friends"]), lower(model)


def half_known(n):
    """Transitivity where a random half of the atoms is known."""
    import pyarrow as pa

    problem, lowered = transitivity(n)
    pair = np.random.default_rng(1).choice(n**2, n**2 // 2, replace=False)
    names = np.array([f"A{i}" for i in range(n)])
    facts = pa.table({"x": names[pair // n], "y": names[pair % n], "truth": np.arange(len(pair)) % 2 == 0})
    return pose(problem.model, read_evidence(problem.model, [("Friends", facts)]), ["Friends"]), lowered


CASES = {
    "webkb": webkb,
    "protein": protein,
    "pages-250k": lambda: pages(1_000, 10_000),
    "pages-10M": lambda: pages(40_000, 400_000),
    "transitivity-10M": lambda: transitivity(216),
    "half-known-transitivity": lambda: half_known(300),
}


def peak_memory(case):
    """Bytes that a process takes at its peak when it grounds the case."""
    done = subprocess.run([sys.executable, __file__, case], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", CASES)
def test_ground(benchmark, case):
    if case in ("webkb", "protein") and not DATA.is_dir():
        pytest.skip("the benchmark data ../shared/data is not there")
    problem, lowered = CASES[case]()
    large = predict(problem, lowered).clauses_at_most > 1_000_000
    network = benchmark.pedantic(ground, (problem, lowered), rounds=1 if large else 3, warmup_rounds=0 if large else 1)
    benchmark.extra_info["clauses"] = network.n_clauses
    benchmark.extra_info["clauses_a_second"] = network.n_clauses / benchmark.stats.stats.min
    benchmark.extra_info["network_bytes"] = network.nbytes
    benchmark.extra_info["predicted_bytes"] = predict(problem, lowered).memory_bytes
    benchmark.extra_info |= peak_memory(case)


@pytest.mark.parametrize("case", ["webkb", "protein"])
def test_predict(benchmark, case):
    if not DATA.is_dir():
        pytest.skip("the benchmark data ../shared/data is not there")
    problem, lowered = CASES[case]()
    benchmark.pedantic(predict, (problem, lowered), rounds=3, warmup_rounds=1)


def own_peak():
    """Bytes; not ru_maxrss, which a process inherits from the one that started it."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    made = CASES[sys.argv[1]]()
    before = own_peak()
    ground(*made)
    print(json.dumps({"peak_memory_bytes": own_peak(), "of_which_before_grounding": before}))
