"""Habits of other languages, and what to write instead."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from markovlogic.language.tokens import BAD, BLANK, NAME, NEWLINE, NUMBER, WORD, Token

OTHER_SPELLINGS = {
    "&": "^", "∧": "^", "|": "v", "∨": "v", "~": "!", "¬": "!", "→": "=>", "⇒": "=>", "↔": "<=>", "⇔": "<=>",
    "∃": "EXIST", "∀": "FORALL", "≠": "!=", "#": "// before a comment", ";": "// before a comment",
}  # fmt: skip
WORDS = {"not": "!", "and": "^", "or": "v", "implies": "=>", "iff": "<=>"}


_SIGNS = (
    ("<-", "=> with the two sides exchanged"),
    ("<>", "!="),
    ("\\=", "!="),
    ("==", "="),
    ("=<", "<="),
)


def habit(tokens: Sequence[Token], at: int) -> tuple[str, str] | None:
    """What was written in the manner of another language at a token, and what to do; None where it is nothing of the kind."""
    token = tokens[at]
    following = token.text
    for before, other in pairwise(tokens[at : at + 3]):
        if other.start != before.end:
            break
        following += other.text
    for sign, instead in _SIGNS:
        if following.startswith(sign):
            return f"found {sign}", f"write {instead}"
    if token.text.lower() in WORDS and tokens[at + 1].kind != "(":
        return f"found {token.text}", f"write {WORDS[token.text.lower()]}"
    if token.kind == ":":
        return _colon(tokens, at)
    starts = at == 0 or tokens[at - 1].kind in (NEWLINE, BLANK)
    if token.kind == "|" and starts:
        return (
            "found |",
            "cardinality formulas of RockIt and WFOMC have no counterpart; an exclusive argument, class!, has exactly one value",
        )
    if token.kind in (BAD, "?") and token.text.startswith("?"):
        return "found ?", "a variable is written x or ?x, and ? behind a type stands in declarations only"
    if token.kind != BAD:
        return None
    if token.text.startswith("::"):
        return "found ::", "weights are log-odds, not probabilities: for 0.7 write log(0.7/0.3) before the formula"
    if token.text == "#" and starts and tokens[at + 1].kind == NAME and tokens[at + 1].start == token.end:
        return f"found #{tokens[at + 1].text}", "the only directive is #include; comments begin with //"
    return None


def _colon(tokens: Sequence[Token], at: int) -> tuple[str, str] | None:
    """A colon between a weight and its formula, or behind RockIt's name for a column of weights."""
    before, behind = tokens[at - 1], tokens[at + 1]
    if before.kind == NUMBER or before.text[:1].isdigit():
        return "found :", "weight and formula have no colon between them: 1.5 Smokes(x)"
    if behind.kind == NUMBER or behind.text[:1].isdigit():
        return "found :", "the weight stands before the formula: 1.5 Smokes(x)"
    if before.kind == NAME and (at == 1 or tokens[at - 2].kind in (NEWLINE, BLANK)):
        return "found :", "weights that evidence gives are numbers of a predicate: Conf(thing): real, then 1 * Conf(x)  Smokes(x)"
    return None


def decimal_comma(tokens: Sequence[Token], comma: int) -> str:
    """The number that a comma before it splits, as it should be written; empty where it is no such comma."""
    before, behind = tokens[comma - 1], tokens[comma + 1]
    whole = before.kind in (WORD, NUMBER) and before.text.isdigit() and behind.text.isdigit()
    return f"{before.text}.{behind.text}" if whole and before.end == tokens[comma].start else ""
