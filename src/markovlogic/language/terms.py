"""Terms (constants, variables, functions, sums) and what has terms: atoms, equalities and comparisons."""

from __future__ import annotations

import re
from typing import NamedTuple

from markovlogic.errors import Place
from markovlogic.language.dialects import dialect_of, variable_of_capital
from markovlogic.language.integers import INTEGER, STEPS, SUMS, Calls, NotAnIntegerError, Side, compared, equal, number
from markovlogic.language.syntax import KNOWN, Atom, Constant, Formula, Not, Term, Variable, known_name
from markovlogic.language.tokens import (
    ARITHMETIC,
    COMPARISONS,
    CONNECTIVES,
    LINE_ENDS,
    NAME,
    NUMBER,
    STRING,
    WORD,
    Cursor,
    Source,
    SyntaxFault,
    Token,
    habit,
    shortened,
    unquote,
)

MAX_NAME = 1000  # characters of a predicate
_PREDICATE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_'-]*\Z")
_ONE_LETTER = re.compile(r"[a-z][0-9]?\Z")
_RELATIONS = COMPARISONS | {"=", "!="}


class Written(NamedTuple):
    """A term as it stands in a file: a variable, a constant or a function without a name for its value, and what is added."""

    term: Term | Atom
    shift: int
    token: Token


class TermParser(Cursor):
    """Reads terms, atoms and relations of terms."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        super().__init__(source, tokens)
        self.calls = Calls()  # functions and sums of the present formula
        self.own_names = _own_names(tokens)  # of built-in functions that the file declares itself
        self.dialect = dialect_of(tokens)
        self.unmarked: dict[str, None] = {}  # lower-case constants of a file that marks its variables

    # ---- atoms

    def atom(self, star: bool = False) -> Formula:
        """`Flag`, `Friends(x, Bob)`, `HasWord(page, +w)`, `MotherOf(x) = y`, `Age(x) + 1 < Age(y)`."""
        name = self.predicate_name()
        place = self.source.place(name.start)
        if self.tokens[self.at].kind != "(":
            return Atom(name.text, (), star, place)
        if name.text == KNOWN and KNOWN not in self.own_names and self.names_an_atom():
            return self.known(star, place)
        atom = Atom(name.text, self.arguments(), star, place)
        behind = self.peek()
        if (behind.kind in _RELATIONS or behind.kind in ARITHMETIC) and not self.starts_arrow():
            if behind.kind == "*" and self.after().kind in (WORD, NAME):
                return atom  # a number before a formula that begins with a starred atom
            return self.relation(Written(atom, self.added(), name))
        return atom

    def names_an_atom(self) -> bool:
        """Whether the parentheses at the cursor hold one atom, as in `Known(Friends(x, y))`."""
        inner, behind = self.tokens[self.at + 1], self.tokens[self.at + 2]
        return inner.kind in (WORD, NAME) and behind.kind == "("

    def known(self, star: bool, place: Place) -> Atom:
        """`Known(Friends(x, y))`: the cursor stands on the parenthesis."""
        self.open.append(self.at)
        self.at += 1
        name = self.predicate_name()
        atom = Atom(known_name(name.text), self.arguments(), star, place)
        if self.peek().kind != ")":
            raise self.unexpected(") after the atom that may be known")
        self.at += 1
        self.open.pop()
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
            raise self.fail(
                f"{shortened(name.text)} is not a predicate name", name, "letters, digits, _, ' and - only, a letter first"
            )
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
        return self.unexpected(", or )")

    # ---- terms

    def term(self) -> Term:
        """A variable or a constant; functions and sums get a variable for their value."""
        return self.named(self.written())

    def written(self) -> Written:
        """A term with what is added to it."""
        token = self.peek()
        if token.kind not in (WORD, NAME, "v") or self.after().kind != "(":
            return Written(self.plain_term(), self.added(), token)
        self.deeper()
        if self.is_sum(token):
            inner, shift = self.sum_by_name()
        else:
            name, shift = self.predicate_name(), 0
            inner = Written(Atom(name.text, self.arguments(), place=self.source.place(name.start)), 0, token)
        self.depth -= 1
        return Written(inner.term, inner.shift + shift + self.added(), token)

    def is_sum(self, token: Token) -> bool:
        """Whether a name followed by a parenthesis is a built-in function, as in succ(t)."""
        return (token.text in STEPS or token.text in SUMS) and token.text not in self.own_names

    def sum_by_name(self) -> tuple[Written, int]:
        """`succ(t)`, `prec(t)`, `plus(t, 2)` or `minus(t, 2)`: the term and what is added to it."""
        name = self.take()
        self.open.append(self.at)
        self.at += 1
        inner, shift = self.written(), STEPS.get(name.text, 0)
        if name.text in SUMS:
            added = self.after()
            if self.peek().kind != "," or added.kind != WORD or not INTEGER.match(added.text):
                hint = f"an integer can be added to a variable: {name.text}(t, 2)"
                raise self.unsupported(f"built-in {name.text} with these arguments", name, hint)
            self.take()
            shift = SUMS[name.text] * int(self.take().text)
        if self.peek().kind != ")":
            raise self.unexpected(f") after the argument{'s' * (name.text in SUMS)} of {name.text}")
        self.at += 1
        self.open.pop()
        return inner, shift

    def plain_term(self) -> Term:
        """A variable or a constant."""
        token = self.peek()
        kind = token.kind
        if kind == NAME or kind == "v":
            self.at += 1
            return self.variable_or_constant(token)
        if kind == WORD:
            self.at += 1
            if self.dialect.capitals and not token.text[0].isdigit():
                return Variable(variable_of_capital(token.text))
            return Constant(token.text)
        if kind == STRING:
            self.at += 1
            return Constant(unquote(token.text))
        if kind == NUMBER or (kind == "-" and self.after().kind in (WORD, NUMBER)):
            raise self.number_as_constant(token)
        raise self.unexpected("a variable or a constant")

    def variable_or_constant(self, token: Token) -> Term:
        """A lower-case name: a variable, or a constant in a file that writes its variables as ?x or X."""
        if self.dialect.capitals:
            self.unmarked.setdefault(token.text)
            return Constant(token.text)
        if not self.dialect.marked or token.text[0] == "?":
            return Variable(self.variable_name(token))
        if _ONE_LETTER.match(token.text):
            hint = f'this file marks variables by ?: write ?{token.text}, or "{token.text}" for a constant'
            raise self.fail(f"{token.text} without a question mark", token, hint)
        self.unmarked.setdefault(token.text)
        return Constant(token.text)

    def variable_name(self, token: Token) -> str:
        """The name of a variable: that of `?x` is x, that of `?X` is _X, since a capital would be a constant."""
        if token.text[0] != "?":
            if self.dialect.marked:
                raise self.fail(
                    f"variable {token.text} without a question mark", token, f"write ?{token.text} as elsewhere in this file"
                )
            return token.text
        bare = token.text[1:]
        return bare if bare[0].islower() else f"_{bare}"

    def added(self) -> int:
        """`+ 1`, `- 2`, or LoMRF's `++` and `--` behind a term."""
        shift = 0
        while (sign := self.peek()).kind in ARITHMETIC and not self.starts_arrow():
            by, step = self.after(), 1 if sign.kind == "+" else -1
            if sign.kind not in ("+", "-"):
                raise self.unsupported(f"arithmetic {sign.kind}", sign, "integers can be added: t + 1, t - 2")
            if by.kind == WORD and INTEGER.match(by.text):
                step *= int(by.text)
            elif by.kind != sign.kind or by.start != sign.end:
                what = (
                    f"arithmetic {sign.kind} {shortened(by.text)}" if by.kind in (NAME, WORD, "v") else f"arithmetic {sign.kind}"
                )
                raise self.unsupported(what, sign, "an integer can be added to a variable: t + 1, t - 2")
            self.take()
            self.take()
            shift += step
        return shift

    def named(self, written: Written) -> Term:
        """The term itself, or the variable for its value."""
        base = self.called(written)
        if not written.shift:
            return base
        if isinstance(base, Constant):
            return Constant(str(self.integer(base, written.token) + written.shift))
        return self.calls.total(base, written.shift, self.source.place(written.token.start))

    def called(self, written: Written) -> Term:
        """The term without what is added; of a function, the variable for its value."""
        return self.calls.value(written.term) if isinstance(written.term, Atom) else written.term

    def integer(self, constant: Constant, token: Token) -> int:
        """The number that a constant is."""
        try:
            return number(constant)
        except NotAnIntegerError:
            raise self.no_integer(constant.name, token) from None

    def no_integer(self, name: str, token: Token) -> SyntaxFault:
        """A constant that is added to or compared."""
        return self.fail(f"{shortened(name)} is not an integer, so it can be neither compared nor added to", token)

    def number_as_constant(self, token: Token) -> SyntaxFault:
        """A decimal or negative number where a constant was expected."""
        text = token.text + (self.after().text if token.kind == "-" else "")
        if self.at and self.tokens[self.at - 1].kind == "=" and token.kind == NUMBER:
            hint = "a probability is soft evidence, in a .db file: 0.9 Smokes(Ann); a weight stands before its formula"
            return self.fail(f"the number {shortened(text)} as a value", token, hint)
        return self.fail(f"the number {shortened(text)} as a constant", token, f'write it in double quotes: "{shortened(text)}"')

    def starts_arrow(self) -> bool:
        """Whether the next tokens are `->` or its relatives, which stand between formulas."""
        found = habit(self.tokens, self.at)
        return found is not None and found[1].startswith(("write =>", "write <=>"))

    # ---- relations

    def relation(self, left: Written) -> Formula:
        """`x = y`, `x != y + 1`, `x < 3`; the cursor stands behind the left side."""
        sign = self.peek()
        if sign.kind not in _RELATIONS:
            raise self.unexpected("= or != after a constant" if not left.shift else "=, != or a comparison after a sum")
        if (found := habit(self.tokens, self.at)) is not None:
            raise self.fail(found[0], sign, found[1])
        self.at += 1
        self.continue_line()
        right = self.written()
        if sign.kind in COMPARISONS:
            return self.comparison(left, sign, right)
        same = self.equality(left, right)
        return same if sign.kind == "=" else Not(same)

    def equality(self, left: Written, right: Written) -> Formula:
        """`x = y`; `F(x) = y` is the atom itself."""
        for call, value in ((left, right), (right, left)):
            if isinstance(call.term, Atom) and not call.shift and not value.shift:
                return self.calls.equality(call.term, self.called(value))
        place = self.source.place(left.token.start)
        try:
            return equal(Side(self.called(left), left.shift), Side(self.called(right), right.shift), place)
        except NotAnIntegerError as error:
            raise self.no_integer(str(error), left.token) from None

    def comparison(self, left: Written, sign: Token, right: Written) -> Formula:
        """`x < y`, `x >= 3`."""
        one, other = self.called(left), self.called(right)
        try:
            return compared(Side(one, left.shift), sign.kind, Side(other, right.shift), self.source.place(left.token.start))
        except NotAnIntegerError as error:
            at_right = isinstance(other, Constant) and other.name == str(error)
            raise self.no_integer(str(error), right.token if at_right else left.token) from None


def _own_names(tokens: list[Token]) -> frozenset[str]:
    """Built-in functions that a file declares itself, as in `time succ(time)`: there the declaration counts."""
    named = [at for at, token in enumerate(tokens) if token.text in STEPS or token.text in SUMS or token.text == KNOWN]
    return frozenset(tokens[at].text for at in named if _is_declared(tokens, at))


def _is_declared(tokens: list[Token], at: int) -> bool:
    """Whether a line consists of a name with lower-case arguments, perhaps with a type before it."""
    first = at - (at > 0 and tokens[at - 1].kind == NAME)
    end = at + 1
    while tokens[end].kind in ("(", NAME, ",", "!"):
        end += 1
    starts = first == 0 or tokens[first - 1].kind in LINE_ENDS
    return starts and tokens[end].kind == ")" and tokens[end + 1].kind in LINE_ENDS
