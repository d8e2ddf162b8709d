"""What the evidence says of the groundings that each object is in: satisfied, falsified or still unknown ([000] section 5).

For an object, a clause and a variable of the object's type, the groundings with the object in that variable's place fall into
three kinds: those that a literal known to be true satisfies, those in which every literal is known to be false, and the rest.
Two conjunctive queries count them, "no literal is known to be true" and "every literal is known to be false", each a product of
arrays summed over all variables but one (`Contraction`); nothing is grounded (papers.md 3.10).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from markovlogic.compression.contraction import JOINS, Contraction, Operand
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Domains, decode
from markovlogic.language.syntax import Term, Variable
from markovlogic.language.templates import ClauseTemplate, EqualityLiteral, LoweredModel
from markovlogic.problem import Problem, Statuses
from markovlogic.system.arrays import Float64
from markovlogic.system.cancellation import check

FeatureKind = Literal["sat", "sat-fals-unk"]

SAME = 1e-9  # a column whose deviation is below is constant, but for rounding


@dataclass(frozen=True, eq=False)
class ObjectCounts:
    """Groundings of every clause by object: one column a clause and variable of the type."""

    satisfied: Float64  # (n_objects, n_columns)
    falsified: Float64
    unknown: Float64
    exact: bool  # False where a query was too wide, and pieces of it were counted in its place


def object_counts(problem: Problem, lowered: LoweredModel, type_name: str) -> ObjectCounts:
    """Counts of all clauses that have a variable of the type; hidden predicates are unknown."""
    n = len(problem.domains[type_name])
    columns: list[list[Float64]] = [[], [], []]
    exact = True
    shared = StatusArrays(problem)
    for template in lowered.templates:
        check()
        for name, of in (*template.variables, *template.idle):
            if of != type_name:
                continue
            own = shared.counted(template, name)
            for column, value in zip(columns, own[:3], strict=True):
                column.append(value)
            exact &= own[3]
    stacked = [np.stack(part, axis=1) if part else np.zeros((n, 0)) for part in columns]
    return ObjectCounts(stacked[0], stacked[1], stacked[2], exact)


@dataclass(frozen=True, eq=False)
class Features:
    """The objects of every type as points, and what users should know of how they were made."""

    points: dict[str, Float64]  # type -> (n_objects, n_features)
    notes: tuple[str, ...]


def features_of(problem: Problem, lowered: LoweredModel, kind: FeatureKind) -> Features:
    """Features of every type; with a note where some were too wide to be counted whole."""
    every = {of: object_counts(problem, lowered, of) for of in problem.domains}
    wide = [of for of, counts in every.items() if not counts.exact]
    note = f"features of {', '.join(wide)}: rules with cycles over many objects were counted in pieces of {JOINS} joined tables"
    return Features({of: _features(counts, kind) for of, counts in every.items()}, (note,) if wide else ())


def object_features(problem: Problem, lowered: LoweredModel, type_name: str, kind: FeatureKind = "sat-fals-unk") -> Float64:
    """(n_objects, n_features): log(1 + count), standardised; what is the same for all objects is left out.

    kind: "sat" has the satisfied groundings alone, as [000] counts them.
    """
    return _features(object_counts(problem, lowered, type_name), kind)


def _features(counts: ObjectCounts, kind: FeatureKind) -> Float64:
    parts = [counts.satisfied] if kind == "sat" else [counts.satisfied, counts.falsified, counts.unknown]
    return standardised(np.log1p(np.concatenate(parts, axis=1)))


def is_kept(problem: Problem, template: ClauseTemplate) -> bool:
    """Whether what is known makes every grounding of a clause true; False where that would be too wide to count."""
    statuses = [problem.statuses.get(literal.predicate) for literal in template.literals]
    if not template.variables or any(own is None or own.n_open for own in statuses):
        return False
    _, falsified, unknown, exact = StatusArrays(problem).counted(template, template.variables[0][0])
    return exact and not falsified.any() and not unknown.any()


def standardised(columns: Float64) -> Float64:
    """Columns of mean 0 and deviation 1; constant ones are left out, equal ones are one that is longer by their number's root."""
    if not len(columns) or not columns.shape[1]:
        return np.zeros((len(columns), 0))
    spread = columns.std(axis=0)
    varies = spread > SAME * np.maximum(1.0, np.abs(columns).max(axis=0))
    if not varies.any():
        return np.zeros((len(columns), 0))
    scaled = (columns[:, varies] - columns[:, varies].mean(axis=0)) / spread[varies]
    rounded = np.round(scaled, 9) + 0.0  # distances are the same when columns that agree are added up first
    _, first, count = np.unique(rounded, axis=1, return_index=True, return_counts=True)
    order = np.argsort(first)
    return np.asarray(scaled[:, first[order]] * np.sqrt(count[order]), np.float64)


class StatusArrays:
    """Arrays of one problem's statuses, made once."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._made: dict[tuple[str, int, bool], Operand] = {}
        self._applied: dict[tuple[str, int, bool, tuple[Term, ...]], Operand] = {}  # rules like to name variables alike
        self._contraction = Contraction()

    def counted(self, template: ClauseTemplate, name: str) -> tuple[Float64, Float64, Float64, bool]:
        """Satisfied, falsified and unknown groundings for each object in the place of a variable, and whether they are exact."""
        domains = self._problem.domains
        sizes = {variable: len(domains[of]) for variable, of in (*template.variables, *template.idle)}
        every = float(np.prod([size for variable, size in sizes.items() if variable != name]))
        open_, exact = self._query(template, name, sizes, keeps_unknown=True)
        falsified, also = self._query(template, name, sizes, keeps_unknown=False)
        satisfied, unknown = every - open_, open_ - falsified
        clean = [np.maximum(np.rint(part) if exact and also else part, 0.0) for part in (satisfied, falsified, unknown)]
        return clean[0], clean[1], clean[2], exact and also

    def _query(self, template: ClauseTemplate, name: str, sizes: dict[str, int], *, keeps_unknown: bool) -> tuple[Float64, bool]:
        """How many groundings leave every literal false, unknown ones counted with them or not."""
        return self._contraction.counts(self.operands(template, (keeps_unknown, keeps_unknown)), name, sizes)

    def operands(self, template: ClauseTemplate, keeps_unknown: tuple[bool, bool]) -> list[Operand]:
        """An array for each literal, 1 where it is false; keeps_unknown: or unknown, of negative ones and of positive ones."""
        operands = []
        types = dict((*template.variables, *template.idle))
        for literal in template.literals:
            keeps = keeps_unknown[literal.positive]
            if literal.predicate not in self._problem.statuses:  # hidden: never known
                operands.append(Operand.constant(float(keeps)))
                continue
            satisfying = TRUE if literal.positive else FALSE
            key = (literal.predicate, satisfying, keeps, literal.args)
            if key not in self._applied:
                kept = self._status(literal.predicate, satisfying, keeps_unknown=keeps)
                self._applied[key] = _applied(kept, literal.args, self._problem, literal.predicate)
            operands.append(self._applied[key])
        return operands + [_equality(equality, types, self._problem.domains) for equality in template.equalities]

    def _status(self, predicate: str, satisfying: int, *, keeps_unknown: bool) -> Operand:
        """1 where an atom's status does not make the literal true, and (unless unknown ones are kept) makes it false."""
        key = (predicate, satisfying, keeps_unknown)
        if key not in self._made:
            statuses = self._problem.statuses[predicate]
            kept = {FALSE + TRUE - satisfying} | ({UNKNOWN} if keeps_unknown else set())
            self._made[key] = _operand(statuses, kept)
        return self._made[key]


def _operand(statuses: Statuses, kept: set[int]) -> Operand:
    """The indicator of some statuses over all ground atoms: a constant and exceptions."""
    base = float(statuses.default in kept)
    value = np.isin(statuses.status, sorted(kept)).astype(np.float64) - base
    changed = value != 0
    args = decode(statuses.code[changed], statuses.sizes)
    return Operand.of(tuple(f"#{at}" for at in range(len(statuses.sizes))), statuses.sizes, base, args, value[changed])


def _applied(whole: Operand, args: tuple[Term, ...], problem: Problem, predicate: str) -> Operand:
    """The same with terms in its places: constants chosen, a repeated variable on the diagonal."""
    if not whole.variables:
        return whole
    types = problem.model.predicates[predicate].types
    names: list[str] = []
    keep = np.ones(len(whole.value), np.bool_)
    columns: list[npt.NDArray[np.int32]] = []
    sizes: list[int] = []
    for at, (term, of) in enumerate(zip(args, types, strict=True)):
        column = whole.index[:, at]
        if not isinstance(term, Variable):
            keep &= column == problem.domains[of].number(term.name)
        elif term.name in names:
            keep &= column == columns[names.index(term.name)]
        else:
            names.append(term.name)
            columns.append(column)
            sizes.append(len(problem.domains[of]))
    index = np.stack(columns, axis=1)[keep] if columns else np.zeros((int(keep.sum()), 0), np.int32)
    return Operand.of(tuple(names), tuple(sizes), whole.base, index, whole.value[keep])


def _equality(equality: EqualityLiteral, types: dict[str, str], domains: Domains) -> Operand:
    """1 where the literal is false."""
    sides = (equality.left, equality.right)
    of = next(types[side.name] for side in sides if isinstance(side, Variable))
    size = len(domains[of])
    base, value = (1.0, -1.0) if equality.positive else (0.0, 1.0)
    names = [side.name for side in sides if isinstance(side, Variable)]
    if len(names) == 2:
        index = np.repeat(np.arange(size, dtype=np.int32)[:, None], 2, axis=1)
        return Operand.of(tuple(names), (size, size), base, index, np.full(size, value))
    number = next(domains[of].number(side.name) for side in sides if not isinstance(side, Variable))
    return Operand.of((names[0],), (size,), base, np.array([[number]], np.int32), np.array([value]))
