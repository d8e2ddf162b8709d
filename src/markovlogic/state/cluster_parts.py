"""Clusters that remember: parts of a network of pairs whose digests are known keep their probabilities."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.estimation.concerns import DOUBTS
from markovlogic.guarantee import Guarantee
from markovlogic.results.answers import Values
from markovlogic.state.keys import ConstantKeys, atom_and_clause_sums, mixed, row_sums, weight_bits
from markovlogic.state.saved import NOWHERE, SavedRun, SavedState, concerns_about_kept
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, UInt64, each_once, offsets

if TYPE_CHECKING:
    from collections.abc import Callable

    from markovlogic.methods.partition.network import PartitionNetwork
    from markovlogic.methods.partition.parts import Parts
    from markovlogic.problem import Problem
    from markovlogic.running.sampling import Sampling

_PAIR, _BARRED, _FAR, _MASS = (np.uint64(0x9FB21C651E98DF25 * k % 2**64) for k in (1, 3, 5, 7))


class KnownParts:
    """What an earlier run left of the parts of a network, for the open atoms `number` of the clustered predicate."""

    def __init__(
        self, problem: Problem, network: PartitionNetwork, parts: Parts, number: Int64, sampling: Sampling, kept: SavedState
    ) -> None:
        self.problem, self.parts, self.number, self.kept = problem, parts, number, kept
        keys = ConstantKeys(problem)
        atom = keys.of_open_atoms()
        self.key = atom[number]
        self.part_of = parts.of_row[network.row_of[number]]
        self.digest = np.column_stack([_digests(network, parts, atom, keys, lane) for lane in (0, 1)])
        type_name = problem.model.predicates[network.relations[0].relation.predicate].types[0]
        self.constant = keys.of_type(type_name)
        self.options = repr(("cluster", sampling.chains, sampling.draws, sampling.burn_in, sampling.seed, sampling.target_stderr))
        self.row = kept.find(self.key)
        self.known_part = kept.find_component(self.digest)
        usable = np.array([run.options == self.options for run in kept.runs], np.bool_)
        known = self.known_part != NOWHERE
        known[known] = usable[kept.run_of[self.known_part[known]]] if len(usable) else False
        known[self.part_of[self.row == NOWHERE]] = False
        self.known = known

    @property
    def of_atoms(self) -> Bool:
        """(n,) which of the atoms are in known parts."""
        return np.asarray(self.known[self.part_of], np.bool_)

    def values(self) -> Values:
        """Of the atoms in known parts, in order."""
        return self.kept.values(self.row[self.of_atoms])

    def concerns(self, name: Callable[[int], str]) -> tuple[str, ...]:
        """What was doubtful when these were sampled; name: of an open atom of the problem."""
        rows = np.flatnonzero(self.of_atoms)
        doubt, shown = self.kept.doubt[self.row[rows]], []
        for bit, what in enumerate(DOUBTS):
            bad = np.flatnonzero(doubt >> bit & 1)
            if len(bad):
                shown.append((what, len(bad), name(int(self.number[rows[bad[0]]]))))
        own = [concern for number in self._runs.tolist() for concern in self.kept.runs[number].concerns]
        return (*dict.fromkeys(own), *concerns_about_kept(shown))

    def right(self, label: Int32, right: Float64, in_known: Bool) -> Float64:
        """How likely clusters are exactly right, with what is known of constants in known parts; nan where clusters differ."""
        learned = self.kept.learned
        if not in_known.any() or "constant" not in learned:
            return right
        order = np.argsort(learned["constant"][:, 0], kind="stable")
        old = learned["constant"][order]
        at = np.minimum(np.searchsorted(old[:, 0], self.constant[:, 0]), len(old) - 1)
        same = (old[at] == self.constant).all(axis=1) & (learned["cluster"][order][at] == _cluster_keys(self.constant, label))
        return np.where(in_known, np.where(same, learned["right"][order][at], np.nan), right)

    @property
    def _runs(self) -> Int32:
        """Numbers of the runs that known parts are from."""
        return each_once(self.kept.run_of[self.known_part[self.known]])

    @property
    def bounded(self) -> bool:
        """Whether some of what is known was summed without what is unlikely."""
        return any(self.kept.runs[number].guarantee == Guarantee.BOUNDED.value for number in self._runs.tolist())

    def left(
        self,
        values: Values,
        doubt: np.ndarray,
        concerns: tuple[str, ...],
        label: Int32,
        right: Float64,
        *,
        sampled: bool,
        bounded: bool,
    ) -> SavedState:
        """What the next run may use."""
        used = self._runs
        runs = [self.kept.runs[number] for number in used.tolist()]
        run_of = np.full(len(self.digest), len(runs), np.int32)
        run_of[self.known] = np.searchsorted(used, self.kept.run_of[self.known_part[self.known]])
        method, guarantee = "partition" if sampled else "exact", (Guarantee.BOUNDED if bounded else Guarantee.EXACT).value
        runs.append(SavedRun(method, guarantee, "none", "sample", self.options, concerns=concerns, made_at=time.time()))
        doubt = doubt.copy()
        doubt[self.of_atoms] = self.kept.doubt[self.row[self.of_atoms]]
        order = np.argsort(self.key[:, 0], kind="stable")
        value = np.column_stack([getattr(values, name) for name in Values.__dataclass_fields__])
        return replace(
            SavedState.nothing(),
            key=self.key[order],
            component=self.part_of.astype(np.int32)[order],
            value=value[order],
            answered=np.ones(len(order), np.bool_),
            doubt=doubt[order],
            digest=self.digest,
            run_of=run_of,
            log_z=np.full(len(self.digest), np.nan),
            world_row=np.full(len(order), NOWHERE, np.int32),
            runs=tuple(runs),
            learned={"constant": self.constant, "cluster": _cluster_keys(self.constant, label), "right": right},
            predicates={name: tuple(own.types) for name, own in self.problem.model.predicates.items()},
        )


def _cluster_keys(constant: UInt64, label: Int32) -> UInt64:
    """(n_constants,) a key of the cluster of each, made of the names in it."""
    order = np.argsort(label, kind="stable")
    start = offsets(np.bincount(label))
    sums = row_sums(mixed(constant[order, 0]), start)
    return np.asarray(mixed(sums)[label], np.uint64)


def _digests(network: PartitionNetwork, parts: Parts, atom: UInt64, keys: ConstantKeys, lane: int) -> UInt64:
    """(n_parts,) rows with their biases, clauses, groups; nodes with their constants; which of them may be together."""
    rows = network.rows
    placed = np.flatnonzero(network.row_of >= 0)
    order = placed[np.argsort(network.row_of[placed], kind="stable")]
    of_row = row_sums(mixed(atom[order, lane]), offsets(np.bincount(network.row_of[placed], minlength=rows.n_atoms)))
    row_key, total = atom_and_clause_sums(rows, mixed(of_row), parts.of_row, parts.of_clause, parts.n_parts)
    node_key = np.zeros(network.n_nodes, np.uint64)
    for relation, first in zip(network.relations, network.first_node[:-1].tolist(), strict=True):
        type_name = keys.problem.model.predicates[relation.relation.predicate].types[0]
        order = np.argsort(relation.node_of, kind="stable")
        start = offsets(np.bincount(relation.node_of, minlength=relation.n_nodes))
        node_key[first : first + relation.n_nodes] = row_sums(mixed(keys.of_type(type_name)[order, lane]), start)
    moves = np.zeros(network.n_nodes, np.uint64)
    moves[network.node] = 1
    node_key = mixed(node_key + moves + mixed(weight_bits(network.far) + _FAR) + network.mass.astype(np.uint64) * _MASS)
    own = np.where(network.self_row >= 0, row_key[network.self_row], np.uint64(0))
    entries = [(parts.of_node, mixed(node_key + own))]
    for start, other, row in (
        (network.near_start, network.near_node, network.near_row),
        (network.barred_start, network.barred_node, None),
    ):
        node = np.repeat(np.arange(network.n_nodes), np.diff(start))
        with_row = _BARRED if row is None else row_key[row] * _PAIR
        entries.append((parts.of_node[node], mixed(node_key[node] + mixed(node_key[other]) + with_row)))
    for part, value in entries:
        order = np.argsort(part, kind="stable")
        total = total + row_sums(value[order], offsets(np.bincount(part, minlength=parts.n_parts)))
    return mixed(total)
