"""The generated pages: Python reference, command line, settings. `python -m tools.reference` writes them into docs/."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import markovlogic
from markovlogic.api import compress as api
from tools.command_reference import command_page
from tools.setting_reference import settings_page

DOCS = Path(__file__).parents[1] / "docs"
HEAD = """# Python reference

This page is made from the docstrings. It lists everything that `import markovlogic as mln` offers.
[Work from Python](python.md) shows how the parts go together.

"""
GROUPS: dict[str, Callable[[Any], bool]] = {
    "Functions": inspect.isroutine,
    "Errors and warnings": lambda found: inspect.isclass(found) and issubclass(found, BaseException),
    "Classes": lambda found: inspect.isclass(found),
}


def reference() -> str:
    """The whole page."""
    names = [name for name in sorted(markovlogic.__all__, key=str.lower) if not name.startswith("_")]
    left = {name: _public(name) for name in names}
    parts = [HEAD]
    for title, belongs in GROUPS.items():
        own = {name: found for name, found in left.items() if belongs(found)}
        left = {name: found for name, found in left.items() if name not in own}
        parts.append(f"## {title}\n\n" + "".join(_entry(name, found) for name, found in own.items()))
    return "".join(parts).rstrip() + "\n"


def _public(name: str) -> Any:
    """What a name stands for; a package that can be called stands before the function that it calls."""
    found = getattr(markovlogic, name)
    return api.compress if inspect.ismodule(found) else found


def _entry(name: str, found: Any) -> str:
    text = f"### mln.{name}\n\n"
    if inspect.isroutine(found) or not issubclass(found, BaseException):
        text += f"```python\nmln.{name}{_signature(found)}\n```\n\n"
    text += _docstring(found)
    if inspect.isclass(found) and not issubclass(found, BaseException):
        rows = [_member(key, value) for key, value in sorted(vars(found).items()) if not key.startswith("_")]
        rows = [row for row in rows if row]
        if rows:
            text += "| | |\n|---|---|\n" + "".join(rows) + "\n"
    return text


def _member(name: str, value: Any) -> str:
    """A method or property with a docstring, as a row."""
    bare = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
    doc = inspect.getdoc(bare)
    if not doc or not (inspect.isfunction(bare) or isinstance(bare, property)):
        return ""
    shown = name if isinstance(bare, property) else f"{name}{_signature(bare)}"
    shown = re.sub(r"\((self|cls)(, )?", "(", shown).partition(" -> ")[0]
    return f"| `{shown.replace('|', 'or')}` | {' '.join(doc.split()).replace('|', 'or')} |\n"


def _signature(found: Any) -> str:
    try:
        signature = str(inspect.signature(found))
    except (TypeError, ValueError):
        return "(...)"
    return re.sub(r"<[^>]*>", "...", signature).replace("'", "").replace("markovlogic.", "")


def _docstring(found: Any) -> str:
    doc = inspect.getdoc(found) or ""
    return doc.replace("<", "&lt;") + "\n\n"


PAGES: dict[str, Callable[[], str]] = {
    "reference.md": reference,
    "command-line.md": command_page,
    "settings.md": settings_page,
}

if __name__ == "__main__":
    for name, made in PAGES.items():
        (DOCS / name).write_text(made(), encoding="utf-8")
