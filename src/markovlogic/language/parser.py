"""From text to statements: type declarations, lone atoms, formulas with weights, `#include`; all faults of a file at once."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, field, replace

from markovlogic.errors import Fault, InputError, Place
from markovlogic.language.dialects import CONSTRAINTS, NUMBER_COLUMN, is_size, predicates_of, without_column
from markovlogic.language.formulas import WeightError, WeightParser, value_at
from markovlogic.language.integers import Calls
from markovlogic.language.show import show_rule
from markovlogic.language.syntax import (
    And,
    Atom,
    Constant,
    Equal,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Rule,
    Variable,
    tree_depth,
)
from markovlogic.language.tokens import (
    BLANK,
    CONNECTIVES,
    DIRECTIVE,
    END,
    INCLUDE,
    MAX_DEPTH,
    NAME,
    NEWLINE,
    NUMBER,
    STRING,
    WORD,
    Source,
    SyntaxFault,
    Token,
    read_source,
    shortened,
    tokenize,
    unquote,
)

MAX_ATOMS = 500  # of one formula, equalities included
MAX_RANGE = 1_000_000
MAX_INCLUDES = 50  # nested in each other
_INTEGER = re.compile(r"[0-9]+\Z")
_IGNORED = {
    "fix": "#fixweight is ignored: it is for learning, where --keep-weights keeps the weights that rules have",
    "uni": "#unique is ignored: each order of the values gets a weight of its own",
    "fuz": "#fuzzy is ignored: atoms are true or false here, and probabilities of facts are soft evidence",
}
_DEFINITE = "Head :- Body is read as Body => Head; LoMRF also takes a head to be false where no body holds (write <=> for that)"
INCLUDE_LINE = re.compile(r'#include[ \t]*"([^"\n]*)"[ \t]*(?://.*)?\Z')


@dataclass(frozen=True)
class TypeDeclaration:
    """`person = {Ann, Bob}`."""

    name: str
    constants: tuple[str, ...]
    place: Place


@dataclass(frozen=True)
class LoneAtom:
    """An unweighted positive atom with lower-case arguments: a declaration the first time, later perhaps a formula."""

    name: str
    args: tuple[str, ...]
    exclusive: tuple[bool, ...]
    text: str
    place: Place
    last_line: int = 0
    is_real: bool = False
    star: bool = False  # written with a star: a closed predicate's declaration, later a formula with both signs
    at_most_one: tuple[bool, ...] = ()  # arguments written `sense?`: of each group at most one atom is true
    marked: bool = False  # in a file that marks its variables by ?, where lower-case arguments of formulas are constants

    @property
    def formula(self) -> Atom:
        """The atom as a formula."""
        kind = Constant if self.marked else Variable
        return Atom(self.name, tuple(kind(name) for name in self.args), self.star, place=self.place)

    @property
    def at_most_one_rule(self) -> FormulaStatement | None:
        """What `sense?` says, as a hard formula: `P(a0, a1) ^ P(a0, b1) => a1 = b1.`"""
        if not any(self.at_most_one):
            return None
        one = [Variable(f"a{at}") for at in range(len(self.args))]
        other = [Variable(f"b{at}") if mark else one[at] for at, mark in enumerate(self.at_most_one)]
        same = [Equal(a, b, self.place) for a, b in zip(one, other, strict=True) if a != b]
        both = And((Atom(self.name, tuple(one), place=self.place), Atom(self.name, tuple(other), place=self.place)))
        formula = Implies(both, same[0] if len(same) == 1 else And(tuple(same)))
        return FormulaStatement(formula, math.inf, show_rule(Rule(formula, math.inf)), self.place, self.last_line)


@dataclass(frozen=True)
class FormulaStatement:
    """A formula with its weight, inf where it ends in a period."""

    formula: Formula
    weight: float | None
    text: str
    place: Place
    last_line: int = 0
    factor: Atom | None = None
    called: tuple[Atom, ...] = ()  # functions, as atoms with their values
    names_values: bool = False  # whether free variables stand for the values of functions and sums


Statement = TypeDeclaration | LoneAtom | FormulaStatement


@dataclass
class Parsed:
    """The statements of a file and all it includes, in order, with what is wrong with them."""

    statements: list[Statement] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    n_unsupported: int = 0  # of the faults
    sources: dict[str, Source] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)  # files, by the name that links lead to
    marks_variables: bool = False  # whether a file writes ?x
    notes: list[str] = field(default_factory=list)  # what was read otherwise than the system that it is from would


def parse_statements(source: Source, directory: str = "") -> Parsed:
    """Read all statements of a source; included files are looked for relative to the file that includes them."""
    parsed = Parsed()
    _read(source, directory, parsed, (os.path.realpath(source.name),))
    return parsed


def parse_type_declaration(line: Source) -> TypeDeclaration:
    """`person = {Ann, Bob}` alone on a line, as `.db` files have it too; raises SyntaxFault."""
    return _StatementReader(line, tokenize(line)[0]).type_declaration()


def _read(source: Source, directory: str, parsed: Parsed, around: tuple[str, ...]) -> None:
    parsed.sources[source.name] = source
    parsed.read.add(around[-1])
    tokens, faults = tokenize(source)
    parsed.faults += faults
    reader = _StatementReader(source, tokens)
    dialect = reader.dialect
    parsed.marks_variables |= dialect.marks_variables
    ignored: dict[str, None] = {}  # directives, by their first letters
    before = len(parsed.statements)
    while (token := tokens[reader.at]).kind != END:
        start = reader.at
        if token.kind in (NEWLINE, BLANK):
            reader.at += 1
            continue
        try:
            if token.kind == INCLUDE:
                reader.at += 1
                _include(source, token, directory, parsed, around)
            elif token.kind == DIRECTIVE:
                reader.at += 1
                ignored.setdefault(token.text[1:4].lower())
            elif token.text == "$" and tokens[start + 2].kind == "=":
                reader.named_number()
            else:
                parsed.statements.append(reader.statement())
        except SyntaxFault as error:
            parsed.faults.append(error.fault)
            parsed.n_unsupported += error.unsupported
            reader.resume(start, error.token)
    parsed.notes += [f"{source.name}: {_IGNORED[name]}" for name in ignored]
    if reader.n_definite:
        parsed.notes.append(f"{source.name}: {_DEFINITE}")
    if reader.unmarked:
        some = ", ".join([*reader.unmarked][:5]) + ", …" * (len(reader.unmarked) > 5)
        how = "begin upper case" if dialect.capitals else "are marked by ?"
        parsed.notes.append(f"{source.name}: variables {how}, so lower-case names are constants: {some}")
    parsed.notes += [f"{source.name}: {note}" for note in reader.sizes.values()]
    if dialect.capitals:
        type_name = next(iter(reader.sizes), "thing")
        formulas = [one.formula for one in parsed.statements[before:] if isinstance(one, FormulaStatement)]
        for name, (types, place) in predicates_of(formulas, type_name).items():
            parsed.statements.append(LoneAtom(name, types, (False,) * len(types), name, place))
        parsed.notes.append(
            f"{source.name}: no predicate is declared, so names that begin upper case are variables, of type {type_name}"
        )
    if dialect.columns:
        name = min(dialect.columns)
        parsed.notes.append(
            f"{source.name}: the last argument of {name} is its number: in a .db file 0.5 {name}(…), in a table a column value"
        )
    if dialect.capital_types:
        parsed.notes.append(f"{source.name}: types are written upper case, and read lower case")


def _include(source: Source, token: Token, directory: str, parsed: Parsed, around: tuple[str, ...]) -> None:
    def fail(message: str, unsupported: bool = False) -> SyntaxFault:
        return SyntaxFault(source.fault(message, token.start), 0, unsupported)

    match = INCLUDE_LINE.match(token.text)
    if not match:
        raise fail('found a malformed #include, expected #include "file"')
    name = match.group(1)
    if name.endswith((".cpp", ".cc", ".c", ".h", ".so")):
        raise fail(f"linked-in functions ({name}): not supported", unsupported=True)
    path = os.path.join(directory, name)
    real = os.path.realpath(path)
    if real in around:
        raise fail(f"{path} includes itself")
    if len(around) >= MAX_INCLUDES:
        raise fail(f"files include each other more than {MAX_INCLUDES} deep")
    if real in parsed.read:  # a second #include of a file adds nothing, under whatever name: its rules must not count twice
        return
    try:
        included = read_source(path)
    except InputError as error:
        raise fail(f"cannot include {path}: {error.faults[0].message}") from None
    _read(included, os.path.dirname(path), parsed, (*around, real))


class _StatementReader(WeightParser):
    """Reads statement by statement."""

    n_definite = 0  # formulas written Head :- Body

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        super().__init__(source, tokens)
        self.sizes: dict[str, str] = {}  # types written person = 5, with what they are read as

    def named_number(self) -> None:
        """`$n = 3`, which weights may use."""
        name, number = self.tokens[self.at + 1].text, self.tokens[self.at + 3]
        self.at += 3
        try:
            found = value_at(self.source.text, number.start, self.dialect.numbers)
        except WeightError as error:
            raise self.fail(str(error), number) from None
        if found is None:
            raise self.fail(f"found {shortened(number.text)}, expected a number", number)
        while self.tokens[self.at].start < found[1]:
            self.at += 1
        self.end_of_line()
        self.dialect.numbers[name] = found[0]

    def column_of_numbers(self) -> FormulaStatement:
        """`conf: !Conf(x, conf) v P(x)` of RockIt: the numbers of a predicate, known from evidence, as weights."""
        first, colon = self.at, self.tokens[self.at + 1]
        column = self.take().text
        self.at += 1
        formula = self.formula()
        self.end_of_line()
        parts = without_column(formula, column, self.dialect.columns)
        if parts is None:
            hint = "weights that evidence gives are numbers of a predicate: Conf(thing): real, then 1 * Conf(x)  Smokes(x)"
            raise self.fail("found :", colon, hint)
        rule = Rule(parts[1], 1.0, factor=parts[0])
        return FormulaStatement(
            rule.formula, 1.0, show_rule(rule), self.source.place(self.tokens[first].start), self.last_line(), parts[0]
        )

    def statement(self) -> Statement:
        """The statement that begins at the cursor, up to the end of its last line."""
        self.open, self.depth, self.calls = [], 0, Calls()
        first = self.at
        token = self.tokens[first]
        self.refuse_nan(token)
        if token.kind == "*" and (starred := self.starred_declaration()) is not None:
            return starred
        if token.kind in (NAME, WORD, "v"):
            behind = self.tokens[first + 1].kind
            if token.kind == NAME and behind == ":" and self.dialect.columns:
                return self.column_of_numbers()
            if behind == "=" and self.tokens[first + 2].kind == "{":
                return self.type_declaration()
            if is_size(self.tokens, first):
                return self.type_of_size()
            if behind == "(" and token.text in ("P", "count"):
                line = self.source.line(self.source.line_of(token.start))
                for pattern, what, hint in CONSTRAINTS:
                    if pattern.match(line.strip()):
                        raise self.unsupported(what, token, hint)
            if token.text.lower() == "not" and behind in (NAME, WORD):
                raise self.fail("found not", token, "write !")
            if token.kind == NAME and token.text != "inf" and behind in (NAME, WORD) and self.tokens[first + 2].kind == "(":
                return self.function_declaration()
            lone = None if token.text[0].isdigit() or token.text == "inf" else self.lone_atom()
            if lone:
                return lone
            self.at = first
        weight = self.weight()
        factor = self.factor()
        formula = self.formula()
        if self.tokens[self.at].kind == ":-":
            formula = self.definite(formula)
        if self.tokens[self.at].kind == ".":
            if weight is not None:
                raise self.fail("a weight and a final period together", hint="a period makes a formula hard; drop one of the two")
            self.at += 1
            weight = math.inf
        if factor is not None and weight is not None and math.isinf(weight):
            raise self.fail("a hard formula has no weight that a number could multiply", token, "give it a finite weight")
        self.end_of_line()
        if self.at - first > MAX_DEPTH and tree_depth(formula) > MAX_DEPTH:
            raise self.fail(f"formula is nested deeper than {MAX_DEPTH} levels", token)
        if self.at - first > 2 * MAX_ATOMS and (count := _count_atoms(formula)) > MAX_ATOMS:
            hint = "write a long disjunction as EXIST over constants of one type, or name a part of it by a predicate of its own"
            raise self.fail(f"formula of {count:,} atoms, at most {MAX_ATOMS:,} are allowed", token, hint)
        names_values = bool(self.calls.scopes[0].of)
        formula = self.calls.around(formula, weight)
        text = self.text_from(first)
        if "\n" in text or "//" in text or "/*" in text:  # messages want one line, and the formula alone
            text = show_rule(Rule(formula, weight, factor=factor))
        place, called = self.source.place(token.start), tuple(self.calls.used)
        return FormulaStatement(formula, weight, text, place, self.last_line(), factor, called, names_values)

    def definite(self, head: Formula) -> Formula:
        """`Head :- Body` of LoMRF, as an implication; the cursor stands on the sign."""
        if not isinstance(head, Atom):
            raise self.fail(
                "found :- after a formula that is not an atom", hint="write Head(x) :- Body(x), or Body(x) => Head(x)"
            )
        self.connective()
        self.n_definite += 1
        return Implies(self.formula(), head)

    def factor(self) -> Atom | None:
        """`* Similar(x, y)` before a formula; None where the star belongs to the formula itself, or there is none."""
        if self.tokens[self.at].kind != "*" or self.tokens[self.at + 1].kind not in (WORD, NAME):
            return None
        first = self.at
        self.at += 1
        atom = self.atom()
        if isinstance(atom, Atom) and self.tokens[self.at].kind in (WORD, NAME, "!", "(", "*"):
            return atom
        self.at = first
        return None

    def last_line(self) -> int:
        """The line on which what was read ends."""
        return self.source.line_of(self.tokens[self.at - 1].start)

    def text_from(self, first: int) -> str:
        """Source between a token and the cursor."""
        return self.source.text[self.tokens[first].start : self.tokens[self.at - 1].end].strip()

    def end_of_line(self) -> None:
        """Nothing may follow on the line."""
        token = self.tokens[self.at]
        if token.kind not in (NEWLINE, BLANK, END):
            if token.kind == ",":
                raise self.fail("found ,", token, "write ^ between formulas that both hold")
            if token.kind == "." or token.kind == "!":
                raise self.fail(f"found {token.text}, expected the end of the line", token)
            raise self.unexpected("a connective or the end of the line")

    def lone_atom(self) -> LoneAtom | None:
        """`Friends(person, person)`, `PageClass(page, class!)` or `Flag` alone on its lines; None if it is anything else."""
        first = self.at
        name = self.take()
        args: list[Token] = []
        marks: list[bool] = []
        at_most_one: list[bool] = []
        if name.kind == "v":
            return None
        if self.tokens[self.at].kind == "(":
            self.open.append(self.at)
            self.at += 1
            while True:
                token = self.take()
                if token.kind == ")" and not args:
                    break
                if (token.kind not in (NAME, "v") or token.text[0] == "?") and not (
                    token.kind == WORD and self.dialect.capital_types
                ):
                    self.open = []
                    return None
                args.append(token)
                marks.append(self.peek().text == "!")
                at_most_one.append(self.peek().kind == "?")
                self.at += marks[-1] or at_most_one[-1]
                separator = self.take().kind
                if separator == ")":
                    break
                if separator != ",":
                    self.open = []
                    return None
            self.open = []
        is_real = self.tokens[self.at].kind == ":" and self.tokens[self.at + 1].kind in (NAME, WORD)
        if is_real:
            if self.tokens[self.at + 1].text != "real":
                raise self.fail("expected real after the colon, as in Similar(rec, rec): real", self.tokens[self.at + 1])
            self.at += 2
        if self.tokens[self.at].kind not in (NEWLINE, BLANK, END):
            return None
        if is_real and any((*marks, *at_most_one)):
            raise self.fail(f"{name.text} has numbers, so no argument of it can be exclusive", name)
        end, self.at = self.at, first
        self.predicate_name()
        self.at = end
        names = tuple(token.text.lower() if token.kind == WORD else token.text for token in args)
        if len(names) > 1 and names[-1] == NUMBER_COLUMN:
            self.dialect.columns.add(name.text)
            names, is_real = names[:-1], True
            del marks[-1], at_most_one[-1]
        text = f"{name.text}({', '.join(names)})" if names else name.text
        place, once = self.source.place(name.start), tuple(at_most_one)
        return LoneAtom(
            name.text, names, tuple(marks), text, place, self.last_line(), is_real, at_most_one=once, marked=self.dialect.marked
        )

    def function_declaration(self) -> LoneAtom:
        """`person MotherOf(person)`: a predicate with one more argument, the value, which is exclusive."""
        value = self.take()
        lone = self.lone_atom()
        if lone is None:
            raise self.fail("found a malformed function, expected a declaration such as person MotherOf(person)", value)
        marks = (*(False for _ in lone.args), True)
        return replace(lone, args=(*lone.args, value.text), exclusive=marks, text=f"{value.text} {lone.text}")

    def type_of_size(self) -> TypeDeclaration:
        """`person = 5` of WFOMC: the constants 1 to 5."""
        name, size = self.take(), self.tokens[self.at + 1]
        self.at += 2
        if not 1 <= int(size.text[:9]) <= MAX_RANGE or len(size.text) > 9:
            raise self.fail(f"{shortened(size.text)} as the size of a type, which is 1 to {MAX_RANGE:,}", size)
        note = f"{name.text} = {size.text} is read as {name.text.lower()} = {{1, ..., {size.text}}}"
        self.sizes.setdefault(name.text.lower(), note)
        return TypeDeclaration(name.text.lower(), tuple(map(str, range(1, int(size.text) + 1))), self.source.place(name.start))

    def starred_declaration(self) -> LoneAtom | None:
        """`*Friends(person, person)` alone on its line, as Tuffy and RockIt mark predicates that are closed."""
        first = self.at
        self.at += 1
        if self.tokens[self.at].kind in (NAME, WORD) and (lone := self.lone_atom()) is not None:
            return replace(lone, star=not lone.is_real)
        self.at = first
        return None

    def type_declaration(self) -> TypeDeclaration:
        """`person = {Ann, Bob}`, `age = {1, ..., 9}`."""
        name = self.take()
        if name.kind == WORD and not self.dialect.capital_types:
            raise self.fail(f"type {name.text} begins upper case", name, "types are written in lower case")
        self.at += 1
        brace = self.at
        self.open.append(brace)
        self.at += 1
        constants: list[str] = []
        while self.peek().kind != "}":
            if self.peek().kind == "...":
                constants += self.integers_up_to(constants)
            else:
                constants.append(self.listed_constant(brace))
            if self.peek().kind != ",":
                break
            self.at += 1
        if self.peek().kind != "}":
            raise self.bad_list(brace)
        self.open = []
        self.at += 1
        if not constants:
            raise self.fail(f"type {name.text} has no constants", name, "list at least one, or leave the declaration out")
        self.end_of_line()
        named = name.text.lower() if name.kind == WORD else name.text
        return TypeDeclaration(named, tuple(dict.fromkeys(constants)), self.source.place(name.start))

    def listed_constant(self, brace: int) -> str:
        """A constant inside braces."""
        token = self.peek()
        if self.dialect.marks_variables and token.kind in (NAME, "v") and token.text[0] != "?":
            self.at += 1
            return token.text
        if token.kind == NAME or token.kind == "v":
            hint = f'write "{token.text}" in double quotes, or begin it upper case'
            raise self.fail(f"{token.text} is lower case, so it is not a constant", token, hint)
        if token.kind not in (WORD, STRING):
            raise self.bad_list(brace)
        self.at += 1
        return token.text if token.kind == WORD else unquote(token.text)

    def bad_list(self, brace: int) -> SyntaxFault:
        """What is wrong inside braces."""
        token = self.peek()
        if token.kind == END or self.starts_line():
            return SyntaxFault(self.source.fault("brace is never closed", self.tokens[brace].start, hint="close it by }"), brace)
        if token.kind == NUMBER or token.kind == "-":
            return self.number_as_constant(token)
        return self.unexpected("a constant, a comma or }")

    def integers_up_to(self, before: list[str]) -> list[str]:
        """The rest of `first, ..., last`; the cursor stands on the three points."""
        dots = self.take()
        comma, last = self.peek(), self.after()
        if not before or not _INTEGER.match(before[-1]) or comma.kind != "," or not _INTEGER.match(last.text):
            raise self.fail("... stands between two integers, as in {1, ..., 9}", dots)
        self.take()
        self.take()
        if max(len(before[-1]), len(last.text)) > 18:
            raise self.fail(f"{last.text} is too large for a range", last)
        start, stop = int(before[-1]), int(last.text)
        if stop < start:
            raise self.fail(f"the range {start}, ..., {stop} is empty", dots)
        if stop - start >= MAX_RANGE:
            raise self.fail(f"the range {start}, ..., {stop} has more than {MAX_RANGE:,} constants", dots)
        return [str(number) for number in range(start + 1, stop + 1)]

    def resume(self, first: int, failed: int) -> None:
        """Go to the next blank line, or line that starts a new formula, after a statement that could not be read."""
        self.open = []
        at = max(first + 1, failed)
        while self.tokens[at].kind not in (NEWLINE, BLANK, END):
            at += 1
        while True:
            kind = self.tokens[at].kind
            if kind in (END, BLANK):
                break
            if kind == NEWLINE and self.begins_formula(at):
                break
            at += 1
        self.at = at

    def begins_formula(self, newline: int) -> bool:
        """Whether the line behind a line end starts something new: neither it nor the line before it needs the other."""
        token = self.tokens[newline + 1]
        if token.kind in (NEWLINE, BLANK, END, INCLUDE, NUMBER):
            return True
        if token.kind in ("-", "+") or (token.kind == WORD and token.text[0].isdigit()):
            return True
        before = self.tokens[newline - 1].kind
        if before in CONNECTIVES or before in (",", "(", "{", "!", "=", "!="):
            return False
        return token.kind not in CONNECTIVES and token.kind not in (")", "}", ",", "=", "!=", ".", "...")


def _count_atoms(formula: Formula) -> int:
    """Atoms and equalities of a formula, found without recursion."""
    count, stack = 0, [formula]
    while stack:
        match stack.pop():
            case Not(body=body) | Exists(body=body) | Forall(body=body):
                stack.append(body)
            case And(parts=parts) | Or(parts=parts):
                stack.extend(parts)
            case Implies(left=left, right=right) | Iff(left=left, right=right):
                stack += [left, right]
            case _:
                count += 1
    return count
