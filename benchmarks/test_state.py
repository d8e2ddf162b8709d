"""A day's change: `--state` beside a fresh run, in CPU seconds and peak memory of the process.

Three problems: records to be matched, pages of many sites that link inside of a site, and the yeast proteins. Facts change by one
percent: together (the records of some days, some sites, some functions), or scattered over all. What is scattered over one giant
component touches all of it, and all of it is run again.
"""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "shared" / "data"
MLN = Path(sys.executable).with_name("mln")
RECORDS = int(os.environ.get("RECORDS", "20000"))  # the documentation has 100,000
SITES, PAGES = 5000, 10


def run(*command: object) -> tuple[float, int]:
    """CPU seconds and peak memory of one run."""
    process = subprocess.Popen([str(MLN), *map(str, command), "--quiet"], stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) in (0, 1)
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def records(folder: Path) -> tuple[list[str], list[str], list[str], list[str]]:
    """The command, and the facts: before, with one percent changed together, and scattered."""
    subprocess.run([MLN, "generate", "records", "--size", str(RECORDS), "-o", folder, "--quiet"], check=True)
    facts = (folder / "records.db").read_text().splitlines()
    command = ["cluster", folder / "records.mln", "--predicate", "Same"]
    pairs = [n for n, fact in enumerate(facts) if fact[0].isdigit()]
    last, some = set(pairs[-len(pairs) // 100 :]), set(random.Random(1).sample(pairs, len(pairs) // 100))
    return command, facts, *([_other(fact) if n in new else fact for n, fact in enumerate(facts)] for new in (last, some))


def _other(fact: str) -> str:
    """Another score of the same pair."""
    score, atom = fact.split()
    return f"{1 - float(score):.4f} {atom}"


def pages(folder: Path) -> tuple[list[str], list[str], list[str], list[str]]:
    """Pages of sites; a class and the words of a page hang together, and so do linked pages."""
    rng = random.Random(2)
    rules = "Topic(page)\nHas(page, word)\nLinked(page, page)\n-0.4 Topic(p)\n0.6 Has(p, w) => Topic(p)\n"
    rules += "0.7 Linked(p, q) => (Topic(p) <=> Topic(q))\n"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pages.mln").write_text(rules)
    facts = []
    for site in range(SITES):
        names = [f"S{site}_{page}" for page in range(PAGES)]
        facts += [f"Has({name},W{rng.randrange(200)})" for name in names for _ in range(3)]
        facts += [f"Linked({a},{b})" for a in names for b in rng.sample(names, 2) if a != b]
    words = [n for n, fact in enumerate(facts) if fact.startswith("Has(")]
    last, some = set(words[-len(facts) // 100 :]), set(rng.sample(words, len(facts) // 100))
    command = ["infer", folder / "pages.mln", "-q", "Topic", "-o", folder / "out.csv"]
    return command, facts, *([fact for n, fact in enumerate(facts) if n not in gone] for gone in (last, some))


def proteins(folder: Path) -> tuple[list[str], list[str], list[str], list[str]]:
    """The yeast proteins: half of the functions are known; one percent of the facts tell of a few functions, or of all."""
    facts = (DATA / "protein" / "protein.db").read_text().splitlines()
    rng = random.Random(3)
    functions = sorted({fact.partition("(")[0] for fact in facts if fact.startswith("Func_id")})
    known = [fact for fact in facts if not fact.startswith("Func_id") or rng.random() < 0.5]
    own = [n for n, fact in enumerate(known) if fact.startswith("Func_id")]
    count = len(known) // 100
    by_function = sorted(own, key=lambda n: known[n])
    last, some = set(by_function[:count]), set(rng.sample(own, count))
    folder.mkdir(parents=True, exist_ok=True)
    command = ["infer", DATA / "protein" / "protein.mln", "-q", ",".join(functions), "-o", folder / "out.csv"]
    opened = [["?" + fact if n in gone else fact for n, fact in enumerate(known)] for gone in (last, some)]
    return command, known, *opened


@pytest.mark.parametrize("problem", [records, pages, proteins])
def test_a_day_of_changes(benchmark, tmp_path, problem):
    if problem is proteins and not DATA.exists():
        pytest.skip("no benchmark data")
    command, *versions = problem(tmp_path / "problem")
    files = []
    for name, facts in zip(("before", "together", "scattered"), versions, strict=True):
        files.append(tmp_path / f"{name}.db")
        files[-1].write_text("\n".join(facts) + "\n")
    before, together, scattered = files
    figures = {}
    state, output = tmp_path / "state", ["-o", tmp_path / "clusters.csv"] if problem is records else []
    figures["fresh"] = run(*command, "-e", together, *output)
    figures["first, with a state"] = benchmark.pedantic(run, (*command, "-e", before, *output, "--state", state), rounds=1)
    figures["nothing changed"] = run(*command, "-e", before, *output, "--state", state)
    figures["1 % changed together"] = run(*command, "-e", together, *output, "--state", state)
    figures["back"] = run(*command, "-e", before, *output, "--state", state)
    figures["1 % changed, scattered"] = run(*command, "-e", scattered, *output, "--state", state)
    fresh = figures["fresh"][0]
    print(f"\n{problem.__name__}")
    for name, (seconds, memory) in figures.items():
        print(f"  {name:24} {seconds:8.1f} CPU s  {memory / 1e6:7.0f} MB  {fresh / seconds:6.1f} times as quick")
        benchmark.extra_info[name] = {"cpu_seconds": seconds, "peak_memory_bytes": memory}
