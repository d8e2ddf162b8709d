"""Recursive descent for one formula: precedence climbing over the tokens of a source."""

from __future__ import annotations

from markovlogic.language.cursor import LINE_ENDS, SyntaxFault
from markovlogic.language.dialects import variable_of_capital
from markovlogic.language.habits import habit
from markovlogic.language.syntax import And, Exists, Forall, Formula, Iff, Implies, Not, Or
from markovlogic.language.terms import TermParser
from markovlogic.language.tokens import ARITHMETIC, COMPARISONS, NAME, NUMBER, STRING, WORD

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
