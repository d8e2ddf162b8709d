"""Atoms that are independent given the rest are summed out of blocks before anything is scaled (papers.md 2.5).

Where every clause with an atom P(a, b) mentions a and b alone, the sum over P(a, b) of what those clauses weigh is a function of
the other atoms about a and b: log(e^−A(v) + e^−B(v)), with A(v) what is lost where P(a, b) is false and the others are as v says,
and B(v) where it is true. A pair of groups then loses that, averaged over what is known of its pairs, for every v; and the chance
of P(a, b) is the mean of 1/(1 + e^(B − A)) over v. To count how many atoms of a block are true instead would draw all of them
from the average of what pairs see, which is far off wherever a few pairs see much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from markovlogic.compression.block_rows import Atoms, Rows, SummedRows
from markovlogic.language.syntax import Constant, Term, Variable
from markovlogic.language.templates import ClauseTemplate
from markovlogic.problem import Problem
from markovlogic.system.arrays import Float64

MOST_BESIDE = 5  # other atoms about the objects of one that is summed out


@dataclass(frozen=True)
class Independent:
    """A predicate whose open atoms are independent given the rest, and the clauses that hold it, about its own arguments."""

    predicate: str
    places: tuple[Variable, ...]
    clauses: tuple[tuple[bool, Atoms, float], ...]  # sign of its literal, the other literals, weight


def independent(problem: Problem, templates: Sequence[ClauseTemplate]) -> list[Independent]:
    """The predicates that can be summed out, none of which stands beside another in a clause."""
    found: list[Independent] = []
    beside: set[str] = set()
    for name, statuses in problem.statuses.items():
        own = [template for template in templates if any(x.predicate == name for x in template.literals)]
        arity = len(statuses.sizes)
        if not own or not statuses.n_open or not arity or any(problem.model.predicates[name].exclusive):
            continue
        clauses = [_about(problem, template, name) for template in own]
        made = [clause for clause in clauses if clause is not None]
        others = {predicate for _, atoms, _ in made for predicate, _, _ in atoms}
        distinct = {atom[:2] for _, atoms, _ in made for atom in atoms}
        if len(made) < len(clauses) or len(distinct) > MOST_BESIDE or name in beside or others & {x.predicate for x in found}:
            continue
        if not any(problem.statuses[other].n_open for other in others):
            continue  # nothing is won: it is binomial given what is known
        beside |= others
        found.append(Independent(name, tuple(Variable(f"#{at}") for at in range(arity)), tuple(made)))
    return found


def _about(problem: Problem, template: ClauseTemplate, name: str) -> tuple[bool, Atoms, float] | None:
    """A clause in terms of the arguments of its one literal of a predicate; None where it mentions others too."""
    held = [x for x in template.literals if x.predicate == name]
    names = [term.name for term in held[0].args if isinstance(term, Variable)]
    whole = len(names) == len(held[0].args) == len(set(names)) and set(names) == {variable for variable, _ in template.variables}
    if len(held) > 1 or not whole or template.equalities or template.number is not None:
        return None
    place = {variable: Variable(f"#{at}") for at, variable in enumerate(names)}

    def put(term: Term) -> Term:
        return place[term.name] if isinstance(term, Variable) else Constant(term.name)

    others = [(x.predicate, tuple(map(put, x.args)), x.positive) for x in template.literals if x.predicate != name]
    idle = prod(len(problem.domains[of]) for _, of in template.idle)
    return held[0].positive, tuple(others), template.weight * idle


def add_summed(rows: Rows, own: Independent, *, reported: bool) -> list[SummedRows]:
    """Rows in the place of the clauses with the predicate; reported: also the rows that give the chances of its atoms."""
    atoms: Atoms = [*(atom for _, others, _ in own.clauses for atom in others), (own.predicate, own.places, True)]
    of = rows.types_of(atoms)
    terms = list(of)
    found: list[SummedRows] = []
    for place in rows.patterns(terms, of, [args for _, args, _ in atoms], ()):
        axes = rows.axes(terms, of, place)
        if axes is None:
            continue
        edges = rows.edges(of, atoms, (), place)
        distinct: dict[tuple[str, tuple[int, ...]], tuple[str, tuple[Term, ...]]] = {}
        for predicate, args, _ in atoms[:-1]:
            distinct.setdefault((predicate, tuple(place[term] for term in args)), (predicate, args))
        at = {key: number for number, key in enumerate(distinct)}
        # for each clause that can be false the sign of the predicate's own literal, and what makes the others false
        clauses: list[tuple[bool, dict[int, bool], float]] = []
        for positive, others, weight in own.clauses:
            false: dict[int, bool] = {}
            for predicate, args, sign in others:
                number = at[predicate, tuple(place[term] for term in args)]
                if false.setdefault(number, not sign) != (not sign):
                    break  # an atom and its negation met
            else:
                clauses.append((positive, false, weight))
        if reported and any(rows.mixed(*atom, place) for atom in distinct.values()):
            rows.exact = False  # beside what is known an atom has another chance than beside what is open, and a block shows one
        grid = rows.grid(axes)
        true, open_ = rows.shares(own.predicate, own.places, place, grid)
        carried = rows.mixed(own.predicate, own.places, place)
        first: tuple[Float64, float] | None = None
        for value in product((False, True), repeat=len(distinct)):
            lost = [0.0, 0.0]  # where the atom is false, and where it is true
            for positive, false, weight in clauses:
                if all(value[number] == needed for number, needed in false.items()):
                    lost[not positive] += weight
            loss = true * lost[1] + (1.0 - true - open_) * lost[0] - open_ * np.logaddexp(-lost[0], -lost[1])
            chance = float(1.0 / (1.0 + np.exp(np.clip(lost[1] - lost[0], -700.0, 700.0))))
            cube = tuple((*atom, not holds) for atom, holds in zip(distinct.values(), value, strict=True))
            if first is None:  # the products of all cubes add up to one: what the first loses, all lose
                first = loss, chance
                if reported:
                    found.append(rows.summed_rows((own.predicate, own.places), chance, (), place, axes, edges))
                rows.add_rows(np.zeros(1), cube, place, axes, edges, carried=carried)  # they decide `rows.exact`
                continue
            rows.add_rows(loss - first[0], cube, place, axes, edges, carried=carried)
            if reported and chance != first[1]:
                found.append(rows.summed_rows((own.predicate, own.places), chance - first[1], cube, place, axes, edges))
    return found
