"""Candidates from below: ground paths from true and false atoms of a head, with constants turned into variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from markovlogic.kernels.paths import CONSTANT, MEMBER, NOTHING, OPEN, sample_ends, sample_paths
from markovlogic.kernels.random import scalar_generator
from markovlogic.paths.rules import FIRST, PAIRS, SECOND, PathRule, Target
from markovlogic.system.arrays import Bool, Int64
from markovlogic.system.cancellation import Deadline

BATCH = 2_000  # atoms of a round of samples
FEWEST_ROUNDS, MOST_ROUNDS = 6, 20
SAMPLES_A_FACT = 100
FALSE_SHARE = 0.5  # of the samples: what speaks against the head is found at false atoms
LEAST_HITS = 2  # samples in which a candidate was met
SHAPES = (PAIRS, FIRST, SECOND)


def sampled(target: Target, length: int, most: int, seed: Sequence[int], deadline: Deadline) -> list[PathRule]:
    """At most so many candidate bodies of each shape and so many literals: those met most unevenly at true and false atoms.

    Where time is limited these come first, and then those that are tried unmet.
    """
    if not len(target.first):
        return []
    rng = np.random.default_rng(list(seed))
    generator = scalar_generator(np.random.SeedSequence(list(seed)))
    rows = [np.zeros((0, 5 + length), np.int64)]
    for turn in range(min(max(SAMPLES_A_FACT * len(target.first) // BATCH, FEWEST_ROUNDS), MOST_ROUNDS)):
        if turn and deadline.over:
            break
        first, second, true = _atoms(target, rng)
        lengths = 1 + rng.integers(0, length, len(first))
        if target.is_pair:
            rows.append(_paths(target, first, second, true, lengths, length, generator))
        for side in (FIRST, SECOND) if target.is_pair else (FIRST,):
            rows += _ends(target, side, first, second, true, np.maximum(lengths - 1, 1), length, generator)
    found = np.concatenate(rows)
    weights = rng.integers(1, 2**62, found.shape[1] - 1)
    _, at, of, hits = np.unique(found[:, 1:] @ weights, return_index=True, return_inverse=True, return_counts=True)
    true_hits = np.bincount(of, found[:, 0])
    uneven = abs(2 * true_hits - hits) / np.sqrt(hits + 1)
    found = found[:, 1:]
    met: list[PathRule] = []
    for shape in range(len(SHAPES)):
        own = np.flatnonzero((hits >= LEAST_HITS) & (found[at, 0] == shape))
        own = own[np.argsort(-uneven[own], kind="stable")][:most]
        met += [_rule(row) for row in found[at[own]].tolist()]
    made = [*_sets_at(target), *_single(target), *met] if deadline.left is None else [*met, *_sets_at(target), *_single(target)]
    return [rule for rule in dict.fromkeys(made) if rule.shape != PAIRS or says_more(rule.path, (2 * target.number,))]


def _rule(row: Sequence[int]) -> PathRule:
    shape, end, what, constant, *path = row
    return PathRule(SHAPES[shape], tuple(step for step in path if step >= 0), end, what, constant)


def _atoms(target: Target, rng: np.random.Generator) -> tuple[Int64, Int64, Bool]:
    """Arguments of true atoms, and of others that share an argument with one; which ones are true."""
    at = rng.integers(0, len(target.first), BATCH)
    first, second = target.first[at], target.second[at]
    false = rng.random(BATCH) < FALSE_SHARE
    if not target.is_pair:
        nodes = target.graph.nodes(target.head.types[0])
        first = np.where(false, nodes[rng.integers(0, len(nodes), BATCH)], first)
        return first, second, np.isin(first, target.first)
    side = rng.random(BATCH) < 0.5
    other = rng.integers(0, len(target.first), BATCH)
    first = np.where(false & side, target.first[other], first)
    second = np.where(false & ~side, target.second[other], second)
    same = target.graph.database[first] == target.graph.database[second]
    first, second = first[same], second[same]
    n = target.graph.n_nodes
    return first, second, np.isin(first * n + second, target.first * n + target.second)


def _paths(target: Target, first: Int64, second: Int64, true: Bool, lengths: Int64, length: int, generator: object) -> Int64:
    found = np.full((100 * len(first), length + 1), NOTHING)
    n = sample_paths(target.graph.net, first, second, target.number, lengths, generator, found)
    head = np.tile([SHAPES.index(PAIRS), OPEN, NOTHING, NOTHING], (n, 1))
    return np.column_stack([true[found[:n, -1]], head, found[:n, :-1]])


def _ends(
    target: Target, side: str, first: Int64, second: Int64, true: Bool, lengths: Int64, length: int, generator: object
) -> Iterator[Int64]:
    """Walks from one argument, with all that may be said of their end, and with the other argument as it was."""
    net = target.graph.net
    start, other = (first, second) if side == FIRST else (second, first)
    found = np.full((len(first), length + 1), NOTHING)
    sample_ends(net, start, other, target.own_relation, side == SECOND, lengths, generator, found)
    there = found[:, -1] >= 0
    path, node, other, true = found[there, :-1], found[there, -1], other[there], true[there]

    def rows(path: Int64, end: int, what: Int64 | int, constant: Int64 | int, true: Bool) -> Int64:
        made = np.empty((len(path), 4), np.int64)
        made[:, 0], made[:, 1], made[:, 2], made[:, 3] = SHAPES.index(side), end, what, constant
        return np.column_stack([true, made, path])

    constants: list[Int64 | int] = [NOTHING, net.label[other]] if target.is_pair else [NOTHING]
    for constant in constants:
        yield rows(path, OPEN, NOTHING, constant, true)
        yield rows(path, CONSTANT, net.label[node], constant, true)
        for number in range(len(net.member)):
            own = net.member[number, node]
            yield rows(path[own], MEMBER, number, constant if isinstance(constant, int) else constant[own], true[own])
    if target.is_pair:
        yield rows(np.full_like(path, NOTHING), OPEN, NOTHING, net.label[other], true)


def says_more(path: tuple[int, ...], head: tuple[int, ...]) -> bool:
    """Whether a path is neither the head nor, but for a way there and back along one relation, another path.

    `E(x, z) ^ D(w, z) ^ D(w, y)` is left to `E(x, y)`, which holds there; with the head in place of E it says who is alike.
    """
    shorter = [path[:at] + path[at + 2 :] for at in range(len(path) - 1) if path[at] == path[at + 1] ^ 1]
    return path != head and all(rest in (head, ()) for rest in shorter)


def _single(target: Target) -> Iterator[PathRule]:
    """Every relation between the two arguments: what excludes the head is seldom met from below."""
    for number, relation in enumerate(target.graph.relations):
        for backward in (0, 1):
            types = relation.types[::-1] if backward else relation.types
            if target.is_pair and types == target.head.types:
                yield PathRule(PAIRS, (2 * number + backward,))


def _sets_at(target: Target) -> Iterator[PathRule]:
    """Sets that a constant itself may be in: there are few."""
    for number, own in enumerate(target.graph.sets):
        for at, side in enumerate((FIRST, SECOND) if target.is_pair else (FIRST,)):
            if own.types[0] == target.head.types[at] and number != target.own_set and target.graph.net.member[number].any():
                yield PathRule(side, (), MEMBER, number)
