"""Two small tables of people with typos, as two shops might have them: examples/shop-a.csv and shop-b.csv, and who is the same.

    python tools/make_people.py examples

The column `person` tells who a record is of; a shop has at most one record of a person.
"""

from __future__ import annotations

import csv
import sys
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


def main(folder: Path) -> None:
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
            table = csv.writer(file, lineterminator="\n")
            table.writerow(COLUMNS)
            for number, person in enumerate(listed, 1):
                fields = [typo(rng, text) if rng.random() < TYPO else text for text in people[person]]
                table.writerow([f"{shop.upper()}{number}", *fields, person])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
