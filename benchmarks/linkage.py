"""Clusters of `mln link` beside those of Splink, on labelled tables of records, in one run.

    python benchmarks/linkage.py                       # mln link alone
    SPLINK_PYTHON=/path/to/python python benchmarks/linkage.py --sets fake_1000,RLdata500

Splink is an optional peer: SPLINK_PYTHON names an interpreter that has it, with pandas. Its settings are those of its
documentation: the example of 50,000 historical persons, the same form for RLdata, and for fake_1000 the best of four pages and of
two of them with all pairs compared, chosen by the truth. Its clusters are the better of thresholds 0.5 and 0.9. The data are
looked for in ../shared/data/linkage, or where MLN_DATA says. Both programs read copies without the column of the truth. Prints a
row for each program and set: exact-cluster F1, B-cubed F1, pair F1, and seconds of processor.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

from markovlogic.evaluation.clusters import ClusterScores, evaluate_clusters, read_clusters

DATA = Path(os.environ.get("MLN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "linkage"
SETS = {  # file, id, truth
    "RLdata500": ("RLdata500.csv", "rec_id", "ent_id"),
    "RLdata10000": ("RLdata10000.csv", "rec_id", "ent_id"),
    "fake_1000": ("fake_1000.csv", "unique_id", "cluster"),
    "historical_figures_50k": ("historical_figures_50k.parquet", "unique_id", "cluster"),
}
THRESHOLDS = (0.5, 0.9)
PAGES = {"fake_1000": ("quickstart", "tutorial", "evaluation", "labels", "quickstart, all pairs", "labels, all pairs")}


def prepare(name: str, folder: Path) -> tuple[Path, Path, Path]:
    """The table without the truth, the truth, and the truth of half of the entities."""
    file, key, truth = SETS[name]
    read = f"read_csv('{DATA / file}', all_varchar=true)" if file.endswith(".csv") else f"'{DATA / file}'"
    paths = folder / f"{name}.csv", folder / f"{name}-truth.csv", folder / f"{name}-half.csv"
    database = duckdb.connect()
    database.execute(f"COPY (SELECT * EXCLUDE ({truth}) FROM {read}) TO '{paths[0]}' (HEADER)")
    database.execute(f"COPY (SELECT {key} AS id, {truth} AS cluster FROM {read}) TO '{paths[1]}' (HEADER)")
    half = f"SELECT {key} AS id, {truth} AS cluster FROM {read} WHERE hash({truth}) % 2 = 0"
    database.execute(f"COPY ({half}) TO '{paths[2]}' (HEADER)")
    return paths


def timed(command: list[str]) -> float:
    """Run a command; its seconds of processor, with children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def scores(clusters: Path, truth: Path) -> ClusterScores:
    found = evaluate_clusters(read_clusters(str(clusters)), read_clusters(str(truth))).measured
    assert found is not None
    return found


def row(name: str, program: str, found: ClusterScores, seconds: float) -> None:
    numbers = (found.exact.f1, found.bcubed.f1, found.pairs.f1)
    print(f"| {name} | {program} | {' | '.join(f'{n:.4f}' for n in numbers)} | {seconds:.1f} |", flush=True)


def beside(peer: str, name: str, table: Path, truth: Path, rest: Path) -> None:
    """Rows of Splink: of its pages and thresholds the best."""
    helper, prefix = Path(__file__).with_name("linkage_splink.py"), table.with_name("splink")
    of_all, of_rest = [], []
    for page in PAGES.get(name, ("",)):
        seconds = timed([peer, str(helper), name, str(table), str(prefix), page])
        program = f"Splink ({page})" if page else "Splink"
        for threshold in THRESHOLDS:
            clusters = Path(f"{prefix}-{threshold}.csv")
            of_all.append((scores(clusters, truth), program, seconds))
            of_rest.append((scores(clusters, rest), f"{program} (the other half)", seconds))
    for found, program, seconds in (max(rows, key=lambda row: row[0].exact.f1) for rows in (of_all, of_rest)):
        row(name, program, found, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    chosen = parser.parse_args().sets.split(",")
    peer = os.environ.get("SPLINK_PYTHON")
    print("| records | program | exact clusters F1 | B-cubed F1 | pair F1 | processor s |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in chosen:
            table, truth, half = prepare(name, folder)
            mln = [str(Path(sys.executable).with_name("mln")), "link", str(table), "--quiet", "-o"]
            seconds = timed([*mln, str(folder / "own.csv")])
            row(name, "mln link", scores(folder / "own.csv", truth), seconds)
            seconds = timed([*mln, str(folder / "half.csv"), "--labels", str(half)])
            kept = set(read_clusters(str(half)).key)
            rest = folder / "rest.csv"
            lines = truth.read_text().splitlines(keepends=True)
            rest.write_text("".join(line for line in lines if line.split(",")[0].strip('"') not in kept))
            row(name, "mln link, half of the labels (the other half)", scores(folder / "half.csv", rest), seconds)
            if peer:
                beside(peer, name, table, truth, rest)


if __name__ == "__main__":
    main()
