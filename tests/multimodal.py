"""Models with several modes, and their marginals in closed form: what no sampler may miss in silence.

Each model is over a few dozen exchangeable atoms and sometimes a hub, so that its marginals are sums over counts; nothing of the
package takes part in them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import lgamma

import numpy as np


@dataclass(frozen=True)
class Multimodal:
    """Rules over n people, what is requested, and P of each kind of query atom."""

    rules: str
    query: str
    truth: Mapping[str, float]  # by predicate


def people(n: int) -> str:
    """A type declaration."""
    return "person = {" + ", ".join(f"P{i}" for i in range(n)) + "}\n"


def by_counts(n: int, log_weight: Callable[[int], float]) -> tuple[float, float]:
    """(P(S(x)), ln Z) where a world with k smokers has this log-weight."""
    logs = np.array([lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + log_weight(k) for k in range(n + 1)])
    high = logs.max()
    p = np.exp(logs - high)
    return float((p * np.arange(n + 1)).sum() / p.sum() / n), float(high + np.log(p.sum()))


def phases(n: int, field: float, triple: float) -> Multimodal:
    """`field !S(x)`, `triple S(x) ^ S(y) ^ S(z)`: all false or all true."""
    share, _ = by_counts(n, lambda k: field * (n - k) + triple * k**3)
    return Multimodal(f"{people(n)}S(person)\n{field} !S(x)\n{triple} S(x) ^ S(y) ^ S(z)\n", "S", {"S": share})


def pairs(n: int, field: float, pair: float) -> Multimodal:
    """`field S(x)`, `pair S(x) ^ S(y)` over all pairs: a Curie-Weiss magnet."""
    share, _ = by_counts(n, lambda k: field * k + pair * k * k)
    return Multimodal(f"{people(n)}S(person)\n{field} S(x)\n{pair} S(x) ^ S(y)\n", "S", {"S": share})


def agreement(n: int, field: float, weight: float) -> Multimodal:
    """`weight S(x) <=> S(y)`: two clusters, tilted by a small field."""
    share, _ = by_counts(n, lambda k: field * k + weight * (k * k + (n - k) ** 2))
    return Multimodal(f"{people(n)}S(person)\n{field} S(x)\n{weight} S(x) <=> S(y)\n", "S", {"S": share})


def hub(n: int, against: float, weight: float) -> Multimodal:
    """`against !B`, `weight B ^ S(x)`: B pays only when everybody follows."""
    # log-weights of B false and B true, S summed out: against + n ln 2; n ln(1 + e^weight)
    false, true = against + n * np.log(2.0), n * np.logaddexp(0.0, weight)
    p = float(1.0 / (1.0 + np.exp(np.clip(false - true, -700, 700))))
    follows = float(1.0 / (1.0 + np.exp(-weight)))
    truth = {"B": p, "S": p * follows + (1 - p) * 0.5}
    return Multimodal(f"{people(n)}S(person)\nB\n{against} !B\n{weight} B ^ S(x)\n", "B,S", truth)


def two_hubs(n: int, weight: float, field: float) -> Multimodal:
    """`weight H <=> S(x)`, `field H`: a hub and its crowd, together up or together down."""
    up, down = field + n * np.logaddexp(0.0, weight), n * np.logaddexp(0.0, weight)
    p = float(1.0 / (1.0 + np.exp(np.clip(down - up, -700, 700))))
    s = 1.0 / (1.0 + np.exp(-weight))
    return Multimodal(
        f"{people(n)}S(person)\nH\n{weight} H <=> S(x)\n{field} H\n", "H,S", {"H": p, "S": p * s + (1 - p) * (1 - s)}
    )


def all_or_none(n: int, field: float) -> Multimodal:
    """A hard rule: all or nobody; single moves reach neither from the other."""
    p = float(1.0 / (1.0 + np.exp(-field * n)))
    return Multimodal(f"{people(n)}S(person)\n{field} S(x)\nS(x) => S(y).\n", "S", {"S": p})


def exactly_one(n: int, field: float) -> Multimodal:
    """Hard: at least one, no two; each person alone is a mode."""
    weights = np.array([1.0] * (n - 1) + [np.exp(field)])
    share = weights / weights.sum()
    rules = f"{people(n)}S(person)\nT(person)\n{field} S(P{n - 1})\nEXIST x S(x).\nS(x) ^ S(y) => x = y.\n0.0 T(x)\n"
    return Multimodal(rules, "S", {f"S(P{i})": float(share[i]) for i in range(n)})


def parity(n: int, field: float) -> Multimodal:
    """Hard: neighbours differ along a chain of pairs, which leaves two worlds a pair; pairs agree softly."""
    # n pairs (A_i, B_i) with A_i = not B_i hard, and A_i <=> A_j soft: Curie-Weiss over the A's
    share, _ = by_counts(n, lambda k: field * k + 0.3 * (k * k + (n - k) ** 2))
    rules = f"{people(n)}A(person)\nB(person)\n{field} A(x)\n0.3 A(x) <=> A(y)\nA(x) <=> !B(x).\n"
    return Multimodal(rules, "A,B", {"A": share, "B": 1 - share})


MODELS: Mapping[str, Multimodal] = {
    "triples, true wins": phases(60, 3.0, 0.0009),
    "triples, near balance": phases(30, 1.0, 0.00125),
    "triples, false wins": phases(40, 3.0, 0.001),
    "triples, small": phases(20, 2.0, 0.006),
    "pairs, true wins": pairs(30, -3.2, 0.12),
    "pairs, false wins": pairs(30, -4.0, 0.12),
    "pairs, balance": pairs(24, -2.88, 0.12),
    "pairs, mild": pairs(20, -1.0, 0.06),
    "clusters, tilted up": agreement(20, 0.1, 0.1),
    "clusters, tilted down": agreement(20, -0.1, 0.1),
    "clusters, balance": agreement(16, 0.0, 0.12),
    "clusters, weak": agreement(16, 0.05, 0.04),
    "hub, true wins": hub(50, 400.0, 10.0),
    "hub, mild": hub(20, 12.0, 2.0),
    "hub, false wins": hub(30, 60.0, 2.0),
    "crowd, tilted": two_hubs(30, 1.5, 0.5),
    "crowd, balance": two_hubs(20, 1.0, 0.0),
    "all or none": all_or_none(12, 0.1),
    "exactly one": exactly_one(8, 1.0),
    "parity": parity(12, 0.05),
}
