"""Type declarations in `.db` files, `person = {Ann, Bob}`: constants that no fact need name."""

from __future__ import annotations

import re

from markovlogic.data.db_lines import LineError, unlisted
from markovlogic.data.vocabulary import Vocabulary
from markovlogic.errors import nearest
from markovlogic.language.cursor import SyntaxFault
from markovlogic.language.parser import parse_type_declaration
from markovlogic.language.source import Source

_BEGINS = re.compile(r"\s*[A-Za-z_][A-Za-z0-9_]*\s*=\s*\{")


def is_type_declaration(line: str) -> bool:
    """Whether a line declares a type, rightly or not."""
    return _BEGINS.match(line) is not None


def read_type_declaration(line: str, vocabulary: Vocabulary) -> None:
    """Take the constants of a line into their type; raises LineError where something is wrong with it."""
    try:
        declared = parse_type_declaration(Source("", line))
    except SyntaxFault as error:
        place = error.fault.place
        hint = "a declaration stands on one line" if "never closed" in error.fault.message else error.fault.hint
        raise LineError(place.column if place else 1, error.fault.message, hint) from None
    column = declared.place.column
    known = vocabulary.number_of.get(declared.name)
    if known is None:
        types = ", ".join(list(vocabulary.number_of)[:8])
        raise LineError(
            column, f"unknown type {declared.name}", nearest(declared.name, vocabulary.number_of) or f"types: {types}"
        )
    if declared.name in vocabulary.closed:
        for name in declared.constants:
            if name not in known:
                raise LineError(column, *unlisted(declared.name, name, known))
    vocabulary.numbers(declared.name, declared.constants)
