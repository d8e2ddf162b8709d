"""What exact inference takes: predictions from rates that were measured on one core of a small machine."""

from __future__ import annotations

from dataclasses import dataclass

from markovlogic.exact.shapes import Shape
from markovlogic.exact.widths import EliminationPlan
from markovlogic.networks.ground import GroundNetwork


@dataclass(frozen=True)
class Cost:
    """Seconds, room while something is worked on, and what is kept meanwhile."""

    seconds: float
    memory_bytes: float
    kept_bytes: float = 0.0


def components_cost(network: GroundNetwork) -> Cost:
    """What sorting a network into components and shapes takes."""
    return Cost(0.0, 0.0)


def enumeration_cost(shape: Shape, worlds: float) -> Cost:
    """What listing the worlds of all components of a shape takes."""
    return Cost(0.0, 0.0, 0.0)


def elimination_cost(shape: Shape, plan: EliminationPlan) -> Cost:
    """What eliminating all components of a shape takes."""
    return Cost(0.0, 0.0, 0.0)
