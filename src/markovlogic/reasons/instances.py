"""Ground instances of rules: the facts that stand behind a ground clause, and the chain that decided an atom."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from markovlogic.data.arrow import atom_names
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, codes, decode
from markovlogic.language.show import show_predicate
from markovlogic.language.syntax import Constant, Term, Variable
from markovlogic.language.templates import ClauseTemplate, Literal, LoweredModel
from markovlogic.problem import Problem, Statuses

MOST_STEPS = 20_000  # of a search for one instance
MOST_CHAIN = 50  # steps of a chain

GroundLiteral = tuple[str, int, bool]  # predicate, code, sign


@dataclass(frozen=True)
class Step:
    """One step of a chain: an atom, what decided it, and the known literals that were needed."""

    literal: str
    by: str  # "evidence", a rule's text, or an exclusive argument's declaration
    place: str
    needs: tuple[str, ...]


def show_literal(problem: Problem, literal: GroundLiteral) -> str:
    """`Friends(Ann,Bob)`, or with `!` where it is negative."""
    name, code, positive = literal
    types = problem.model.predicates[name].types
    own = tuple(problem.domains[type_name] for type_name in types)
    (text,) = atom_names(name, np.array([code], np.int64), tuple(map(len, own)), own).to_pylist()
    return text if positive else f"!{text}"


def open_literal(problem: Problem, literal: int) -> GroundLiteral:
    """Name and code of a literal of a ground network."""
    atom, index = literal >> 1, problem.atoms
    at = int(np.searchsorted(index.start, atom, side="right")) - 1
    name = index.predicates[at]
    code = problem.statuses[name].unrank(np.array([atom - int(index.start[at])], np.int64))
    return name, int(code[0]), bool(literal & 1)


def facts_behind(
    problem: Problem, statuses: Mapping[str, Statuses], lowered: LoweredModel, rule: int, clause: Sequence[GroundLiteral]
) -> tuple[str, ...] | None:
    """Known literals that, with the rule, leave just these literals open; None where no instance is found quickly."""
    for template in lowered.templates:
        if template.rule == rule:
            for used in _Search(problem, statuses, template).instances(clause):
                return tuple(show_literal(problem, (name, code, not positive)) for name, code, positive in used)
    return None


@dataclass
class _Search:
    """Substitutions of a template under which all literals but some given ones are known to be false."""

    problem: Problem
    statuses: Mapping[str, Statuses]
    template: ClauseTemplate
    steps: int = 0
    _decoded: dict[str, np.ndarray] = field(default_factory=dict)

    def instances(self, clause: Sequence[GroundLiteral]) -> Iterator[list[GroundLiteral]]:
        """The known literals of each instance whose other literals are `clause`; none where a quantified part is among them."""
        if all(literal.predicate in self.statuses for literal in self.template.literals):
            yield from self._assign(list(clause), list(self.template.literals), {}, set())

    def _assign(
        self, left: list[GroundLiteral], literals: list[Literal], bound: dict[str, int], used: set[int]
    ) -> Iterator[list[GroundLiteral]]:
        """First bind the literals that are given; several of the template may be the same ground literal."""
        if not left:
            rest = [one for at, one in enumerate(literals) if at not in used]
            yield from self._known(rest, bound, [])
            return
        name, code, positive = left[0]
        args = decode(np.array([code], np.int64), self.statuses[name].sizes)[0].tolist()
        for at, literal in enumerate(literals):
            if at in used or literal.predicate != name or literal.positive != positive:
                continue
            own = self._unified(literal, args, bound)
            if own is not None:
                yield from self._assign(left[1:], literals, own, used | {at})

    def _unified(self, literal: Literal, args: Sequence[int], bound: dict[str, int]) -> dict[str, int] | None:
        own = dict(bound)
        for position, (term, number) in enumerate(zip(literal.args, args, strict=True)):
            if isinstance(term, Variable):
                if own.setdefault(term.name, number) != number:
                    return None
            elif self._number(term, position, literal.predicate, own) != number:
                return None
        return own

    def _known(self, literals: list[Literal], bound: dict[str, int], found: list[GroundLiteral]) -> Iterator[list[GroundLiteral]]:
        self.steps += 1
        if self.steps > MOST_STEPS:
            return
        if not literals:
            if self._equalities_fail(bound):
                yield found
            return
        order = sorted(range(len(literals)), key=lambda at: self._effort(literals[at], bound))
        literal = literals[order[0]]
        rest = [literals[at] for at in order[1:]]
        for own, code in self._falsifying(literal, bound):
            yield from self._known(rest, own, [*found, (literal.predicate, code, literal.positive)])

    def _effort(self, literal: Literal, bound: dict[str, int]) -> float:
        statuses = self.statuses[literal.predicate]
        free = [at for at, term in enumerate(literal.args) if isinstance(term, Variable) and term.name not in bound]
        if not free:
            return 0.0
        product = math.prod(statuses.sizes[at] for at in free)
        return float(min(product, len(statuses.code)) if not literal.positive else product)

    def _falsifying(self, literal: Literal, bound: dict[str, int]) -> Iterator[tuple[dict[str, int], int]]:
        """Bindings under which a literal is known to be false."""
        statuses = self.statuses[literal.predicate]
        wanted = FALSE if literal.positive else TRUE
        numbers = [self._number(term, position, literal.predicate, bound) for position, term in enumerate(literal.args)]
        if None not in numbers:
            code = int(codes(np.array([numbers], np.int64).reshape(1, -1), statuses.sizes)[0])
            if int(statuses.lookup(np.array([code]))[0]) == wanted:
                yield bound, code
            return
        if statuses.default == wanted:
            sizes = [size if number is None else 1 for size, number in zip(statuses.sizes, numbers, strict=True)]
            for at in range(min(math.prod(sizes), MOST_STEPS)):
                place = np.unravel_index(at, sizes)
                args = [int(p) if number is None else number for p, number in zip(place, numbers, strict=True)]
                code = int(codes(np.array([args], np.int64), statuses.sizes)[0])
                own = self._unified(literal, args, bound)
                if own is not None and int(statuses.lookup(np.array([code]))[0]) == wanted:
                    yield own, code
            return
        listed = statuses.code[statuses.status == wanted]
        rows = self._decoded.setdefault(f"{literal.predicate} {wanted}", decode(listed, statuses.sizes))
        fits = np.ones(len(rows), bool)
        for position, number in enumerate(numbers):
            if number is not None:
                fits &= rows[:, position] == number
        for row in np.flatnonzero(fits).tolist():
            own = self._unified(literal, rows[row].tolist(), bound)
            if own is not None:
                yield own, int(listed[row])

    def _number(self, term: Term, position: int, predicate: str, bound: dict[str, int]) -> int | None:
        if isinstance(term, Constant):
            type_name = self.problem.model.predicates[predicate].types[position]
            return self.problem.domains[type_name].number_of.get(term.name)
        return bound.get(term.name)

    def _equalities_fail(self, bound: dict[str, int]) -> bool:
        types = dict(self.template.variables)
        for equal in self.template.equalities:
            sides: list[str | None] = []
            type_name = next(
                (types[t.name] for t in (equal.left, equal.right) if isinstance(t, Variable) and t.name in types), ""
            )
            for term in (equal.left, equal.right):
                if isinstance(term, Constant):
                    sides.append(term.name)
                else:
                    number = bound.get(term.name)
                    sides.append(None if number is None or not type_name else self.problem.domains[type_name].names[number])
            if None not in sides and (sides[0] == sides[1]) == equal.positive:
                return False  # the equality holds, so the clause is true
        return True


def chain_of(original: Problem, decided: Problem, lowered: LoweredModel, predicate: str, code: int) -> tuple[Step, ...]:
    """The steps that decided an atom, what comes first first; empty where no chain is found quickly."""
    steps: dict[GroundLiteral, Step] = {}
    finder = _Chain(original, decided, lowered, steps)
    return tuple(steps.values()) if finder.explain(predicate, code, ()) else ()


@dataclass
class _Chain:
    original: Problem
    decided: Problem
    lowered: LoweredModel
    steps: dict[GroundLiteral, Step]

    def explain(self, name: str, code: int, above: tuple[tuple[str, int], ...]) -> bool:
        """Add the steps that lead to an atom; whether there are any."""
        status = int(self.decided.statuses[name].lookup(np.array([code]))[0])
        if status == UNKNOWN or (name, code) in above or len(above) > MOST_CHAIN:
            return False
        literal = (name, code, status == TRUE)
        if literal in self.steps:
            return True
        text = show_literal(self.decided, literal)
        if int(self.original.statuses[name].lookup(np.array([code]))[0]) != UNKNOWN:
            listed = self.original.evidence.facts.get(name)
            sizes = self.original.statuses[name].sizes
            is_given = listed is not None and code in codes(listed.args, sizes)
            by = "evidence" if is_given else self._group(name, code) or "closed: what is missing is false"
            self.steps[literal] = Step(text, by, "", ())
            return True
        for needs, by, place in self._reasons(literal):
            before = dict(self.steps)
            if all(self.explain(other, at, (*above, (name, code))) for other, at, _ in needs):
                shown = tuple(show_literal(self.decided, (other, at, not positive)) for other, at, positive in needs)
                self.steps[literal] = Step(text, by, place, shown)
                return True
            self.steps.clear()
            self.steps.update(before)
        return False

    def _group(self, name: str, code: int) -> str:
        predicate = self.original.model.predicates[name]
        return f"another value is true: {show_predicate(predicate)}" if any(predicate.exclusive) else ""

    def _reasons(self, literal: GroundLiteral) -> Iterator[tuple[list[GroundLiteral], str, str]]:
        """Hard rules and exclusive arguments that give a literal, with the literals that are false there."""
        name, code, positive = literal
        model = self.decided.model
        for template in self.lowered.templates:
            if math.isinf(template.weight):
                search = _Search(self.decided, self.decided.statuses, template)
                for needs in search.instances([literal]):
                    rule = model.rules[template.rule]
                    yield needs, rule.text, str(rule.place)
        predicate = model.predicates[name]
        if any(predicate.exclusive):
            group = self._others(name, code)
            status = self.decided.statuses[name].lookup(group)
            if positive and (status == FALSE).all():
                yield [(name, int(at), True) for at in group], show_predicate(predicate), str(predicate.place)
            elif not positive and (status == TRUE).any():
                yield [(name, int(group[status == TRUE][0]), False)], show_predicate(predicate), str(predicate.place)

    def _others(self, name: str, code: int) -> np.ndarray:
        """The other values of an atom's group."""
        predicate, sizes = self.decided.model.predicates[name], self.decided.statuses[name].sizes
        args = decode(np.array([code], np.int64), sizes)[0].tolist()
        ranges = [range(size) if mark else [arg] for size, mark, arg in zip(sizes, predicate.exclusive, args, strict=True)]
        grid = np.array(np.meshgrid(*ranges, indexing="ij")).reshape(len(sizes), -1).T
        every = codes(grid, sizes)
        others: np.ndarray = every[every != code]
        return others
