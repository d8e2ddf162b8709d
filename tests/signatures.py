"""What users get who say nothing: the defaults of all public functions, methods and settings."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

import markovlogic as mln
from markovlogic.learning.folds import cross_validate
from markovlogic.learning.priors import Prior
from markovlogic.methods.table import all_methods
from markovlogic.running.sampling import Sampling

FILE = Path(__file__).with_name("signatures.json")
ALSO = {"cross_validate": cross_validate, "Prior": Prior, "Sampling": Sampling}
NAMES = (*mln.__all__, *ALSO, "methods")


def _defaults(of: Any) -> dict[str, Any]:
    found = inspect.signature(of).parameters.values()
    return {one.name: _shown(one.default) for one in found if one.default is not inspect.Parameter.empty}


def _shown(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, bool | int | float | str | tuple) else type(value).__name__


def record(name: str) -> dict[str, Any]:
    """Defaults by parameter; of a class those of its methods too; of methods what the table promises."""
    if name == "methods":
        return {one.name: [one.samples, one.listed, one.promise, [str(kind) for kind in one.networks]] for one in all_methods()}
    of = ALSO.get(name) or getattr(mln, name)
    if not callable(of) or (isinstance(of, type) and issubclass(of, Exception)):
        return {}
    if not isinstance(of, type):
        return _defaults(of)
    made = {one.name: _shown(one.default) for one in fields(of) if one.default is not MISSING} if is_dataclass(of) else {}
    members = inspect.getmembers(of, inspect.isfunction)
    return made | {f"{key}()": _defaults(one) for key, one in members if not key.startswith("_") and _defaults(one)}
