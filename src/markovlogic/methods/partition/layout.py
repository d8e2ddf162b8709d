"""A network's arrays as the kernels read them, and room for chains."""

from __future__ import annotations

import numpy as np

from markovlogic.kernels.partition.layout import MOST_AT_ONCE, Chain, Layout
from markovlogic.methods.partition.network import PartitionNetwork
from markovlogic.networks.ground import signed_atom_rows
from markovlogic.system.arrays import Float64, Int32, Int64, frozen, offsets

EVEN = 0.1  # share of proposals for all pairs alike: where their own log-odds decide them, other clauses may decide otherwise
LEAST_LIKELY = 0.02  # of a pair, where nodes are drawn that move together


def layout_of(network: PartitionNetwork) -> Layout:
    """What is fixed."""
    rows = network.rows
    row_start, clause, positive = signed_atom_rows(rows.clause_start, rows.clause_literal, rows.n_all)
    use_start, use, used = signed_atom_rows(rows.definition_start, rows.definition_literal, rows.n_all)
    busy = (np.diff(row_start) > 0) | (np.diff(use_start) > 0)
    counts = np.bincount(
        np.repeat(np.arange(network.n_nodes), np.diff(network.near_start)), busy[network.near_row], minlength=network.n_nodes
    )
    own = network.self_row >= 0
    counts[own] += busy[network.self_row[own]]
    return frozen(
        Layout(
            bias=network.pair_bias,
            clause_start=rows.clause_start,
            clause_literal=rows.clause_literal,
            clause_weight=rows.clause_weight,
            row_start=row_start,
            incidence=2 * clause.astype(np.int64) + positive,
            definition_start=rows.definition_start,
            definition_literal=rows.definition_literal,
            use_start=use_start,
            use=2 * use.astype(np.int64) + used,
            near_start=network.near_start,
            near_node=network.near_node,
            near_row=network.near_row,
            near_share=np.cumsum(LEAST_LIKELY + _likely(rows.atom_bias[network.near_row])),
            ends=_ends(network),
            self_row=network.self_row,
            far=network.far,
            mass=network.mass,
            barred_start=network.barred_start,
            barred_node=network.barred_node,
            pool=_pools(network),
            count_start=_count_start(network),
            plain=(counts == 0).astype(np.uint8),
            node=network.node,
            edge=network.edge,
            edge_share=np.cumsum(_proposed(uncertainty(network))),
            site=network.site,
            group_start=rows.group_start,
            group_row=rows.group_atom,
            group=network.group,
        )
    )


def _ends(network: PartitionNetwork) -> Int32:
    """(n_all, 2) the nodes of each pair's row, -1 for other rows."""
    made = np.full((network.n_all, 2), -1, np.int32)
    low, high, row = network.pairs
    made[row, 0], made[row, 1] = low, high
    return made


def _pools(network: PartitionNetwork) -> Int64:
    """(n_nodes, 2) where the moving nodes of each node's relation lie among all that move."""
    relation = np.searchsorted(network.first_node, np.arange(network.n_nodes), side="right") - 1
    edges = np.searchsorted(network.node, network.first_node)
    return np.stack([edges[relation], edges[relation + 1]], axis=1).astype(np.int64)


def _count_start(network: PartitionNetwork) -> Int64:
    """Where each node's relation counts its blocks by load: one place for each load, and one for the largest of them."""
    relation = np.searchsorted(network.first_node, np.arange(network.n_nodes), side="right") - 1
    load = offsets(network.mass)[network.first_node]
    return (load[relation] + relation).astype(np.int64)


def edge_bias(network: PartitionNetwork) -> Float64:
    """Log-odds that unit clauses give to each pair of `edge`."""
    n = network.n_nodes
    node = np.repeat(np.arange(n, dtype=np.int64), np.diff(network.near_start))
    at = np.searchsorted(node * n + network.near_node, network.edge[:, 0].astype(np.int64) * n + network.edge[:, 1])
    return network.rows.atom_bias[network.near_row[at]]


def _likely(log_odds: Float64) -> Float64:
    return 1 / (1 + np.exp(-np.clip(log_odds, -50, 50)))


def _proposed(uncertain: Float64) -> Float64:
    """How often each pair is proposed, as weights above 0."""
    return (1 - EVEN) * uncertain + (EVEN * float(uncertain.mean()) if len(uncertain) else 0.0) + 1e-12


def uncertainty(network: PartitionNetwork) -> Float64:
    """4p(1 − p) of each pair by its own log-odds: splits and merges of pairs that are nearly certain would be refused."""
    likely = _likely(edge_bias(network))
    return 4 * likely * (1 - likely)


def room_for(network: PartitionNetwork, n_chains: int) -> Chain:
    """Arrays for so many chains, one row each; they are not backed by memory before they are written."""
    rows, n_nodes = network.rows, network.n_nodes
    largest_group = int(np.diff(rows.group_start).max(initial=0))
    return Chain(
        world=np.zeros((n_chains, rows.n_all), np.uint8),
        count=np.zeros((n_chains, rows.n_clauses), np.int32),
        defined=np.zeros((n_chains, rows.n_hidden), np.int32),
        block=np.zeros((n_chains, n_nodes), np.int32),
        size=np.zeros((n_chains, n_nodes), np.int32),
        free=np.zeros((n_chains, n_nodes + 1), np.int32),
        n_free=np.zeros((n_chains, 1), np.int64),
        total=np.zeros((n_chains, 1), np.float64),
        broken=np.zeros((n_chains, 1), np.int64),
        stack=np.zeros((n_chains, len(rows.definition_literal) + 1), np.int32),
        found=np.zeros((n_chains, n_nodes), np.int32),
        tally=np.zeros((n_chains, n_nodes), np.float64),
        option=np.zeros((n_chains, n_nodes + 2), np.int32),
        weight=np.zeros((n_chains, max(n_nodes, largest_group) + 2), np.float64),
        was=np.zeros((n_chains, n_nodes + MOST_AT_ONCE + 1), np.int32),
        carried=np.zeros((n_chains, n_nodes), np.int32),
        marked=np.zeros((n_chains, n_nodes), np.uint8),
        side=np.zeros((n_chains, n_nodes), np.int8),
        member=np.zeros((n_chains, max(n_nodes, MOST_AT_ONCE + 1)), np.int32),
        head=np.zeros((n_chains, n_nodes), np.int32),
        after=np.zeros((n_chains, n_nodes), np.int32),
        before=np.zeros((n_chains, n_nodes), np.int32),
        load=np.zeros((n_chains, n_nodes), np.int64),
        with_load=np.zeros((n_chains, int(network.mass.sum()) + len(network.relations) + 1), np.int32),
        n_near=np.zeros((n_chains, 1), np.int64),
        classes=np.zeros((n_chains, n_nodes + 1), np.int64),
        half=np.zeros((n_chains, 2), np.int64),
    )


def chain_bytes(network: PartitionNetwork) -> int:
    """Bytes that the room of one chain takes."""
    return sum(array.nbytes for array in room_for(network, 1))
