"""How models, evidence and results are shown: `report`, which stands above them, registers views, and they request them here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Made = TypeVar("Made", bound=Callable[..., Any])
_VIEWS: dict[str, Callable[..., Any]] = {}


def register(view: Made) -> Made:
    """Make a function known under its name; a decorator."""
    _VIEWS[view.__name__] = view
    return view


def view(name: str) -> Callable[..., Any]:
    """The function that was registered under a name."""
    return _VIEWS[name]
