"""Learning where hard rules make predicates equivalence relations: worlds are partitions, and each pair of nodes is one row.

The conditional likelihood then has transitivity in it. Its gradient is N(data) - E[N], with E[N] over partitions: parts whose
pairs weigh by themselves are summed over their blocks, chains over partitions give the rest. A pair that nobody lists counts by
the sizes of blocks alone: in a partition with blocks of n constants, Σ n(n-1)/2 pairs are together, less those that have a row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from markovlogic.data.evidence import TRUE, UNKNOWN
from markovlogic.errors import Fault, InputError
from markovlogic.grounding.rows import Rows, canonical, concatenated
from markovlogic.language.equivalence import Found, equivalences
from markovlogic.learning.databases import Database
from markovlogic.learning.features import FeatureIndex, LearningRules
from markovlogic.methods.partition.block_sums import BlockSums, sum_by_blocks, weigh_by_pairs
from markovlogic.methods.partition.layout import layout_of
from markovlogic.methods.partition.listed import listed
from markovlogic.methods.partition.network import PartitionNetwork, partition_network
from markovlogic.methods.partition.parts import Parts, only, parts_of
from markovlogic.methods.sampling.partition import Partition, PartitionSampler, PartitionState
from markovlogic.networks.components import connected_parts
from markovlogic.networks.ground import GroundNetwork, atom_rows
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, Words, each_once, frozen, offsets

if TYPE_CHECKING:
    from markovlogic.grounding.backends import Engine
    from markovlogic.learning.chains import WeightedNetwork
    from markovlogic.learning.counts import CountingRows
    from markovlogic.methods.partition.classes import Unlisted

CHAINS = 16
# moves of several nodes cost as much as five plain sweeps where relations are tied; chains that go on need few of them
MOVES = Partition(proposals=0.05, several=0.02, carried=0.005)
FALSE_FOR_TRUE, LEAST_FALSE = 10, 1000  # unlisted pairs that stand for those that are not together


@dataclass(frozen=True, eq=False)
class Partitions:
    """The worlds of one database: the partitions that there are, those of the data, and what unlisted pairs count for."""

    network: PartitionNetwork  # of hard rules alone
    label: Int32  # (n_nodes,) the block of each node in the data: one of its nodes
    relation: Int64  # (n,) by relation and weight, what each atom of an unlisted pair that is together counts for
    feature: Int64  # (n,) -1 where the weight is kept
    count: Float64  # (n,)

    def far(self, weights: Float64) -> Float64:
        """(n_nodes,) what an unlisted pair weighs at these weights; -inf where unlisted pairs are never together."""
        each = np.where(self.feature < 0, self.count, self.count * np.append(weights, 0.0)[self.feature])
        of_relation = 2 * np.bincount(self.relation, each, len(self.network.relations))
        own = np.repeat(of_relation, np.diff(self.network.first_node))
        return np.where(self.network.far > -np.inf, own, -np.inf)

    def counts(self, pairs: Float64, n_features: int) -> Float64:
        """N of unlisted pairs that are together; pairs: (n_relations,)."""
        learned = self.feature >= 0
        number = 2 * self.count[learned] * pairs[self.relation[learned]]
        return np.asarray(np.bincount(self.feature[learned], number, n_features), np.float64)

    def together(self, block: Int32, world: Bool) -> Float64:
        """(n_relations,) unlisted pairs of constants that are together."""
        own, made = self.network, np.zeros(len(self.network.relations))
        low, high, row = own.pairs
        true = world[row]
        for at in range(len(made)):
            nodes = slice(int(own.first_node[at]), int(own.first_node[at + 1]))
            mass = own.mass[nodes]
            load = np.bincount(block[nodes], mass)
            mine = true & (low >= nodes.start) & (low < nodes.stop)
            made[at] = float((load * (load - 1)).sum() - (mass * (mass - 1)).sum()) / 2
            made[at] -= (own.mass[low[mine]] * own.mass[high[mine]]).sum()
        return made

    def observations(self, truth: Bool, n_features: int) -> tuple[Any, Float64, Bool]:
        """Unlisted pairs as observations of a logistic regression: all that are together, and some that stand for the others."""
        from scipy import sparse

        own = self.network
        low, high, _ = own.pairs
        matrices, made_offsets, labels = [sparse.csr_array((0, n_features))], [np.zeros(0)], [np.zeros(0, np.bool_)]
        together = self.together(self.label, truth)
        for at in np.unique(self.relation).tolist():
            nodes = slice(int(own.first_node[at]), int(own.first_node[at + 1]))
            mass, mine = own.mass[nodes], (low >= nodes.start) & (low < nodes.stop)
            total = mass.sum() * (mass.sum() - 1) / 2 - (mass * (mass - 1)).sum() / 2
            apart = total - (own.mass[low[mine]] * own.mass[high[mine]]).sum() - together[at]
            apart -= len(own.relations[at].barred)
            n_true = round(together[at])
            n_false = int(min(max(apart, 0), FALSE_FOR_TRUE * n_true + LEAST_FALSE))
            chosen = (self.relation == at) & (self.feature >= 0)
            kept = 2 * float(self.count[(self.relation == at) & (self.feature < 0)].sum())
            line = np.bincount(self.feature[chosen], 2 * self.count[chosen], n_features)
            matrices.append(sparse.csr_array(np.tile(line, (n_true + n_false, 1))))
            made_offsets.append(np.full(n_true + n_false, kept + (np.log(apart / n_false) if n_false else 0.0)))
            labels.append(np.arange(n_true + n_false) < n_true)
        return sparse.vstack(matrices), np.concatenate(made_offsets), np.concatenate(labels)


def relations_of(rules: LearningRules, database: Database) -> Found:
    """Equivalence relations that are modelled; none where atoms are hidden, or where one is not reflexive."""
    if database.hidden.any():
        return Found(())
    found = equivalences(rules.model, rules.lowered)
    is_open = {name for name, statuses in database.problem.statuses.items() if statuses.n_open}
    modelled = tuple(relation for relation in found.relations if relation.predicate in is_open)
    return Found(modelled if all(relation.reflexive for relation in modelled) else ())


def without_unlisted(
    rules: LearningRules, database: Database, found: Found, index: FeatureIndex, engine: Engine
) -> tuple[Database, dict[str, Unlisted], tuple[Int64, Int64, Float64]]:
    """The database with few pairs listed, and what the others count for: relations, features and counts of an atom."""
    few = listed(database.problem, rules.lowered, found.relations, engine, either_sign=True)
    nothing = np.zeros(0, np.int64)
    if few is None:
        return database, {}, (nothing, nothing, np.zeros(0))
    problem = few.problem
    stays = [nothing]
    for name in database.problem.atoms.predicates:
        own = database.problem.atoms.range_of(name)
        status = problem.statuses[name].lookup(database.problem.atoms.codes(name))
        stays.append(own.start + np.flatnonzero(status == UNKNOWN))
    kept = np.concatenate(stays)
    smaller = frozen(Database(database.name, problem, database.truth[kept], database.hidden[kept], database.excluded[kept]))
    rule_of = {number: rule for rule in rules.rules for number in rule.templates}
    parts = []
    for at, relation in enumerate(found.relations):
        for number, sign in few.unlisted[relation.predicate].templates if relation.predicate in few.unlisted else ():
            rule = rule_of[number]
            change = float(sign * rule.sign)
            parts.append((at, index.number(rule.number), change) if rule.kept is None else (at, -1, change * rule.kept))
    relation_of, feature, count = (np.array(column) for column in zip(*parts, strict=True)) if parts else (nothing,) * 3
    weightless = {name: replace(own, weight=0.0) for name, own in few.unlisted.items()}
    return smaller, weightless, (relation_of.astype(np.int64), feature.astype(np.int64), count.astype(np.float64))


def blocks_of_data(rules: LearningRules, database: Database, found: Found) -> list[Int32]:
    """(n_constants,) for each relation the block of each constant in the data; refuses data that break its hard rules."""
    made = []
    for relation in found.relations:
        problem, name = database.problem, relation.predicate
        statuses, own = problem.statuses[name], problem.atoms.range_of(name)
        n = statuses.sizes[0]
        code = np.concatenate(
            [statuses.code[statuses.status == TRUE], problem.atoms.codes(name)[database.truth[own.start : own.stop]]]
        )
        one, other = np.divmod(code, max(n, 1))
        _, block = connected_parts(n, one.astype(np.int32), other.astype(np.int32))
        size = np.bincount(block)
        if len(each_once(code)) != int((size**2).sum()):  # reflexivity counts too
            rule = rules.model.rules[relation.rule]
            hint = "list all pairs that are the same, in both orders; or give the hard rules weights"
            raise InputError(Fault(f"{database.name} breaks this hard rule: {rule.text}", rule.place, hint=hint))
        made.append(block)
    return made


def in_rows(
    counting: CountingRows,
    found: Found,
    unlisted: dict[str, Unlisted],
    counts_for: tuple[Int64, Int64, Float64],
    blocks: list[Int32],
) -> CountingRows:
    """The same counts by rows of pairs in place of atoms."""
    from markovlogic.learning.counts import Clauses

    problem, database = counting.database.problem, counting.database
    network = partition_network(problem, _hard_network(counting), found.relations, unlisted)
    row_of, n_rows = network.row_of, network.rows.n_atoms
    always, never = network.rows.atom_bias == np.inf, network.rows.atom_bias == -np.inf
    rows, clauses = counting.clauses.rows, counting.clauses
    literal = 2 * row_of[rows.literal >> 1] + (rows.literal & 1)
    positive = (literal & 1) == 1
    holds = np.where(positive, always[literal >> 1], never[literal >> 1])
    fails = np.where(positive, never[literal >> 1], always[literal >> 1])
    owner = np.repeat(np.arange(len(rows)), rows.length)
    true = np.zeros(len(rows), np.bool_)
    true[owner[holds]] = True
    stays = ~fails & ~true[owner]
    length = np.bincount(owner[stays], minlength=len(rows))
    several = np.flatnonzero(length)
    made, kept = canonical(offsets(length[several]), literal[stays].astype(np.int32))
    of = several[kept]
    parts = [Clauses(made, clauses.feature[of], clauses.count[of])]
    parts += _of_unlisted(network, problem, unlisted, counts_for, row_of)
    offset = np.bincount(row_of, counting.offset, n_rows)
    own = network.rows
    hard = [Rows(own.clause_start, own.clause_literal).take(np.arange(own.n_soft, own.n_clauses))]
    hard += [_units(2 * np.flatnonzero(always) + 1), _units(2 * np.flatnonzero(never))]
    truth = always.copy()
    truth[row_of] = np.where(always[row_of] | never[row_of], always[row_of], database.truth)
    group = np.full(n_rows, -1, np.int32)
    group[own.group_atom] = np.repeat(np.arange(own.n_groups, dtype=np.int32), np.diff(own.group_start))
    label = np.arange(network.n_nodes, dtype=np.int32)
    for first, classes, block in zip(network.first_node.tolist(), network.relations, blocks, strict=False):
        member = np.full(int(block.max(initial=-1)) + 1, network.n_nodes)
        np.minimum.at(member, block, first + classes.node_of)
        label[first + classes.node_of] = member[block]
    nothing = np.zeros(n_rows, np.bool_)
    return replace(
        counting,
        database=frozen(Database(database.name, problem, truth, nothing, nothing)),
        clauses=Clauses(
            concatenated([part.rows for part in parts]),
            np.concatenate([part.feature for part in parts]),
            np.concatenate([part.count for part in parts]),
        ),
        hard=concatenated(hard),
        offset=np.asarray(offset, np.float64),
        group=group,
        group_start=own.group_start,
        group_atom=own.group_atom,
        partitions=frozen(Partitions(network, label, *counts_for)),
    )


def _units(literal: Int64) -> Rows:
    return Rows(np.arange(len(literal) + 1, dtype=np.int64), literal.astype(np.int32))


def _hard_network(counting: CountingRows) -> GroundNetwork:
    """The ground network of hard rules alone."""
    hard, n = counting.hard, len(counting.offset)
    single = hard.length == 1
    decided = hard.literal[hard.start[:-1][single]]
    bias = np.zeros(n)
    bias[decided >> 1] = np.where(decided & 1 == 1, np.inf, -np.inf)
    rows = hard.take(np.flatnonzero(~single))
    start, clause = atom_rows(rows.start, rows.literal, n)
    none = np.zeros(0, np.int32)
    weight = np.full(len(rows), np.inf)
    return frozen(
        GroundNetwork(
            n_atoms=n,
            clause_start=rows.start,
            clause_literal=rows.literal,
            clause_weight=weight,
            atom_bias=bias,
            atom_start=start,
            atom_clause=clause,
            group_start=counting.group_start,
            group_atom=counting.group_atom,
            definition_start=np.zeros(1, np.int64),
            definition_literal=none,
            definition_rule=none,
            log_constant=0.0,
        )
    )


def _of_unlisted(
    network: PartitionNetwork,
    problem: Any,
    unlisted: dict[str, Unlisted],
    counts_for: tuple[Int64, Int64, Float64],
    row_of: Int32,
) -> list[Any]:
    """What pairs of nodes count for beside their listed atoms: those of their atoms that are not listed."""
    from markovlogic.learning.counts import Clauses

    low, high, row = network.pairs
    made = []
    for at, feature, count in zip(*counts_for, strict=True):
        classes = network.relations[int(at)]
        own = problem.atoms.range_of(classes.relation.predicate)
        listed_atoms = np.bincount(row_of[own.start : own.stop], minlength=network.rows.n_atoms)
        mine = (low >= network.first_node[at]) & (low < network.first_node[at + 1])
        number = 2 * network.mass[low[mine]] * network.mass[high[mine]] - listed_atoms[row[mine]]
        chosen = number > 0
        literal = 2 * row[mine][chosen].astype(np.int64) + 1
        made.append(Clauses(_units(literal), np.full(len(literal), feature), number[chosen] * count))
    return made


class PartitionChains:
    """Chains of one database that go on while the weights change; parts whose pairs weigh by themselves are summed."""

    n_chains = CHAINS

    def __init__(self, network: WeightedNetwork, seed: np.random.SeedSequence) -> None:
        self.network, self._seed = network, seed
        self._state: PartitionState | None = None
        self._summed: Bool | None = None
        self.updates = 0

    @property
    def _own(self) -> Partitions:
        found = self.network.counting.partitions
        assert found is not None
        return found

    @property
    def observed(self) -> Float64:
        """N in the data."""
        truth, own = self.network.counting.database.truth, self._own
        return self.network.counts_in(truth) + own.counts(own.together(own.label, truth), self.network.n_features)

    def at(self, weights: Float64, beta: float = 1.0) -> PartitionNetwork:
        """The network at these weights, times beta."""
        rows = self.network.network(weights)
        if beta != 1.0:
            rows = replace(rows, atom_bias=beta * rows.atom_bias, clause_weight=beta * rows.clause_weight)
        return frozen(replace(self._own.network, rows=rows, far=beta * self._own.far(weights)))

    @cached_property
    def _parts(self) -> Parts:
        return parts_of(self.at(np.ones(self.network.n_features)))

    def sweep(self, weights: Float64, sweeps: int, beta: Float64 | None = None) -> Words:
        """Go on for some sweeps at these weights; gives the worlds. beta: one inverse temperature for all chains."""
        self._go_on(self.at(weights, 1.0 if beta is None else float(beta[0])), sweeps)
        assert self._state is not None
        return self._state.world

    def _go_on(self, network: PartitionNetwork, sweeps: int) -> None:
        sampler = PartitionSampler(MOVES, network, CHAINS)
        if self._state is None:
            self._state = sampler.init(self._seed)
            from_data = np.uint64(0x5555)  # every other chain begins with the data
            truth = np.where(self.network.counting.database.truth, from_data, np.uint64(0))
            self._state.world[: len(truth)] &= ~from_data
            self._state.world[: len(truth)] |= truth
            self._state.block[::2] = self._own.label
        self.updates += sampler.step(self._state, sweeps).updates

    def mean_counts(self, weights: Float64, sweeps: int) -> Float64:
        """E[N], of parts that cannot be summed by chains."""
        network, parts = self.at(weights), self._parts
        tried = parts.moves & weigh_by_pairs(network, parts) if self._summed is None else self._summed
        marginal = np.zeros(network.n_all)
        sums = sum_by_blocks(network, parts, layout_of(network), tried, marginal)
        self._summed = np.zeros(parts.n_parts, np.bool_)
        self._summed[sums.part] = True
        left = parts.moves & ~self._summed
        own = self._own
        if left.any():
            self._go_on(only(network, parts, left), sweeps)
            assert self._state is not None
            world, block = self._state.world, self._state.block
            drawn = np.bitwise_count(world).astype(np.float64) / CHAINS
        else:
            world, block = np.zeros(network.n_all, np.uint64), np.zeros((0, network.n_nodes), np.int32)
            drawn = np.zeros(network.n_all)
        decided = np.isposinf(network.rows.atom_bias)
        is_summed = self._summed[parts.of_row]
        probability = np.where(decided, 1.0, np.where(is_summed, marginal, drawn))[: network.n_atoms]
        found = self.network.expected(probability, world, CHAINS)
        if not len(own.relation):
            return found
        pairs = np.zeros(len(network.relations))
        for chain, labels in enumerate(block):
            bits = (world >> np.uint64(chain)) & np.uint64(1) == 1
            pairs += own.together(labels, bits) / CHAINS
        if self._summed.any():
            pairs += self._together_in(sums, parts, marginal)
        return found + own.counts(pairs, self.network.n_features)

    def _together_in(self, sums: BlockSums, parts: Parts, marginal: Float64) -> Float64:
        """(n_relations,) expected unlisted pairs that are together in parts that were summed by blocks."""
        from markovlogic.kernels.partition.block_sums import WIDTH

        own = self._own.network
        relation = np.searchsorted(own.first_node, np.arange(own.n_nodes), side="right") - 1
        node, order = np.flatnonzero(sums.place >= 0), np.argsort(sums.part)
        at = order[np.searchsorted(sums.part, parts.of_node[node], sorter=order)]
        mass = np.zeros((len(sums.part), int(sums.place.max()) + WIDTH + 1))
        mass[at, sums.place[node]] = own.mass[node]
        of_part = np.zeros(len(sums.part), np.int64)
        of_part[at] = relation[node]
        part = np.repeat(np.arange(len(sums.part)), np.diff(sums.start))
        load, square = np.zeros(len(part)), np.zeros(len(part))
        for bit in range(WIDTH):
            inside = np.where((sums.mask >> np.uint64(bit)) & np.uint64(1) == 1, mass[part, sums.first + bit], 0.0)
            load, square = load + inside, square + inside**2
        made = np.bincount(of_part[part], sums.share * (load**2 - square) / 2, len(own.relations))
        low, high, row = own.pairs
        mine = self._summed[parts.of_row[row]]  # type: ignore[index]
        listed_pairs = marginal[row[mine]] * own.mass[low[mine]] * own.mass[high[mine]]
        return np.asarray(made - np.bincount(relation[low[mine]], listed_pairs, len(own.relations)), np.float64)

    def counts(self, weights: Float64, sweeps: int) -> Float64:
        """(n_features, n_chains) N of every chain after some more sweeps."""
        own, world = self._own, self.sweep(weights, sweeps)
        made = self.network.counts_of_chains(world)[:, :CHAINS]
        assert self._state is not None
        for chain, labels in enumerate(self._state.block):
            bits = (world >> np.uint64(chain)) & np.uint64(1) == 1
            made[:, chain] += own.counts(own.together(labels, bits), self.network.n_features)
        return made
