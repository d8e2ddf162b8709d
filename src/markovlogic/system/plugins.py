"""Plug-ins: what other installed packages add to the tables of methods, compressors and commands, and to their settings.

A package declares them as entry points, which its installer writes to `entry_points.txt`:

    [project.entry-points."markovlogic.methods"]
    mine = "my_package.my_method:METHOD"

A variant, by the name of a compressor or of a method, is a settings class that has all settings of that one and more.
Our own tables hold references of the same form, "module:attribute". These files are read here and not by `importlib.metadata`,
whose import takes 30 ms, ten times as long as the reading: help texts stay quick.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markovlogic.errors import InputError

METHODS = "markovlogic.methods"
COMPRESSORS = "markovlogic.compressors"
COMMANDS = "markovlogic.commands"
VARIANTS = "markovlogic.variants"
GROUPS = (METHODS, COMPRESSORS, COMMANDS, VARIANTS)

# What the papers' package brings, so that messages can say where it is to be had
_GROUPINGS = ("kmeans", "dpmeans", "obj2vec", "random", "twins")
PAPERS_SETTINGS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("weights", "evidence", "diag", "alpha", "independent"), _GROUPINGS),
    **dict.fromkeys(("path", "beta2", "dp_distance", "error"), ("dpmeans",)),
    "features": ("kmeans", "dpmeans"),
    **dict.fromkeys(("context", "tokens", "window", "p_random", "K", "unary"), ("obj2vec",)),
    "cr": ("kmeans", "obj2vec", "random"),
    "unknown": ("bmf",),
    **dict.fromkeys(("cost", "coupling", "messages"), ("lifted-blocked",)),
}
PAPERS_NAMES = ("reproduce", "drop", "nimfa")
INSTALL_PAPERS = "install the package markovlogic-papers (src/markovlogic_papers in the source of markovlogic)"
_TWICE = " and "  # joins the references of one name that several packages give


def with_plugins(group: str, own: Mapping[str, str]) -> dict[str, str]:
    """Our own references by name, then those of installed packages; a name of ours stays ours."""
    return {**own, **{name: reference for name, reference in installed(group).items() if name not in own}}


def installed(group: str) -> Mapping[str, str]:
    """References of the installed packages in one group of entry points, by name, in the order of names."""
    return _installed(tuple(sys.path)).get(group, {})


def load(reference: str) -> Any:
    """The object that "module:attribute" names. A reference that cannot be loaded is an input error that names it."""
    if _TWICE in reference:
        raise InputError(f"two installed packages give the same name: {reference}", hint="uninstall one of them")
    module, _, attribute = reference.partition(":")
    try:
        return functools.reduce(getattr, attribute.split("."), importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        if module.partition(".")[0] == __name__.partition(".")[0]:
            raise
        raise InputError(f"the plug-in {reference} cannot be loaded: {error}", hint="update or uninstall its package") from error


@functools.cache
def _installed(path: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """All groups of ours; the first folder of the path that holds a distribution decides, as for imports."""
    found: dict[str, dict[str, str]] = {}
    seen: set[str] = set()
    for folder in path:
        for file in _entry_files(folder or "."):
            distribution = file.parent.name.partition("-")[0].lower()
            if distribution in seen:
                continue
            seen.add(distribution)
            for group, name, reference in _entries(file):
                own = found.setdefault(group, {})
                own[name] = reference if own.get(name, reference) == reference else f"{own[name]}{_TWICE}{reference}"
    return {group: dict(sorted(own.items())) for group, own in found.items()}


def _entry_files(folder: str) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
    except OSError:  # no folder: a zip file, or a path that is gone
        return []
    return [file for name in sorted(names) if (file := Path(name, "entry_points.txt")).is_file()]


def _entries(file: Path) -> list[tuple[str, str, str]]:
    """Group, name and reference of the entries that are for us."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    found, group = [], ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line.strip("[]").strip()
        elif group in GROUPS and "=" in line and not line.startswith(("#", ";")):
            name, _, reference = line.partition("=")
            found.append((group, name.strip(), reference.partition("[")[0].strip()))
    return found
