"""Settings of a method from words: what `--set NAME=VALUE` says on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from markovlogic.errors import InputError, known_name
from markovlogic.methods.base import MethodSettings
from markovlogic.methods.table import AUTO, TABLE, method_named
from markovlogic.system.settings_parser import changed, with_variant

PLAIN = (int, float, str, bool)  # what words on a command line can be
OPTIONAL = ("float | None", "int | None")


def settings_said(method: str, said: Sequence[str]) -> str | MethodSettings:
    """The method's settings with some of them changed; its name alone where nothing was said.

    A value is read as what it is by default: a number, or a word that the method checks.
    """
    if not said:
        return method
    taking = [name for name in TABLE if method_named(name).plain_settings() is not None]
    made: Any = None if method == AUTO else with_variant(method_named(method).plain_settings(), method, said)
    if made is None:
        hint = f"name the method with --method; these have such settings: {', '.join(taking)}"
        raise InputError(f"--set {said[0]}: {method} has no setting that the command line can change", hint=hint)
    there = _names(made)
    words: dict[str, str] = {}
    for text in said:
        name, equals, value = text.partition("=")
        name = name.strip().removeprefix(f"{method}.")
        if not equals:
            raise InputError(f"--set {text}: no value", hint="write NAME=VALUE")
        known_name(name, f"setting of {method}", there)
        words[name] = value.strip()
    found: MethodSettings = changed(made, words)
    return found


def settings_of(method: str) -> dict[str, str]:
    """Names of the settings that words can change, and whose they are."""
    made: Any = None if method == AUTO else method_named(method).plain_settings()
    return {} if made is None else dict.fromkeys(_names(made), method)


def _names(made: Any) -> list[str]:
    return [field.name for field in fields(made) if type(vars(made)[field.name]) in PLAIN or field.type in OPTIONAL]
