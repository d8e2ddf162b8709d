"""Priors of weights, how a user names them, and how strong one is chosen by data that were not learned from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from markovlogic.arrays import Float64
from markovlogic.errors import InputError, known_name

KINDS = ("l2", "l1", "none")
SCALES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # what is tried where nothing was said
AUTO = "auto"


@dataclass(frozen=True)
class Prior:
    """What is thought of weights before data are seen: they are near zero.

    l2: normal with standard deviation `scale`; l1: Laplace with scale `scale`, which makes many weights exactly zero; none.
    """

    kind: str = "l2"
    scale: float = 1.0

    def penalty(self, weights: Float64) -> float:
        """Minus the logarithm of the prior's density, but for a constant."""
        if self.kind == "l2":
            return float(np.square(weights).sum()) / (2 * self.scale**2)
        return float(np.abs(weights).sum()) / self.scale if self.kind == "l1" else 0.0

    def gradient(self, weights: Float64) -> Float64:
        """Of the penalty; of l1 where weights are not zero."""
        if self.kind == "l2":
            return weights / self.scale**2
        return np.sign(weights) / self.scale if self.kind == "l1" else np.zeros_like(weights)

    def precision(self, n: int) -> Float64:
        """What the prior adds to the information about each weight."""
        return np.full(n, 1 / self.scale**2 if self.kind == "l2" else 0.0)

    def __str__(self) -> str:
        if self.kind == "none":
            return "none"
        return f"{self.kind} with {'standard deviation' if self.kind == 'l2' else 'scale'} {self.scale:g}"


@dataclass(frozen=True)
class PriorWish:
    """What a user said: a kind, and a scale where it is not to be chosen."""

    kind: str
    scale: float | None

    @property
    def fixed(self) -> Prior | None:
        """The prior, where nothing is left to choose."""
        if self.kind == "none":
            return Prior("none")
        return None if self.scale is None else Prior(self.kind, self.scale)


def prior_wish(said: str | float | Prior | None) -> PriorWish:
    """`auto`, `none`, a standard deviation, `l2`, `l1`, `l2:0.5` or `l1:0.5`."""
    if isinstance(said, Prior):
        return PriorWish(said.kind, None if said.kind == "none" else said.scale)
    text = AUTO if said is None else str(said).strip().lower()
    if text == AUTO:
        return PriorWish("l2", None)
    kind, _, number = text.partition(":")
    if kind not in KINDS:
        kind, number = ("l2", kind) if _is_number(kind) else (kind, number)
    known_name(kind, "prior", (AUTO, *KINDS))
    if not number:
        return PriorWish(kind, None)
    if kind == "none" or not _is_number(number) or not (math.isfinite(float(number)) and float(number) > 0):
        raise InputError(f"prior {said} is none", hint="expected auto, none, a standard deviation such as 2, l2:2 or l1:0.5")
    return PriorWish(kind, float(number))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def best_scale(scales: Sequence[float], held_out: Sequence[float]) -> float:
    """The scale with the largest held-out score; of scores that are equal the smaller scale."""
    return scales[int(np.argmax(held_out))]
