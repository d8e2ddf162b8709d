"""Every move leaves the target invariant, to 1e-12: by all worlds and all outcomes of all random decisions.

Worlds are found by trying out all truth values of all rows; their weights come from the definition of the network. The moves are
the kernels' own source.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.partition.followed import Tape, chain_at, outcomes, plain_moves
from tests.partition.models import random_model

import markovlogic as mln
from markovlogic.data.readers import read_evidence
from markovlogic.grounding.ground import ground
from markovlogic.kernels.partition.layout import Chain, Layout
from markovlogic.language.equivalence import equivalences
from markovlogic.methods.partition.layout import layout_of, room_for
from markovlogic.methods.partition.network import PartitionNetwork, partition_network
from markovlogic.problem import pose
from markovlogic.problem.prepare import PreparedProblem

Move = Callable[[dict[str, Any], Layout, Chain, Tape], Any]


def network_of(text: str) -> PartitionNetwork:
    """The network of a model without facts."""
    model = mln.Model.parse(text)
    prepared = PreparedProblem(pose(model, read_evidence(model, ()), list(model.predicates)))
    found = equivalences(model, prepared.lowered)
    return partition_network(prepared.problem, ground(prepared.problem, found.without_axioms(prepared.lowered)), found.relations)


@dataclass(frozen=True, eq=False)
class Target:
    """All possible worlds of a network and how likely they are."""

    network: PartitionNetwork
    world: np.ndarray  # (n, n_rows)
    probability: np.ndarray

    @staticmethod
    def of(network: PartitionNetwork) -> Target:
        rows = network.rows
        moving = np.unique(np.concatenate([network.near_row, network.self_row[network.self_row >= 0], network.site]))
        values = np.array(list(itertools.product((0, 1), repeat=len(moving))), np.uint8).reshape(-1, len(moving))
        world = np.tile(np.where(rows.atom_bias == np.inf, 1, 0).astype(np.uint8), (len(values), 1))
        world[:, moving] = values
        world = world[[_is_partition(network, one) for one in world]]
        for hidden in range(rows.n_hidden):
            literal = rows.definition_literal[rows.definition_start[hidden] : rows.definition_start[hidden + 1]]
            world[:, rows.n_atoms + hidden] = (world[:, literal >> 1] == (literal & 1)).any(axis=1)
        weight = np.where(np.isfinite(rows.atom_bias), rows.atom_bias, 0.0) @ world.T.astype(float)
        weight[(world[:, rows.atom_bias == -np.inf] == 1).any(axis=1)] = -np.inf
        weight[(world[:, rows.atom_bias == np.inf] == 0).any(axis=1)] = -np.inf
        for clause in range(rows.n_clauses):
            literal = rows.clause_literal[rows.clause_start[clause] : rows.clause_start[clause + 1]]
            holds = (world[:, literal >> 1] == (literal & 1)).any(axis=1)
            lost = rows.clause_weight[clause]
            weight = np.where(holds, weight, weight - lost)
        possible = weight > -np.inf
        share = np.exp(weight[possible] - weight[possible].max())
        return Target(network, world[possible], share / share.sum())


def _is_partition(network: PartitionNetwork, world: np.ndarray) -> bool:
    n = network.n_nodes
    same = np.eye(n, dtype=bool)
    node = np.repeat(np.arange(n), np.diff(network.near_start))
    same[node, network.near_node] = world[network.near_row] == 1
    transitive = ((same.astype(int) @ same.astype(int) > 0) <= same).all()
    own = network.self_row >= 0
    related = same.sum(axis=1)[own] > 1
    return bool(transitive and (world[network.self_row[own]] >= related).all())


def moved(target: Target, move: Move, scope: dict[str, Any]) -> np.ndarray:
    """The distribution after one move from the target."""
    net, room = layout_of(target.network), room_for(target.network, 1)
    number = {world.tobytes(): at for at, world in enumerate(target.world)}
    after = np.zeros(len(target.world))

    def run(start: np.ndarray, tape: Tape) -> int:
        chain = chain_at(room)
        chain.world[:] = start
        scope["begin"](net, chain)
        move(scope, net, chain, tape)
        assert chain.broken[0] == 0 and (chain.side == -1).all() and not chain.found.any()
        blocks = chain.block.copy()
        scope["begin"](net, chain)  # blocks follow from the world
        assert len(set(zip(blocks.tolist(), chain.block.tolist(), strict=True))) == len(set(blocks.tolist()))
        return number[chain.world.tobytes()]

    for at, start in enumerate(target.world):
        for chance, where in outcomes(lambda tape, start=start: run(start, tape)):  # type: ignore[misc]
            after[where] += target.probability[at] * chance
    return after


def distance(target: Target, move: Move, **changed: Any) -> float:
    return float(np.abs(moved(target, move, plain_moves(**changed)) - target.probability).max())


def node_move(node: int) -> Move:
    return lambda scope, net, chain, tape: scope["move_node"](net, chain, node, tape)


def several_move(*nodes: int) -> Move:
    def move(scope: dict[str, Any], net: Layout, chain: Chain, tape: Tape) -> None:
        chain.member[: len(nodes)] = nodes
        scope["move_several"](net, chain, len(nodes), tape)

    return move


def edge_move(edge: np.ndarray, scans: int) -> Move:
    return lambda scope, net, chain, tape: scope["split_or_merge"](net, chain, int(edge[0]), int(edge[1]), scans, tape)


def models(*seeds: int) -> list[PartitionNetwork]:
    """Networks of random models of four records: pairs, and one more atom for each record."""
    made = []
    for seed in seeds:
        text, _, _ = random_model(np.random.default_rng(seed), n=4)
        lines = text.replace("Sim(x, y)", "x != y").splitlines()
        left = (line for line in lines if not any(word in line for word in ("Kind", "Alike", "Of(", "Sim", "Cand")))
        made.append(network_of("\n".join(left) + "\n"))
    return made


WITHOUT_REFLEXIVITY = """r = {A, B, C}
Same(r, r)
Good(r)
Same(x, y) => Same(y, x).
Same(x, y) ^ Same(y, z) => Same(x, z).
0.8 Same(x, x) => Good(x)
-0.5 Same(x, y) ^ Good(x) ^ x != y
1.1 Good(A) <=> (EXIST y (Same(A, y) ^ Good(y)))
Same(A, B) ^ Good(A) => Good(B).
"""
SMALL = [*models(13, 6, 14), network_of(WITHOUT_REFLEXIVITY)]


@pytest.mark.parametrize("at", range(len(SMALL)))
def test_single_moves(at: int) -> None:
    target = Target.of(SMALL[at])
    assert distance(target, node_move(at % 3)) < 1e-12
    assert distance(target, several_move(0, 1) if at else several_move(2, 0, 1)) < 1e-12
    for row in SMALL[at].site[:1]:
        assert distance(target, lambda scope, net, chain, tape: scope["move_site"](net, chain, row, tape)) < 1e-12  # noqa: B023


@pytest.mark.parametrize("at", range(len(SMALL)))
@pytest.mark.parametrize("scans", [-1, 0, 1])
def test_splits_and_merges(at: int, scans: int) -> None:
    target = Target.of(SMALL[at])
    assert distance(target, edge_move(SMALL[at].edge[at % 3], scans)) < 1e-12


SIX = """r = {A, B, C, D, E, F}
Same(r, r)
Same(x, x).
Same(x, y) => Same(y, x).
Same(x, y) ^ Same(y, z) => Same(x, z).
!Same(A, F).
!Same(B, E).
0.7 Same(A, B) ^ Same(B, C) => Same(C, D)
-0.4 Same(x, y) ^ Same(y, z) ^ x != y ^ y != z ^ x != z
0.9 Same(A, B)
-0.6 Same(C, D)
0.3 Same(E, F) v Same(A, D)
"""


def test_six_records() -> None:
    """With pairs that are impossible; for splits, a launch is fixed: detailed balance holds for each."""
    network = network_of(SIX)
    target = Target.of(network)
    assert len(target.world) > 70
    assert distance(target, node_move(2)) < 1e-12
    assert distance(target, several_move(0, 5)) < 1e-12  # who may not be together

    def given_launch(net: Any, chain: Any, first: int, second: int, n: int, scans: int, tape: Tape) -> None:
        for i in range(n):
            chain.side[chain.member[i]] = chain.member[i] % 2
        scope["flip_across"](net, chain, first, second, n)

    scope = plain_moves(launch=given_launch)
    edge = next(edge for edge in network.edge if tuple(edge) == (1, 2))
    assert np.abs(moved(target, edge_move(edge, 1), scope) - target.probability).max() < 1e-12


def wrong_acceptance(chain: Any, ratio: float, tape: Tape) -> bool:
    """A twin of `accepts` that forgets a little of the ratio."""
    return bool(plain_moves()["accepts"](chain, ratio * 0.99, tape))


def test_the_check_notices_a_wrong_acceptance() -> None:
    found = [distance(Target.of(network), edge_move(network.edge[0], -1), accepts=wrong_acceptance) for network in SMALL[::3]]
    assert min(found) > 1e-6


def test_the_check_notices_a_weight_that_is_left_out() -> None:
    def careless(net: Any, chain: Any, node: int, n: int) -> None:
        plain_moves()["weigh_options"](net, chain, node, n)
        chain.weight[n] += 1e-3

    assert min(distance(Target.of(network), node_move(0), weigh_options=careless) for network in SMALL[::3]) > 1e-6


TWO = """r = {A, B, C}
s = {S, T, U}
Same(r, r)
Alike(s, s)
Same(x, x).
Same(x, y) => Same(y, x).
Same(x, y) ^ Same(y, z) => Same(x, z).
Alike(x, x).
Alike(x, y) => Alike(y, x).
Alike(x, y) ^ Alike(y, z) => Alike(x, z).
2.2 Same(A, B) => Alike(S, T)
1.7 Alike(S, T) => Same(A, B)
0.9 Same(B, C) ^ Same(A, B) => Alike(T, U)
-0.3 Same(x, y)
-0.2 Alike(x, y)
"""
TIED = [network_of(TWO), network_of(TWO.replace("2.2 Same(A, B) => Alike(S, T)", "Same(A, B) => Alike(S, T)."))]


@pytest.mark.parametrize("scans", [-1, 0, 1])
@pytest.mark.parametrize("network", TIED)
def test_blocks_carry_other_relations_along(network: PartitionNetwork, scans: int) -> None:
    target = Target.of(network)
    edge = next(edge for edge in network.edge if tuple(edge) == (0, 1))

    def carried(scope: dict[str, Any], net: Layout, chain: Chain, tape: Tape) -> None:
        scope["carry"](net, chain, int(edge[0]), int(edge[1]), scans, tape)
        assert not chain.marked.any()

    after = moved(target, carried, plain_moves())
    assert np.abs(after - target.probability).max() < 1e-12
    wrong = moved(target, carried, plain_moves(accepts=wrong_acceptance))
    assert np.abs(wrong - target.probability).max() > 1e-6
