"""Rules from knowledge graphs: how many, how long to find, and filtered ranks of the test facts.

    python -m benchmarks.knowledge_graphs ../shared/data/kg umls nations wn18rr --time-limit 600

Each folder has train.txt, valid.txt and test.txt with tab-separated triples. Seconds are processor seconds.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import defaultdict
from pathlib import Path

import pyarrow as pa

import markovlogic as mln


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
    """Print a line for each data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--time-limit", type=float)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name in given.names:
        train, valid, test = (tables(given.folder / name / f"{part}.txt") for part in ("train", "valid", "test"))
        model = mln.Model.parse("".join(f"{one}(entity, entity)\n" for one in sorted({*train, *valid, *test})))
        evidence = model.evidence(**train)
        start = time.process_time()
        learned = mln.learn(model, evidence, structure=True, time_limit=given.time_limit, seed=given.seed, progress=False)
        seconds = time.process_time() - start
        found = mln.rank(learned.model, model.evidence(**test), evidence=evidence, known=model.evidence(**valid))
        print(f"{name}: {learned.stats['rules_found']:,} rules, {seconds:.0f} s, {found!r}")
        for worry in learned.concerns():
            print(f"  concern: {worry}")


if __name__ == "__main__":
    main()
