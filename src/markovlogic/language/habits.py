"""Habits of other languages, and what to write instead."""

from __future__ import annotations

from collections.abc import Sequence

from markovlogic.language.tokens import BAD, NUMBER, WORD, Token

OTHER_SPELLINGS = {
    "&": "^", "∧": "^", "|": "v", "∨": "v", "~": "!", "¬": "!", "→": "=>", "⇒": "=>", "↔": "<=>", "⇔": "<=>",
    "∃": "EXIST", "∀": "FORALL", "≠": "!=", "#": "// before a comment", ";": "// before a comment",
}  # fmt: skip
WORDS = {"not": "!", "and": "^", "or": "v", "implies": "=>", "iff": "<=>"}


def habit(tokens: Sequence[Token], at: int) -> tuple[str, str] | None:
    """What was written in the manner of another language at a token, and what to do; None where it is nothing of the kind."""
    token = tokens[at]
    following = "".join(other.text for other in tokens[at : at + 3] if other.end - token.start <= 3)
    for arrow, instead in (("<->", "<=>"), ("->", "=>"), ("<-", "=> with the two sides exchanged")):
        if following.startswith(arrow):
            return f"found {arrow}", f"write {instead}"
    if token.text.lower() in WORDS and tokens[at + 1].kind != "(":
        return f"found {token.text}", f"write {WORDS[token.text.lower()]}"
    if token.kind != BAD:
        return None
    if token.text.startswith("::"):
        return "found ::", "weights are log-odds, not probabilities: for 0.7 write log(0.7/0.3) before the formula"
    if token.text.startswith(":"):
        return "found :-", "write the condition first: Body(x) => Head(x)"
    if token.text.startswith("?"):
        return "found ?", "variables are lower case and have no mark: x"
    return None


def decimal_comma(tokens: Sequence[Token], comma: int) -> str:
    """The number that a comma before it splits, as it should be written; empty where it is no such comma."""
    before, behind = tokens[comma - 1], tokens[comma + 1]
    whole = before.kind in (WORD, NUMBER) and before.text.isdigit() and behind.text.isdigit()
    return f"{before.text}.{behind.text}" if whole and before.end == tokens[comma].start else ""
