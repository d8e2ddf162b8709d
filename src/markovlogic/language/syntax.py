"""The syntax tree of a rule file: frozen values, shared by parser, printer, typing and lowering.

Quantified variables shadow outer ones of the same name. `And` and `Or` hold two or more parts.
Places are for messages only and never take part in equality.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from markovlogic.errors import Place

NOWHERE = Place("<text>")
BARE_CONSTANT = re.compile(r"[A-Z0-9][A-Za-z0-9_-]*\Z")
_BARE_CONSTANTS = re.compile(r"(?:[A-Z0-9][A-Za-z0-9_-]*\n)*+\Z")


@dataclass(frozen=True)
class Variable:
    """A logical variable; `plus` marks `+x`, one weight for every constant (it matters to learning only)."""

    name: str
    plus: bool = False


@dataclass(frozen=True)
class Constant:
    """A constant by its name, without quotes."""

    name: str


Term: TypeAlias = Variable | Constant

KNOWN = "Known"  # Known(P(x)): whether evidence says that P(x) is true


def known_name(predicate: str) -> str:
    """The closed predicate that is true of what evidence says is true of another; no file can declare this name."""
    return f"{KNOWN}({predicate})"


def known_of(name: str) -> str | None:
    """The predicate whose evidence such a predicate repeats; None for all others."""
    return name[len(KNOWN) + 1 : -1] if name.endswith(")") else None


@dataclass(frozen=True)
class Atom:
    """`Friends(x, Bob)`; `star` marks `*Friends(x, y)`, which stands for the atom and its negation."""

    predicate: str
    args: tuple[Term, ...] = ()
    star: bool = False
    place: Place = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Equal:
    """`x = y`; `x != y` is `Not(Equal(x, y))`."""

    left: Term
    right: Term
    place: Place = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Not:
    """`!f`."""

    body: Formula


@dataclass(frozen=True)
class And:
    """`f ^ g ^ …`."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Or:
    """`f v g v …`."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Implies:
    """`f => g`."""

    left: Formula
    right: Formula


@dataclass(frozen=True)
class Iff:
    """`f <=> g`."""

    left: Formula
    right: Formula


@dataclass(frozen=True)
class Exists:
    """`EXIST x,y f`."""

    variables: tuple[str, ...]
    body: Formula
    place: Place = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Forall:
    """`FORALL x,y f`."""

    variables: tuple[str, ...]
    body: Formula
    place: Place = field(default=NOWHERE, compare=False)


Formula: TypeAlias = Atom | Equal | Not | And | Or | Implies | Iff | Exists | Forall


@dataclass(frozen=True)
class Predicate:
    """A declared predicate; `exclusive[i]` marks an argument written `class!`."""

    name: str
    types: tuple[str, ...]
    exclusive: tuple[bool, ...]
    place: Place = field(default=NOWHERE, compare=False)
    is_real: bool = False  # `Similar(rec, rec): real`: its atoms have numbers, which evidence gives
    closed: bool = False  # declared with a star: what is missing is false, unless it is requested

    @property
    def arity(self) -> int:
        """How many arguments it takes."""
        return len(self.types)


@dataclass(frozen=True)
class Rule:
    """A formula with its weight: finite, `inf` for a hard one, `-inf` for a hard negation, None when to be learned.

    `types` gives the type of every variable of the formula, free or bound (typing renames bound variables apart, so that one
    name has one type); `free` lists the free ones in order of first occurrence: they are what a grounding substitutes.
    """

    formula: Formula
    weight: float | None
    free: tuple[str, ...] = ()
    types: tuple[tuple[str, str], ...] = ()
    text: str = field(default="", compare=False)
    place: Place = field(default=NOWHERE, compare=False)
    last_line: int = field(default=0, compare=False)  # of its text in the source, 0 where unknown
    factor: Atom | None = None  # `1.2 * Similar(x, y)  f`: an atom with a number that multiplies the weight
    names_values: bool = field(default=False, compare=False)  # of functions and sums, by free variables of their own

    @property
    def type_of(self) -> dict[str, str]:
        """Variable name to type name."""
        return dict(self.types)

    @property
    def is_hard(self) -> bool:
        """Whether worlds that break it are impossible."""
        return self.weight is not None and abs(self.weight) == float("inf")


@dataclass(frozen=True)
class Model:
    """A checked rule file: every formula is typed, every predicate declared.

    `constants` lists, for every type, the constants that declarations and formulas name, in order of first occurrence;
    `declared_types` are those given as `person = {…}`.
    """

    predicates: dict[str, Predicate]
    rules: tuple[Rule, ...]
    constants: dict[str, tuple[str, ...]]
    declared_types: frozenset[str] = frozenset()
    source: str = field(default="<text>", compare=False)
    listed: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)  # constants of the declared types
    notes: tuple[str, ...] = field(default=(), compare=False)  # on what its files say in the manner of other systems
    marks_variables: bool = field(default=False, compare=False)  # whether a file of it writes ?x, as pracmln's do

    @property
    def declared(self) -> dict[str, Predicate]:
        """The predicates that files name: all but relations of integers and what repeats evidence."""
        return {name: own for name, own in self.predicates.items() if name[0] not in "<=" and known_of(name) is None}


def atoms_of(formula: Formula) -> Iterator[Atom]:
    """All atoms of a formula, left to right."""
    match formula:
        case Atom():
            yield formula
        case Equal():
            return
        case Not(body=body) | Exists(body=body) | Forall(body=body):
            yield from atoms_of(body)
        case And(parts=parts) | Or(parts=parts):
            for part in parts:
                yield from atoms_of(part)
        case Implies(left=left, right=right) | Iff(left=left, right=right):
            yield from atoms_of(left)
            yield from atoms_of(right)


def show_constant(name: str) -> str:
    """Write a constant bare where that reads back as the same constant, else in double quotes."""
    if BARE_CONSTANT.match(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return f'"{escaped}"'


def show_constants(names: Sequence[str]) -> Sequence[str]:
    """Each constant as `show_constant` writes it; quick where all are written bare."""
    lines = "\n".join((*names, ""))
    if lines.count("\n") == len(names) and _BARE_CONSTANTS.match(lines):
        return names
    return [show_constant(name) for name in names]


def tree_depth(formula: Formula) -> int:
    """How many levels a formula has, found without recursion."""
    deepest, stack = 0, [(formula, 1)]
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        match node:
            case Not(body=body) | Exists(body=body) | Forall(body=body):
                stack.append((body, depth + 1))
            case And(parts=parts) | Or(parts=parts):
                stack.extend((part, depth + 1) for part in parts)
            case Implies(left=left, right=right) | Iff(left=left, right=right):
                stack += [(left, depth + 1), (right, depth + 1)]
    return deepest
