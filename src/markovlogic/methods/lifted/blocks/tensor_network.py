"""A problem as tensors: one Boolean array a predicate, one axis an argument; nothing is grounded."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import TRUE, UNKNOWN
from markovlogic.language.templates import LoweredModel
from markovlogic.methods.lifted.blocks.clusters import Field
from markovlogic.methods.lifted.blocks.held import held_predicates
from markovlogic.methods.lifted.blocks.tensor_terms import FalseTerm, terms_of
from markovlogic.methods.lifted.blocks.tensors import Bools
from markovlogic.networks import starts
from markovlogic.networks.base import NetworkKind, StartKind
from markovlogic.networks.counting.building import counting_network
from markovlogic.networks.counting.counts import broken_hard
from markovlogic.networks.counting.direct import DirectCount
from markovlogic.networks.counting.network import CountingNetwork, groups_of
from markovlogic.problem import Problem
from markovlogic.system.arrays import Words, packed

Number = TypeVar("Number", np.bool_, np.float64)

STARTS = ("coins", "true", "false", "density")


@dataclass(frozen=True, eq=False)
class Known:
    """The evidence about a predicate's atoms, one axis an argument; None where there is none."""

    true: npt.NDArray[np.float64] | None
    unknown: npt.NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class TensorNetwork:
    """Terms over whole predicates; see `networks.base.Network`."""

    problem: Problem
    lowered: LoweredModel
    terms: tuple[FalseTerm, ...]
    held: Mapping[str, str]  # open predicates of which terms do not show all, and why

    @staticmethod
    def of(problem: Problem, lowered: LoweredModel) -> TensorNetwork:
        """The network of a problem; refuses what clusters cannot draw."""
        held = held_predicates(problem, lowered)
        return TensorNetwork(problem, lowered, terms_of(problem, lowered, held), held)

    @property
    def kind(self) -> NetworkKind:
        """Nothing is grounded."""
        return NetworkKind.NONE

    @property
    def n_atoms(self) -> int:
        """Open atoms."""
        return len(self.problem.atoms)

    @property
    def n_all(self) -> int:
        """There are no hidden ones."""
        return self.n_atoms

    @property
    def nbytes(self) -> int:
        """A byte an atom, known or not, in two arrays."""
        return 2 * sum(statuses.n_ground for statuses in self.problem.statuses.values())

    @property
    def n_clauses(self) -> int | None:
        """Nothing is grounded."""
        return None

    @cached_property
    def changing(self) -> tuple[str, ...]:
        """Predicates with open atoms."""
        return tuple(name for name, statuses in self.problem.statuses.items() if statuses.n_open)

    @cached_property
    def still(self) -> dict[str, Bools]:
        """Values of predicates that are known altogether."""
        return {
            name: (statuses.lookup(np.arange(statuses.n_ground)) == TRUE).reshape(statuses.sizes)
            for name, statuses in self.problem.statuses.items()
            if not statuses.n_open and any(name == f.predicate for term in self.terms for f in term.factors)
        }

    @cached_property
    def known(self) -> dict[str, Known]:
        """The evidence about the other predicates."""
        found = {}
        for name in self.changing:
            statuses = self.problem.statuses[name]
            if statuses.n_open == statuses.n_ground:
                found[name] = Known(None, None)
                continue
            status = statuses.lookup(np.arange(statuses.n_ground)).reshape(statuses.sizes)
            found[name] = Known((status == TRUE).astype(np.float64), (status == UNKNOWN).astype(np.float64))
        return found

    @cached_property
    def _codes(self) -> dict[str, npt.NDArray[np.int64]]:
        """Of open atoms, where some are known."""
        partly = (n for n in self.changing if self.problem.statuses[n].n_open < self.problem.statuses[n].n_ground)
        return {name: self.problem.atoms.codes(name) for name in partly}

    def field(self, *, literal_messages: bool) -> Field:
        """What clusters are made of."""
        arguments = {name: self.problem.statuses[name].sizes for name in self.changing}
        return Field(self.problem, self.lowered, self.terms, arguments, self.held, literal_messages)

    def values(self, bits: Bools) -> dict[str, Bools]:
        """Worlds (n_chains, n_atoms) as one array a predicate, chains first; those of known predicates have no chains."""
        ranges = {name: self.problem.atoms.range_of(name) for name in self.changing}
        return self.still | {name: self.value(name, bits[:, own.start : own.stop]) for name, own in ranges.items()}

    def value(self, name: str, bits: Bools) -> Bools:
        """A predicate's array, chains first, from its open atoms, (n_chains, n_open)."""
        statuses = self.problem.statuses[name]
        if name in self._codes:
            whole = np.empty((len(bits), statuses.n_ground), np.bool_)
            whole[:] = self._certain[name]
            whole[:, self._codes[name]] = bits
            bits = whole
        return bits.reshape(len(bits), *statuses.sizes)

    @cached_property
    def _certain(self) -> dict[str, Bools]:
        """Which atoms are known to be true, where some are known."""
        statuses = {name: self.problem.statuses[name] for name in self._codes}
        return {name: own.lookup(np.arange(own.n_ground)) == TRUE for name, own in statuses.items()}

    def of_open(self, name: str, array: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """The values of a predicate's open atoms in its array (chains first), (n_chains, n_open)."""
        flat = array.reshape(len(array), self.problem.statuses[name].n_ground)
        return flat[:, self._codes[name]] if name in self._codes else flat

    def decided(self, atoms: npt.NDArray[np.int32]) -> Bools:
        """What hard unit clauses decide is no open atom."""
        return np.zeros(len(atoms), np.bool_)

    @cached_property
    def _direct(self) -> DirectCount:
        return DirectCount(self.problem, self.lowered)

    def log_odds(self, atom: int, world: Bools) -> float:
        """By direct count of groundings."""
        return self._direct.log_odds(atom, world)

    def group_log_weights(self, group: int, world: Bools) -> npt.NDArray[np.float64]:
        """By direct count of groundings."""
        groups = groups_of(self.problem)
        atoms = groups.atom[groups.start[group] : groups.start[group + 1]]
        return self._direct.log_weights(atoms.tolist(), np.eye(len(atoms), dtype=np.bool_), world)

    @cached_property
    def is_bound(self) -> bool:
        """Whether groups or hard rules make some worlds impossible."""
        return bool(self.problem.groups) or self.lowered.has_hard

    @cached_property
    def _counting(self) -> CountingNetwork:
        return counting_network(self.problem, self.lowered)

    def are_possible(self, worlds: Bools) -> bool:
        """Whether groups and hard rules allow all of these worlds, (n_chains, n_atoms)."""
        groups = groups_of(self.problem)
        if len(groups.atom) and (np.add.reduceat(worlds[:, groups.atom], groups.start[:-1], axis=1, dtype=np.int64) != 1).any():
            return False
        own = self._counting if self.lowered.has_hard else None
        return own is None or not any(broken_hard(own, own.bits_of(world, own.room())) for world in worlds)

    def start_worlds(self, n_chains: int, seed: np.random.SeedSequence, kind: StartKind, first: int = 0) -> Words:
        """Fair coins, all true, all false, and one share of true atoms for each predicate, in turn; possible ones."""
        if self.is_bound:
            return self._counting.start_worlds(n_chains, seed, kind, first)
        bits = np.zeros((n_chains, self.n_atoms), np.bool_)
        for chain, own in enumerate(seed.spawn(n_chains)):
            rng = np.random.default_rng(own)
            start = {"random": "coins", "false": "false"}.get(kind, self.first_world_kind(first + chain))
            if start == "density":
                for name in self.changing:
                    numbers = self.problem.atoms.range_of(name)
                    bits[chain, numbers.start : numbers.stop] = rng.random(len(numbers)) < rng.random()
            elif start == "coins":
                bits[chain] = rng.random(self.n_atoms) < 0.5
            else:
                bits[chain] = start == "true"
        return packed(bits)

    def digest(self, *, floats: bool) -> str:
        """Of statuses and clauses."""
        digest = hashlib.blake2b(digest_size=16)
        for name, statuses in self.problem.statuses.items():
            digest.update(f"{name}{statuses.sizes}{statuses.default}".encode())
            digest.update(np.ascontiguousarray(statuses.code).tobytes() + np.ascontiguousarray(statuses.status).tobytes())
        for template in self.lowered.templates:
            digest.update(
                f"{template.weight.hex() if floats else ''}{template.literals}{template.equalities}{template.idle}".encode()
            )
        digest.update(f"{self.lowered.definitions}".encode())
        return digest.hexdigest()

    def first_world_kind(self, chain: int) -> str:
        """How chain number so and so of a run starts."""
        return starts.first_world_kind(chain) if self.is_bound else STARTS[chain % len(STARTS)]
