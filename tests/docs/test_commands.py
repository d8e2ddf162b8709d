"""Nothing names a command or an option that does not exist."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from markovlogic.cli.main import add_commands

ROOT = Path(__file__).parents[2]
TEXTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "src").rglob("*.py")),
]
NAMED = re.compile(r"(?:`|\$ |\.venv/bin/)mln ([a-z][a-z-]*)")
COMMANDS = set(get_command(add_commands()).commands) | {"infer"}


def test_commands_that_are_named_exist():
    wrong = {}
    for path in TEXTS:
        unknown = set(NAMED.findall(path.read_text(encoding="utf-8"))) - COMMANDS
        if unknown:
            wrong[str(path.relative_to(ROOT))] = sorted(unknown)
    assert not wrong


@pytest.mark.parametrize("path", [path for path in TEXTS if path.suffix == ".md"], ids=lambda path: path.name)
def test_make_targets_that_are_named_exist(path):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:`|\$ )make ([a-z]+)", path.read_text(encoding="utf-8")))
    assert named <= targets
