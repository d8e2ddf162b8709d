"""Find the examples in Markdown files: fenced blocks by language, and console blocks as commands with what they print."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DECIMAL = re.compile(r"(?<![\d.])\d+\.\d+(?:e-?\d+)?(?![\d.])")
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w-]+)[^\n]*\n(?P<body>.*?)^(?P=indent)```\s*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block and the line it starts at."""

    language: str
    body: str
    line: int


@dataclass(frozen=True)
class Command:
    """A line of a console block after the prompt, and the lines below it."""

    text: str
    output: str
    line: int


def blocks(path: Path) -> list[Block]:
    """All fenced blocks that name a language."""
    text = path.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        indent = len(match["indent"])
        body = "".join(line[indent:] for line in match["body"].splitlines(keepends=True))
        found.append(Block(match["language"], body, text.count("\n", 0, match.start()) + 2))
    return found


def commands(block: Block) -> list[Command]:
    """The commands of a console block; comments after `  #` are for the reader."""
    found: list[Command] = []
    for number, line in enumerate(block.body.splitlines(), block.line):
        if line.startswith("$ "):
            found.append(Command(re.sub(r"\s+#.*", "", line[2:]), "", number))
        elif found:
            last = found[-1]
            found[-1] = Command(last.text, last.output + line + "\n", last.line)
    return found


def matches(expected: str, printed: str) -> bool:
    """Whether the output is the expected one; `...` stands for anything, also for whole lines.

    Spaces at the end of a line do not matter. Decimal numbers may differ by one part in 10^9, since their
    last digits depend on the machine.
    """
    numbers = [float(number) for number in DECIMAL.findall(expected)]
    pieces = [re.escape(piece) for piece in DECIMAL.split(_trimmed(expected))]
    pattern = f"({DECIMAL.pattern})".join(pieces).replace(re.escape("..."), ".*")
    found = re.fullmatch(pattern, _trimmed(printed), re.DOTALL)
    if found is None:
        return False
    return all(math.isclose(float(a), b, rel_tol=1e-9) for a, b in zip(found.groups(), numbers, strict=True))


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())
