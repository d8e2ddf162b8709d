"""Texts that were damaged in the ways that happen: deleted, doubled, swapped, cut, or with letters from nowhere."""

from __future__ import annotations

import random

PIECES = [
    "(", ")", "{", "}", ",", "!", "?", "*", "+", "-", "^", " v ", "=>", "<=>", "=", "!=", "<", '"', "\\", "/*", "*/", "//", ".",
    "...", "\n", "\n\n", "\r", "\t", "\0", "\ufeff", "é", "∃", "\u2028", "\ud800", "\x1b[31m", "EXIST ", "FORALL x ", "inf ",
    "nan ", "1e308 ", "-1e308 ", "1e-320 ", "0 ", "99999999999999999999", '#include "x.mln"\n', "v", "x", "A", "Smokes(",
    "truth", "true", "1,", "''",
]  # fmt: skip
LETTERS = [0x80, 0xD800, 0x110000]  # below which a letter from nowhere lies


def mutated(text: str, chance: random.Random) -> bytes:
    """The text with one to four damages, as bytes that may be no text any longer."""
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        a, b = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        short = slice(a, min(b, a + chance.choice([1, 3, 20])))
        kind = chance.randrange(7)
        if kind == 0:
            text = text[: short.start] + text[short.stop :]
        elif kind == 1:
            text = text[: short.stop] + text[short] * chance.choice([1, 1, 2, 200]) + text[short.stop :]
        elif kind == 2:
            c, d = sorted(chance.randrange(len(text) + 1) for _ in range(2))
            text = text[:a] + text[c:d] + text[b:] if chance.random() < 0.5 else text[:c] + text[a:b] + text[d:]
            text = text[:20_000]
        elif kind == 3:
            text = text[:a]
        elif kind == 4:
            text = text[:a] + chr(chance.randrange(chance.choice(LETTERS))) + text[a:]
        else:
            text = text[:a] + chance.choice(PIECES) + text[a:]
    raw = bytearray(text.encode("utf-8", "surrogatepass"))
    if raw and chance.random() < 0.1:
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    return bytes(raw)
