"""Settings of a method from words: what `--set NAME=VALUE` says on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from markovlogic.errors import InputError, known_name
from markovlogic.methods.base import MethodSettings
from markovlogic.methods.table import AUTO, TABLE, method_named


def settings_said(method: str, said: Sequence[str]) -> str | MethodSettings:
    """The method's settings with some of them changed; its name alone where nothing was said.

    A value is read as what it is by default: a number, or a word that the method checks.
    """
    if not said:
        return method
    taking = [name for name in TABLE if method_named(name).plain_settings() is not None]
    made: Any = None if method == AUTO else method_named(method).plain_settings()
    if made is None:
        hint = f"name the method with --method; these have such settings: {', '.join(taking)}"
        raise InputError(f"--set {said[0]}: {method} has no setting that the command line can change", hint=hint)
    there = [field.name for field in fields(made)]
    changed: dict[str, object] = {}
    for text in said:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals:
            raise InputError(f"--set {text}: no value", hint="write NAME=VALUE")
        known_name(name, f"setting of {method}", there)
        kind = type(vars(made)[name])
        try:
            changed[name] = kind(value.strip())
        except ValueError:
            raise InputError(f"--set {text}: {name} takes a number, as {vars(made)[name]}") from None
    found: MethodSettings = replace(made, **changed)
    return found
