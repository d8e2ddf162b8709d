"""The page of settings, made from the settings classes: names, values and defaults, and meanings from their docstrings."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, get_args, get_origin

import markovlogic
from markovlogic.compression.grouping import Grouping
from markovlogic.compression.table import OWN as COMPRESSORS
from markovlogic.compression.table import TABLE, compressor_named
from markovlogic.methods.table import all_methods
from markovlogic.system import plugins
from markovlogic.system.settings_parser import hints_of, plain_names, setting_names, variant_of
from markovlogic_papers.readings import CarriedOver, KMeans

HEAD = """# Settings

This page is made from the program.
Every setting below is changed with `--set NAME=VALUE`, and `--set` can be repeated:

```sh
mln infer model.mln -e facts.db -q P --method bp --set damping=0.9 --set iterations=200
```

In Python, pass the settings object in place of the name: `mln.infer(…, method=mln.BP(damping=0.9))`.
If a method and a compression share a name, put the owner before it: `--set kmeans.seed=3`.

`--set orbits=twin|refined|automorphism|auto` belongs to no method: it chooses the
[symmetries](methods/symmetry-estimates.md) that chains and estimators use.

Methods without settings are not listed.
"""
FIELD = re.compile(r"^(\w+): (.*)$")


def settings_page() -> str:
    """The whole page."""
    text = HEAD + "\n## Settings of methods\n"
    for method in all_methods():
        made: Any = method.plain_settings()
        if made is None:
            continue
        rows = _rows(made, plain_names(made))
        text += _section(method.name, made, rows, f"[The method](methods/{method.name}.md).")
    text += "\n## Settings of compressions\n\n`--compress NAME` and `--proposals NAME` take these. "
    text += "[What each one does](methods/compression.md).\n"
    compressors = {name: compressor_named(name) for name in TABLE}
    merging = {name: compressor for name, compressor in compressors.items() if isinstance(compressor, Grouping)}
    shared = [field.name for field in fields(Grouping)]
    text += (
        "\n### Shared settings {#shared}\n\n" + ", ".join(f"`{name}`" for name in merging) + " merge objects and share these.\n"
    )
    text += _table(_rows(next(iter(merging.values())), shared))
    for name, compressor in compressors.items():
        own = [each for each in setting_names(compressor) if name not in merging or each not in shared]
        note = "" if name in COMPRESSORS else "This one comes with the package `markovlogic-papers`."
        note += " It has the shared settings too." if name in merging else ""
        text += _section(name, compressor, _rows(compressor, own), note.strip())
    return text + _readings()


def _readings() -> str:
    """The settings that the papers' package adds to classes of ours; each class has those of ours too."""
    text = (
        "\n## Readings of the papers\n\nThese settings come with the package `markovlogic-papers` and are refused without it."
        " [The five papers](papers.md) says what they are for.\n"
    )
    shared = [field.name for field in fields(CarriedOver) if field.name not in setting_names_of(Grouping)]
    text += "\n### Of all compressions that merge objects {#readings-shared}\n" + _table(_rows(KMeans(), shared))
    for name in plugins.installed(plugins.VARIANTS):
        variant = variant_of(name)
        assert variant is not None
        own = [field.name for field in fields(variant) if field.name not in (*setting_names_of(variant.__bases__[-1]), *shared)]
        if own:
            python = f"In Python: `markovlogic_papers.readings.{variant.__name__}`.\n"
            text += f"\n### Readings of {name} {{#readings-{name}}}\n\n{python}{_table(_rows(variant(), own))}"
    return text


def setting_names_of(settings: type) -> list[str]:
    """Names of the fields."""
    return [field.name for field in fields(settings)]


def _section(name: str, made: Any, rows: str, note: str) -> str:
    python = type(made).__name__
    shown = f"In Python: `mln.{python}`. " if hasattr(markovlogic, python) else ""
    return f"\n### {name} {{#{name}}}\n\n{shown}{note}".rstrip() + "\n" + _table(rows)


def _table(rows: str) -> str:
    return f"\n| setting | values | default | meaning |\n|---|---|---|---|\n{rows}" if rows else ""


def _rows(made: Any, names: list[str]) -> str:
    meaning, by_name, hints = meanings(type(made)), {field.name: field for field in fields(made)}, hints_of(made)
    return "".join(
        f"| `{name}` | {_values(hints[name])} | {_default(by_name[name], made)} | {meaning[name]} |\n" for name in names
    )


def meanings(settings: type) -> dict[str, str]:
    """Meaning of each field, from lines `name: meaning` of the docstrings of a class and its bases."""
    found: dict[str, str] = {}
    for owner in reversed(settings.__mro__):
        if not is_dataclass(owner):
            continue
        name = ""
        for line in (inspect.getdoc(owner) or "").splitlines():
            begun = FIELD.match(line)
            if begun:
                name = begun[1]
                found[name] = begun[2].strip()
            elif name and line.startswith(" "):
                found[name] += " " + line.strip()
            else:
                name = ""
    return {name: text.replace("|", "\\|").replace("<", "&lt;") for name, text in found.items()}


def _values(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return ", ".join(f"`{word}`" for word in get_args(hint))
    kinds = [kind for kind in get_args(hint) if kind is not type(None)] or [hint]
    words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    if words:
        return ", ".join(f"`{word}`" for word in words)
    names = {int: "whole number", float: "number", bool: "`true`, `false`", str: "word"}
    return next((names[kind] for kind in kinds if kind in names), "word")


def _default(field: Any, made: Any) -> str:
    value = vars(made)[field.name] if field.default is MISSING else field.default
    if value is None:
        return "see meaning"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
