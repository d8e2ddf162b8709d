"""What other systems write, seen from all tokens of a file: which names are variables, how types are written, named numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from markovlogic.errors import Place
from markovlogic.language.syntax import Atom, Formula, Not, Or, Variable, atoms_of
from markovlogic.language.tokens import BLANK, CONNECTIVES, END, NAME, NEWLINE, WORD, Token

_LINE_ENDS = frozenset({NEWLINE, BLANK, END})
NUMBER_COLUMN = "float_"  # RockIt's type of a number, the last argument of a predicate that is known from evidence
_PROBABILITY = re.compile(r"P[ \t]*\(.*\)[ \t]*=[ \t]*[0-9.]+[ \t]*(?://.*)?\Z")
_COUNT = re.compile(r"count[ \t]*\(.*\)[ \t]*(?:=|<=|>=)[ \t]*[0-9]+\.?[ \t]*(?://.*)?\Z")
CONSTRAINTS = (
    (
        _PROBABILITY,
        "constraint on a probability",
        "ProbCog changes weights until the probability is right; learn the weight, or write log(p/(1-p)) before the atom",
    ),
    (_COUNT, "constraint on a count", "an exclusive argument, class!, has exactly one value; other counts cannot be required"),
)


@dataclass
class Dialect:
    """How a file is to be read.

    `marked`: variables are written `?x` (pracmln), and lower-case names in formulas are constants.
    `capitals`: variables are written `X` (WFOMC), lower-case names are constants, and no predicate is declared.
    `capital_types`: types are written `Person` (RockIt).
    """

    marked: bool = False
    capitals: bool = False
    capital_types: bool = False
    numbers: dict[str, float] = field(default_factory=dict)  # ProbCog's `$n = 3`
    columns: set[str] = field(default_factory=set)  # predicates whose last argument is RockIt's column of numbers

    @property
    def marks_variables(self) -> bool:
        """Whether lower-case names are constants."""
        return self.marked or self.capitals


def dialect_of(tokens: list[Token]) -> Dialect:
    """What the tokens of a whole file show."""
    marked = any(token.kind == NAME and token.text[0] == "?" for token in tokens)
    starts = [at for at, token in enumerate(tokens) if token.kind not in _LINE_ENDS and _begins_line(tokens, at)]
    lower = any(_is_declaration(tokens, at, NAME) for at in starts)
    upper = not lower and any(_is_declaration(tokens, at, WORD) for at in starts)
    sized = any(is_size(tokens, at) for at in starts)
    backslashes = any(token.text == "\\" for token in tokens)
    joins = any(token.kind in CONNECTIVES for token in tokens)
    return Dialect(marked, not (lower or upper or marked) and (sized or backslashes), upper and joins)


def is_size(tokens: list[Token], at: int) -> bool:
    """Whether `person = 5` stands there, alone on its line."""
    name, sign, size = tokens[at], tokens[at + 1], tokens[at + 2]
    return name.kind in (NAME, WORD) and sign.kind == "=" and size.text.isdigit() and tokens[at + 3].kind in _LINE_ENDS


def without_column(formula: Formula, column: str, known: set[str]) -> tuple[Atom, Formula] | None:
    """`!Conf(x, w) v F` of a column w: the predicate that has numbers, and F."""
    if not isinstance(formula, Or):
        return None
    rest = []
    factor: Atom | None = None
    for part in formula.parts:
        inner = part.body if isinstance(part, Not) else None
        if factor is None and isinstance(inner, Atom) and inner.predicate in known and inner.args[-1:] == (Variable(column),):
            factor = replace(inner, args=inner.args[:-1])
        else:
            rest.append(part)
    if factor is None or not rest:
        return None
    return factor, rest[0] if len(rest) == 1 else Or(tuple(rest))


def predicates_of(formulas: list[Formula], type_name: str) -> dict[str, tuple[tuple[str, ...], Place]]:
    """Types and place of every predicate that formulas use, where all arguments are of one type."""
    found: dict[str, tuple[tuple[str, ...], Place]] = {}
    for formula in formulas:
        for atom in atoms_of(formula):
            found.setdefault(atom.predicate, ((type_name,) * len(atom.args), atom.place))
    return found


def variable_of_capital(name: str) -> str:
    """The variable that WFOMC writes as `X`."""
    return name[0].lower() + name[1:]


def _begins_line(tokens: list[Token], at: int) -> bool:
    return at == 0 or tokens[at - 1].kind in _LINE_ENDS


def _is_declaration(tokens: list[Token], at: int, kind: str) -> bool:
    """Whether a line is `Friends(person, person)`, perhaps with a star or the type of a function before it."""
    at += tokens[at].kind == "*"
    at += tokens[at].kind == NAME and tokens[at + 1].kind in (NAME, WORD)
    if tokens[at].kind not in (NAME, WORD) or tokens[at + 1].kind != "(":
        return False
    at += 2
    n_of_kind = 0
    while tokens[at].kind in (NAME, WORD, "v", ",", "!", "?"):
        if tokens[at].kind in (NAME, WORD, "v"):
            is_kind = tokens[at].kind == kind or (kind == NAME and tokens[at].kind == "v")
            is_kind = is_kind and (kind == NAME or len(tokens[at].text) > 1)  # X is a variable rather than a type
            n_of_kind += is_kind
            if not is_kind and tokens[at].text != NUMBER_COLUMN:
                return False
        at += 1
    if tokens[at].kind != ")" or not n_of_kind:
        return False
    at += 1
    if tokens[at].kind == ":" and tokens[at + 1].kind == NAME:
        at += 2
    return tokens[at].kind in _LINE_ENDS
