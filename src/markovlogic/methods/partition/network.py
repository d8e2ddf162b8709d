"""The network that partitions are weighed by: ground clauses in terms of pairs of nodes, without those that tie pairs together.

Each open atom of an equivalence relation is a *row* of the network: the row of its pair of nodes, in either order, or the row
that is always true, or never. Other open atoms have rows of their own. Clauses are rewritten to rows and merged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.errors import Fault, InputError
from markovlogic.grounding.assemble import Assembler, Contradiction
from markovlogic.grounding.definitions import Nodes
from markovlogic.grounding.rows import Rows, canonical
from markovlogic.language.equivalence import Equivalence
from markovlogic.methods.partition.classes import ALWAYS, Classes, Unlisted, classes_of
from markovlogic.networks.base import NetworkKind, StartKind
from markovlogic.networks.ground import GroundNetwork
from markovlogic.problem import ExclusiveGroups, Problem
from markovlogic.problem.names import atom_name
from markovlogic.system.arrays import Bool, Float64, Int8, Int32, Int64, Words, each_once, frozen, offsets


@dataclass(frozen=True, eq=False)
class PartitionNetwork:
    """Rows and clauses, nodes, and which of them may be together; see `networks.base.Network`.

    Nodes of all relations are numbered through; pairs are of one relation each. What moves is listed, since parts of a network
    may be solved otherwise.
    """

    rows: GroundNetwork  # its atoms are the rows, its hidden atoms come last
    row_of: Int32  # (n_open,) the row of each open atom of the problem
    relations: tuple[Classes, ...]
    first_node: Int64  # (n_relations + 1,)
    near_start: Int64  # (n_nodes + 1,)
    near_node: Int32  # nodes that a node may be with, increasing
    near_row: Int32
    self_row: Int32  # (n_nodes,) whether a node, alone, is related to itself; -1 where it always is
    far: Float64  # (n_nodes,) what a pair of constants weighs whose nodes have no row, -inf where these are never together
    mass: Int64  # (n_nodes,) constants
    barred_start: Int64  # (n_nodes + 1,) nodes that a node is never with, where others without a row may be
    barred_node: Int32
    node: Int32  # those that move
    edge: Int32  # (n_edges, 2) pairs of nodes that may be together, where they move
    site: Int32  # single rows that move
    group: Int32  # exclusive groups that move
    ties: bool = True  # whether unlisted pairs tie all nodes of a relation together; else parts without rows between are apart

    @property
    def n_nodes(self) -> int:
        """Of all relations."""
        return len(self.self_row)

    @property
    def pairs(self) -> tuple[Int32, Int32, Int32]:
        """Pairs of nodes that may be together, each once: the smaller node, the larger one, and the row; sorted."""
        node = np.repeat(np.arange(self.n_nodes, dtype=np.int32), np.diff(self.near_start))
        upper = self.near_node > node
        return node[upper], self.near_node[upper], self.near_row[upper]

    @property
    def mentioned(self) -> Bool:
        """(n_all,) rows that a clause or a definition holds."""
        found: Bool = np.diff(self.rows.atom_start) > 0
        found[self.rows.definition_literal >> 1] = True
        return found

    @property
    def has_far(self) -> bool:
        """Whether nodes without a row of their own may be together."""
        return bool((self.far > -np.inf).any())

    @property
    def pair_bias(self) -> Float64:
        """(n_all,) log-odds of rows; of pairs, beyond what they would weigh unlisted."""
        if not self.has_far:
            return self.rows.atom_bias
        bias = self.rows.atom_bias.copy()
        low, high, row = self.pairs
        unlisted = self.far[low] > -np.inf
        low, high, row = low[unlisted], high[unlisted], row[unlisted]
        bias[row] -= self.far[low] * self.mass[low] * self.mass[high]
        return bias

    @property
    def relation_row(self) -> Int32:
        """(n_all,) the relation that a row belongs to, -1 for others."""
        owner = np.full(self.rows.n_all, -1, np.int32)
        relation = np.searchsorted(self.first_node, np.arange(self.n_nodes), side="right") - 1
        owner[self.near_row] = np.repeat(relation, np.diff(self.near_start))
        owner[self.self_row[self.self_row >= 0]] = relation[self.self_row >= 0]
        return owner

    @property
    def kind(self) -> NetworkKind:
        """Hard rules that make relations equivalence relations are not grounded, so it is not the ground network."""
        return NetworkKind.NONE

    @property
    def n_atoms(self) -> int:
        """Rows that are not hidden."""
        return self.rows.n_atoms

    @property
    def n_all(self) -> int:
        """All rows."""
        return self.rows.n_all

    @property
    def n_clauses(self) -> int | None:
        """Clauses of two or more rows."""
        return self.rows.n_clauses

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        own = sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))
        return own + self.rows.nbytes

    def decided(self, atoms: Int32) -> Bool:
        """Which of these rows are the same in all worlds."""
        return self.rows.decided(atoms)

    def log_odds(self, atom: int, world: Bool) -> float:
        """The conditional of a row that is no pair."""
        return self.rows.log_odds(atom, world)

    def group_log_weights(self, group: int, world: Bool) -> Float64:
        """The conditional of an exclusive group."""
        return self.rows.group_log_weights(group, world)

    def start_worlds(self, n_chains: int, seed: np.random.SeedSequence, kind: StartKind, first: int = 0) -> Words:
        """Worlds in which all nodes are alone."""
        return self.apart.start_worlds(n_chains, seed, kind, first)

    @property
    def apart(self) -> GroundNetwork:
        """The rows' network, where no two nodes are together and none that need not be is related to itself."""
        bias = self.rows.atom_bias.copy()
        bias[self.relation_row >= 0] = -np.inf
        return frozen(replace(self.rows, atom_bias=bias, unit_rule=np.zeros(0, np.int32)))

    def digest(self, *, floats: bool) -> str:
        """A digest of all arrays."""
        digest = hashlib.blake2b(self.rows.digest(floats=floats).encode(), digest_size=16)
        for name, value in sorted(vars(self).items()):
            if isinstance(value, np.ndarray):
                digest.update(f"{name} {value.shape}".encode())
                digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
        return digest.hexdigest()


def partition_network(
    problem: Problem, ground: GroundNetwork, relations: Sequence[Equivalence], unlisted: Mapping[str, Unlisted] | None = None
) -> PartitionNetwork:
    """Rewrite the ground network of all other rules, again and again where that decides more pairs.

    unlisted: by predicate, where atoms that the problem takes to be false may be true at a weight.
    """
    unlisted = {} if unlisted is None else unlisted
    n_open = len(problem.atoms)
    decided = np.full(n_open, UNKNOWN, np.int8)
    bias = ground.atom_bias[:n_open]
    decided[bias == np.inf], decided[bias == -np.inf] = TRUE, FALSE
    while True:
        layout = _Layout.of(problem, relations, decided, unlisted)
        rows = _rewritten(problem, ground, layout)
        fresh = np.isinf(rows.atom_bias[layout.n_other : layout.always])
        if not fresh.any():
            return _network(*_with_unlisted(rows, layout, problem, unlisted))
        inside = (layout.row_of >= layout.n_other) & (layout.row_of < layout.always)
        hit = np.flatnonzero(inside)[fresh[layout.row_of[inside] - layout.n_other]]
        decided[hit] = np.where(rows.atom_bias[layout.row_of[hit]] > 0, TRUE, FALSE)


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where rows are: other atoms, pairs and single nodes of each relation, the two rows that are always and never true."""

    classes: tuple[Classes, ...]
    first_row: Int64  # (n_relations + 1,)
    n_other: int
    row_of: Int32

    @property
    def always(self) -> int:
        return int(self.first_row[-1])

    @property
    def never(self) -> int:
        return self.always + 1

    @property
    def n_rows(self) -> int:
        return self.always + 2

    def known(self, literal: Int32) -> tuple[Bool, Bool]:
        """Which literals always hold, and which never do."""
        holds = (literal == 2 * self.always + 1) | (literal == 2 * self.never)
        return holds, (literal == 2 * self.always) | (literal == 2 * self.never + 1)

    @staticmethod
    def of(problem: Problem, relations: Sequence[Equivalence], decided: Int8, unlisted: Mapping[str, Unlisted]) -> _Layout:
        ranges = [problem.atoms.range_of(relation.predicate) for relation in relations]
        classes = tuple(
            classes_of(problem, relation, decided[own.start : own.stop], unlisted.get(relation.predicate))
            for relation, own in zip(relations, ranges, strict=True)
        )
        other = np.ones(len(problem.atoms), np.bool_)
        for own in ranges:
            other[own.start : own.stop] = False
        n_other = int(other.sum())
        first_row = n_other + offsets([each.n_rows for each in classes])
        row_of = np.empty(len(problem.atoms), np.int32)
        row_of[other] = np.arange(n_other)
        always = int(first_row[-1])
        for each, own, first in zip(classes, ranges, first_row, strict=False):
            fixed = np.where(each.atom_row == ALWAYS, always, always + 1)
            row_of[own.start : own.stop] = np.where(each.atom_row >= 0, first + each.atom_row, fixed)
        return _Layout(classes, first_row, n_other, row_of)


def _rewritten(problem: Problem, ground: GroundNetwork, layout: _Layout) -> GroundNetwork:
    """The ground network in rows: literals that never hold go, clauses that always do are constants."""
    nodes = Nodes(layout.n_rows)
    number, nodes.rows = _definitions(ground, layout)
    nodes.rule = ground.definition_rule
    literal = 2 * number[ground.clause_literal >> 1] + (ground.clause_literal & 1)
    assembler = Assembler(nodes)
    assembler.constant(ground.log_constant)
    holds, fails = layout.known(literal)
    owner = np.repeat(np.arange(ground.n_clauses), np.diff(ground.clause_start))
    true = np.zeros(ground.n_clauses, np.bool_)
    true[owner[holds]] = True
    kept = ~fails & ~true[owner]
    start = offsets(np.bincount(owner[kept], minlength=ground.n_clauses)[~true])
    rows, stays = canonical(start, literal[kept].astype(np.int32))
    clause = np.flatnonzero(~true)[stays]
    soft = ground.clause_weight[: ground.n_soft]
    assembler.constant(float(soft.sum() - soft[clause[clause < ground.n_soft]].sum()))
    _add_clauses(problem, ground, assembler, rows, clause)
    _require_hidden(problem, ground, number, layout)
    _add_biases(ground, assembler, number, layout)
    groups = tuple(ExclusiveGroups(g.predicate, g.start, layout.row_of[g.atom]) for g in problem.groups)
    try:
        made = assembler.network(groups)
    except Contradiction as found:
        raise _no_world(problem, (found.true_rule, found.false_rule), layout, found.atom) from None
    bias = made.atom_bias.copy()
    bias[layout.always], bias[layout.never] = np.inf, -np.inf
    return frozen(replace(made, atom_bias=bias, unit_rule=np.zeros(0, np.int32)))


def _definitions(ground: GroundNetwork, layout: _Layout) -> tuple[Int32, Rows]:
    """The row of every ground atom, hidden ones included, and the disjunctions that hidden ones stand for.

    A pair in either order is one row, so a disjunction may have a literal twice, or with its negation. Hidden atoms that are the
    same in all worlds are the row that always holds or never, wherever they stand; nothing mentions their own rows then.
    """
    n = ground.n_hidden
    number = np.concatenate([layout.row_of, layout.n_rows + np.arange(n)]).astype(np.int32)
    owner = np.repeat(np.arange(n), np.diff(ground.definition_start))
    while True:
        literal = (2 * number[ground.definition_literal >> 1] + (ground.definition_literal & 1)).astype(np.int32)
        holds, fails = layout.known(literal)
        _, stays = canonical(ground.definition_start, literal)
        true, false = ~stays, np.ones(n, np.bool_)
        true[owner[holds]] = True
        false[owner[~fails]] = False
        known = np.where(true, layout.always, np.where(false, layout.never, layout.n_rows + np.arange(n)))
        if np.array_equal(number[len(number) - n :], known):
            break
        number[len(number) - n :] = known
    keeps = ~fails & ~true[owner]
    owners = np.concatenate([owner[keeps], np.flatnonzero(true | false)])
    literals = np.concatenate([literal[keeps], 2 * known[true | false] + 1]).astype(np.int32)
    order = np.argsort(owners, kind="stable")
    rows, _ = canonical(offsets(np.bincount(owners, minlength=n)), literals[order])
    return number, rows


def _require_hidden(problem: Problem, ground: GroundNetwork, number: Int32, layout: _Layout) -> None:
    """Raise where a hard rule wants a hidden atom to be what it never is."""
    atom = np.flatnonzero(np.isinf(ground.atom_bias))
    wrong = np.where(ground.atom_bias[atom] > 0, layout.never, layout.always)
    against = np.flatnonzero((number[atom] == wrong) & (atom >= len(layout.row_of)))
    if len(against):
        raise _no_world(problem, [int(rule) for rule in ground.unit_rule[against[:1]]])


def _add_clauses(problem: Problem, ground: GroundNetwork, assembler: Assembler, rows: Rows, clause: Int64) -> None:
    """Clauses as they are now; clause: where each was in the ground network."""
    empty = rows.length == 0
    rule_of = np.full(ground.n_clauses - ground.n_soft, -1, np.int32)
    rule_of[: len(ground.hard_rule)] = ground.hard_rule
    is_hard = clause >= ground.n_soft
    if (empty & is_hard).any():
        raise _no_world(problem, (int(rule_of[clause[empty & is_hard][0] - ground.n_soft]),))
    soft = np.flatnonzero(~is_hard & ~empty)
    assembler.add(rows.take(soft), 1.0, ground.clause_weight[clause[soft]], -1)
    hard = np.flatnonzero(is_hard)
    rules = rule_of[clause[hard] - ground.n_soft]
    for rule in each_once(rules):
        assembler.add(rows.take(hard[rules == rule]), np.inf, None, int(rule))


def _add_biases(ground: GroundNetwork, assembler: Assembler, number: Int32, layout: _Layout) -> None:
    """Log-odds of all atoms of a row together; what decides pairs has been heard already."""
    finite = np.where(np.isfinite(ground.atom_bias), ground.atom_bias, 0.0)
    total = np.bincount(number, weights=finite, minlength=layout.n_rows + ground.n_hidden)
    assembler.constant(float(total[layout.always]))
    total[layout.always] = total[layout.never] = 0.0
    for sign in (1, 0):
        row = np.flatnonzero(total > 0 if sign else total < 0)
        if not sign:
            assembler.constant(float(total[row].sum()))
        unit = Rows(np.arange(len(row) + 1, dtype=np.int64), (2 * row + sign).astype(np.int32))
        assembler.add(unit, 1.0, np.abs(total[row]), -1)
    atom = np.flatnonzero(np.isinf(ground.atom_bias))
    rule = np.full(len(atom), -1, np.int32)
    rule[: len(ground.unit_rule)] = ground.unit_rule
    other = (number[atom] < layout.n_other) | (number[atom] >= layout.n_rows)
    atom, rule = atom[other], rule[other]
    for each in each_once(rule):
        mine = atom[rule == each]
        literal = each_once(2 * number[mine] + (ground.atom_bias[mine] > 0)).astype(np.int32)
        assembler.add(Rows(np.arange(len(literal) + 1, dtype=np.int64), literal), np.inf, None, int(each))


def _no_world(problem: Problem, rules: Sequence[int], layout: _Layout | None = None, row: int | None = None) -> InputError:
    """Say that hard rules contradict what is known of an equivalence relation."""
    what = "no world satisfies the hard rules and the evidence"
    if layout is not None and row is not None and row < layout.n_rows:
        what += f", which need {atom_name(problem, int(np.flatnonzero(layout.row_of == row)[0]))} to be true and to be false"
    known = [problem.model.rules[rule] for rule in dict.fromkeys(rules) if rule >= 0]
    hint = "give one of the rules a weight, or correct the evidence"
    if not known:
        return InputError(what, hint=hint)
    return InputError(Fault(f"{what}: {rule.text}", rule.place, rule.text, hint=hint) for rule in known)


def _with_unlisted(
    rows: GroundNetwork, layout: _Layout, problem: Problem, unlisted: Mapping[str, Unlisted]
) -> tuple[GroundNetwork, _Layout, Float64]:
    """Add what unlisted pairs weigh inside of nodes, and between nodes that have a row; (n_relations,) weights of a pair."""
    far = np.full(len(layout.classes), -np.inf)
    bias, constant = rows.atom_bias.copy(), rows.log_constant
    for at, each in enumerate(layout.classes):
        name = each.relation.predicate
        if name not in unlisted:
            continue
        weight = unlisted[name].weight  # of an atom; a pair of constants has two
        far[at] = 2 * weight
        size = np.bincount(each.node_of, minlength=each.n_nodes)
        own = problem.atoms.range_of(name)
        count = np.bincount(each.atom_row[each.atom_row >= 0], minlength=each.n_rows)[: len(each.pair)]
        whole = 2 * size[each.pair[:, 0]] * size[each.pair[:, 1]]
        bias[int(layout.first_row[at]) : int(layout.first_row[at]) + len(each.pair)] += weight * (whole - count)
        statuses = problem.statuses[name]
        listed = np.concatenate([statuses.code[statuses.status == TRUE], statuses.unrank(np.arange(len(own)))])
        one, other = np.divmod(listed, statuses.sizes[0])
        inside = np.count_nonzero((each.node_of[one] == each.node_of[other]) & (one != other))
        constant += weight * (int((size * (size - 1)).sum()) - inside)
    return frozen(replace(rows, atom_bias=bias, log_constant=constant)), layout, far


def _network(rows: GroundNetwork, layout: _Layout, far_of: Float64) -> PartitionNetwork:
    """Nodes of all relations numbered through, with everything that moves listed."""
    first_node = offsets([each.n_nodes for each in layout.classes])
    n_nodes = int(first_node[-1])
    nothing = np.zeros((0, 2), np.int32)
    pairs = [each.pair + first for each, first in zip(layout.classes, first_node, strict=False)]
    edge = np.concatenate([nothing, *pairs]).astype(np.int32)
    own_rows = [first + np.arange(len(each.pair)) for each, first in zip(layout.classes, layout.first_row, strict=False)]
    edge_row = np.concatenate([np.zeros(0, np.int64), *own_rows]).astype(np.int32)
    self_row = np.full(n_nodes, -1, np.int32)
    for each, node, row in zip(layout.classes, first_node, layout.first_row, strict=False):
        self_row[node + each.own] = row + len(each.pair) + np.arange(len(each.own))
    source, target = np.concatenate([edge[:, 0], edge[:, 1]]), np.concatenate([edge[:, 1], edge[:, 0]])
    order = np.lexsort((target, source))
    near_start = offsets(np.bincount(source, minlength=n_nodes))
    n_each = [each.n_nodes for each in layout.classes]
    far = np.repeat(far_of, n_each)
    sizes = [np.bincount(each.node_of, minlength=each.n_nodes) for each in layout.classes]
    barred = np.concatenate([nothing, *(own.barred + first for own, first in zip(layout.classes, first_node, strict=False))])
    barred = np.concatenate([barred, barred[:, ::-1]])
    barred = barred[np.lexsort((barred[:, 1], barred[:, 0]))]
    single = np.ones(layout.n_other, np.bool_)
    single[rows.group_atom] = False
    single &= np.isfinite(rows.atom_bias[: layout.n_other])
    return frozen(
        PartitionNetwork(
            rows=rows,
            row_of=layout.row_of,
            relations=layout.classes,
            first_node=first_node,
            near_start=near_start,
            near_node=target[order],
            near_row=np.concatenate([edge_row, edge_row])[order],
            self_row=self_row,
            far=far,
            mass=np.concatenate([np.zeros(0, np.int64), *sizes]).astype(np.int64),
            barred_start=offsets(np.bincount(barred[:, 0], minlength=n_nodes)),
            barred_node=barred[:, 1].astype(np.int32),
            node=np.flatnonzero((np.diff(near_start) > 0) | (self_row >= 0) | (far > -np.inf)).astype(np.int32),
            edge=edge,
            site=np.flatnonzero(single).astype(np.int32),
            group=np.arange(rows.n_groups, dtype=np.int32),
        )
    )
