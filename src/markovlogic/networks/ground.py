"""The ground network: what the evidence leaves open of all ground clauses, in compressed rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.networks.base import Bools, NetworkKind, StartKind
from markovlogic.system.arrays import Float64, Int32, Int64, Pickled, each_once, frozen, offsets

_BOTH = np.array([[False], [True]])
MOST_KEPT = 4096  # neighbourhoods of a network


class Neighbourhood(NamedTuple):
    """Everything whose weight depends on some atoms, in flat arrays; it does not depend on the world."""

    changing: npt.NDArray[np.int64]  # these atoms, and hidden ones that follow them
    bias: npt.NDArray[np.float64]  # of each, 0 where it is infinite
    required: npt.NDArray[np.int8]  # of each: 1 or -1 where only true or only false is possible, else 0
    atom: npt.NDArray[np.int32]  # of all literals of the clauses that hold one, one clause after the other
    positive: Bools
    start: npt.NDArray[np.int64]  # of each clause among them
    weight: npt.NDArray[np.float64]  # 0 where it is hard
    hard: Bools


def log_odds(network: GroundNetwork, atom: int, world: Bools) -> float:
    """See `networks.base.WorldNetwork.log_odds`."""
    false, true = _log_weights(network, np.array([atom], np.int32), _BOTH, world)
    return float(true - false) if false > -np.inf or true > -np.inf else float("nan")


def group_log_weights(network: GroundNetwork, group: int, world: Bools) -> npt.NDArray[np.float64]:
    """See `networks.base.WorldNetwork.group_log_weights`."""
    atoms = network.group_atom[network.group_start[group] : network.group_start[group + 1]]
    return _log_weights(network, atoms, np.eye(len(atoms), dtype=bool), world)


def _log_weights(network: GroundNetwork, atoms: npt.NDArray[np.int32], values: Bools, world: Bools) -> npt.NDArray[np.float64]:
    """For each row of values of the atoms, the log-weight of everything that depends on them."""
    near = _neighbourhood(network, atoms)
    own = np.repeat(np.asarray(world, np.bool_)[None], len(values), axis=0)
    own[:, atoms] = values
    if network.n_hidden:
        _compute_hidden(network, own)
    truth = own[:, near.changing]
    finite = truth @ near.bias
    broken = (np.where(truth, near.required < 0, near.required > 0)).any(axis=1)
    if len(near.start):
        holds = np.logical_or.reduceat(own[:, near.atom] == near.positive, near.start, axis=1)
        finite += holds @ near.weight
        broken |= (near.hard & ~holds).any(axis=1)
    return np.where(broken, -np.inf, finite)


def _neighbourhood(network: GroundNetwork, atoms: npt.NDArray[np.int32]) -> Neighbourhood:
    """Kept with the network, since the same atom is needed again in other worlds."""
    kept, key = network.neighbourhoods, atoms.tobytes()
    found = kept.get(key)
    if found is None:
        if len(kept) >= MOST_KEPT:
            kept.clear()
        kept[key] = found = _found(network, atoms)
    return found


def _found(network: GroundNetwork, atoms: npt.NDArray[np.int32]) -> Neighbourhood:
    changing = _changing(network, atoms)
    rows = [network.atom_clause[network.atom_start[a] : network.atom_start[a + 1]] for a in changing]
    touched = each_once(np.concatenate([np.zeros(0, np.int32), *rows]))
    literal, start = _literals(network, touched)
    bias, weight = network.atom_bias[changing], network.clause_weight[touched]
    required = np.where(np.isinf(bias), np.sign(bias), 0.0).astype(np.int8)
    hard = np.isinf(weight)
    return Neighbourhood(
        changing,
        np.where(np.isinf(bias), 0.0, bias),
        required,
        literal >> 1,
        (literal & 1).astype(np.bool_),
        start,
        np.where(hard, 0.0, weight),
        hard,
    )


def _literals(network: GroundNetwork, clauses: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """The literals of some clauses one after another, and where those of each begin."""
    first = network.clause_start[clauses]
    length = network.clause_start[clauses.astype(np.int64) + 1] - first
    start = np.cumsum(length) - length
    return network.clause_literal[np.repeat(first - start, length) + np.arange(length.sum())], start


def _changing(network: GroundNetwork, atoms: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Atoms that can change with these: they themselves, and hidden ones that depend on them."""
    marked = np.zeros(network.n_all, bool)
    marked[atoms] = True
    for hidden in range(network.n_hidden):
        start, end = network.definition_start[hidden : hidden + 2]
        marked[network.n_atoms + hidden] = marked[network.definition_literal[start:end] >> 1].any()
    return np.flatnonzero(marked)


def _compute_hidden(network: GroundNetwork, worlds: Bools) -> None:
    """Set what the definitions say, one after the other: worlds, one a row."""
    for hidden in range(network.n_hidden):
        own = network.definition_literal[network.definition_start[hidden] : network.definition_start[hidden + 1]]
        worlds[:, network.n_atoms + hidden] = (worlds[:, own >> 1] == (own & 1).astype(bool)).any(axis=1)


NO_RULES: Int32 = frozen(np.zeros(0, np.int32))
FOR_MESSAGES = ("hard_rule", "unit_rule")  # fields that say nothing of the distribution
_WORTH_SCIPY = 500_000  # literals from which on its counting sort makes up for the time of its import


@dataclass(frozen=True, eq=False)
class GroundNetwork(Pickled):
    """Weighted ground clauses over open atoms; all arrays are read-only.

    Atoms 0..n_atoms-1 are the problem's open atoms (`Problem.atoms` names them); atoms n_atoms..n_all-1 are *hidden*: each is
    a function of others and never part of a result. A literal is the integer 2·atom + (1 if positive else 0).

    log P(world) = log_constant + Σ atom_bias[a]·world[a] + Σ clause_weight[c]·1[clause c is true] − log Z over the worlds where
    every hard clause is true, every exclusive group has exactly one true atom and every hidden atom obeys its definition.

    Clauses have two or more literals on distinct atoms, in increasing order; no two clauses are the same; soft clauses (finite
    weight > 0) come first, hard ones (weight inf) last, each part sorted. A hard unit clause is a bias of +inf or -inf.
    """

    n_atoms: int
    clause_start: Int64  # (n_clauses + 1,) offsets into clause_literal
    clause_literal: Int32  # (n_literals,)
    clause_weight: Float64  # (n_clauses,) > 0, inf when hard
    atom_bias: Float64  # (n_all,) log-odds that unit clauses give; ±inf when a hard one decides the atom
    atom_start: Int64  # (n_all + 1,) offsets into atom_clause
    atom_clause: Int32  # (n_literals,) clauses that hold the atom, increasing
    group_start: Int64  # (n_groups + 1,) offsets into group_atom
    group_atom: Int32  # atoms of each exclusive group, exactly one of them is true
    definition_start: Int64  # (n_hidden + 1,) offsets into definition_literal
    definition_literal: Int32  # hidden atom n_atoms + h is true iff one of these literals is; only smaller hidden atoms occur
    definition_rule: Int32  # (n_hidden,) the rule a hidden atom comes from, for messages
    log_constant: float  # Σ w·N of everything that the evidence decides, constants of lowering included
    # the rule of each hard clause, and of each atom with an infinite bias, for messages; empty where it is not known
    hard_rule: Int32 = field(default_factory=lambda: NO_RULES)
    unit_rule: Int32 = field(default_factory=lambda: NO_RULES)

    @property
    def n_hidden(self) -> int:
        """How many atoms are functions of others."""
        return len(self.definition_rule)

    @property
    def n_all(self) -> int:
        """Open and hidden atoms together."""
        return self.n_atoms + self.n_hidden

    @property
    def n_clauses(self) -> int:
        """How many clauses of two or more literals there are, without the definitions of hidden atoms."""
        return len(self.clause_weight)

    @property
    def n_soft(self) -> int:
        """How many of the clauses are soft; the rest are hard."""
        return int(np.count_nonzero(np.isfinite(self.clause_weight)))

    @property
    def n_literals(self) -> int:
        """How many literals all clauses hold."""
        return len(self.clause_literal)

    @property
    def n_groups(self) -> int:
        """How many exclusive groups there are."""
        return len(self.group_start) - 1

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    @property
    def kind(self) -> NetworkKind:
        """Which of the networks it is; see `networks.base.Network` for this and what follows."""
        return NetworkKind.GROUND

    def decided(self, atoms: Int32) -> Bools:
        """Which of these atoms hard unit clauses fix."""
        return np.asarray(np.isinf(self.atom_bias[atoms]), np.bool_)

    @cached_property
    def neighbourhoods(self) -> dict[bytes, Neighbourhood]:
        """Of the atoms whose conditionals were requested last."""
        return {}

    def log_odds(self, atom: int, world: Bools) -> float:
        """The conditional of one atom in float64."""
        return log_odds(self, atom, world)

    def group_log_weights(self, group: int, world: Bools) -> Float64:
        """The conditional of an exclusive group in float64."""
        return group_log_weights(self, group, world)

    def start_worlds(
        self, n_chains: int, seed: np.random.SeedSequence, kind: StartKind, first: int = 0
    ) -> npt.NDArray[np.uint64]:
        """Worlds of a batch to start from."""
        from markovlogic.networks.starts import start_worlds

        return start_worlds(self, n_chains, seed, kind, first)

    def hard_only(self) -> GroundNetwork:
        """The same atoms, groups, definitions and hard clauses without any weight: its Z is the number of possible worlds."""
        start = self.clause_start[self.n_soft :] - self.clause_start[self.n_soft]
        literal = self.clause_literal[int(self.clause_start[self.n_soft]) :]
        atom_start, atom_clause = atom_rows(start, literal, self.n_all)
        return frozen(
            replace(
                self,
                clause_start=start,
                clause_literal=literal,
                clause_weight=self.clause_weight[self.n_soft :],
                atom_bias=np.where(np.isinf(self.atom_bias), self.atom_bias, 0.0),
                atom_start=atom_start,
                atom_clause=atom_clause,
                log_constant=0.0,
            )
        )

    def digest(self, *, floats: bool) -> str:
        """A digest of all arrays."""
        digest = hashlib.blake2b(digest_size=16)
        for name in sorted(own.name for own in fields(self) if own.name not in FOR_MESSAGES):
            value = vars(self)[name]
            if isinstance(value, np.ndarray) and (floats or value.dtype.kind != "f"):
                digest.update(f"{name} {value.dtype} {value.shape}".encode())
                digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
        return digest.hexdigest()


def atom_rows(clause_start: Int64, clause_literal: Int32, n_all: int) -> tuple[Int64, Int32]:
    """The transposed rows: offsets and, for each atom, the clauses that hold it in increasing order."""
    start, clause, _ = signed_atom_rows(clause_start, clause_literal, n_all)
    return start, clause


def signed_atom_rows(clause_start: Int64, clause_literal: Int32, n_all: int) -> tuple[Int64, Int32, npt.NDArray[np.bool_]]:
    """The transposed rows, and whether each atom stands there positively: a counting sort where there are many literals."""
    n_clauses = len(clause_start) - 1
    if len(clause_literal) < _WORTH_SCIPY:
        atom = clause_literal >> 1
        order = np.argsort(atom, kind="stable")
        start = np.zeros(n_all + 1, np.int64)
        np.cumsum(np.bincount(atom, minlength=n_all), out=start[1:])
        clause = np.repeat(np.arange(n_clauses, dtype=np.int32), np.diff(clause_start))
        return start, clause[order], (clause_literal[order] & 1).astype(np.bool_)
    from scipy.sparse import csr_array

    index_type = np.int32 if len(clause_literal) < 2**31 else np.int64
    positive = (clause_literal & 1).astype(np.bool_)
    by_clause = csr_array((positive, clause_literal >> 1, clause_start.astype(index_type)), shape=(n_clauses, n_all))
    by_atom = by_clause.tocsc()
    return by_atom.indptr.astype(np.int64), by_atom.indices.astype(np.int32, copy=False), by_atom.data


def group_of(network: GroundNetwork) -> Int32:
    """The exclusive group of each atom, (n_all,), -1 outside of groups."""
    group = np.full(network.n_all, -1, np.int32)
    group[network.group_atom] = np.repeat(np.arange(network.n_groups, dtype=np.int32), np.diff(network.group_start))
    return group


def with_definitions(network: GroundNetwork, clause_start: Int64, clause_literal: Int32) -> tuple[Int64, Int32]:
    """Clause rows with, for each hidden atom h ⇔ l₁ v l₂ …, the hard clauses (¬h v l₁ v l₂ …) and (h v ¬lᵢ) appended."""
    if not network.n_hidden:
        return clause_start, clause_literal
    sizes = np.diff(network.definition_start)
    hidden = network.n_atoms + np.arange(network.n_hidden, dtype=np.int32)
    long = np.insert(network.definition_literal, network.definition_start[:-1], 2 * hidden)
    pairs = np.stack([np.repeat(2 * hidden + 1, sizes), network.definition_literal ^ 1], axis=1)
    lengths = np.concatenate([np.diff(clause_start), sizes + 1, np.full(len(pairs), 2)])
    return offsets(lengths), np.concatenate([clause_literal, long, pairs.ravel()]).astype(np.int32)


def network_of(
    n_atoms: int,
    clauses: list[tuple[float, list[int]]] = [],  # noqa: B006 - never changed
    *,
    bias: dict[int, float] | None = None,
    groups: list[list[int]] | None = None,
    definitions: list[list[int]] | None = None,
    log_constant: float = 0.0,
) -> GroundNetwork:
    """Build a small network by hand, for tests and examples: clauses as (weight, literals), literals as 2·atom + sign.

    Unit clauses are not folded here; give them as `bias`.
    """
    definitions, groups = definitions or [], groups or []
    n_all = n_atoms + len(definitions)
    ordered = sorted(((w, sorted(ls)) for w, ls in clauses), key=lambda c: (c[0] == np.inf, c[1]))
    clause_start, clause_literal = _rows([ls for _, ls in ordered])
    atom_start, atom_clause = atom_rows(clause_start, clause_literal, n_all)
    group_start, group_atom = _rows(groups)
    definition_start, definition_literal = _rows(definitions)
    atom_bias = np.zeros(n_all)
    for atom, value in (bias or {}).items():
        atom_bias[atom] = value
    return frozen(
        GroundNetwork(
            n_atoms=n_atoms,
            clause_start=clause_start,
            clause_literal=clause_literal,
            clause_weight=np.array([w for w, _ in ordered], np.float64),
            atom_bias=atom_bias,
            atom_start=atom_start,
            atom_clause=atom_clause,
            group_start=group_start,
            group_atom=group_atom,
            definition_start=definition_start,
            definition_literal=definition_literal,
            definition_rule=np.zeros(len(definitions), np.int32),
            log_constant=log_constant,
        )
    )


def _rows(lists: list[list[int]]) -> tuple[Int64, Int32]:
    return offsets([len(row) for row in lists]), np.array([value for row in lists for value in row], np.int32)
