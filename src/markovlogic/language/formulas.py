"""Recursive descent for one formula: precedence climbing over the tokens of a source."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from markovlogic.language.dialects import variable_of_capital
from markovlogic.language.syntax import And, Exists, Forall, Formula, Iff, Implies, Not, Or
from markovlogic.language.terms import TermParser
from markovlogic.language.tokens import (
    ARITHMETIC,
    BLANK,
    COMPARISONS,
    CONNECTIVES,
    END,
    LINE_ENDS,
    MAX_DEPTH,
    NAME,
    NEWLINE,
    NUMBER,
    STRING,
    WORD,
    SyntaxFault,
    Token,
    decimal_comma,
    habit,
    shortened,
)

_PRECEDENCE = {"<=>": 1, "=>": 2, "v": 3, "|": 3, "^": 4}
_QUANTIFIERS = {
    **dict.fromkeys(("EXIST", "Exist", "exist", "EXISTS", "Exists", "exists"), Exists),
    **dict.fromkeys(("FORALL", "Forall", "forall", "ForAll"), Forall),
}


class FormulaParser(TermParser):
    """A cursor over tokens that reads formulas; statements are the business of `parser`."""

    def formula(self, tightest: int = 1) -> Formula:
        """A formula of connectives that bind at least as tight as `tightest`; a quantifier reaches as far right as it can."""
        left = self.operand()
        while True:
            connective = self.peek().kind
            precedence = _PRECEDENCE.get(connective, 0)
            if precedence < tightest or not precedence:
                return left
            if connective == "=>":
                self.connective()
                self.deeper()
                left = Implies(left, self.formula(precedence))
                self.depth -= 1
            elif connective == "<=>":
                self.connective()
                left = Iff(left, self.formula(precedence + 1))
            else:
                parts = [left]
                while _PRECEDENCE.get(self.peek().kind) == precedence:
                    self.connective()
                    parts.append(self.formula(precedence + 1))
                left = And(tuple(parts)) if connective == "^" else Or(tuple(parts))

    def connective(self) -> None:
        """Step over a connective and the line end behind it."""
        token = self.take()
        self.continue_line()
        behind = self.peek()
        if not self.open and (behind.kind in LINE_ENDS or (self.starts_line() and behind.text[0] in "0123456789-+.")):
            raise SyntaxFault(self.source.fault(f"the formula ends after {token.text}", token.start), self.at - 1)

    def operand(self) -> Formula:
        """Whatever a connective may join: a negation, a quantified formula, parentheses, an atom, an equality."""
        token = self.peek()
        kind = token.kind
        if kind == "!":
            self.deeper()
            self.take()
            self.continue_line()
            negated = Not(self.operand())
            self.depth -= 1
            return negated
        if kind == "(":
            return self.group()
        if kind == "*":
            self.take()
            starred = self.peek()
            if starred.kind not in (WORD, NAME):
                raise self.unexpected("a predicate after *")
            return self.atom(star=True)
        if kind == "+":
            raise self.fail("+ stands before a variable inside an atom, as in HasWord(page, +word)", token)
        if token.text == "\\" and self.after().text in _QUANTIFIERS:  # \\exists Y: of WFOMC
            self.take()
            return self.quantified()
        if kind in (WORD, NAME):
            if token.text.lower() == "not" and self.after().kind in (WORD, NAME, "("):
                raise self.fail("found not", token, "write !")
            if (
                token.text in _QUANTIFIERS
                and self.after().kind in (NAME, "v")
                and (token.text.isupper() or self.after().kind == NAME)
            ):
                return self.quantified()
            if token.text in ("EXIST", "FORALL", "EXISTS") and self.after().kind not in ("=", "!="):
                self.take()
                raise self.unexpected(f"a lower-case variable after {token.text}")
        behind = self.after().kind
        if kind == STRING or (behind in ("=", "!=") and kind in (WORD, NAME, "v", NUMBER)):
            return self.relation(self.written())
        behind = self.tokens[self.at + 1].kind
        if kind in (WORD, NAME) and (found := habit(self.tokens, self.at + 1)) is not None and behind not in (WORD, NAME):
            raise self.fail(found[0], self.tokens[self.at + 1], found[1])
        if (behind in COMPARISONS or behind in ARITHMETIC) and kind in (WORD, NAME, "v", NUMBER):
            return self.relation(self.written())
        if kind in (WORD, NAME):
            if token.text[0].isdigit():  # a weight where a formula should go on
                raise self.unexpected("a formula")
            return self.relation(self.written()) if self.is_sum(token) and behind == "(" else self.atom()
        raise self.unexpected("a formula")

    def group(self) -> Formula:
        """A formula in parentheses."""
        self.deeper()
        self.open.append(self.at)
        self.take()
        inner = self.formula()
        token = self.peek()
        if token.kind != ")":
            if token.kind == ".":
                raise self.not_closed()
            raise self.unexpected("a connective or )")
        self.at += 1
        self.open.pop()
        self.depth -= 1
        return inner

    def quantified(self) -> Formula:
        """`EXIST x,y f`, `FORALL x f`."""
        token = self.take()
        self.deeper()
        names: list[str] = []
        while True:
            self.continue_line()
            variable = self.peek()
            if self.dialect.capitals and variable.kind == WORD:
                name = variable_of_capital(variable.text)
            elif variable.kind in (NAME, "v"):
                name = self.variable_name(variable)
            else:
                raise self.unexpected("a lower-case variable")
            if name in names:
                raise self.fail(f"variable {variable.text} is listed twice", variable)
            names.append(name)
            self.at += 1
            if self.peek().kind != ",":
                break
            self.at += 1
        if self.peek().kind == ":":
            self.at += 1
        elif self.peek().kind == ".":
            hint = f"nothing stands between variables and formula: {token.text} {','.join(names)} Smokes({names[0]})"
            raise self.fail(f"found {self.peek().text}", hint=hint)
        self.continue_line()
        self.calls.enter(names)
        body = self.formula()
        self.depth -= 1
        return self.calls.leave(names, body, self.source.place(token.start), exists=_QUANTIFIERS[token.text] is Exists)


MAX_WEIGHT = 1e9  # beyond it a sum of weights would lose the small ones without a word
_WEIGHT = re.compile(r"[+-]?(?:inf\b|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_FUNCTION = re.compile(r"(logx|log|exp|sqrt|float|domSize)[ \t]*\(")
_NAMED = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_SPACES = re.compile(r"[ \t]*")
LOGX_OF_ZERO = -100.0  # what pracmln takes for the logarithm of 0


class WeightError(Exception):
    """The arithmetic has no value."""


def _log(x: float) -> float:
    if x <= 0:
        raise WeightError(f"log({x:g}) is not a number; write -inf for a formula that never holds")
    return math.log(x)


_VALUE: dict[str, Callable[[float], float]] = {
    "log": _log,
    "logx": lambda x: LOGX_OF_ZERO if x == 0 else _log(x),
    "exp": math.exp,
    "float": float,
    "sqrt": math.sqrt,
}


def arithmetic(text: str, start: int, named: Mapping[str, float] | None = None) -> tuple[float, int] | None:
    """Value and end of an arithmetic weight; None where a plain number or none stands there.

    `2-3` stays what it was, a constant out of place: only functions, products, quotients and parentheses make arithmetic.
    """
    found = value_at(text, start, named or {})
    return found if found is not None and any(mark in text[start : found[1]] for mark in "(*/$") else None


def value_at(text: str, start: int, named: Mapping[str, float]) -> tuple[float, int] | None:
    """Value and end of a number or arithmetic; None where there is neither."""
    reader = _Reader(text, start, named)
    try:
        value = reader.total()
    except (OverflowError, ValueError, ZeroDivisionError) as error:
        raise WeightError(f"this weight has no value: {error}") from None
    except _NotThereError:
        return None
    return value, reader.at


def weight_end(text: str) -> int:
    """Where the weight at the beginning of a text ends; 0 where there is none."""
    computed = arithmetic(text, 0)
    plain = _WEIGHT.match(text)
    return computed[1] if computed is not None else plain.end() if plain else 0


class _NotThereError(Exception):
    """No arithmetic here."""


class _Reader:
    """Recursive descent over the text; an operator without a number behind it is left alone, for it may begin the formula."""

    def __init__(self, text: str, at: int, named: Mapping[str, float]) -> None:
        self.text, self.at, self.named = text, at, named
        self.depth = 0

    def skip(self) -> int:
        found = _SPACES.match(self.text, self.at)
        return found.end() if found else self.at

    def total(self) -> float:
        value = self.product()
        while (mark := self.text[self.skip() : self.skip() + 1]) and mark in "+-":
            other = self.behind(self.product)
            if other is None:
                break
            value = value + other if mark == "+" else value - other
        return value

    def product(self) -> float:
        value = self.factor()
        while (mark := self.text[self.skip() : self.skip() + 1]) and mark in "*/":
            if self.text.startswith("//", self.skip()):  # a comment
                break
            other = self.behind(self.factor)
            if other is None:
                break
            value = value * other if mark == "*" else value / other
        return value

    def behind(self, part: Callable[[], float]) -> float | None:
        """What follows an operator; None, with the cursor before the operator, where that is no arithmetic."""
        before = self.at
        self.at = self.skip() + 1
        try:
            return part()
        except _NotThereError:
            self.at = before
            return None

    def factor(self) -> float:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _NotThereError
        value = self.bare_factor()
        self.depth -= 1
        return value

    def bare_factor(self) -> float:
        self.at = self.skip()
        if self.text[self.at : self.at + 1] in ("+", "-"):
            sign = -1.0 if self.text[self.at] == "-" else 1.0
            self.at += 1
            return sign * self.factor()
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            return float(number.group())
        if named := _NAMED.match(self.text, self.at):
            if named.group(1) not in self.named:
                raise WeightError(f"${named.group(1)} is not given; write a line ${named.group(1)} = NUMBER before it")
            self.at = named.end()
            return self.named[named.group(1)]
        if named := _FUNCTION.match(self.text, self.at):
            if named.group(1) == "domSize":
                raise WeightError("domSize: a weight cannot depend on the number of constants; write the number in its place")
            self.at = named.end()
            return _VALUE[named.group(1)](self.closed())
        if self.text.startswith("(", self.at):
            self.at += 1
            return self.closed()
        raise _NotThereError

    def closed(self) -> float:
        """The rest of what a parenthesis opened."""
        value = self.total()
        self.at = self.skip()
        if not self.text.startswith(")", self.at):
            raise _NotThereError
        self.at += 1
        return value


class WeightParser(FormulaParser):
    """Reads weights, and formulas behind them."""

    def refuse_nan(self, token: Token) -> None:
        """`nan` before a formula was meant as a weight; behind a predicate of that name stands a parenthesis or a connective."""
        at = self.at + (token.kind in ("-", "+"))
        if self.tokens[at].text.lower() == "nan" and self.tokens[at + 1].kind in (NAME, WORD, "!", "*"):
            raise self.fail("nan is not a weight", token, "expected a number such as 1.5, -2, 1e-3 or inf")

    def weight(self) -> float | None:
        """The number before a formula, if there is one."""
        first = self.at
        token = self.tokens[first]
        if (computed := self.computed_weight(token)) is not None:
            return computed
        match = _WEIGHT.match(self.source.text, token.start)
        if not match or token.kind not in (WORD, NUMBER, NAME, "-", "+", "."):
            return None
        while self.tokens[self.at].start < match.end():
            self.at += 1
        behind = self.tokens[self.at].kind
        if behind in ("=", "!=") or behind in COMPARISONS:  # a number compared, no weight
            self.at = first
            return None
        if self.tokens[self.at - 1].end != match.end():
            raise self.fail(
                f"found {shortened(self.tokens[self.at - 1].text)}, expected a weight such as 1.5, -2, 1e-3 or inf", token
            )
        if behind == "," and (meant := decimal_comma(self.tokens, self.at)):
            raise self.fail("found a comma in a number", self.tokens[self.at], f"write {meant}")
        if behind in (WORD, NUMBER) and self.tokens[self.at].text[0].isdigit() and self.tokens[self.at + 1].kind in (NAME, WORD):
            name, other = self.tokens[self.at + 1].text, self.tokens[self.at].text
            hint = (
                f"WFOMC gives factors of true and false atoms; here a weight is the logarithm of their ratio: "
                f"log({match.group()}/{other}) {name}(x)"
            )
            raise self.fail("two weights before a formula", self.tokens[self.at], hint)
        if behind in (NEWLINE, BLANK, END):
            raise self.fail(f"weight {shortened(match.group())} without a formula", token, "weight and formula stand on one line")
        value = float(match.group())
        if abs(value) > MAX_WEIGHT and "inf" not in match.group():
            hint = f"weights are logarithms, at most {MAX_WEIGHT:,.0f}; write inf for a hard formula"
            raise self.fail(f"weight {shortened(match.group())} is too large", token, hint)
        return value

    def computed_weight(self, token: Token) -> float | None:
        """A weight that is arithmetic, as in log(0.9/0.1) Smokes(x); None where there is none."""
        if token.kind not in (WORD, NUMBER, NAME, "-", "+", "(", ".") and token.text != "$":
            return None
        try:
            found = arithmetic(self.source.text, token.start, self.dialect.numbers)
        except WeightError as error:
            raise self.fail(str(error), token) from None
        at = self.at
        if found is None:
            return None
        while self.tokens[at].start < found[1]:
            at += 1
        letter, rest = self.tokens[at : at + 2]
        if (
            letter.kind == "v" and rest.kind in (NAME, WORD) and rest.start == letter.end
        ):  # a name behind the weight's parenthesis
            self.tokens[at : at + 2] = [Token(NAME, "v" + rest.text, letter.start)]
        if self.tokens[at - 1].end != found[1] or self.tokens[at].kind in (*CONNECTIVES, "=", "!=", ".", NEWLINE, BLANK, END):
            return None  # it is the formula, or a part of it
        self.at = at
        if abs(found[0]) > MAX_WEIGHT:
            raise self.fail(f"weight {found[0]:g} is too large", token, f"weights are logarithms, at most {MAX_WEIGHT:,.0f}")
        return found[0]
