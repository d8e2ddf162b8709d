"""Close the statuses of a problem under its hard rules, before anything is grounded.

For a hard clause and one of its literals, the substitutions in which every *other* literal is known to be false decide the
literal's atom. That is a join of known-false relations, projected on the literal's arguments:

    decided(l) = π_vars(l) ( ⋈ over other literals m of known-false(m) )

Where the others are known to be false but for exceptions, and the clause has no variable beside the literal's own, the atoms that
are *not* decided are fewer: those of the exceptions. Then these are listed, and all others become false at once; that is what
rules that block pairs come to. The rounds are semi-naive: after the first, one of the other literals ranges over what became
known in the round before.

What is found is implied by evidence and hard rules; that all that is implied by single clauses is found is promised only where
`Decided.complete`. Effort and room are bounded by predicted rows, never by time, so that the outcome is always the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isinf, prod

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, n_values
from markovlogic.errors import InputError
from markovlogic.grounding.backends import Engine
from markovlogic.grounding.hard_rules.known import falsified, falsified_at, falsifying, is_ever_falsified
from markovlogic.grounding.hard_rules.settled import Clash, Decided, Decider, Settled
from markovlogic.grounding.plan import Pattern, Plan, plan
from markovlogic.grounding.predict import rows_bound
from markovlogic.grounding.relations import Relation
from markovlogic.grounding.surviving import is_small, surviving
from markovlogic.language.syntax import Constant, Variable
from markovlogic.language.templates import ClauseTemplate, EqualityLiteral, Literal, LoweredModel
from markovlogic.problem import Problem, with_statuses
from markovlogic.system import cancellation
from markovlogic.system.arrays import Int64, each_once

MOST_EFFORT = 200_000_000  # rows that all joins together may go through
MOST_LISTED = 20_000_000  # atoms of one predicate that are listed as known
_BYTES_LISTED = 100  # an atom, with what it takes to sort it in
_QUERY = 50_000  # rows that would take as long as a query that finds nothing
_GRID = 10_000  # the same of a grid of arrays


def decide(problem: Problem, lowered: LoweredModel, database: Engine, *, memory_limit: int | None = None) -> Decided:
    """The problem in which all that hard rules and exclusive arguments were found to decide is known.

    memory_limit: bytes, where somebody set a limit; fewer atoms are listed then. Raises InputError where hard rules contradict
    each other or the evidence.
    """
    hidden = {definition.predicate for definition in lowered.definitions}
    hard = [
        template
        for template in lowered.templates
        if isinf(template.weight) and not any(literal.predicate in hidden for literal in template.literals)
        # without constants an idle variable leaves no grounding
        if all(len(problem.domains[type_name]) for _, type_name in template.idle)
    ]
    clauses: list[ClauseTemplate] = []
    if hard:
        from markovlogic.grounding.hard_rules.factors import factors

        clauses = [clause for template in hard for clause in (template, *factors(template))]
    clauses.sort(key=lambda clause: len(clause.variables) > 2)  # joins come after what closes a predicate by default
    settled = Settled(problem)
    most = MOST_LISTED if memory_limit is None else min(MOST_LISTED, memory_limit // _BYTES_LISTED)
    work = _Propagation(problem, clauses, settled, database, most)
    try:
        settled.close_all_groups()
        work.first_round()
        while fresh := settled.taken_fresh():
            work.round(fresh)
    except Clash as clash:
        from markovlogic.grounding.hard_rules.contradictions import contradiction

        raise InputError(contradiction(clash, settled, hard, database)) from None
    finally:
        work.forget_tables()
    if not settled.counts:
        return Decided(problem, 0, {}, work.complete)
    made = with_statuses(problem, settled.statuses)
    return Decided(made, len(problem.atoms) - len(made.atoms), settled.counts, work.complete)


@dataclass(frozen=True, eq=False)
class _Join:
    """A pattern over relations of its own, and the target literal's arguments, whose codes are wanted."""

    pattern: Pattern
    relations: dict[str, Relation]
    target: Literal


class _Propagation:
    """The rounds."""

    def __init__(
        self, problem: Problem, clauses: list[ClauseTemplate], settled: Settled, database: Engine, most_listed: int
    ) -> None:
        self._problem, self._clauses, self._settled, self._database = problem, clauses, settled, database
        self._most_listed = most_listed
        self._types = {name: predicate.types for name, predicate in problem.model.predicates.items()}
        self._views: dict[tuple[str, bool | None], tuple[int, Relation]] = {}  # by predicate and sign; None: exceptions
        self._n_tables = 0
        self._left = MOST_EFFORT
        self.complete = True

    def first_round(self) -> None:
        """Every clause with each of its literals as target."""
        for clause, target in self._targets():
            self._whole(clause, target)

    def round(self, fresh: dict[tuple[str, int], Int64 | None]) -> None:
        """The clauses in which something became known."""
        deltas: dict[tuple[str, bool], Relation] = {}
        for clause, target in self._targets():
            touched = [
                (at, literal)
                for at, literal in enumerate(clause.literals)
                if at != target and (literal.predicate, falsifying(literal.positive)) in fresh
            ]
            if any(fresh[literal.predicate, falsifying(literal.positive)] is None for _, literal in touched):
                self._whole(clause, target)
                continue
            for at, literal in touched:
                key = (literal.predicate, literal.positive)
                code = fresh[literal.predicate, falsifying(literal.positive)]
                assert code is not None
                if key not in deltas:
                    statuses = self._settled.statuses[literal.predicate]
                    types = self._types[literal.predicate]
                    deltas[key] = falsified_at(self._table(), statuses, types, code, positive=literal.positive)
                self._listed(clause, target, self._others(clause, target, {at: deltas[key]}))
        self._database.drop([relation.table for relation in deltas.values()])

    def forget_tables(self) -> None:
        """Take what was joined out of the database."""
        self._database.drop([view.table for _, view in self._views.values()])
        self._views.clear()

    def _targets(self) -> Iterator[tuple[ClauseTemplate, int]]:
        """Clauses and their literals that could be decided: open atoms, and no other literal that nothing falsifies."""
        opened = {name for name, statuses in self._problem.statuses.items() if statuses.n_open}
        for clause in self._clauses:
            if self._left <= 0:
                self.complete = False
                return
            cancellation.check()
            statuses = self._settled.statuses
            never = [
                at
                for at, literal in enumerate(clause.literals)
                if not is_ever_falsified(statuses[literal.predicate], positive=literal.positive)
            ]
            if len(never) < 2:
                for at in never or range(len(clause.literals)):
                    if clause.literals[at].predicate in opened:
                        yield clause, at

    def _whole(self, clause: ClauseTemplate, target: int) -> None:
        """Decide by all that is known: list what is decided, or what is not, whichever is less."""
        rest = self._undecided(clause, target)
        join = self._others(clause, target, {})
        if rest is not None:
            plans = [(one, plan(one.pattern, one.relations, self._problem.domains)) for one in rest]
            rows = sum(rows_bound(found) for _, found in plans)
            ground = self._settled.statuses[join.target.predicate].n_ground
            if 2 * rows < ground and self._affords(join.target, rows, rows):
                parts = [self._codes(one, found) for one, found in plans]
                left = each_once(np.concatenate([np.empty(0, np.int64), *parts]))
                self._settled.settle_all_but(join.target.predicate, left, Decider(clause.rule))
                return
        self._listed(clause, target, join)

    def _listed(self, clause: ClauseTemplate, target: int, join: _Join) -> None:
        """List the atoms that the target's other literals decide, and make them known."""
        join = self._among_exceptions(join, positive=clause.literals[target].positive)
        found = plan(join.pattern, join.relations, self._problem.domains)
        if found.nothing_left:
            self._left -= _GRID // 10
            return
        statuses = self._settled.statuses[join.target.predicate]
        rows = rows_bound(found)
        listed = min(rows, prod(size for name, size in self._own(clause, join.target)))
        if self._affords(join.target, rows, min(listed, statuses.n_open), small=is_small(found)):
            code = each_once(self._codes(join, found))
            value = TRUE if clause.literals[target].positive else FALSE
            self._settled.settle(join.target.predicate, code, value, Decider(clause.rule))

    def _among_exceptions(self, join: _Join, *, positive: bool) -> _Join:
        """Of a predicate that is false by default, only what is listed can still become false, or clash."""
        name = join.target.predicate
        statuses = self._settled.statuses[name]
        if positive or statuses.default != FALSE:
            return join
        key, version = (name, None), self._settled.version[name]
        known = self._views.get(key)
        if known is None or known[0] != version:
            if known is not None:
                self._database.drop([known[1].table])
            listed = falsified_at(self._table(), statuses, self._types[name], statuses.code, positive=False)
            self._views[key] = known = (version, listed)
        literal = Literal("target", join.target.args, positive=False)
        pattern = replace(join.pattern, literals=(*join.pattern.literals, literal))
        return replace(join, pattern=pattern, relations={**join.relations, "target": known[1]})

    def _own(self, clause: ClauseTemplate, target: Literal) -> list[tuple[str, int]]:
        """The target's variables, and how many constants each has."""
        names = {term.name for term in target.args if isinstance(term, Variable)}
        return [(name, len(self._problem.domains[type_name])) for name, type_name in clause.variables if name in names]

    def _affords(self, target: Literal, rows: int, listed: int, *, small: bool = False) -> bool:
        """Whether there is effort and room for a join; what it takes is taken."""
        statuses = self._settled.statuses[target.predicate]
        marks = self._problem.model.predicates[target.predicate].exclusive
        if any(marks):  # groups are closed at once, value by value
            listed = min(listed * n_values(statuses.sizes, marks), statuses.n_ground)
        cost = min(rows, _GRID) + _GRID if small else rows + _QUERY
        if cost > self._left or listed > self._most_listed:
            self.complete = False
            return False
        self._left -= cost + len(statuses.code)
        return True

    def _others(self, clause: ClauseTemplate, target: int, instead: dict[int, Relation]) -> _Join:
        """The other literals, each over what is known; `instead`: relations that replace those of some."""
        literals, relations = [], {}
        for at, literal in enumerate(clause.literals):
            if at != target:
                name = f"{at}"
                relations[name] = instead.get(at) or self._view(literal)
                literals.append(Literal(name, literal.args, literal.positive))
        wanted = clause.literals[target]
        keep = tuple(dict.fromkeys(term.name for term in wanted.args if isinstance(term, Variable)))
        return _Join(Pattern(tuple(literals), clause.equalities, clause.variables, keep), relations, wanted)

    def _undecided(self, clause: ClauseTemplate, target: int) -> list[_Join] | None:
        """Joins whose results together are the target's atoms that the clause leaves; None where they cannot be listed so."""
        wanted = clause.literals[target]
        names = [term.name for term in wanted.args if isinstance(term, Variable)]
        covers = len(names) == len(wanted.args) == len(set(names)) and set(names).issuperset(n for n, _ in clause.variables)
        if wanted.positive or not covers or not all(equality.positive for equality in clause.equalities):
            return None
        joins = []
        for at, literal in enumerate(clause.literals):
            if at == target:
                continue
            view = self._view(literal)
            if view.statuses.default != falsifying(literal.positive):
                return None
            # turned round, the literal is unsatisfied just where it is not known to be false
            turned = Literal("0", literal.args, not literal.positive)
            joins.append(_Join(Pattern((turned,), (), clause.variables, tuple(names)), {"0": view}, wanted))
        for equality in clause.equalities:
            turned_equality = EqualityLiteral(equality.left, equality.right, positive=False)
            joins.append(_Join(Pattern((), (turned_equality,), clause.variables, tuple(names)), {}, wanted))
        return joins

    def _view(self, literal: Literal) -> Relation:
        """The predicate as such a literal sees it now."""
        key, version = (literal.predicate, literal.positive), self._settled.version[literal.predicate]
        known = self._views.get(key)
        if known is None or known[0] != version:
            if known is not None:
                self._database.drop([known[1].table])
            statuses, types = self._settled.statuses[literal.predicate], self._types[literal.predicate]
            self._views[key] = (version, falsified(self._table(), statuses, types, positive=literal.positive))
        return self._views[key][1]

    def _table(self) -> str:
        self._n_tables += 1
        return f"known_{self._n_tables}"

    def _codes(self, join: _Join, found: Plan) -> Int64:
        """Codes of the target's atoms in all substitutions that a join finds, with repeats."""
        statuses = self._settled.statuses[join.target.predicate]
        parts = [np.empty(0, np.int64)]
        for batch in surviving(self._database, join.pattern, found):
            cancellation.check()
            code = np.zeros(len(batch.rows), np.int64)
            types = self._types[join.target.predicate]
            for term, type_name, size in zip(join.target.args, types, statuses.sizes, strict=True):
                code *= size
                known = isinstance(term, Constant)
                code += self._problem.domains[type_name].number(term.name) if known else batch.kept[term.name]
            parts.append(code)
        return np.concatenate(parts)
