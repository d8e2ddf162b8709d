"""Tables of people with typos, and who is the same.

    python tools/make_people.py examples                       # two small ones, as two shops might have them
    python tools/make_people.py FOLDER --records 1000000       # one of any size: people.csv, and people-truth.csv

In examples/shop-a.csv and shop-b.csv the column `person` tells who a record is of; a shop has at most one record of a person.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

GIVEN = ["Ann", "Bob", "Carla", "David", "Eva", "Frank"]
SURNAME = ["Abel", "Baker", "Conrad", "Diaz", "Ericson"]
STREET = ["Mill Road", "High Street", "Church Lane", "Station Road", "Elm Street"]
TOWN = ["Aston", "Bradley", "Clifton", "Denham"]
PEOPLE, LISTED, TYPO = 60, 0.8, 0.2
COLUMNS = ["id", "given", "surname", "street", "town", "born", "person"]


def typo(rng: np.random.Generator, text: str) -> str:
    """One letter other than it was, missing, or twice."""
    at = int(rng.integers(len(text)))
    letter = "abcdefghiklmnoprstuvw"[rng.integers(21)] if not text[at].isdigit() else str(rng.integers(10))
    return text[:at] + str(rng.choice([letter, "", 2 * text[at]])) + text[at + 1 :]


def shops(folder: Path) -> None:
    """Write both tables."""
    rng = np.random.default_rng(7)
    people = [
        [
            str(rng.choice(GIVEN)),
            str(rng.choice(SURNAME)),
            f"{rng.integers(1, 9)} {rng.choice(STREET)}",
            str(rng.choice(TOWN)),
            str(rng.integers(1970, 1990)),
        ]
        for _ in range(PEOPLE)
    ]
    for shop in "ab":
        listed = [person for person in range(PEOPLE) if rng.random() < LISTED]
        with (folder / f"shop-{shop}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            for number, person in enumerate(listed, 1):
                fields = [typo(rng, text) if rng.random() < TYPO else text for text in people[person]]
                writer.writerow([f"{shop.upper()}{number}", *fields, person])


TYPOS, EMPTY, TWINS = 0.1, 0.05, 0.8  # of fields; further records of a person on average


def names(rng: np.random.Generator, n: int, syllables: int) -> list[str]:
    """Different made-up names."""
    parts = [one + two for one in "bdfgklmnprstvz" for two in ("a", "e", "i", "o", "u", "an", "er", "il", "on", "us")]
    found: dict[str, None] = {}
    while len(found) < n:
        found["".join(rng.choice(parts, syllables)).capitalize()] = None
    return list(found)


def table(folder: Path, n_records: int) -> None:
    """Records of people with several each: some names and towns are frequent, many are rare."""
    rng = np.random.default_rng(7)
    people = 1 + np.repeat(np.arange(n_records), 1 + rng.poisson(TWINS, n_records))[:n_records]
    n_people = int(people[-1]) + 1
    columns = {}
    for name, number, syllables in (("given", 3_000, 2), ("surname", 50_000, 3), ("town", 2_000, 3)):
        rank = (number ** rng.random(n_people)).astype(int) - 1  # as often as 1 over the rank
        columns[name] = np.array(names(rng, number, syllables))[rank]
    day = rng.integers(0, 365 * 60, n_people).astype("datetime64[D]") + (
        np.datetime64("1940-01-01") - np.datetime64("1970-01-01")
    )
    columns["born"] = day.astype(str)
    columns["postcode"] = np.char.add(rng.integers(10, 99, n_people).astype(str), rng.integers(1000, 9999, n_people).astype(str))
    written, kept = [], rng.permutation(n_records)
    for values in columns.values():
        own = values[people].tolist()
        for at in np.flatnonzero(rng.random(n_records) < TYPOS).tolist():
            own[at] = typo(rng, own[at])
        for at in np.flatnonzero(rng.random(n_records) < EMPTY).tolist():
            own[at] = ""
        written.append([own[at] for at in kept.tolist()])
    for file, header, rows in (
        ("people.csv", ["id", *columns], zip(range(n_records), *written, strict=True)),
        ("people-truth.csv", ["id", "cluster"], enumerate(people[kept].tolist())),
    ):
        with (folder / file).open("w", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)


def main() -> None:
    """Write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=int)
    given = parser.parse_args()
    if given.records is None:
        shops(given.folder)
    else:
        table(given.folder, given.records)


if __name__ == "__main__":
    main()
