"""The arrays that moves read and change."""

from typing import Any, NamedTuple

MOST_AT_ONCE = 5  # nodes that are moved together


class Layout(NamedTuple):
    """What is fixed: rows and clauses, nodes and who may be together. Offsets are int64, numbers int32."""

    bias: Any  # (n_rows,) float64; of pairs, beyond what they would weigh unlisted
    clause_start: Any
    clause_literal: Any
    clause_weight: Any  # (n_clauses,) float64, inf where hard
    row_start: Any  # clauses that hold a row
    incidence: Any  # 2·clause + (1 if the row stands there positively)
    definition_start: Any  # a hidden row n_open + h is true iff one of these literals is
    definition_literal: Any
    use_start: Any  # definitions that hold a row
    use: Any  # 2·h + (1 if positively)
    near_start: Any  # (n_nodes + 1,) nodes that a node may be with, increasing
    near_node: Any
    near_row: Any  # the row that says so
    near_share: Any  # float64, cumulative over all: how often a node draws each of those that it may be with
    ends: Any  # (n_rows, 2) int32 the nodes of a pair's row, -1 for other rows
    self_row: Any  # (n_nodes,) whether a node that is alone is related to itself; -1 where it always is
    far: Any  # (n_nodes,) float64: what each unlisted pair of constants weighs, -inf where they are never together
    mass: Any  # (n_nodes,) int64 constants
    barred_start: Any  # (n_nodes + 1,) nodes that a node is never with, where unlisted pairs may be together
    barred_node: Any
    pool: Any  # (n_nodes, 2) int64: where nodes of the same relation begin and end in `node`
    count_start: Any  # (n_nodes,) int64: where the counts of the node's relation begin
    plain: Any  # (n_nodes,) uint8: no clause holds any of the node's rows
    node: Any  # those that move
    edge: Any  # (n_edges, 2) pairs of nodes that splits and merges are proposed for
    edge_share: Any  # (n_edges,) float64, cumulative: how often each is proposed
    site: Any  # single rows that move
    group_start: Any
    group_row: Any
    group: Any  # those that move


class Chain(NamedTuple):
    """What changes: one chain's world, what its clauses count, its blocks, and room for moves."""

    world: Any  # (n_rows,) uint8
    count: Any  # (n_clauses,) int32 true literals
    defined: Any  # (n_hidden,) int32 true literals of definitions
    block: Any  # (n_nodes,) int32
    size: Any  # (n_nodes,) int32, by block
    free: Any  # (n_nodes,) int32 numbers of blocks that are not in use
    n_free: Any  # (1,) int64
    total: Any  # (1,) float64 what flips have added to the world's log-weight
    broken: Any  # (1,) int64 hard clauses that are false
    stack: Any  # int32
    found: Any  # (n_nodes,) int32, zero between moves
    tally: Any  # (n_nodes,) float64, zero between moves
    option: Any  # (n_nodes + 2,) int32
    weight: Any  # (n_nodes + n_group_rows + 2,) float64
    was: Any  # (n_nodes + MOST_AT_ONCE,) int32: where nodes that are moved together were
    carried: Any  # (n_nodes,) int32 nodes of other relations that a split or merge redraws
    marked: Any  # (n_nodes,) uint8, zero between moves
    side: Any  # (n_nodes,) int8: -1 outside of a split or merge, else 0 or 1
    member: Any  # (n_nodes,) int32
    head: Any  # (n_nodes,) int32, by block: a member; where unlisted pairs may be together
    after: Any  # (n_nodes,) int32 the next member of a node's block
    before: Any
    load: Any  # (n_nodes,) int64, by block: constants of its members
    with_load: Any  # int64: blocks by load, relation by relation; the first entry is the largest load
    n_near: Any  # (1,) int64 blocks that a node has rows with, at the front of `option`
    classes: Any  # (n_nodes + 1,) int64 loads of other blocks
    half: Any  # (2,) int64 constants on the two sides of a split
