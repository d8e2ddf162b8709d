"""Rules from knowledge graphs: how many, how long to find, and filtered ranks of the test facts.

    python -m benchmarks.knowledge_graphs ../shared/data/kg umls nations wn18rr --time-limit 600

Each folder has train.txt, valid.txt and test.txt with tab-separated triples. Seconds are processor seconds, memory is
the most that the program has taken.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa

import markovlogic as mln
from markovlogic.system.measures import peak_memory

MEASURES = ("mrr", "hits@1", "hits@10")


def predicate(relation: str) -> str:
    """A relation's name as a predicate's."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", relation))


def tables(path: Path) -> dict[str, pa.Table]:
    """The triples of a file as a table for each predicate."""
    rows: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for line in path.read_text().splitlines():
        head, relation, tail = line.split("\t")
        rows[predicate(relation)].append((head, tail))
    return {
        name: pa.table({"head": [head for head, _ in pairs], "tail": [tail for _, tail in pairs]}) for name, pairs in rows.items()
    }


def main() -> None:
    """Print a line for each data set and seed, and of several seeds their means and spread."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--time-limit", type=float)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    given = parser.parse_args()
    for name in given.names:
        train, valid, test = (tables(given.folder / name / f"{part}.txt") for part in ("train", "valid", "test"))
        model = mln.Model.parse("".join(f"{one}(entity, entity)\n" for one in sorted({*train, *valid, *test})))
        evidence, known, truth = (model.evidence(**part) for part in (train, valid, test))
        runs = []
        for seed in given.seeds:
            start = time.process_time()
            learned = mln.learn(model, evidence, structure=True, time_limit=given.time_limit, seed=seed, progress=False)
            middle = time.process_time()
            found = mln.rank(learned.model, truth, evidence=evidence, known=known)
            ranked = time.process_time() - middle
            n_rules = learned.stats["rules_found"]
            runs.append((n_rules, *(found.overall[key] for key in MEASURES)))
            print(
                f"{name}, seed {seed}: {n_rules:,} rules, "
                + ", ".join(f"{key} {found.overall[key]:.3f}" for key in MEASURES)
                + f", learning {middle - start:.0f} s, ranking {ranked:.0f} s, {peak_memory() / 1e9:.2f} GB",
                flush=True,
            )
            for row, scores in found.rows().items():
                print(f"  {row}: {scores['queries']:,.0f} queries, " + ", ".join(f"{key} {scores[key]:.3f}" for key in MEASURES))
            for worry in learned.concerns():
                print(f"  concern: {worry}")
        if len(runs) > 1:
            middle, spread = np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1)
            both = (f"{key} {mean:.3f} ± {one:.3f}" for key, mean, one in zip(("rules", *MEASURES), middle, spread, strict=True))
            print(f"{name}, {len(runs)} seeds: {', '.join(both)}")


if __name__ == "__main__":
    main()
