"""Options of plain types, read without pydantic: recent versions of typer import it for them, which takes longer than most runs.

What is not read here is left to typer, so that refusals and everything else stay its own.
"""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand, TyperGroup

READERS = {
    str: (re.compile(r".*", re.DOTALL), str),
    int: (re.compile(r"[+-]?[0-9]+"), int),
    float: (re.compile(r"[+-]?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?", re.IGNORECASE), float),
}

NUMBERS = {int: "a whole number", float: "a number"}


class _ReadsPlain:
    """Puts our reader before that of each parameter, and goes on as typer does."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What typer calls with the words of the command line."""
        for parameter in self.get_params(ctx):  # type: ignore[attr-defined]
            if getattr(parameter, "_runtime_param", self) is None:  # other versions of typer have none
                parameter._runtime_param = _Quick(parameter)
        found: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]
        return found


class QuickCommand(_ReadsPlain, TyperCommand):
    """A command of ours."""


class QuickGroup(_ReadsPlain, TyperGroup):
    """The app itself, with its few options."""


class _Quick:
    """Reads the values of one parameter; what takes more than that is typer's."""

    def __init__(self, parameter: Any) -> None:
        self.parameter = parameter
        self.annotation, info = parameter.type_descriptor.annotation, parameter.type_descriptor.parameter_info
        self.plain = info.min is None and info.max is None and info.parser is None

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value in its type, as `RuntimeParam.coerce` of typer gives it."""
        many = param.multiple or param.nargs == -1
        if value is None:
            return () if many else None
        if self.plain and many and isinstance(value, list | tuple) and self.annotation == list[str]:
            if all(isinstance(one, str) for one in value):
                return list(value)
        elif self.plain and not many and isinstance(value, str) and self.annotation in READERS:
            pattern, read = READERS[self.annotation]
            if pattern.fullmatch(value):
                return read(value)
        self.parameter._runtime_param = None
        try:
            return self.parameter.get_runtime_param().coerce(value, param=param, ctx=ctx)
        except Exception as error:
            if self.annotation in NUMBERS and "unable to parse" in str(getattr(error, "message", "")):
                error.message = f"expected {NUMBERS[self.annotation]}, found {value}"  # type: ignore[attr-defined]
            raise
