"""Independent parts of a network of pairs: what no pair, clause, exclusive group or definition connects."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from markovlogic.methods.partition.network import PartitionNetwork
from markovlogic.networks.components import components, connected_parts
from markovlogic.networks.ground import atom_rows
from markovlogic.system.arrays import Bool, Int32, frozen, offsets


@dataclass(frozen=True, eq=False)
class Parts:
    """The part of every row, node and clause."""

    n_parts: int
    of_row: Int32  # (n_all,)
    of_node: Int32  # (n_nodes,)
    of_clause: Int32  # (n_clauses,)
    moves: Bool  # (n_parts,) whether anything in it does


def parts_of(network: PartitionNetwork) -> Parts:
    """Rows hang together by clauses, groups and definitions; a pair's row hangs on both of its nodes."""
    rows, n_nodes = network.rows, network.n_nodes
    tied = components(rows)
    first_part = rows.n_all + n_nodes
    node = rows.n_all + np.repeat(np.arange(n_nodes), np.diff(network.near_start))
    alone = np.flatnonzero(network.self_row >= 0)
    source = np.concatenate([np.arange(rows.n_all), network.near_row, network.self_row[alone]])
    target = np.concatenate([first_part + tied.component_of, node, rows.n_all + alone])
    if network.has_far and network.ties:  # each node to the next one of its relation
        far = np.flatnonzero(network.far > -np.inf)
        far = far[~np.isin(far, network.first_node)]
        source, target = np.append(source, rows.n_all + far), np.append(target, rows.n_all + far - 1)
    count, label = connected_parts(first_part + tied.n_components, source.astype(np.int32), target.astype(np.int32))
    of_row = label[: rows.n_all]
    of_node = label[rows.n_all : first_part]
    first = rows.clause_literal[rows.clause_start[:-1]] >> 1
    moves = np.zeros(count, np.bool_)
    moves[of_node[network.node]] = True
    moves[of_row[network.site]] = True
    moves[of_row[rows.group_atom[rows.group_start[:-1]]]] = True
    return frozen(Parts(count, of_row, of_node, of_row[first], moves))


def only(network: PartitionNetwork, parts: Parts, wanted: Bool) -> PartitionNetwork:
    """The same rows, of which only those of some parts move; clauses of the others are gone. wanted: (n_parts,)."""
    if wanted.all():
        return network
    rows = network.rows
    kept = wanted[parts.of_clause]
    length = np.diff(rows.clause_start)
    start = offsets(length[kept])
    literal = rows.clause_literal[np.repeat(kept, length)]
    atom_start, atom_clause = atom_rows(start, literal, rows.n_all)
    hard_rule = rows.hard_rule[kept[rows.n_soft :][: len(rows.hard_rule)]]
    fewer = replace(
        rows,
        clause_start=start,
        clause_literal=literal,
        clause_weight=rows.clause_weight[kept],
        atom_start=atom_start,
        atom_clause=atom_clause,
        hard_rule=hard_rule,
    )
    first_of_group = rows.group_atom[rows.group_start[:-1]]
    return frozen(
        replace(
            network,
            rows=fewer,
            node=network.node[wanted[parts.of_node[network.node]]],
            edge=network.edge[wanted[parts.of_node[network.edge[:, 0]]]],
            site=network.site[wanted[parts.of_row[network.site]]],
            group=network.group[wanted[parts.of_row[first_of_group[network.group]]]],
        )
    )
