"""Symmetries of an approximate model, as proposals: those that the true model lacks for some evidence and weights ([004]).

The approximation may leave out weights of single atoms (the field of an Ising model), rules about chosen predicates, and all but
a few Boolean factors of binary evidence. Its open atoms are those of the true model, so its symmetries permute them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.errors import InputError, nearest
from markovlogic.language.syntax import atoms_of
from markovlogic.problem import Problem, Statuses, with_statuses
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.symmetry.automorphisms import NetworkGroup, network_automorphisms
from markovlogic.symmetry.find import DEFAULT_BUDGET, FEW_ATOMS
from markovlogic.symmetry.refinement import Factor, FactorGroup
from markovlogic.system.arrays import Int32, each_once, frozen

if TYPE_CHECKING:
    from markovlogic.networks.ground import GroundNetwork
    from markovlogic.symmetry.base import AtomGroup


@dataclass(frozen=True)
class Approximation:
    """What is left out of the model whose symmetries propose.

    fields: keep the weights of single atoms. rank: Boolean factors of each binary predicate's evidence, None: all of it.
    without: predicates whose rules are left out. signed: symmetries may exchange an atom's values.
    """

    fields: bool = False
    rank: int | None = None
    without: tuple[str, ...] = ()
    signed: bool = True

    @property
    def words(self) -> str:
        """For notes and results."""
        left = [] if self.fields else ["weights of single atoms"]
        left += [f"rules about {', '.join(self.without)}"] if self.without else []
        left += [f"evidence beyond {self.rank} Boolean factors"] if self.rank is not None else []
        return f"the model without {' and '.join(left)}" if left else "the model itself"


@dataclass(frozen=True, eq=False)
class Proposer:
    """A group of signed permutations of the open atoms, and where it comes from."""

    group: AtomGroup = field(repr=False)
    source: str

    def __repr__(self) -> str:
        """Its orbits distinguish it: a run does not go on with another one."""
        return f"<{self.source}: {self.group.orbits().words}>"

    @property
    def words(self) -> str:
        """One sentence for the user."""
        size = self.group.orbits().size
        moved = int(size[size > 1].sum())
        halves = int(np.count_nonzero(self.group.is_half)) if isinstance(self.group, NetworkGroup) else 0
        also = f", {halves:,} exchange their values" if halves else ""
        cut = "".join(f"; {note}" for note in self.notes)
        return (
            f"symmetries of {self.source}: {moved:,} of {self.group.n_atoms:,} atoms change places{also}; "
            f"they only propose, the target is the original model{cut}"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Why symmetries may be missing; none where all were found."""
        return self.group.notes if isinstance(self.group, NetworkGroup) else ()


def approximate_symmetries(
    problem: Problem, network: GroundNetwork, approximation: Approximation, *, budget_seconds: float = DEFAULT_BUDGET
) -> Proposer:
    """All symmetries that a search of some seconds finds in the ground network of the approximation."""
    if network.n_atoms > FEW_ATOMS:
        raise InputError(
            f"LiftedMH(propose='group'): {network.n_atoms:,} open atoms are too many for a search; at most {FEW_ATOMS:,}",
            hint="take propose=exchange, or give a group from Python",
        )
    approximate = network
    if approximation.rank is not None or approximation.without:
        from markovlogic.grounding.ground import ground

        prepared = PreparedProblem(_approximate_problem(problem, approximation))
        approximate = ground(prepared.problem, prepared.lowered)
    if not approximation.fields:
        bias = np.where(np.isfinite(approximate.atom_bias), 0.0, approximate.atom_bias)
        approximate = frozen(replace(approximate, atom_bias=bias))
    found = network_automorphisms(approximate, signed=approximation.signed, budget_seconds=budget_seconds)
    return Proposer(found, approximation.words)


def signed_group(network: GroundNetwork, generators: Sequence[Int32]) -> NetworkGroup:
    """The group that signed permutations of the open atoms generate, each an array of images: 2b + 1 where an atom's value
    becomes that of b, 2b where b becomes its negation.
    """
    n = network.n_atoms
    literals: list[Int32] = []
    for image in generators:
        if image.shape != (n,) or not np.array_equal(np.sort(image >> 1), np.arange(n)):
            raise InputError(f"a generator is not a signed permutation of the {n} open atoms")
        both = np.arange(2 * network.n_all, dtype=np.int32)
        both[1 : 2 * n : 2], both[0 : 2 * n : 2] = image, image ^ 1
        literals.append(both)
    points = np.arange(2 * network.n_all, dtype=np.int32)[None]
    group = FactorGroup(2 * network.n_all, [Factor(points, tuple(literals))] if literals else [])
    return NetworkGroup(network, group, signed=True)


def _approximate_problem(problem: Problem, approximation: Approximation) -> Problem:
    """Other evidence and fewer rules; what is open is the same."""
    declared = problem.model.declared
    for name in approximation.without:
        if name not in declared:
            hint = nearest(name, declared) or f"known are {', '.join(declared)}"
            raise InputError(f"LiftedMH: there is no predicate {name} to leave out", hint=hint)
    if approximation.rank is not None:
        from markovlogic.compression.evidence_factors import BMF, factorise_evidence

        statuses = dict(problem.statuses)
        for name, factors in factorise_evidence(problem, BMF(approximation.rank)).items():
            product = factors.true.product()
            statuses[name] = _with_true(statuses[name], product.row * max(statuses[name].sizes[1], 1) + product.column)
        problem = with_statuses(problem, statuses)
    if approximation.without:
        names = set(approximation.without)
        model = problem.model
        rules = tuple(rule for rule in model.rules if names.isdisjoint(atom.predicate for atom in atoms_of(rule.formula)))
        problem = replace(problem, model=replace(model, rules=rules))
    return problem


def _with_true(statuses: Statuses, code: np.ndarray) -> Statuses:
    """The same atoms known, of which these are true and all others false."""
    code = each_once(code)
    true = code[statuses.lookup(code) != UNKNOWN]
    if statuses.default == UNKNOWN:
        known = statuses.code
        status = np.where(np.isin(known, true, assume_unique=True), TRUE, FALSE)
        return replace(statuses, status=frozen(status.astype(np.int8)))
    unknown = statuses.code[statuses.status == UNKNOWN]
    listed = np.concatenate([true, unknown])
    status = np.repeat(np.array([TRUE, UNKNOWN], np.int8), [len(true), len(unknown)])
    order = np.argsort(listed, kind="stable")
    return replace(statuses, code=frozen(listed[order]), status=frozen(status[order]))
