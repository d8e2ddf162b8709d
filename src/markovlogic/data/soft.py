"""Soft evidence: what a probability or a weight adds to the logarithm of a world's weight where its atom is true.

An atom with probability p gets its log-odds log p/(1-p). In an exclusive group exactly one value is true, so a value with
probability p adds log p, and values that no fact lists share what is left to one. A weight adds itself in both cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from markovlogic.data.blocks import Block, SoftColumn
from markovlogic.data.evidence import FALSE, SOFT, TRUE, UNKNOWN, Facts, codes, decode
from markovlogic.data.exclusive import atoms_of_groups, group_of
from markovlogic.errors import MOST_SHOWN
from markovlogic.language.syntax import Predicate
from markovlogic.system.arrays import Bool, Float64, Int8, Int64, all_but, each_once

TOLERANCE = 0.01  # probabilities of a group may miss one by so much: people round them

Complain = Callable[[int, str, str], None]  # row of the gathered soft facts, message, hint


def from_probability(predicate: Predicate, truth: Int8, probability: Float64) -> SoftColumn | None:
    """The column of facts with probabilities between 0 and 1 where their truth is SOFT; None where none is."""
    if not np.any(truth == SOFT):
        return None
    p = np.where(truth == SOFT, probability, 0.5)
    if any(predicate.exclusive):
        return SoftColumn(np.log(p), is_share=True)
    return SoftColumn(np.log(p) - np.log1p(-p), is_share=False)


def from_number(predicate: Predicate, truth: Int8, number: Float64) -> SoftColumn | None:
    """The column of facts with numbers before them: probabilities, or the predicate's own."""
    if predicate.is_real:
        return SoftColumn(number, is_share=False)
    return from_probability(predicate, truth, number)


def shown(value: float, is_share: bool, exclusive: bool) -> str:
    """A soft fact's number as its user wrote it, or nearly so."""
    if exclusive and not is_share:
        return f"weight {value:.6g}"
    return f"{np.exp(value) if is_share else 1 / (1 + np.exp(-value)):.6g}"


class SoftRows:
    """The soft facts about one predicate, gathered from all blocks and sorted by code, in reading order where codes repeat."""

    def __init__(self, blocks: Sequence[Block], sizes: tuple[int, ...]) -> None:
        parts: list[tuple[Int64, Float64, Bool, Int64, Int64]] = []
        for block in blocks:
            if block.soft is None:
                continue
            rows = np.flatnonzero(block.truth == SOFT)
            n = len(rows)
            is_share = np.full(n, block.soft.is_share)
            line, source = block.line[rows].astype(np.int64), np.full(n, block.source, np.int64)
            parts.append((codes(block.args[rows], sizes), block.soft.value[rows], is_share, source, line))
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        self.code, self.value, self.is_share, self.source, self.line = (column[order] for column in columns)

    def without_repeats(self, complain: Callable[[int, int], None]) -> Int64:
        """Rows of which each atom has one; the others are told as pairs (earlier, later)."""
        again = np.flatnonzero(self.code[1:] == self.code[:-1]) + 1
        for row in again[:MOST_SHOWN].tolist():
            complain(row - 1, row)
        return all_but(len(self.code), again)


def with_shared_rest(
    predicate: Predicate, facts: Facts, is_share: Bool, sizes: tuple[int, ...], complain: Callable[[Int64, str, str], None]
) -> Facts:
    """Facts with a row for every open value of groups that probabilities were given for; unlisted ones share the rest.

    is_share: which facts are such probabilities. complain gets the codes of a group's soft facts, what is wrong, and advice.
    """
    assert facts.log_odds is not None
    code = codes(facts.args, sizes)
    group = group_of(facts.args, sizes, predicate.exclusive)
    groups = each_once(group[is_share])
    of_group = np.searchsorted(groups, group[is_share])
    total = np.bincount(of_group, np.exp(facts.log_odds[is_share]), minlength=len(groups))

    atoms = atoms_of_groups(groups, sizes, predicate.exclusive)
    at = np.minimum(np.searchsorted(code, atoms), len(code) - 1)
    is_listed = code[at] == atoms
    has_number = np.zeros(len(code), bool)
    has_number[is_share] = True
    is_free = ~is_listed | ((facts.truth[at] == UNKNOWN) & ~has_number[at])
    has_weight = (is_listed & ~has_number[at] & (facts.log_odds[at] != 0)).any(axis=1)
    n_free, rest = is_free.sum(axis=1), 1.0 - total
    wrong = has_weight | (rest < -TOLERANCE) | ((n_free == 0) & (rest > TOLERANCE))
    for row in np.flatnonzero(wrong)[:MOST_SHOWN].tolist():
        own = code[is_share][of_group == row]
        if has_weight[row]:
            complain(own, "some values of this group have probabilities, others weights", "give one kind for a whole group")
        else:
            left = "" if rest[row] < 0 else ", and no value is left to share the rest"
            complain(own, f"the probabilities of this group sum to {total[row]:.6g}{left}", "expected a sum of 1, or less")

    rest = np.maximum(rest, 0.0)
    with np.errstate(divide="ignore"):
        share = np.log(rest) - np.log(np.maximum(n_free, 1))
    new_code = atoms[is_free]
    new_share = np.broadcast_to(share[:, None], atoms.shape)[is_free]
    kept = ~np.isin(code, new_code)
    all_code = np.concatenate([code[kept], new_code])
    order = np.argsort(all_code, kind="stable")
    possible = np.isfinite(new_share)
    truth = np.concatenate([facts.truth[kept], np.where(possible, UNKNOWN, FALSE).astype(np.int8)])
    added = np.concatenate([facts.log_odds[kept], np.where(possible, new_share, 0.0)])
    return Facts(decode(all_code[order], sizes), truth[order], added[order])


def truth_and_weight(weight: Float64) -> Int8:
    """Truth of facts given by their weight: infinite ones are certain."""
    return np.where(np.isfinite(weight), SOFT, np.where(weight > 0, TRUE, FALSE)).astype(np.int8)
