"""The draws and the lines of text that several families share."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from markovlogic.generate.problem_files import FactBlock
from markovlogic.system.arrays import Bool, Int64

CONSTANTS_A_LINE = 10_000  # a rule file has no lines of a megabyte


def type_line(name: str, constant: str, numbers: Int64) -> str:
    """Declare all constants of a type, `person = {P0,P1}`: a constant that no fact names must exist too.

    numbers: (n,) or (n, k), one column for each `%d` of `constant`.
    """
    stretches = [numbers[at : at + CONSTANTS_A_LINE] for at in range(0, len(numbers), CONSTANTS_A_LINE)]
    lines = [",".join([constant] * len(part)) % tuple(part.ravel().tolist()) for part in stretches]
    return f"{name} = {{" + ",\n  ".join(lines) + "}\n"


def how_many(share: float, total: int) -> int:
    """A share of a total, rounded half up."""
    return int(share * total + 0.5)


def known_ones(rng: np.random.Generator, total: int, share: float) -> Int64:
    """A share of 0..total-1, drawn without replacement, sorted; with the same seed a larger share holds the smaller one."""
    count = how_many(share, total)
    if count == 0:
        return np.zeros(0, np.int64)
    return np.sort(rng.permutation(total)[:count])


def known_with_truth(rng: np.random.Generator, total: int, share: float) -> tuple[Int64, Bool]:
    """Like `known_ones`, each with a fair coin; a larger share keeps the coins of the smaller one."""
    count = how_many(share, total)
    drawn = rng.permutation(total)[:count] if count else np.zeros(0, np.int64)
    truth = rng.random(count) < 0.5
    order = np.argsort(drawn)
    return drawn[order], truth[order]


def distinct_others(rng: np.random.Generator, owner: Int64, total: int, count: int) -> Int64:
    """For each owner `count` different numbers of 0..total-1 except itself, (n, count), uniform.

    Floyd's algorithm for all rows at once: at step j draw t from 0..j, take j where t was taken before.
    """
    chosen = np.empty((len(owner), count), np.int64)
    for column, last in enumerate(range(total - 1 - count, total - 1)):
        drawn = rng.integers(0, last + 1, len(owner))
        taken = (chosen[:, :column] == drawn[:, None]).any(axis=1)
        chosen[:, column] = np.where(taken, last, drawn)
    return chosen + (chosen >= owner[:, None])


def facts(atom: str, numbers: Int64, truth: Bool | None = None) -> tuple[FactBlock, ...]:
    """Facts about one predicate, the true ones first; `truth` None means that all are true; empty blocks are left out."""
    numbers = _rows_of(atom, numbers)
    if truth is None:
        blocks = [FactBlock(atom, numbers)]
    else:
        blocks = [FactBlock(atom, numbers[truth]), FactBlock(f"!{atom}", numbers[~truth])]
    return tuple(block for block in blocks if len(block))


def structure(atom: str, numbers: Int64) -> tuple[FactBlock, ...]:
    """True facts of a predicate that is always fully known; without any, one false fact keeps the predicate closed."""
    numbers = _rows_of(atom, numbers)
    if len(numbers):
        return (FactBlock(atom, numbers),)
    return (FactBlock(f"!{atom}", _rows_of(atom, np.zeros(atom.count("%d"), np.int64))),)


def _rows_of(atom: str, numbers: Int64) -> Int64:
    return numbers.reshape(-1, atom.count("%d"))


def random_atoms(rng: np.random.Generator, predicates: Mapping[str, tuple[int, ...]], share: float) -> tuple[FactBlock, ...]:
    """A share of all ground atoms of the predicates together, with fair coins for their truth.

    predicates: atom template to the domain sizes of its arguments. [001] section 5 takes 10 % of the ground atoms so, without
    saying which truth values they get; ours are independent coins.
    """
    totals = [int(np.prod(sizes)) for sizes in predicates.values()]
    chosen, truth = known_with_truth(rng, sum(totals), share)
    blocks: list[FactBlock] = []
    start = 0
    for (atom, sizes), total in zip(predicates.items(), totals, strict=True):
        here = slice(*np.searchsorted(chosen, [start, start + total]))
        blocks += facts(atom, np.stack(np.unravel_index(chosen[here] - start, sizes), axis=1).astype(np.int64), truth[here])
        start += total
    return tuple(blocks)


def weights(rng: np.random.Generator, count: int, low: float = 0.0, high: float = 1.0) -> list[str]:
    """Weights drawn uniformly, as text with four places: the file is the model, so what is written is what counts."""
    return [f"{weight:.4f}" for weight in rng.uniform(low, high, count)]
