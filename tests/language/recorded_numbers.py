"""Texts with one mistake after the other: where faults are told, and what is read where there is none.

Words of messages are left out: they may be bettered without asking here.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import markovlogic as mln
from markovlogic.data.readers import read_evidence
from markovlogic.language.load import parse
from markovlogic.language.lower import lower
from markovlogic.language.show import show_model
from markovlogic.language.templates import LoweredModel

FILE = Path(__file__).with_name("recorded_numbers.json")
RULES = """// all that the language has
person = {Ann, Bob, "a b", 3, ..., 6}
kind = {U, V}
Friends(person, person)
Kind(person, kind!)
Age(person): real
Rain
1.5 Friends(x, y) ^ Kind(x, +k) => Kind(y, k)  // tied
-0.75 Rain v !Kind("a b", U)
Friends(x, x) => EXIST y (Friends(x, y) ^ y != x).
0.5 * Age(x) Kind(x, V)
0.3 (FORALL y (Friends(x, y) => Friends(y, x))) <=> Kind(x, U)
2 *Rain ^ Friends(x, Ann)
0.2 !(Rain ^ Kind(x, U)) v x = Bob
1e-1 Kind(x, U) ^
  Friends(x, y) v Rain
"""
FACTS = """Friends(Ann,Bob)
!Friends(Bob, Ann)
Friends("a b",3)
?Kind(Ann,U)
Kind(Bob,V)
0.8 Rain
2.5 Age(Ann)
-1 Age(Bob)
// done
Friends(4, 5)
"""
WORDS = ("=>", "<=>", "EXIST ", "FORALL ", "//", "/*", "*/", "...", " v ", "Ann")
LETTERS = [*'(),.!?+*=<>^v:{}"\\/-_ \n\t#@;0159AxEé', *WORDS]
EACH, PARTS = 60, 6
NAMES = tuple(f"{what} {part}" for what in ("rules", "facts") for part in range(PARTS))


def changed(text: str, rng: np.random.Generator) -> str:
    """One or two places of a text deleted, doubled or replaced."""
    for _ in range(int(rng.integers(1, 3))):
        at, length = int(rng.integers(len(text))), int(rng.choice([0, 1, 1, 2, 5]))
        middle = str(rng.choice(LETTERS)) if rng.random() < 0.6 else text[at : at + length] * int(rng.choice([0, 2]))
        text = text[:at] + middle + text[at + length :]
    return text


def _short(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()


def _places(error: mln.InputError) -> list[str]:
    return [f"{fault.place.line}:{fault.place.column}" if fault.place else "nowhere" for fault in error.faults[:4]]


def _lowered(model: LoweredModel) -> str:
    clauses = [(one.literals, one.equalities, one.weight, one.variables, one.idle) for one in model.templates]
    parts = [(one.predicate, one.parameters, one.locals_, one.cubes) for one in model.definitions]
    return repr((clauses, parts, model.constant_per_grounding))


def _rules(text: str) -> Any:
    try:
        model = parse(text)
        return [len(model.rules), _short(show_model(model)), _short(_lowered(lower(model)))]
    except mln.InputError as error:
        return _places(error)


def _facts(text: str, folder: str) -> Any:
    file = Path(folder) / "a.db"
    file.write_text(text)
    try:
        evidence = read_evidence(parse(RULES), [file])
    except mln.InputError as error:
        return _places(error)
    numbers = [
        [name, facts.args.tolist(), facts.truth.tolist(), str(facts.log_odds), str(facts.number)]
        for name, facts in evidence.facts.items()
    ]
    return [sum(len(facts) for facts in evidence.facts.values()), _short(repr(numbers))]


def record(name: str) -> list[Any]:
    """What becomes of each changed text."""
    what, part = name.split()
    rng = np.random.default_rng([int(part), len(what)])
    if what == "rules":
        return [_rules(RULES), *(_rules(changed(RULES, rng)) for _ in range(EACH))]
    with tempfile.TemporaryDirectory() as folder:
        return [_facts(FACTS, folder), *(_facts(changed(FACTS, rng), folder) for _ in range(EACH))]
