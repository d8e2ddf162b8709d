"""Seconds and memory of runs on an engine, by stage and process: python -m benchmarks.scale_out sail objects 100000.

Objects are linked inside of communities of 3 to 17; records are candidates inside of blocks of 2 to 7. The engine's processes are
those that the run starts: with Sail its server, with Spark Java and its Python workers; `--heap 1g` bounds Java's. Memory is what
a process had at most, seen ten times a second. By stage: seconds, CPU seconds of all processes, megabytes of the driver, and of
all others together.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

OBJECTS = """Has(thing, word)
Link(thing, thing)
Spam(thing)
-1.2 Spam(x)
0.9 Has(x, W0) ^ Spam(x)
0.5 Has(x, W1) ^ Spam(x)
-0.7 Has(x, W2) ^ Spam(x)
0.3 Link(x, y) ^ Spam(x) => Spam(y)
"""
RECORDS = """Cand(record, record)
Near(record, record)
Same(record, record)
Same(x, x).
Same(x, y) => Same(y, x).
Same(x, y) ^ Same(y, z) => Same(x, z).
!Cand(x, y) => x = y v !Same(x, y).
-0.5 Same(x, y)
2.5 Near(x, y) => Same(x, y)
"""
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def named(letter: str, number: np.ndarray) -> pa.Array:
    """Names of constants."""
    return pa.array(np.char.add(letter, number.astype(str)))


def write_objects(n: int, folder: Path, rng: np.random.Generator) -> list[str]:
    """Objects, words and links; gives the sources."""
    community = np.repeat(np.arange(n), rng.integers(3, 18, n))[:n]
    first = np.searchsorted(community, community)
    at = np.arange(n)
    links = [np.stack([at, first + rng.integers(0, np.maximum(at - first, 1))], axis=1) for _ in range(2)]
    pairs = np.unique(np.concatenate(links), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    pq.write_table(pa.table({"a": named("T", pairs[:, 0]), "b": named("T", pairs[:, 1])}), folder / "link.parquet")
    has = np.stack([np.tile(at, 2), rng.integers(0, 3, 2 * n)], axis=1)
    pq.write_table(pa.table({"a": named("T", has[:, 0]), "b": named("W", has[:, 1])}), folder / "has.parquet")
    known = np.sort(rng.choice(n, n // 10, replace=False))
    truth = rng.random(len(known)) < 0.4
    pq.write_table(pa.table({"a": named("T", known), "truth": truth}), folder / "spam.parquet")
    return ["Link=link", "Has=has", "Spam=spam"]


def write_records(n: int, folder: Path, rng: np.random.Generator) -> list[str]:
    """Candidate pairs and those that are alike; gives the sources."""
    block = np.repeat(np.arange(n), rng.integers(2, 8, n))[:n]
    pairs = []
    for step in range(1, 8):
        one = np.flatnonzero(block[:-step] == block[step:])
        pairs += [np.stack([one, one + step], axis=1), np.stack([one + step, one], axis=1)]
    both = np.concatenate(pairs)
    pq.write_table(pa.table({"a": named("R", both[:, 0]), "b": named("R", both[:, 1])}), folder / "cand.parquet")
    near = both[rng.random(len(both)) < 0.4]
    pq.write_table(pa.table({"a": named("R", near[:, 0]), "b": named("R", near[:, 1])}), folder / "near.parquet")
    return ["Cand=cand", "Near=near"]


def write_people(n: int, folder: Path, rng: np.random.Generator) -> list[str]:
    """Records of persons, one to three each, some with another letter or without a value; gives the table."""
    person = np.repeat(np.arange(n), rng.integers(1, 4, n))[:n]
    parts = [np.array(text.split()) for text in (FIRST, SECOND)]
    given = parts[0][rng.integers(0, len(parts[0]), n)]
    surname = np.char.add(*(parts[1][rng.integers(0, len(parts[1]), n)] for _ in range(2)))
    surname = np.char.add(surname, parts[0][rng.integers(0, len(parts[0]), n)])
    day = np.char.add("19", np.char.zfill(rng.integers(300_000, 991_229, n).astype(str), 6))
    town = np.char.add("town", rng.integers(0, 500, n).astype(str))
    columns = {"id": named("P", np.arange(n))}
    for name, value in (("given", given), ("surname", surname), ("born", day), ("town", town)):
        seen = value[person]
        changed = rng.random(n) < 0.1
        seen[changed] = np.char.replace(seen[changed], "1" if name in ("born", "town") else "a", "7", count=1)
        columns[name] = pa.array(seen, mask=rng.random(n) < 0.03)
    pq.write_table(pa.table(columns), folder / "people.parquet")
    return ["people"]


FIRST = "anna bernd carla dieter eva frank greta hans inge jonas karla lars maria nils olga paul rita sven tina ulf vera wim"
SECOND = "al ber cas dor ein fal gar hol im jan kor lam mer nor os par rau sal tem ul von wes"
PROBLEMS = {
    "objects": (OBJECTS, write_objects, "Spam"),
    "records": (RECORDS, write_records, "Same"),
    "people": ("", write_people, ""),  # mln link
}


STAGES = ("read", "ground", "components", "sample", "name")
STAGES_OF_LINK = ("read", "block", "compare", "learn", "close groups", "decide", "name")
Look = tuple[float, float, float, float]  # time, CPU seconds so far, MB of the driver, MB of all others


def by_stage(seconds: dict[str, float], looks: list[Look], stages: tuple[str, ...]) -> dict[str, list[float]]:
    """What stages took: they follow each other, and the last one ends with the process."""
    found = {}
    end = looks[-1][0]
    for stage in reversed(stages):
        begin = end - seconds.get(stage, 0.0)
        inside = [look for look in looks if begin <= look[0] <= end] or [min(looks, key=lambda look: abs(look[0] - end))]
        found[stage] = [
            round(end - begin, 1),
            round(inside[-1][1] - inside[0][1], 1),
            round(max(look[2] for look in inside)),
            round(max(look[3] for look in inside)),
        ]
        end = begin
    return dict(reversed(found.items()))


def seen(processes: dict[int, dict[str, float | str]], root: int) -> None:
    """Memory and CPU seconds of a process and all below it: what they have now, and had at most."""
    for own in processes.values():
        own["now"] = 0.0
    parent: dict[int, tuple[int, str, float]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
                memory = int((entry / "statm").read_text().split()[1]) * PAGE / 1e6
            except OSError:
                continue
            name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
            cpu = (int(rest[11]) + int(rest[12])) / TICK
            parent[int(entry.name)] = (int(rest[1]), name, cpu)
            known = processes.get(int(entry.name))
            if known is not None:
                known["now"] = memory
                known["memory"] = max(float(known["memory"]), memory)
                known["cpu"] = cpu
    below = {root}
    while more := {pid for pid, (above, _, _) in parent.items() if above in below} - below:
        below |= more
    for pid in below - processes.keys():
        if pid in parent:
            processes[pid] = {"name": parent[pid][1], "memory": 0.0, "now": 0.0, "cpu": parent[pid][2]}


def main() -> None:
    """One run, as a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=["local", "sail", "spark"])
    parser.add_argument("problem", choices=[*PROBLEMS])
    parser.add_argument("size", type=int)
    parser.add_argument("--heap", default="4g")
    parser.add_argument("--python", default=sys.executable, help="of the environment with Spark")
    given = parser.parse_args()
    rules, write, query = PROBLEMS[given.problem]
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        (folder / "rules.mln").write_text(rules)
        sources = write(given.size, folder, np.random.default_rng(1))
        chosen = ["--engine", "local"] if given.engine == "local" else ["--engine", "spark"]
        chosen += ["--spark-remote", "sail"] if given.engine == "sail" else []
        out = folder / ("out.csv" if given.engine == "local" else "out.parquet")
        command = [given.python, "-m", "markovlogic.cli.main", "infer", str(folder / "rules.mln"), "-q", query, *chosen]
        for source in sources if rules else ():
            name, _, file = source.partition("=")
            path = folder / f"{file}.parquet"
            command += ["-e", f"{name}=sql:SELECT * FROM '{path}'" if given.engine == "local" else f"{name}={path}"]
        if given.problem == "people":
            table = f"sql:SELECT * FROM {'parquet.`{}`' if given.engine != 'local' else repr('{}')}".format(
                folder / "people.parquet"
            )
            command = [given.python, "-m", "markovlogic.cli.main", "link", table, "--id", "id", *chosen]
        command += ["-o", str(out), "--stats", str(folder / "stats.json"), "--quiet"]
        env = {**os.environ, "PYSPARK_SUBMIT_ARGS": f"--master local[2] --driver-memory {given.heap} pyspark-shell"}
        begin = time.monotonic()
        run = subprocess.Popen(command, env=env)
        processes: dict[int, dict[str, float | str]] = {}
        looks: list[Look] = []
        while run.poll() is None:
            seen(processes, run.pid)
            others = sum(float(own["now"]) for pid, own in processes.items() if pid != run.pid)
            cpu = sum(float(own["cpu"]) for own in processes.values())
            looks.append((time.monotonic(), cpu, float(processes[run.pid]["now"]), others))
            time.sleep(0.1)
        stats = json.loads((folder / "stats.json").read_text()) if (folder / "stats.json").exists() else {}
        workers = [own for pid, own in processes.items() if pid != run.pid]
        largest: dict[str, float] = {}
        for own in workers:
            largest[str(own["name"])] = max(largest.get(str(own["name"]), 0.0), float(own["memory"]))
        found = {
            "engine": given.engine,
            "problem": given.problem,
            "size": given.size,
            "exit": run.returncode,
            "wall": round(time.monotonic() - begin, 1),
            "cpu": round(sum(float(own["cpu"]) for own in processes.values()), 1),
            "driver_mb": round(float(processes[run.pid]["memory"])),
            "others_mb": {name: round(value) for name, value in largest.items()},
            "stages": by_stage(stats.get("seconds", {}), looks, STAGES_OF_LINK if given.problem == "people" else STAGES),
            **{name: stats[name] for name in ("compared_pairs", "listed_pairs", "clusters") if name in stats},
            "atoms": stats.get("atoms"),
            "clauses": stats.get("clauses"),
            "methods": stats.get("methods"),
        }
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
