"""Renamings of constants that preserve the evidence, beyond exchanges of two: reflections of a cycle, copies of a family.

The structure of constants and known tuples is searched (refinement, then individualisation inside BLISS), and every generator is
checked against the statuses themselves. No ground network is formed; only the evidence is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from markovlogic.data.evidence import codes
from markovlogic.networks.connected import connected_parts
from markovlogic.problem import Problem
from markovlogic.symmetry.base import ConstantClasses, OrbitPartition
from markovlogic.symmetry.bliss import ColouredGraph
from markovlogic.symmetry.factors import Factor, FactorGroup
from markovlogic.symmetry.groups import OpenAtoms
from markovlogic.symmetry.orbits import orbits_by_key, partition
from markovlogic.symmetry.search import automorphism_factors
from markovlogic.symmetry.twins import named_constants, numbered, relations_of
from markovlogic.system.arrays import Int32, Int64, each_once, offsets


class EvidenceGroup:
    """A group of renamings that preserve model and evidence, acting on the open atoms."""

    def __init__(self, problem: Problem, group: FactorGroup, twins: ConstantClasses, notes: tuple[str, ...] = ()) -> None:
        self.problem = problem
        self.group = group  # on the constants of all types, one after the other
        self.notes = notes
        self._twins = twins
        self._atoms = OpenAtoms(problem)
        self._first = first_constants(problem)
        self._orbits: OrbitPartition | None = None

    @property
    def n_atoms(self) -> int:
        """How many open atoms it acts on."""
        return self._atoms.n_atoms

    @property
    def is_trivial(self) -> bool:
        """Whether it holds nothing but the identity."""
        return not self.group.factors

    def renaming(self, rng: np.random.Generator) -> dict[str, Int32]:
        """An element as a permutation of each type's constants."""
        return self._by_type(self.group.sample(rng))

    def induced(self, renaming: dict[str, Int32]) -> Int32:
        """What a renaming of the group does to the open atoms, (n_atoms,) images."""
        return self._atoms.induced(renaming)

    def sample(self, rng: np.random.Generator) -> Int32:
        """An element as images of the open atoms, (n_atoms,); uniform but where a part's own group is too large to be listed."""
        return self.induced(self.renaming(rng))

    def memory(self, rng: np.random.Generator) -> Int32:
        """That of the group on constants."""
        return self.group.memory(rng)

    def next_literals(self, rng: np.random.Generator, memory: Int32) -> Int32:
        """The next element as images of the positive literals, (n_atoms,)."""
        return 2 * self.induced(self._by_type(self.group.next_element(rng, memory))) + 1

    def check(self, memory: Int32) -> None:
        """That of the group on constants."""
        self.group.check(memory)

    def orbits(self) -> OrbitPartition:
        """The orbits of single atoms: those of the twins by key, joined by the generators that are no exchanges of twins."""
        if self._orbits is None:
            self._orbits = self._joined_orbits()
        return self._orbits

    def constant_orbits(self) -> dict[str, Int32]:
        """The orbit of each constant, by type. Not classes: permutations inside an orbit need not preserve the evidence."""
        label = self.group.labels()
        return {t: numbered(label[first : first + len(self.problem.domains[t])]) for t, first in self._first.items()}

    def _by_type(self, image: Int32) -> dict[str, Int32]:
        return {t: image[first : first + len(self.problem.domains[t])] - first for t, first in self._first.items()}

    def _joined_orbits(self) -> OrbitPartition:
        label = orbits_by_key(self.problem, self._twins).orbit_of
        n_labels = int(label.max(initial=-1)) + 1
        twin = np.concatenate([self._twins.class_of[t] + first for t, first in self._first.items()] or [np.zeros(0, np.int64)])
        source, target = [], []
        for image in self.group.generators():
            if not np.array_equal(twin[image], twin):
                induced = self.induced(self._by_type(image))
                edges = each_once(label.astype(np.int64) * n_labels + label[induced])
                source.append(edges // n_labels)
                target.append(edges % n_labels)
        if not source:
            return partition(label, "renamings")
        one, other = np.concatenate(source), np.concatenate(target)
        return partition(connected_parts(n_labels, one, other)[1][label], "renamings")


def first_constants(problem: Problem) -> dict[str, int]:
    """Number of each type's first constant where all constants are counted through."""
    first, total = {}, 0
    for type_name, domain in problem.domains.items():
        first[type_name] = total
        total += len(domain)
    return first


def evidence_automorphisms(problem: Problem, twins: ConstantClasses, *, budget_seconds: float = 10.0) -> EvidenceGroup:
    """Search for all renamings that preserve the statuses and fix named constants; past the budget some may be missing."""
    found = automorphism_factors(evidence_graph(problem), budget_seconds=budget_seconds)
    first = first_constants(problem)
    n_constants = sum(len(domain) for domain in problem.domains.values())
    on_constants = []
    for factor in found.factors:
        keep = factor.members[0] < n_constants
        if keep.any():
            on_constants.append(factor.columns(keep))
    checker = StatusChecker(problem, first)
    factors, wrong = [], 0
    for factor in on_constants:
        kept, dropped = _verified(checker, factor)
        factors.append(kept)
        wrong += dropped
    notes = found.notes
    if wrong:
        notes = (*notes, f"{wrong} renamings that the search proposed did not preserve the evidence and were not used")
    return EvidenceGroup(problem, FactorGroup(n_constants, factors), twins, notes)


def evidence_graph(problem: Problem) -> ColouredGraph:
    """Constants, then for each known tuple of two or more arguments a vertex, and one more for each argument after the first.

    tuple – first argument; tuple – place – argument for the others: the colours of the places tell the arguments apart.
    """
    first = first_constants(problem)
    n_constants = sum(len(domain) for domain in problem.domains.values())
    label = np.zeros(n_constants, np.int64)
    for number, (type_name, domain) in enumerate(problem.domains.items()):
        label[first[type_name] : first[type_name] + len(domain)] = number
    for type_name, named in named_constants(problem).items():
        label[first[type_name] + named] = len(problem.domains) + first[type_name] + named
    edges: list[Int64] = []
    extra: list[Int64] = []
    n_vertices, n_colours = n_constants, 0
    for relation in relations_of(problem).values():
        if not len(relation.args) or not relation.types:
            continue
        vertex = relation.args.astype(np.int64) + np.array([first[t] for t in relation.types])
        status = relation.statuses.status.astype(np.int64)
        if len(relation.types) == 1:
            label = 4 * np.unique(label, return_inverse=True)[1].astype(np.int64)
            label[vertex[:, 0]] += 1 + status
            continue
        here = n_vertices + np.arange(len(vertex))
        extra.append(n_colours + status)
        edges.append(np.stack([here, vertex[:, 0]], axis=1))
        n_vertices, n_colours = n_vertices + len(vertex), n_colours + 3
        for position in range(1, vertex.shape[1]):
            place = n_vertices + np.arange(len(vertex))
            extra.append(np.full(len(vertex), n_colours))
            edges += [np.stack([here, place], axis=1), np.stack([place, vertex[:, position]], axis=1)]
            n_vertices, n_colours = n_vertices + len(vertex), n_colours + 1
    colour = np.concatenate([label, *(part + int(label.max(initial=0)) + 1 for part in extra)])
    joined = np.concatenate(edges) if edges else np.zeros((0, 2), np.int64)
    return ColouredGraph(joined.astype(np.int32), np.unique(colour, return_inverse=True)[1].astype(np.int32))


class StatusChecker:
    """Whether renamings preserve the statuses, looking only at tuples that mention a moved constant."""

    def __init__(self, problem: Problem, first: dict[str, int]) -> None:
        self._relations = [r for r in relations_of(problem).values() if len(r.args) and r.types]
        self._first = first
        n_constants = sum(len(domain) for domain in problem.domains.values())
        self._image = np.arange(n_constants, dtype=np.int64)
        self._rows: list[list[tuple[Int64, Int64]]] = []
        for relation in self._relations:
            columns = []
            for position, size in enumerate(relation.statuses.sizes):
                column = relation.args[:, position]
                columns.append((offsets(np.bincount(column, minlength=size)), np.argsort(column, kind="stable")))
            self._rows.append(columns)

    def preserves(self, moved: Int32, moved_to: Int32) -> bool:
        """Whether the permutation that takes each `moved` constant to `moved_to` maps known tuples to equally known ones.

        A permutation is injective: if all tuples with a moved constant go to such tuples of equal status, they are permuted.
        """
        self._image[moved] = moved_to
        try:
            return all(self._preserves(number, moved) for number in range(len(self._relations)))
        finally:
            self._image[moved] = moved

    def _preserves(self, number: int, moved: Int32) -> bool:
        relation = self._relations[number]
        sizes = relation.statuses.sizes
        touched = []
        for (start, order), type_name, size in zip(self._rows[number], relation.types, sizes, strict=True):
            local = moved.astype(np.int64) - self._first[type_name]
            local = local[(local >= 0) & (local < size)]
            touched += [order[start[c] : start[c + 1]] for c in local.tolist()]
        rows = each_once(np.concatenate(touched)) if touched else np.zeros(0, np.int64)
        args = relation.args[rows]
        made = np.empty(args.shape, np.int64)
        for position, type_name in enumerate(relation.types):
            made[:, position] = self._image[args[:, position] + self._first[type_name]] - self._first[type_name]
        if np.any(made < 0) or np.any(made >= np.array(sizes)):
            return False
        return bool(np.array_equal(relation.statuses.lookup(codes(made, sizes)), relation.statuses.status[rows]))


def _verified(checker: StatusChecker, factor: Factor) -> tuple[Factor, int]:
    """The factor without what does not preserve the statuses, and how many permutations were dropped."""
    first = factor.members[0]
    own = tuple(g for g in factor.generators if checker.preserves(first, first[g]))
    copies = _verified_copies(checker, factor.members)
    return Factor(factor.members[copies], own), len(factor.generators) - len(own) + len(factor.members) - len(copies)


def _verified_copies(checker: StatusChecker, members: Int32) -> Sequence[int]:
    """The first copy, and all that can change places with it."""
    kept = [0]
    for copy in range(1, len(members)):
        pair = np.concatenate([members[0], members[copy]])
        if checker.preserves(pair, np.concatenate([members[copy], members[0]])):
            kept.append(copy)
    return kept
