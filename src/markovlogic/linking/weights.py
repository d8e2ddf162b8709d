"""What each level of agreement says: a mixture of pairs that are the same and pairs that are not, learned by EM.

Levels of different columns may depend on each other (a full name holds the surname). So that such agreement counts once, the
distributions over levels are forests: a column's levels may depend on those of one other column, where the data show that they
do. Pairs outside of the blocking take part through a random sample, so that the shares are those of all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from markovlogic.linking.comparisons import DIFFERS, MISSING
from markovlogic.linking.labels import DIFFERENT, SAME, UNKNOWN
from markovlogic.system.arrays import Float64, Int8, Int64

ROUNDS = 200
SETTLED = 1e-4  # the largest change of a pair's probability
SMOOTHING = 5.0  # pairs by which a level is drawn to what it would be without its parent
LARGEST = 12.0  # log-odds of one level
GUESSED = 4.0  # pairs that the first guess of what pairs that are the same look like is worth
MOST_STEPS = 2_000_000_000  # pairs of columns, times patterns, by which dependence is judged
FEW = 0.5  # pairs that each level has beforehand


@dataclass(frozen=True, eq=False)
class Patterns:
    """Distinct rows of levels, and how many pairs show each."""

    level: Int8  # (n_patterns, n_columns)
    candidates: Float64  # (n_patterns,) pairs of the blocking of which nothing is known
    known_same: Float64  # (n_patterns,) candidates that labels call the same
    known_different: Float64
    others: Float64  # (n_patterns,) pairs outside of it, estimated by a sample
    sample_weight: float  # pairs outside of the blocking for each that was sampled; at least 1
    n_records: int
    n_levels: tuple[int, ...]
    first_equal: tuple[int, ...]  # of each column's levels

    @property
    def total(self) -> Float64:
        """All pairs that show each pattern."""
        return self.candidates + self.known_same + self.known_different + self.others

    def divided(self, probability: Float64) -> tuple[Float64, Float64]:
        """Pairs that are the same and pairs that are not; those outside of the blocking are taken for different."""
        same = self.candidates * probability
        return same + self.known_same, self.candidates - same + self.known_different + self.others

    def group(self, at: int) -> Int64:
        """What a column says to columns that depend on it: missing, differs, near or equal."""
        return group_of(self.n_levels[at], self.first_equal[at])[self.level[:, at]]


@dataclass(frozen=True, eq=False)
class Weights:
    """Log-odds that a pair is the same: `prior`, and for each column a table over its parent's levels and its own."""

    prior: float
    parent: tuple[int, ...]  # -1: none
    first_equal: tuple[int, ...]
    table: tuple[Float64, ...]  # (4 groups of the parent's levels or 1, n_levels)
    same: tuple[Float64, ...]  # the distributions of the two kinds of pairs, of the same shapes
    different: tuple[Float64, ...]
    matches: float  # pairs that are the same, as expected
    rounds: int
    prior_stderr: float = np.nan
    stderr: tuple[Float64, ...] = ()  # of `table`, as if pairs were independent

    def score(self, level: Int8) -> Float64:
        """Log-odds of each row of levels."""
        made = np.full(len(level), self.prior)
        for at, table in enumerate(self.table):
            made += table[self.group(level, at), level[:, at]]
        return made

    def places(self, level: Int8) -> tuple[Int64, Int64]:
        """Where each table begins among the cells of all, and (n_rows, n_columns) the cells that each row reads."""
        first = np.concatenate([[0], np.cumsum([table.size for table in self.table])])[:-1].astype(np.int64)
        read = [first[at] + self.group(level, at) * table.shape[1] + level[:, at] for at, table in enumerate(self.table)]
        return first, np.stack(read, axis=1)

    def group(self, level: Int8, at: int) -> Int64:
        """For each row the group of the parent's level, by which a column's table is read."""
        above = self.parent[at]
        if above < 0:
            return np.zeros(len(level), np.int64)
        return group_of(self.table[above].shape[1], self.first_equal[above])[level[:, above]]


def group_of(n_levels: int, first_equal: int) -> Int64:
    """The group of each level."""
    level = np.arange(n_levels)
    return np.where(level >= first_equal, 3, np.minimum(level, 2))


def patterns_of(
    candidates: Int8,
    known: Int8,
    sample: Int8,
    n_others: float,
    n_records: int,
    n_levels: Sequence[int],
    first_equal: Sequence[int],
) -> Patterns:
    """Count rows of levels; `sample` stands for `n_others` pairs outside of the candidates."""
    both = np.concatenate([candidates, sample])
    code = np.zeros(len(both), np.int64)
    for at, number in enumerate(n_levels):
        if code.max(initial=0) > 2**62 // number:
            code = np.unique(code, return_inverse=True)[1].astype(np.int64)
        code = code * number + both[:, at]
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    n = len(first)
    pattern = inverse[: len(candidates)]
    inside = [np.bincount(pattern[known == kind], minlength=n).astype(np.float64) for kind in (UNKNOWN, SAME, DIFFERENT)]
    each = n_others / max(len(sample), 1)
    outside: Float64 = each * np.bincount(inverse[len(candidates) :], minlength=n).astype(np.float64)
    unknown, same, different = inside
    return Patterns(
        both[first], unknown, same, different, outside, max(1.0, each), n_records, tuple(n_levels), tuple(first_equal)
    )


def learn(patterns: Patterns, *, forest: bool = True) -> Weights:
    """EM: first with independent columns, then with the forest that their dependence needs."""
    probability = _first_probabilities(patterns)
    none = tuple(-1 for _ in patterns.n_levels)
    weights, probability = _em(patterns, none, probability)
    if not forest:
        return weights
    for _ in range(2):
        parent = dependence_forest(patterns, probability)
        if parent == weights.parent:
            break
        weights, probability = _em(patterns, parent, probability)
    return weights


def first_guesses(patterns: Patterns) -> tuple[Float64, ...]:
    """How pairs that are the same are spread over levels, before anything is learned: most agree, some nearly, few differ."""
    made = []
    for at, number in enumerate(patterns.n_levels):
        level = patterns.level[:, at]
        guess = np.bincount(level, patterns.total, number) + FEW
        guess /= guess.sum()
        present = 1 - guess[MISSING]
        found = np.bincount(level, patterns.total - patterns.others, number) + FEW
        equal = np.arange(number) >= patterns.first_equal[at]
        near = (np.arange(number) > DIFFERS) & ~equal
        for part, mass in ((equal, 0.7), (near, 0.15 if near.any() else 0.0)):
            guess[part] = mass * present * found[part] / found[part].sum()
        guess[DIFFERS] = present - guess[DIFFERS + 1 :].sum()
        made.append(guess)
    return tuple(np.asarray(guess, np.float64) for guess in made)


def first_rate(n_records: int, n_pairs: float) -> float:
    """The share of pairs that are the same where a quarter of the records has a duplicate."""
    return min(0.25, max(n_records, 2) / 4 / max(n_pairs, 1.0))


def _first_probabilities(patterns: Patterns) -> Float64:
    """Of each pattern to be the same, by the first guesses and a quarter of the records having a duplicate."""
    total = patterns.total
    rate = first_rate(patterns.n_records, float(total.sum()))
    score = np.full(len(total), np.log(rate / (1 - rate)))
    for at, (number, guess) in enumerate(zip(patterns.n_levels, first_guesses(patterns), strict=True)):
        level = patterns.level[:, at]
        share = np.bincount(level, total, number) + FEW
        score += np.log(guess[level] / (share / share.sum())[level])
    return sigmoid(score)


def _em(patterns: Patterns, parent: tuple[int, ...], probability: Float64) -> tuple[Weights, Float64]:
    """Expectation and maximisation in turn, until probabilities stay as they are."""
    weights = _maximise(patterns, parent, probability, 0)
    for rounds in range(1, ROUNDS + 1):
        was, probability = probability, sigmoid(weights.score(patterns.level))
        weights = _maximise(patterns, parent, probability, rounds)
        moved = np.abs(probability - was)[patterns.candidates > 0]
        if moved.max(initial=0.0) < SETTLED:
            break
    return weights, probability


def _maximise(patterns: Patterns, parent: tuple[int, ...], probability: Float64, rounds: int) -> Weights:
    """The weights that suit the probabilities best; pairs outside of the blocking are taken for different."""
    same, different = patterns.divided(probability)
    tables, of_same, of_different = [], [], []
    guesses = first_guesses(patterns)
    for at, number in enumerate(patterns.n_levels):
        above = parent[at]
        u = _conditional(patterns, different, at, above, SMOOTHING * patterns.sample_weight, np.full(number, FEW / number))
        m = _conditional(patterns, same, at, above, SMOOTHING, GUESSED * guesses[at])
        # that a value is missing says nothing by itself
        present = 1 - m[:, MISSING]
        m = m * ((1 - u[:, MISSING]) / np.maximum(present, 1e-12))[:, None]
        m[:, MISSING] = u[:, MISSING]
        seen = np.bincount(patterns.level[:, at], patterns.total, number) > 0  # of others nothing is known
        tables.append(np.where(seen, np.clip(np.log(m) - np.log(u), -LARGEST, LARGEST), 0.0))
        of_same.append(m)
        of_different.append(u)
    matches = float(same.sum())
    rate = first_rate(patterns.n_records, float(patterns.total.sum()))
    prior = float(np.log(matches + GUESSED * rate) - np.log(different.sum() + GUESSED * (1 - rate)))
    return Weights(prior, parent, patterns.first_equal, tuple(tables), tuple(of_same), tuple(of_different), matches, rounds)


def _conditional(patterns: Patterns, count: Float64, at: int, above: int, smoothing: float, beforehand: Float64) -> Float64:
    """P(level | level of the parent), drawn a little to P(level)."""
    number = patterns.n_levels[at]
    alone = np.bincount(patterns.level[:, at], count, number) + beforehand
    alone /= alone.sum()
    if above < 0:
        return np.asarray(alone[None, :], np.float64)
    rows = 4
    code = patterns.group(above) * number + patterns.level[:, at]
    joint = np.bincount(code, count, rows * number).reshape(rows, number) + smoothing * alone
    return np.asarray(joint / joint.sum(axis=1, keepdims=True), np.float64)


def dependence_forest(patterns: Patterns, probability: Float64) -> tuple[int, ...]:
    """Parents by the maximum spanning forest over what knowing one column's level says of another's, in either kind of pairs."""
    n_columns = len(patterns.n_levels)
    same, different = patterns.divided(probability)
    step = 1 + n_columns**2 * len(same) // MOST_STEPS  # of very many columns, by some of the patterns
    some = replace(patterns, level=patterns.level[::step])
    gains = []
    for one in range(n_columns):
        for other in range(one):
            gain = sum(_information(some, count[::step], one, other) for count in (same, different))
            gains.append((gain, one, other))
    root = list(range(n_columns))
    edges: list[tuple[int, int]] = []
    for gain, one, other in sorted(gains, reverse=True):
        if gain < 0.02:
            break
        a, b = _root(root, one), _root(root, other)
        if a != b:
            root[a] = b
            edges.append((one, other))
    parent = [-1] * n_columns
    seen: set[int] = set()
    for start in range(n_columns):
        stack = [start] if start not in seen else []
        seen.update(stack)
        while stack:
            node = stack.pop()
            for one, other in edges:
                for near, far in ((one, other), (other, one)):
                    if near == node and far not in seen:
                        parent[far] = node
                        seen.add(far)
                        stack.append(far)
    return tuple(parent)


def _root(root: list[int], at: int) -> int:
    while root[at] != at:
        at = root[at]
    return at


def _information(patterns: Patterns, count: Float64, one: int, other: int) -> float:
    """Mutual information of two columns' levels among pairs that have both, less what so many cells show by chance."""
    rows, number = patterns.n_levels[one], patterns.n_levels[other]
    code = patterns.level[:, one].astype(np.int64) * number + patterns.level[:, other]
    joint = np.bincount(code, count, rows * number).reshape(rows, number)[DIFFERS:, DIFFERS:]
    total = joint.sum()
    if total <= 0:
        return 0.0
    p = joint / total
    expected = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    there = p > 0
    found = float((p[there] * np.log(p[there] / expected[there])).sum())
    return max(0.0, found - (rows - 2) * (number - 2) / (2 * min(float(total), 1e6)))


def sigmoid(x: Float64) -> Float64:
    """Probabilities of log-odds."""
    return 1 / (1 + np.exp(-np.clip(x, -500, 500)))


STRENGTH = 1.0  # standard deviation of a weight around what EM says
FOLDS = 5


def discriminate(start: Weights, level: Int8, known: Int8) -> Weights:
    """Weights that distinguish labelled pairs best, near those of EM: logistic regression with a Gaussian prior around them."""
    from scipy.optimize import minimize

    labelled = known >= 0
    level, target = level[labelled], (known[labelled] == SAME).astype(np.float64)
    first, place = start.places(level)
    spoken = np.concatenate([(np.arange(table.size) % table.shape[1] != MISSING) for table in start.table])
    at_start = np.concatenate([[start.prior], *(table.ravel() for table in start.table)])

    def loss(x: Float64) -> tuple[float, Float64]:
        score = x[0] + x[1:][place].sum(axis=1)
        off = x - at_start
        wrong = np.logaddexp(0.0, np.where(target > 0, -score, score)).sum()
        residual = sigmoid(score) - target
        slope = np.concatenate([[residual.sum()], np.bincount(place.ravel(), np.repeat(residual, place.shape[1]), len(spoken))])
        slope += off / STRENGTH**2
        slope[1:][~spoken] = 0.0
        return float(wrong + (off**2).sum() / (2 * STRENGTH**2)), slope

    x = minimize(loss, at_start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    tables = tuple(x[1 + f : 1 + f + table.size].reshape(table.shape) for f, table in zip(first, start.table, strict=True))
    return replace(start, prior=float(x[0]), table=tables)


def held_out_scores(start: Weights, level: Int8, known: Int8, fold: Int64) -> Float64:
    """Log-odds of labelled pairs by weights that were learned without their fold; nan where nothing is known."""
    score = np.full(len(level), np.nan)
    for number in range(FOLDS):
        inside = (fold == number) & (known >= 0)
        others = np.where(fold == number, UNKNOWN, known).astype(np.int8)
        score[inside] = discriminate(start, level, others).score(level[inside])
    return score


def calibrated(weights: Weights, score: Float64, known: Int8) -> Weights:
    """The weights times a factor, and a prior, by which held-out log-odds predict labels best (Platt's way)."""
    from scipy.optimize import minimize

    labelled = ~np.isnan(score)
    s, target = score[labelled], known[labelled] == SAME
    if target.all() or not target.any():
        return weights

    def loss(x: Float64) -> float:
        moved = x[0] * s + x[1]
        return float(np.logaddexp(0.0, np.where(target, -moved, moved)).sum() + 2 * (x[0] - 1) ** 2 + 0.5 * x[1] ** 2)

    factor, shift = minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead").x
    factor = float(np.clip(factor, 0.2, 2.0))
    return replace(
        weights,
        prior=factor * weights.prior + float(shift),
        table=tuple(factor * table for table in weights.table),
        prior_stderr=factor * weights.prior_stderr,
        stderr=tuple(factor * error for error in weights.stderr),
    )
