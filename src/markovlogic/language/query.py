"""What `-q` says: predicates, atoms, patterns with `_` for any constant, and ground formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markovlogic.errors import Fault, InputError, Place
from markovlogic.language.formulas import FormulaParser
from markovlogic.language.syntax import Atom, Constant, Formula, Term, show_constant
from markovlogic.language.terms import Written
from markovlogic.language.tokens import BLANK, END, NAME, NEWLINE, STRING, Source, SyntaxFault, Token, tokenize, unquote

QUERY = "query"  # what messages give as the file
ANY = "_"  # in place of a constant: any of them


@dataclass(frozen=True)
class ParsedItem:
    """One item of a query; exactly one of the three is there.

    `Flag` alone is a predicate by name whether or not it takes arguments; whoever knows the model decides.
    """

    text: str  # canonical spelling, without spaces
    predicate: str | None = None
    pattern: tuple[str, tuple[str | None, ...]] | None = None  # predicate and constants, None where any will do
    formula: Formula | None = None  # ground: no variables, no quantifiers


def parse_query(text: str) -> tuple[ParsedItem, ...]:
    """Read the items of a query, which commas split; raises InputError with every fault."""
    source = Source(QUERY, text)
    tokens, faults = tokenize(source)
    tokens = [token for token in tokens if token.kind not in (NEWLINE, BLANK)]
    if tokens[0].kind == END:
        raise InputError(Fault("the query is empty", Place(QUERY), hint="name a predicate or a ground atom"))
    reader = _QueryReader(source, tokens)
    items: list[ParsedItem] = []
    while True:
        try:
            items.append(reader.item())
        except SyntaxFault as error:
            faults.append(error.fault)
            reader.skip_item()
        if reader.take().kind == END:
            break
    if faults:
        raise InputError(faults)
    return tuple(items)


class _QueryReader(FormulaParser):
    """Reads items with the formula parser of rule files, and says in terms of a query what is wrong."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        super().__init__(source, tokens)
        self.first = 0  # token where the item begins
        self.wild: list[Token] = []  # each `_` of the item

    def take(self) -> Token:
        """The next token; the last END stays."""
        token = self.peek()
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def starts_line(self) -> bool:
        """A query is one line."""
        return False

    def item(self) -> ParsedItem:
        """A predicate, an atom or pattern, or a formula."""
        first = self.first = self.at
        self.wild = []
        formula = self.formula()
        if self.peek().kind not in (",", END):
            raise self.unexpected("a connective, a comma or the end")
        text = "".join(map(_spelled, self.tokens[first : self.at]))
        if not isinstance(formula, Atom):
            for token in self.wild:
                raise self.fail("_ stands for any constant in a single atom only, not in a formula", token)
            return ParsedItem(text, formula=formula)
        if self.at == first + 1:
            return ParsedItem(text, predicate=formula.predicate)
        constants = tuple(arg.name if isinstance(arg, Constant) else None for arg in formula.args)
        return ParsedItem(show_pattern(formula.predicate, constants), pattern=(formula.predicate, constants))

    def skip_item(self) -> None:
        """Go to the next comma outside parentheses."""
        depth = 0
        for token in self.tokens[self.first : self.at]:  # parentheses that the failed item has open
            depth = max(0, depth + (token.kind == "(") - (token.kind == ")"))
        self.open, self.depth = [], 0
        while self.peek().kind != END and (depth or self.peek().kind != ","):
            kind = self.take().kind
            depth = max(0, depth + (kind == "(") - (kind == ")"))

    def operand(self) -> Formula:
        """As in a rule, without both signs."""
        if self.peek().kind == "*":
            raise self.fail("* marks both signs in a rule; a query has none")
        return super().operand()

    def quantified(self) -> Formula:
        """None in a query."""
        raise self.fail(
            "a query has no quantifiers",
            hint="write the formula out for the constants you mean, or add a rule that defines a predicate and query that",
        )

    def comparison(self, left: Written, sign: Token, right: Written) -> Formula:
        """None in a query."""
        raise self.fail("a query compares no numbers", sign, "its constants are known: leave the comparison out")

    def argument(self) -> Term:
        """A constant or `_`."""
        if self.peek().kind == "+":
            raise self.fail("+ marks weights in a rule; a query has none")
        return super().argument()

    def plain_term(self) -> Term:
        """A constant, or `_` for any."""
        token = self.peek()
        if token.kind in (NAME, "v"):
            if token.text != ANY:
                hint = f'write _ for any constant, or the predicate alone; a lower-case constant is written "{token.text}"'
                raise self.fail(f"variable {token.text} in a query", token, hint)
            self.wild.append(token)
        return super().plain_term()

    def called(self, written: Written) -> Term:
        """No function in a query, but in front of its value; nothing is added to any constant."""
        if isinstance(written.term, Atom):
            name = written.term.predicate
            raise self.fail(f"function {name} inside an atom of a query", written.token, f"query its values: {name}")
        if written.shift and not isinstance(written.term, Constant):
            raise self.fail("_ stands for any constant, and nothing can be added to it", written.token)
        return super().called(written)

    def unexpected(self, expected: str) -> SyntaxFault:
        """The next token is not what could stand here."""
        token = self.peek()
        expected = {"a formula": "a predicate", "a variable or a constant": "a constant"}.get(expected, expected)
        if token.kind == END:
            return self.not_closed() if self.open else self.fail(f"the query ends where {expected} was expected", token)
        if token.kind in (",", ")"):
            return self.fail(f"found {token.text}, expected {expected}", token)
        return super().unexpected(expected)


def show_pattern(predicate: str, constants: Sequence[str | None]) -> str:
    """An atom without spaces, `_` where any constant will do."""
    return (
        f"{predicate}({','.join(ANY if name is None else show_constant(name) for name in constants)})" if constants else predicate
    )


def _spelled(token: Token) -> str:
    """A token as it is reported: constants bare where they can be."""
    return show_constant(unquote(token.text)) if token.kind == STRING else token.text
