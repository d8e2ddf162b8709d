"""Modules, files and names that documents and docstrings refer to are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MODULES = {
    ".".join(path.relative_to(ROOT / "src" / "markovlogic").with_suffix("").parts).removesuffix(".__init__")
    for path in SOURCES
    if path.is_relative_to(ROOT / "src" / "markovlogic")
}
FILES = {part for folder in ("src", "tests", "tools", "benchmarks") for part in (ROOT / folder).rglob("*.py")}
PATHS = {path.as_posix() for path in FILES}
NAMES = {name for path in SOURCES for name in re.findall(r"\w+", path.read_text())}
GROUPS = {"methods", "compressors", "commands", "variants"}  # of entry points
DOCUMENTS = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


def is_there(token: str) -> bool:
    """Whether what stands between backticks is no reference, or one to something that exists."""
    if token.endswith(".py") and "/" in token:
        return not re.fullmatch(r"[\w/]+\.py", token) or "N" in token or any(path.endswith(f"/{token}") for path in PATHS)
    if not re.fullmatch(r"[a-z_]+(\.\w+)+", token) or token.split(".")[0] not in MODULES | {"samplers", "markovlogic"}:
        return True
    parts = token.removeprefix("markovlogic.").split(".")
    if token.startswith("markovlogic.") and parts[0] in GROUPS and len(parts) == 1:
        return True
    length = next((n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in MODULES), 0)
    return length > 0 and all(name in NAMES for name in parts[length:])


def references(path: Path) -> list[str]:
    return [token.split("::")[0].rstrip("().,") for token in re.findall(r"`([^`\s]+)`", path.read_text())]


@pytest.mark.parametrize("kind", ["documents", "docstrings"])
def test_what_is_referred_to_is_there(kind: str) -> None:
    paths = DOCUMENTS if kind == "documents" else [path for path in SOURCES if "kernels" not in path.parts]
    missing = [f"{path.relative_to(ROOT)}: {token}" for path in paths for token in references(path) if not is_there(token)]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("token", ["methods/sampling/nobody.py", "samplers.base.Sampler", "methods.sampling.base.Nobody"])
def test_the_test_above_sees_what_is_not_there(token: str) -> None:
    assert not is_there(token)
