"""The two ways to a model: a file, or text."""

from __future__ import annotations

import os

from markovlogic.errors import Fault, InputError, Place
from markovlogic.language.parser import parse_statements
from markovlogic.language.syntax import Model
from markovlogic.language.tokens import Source, read_source
from markovlogic.language.typing import build_model
from markovlogic.system.measures import without_collection

_FACTS = (".db", ".csv", ".tsv", ".jsonl")  # endings of evidence


def load(path: str | os.PathLike[str]) -> Model:
    """Read a rule file and all it includes; raises InputError with every fault of it."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"a rule file is named by its path, not by a {type(path).__name__}")
    source = read_source(path)
    try:
        return _model_of(source)
    except InputError as error:
        if not source.name.lower().endswith(_FACTS):
            raise
        hint = f"rules come first, facts after -e: mln infer rules.mln -e {source.name}"
        raise InputError(
            [Fault("this is an evidence file, not a rule file", Place(source.name), hint=hint), *error.faults[:1]]
        ) from None


def parse(text: str, source: str = "<text>") -> Model:
    """Read rules from text; `source` is the name that messages give as file, and includes are relative to its directory."""
    if not isinstance(text, str):
        raise InputError(f"rules are read from text, not from a {type(text).__name__}")
    return _model_of(Source(source, text))


def _model_of(source: Source) -> Model:
    with without_collection():
        return build_model(parse_statements(source, os.path.dirname(source.name)), source.name)
