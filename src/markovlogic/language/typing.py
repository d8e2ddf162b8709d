"""From statements to a model: declarations, a type for every variable and constant, bound variables renamed apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from markovlogic.errors import Fault, InputError, Place, UnsupportedError, capped, nearest
from markovlogic.language.integers import (
    NOT_SUPPORTED,
    NotAnIntegerError,
    built_in,
    in_words,
    is_built_in,
    is_named_like_alchemy,
    named_like_alchemy,
    with_atoms,
    with_types,
)
from markovlogic.language.parser import FormulaStatement, LoneAtom, Parsed, Statement, TypeDeclaration
from markovlogic.language.renaming import Renamer
from markovlogic.language.show import show_rule
from markovlogic.language.syntax import (
    KNOWN,
    And,
    Atom,
    Constant,
    Equal,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Model,
    Not,
    Or,
    Predicate,
    Rule,
    Variable,
    atoms_of,
    known_name,
    known_of,
)
from markovlogic.language.tokens import shortened


def expand_stars(rule: Rule, n_stars: int, written: Formula) -> Iterator[Rule]:
    """One rule for each choice of signs of the atoms with a star; its text has the names of the source."""
    if not n_stars:
        yield rule
        return
    for signs in itertools.product((True, False), repeat=n_stars):
        text = show_rule(replace(rule, formula=_with_signs(written, iter(signs))))
        yield replace(rule, formula=_with_signs(rule.formula, iter(signs)), text=text)


def _with_signs(formula: Formula, signs: Iterator[bool]) -> Formula:
    match formula:
        case Atom():
            if not formula.star:
                return formula
            plain = replace(formula, star=False)
            return plain if next(signs) else Not(plain)
        case Not() | Exists() | Forall():
            return replace(formula, body=_with_signs(formula.body, signs))
        case And() | Or():
            return replace(formula, parts=tuple([_with_signs(part, signs) for part in formula.parts]))
        case Implies() | Iff():
            left = _with_signs(formula.left, signs)
            return replace(formula, left=left, right=_with_signs(formula.right, signs))
    return formula


MAX_STARS = 10
MAX_ARITY = 100
MAX_ADVICE = 50  # undeclared names for which the nearest known one is looked up, which is slow


def build_model(parsed: Parsed, source: str) -> Model:
    """Check and type all statements; raises one error with every fault, those of the parser included."""
    checker = _Checker(parsed)
    checker.declare()
    rules = [rule for statement in checker.formulas for rule in checker.rules(statement)]
    checker.raise_faults()
    constants = {name: tuple(listed) for name, listed in checker.constants.items()}
    listed = {name: tuple(statement.constants) for name, statement in checker.declared.items()}
    notes, declared = tuple(parsed.notes), frozenset(listed)
    return Model(checker.predicates, tuple(rules), constants, declared, source, listed, notes, parsed.marks_variables)


@dataclass
class _Typing:
    """What is known about the variables of one rule: classes of variables that equality joins, and the type of each class."""

    parent: dict[str, str] = field(default_factory=dict)
    type_of: dict[str, tuple[str, Place]] = field(default_factory=dict)  # of a class, with the place that gave it

    def root(self, name: str) -> str:
        parent = self.parent.setdefault(name, name)
        while parent != name:
            name, parent = parent, self.parent[parent]
        return name

    def find(self, name: str) -> tuple[str, Place] | None:
        return self.type_of.get(self.root(name))


class _Checker:
    """Collects declarations and faults while the statements are gone through."""

    def __init__(self, parsed: Parsed) -> None:
        self.parsed = parsed
        self.statements: list[Statement] = parsed.statements
        self.predicates: dict[str, Predicate] = {}
        self.constants: dict[str, dict[str, None]] = {}
        self.declared: dict[str, TypeDeclaration] = {}
        self.formulas: list[FormulaStatement] = []
        self.faults: list[Fault] = list(parsed.faults)
        self.n_unsupported = parsed.n_unsupported
        self.written: dict[str, str] = {}  # of variables that were renamed in the present rule, the names in the source
        self.called: set[str] = set()  # functions of the present rule
        self.lone = False  # whether the present rule is an atom without a weight, perhaps meant as a declaration
        self.advice: dict[str, str] = {}  # nearest known name of each undeclared one

    # ---- faults

    def fault(self, message: str, place: Place, hint: str = "", unsupported: bool = False) -> None:
        source = self.parsed.sources.get(place.file)
        text = source.line(place.line) if source and place.line else ""
        self.faults.append(Fault(message, place, text, hint))
        self.n_unsupported += unsupported

    def raise_faults(self) -> None:
        if not self.faults:
            return
        order = {name: number for number, name in enumerate(self.parsed.sources)}
        no_place = Place("")

        def key(fault: Fault) -> tuple[int, int, int]:
            place = fault.place or no_place
            return order.get(place.file, 0), place.line, place.column

        unique = sorted(dict.fromkeys(self.faults), key=key)
        raise (UnsupportedError if self.n_unsupported == len(self.faults) else InputError)(capped(unique))

    # ---- declarations

    def declare(self) -> None:
        """Collect declarations from the whole file, so that it does not matter where they stand."""
        for statement in self.statements:
            match statement:
                case TypeDeclaration():
                    self.declare_type(statement)
                case LoneAtom():
                    self.declare_or_keep(statement)
                case FormulaStatement():
                    self.formulas.append(statement)

    def declare_type(self, statement: TypeDeclaration) -> None:
        known = self.declared.setdefault(statement.name, statement)
        if set(known.constants) != set(statement.constants):
            self.fault(f"type {statement.name} is declared again with other constants; first at {known.place}", statement.place)
            return
        self.constants.setdefault(statement.name, {}).update(dict.fromkeys(statement.constants))

    def declare_or_keep(self, atom: LoneAtom) -> None:
        """A lone atom declares its predicate the first time; the same again repeats that; anything else is a formula."""
        known = self.predicates.get(atom.name)
        if known is None:
            if len(atom.args) > MAX_ARITY:
                self.fault(
                    f"{shortened(atom.name)} has {len(atom.args):,} arguments, at most {MAX_ARITY} are allowed", atom.place
                )
            self.predicates[atom.name] = Predicate(
                atom.name, atom.args, atom.exclusive, atom.place, is_real=atom.is_real, closed=atom.star
            )
            for name in atom.args:
                self.constants.setdefault(name, {})
            if (once := atom.at_most_one_rule) is not None:
                self.formulas.append(once)
        elif atom.is_real or known.is_real:
            if (atom.args, atom.is_real) != (known.types, known.is_real):
                self.fault(f"{atom.name} is declared twice, differently; first at {known.place}", atom.place)
        elif any(atom.at_most_one):
            if atom.args != known.types:
                self.fault(f"{atom.name} is declared twice, differently; first at {known.place}", atom.place)
        elif any(atom.exclusive) or (atom.args == known.types and any(known.exclusive)):
            if (atom.args, atom.exclusive) != (known.types, known.exclusive):
                self.fault(
                    f"{atom.name} is declared twice, differently; first as {_signature(known)} at {known.place}", atom.place
                )
        elif atom.args != known.types or (atom.star and not known.closed):
            self.formulas.append(FormulaStatement(atom.formula, None, atom.text, atom.place, atom.last_line))

    # ---- rules

    def rules(self, statement: FormulaStatement) -> Iterator[Rule]:
        """The rule that a statement gives: several where atoms have a star, none where something is wrong."""
        n_faults = len(self.faults)
        free: dict[str, None] = {}
        bound: list[str] = []
        # a number's arguments are free variables of the rule like any others
        whole = statement.formula if statement.factor is None else And((statement.factor, statement.formula))
        whole = with_atoms(whole, self.read_as_built_in)
        renamer = Renamer(whole)
        formula = renamer.rename(whole, {}, free, bound)
        self.lone = statement.weight is None and isinstance(statement.formula, Atom)
        typing = _Typing()
        equalities: list[Equal] = []
        self.written, self.called = renamer.original, {call.predicate for call in statement.called}
        self.check_functions(statement)
        self.type_atoms(formula, typing, equalities)
        factor: Atom | None = None
        if statement.factor is not None:
            assert isinstance(formula, And) and isinstance(formula.parts[0], Atom)
            factor, formula = formula.parts[0], formula.parts[1]
        self.check_numbers(formula, factor)
        self.type_equalities(equalities, typing)
        types: dict[str, str] = {}
        for name in (*free, *bound):
            known = typing.find(name)
            if known:
                types[name] = known[0]
            elif n_faults == len(self.faults):  # faults above may be why nothing is known
                where = next((e.place for e in equalities if Variable(name) in (e.left, e.right)), statement.place)
                self.fault(
                    f"the type of variable {self.as_written(name)} is unknown", where, "use it in an atom of a declared predicate"
                )
        for name in sorted(renamer.plus_bound):
            self.fault(f"+{name}: only a free variable can have one weight for every constant", statement.place)
        n_stars = sum(atom.star for atom in atoms_of(formula))
        if n_stars > MAX_STARS:
            self.fault(f"{n_stars} atoms with * stand for 2^{n_stars} formulas; at most {MAX_STARS} are allowed", statement.place)
        if n_faults == len(self.faults):
            formula = with_types(formula, types)
            for name in dict.fromkeys(atom.predicate for atom in atoms_of(formula) if is_built_in(atom.predicate)):
                self.predicates.setdefault(name, built_in(name))
            rule = Rule(
                formula,
                statement.weight,
                tuple(free),
                tuple(types.items()),
                statement.text,
                statement.place,
                statement.last_line,
                factor,
                statement.names_values,
            )
            yield from expand_stars(rule, n_stars, statement.formula)

    def read_as_built_in(self, atom: Atom) -> Formula:
        """What `greaterThan(s, t)` and its relatives, and `Known(Flag)`, say where no file declares them."""
        if atom.predicate == KNOWN and KNOWN not in self.predicates and len(atom.args) == 1:
            flag = self.predicates.get(atom.args[0].name)
            if flag is not None and not flag.arity:
                return Atom(known_name(flag.name), (), atom.star, atom.place)
        if atom.predicate in self.predicates or not is_named_like_alchemy(atom.predicate):
            return atom
        try:
            return named_like_alchemy(atom) or atom
        except NotAnIntegerError as error:
            self.fault(f"{error} is not an integer, so it can be neither compared nor added to", atom.place)
            return atom

    def check_functions(self, statement: FormulaStatement) -> None:
        """What is used as a function has one value: its last argument is exclusive, and no other."""
        for call in statement.called:
            predicate = self.predicates.get(call.predicate)
            if predicate is not None and [at for at, mark in enumerate(predicate.exclusive) if mark] != [len(call.args) - 1]:
                hint = f"a function is declared as in person {predicate.name}(person)"
                self.fault(f"{predicate.name} is not a function; it is declared as {_signature(predicate)}", call.place, hint)

    def check_numbers(self, formula: Formula, factor: Atom | None) -> None:
        """Predicates with numbers multiply weights, and stand nowhere else."""
        for atom in atoms_of(formula):
            known = self.predicates.get(atom.predicate)
            if known is not None and known.is_real:
                hint = f"its number can multiply a weight: 1.5 * {atom.predicate}(…)  formula"
                self.fault(f"{atom.predicate} has numbers, and is neither true nor false", atom.place, hint)
        if factor is not None:
            known = self.predicates.get(factor.predicate)
            if known is not None and not known.is_real:
                hint = f"declare it as {_signature(known)}: real"
                self.fault(f"{factor.predicate} has no numbers that could multiply a weight", factor.place, hint)
            if any(isinstance(term, Variable) and term.plus for term in factor.args):
                self.fault("+ stands before a variable of the formula, not of the number", factor.place)

    def as_written(self, variable: str) -> str:
        """The name that a variable of the present rule has in its source."""
        return in_words(self.written.get(variable, variable))

    def type_atoms(self, formula: Formula, typing: _Typing, equalities: list[Equal]) -> None:
        """Give the arguments of atoms the types of their predicates; collect equalities."""
        stack = [formula]
        while stack:
            node = stack.pop()
            match node:
                case Atom() if is_built_in(node.predicate):
                    if len(node.args) == 2:  # both sides of a relation have one type, as those of an equality
                        equalities.append(Equal(node.args[0], node.args[1], node.place))
                case Atom():
                    self.declare_known(node)
                    self.type_atom(node, typing)
                case Equal():
                    equalities.append(node)
                case Not(body=body) | Exists(body=body) | Forall(body=body):
                    stack.append(body)
                case And(parts=parts) | Or(parts=parts):
                    stack.extend(reversed(parts))
                case Implies(left=left, right=right) | Iff(left=left, right=right):
                    stack += [right, left]

    def declare_known(self, atom: Atom) -> None:
        """`Known(P(x))` is an atom of a closed predicate with P's arguments."""
        declared = self.predicates.get(known_of(atom.predicate) or "")
        if declared is not None:
            own = Predicate(
                atom.predicate, declared.types, (False,) * declared.arity, declared.place, declared.is_real, closed=True
            )
            self.predicates.setdefault(atom.predicate, own)

    def type_atom(self, atom: Atom, typing: _Typing) -> None:
        predicate = self.predicates.get(atom.predicate)
        if predicate is None:
            self.undeclared(atom)
            return
        if len(atom.args) != predicate.arity:
            expected = f"{predicate.arity} argument{'s' * (predicate.arity != 1)}"
            self.fault(
                f"{atom.predicate} takes {expected}, found {len(atom.args)}; declared as {_signature(predicate)}", atom.place
            )
            return
        for term, type_name in zip(atom.args, predicate.types, strict=True):
            if isinstance(term, Constant):
                self.constants[type_name].setdefault(term.name)
            else:
                self.give_type(term.name, type_name, atom.place, typing)

    def give_type(self, variable: str, type_name: str, place: Place, typing: _Typing) -> None:
        known = typing.find(variable)
        if known is None:
            typing.type_of[typing.root(variable)] = (type_name, place)
        elif known[0] != type_name:
            self.fault(
                f"variable {self.as_written(variable)} is of type {type_name} here, but of type {known[0]} at "
                f"{known[1].line}:{known[1].column}",
                place,
            )  # fmt: skip

    def undeclared(self, atom: Atom) -> None:
        name = known_of(atom.predicate) or atom.predicate
        if name in NOT_SUPPORTED:
            self.fault(f"built-in {name}: not supported", atom.place, unsupported=True)
        elif is_named_like_alchemy(name):
            self.fault(f"built-in {name} with these arguments", atom.place, f"write {name}(s, t), or s < t and its relatives")
        else:
            if name not in self.advice:
                names = [one for one in self.predicates if known_of(one) is None]
                self.advice[name] = nearest(name, names) if len(self.advice) < MAX_ADVICE else ""
            what, hint = "function" if name in self.called else "predicate", self.advice[name]
            if not hint and 0 < len(atom.args) < 10:
                things = ["thing"] * (len(atom.args) - (what == "function"))
                declared = f"{shortened(name)}({', '.join(things)})"
                hint = f"declare it by a line such as {'thing ' * (what == 'function')}{declared}"
            if self.lone and not self.advice[name] and atom.args and all(isinstance(arg, Constant) for arg in atom.args):
                types = ", ".join(arg.name.lower() for arg in atom.args)
                hint = f"a declaration has its types in lower case: {shortened(name)}({types})"
            self.fault(f"undeclared {what} {shortened(name)}", atom.place, hint)

    def type_equalities(self, equalities: list[Equal], typing: _Typing) -> None:
        """Both sides of an equality have one type: variables join their classes, constants take the type of the other side."""
        for equal in equalities:
            if isinstance(equal.left, Variable) and isinstance(equal.right, Variable):
                left, right = typing.root(equal.left.name), typing.root(equal.right.name)
                if left == right:
                    continue
                one, other = typing.type_of.get(left), typing.type_of.get(right)
                if one and other and one[0] != other[0]:
                    self.fault(
                        f"{self.as_written(equal.left.name)} is of type {one[0]} and {self.as_written(equal.right.name)} of type "
                        f"{other[0]}; they are never equal",
                        equal.place,
                    )
                    continue
                typing.parent[right] = left
                if other:
                    typing.type_of[left] = other
        for equal in equalities:
            for side, constant in ((equal.left, equal.right), (equal.right, equal.left)):
                if isinstance(side, Variable) and isinstance(constant, Constant) and (known := typing.find(side.name)):
                    self.constants[known[0]].setdefault(constant.name)


def _signature(predicate: Predicate) -> str:
    args = [name + "!" * mark for name, mark in zip(predicate.types, predicate.exclusive, strict=True)]
    return f"{predicate.name}({', '.join(args)})" if args else predicate.name
