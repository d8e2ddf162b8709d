"""Recursive descent for one formula: precedence climbing over the tokens of a source."""

from __future__ import annotations

import re

from markovlogic.errors import Fault
from markovlogic.language.functions import Calls
from markovlogic.language.habits import OTHER_SPELLINGS, habit
from markovlogic.language.order import compared
from markovlogic.language.source import Source
from markovlogic.language.syntax import And, Atom, Constant, Equal, Exists, Forall, Formula, Iff, Implies, Not, Or, Term, Variable
from markovlogic.language.tokens import (
    ARITHMETIC,
    BAD,
    BLANK,
    COMPARISONS,
    CONNECTIVES,
    END,
    NAME,
    NEWLINE,
    NUMBER,
    STRING,
    WORD,
    Token,
    unquote,
)

MAX_DEPTH = 100  # of nested parentheses, negations and quantifiers; far below Python's recursion limit
MAX_NAME = 1000  # characters of a predicate
_PRECEDENCE = {"<=>": 1, "=>": 2, "v": 3, "^": 4}
_PREDICATE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_LINE_ENDS = frozenset({NEWLINE, BLANK, END})
_QUANTIFIERS = {
    **dict.fromkeys(("EXIST", "Exist", "exist", "EXISTS", "Exists", "exists"), Exists),
    **dict.fromkeys(("FORALL", "Forall", "forall", "ForAll"), Forall),
}


class SyntaxFault(Exception):
    """A fault that ends the reading of a statement; `token` is the index after which reading may resume."""

    def __init__(self, fault: Fault, token: int, unsupported: bool = False) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.token = token
        self.unsupported = unsupported


class FormulaParser:
    """A cursor over tokens that reads formulas; statements are the business of `parser`."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.at = 0
        self.open: list[int] = []  # indices of the parentheses that are open
        self.depth = 0
        self.calls = Calls()  # functions of the present formula
        self.bound: list[str] = []  # variables of the quantifiers around the cursor

    # ---- the cursor

    def peek(self) -> Token:
        """The next token; line ends do not count while a parenthesis is open."""
        token = self.tokens[self.at]
        if self.open:
            while token.kind == NEWLINE or token.kind == BLANK:
                self.at += 1
                token = self.tokens[self.at]
        return token

    def after(self) -> Token:
        """The token after the next one, wherever lines end while a parenthesis is open."""
        at = self.at + 1
        if self.open:
            while self.tokens[at].kind in (NEWLINE, BLANK):
                at += 1
        return self.tokens[at]

    def take(self) -> Token:
        """The next token, which is then behind the cursor."""
        token = self.peek()
        self.at += 1
        return token

    def continue_line(self) -> None:
        """Step over one or more line ends: a formula runs on after a connective, but not over a blank line."""
        while self.tokens[self.at].kind == NEWLINE:
            self.at += 1

    def starts_line(self) -> bool:
        """Whether the next token is the first of its line."""
        return self.at == 0 or self.tokens[self.at - 1].kind in (NEWLINE, BLANK)

    # ---- faults

    def fail(self, message: str, token: Token | None = None, hint: str = "") -> SyntaxFault:
        """A fault at a token, by default the next one."""
        token = token or self.peek()
        return SyntaxFault(self.source.fault(message, token.start, hint), self.at)

    def unsupported(self, feature: str, token: Token, hint: str = "") -> SyntaxFault:
        """A fault for something that Alchemy has and this language has not."""
        fault = self.source.fault(f"{feature}: not supported", token.start, hint)
        return SyntaxFault(fault, self.at, unsupported=True)

    def not_closed(self) -> SyntaxFault:
        """The innermost open parenthesis is never closed: a fault where it opens."""
        opening = self.open[-1]
        fault = self.source.fault("parenthesis is never closed", self.tokens[opening].start)
        return SyntaxFault(fault, opening)

    def unexpected(self, expected: str) -> SyntaxFault:
        """The next token is not what could stand here."""
        token = self.peek()
        if (found := habit(self.tokens, self.at)) is not None:
            return self.fail(found[0], token, found[1])
        if token.kind in (BAD, ":"):
            if token.text[0] == '"':
                return self.fail("string is never closed", token, 'close it by " on the same line')
            known = OTHER_SPELLINGS.get(token.text[0])
            hint = f"write {known}" if known else "constants with other characters are written in double quotes"
            return self.fail(f"unknown character {token.text[0]!r}", token, hint)
        if self.open and (token.kind == END or self.starts_line()):
            return self.not_closed()
        if token.kind in COMPARISONS:
            return self.unsupported(f"numeric comparison {token.text}", token)
        if token.kind in _LINE_ENDS:
            return self.fail(f"the formula ends where {expected} was expected", token)
        if token.kind == ")" and not self.open:
            return self.fail("closing parenthesis without an opening one", token)
        return self.fail(f"found {shortened(token.text)}, expected {expected}", token)

    # ---- formulas

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
                while self.peek().kind == connective:
                    self.connective()
                    parts.append(self.formula(precedence + 1))
                left = And(tuple(parts)) if connective == "^" else Or(tuple(parts))

    def connective(self) -> None:
        """Step over a connective and the line end behind it."""
        token = self.take()
        self.continue_line()
        behind = self.peek()
        if not self.open and (behind.kind in _LINE_ENDS or (self.starts_line() and behind.text[0] in "0123456789-+.")):
            raise SyntaxFault(self.source.fault(f"the formula ends after {token.text}", token.start), self.at - 1)

    def deeper(self) -> None:
        """Count one level of nesting."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail(f"formula is nested deeper than {MAX_DEPTH} levels")

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
            return self.equality()
        behind = self.tokens[self.at + 1].kind
        if kind in (WORD, NAME) and (found := habit(self.tokens, self.at + 1)) is not None and behind not in (WORD, NAME):
            raise self.fail(found[0], self.tokens[self.at + 1], found[1])
        if behind in COMPARISONS and kind in (WORD, NAME, "v"):
            return self.comparison()
        if behind in ARITHMETIC and kind in (WORD, NAME, "v", NUMBER):
            raise self.unsupported(f"arithmetic {behind}", token)
        if kind in (WORD, NAME):
            if token.text[0].isdigit():  # a weight where a formula should go on
                raise self.unexpected("a formula")
            return self.atom()
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
            if variable.kind not in (NAME, "v"):
                raise self.unexpected("a lower-case variable")
            if variable.text in names:
                raise self.fail(f"variable {variable.text} is listed twice", variable)
            names.append(variable.text)
            self.at += 1
            if self.peek().kind != ",":
                break
            self.at += 1
        self.continue_line()
        self.bound += names
        body = self.formula()
        del self.bound[len(self.bound) - len(names) :]
        self.depth -= 1
        place = self.source.place(token.start)
        return Exists(tuple(names), body, place) if _QUANTIFIERS[token.text] is Exists else Forall(tuple(names), body, place)

    def equality(self) -> Formula:
        """`x = y`, `x != y`."""
        first = self.peek()
        left = self.term()
        sign = self.peek()
        if sign.kind not in ("=", "!="):
            raise self.unexpected("= or != after a constant")
        self.at += 1
        self.continue_line()
        if self.peek().kind in (WORD, NAME, "v") and self.after().kind == "(":
            equal: Formula = self.calls.equality(self.called(), left)
        else:
            equal = Equal(left, self.term(), self.source.place(first.start))
        if self.peek().kind in ARITHMETIC:
            raise self.unsupported(f"arithmetic {self.peek().kind}", self.peek())
        return equal if sign.kind == "=" else Not(equal)

    def comparison(self) -> Formula:
        """`x < y`, `x >= 3`."""
        place = self.source.place(self.peek().start)
        left, sign = self.term(), self.take()
        self.continue_line()
        return compared(left, sign.kind, self.term(), place)

    def called(self) -> Atom:
        """`MotherOf(x)` as a term; its value is still to be named."""
        name = self.predicate_name()
        return Atom(name.text, self.arguments(), place=self.source.place(name.start))

    def call(self, token: Token) -> Term:
        """A function inside of an atom: a variable for its value."""
        self.deeper()
        atom = self.called()
        self.depth -= 1
        if any(isinstance(arg, Variable) and arg.name in self.bound for arg in atom.args):
            raise self.unsupported(f"function {shortened(token.text)} of a quantified variable", token)
        return self.calls.value(atom)

    def term(self) -> Term:
        """A variable or a constant."""
        token = self.peek()
        kind = token.kind
        if kind in (WORD, NAME, "v") and self.after().kind == "(":
            return self.call(token)
        if kind == NAME or kind == "v":
            self.at += 1
            return Variable(token.text)
        if kind == WORD:
            self.at += 1
            return Constant(token.text)
        if kind == STRING:
            self.at += 1
            return Constant(unquote(token.text))
        if kind == NUMBER or (kind == "-" and self.after().kind in (WORD, NUMBER)):
            raise self.number_as_constant(token)
        raise self.unexpected("a variable or a constant")

    def number_as_constant(self, token: Token) -> SyntaxFault:
        """A decimal or negative number where a constant was expected."""
        text = token.text + (self.after().text if token.kind == "-" else "")
        return self.fail(f"the number {shortened(text)} as a constant", token, f'write it in double quotes: "{shortened(text)}"')

    def atom(self, star: bool = False) -> Formula:
        """`Flag`, `Friends(x, Bob)`, `HasWord(page, +w)`, `MotherOf(x) = y`."""
        name = self.predicate_name()
        place = self.source.place(name.start)
        if self.tokens[self.at].kind != "(":
            return Atom(name.text, (), star, place)
        atom = Atom(name.text, self.arguments(), star, place)
        behind = self.peek()
        if behind.kind in ("=", "!="):
            self.at += 1
            self.continue_line()
            equal = self.calls.equality(atom, self.term())
            return equal if behind.kind == "=" else Not(equal)
        if behind.kind in COMPARISONS and habit(self.tokens, self.at) is None:
            raise self.unsupported(f"numeric comparison {behind.text}", behind)
        return atom

    def arguments(self) -> tuple[Term, ...]:
        """What stands in the parentheses of an atom."""
        self.open.append(self.at)
        self.at += 1
        args: list[Term] = []
        while self.peek().kind != ")" or args:
            args.append(self.argument())
            token = self.peek()
            if token.kind == ")":
                break
            if token.kind != ",":
                raise self.bad_separator(token)
            self.at += 1
        self.at += 1
        self.open.pop()
        return tuple(args)

    def predicate_name(self) -> Token:
        """The name of a predicate."""
        name = self.take()
        if not _PREDICATE_NAME.match(name.text):
            raise self.fail(f"{shortened(name.text)} is no predicate name", name, "letters, digits and _ only, no digit first")
        if len(name.text) > MAX_NAME:
            raise self.fail(f"predicate name {shortened(name.text)} is longer than {MAX_NAME} characters", name)
        return name

    def argument(self) -> Term:
        """A term, or `+x`."""
        if self.peek().kind != "+":
            return self.term()
        plus = self.take()
        variable = self.term()
        if not isinstance(variable, Variable):
            raise self.fail("+ stands before a variable, not before a constant", plus)
        return Variable(variable.name, plus=True)

    def bad_separator(self, token: Token) -> SyntaxFault:
        """What is wrong where an argument list has neither a comma nor its end."""
        if token.kind in CONNECTIVES or token.kind == "." or self.starts_line():
            return self.not_closed()
        if token.kind == "!":
            return self.fail("! marks an exclusive argument, which only a declaration has: Pred(page, class!)", token)
        if token.kind in ARITHMETIC:
            return self.unsupported(f"arithmetic {token.kind}", token)
        return self.unexpected(", or )")


def shortened(text: str) -> str:
    """Text for a message."""
    return text if len(text) <= 60 else f"{text[:57]}..."
