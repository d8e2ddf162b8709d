"""Standard errors of weights, as if pairs were independent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from markovlogic.linking.comparisons import MISSING
from markovlogic.linking.weights import FEW, GUESSED, STRENGTH, Patterns, Weights, first_guesses, sigmoid
from markovlogic.system.arrays import Float64, Int8


def with_errors(weights: Weights, patterns: Patterns) -> Weights:
    """Weights of EM with their standard errors.

    By the scores of the observed patterns (which pairs are the same is summed out), so errors grow where the two kinds of pairs
    are hard to tell apart. A pair outside of the blocking stands for many, of which nothing was seen: each counts as often as it
    does for the weights, and its noise counts once (the sandwich estimate).
    """
    probability = sigmoid(weights.score(patterns.level))
    kinds = (
        (probability, patterns.candidates, 1.0),
        (np.ones_like(probability), patterns.known_same, 1.0),
        (np.zeros_like(probability), patterns.known_different, 1.0),
        (np.zeros_like(probability), patterns.others, patterns.sample_weight),
    )
    places = _places(weights)
    rate = float(sigmoid(np.array([weights.prior]))[0])
    bread, meat = np.diag(_beforehand(weights, patterns)), np.zeros((places[-1], places[-1]))
    for same, count, stands_for in kinds:
        seen = count > 0
        score = _scores(weights, patterns, places, same, rate)[seen]
        information = score.T @ (score * count[seen, None])
        bread += information
        meat += stands_for * information
    meat += np.diag(_beforehand(weights, patterns))
    inverse = np.linalg.pinv(bread, hermitian=True)
    covariance = inverse @ meat @ inverse
    made = []
    for at, (m, u) in enumerate(zip(weights.same, weights.different, strict=True)):
        error, number = np.zeros_like(m), m.shape[1]
        for group in range(len(m)):
            first = [places[2 * at + kind] + group * number for kind in (0, 1)]
            own = np.concatenate([place + np.arange(number) for place in first])
            slope = np.hstack([np.eye(number) - _present(m[group]), _present(u[group]) - np.eye(number)])
            error[group] = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", slope, covariance[np.ix_(own, own)], slope), 0.0))
        made.append(np.where(weights.table[at] == 0, 0.0, error))
    return replace(weights, prior_stderr=float(np.sqrt(max(covariance[-1, -1], 0.0))), stderr=tuple(made))


def with_errors_of_labels(weights: Weights, level: Int8, known: Int8) -> Weights:
    """Weights that labelled pairs gave, with standard errors: those of a logistic regression, its prior included."""
    from scipy import sparse

    level = level[known >= 0]
    first, place = weights.places(level)
    n = 1 + sum(table.size for table in weights.table)
    column = np.concatenate([np.zeros((len(level), 1), np.int64), 1 + place], axis=1)
    start = np.arange(len(level) + 1) * column.shape[1]
    shows = sparse.csr_array((np.ones(column.size), column.ravel(), start), shape=(len(level), n))
    p = sigmoid(weights.score(level))
    information = (shows.T @ sparse.diags_array(p * (1 - p)) @ shows).toarray() + np.eye(n) / STRENGTH**2
    error = np.sqrt(np.diag(np.linalg.inv(information)))
    errors = [error[1 + f : 1 + f + table.size].reshape(table.shape) for f, table in zip(first, weights.table, strict=True)]
    for each in errors:
        each[:, MISSING] = 0.0
    return replace(weights, prior_stderr=float(error[0]), stderr=tuple(errors))


def _present(row: Float64) -> Float64:
    """The distribution over levels of values that are there, as one row."""
    shares = np.where(np.arange(len(row)) == MISSING, 0.0, row)
    return np.asarray((shares / shares.sum())[None, :], np.float64)


def _places(weights: Weights) -> list[int]:
    """Where the parameters of each distribution begin: same and different, column by column; then the log-odds of the prior."""
    sizes = [table.size for table in weights.same for _ in range(2)]
    return [0, *np.cumsum(sizes).tolist(), int(np.sum(sizes)) + 1]


def _scores(weights: Weights, patterns: Patterns, places: list[int], same: Float64, rate: float) -> Float64:
    """(n_patterns, n_parameters) slopes of each pattern's log-probability, by logits of levels."""
    made = np.zeros((len(patterns.level), places[-1]))
    every = np.arange(len(made))
    for at, table in enumerate(weights.same):
        group, level = weights.group(patterns.level, at), patterns.level[:, at]
        number = table.shape[1]
        for kind, (shares, part) in enumerate(((table, same), (weights.different[at], 1 - same))):
            first = places[2 * at + kind] + group * number
            for own in range(number):
                made[every, first + own] -= part * shares[group, own]
            made[every, first + level] += part
    made[:, -1] = same - rate
    return made


def _beforehand(weights: Weights, patterns: Patterns) -> Float64:
    """What the pairs that each level has beforehand say of the parameters."""
    guesses = first_guesses(patterns)
    made = []
    for at, (m, u) in enumerate(zip(weights.same, weights.different, strict=True)):
        made += [np.tile(GUESSED * guesses[at], len(m)), np.full(u.size, FEW / u.shape[1])]
    return np.concatenate([*made, [0.0]])
