"""What the curvature of a likelihood shows: how sure weights are, and which step goes to the top of a parabola.

Weights that no chain of observations ties together are distinguished, block by block.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from markovlogic.system.arrays import Float64

MOST_DENSE = 2500  # weights of a block whose information matrix is inverted as a whole
MOST_FACTORED = 8000  # whose Cholesky factor is made, once for many steps; 0.5 GB
MOST_ITERATIONS = 60  # of conjugate gradients, past that


class Solver(Protocol):
    """What scales steps."""

    def __call__(self, gradient: Float64) -> Float64:
        """The gradient times the inverse of an information matrix."""
        ...


class Preconditioner:
    """The inverse of an information matrix, block by block where it falls apart; by iteration where one is too large."""

    def __init__(self, information: Any, precision: Float64) -> None:
        from scipy import linalg, sparse
        from scipy.sparse.csgraph import connected_components

        self._blocks: list[tuple[Any, Any]] = []
        total = sparse.csr_array(information + sparse.diags_array(precision))
        diagonal = np.maximum(total.diagonal(), 1e-12)
        ridge = 1e-6 * max(float(diagonal.max(initial=0.0)), 1e-6)
        _, label = connected_components(abs(total) > 0, directed=False)
        order = np.argsort(label, kind="stable")
        for members in np.split(order, np.flatnonzero(np.diff(label[order])) + 1):
            if len(members) > MOST_FACTORED:
                own = sparse.csr_array(total[members][:, members] + sparse.diags_array(np.full(len(members), ridge)))
                self._blocks.append((members, own))
                continue
            dense = total[members][:, members].toarray()
            dense[np.diag_indices(len(dense))] += ridge
            self._blocks.append((members, linalg.cho_factor(dense, lower=True)))

    def __call__(self, gradient: Float64) -> Float64:
        """Solve for a step."""
        from scipy import linalg, sparse
        from scipy.sparse.linalg import cg

        step = np.zeros_like(gradient)
        for members, factor in self._blocks:
            part = gradient[members]
            if isinstance(factor, tuple):
                step[members] = linalg.cho_solve(factor, part)
            else:
                scale = sparse.diags_array(1 / factor.diagonal())
                step[members], _ = cg(factor, part, rtol=1e-3, maxiter=MOST_ITERATIONS, M=scale)
        return step


def standard_errors(information: Any, precision: Float64) -> tuple[Float64, bool]:
    """√ of the diagonal of the inverse of information + precision, and whether it is exact.

    Weights that no chain of observations ties together are inverted block by block. Blocks past MOST_DENSE weights get what holds
    where all other weights are known, which is too small: then the second value is False. nan: nothing is known.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    n = len(precision)
    total = sparse.csr_array(information + sparse.diags_array(precision))
    _, block = connected_components(abs(total) > 0, directed=False)
    found = np.full(n, np.nan)
    exact = True
    order = np.argsort(block, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(block[order])) + 1):
        if len(members) > MOST_DENSE:
            diagonal = total.diagonal()[members]
            found[members] = np.where(diagonal > 0, 1 / np.sqrt(np.maximum(diagonal, 1e-300)), np.nan)
            exact = False
            continue
        dense = total[members][:, members].toarray()
        found[members] = _inverse_diagonal(dense)
    return found, exact


def _inverse_diagonal(dense: Float64) -> Float64:
    """√ diag(A⁻¹); nan where the matrix does not determine a weight."""
    from scipy import linalg

    scale = np.sqrt(np.maximum(np.diag(dense), 0.0))
    known = scale > 1e-9
    found = np.full(len(dense), np.nan)
    if not known.any():
        return found
    inner = dense[np.ix_(known, known)] / np.outer(scale[known], scale[known])
    try:
        root = linalg.cholesky(inner, lower=True)
        inverse = linalg.solve_triangular(root, np.eye(len(inner)), lower=True)
        found[known] = np.sqrt((inverse**2).sum(axis=0)) / scale[known]
    except linalg.LinAlgError:
        values, vectors = np.linalg.eigh(inner)
        inside = np.where(values > 1e-10, 1 / np.maximum(values, 1e-10), np.inf)
        with np.errstate(invalid="ignore"):
            spread = np.nansum(np.where(vectors**2 > 1e-12, vectors**2 * inside, 0.0), axis=1)
        found[known] = np.where(np.isfinite(spread), np.sqrt(spread) / scale[known], np.nan)
    return found
