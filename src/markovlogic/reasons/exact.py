"""Contributions without sampling error: one elimination for each point of the path from no weights to all of them.

With x the atom and N_r the number of true groundings of rule r, d logit P(x) / d w_r = E[N_r | x] - E[N_r | not x]. Integrated
along the weights t*w, t from 0 to 1, this gives contributions that add up to logit P(x) less its value under hard rules alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from markovlogic.errors import ResourceError
from markovlogic.methods.exact.elimination import Expectations, expectations
from markovlogic.methods.exact.interaction import ONE_SECOND, Effort
from markovlogic.methods.exact.shapes import Shape, shapes_of
from markovlogic.methods.exact.widths import EliminationPlan, plan_elimination
from markovlogic.networks.components import components
from markovlogic.reasons.local import LocalNetwork
from markovlogic.system.arrays import Float64, Int32

NODES = 16  # of Gauss and Legendre in a panel
MOST_PANELS = 64
TOLERANCE = 1e-9  # of the sum of contributions, and of what they may be off by together
MOST_WIDTH = 16
MOST_ENTRIES = 2**24  # of one elimination


@dataclass(frozen=True, eq=False)
class Contributions:
    """What soft clauses and biases add to the log-odds of the atom; standard errors are 0 where nothing was sampled."""

    logit: float
    base: float  # under hard rules alone
    clause: Float64  # (n_soft,)
    clause_error: Float64
    bias: Float64  # (n_rules, n_all) as LocalNetwork.bias
    bias_error: Float64
    rule_error: dict[int, float]  # of each rule's sum, by rule
    logit_error: float = 0.0
    base_error: float = 0.0


@dataclass(frozen=True, eq=False)
class ExactPath:
    """The component of the atom as eliminations need it."""

    local: LocalNetwork
    shape: Shape
    plan: EliminationPlan
    clause: Int32  # (n_soft of the shape,) numbers in the local network
    atom: Int32  # (n_all of the shape,) numbers in the local network
    target: int  # within the shape

    def run(self, share: Float64, truth: Sequence[bool | None], without: int | None = None) -> Expectations:
        """Expectations at points of the path; without: a rule of weight 0."""
        weight, bias = self.shape.weight[0].copy(), self.local.bias[:, self.atom]
        if without is not None:
            weight[self.local.clause_rule[self.clause] == without] = 0.0
            bias = bias[[rule != without for rule in self.local.rules]]
        literals = [None if one is None else 2 * self.target + one for one in truth]
        rows = np.asarray(share)[:, None]
        return expectations(self.shape, self.plan, rows * bias.sum(axis=0), rows * weight, literals)

    def logit(self, without: int | None = None) -> float:
        """Log-odds of the atom; infinite where it is certain."""
        log_z = self.run(np.ones(2), [True, False], without).log_z
        return float(log_z[0] - log_z[1])


def exact_path(local: LocalNetwork) -> ExactPath | str:
    """The path, or why the component cannot be eliminated."""
    network = local.network
    parts = components(network)
    number = int(parts.component_of[local.target])
    (shape,) = shapes_of(network, parts, np.array([number]))
    try:
        plan = plan_elimination(shape, max_width=MOST_WIDTH, memory_limit=None, effort=Effort(ONE_SECOND))
    except ResourceError as refusal:
        return str(refusal)
    if plan.entries > MOST_ENTRIES:
        return f"its tables have {plan.entries:,.0f} entries"
    clause = parts.clause[parts.clause_start[number] : parts.clause_start[number + 1]][: shape.n_soft]
    atom = parts.atom[parts.start[number] : parts.start[number + 1]]
    return ExactPath(local, shape, plan, clause, atom, int(np.searchsorted(atom[: shape.n_open], local.target)))


def integrate(path: ExactPath) -> Contributions:
    """Contributions by quadrature, in as many panels as the sum needs to be right."""
    local = path.local
    ends = path.run(np.array([0.0, 0.0, 1.0, 1.0]), [True, False, True, False]).log_z
    base, logit = float(ends[0] - ends[1]), float(ends[2] - ends[3])

    def difference(share: Float64) -> tuple[Float64, Float64]:
        rows = path.run(np.concatenate([share, share]), [True] * len(share) + [False] * len(share))
        clause, atom = np.zeros((len(share), local.network.n_soft)), np.zeros((len(share), local.network.n_all))
        atom[:, path.atom], clause[:, path.clause] = (
            part[: len(share)] - part[len(share) :] for part in (rows.atom, rows.clause)
        )
        return clause, atom

    return quadrature(local, base, logit, difference)


def quadrature(
    local: LocalNetwork,
    base: float,
    logit: float,
    difference: Callable[[Float64], tuple[Float64, Float64]],
    most_panels: int = MOST_PANELS,
) -> Contributions:
    """Integrate what the atom makes of soft clauses and atoms; difference: at points of the path, (n, n_soft) and (n, n_all).

    Panels that may be off are halved, until the sum is right or there are too many.
    """
    zero_clause, zero_bias = np.zeros(local.network.n_soft), np.zeros_like(local.bias)
    if not math.isfinite(logit):
        return Contributions(logit, base, zero_clause, zero_clause, zero_bias, zero_bias, {})
    weight, bias = local.network.clause_weight[: local.network.n_soft], np.abs(local.bias).sum(axis=0)
    node, measure = np.polynomial.legendre.leggauss(NODES)
    allowed = TOLERANCE * max(1.0, abs(logit))
    begin, width = np.zeros(1), np.ones(1)  # of the panels that are new
    panels: list[_Panel] = []
    while True:
        share = (begin[:, None] + width[:, None] * (node + 1) / 2).ravel()
        rows = [value.reshape(len(begin), NODES, value.shape[1]) for value in difference(share)]
        off = width * (_may_be_off(rows[0]) @ np.abs(weight) + _may_be_off(rows[1]) @ bias)
        sums = [width[:, None] * np.einsum("k,pkn->pn", measure / 2, own) for own in rows]
        panels += map(_Panel, begin.tolist(), width.tolist(), off.tolist(), *sums)
        clause, atom = np.sum([own.clause for own in panels], axis=0), np.sum([own.atom for own in panels], axis=0)
        by_clause, by_bias = clause * weight, atom * local.bias
        gap = abs(by_clause.sum() + by_bias.sum() + base - logit)  # 0 where wrong parts make up for each other
        if gap + sum(own.off for own in panels) <= allowed or len(panels) >= most_panels:
            return Contributions(logit, base, by_clause, zero_clause, by_bias, zero_bias, {})
        least = allowed / 2 / len(panels)
        if all(own.off <= least for own in panels):
            least = -1.0  # then all are halved
        halved = [own for own in panels if own.off > least]
        panels = [own for own in panels if own.off <= least]
        width = np.repeat([own.width / 2 for own in halved], 2)
        begin = np.repeat([own.begin for own in halved], 2) + width * np.tile([0, 1], len(halved))


class _Panel(NamedTuple):
    """A part of the path that was integrated."""

    begin: float
    width: float
    off: float  # what its parts may be off by together
    clause: Float64  # (n_soft,) integrals
    atom: Float64  # (n_all,)


def _may_be_off(rows: Float64) -> Float64:
    """(n_panels, n) errors of means over panels, estimated; rows: (n_panels, NODES, n) at the nodes.

    In each panel Legendre coefficients fall geometrically. The nodes show those up to NODES - 1, and the rule is right for
    degrees below 2 * NODES, so that its error is like the square of the last coefficients.
    """
    node, weight = np.polynomial.legendre.leggauss(NODES)
    last = np.polynomial.legendre.legvander(node, NODES - 1)[:, -2:] * weight[:, None] * NODES  # odd and even
    coefficient = np.abs(np.einsum("kt,pkn->ptn", last, rows)).max(axis=1)
    size = np.abs(rows).max(axis=1)
    return np.asarray(coefficient**2 / np.where(size > 0.0, size, 1.0))
