"""The public data sets of `learning_trial`: rules by name, targets, databases, and which atoms count."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

DATA = Path(os.environ.get("MLN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

CLASSES = ("Course", "Department", "Person", "Faculty", "ResearchProject", "Staff", "Student")
WEBKB = "".join(f"{name}(page)\n" for name in CLASSES) + "HasWord(word, page)\nLinked(page, page)\n"
WORDS = "".join(f"({name}(p))\nHasWord(+w, p) ^ {name}(p)\n" for name in CLASSES)
LINKS = "".join(f"Linked(p, q) ^ {one}(p) ^ {two}(q)\n" for one in CLASSES for two in CLASSES)
PAIRS = "".join(f"{one}(p) ^ {two}(p)\n" for at, one in enumerate(CLASSES) for two in CLASSES[at + 1 :])

YEAST = """Interaction(protein, protein)
Function(protein, function)
Location(protein, location)
Complex(protein, complex)
Enzyme(protein, enzyme)
Phenotype(protein, phenotype)
Protein_class(protein, pclass)
(Function(x, f))
Function(x, +f)
Location(x, +l) ^ Function(x, +f)
Complex(x, +c) ^ Function(x, +f)
Enzyme(x, +e) ^ Function(x, +f)
Phenotype(x, +h) ^ Function(x, +f)
Protein_class(x, +k) ^ Function(x, +f)
"""
NEIGHBOURS = """Interaction(x, y) ^ Function(x, f) ^ Function(y, f)
Interaction(x, y) ^ Function(x, +f) ^ Function(y, +f)
"""

SAME = ("SameBib", "SameAuthor", "SameTitle", "SameVenue")


@dataclass(frozen=True)
class Trial:
    """A data set: rules by name, the local ones first; what is predicted; training databases, each left out once."""

    rules: Mapping[str, str]
    targets: tuple[str, ...]
    files: tuple[Path, ...]
    listed_pairs: bool = False  # whether only pairs of two objects that the data list, true or false, are evaluated

    @property
    def local(self) -> str:
        """The rules in which no two targets meet."""
        return next(iter(self.rules.values()))


def _citations() -> dict[str, str]:
    """examples/citations.mln in three parts: what is local, what ties records to their fields, transitivity."""
    local, fields, transitive = re.split(r"^// ---.*\n", (EXAMPLES / "citations.mln").read_text(), flags=re.MULTILINE)
    return {"local": local, "fields": local + fields, "transitive": local + fields + transitive}


def _with_candidates(file: Path) -> Path:
    """A fold of Cora, with the pairs that it lists as candidates: the data were blocked into canopies when they were made."""
    text = file.read_text()
    found = re.findall(r"^!?Same(\w+)\(([^,()]+),([^,()]+)\)", text, flags=re.MULTILINE)
    made = Path(mkdtemp()) / file.name
    made.write_text(text + "\n" + "\n".join(f"Candidate{name}({one},{two})" for name, one, two in found) + "\n")
    return made


def trial_of(name: str) -> Trial:
    """A data set by name."""
    if name == "webkb":
        rules = {"words": WEBKB + WORDS, "links": WEBKB + WORDS + LINKS, "pairs": WEBKB + WORDS + LINKS + PAIRS}
        names = ("cornell", "texas", "washington", "wisconsin")
        return Trial(rules, CLASSES, tuple(DATA / "webkb" / f"{one}.db" for one in names))
    if name == "yeast":
        files = tuple(DATA / "protein" / f"yeast-fold{number}.db" for number in (1, 2, 3, 4))
        return Trial({"local": YEAST, "neighbours": YEAST + NEIGHBOURS}, ("Function",), files)
    files = tuple(_with_candidates(DATA / "er" / f"cora-fold{number}.db") for number in (1, 2, 3, 4, 5))
    return Trial(_citations(), SAME, files, listed_pairs=True)


NAMES = ("webkb", "yeast", "cora")
