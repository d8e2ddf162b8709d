"""Modules that are named in strings, for late imports, keep to the layers too."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.docs.snippets import ROOT

SOURCES = ROOT / "src"
NAMED = re.compile(r"(markovlogic\w*(?:\.\w+)*)\.?(?::[\w.]+)?")


def layers() -> dict[str, int]:
    """Packages by their height, the highest first."""
    (contract,) = (
        one
        for one in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
        if one["type"] == "layers"
    )
    return {name.strip(): height for height, line in enumerate(contract["layers"]) for name in line.split("|")}


def height_of(module: str, heights: dict[str, int]) -> int | None:
    """Of the innermost package that has one."""
    parts = module.split(".")
    names = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((heights[name] for name in names if name in heights), None)


def named_modules(text: str) -> Iterator[str]:
    """Modules that stand in strings, in those with holes up to the first one; docstrings hold spaces and are none."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (found := NAMED.fullmatch(node.value)):
            yield found[1]


def breaches(folder: Path) -> list[str]:
    """Files that name a module of a higher layer."""
    heights, found = layers(), []
    for file in sorted(folder.rglob("*.py")):
        module = ".".join(file.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
        own = height_of(module, heights)
        for name in named_modules(file.read_text()):
            there = height_of(name, heights)
            exists = (folder / name.replace(".", "/")).is_dir() or (folder / f"{name.replace('.', '/')}.py").is_file()
            if exists and own is not None and there is not None and there < own:
                found.append(f"{module} names {name}")
    return found


def test_no_string_names_a_module_of_a_higher_layer():
    assert breaches(SOURCES) == []


def test_the_scan_sees_late_imports(tmp_path):
    for name, line in {
        "data/evidence.py": 'x = importlib.import_module("markovlogic.report.notebook")',
        "results/marginals.py": 'x = importlib.import_module(f"markovlogic.report.{name}")',
        "problem/model.py": 'TABLE = {"x": "markovlogic.report.notebook:model_html"}',
        "report/notebook.py": 'x = importlib.import_module("markovlogic.data.evidence")',
    }.items():
        file = tmp_path / "markovlogic" / name
        file.parent.mkdir(parents=True)
        file.write_text(line)
    assert breaches(tmp_path) == [
        "markovlogic.data.evidence names markovlogic.report.notebook",
        "markovlogic.problem.model names markovlogic.report.notebook",
        "markovlogic.results.marginals names markovlogic.report",
    ]
