"""Probabilistic theorem proving as an engine: a plan with its cost, or a refusal; then log Z, marginals and draws."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from markovlogic.data.evidence import UNKNOWN, codes, decode
from markovlogic.errors import InputError
from markovlogic.language.templates import LoweredModel
from markovlogic.methods.lifted.answer import Refusal
from markovlogic.methods.lifted.proving.compiling import Compiler, Proof, Stuck
from markovlogic.methods.lifted.proving.nodes import Child
from markovlogic.methods.lifted.proving.rules import GROUNDING_FIRST, RULES
from markovlogic.methods.lifted.proving.rules.rule import Rule
from markovlogic.methods.lifted.proving.shattering import Part, Shattered, shatter
from markovlogic.methods.lifted.proving.statements import PlainLiteral, ProofInput, Slice, Statement, statements
from markovlogic.methods.lifted.proving.theory import Sorts, find_sorts
from markovlogic.methods.lifted.proving.world_draws import Binding, Copies, Pen
from markovlogic.problem import Problem
from markovlogic.problem.statuses import Statuses
from markovlogic.system.arrays import Bool, Float64, Int64

MOST_STATEMENTS = 2000  # after slicing
_TRIED = 2  # sorts, those in most literals first


def slicings(given: ProofInput) -> Iterator[ProofInput]:
    """Inputs with one sort replaced by its constants. The sort in most literals comes first."""
    sorts = find_sorts(given)
    literals = [0] * len(sorts.types)
    for statement in given.statements:
        for literal in statement.literals:
            for sort in {sorts.of_place[literal.predicate, at] for at in range(len(literal.args))}:
                literals[sort] += 1
    able = [sort for sort in range(len(sorts.types)) if _can_be_sliced(given, sorts, sort)]
    for sort in sorted(able, key=lambda s: -literals[s])[:_TRIED]:
        yield _sliced(given, sorts, sort)


def _can_be_sliced(given: ProofInput, sorts: Sorts, sort: int) -> bool:
    """Whether no constant of the sort is named, no predicate or statement has it twice, and it is small enough."""
    places = [predicate for (predicate, _), own in sorts.of_place.items() if own == sort]
    counts = [own.count(sort) for own in sorts.of_variable]
    return (
        len(places) == len(set(places))
        and max(counts) == 1
        and not sorts.named[sort]
        and sum(counts) * given.sizes[sorts.types[sort]] + len(counts) <= MOST_STATEMENTS
    )


def _sliced(given: ProofInput, sorts: Sorts, sort: int) -> ProofInput:
    """The input with one predicate for each constant of the sort, in place of an argument."""
    n = given.sizes[sorts.types[sort]]
    place_of = {predicate: at for (predicate, at), own in sorts.of_place.items() if own == sort}
    types, statuses, slices = dict(given.types), dict(given.statuses), {}
    for predicate, place in place_of.items():
        own = given.types[predicate]
        for constant in range(n):
            name = _name(predicate, constant)
            types[name] = own[:place] + own[place + 1 :]
            slices[name] = Slice(predicate, place, constant)
        if predicate in given.statuses:
            statuses.update(_slices(given.statuses[predicate], place))
    statements: list[Statement] = []
    for statement, variable_sorts in zip(given.statements, sorts.of_variable, strict=True):
        if sort in variable_sorts:
            variable = variable_sorts.index(sort)
            statements += [_instance(statement, variable, constant, place_of) for constant in range(n)]
        else:
            statements.append(statement)
    hidden = given.hidden | {name for name, one in slices.items() if one.predicate in given.hidden}
    return replace(given, statements=tuple(statements), types=types, hidden=hidden, statuses=statuses, slices=slices)


def _name(predicate: str, constant: int) -> str:
    return f"{predicate}@{constant}"


def _slices(statuses: Statuses, place: int) -> dict[str, Statuses]:
    """The exceptions of each slice, in the order of their codes."""
    args = decode(statuses.code, statuses.sizes)
    sizes = statuses.sizes[:place] + statuses.sizes[place + 1 :]
    order = np.argsort(args[:, place], kind="stable")
    bounds = np.searchsorted(args[order, place], np.arange(statuses.sizes[place] + 1))
    rest = np.delete(args, place, axis=1)
    found = {}
    for constant in range(statuses.sizes[place]):
        rows = order[bounds[constant] : bounds[constant + 1]]
        name = _name(statuses.predicate, constant)
        found[name] = Statuses(name, sizes, statuses.default, codes(rest[rows], sizes), statuses.status[rows])
    return found


def _instance(statement: Statement, variable: int, constant: int, place_of: dict[str, int]) -> Statement:
    """The statement with one variable replaced by a constant. The predicates' names then contain the constant."""

    def left(arg: int) -> int:
        return arg - (arg > variable)

    literals = []
    for predicate, args, positive in statement.literals:
        if predicate in place_of:
            args = args[: place_of[predicate]] + args[place_of[predicate] + 1 :]
            predicate = _name(predicate, constant)
        literals.append(PlainLiteral(predicate, tuple(map(left, args)), positive))
    return replace(
        statement,
        literals=tuple(literals),
        unequal=tuple([(left(one), left(other)) for one, other in statement.unequal]),
        types=statement.types[:variable] + statement.types[variable + 1 :],
        names=statement.names[:variable] + statement.names[variable + 1 :],
    )


_STEP_SECONDS, _CALL_SECONDS = 0.12e-6, 1.2e-4  # measured on one core of a small machine
_WORTH_ANOTHER_TRY = 1000  # clauses
_NUMBER_BYTES, _LEAST_BYTES = 8, 4 << 20
_ENTRIES_DRAWN = 1 << 22  # atoms that are drawn together


def plan_proof(problem: Problem, lowered: LoweredModel, rules: Sequence[Sequence[Rule]] = RULES) -> ProofWork | Refusal:
    """Plan how the rules solve a problem, in about a second; or return the reason why they cannot."""
    given = statements(problem, lowered)
    if isinstance(given, Refusal):
        return given
    shattered = shatter(problem, given)
    if isinstance(shattered, Refusal):
        tried = (shatter(problem, sliced) for sliced in slicings(given))
        shattered = next((one for one in tried if isinstance(one, Shattered)), shattered)
    if isinstance(shattered, Refusal):
        return shattered
    reduction, found = Compiler(rules).plan(shattered.draft, shattered.blocks.sizes)
    if isinstance(found, Stuck) and len(shattered.draft.clauses) < _WORTH_ANOTHER_TRY:
        again = Compiler(GROUNDING_FIRST).plan(shattered.draft, shattered.blocks.sizes)
        if isinstance(again[1], Proof):
            reduction, found = again
    if isinstance(found, Stuck):
        return Refusal(_why(problem, shattered, found))
    return ProofWork(problem, shattered, Child(reduction, found.node), found)


def _why(problem: Problem, shattered: Shattered, stuck: Stuck) -> str:
    """A message with the formulas and variables that no rule can solve."""
    obstacles: dict[str, None] = {}
    for at in sorted(stuck.clauses):
        statement = shattered.given.statements[at]
        if statement.rule < 0:
            obstacles["the exclusive arguments"] = None
        elif len(statement.literals) > 1 or len(stuck.clauses) == 1:
            rule = problem.model.rules[statement.rule].text
            obstacles[f"{rule} (variables {', '.join(statement.names)})" if statement.names else rule] = None
    where = "; ".join(list(obstacles)[:3]) + ("; …" if len(obstacles) > 3 else "")
    if stuck.gave_up:
        return f"no plan of lifted rules was found within the effort that planning may take: {where}"
    return (
        "no lifted rule leads on: no variable stands in all atoms, no predicate is left with one argument,"
        f" and the rest is too wide to be eliminated: {where}"
    )


@dataclass(frozen=True, eq=False)
class ProofWork:
    """A plan made by the rules."""

    problem: Problem
    shattered: Shattered
    root: Child
    proof: Proof

    @property
    def seconds(self) -> float:
        """Predicted, as if all lanes of all nodes were solved in turn. Equal lanes are solved once, so it may be less."""
        return _CALL_SECONDS * self.proof.calls + _STEP_SECONDS * self.proof.work

    @property
    def memory_bytes(self) -> int:
        """Predicted; lanes are evaluated in bounded numbers."""
        return _LEAST_BYTES + int(_NUMBER_BYTES * self.proof.numbers)

    @property
    def reason(self) -> str:
        """A text for the user."""
        return f"lifted rules: {', '.join(sorted(self.proof.rules - {'settled'})) or 'no atom depends on another'}"

    @property
    def can_draw(self) -> bool:
        """Always true: no term of the sums is negative."""
        return True

    def solve(self) -> ProofSolution:
        """Evaluate the plan; raises InputError when no world is possible."""
        size, weight = self.numbers()
        found = self.root.outcome(size, weight)
        if math.isinf(found.log_z[0]):
            raise InputError(
                "no world satisfies the hard formulas together with the evidence",
                hint="a formula that ends with a full stop, or an exclusive argument, contradicts another one or a fact",
            )
        log_z = float(found.log_z[0]) + self.shattered.given.constant + self.shattered.log_constant
        rounding = 4 * float(np.finfo(np.float64).eps) * abs(float(found.log_z[0]))
        return ProofSolution(self, log_z, rounding, found.count[0])

    def numbers(self) -> tuple[Int64, Float64]:
        """Sizes and weights of the one lane."""
        size = np.array([self.shattered.blocks.sizes], np.int64).reshape(1, len(self.shattered.blocks.sizes))
        return size, np.array([[statement.weight for statement in self.shattered.given.statements]])


@dataclass(frozen=True, eq=False)
class ProofSolution:
    """Log Z, marginals and draws."""

    work: ProofWork
    log_z: float
    rounding: float  # of marginals: relative to the logarithms of sums, the last of which is log Z
    count: Float64  # (parts,) expected number of true atoms

    @cached_property
    def _share(self) -> dict[str, dict[tuple[int, ...], float]]:
        """P(atom) by predicate and part."""
        shattered = self.work.shattered
        found: dict[str, dict[tuple[int, ...], float]] = {}
        for part, at in shattered.parts.items():
            share = min(max(float(self.count[at]) / shattered.blocks.choices(part.relation), 0.0), 1.0)
            found.setdefault(part.predicate, {})[(*part.blocks, *part.first)] = share
        return found

    def marginal(self, predicate: str, code: Int64) -> Float64:
        """P(atom) for atoms of one predicate, given by their codes; known ones are 0 or 1."""
        statuses = self.work.problem.statuses[predicate]
        status = statuses.lookup(code)
        result = np.where(status == UNKNOWN, 0.5, status.astype(np.float64))
        rows = np.flatnonzero(status == UNKNOWN)
        args = decode(code[rows], statuses.sizes).astype(np.int64)
        if predicate in self._share:
            result[rows] = self._of_parts(predicate, args)
        for name, one in self.work.shattered.given.slices.items():
            if one.predicate == predicate and name in self._share:
                own = np.flatnonzero(args[:, one.place] == one.constant)
                result[rows[own]] = self._of_parts(name, np.delete(args[own], one.place, axis=1))
        return result

    def _of_parts(self, name: str, args: Int64) -> Float64:
        """P(atom) of open atoms of a predicate or a slice: one half for those that no clause mentions."""
        if not len(args):
            return np.zeros(0)
        rows = self.work.shattered.part_rows(name, args)
        one_number = np.zeros(len(rows), np.int64)  # of each row: columns are joined one by one, so that no radix is too large
        first = np.zeros(1, np.int64)
        for column in rows.T:
            joined = one_number * (int(column.max()) + 1) + column
            _, first, one_number = np.unique(joined, return_index=True, return_inverse=True)
        return np.array([self._share[name].get(tuple(row), 0.5) for row in rows[first].tolist()])[one_number]

    def draw(self, count: int, seed: int) -> Bool:
        """Independent exact draws: (count, open atoms)."""
        work, problem = self.work, self.work.problem
        random = np.random.default_rng(seed)
        worlds = np.empty((count, len(problem.atoms)), bool)
        size, weight = work.numbers()
        step = max(1, _ENTRIES_DRAWN // max(1, len(problem.atoms)))
        for begin in range(0, count, step):
            some = worlds[begin : begin + step]
            some[:] = random.random(some.shape) < 0.5  # atoms that no clause mentions keep this
            rows = np.arange(len(some))
            blocks = tuple([np.broadcast_to(one, (len(some), len(one))) for one in work.shattered.blocks.members])
            bindings = tuple([self._binding(part, len(some)) for part in work.shattered.parts])
            work.root.draw(size, weight, Copies(rows, blocks, bindings), Pen(problem, some, random))
        return worlds

    def _binding(self, part: Part, copies: int) -> Binding:
        given = self.work.shattered.given
        if part.predicate in given.hidden:
            return Binding(None, part.slots)
        one = given.slices.get(part.predicate)
        if one is None:
            return Binding(part.predicate, part.slots)
        slots: list[int | Int64] = list(part.slots)
        slots.insert(one.place, np.full(copies, one.constant, np.int64))
        return Binding(one.predicate, tuple(slots))
