"""Priors of weights, how a user names them, and how strong one is chosen by data that were not learned from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from markovlogic.errors import InputError, known_name
from markovlogic.system.arrays import Bool, Float64

KINDS = ("l2", "l1", "none")
SCALES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # tried by default
AUTO = "auto"
NO_COUPLINGS = 0.0  # a scale of couplings: their weights are exactly 0
BASE_ALONE = 0.0  # the same of all weights but base rates and couplings
BASE = 10.0  # standard deviation of base rates where the strength is chosen: what is rare is no reason for doubt


@dataclass(frozen=True)
class Prior:
    """What is thought of weights before data are seen: they are near zero.

    l2: normal with standard deviation `scale`; l1: Laplace with scale `scale`, which makes many weights exactly zero; none.
    base: standard deviation of base rates, the weights of rules that are a single literal, where they are treated apart.
    coupling: scale of the weights that tie modelled atoms together, where it is another one; 0: these weights are 0. A scale of 0
    leaves base rates alone, and couplings where these have a scale of their own.
    """

    kind: str = "l2"
    scale: float = 1.0
    base: float | None = None
    coupling: float | None = None

    @property
    def has_couplings(self) -> bool:
        """Whether it leaves weights that tie modelled atoms together any room."""
        return bool(self.scale if self.coupling is None else self.coupling)

    def __str__(self) -> str:
        if self.kind == "none":
            return "none" if self.has_couplings else "none (no couplings)"
        apart = [] if self.base is None else [f"{self.base:g} for single atoms"]
        if self.coupling is not None:
            apart.append(f"{self.coupling:g} for couplings" if self.has_couplings else "no couplings")
        rates = f" ({', '.join(apart)})" if apart else ""
        if self.scale == BASE_ALONE:
            return f"{self.kind}, base rates alone{rates}"
        return f"{self.kind} with {'standard deviation' if self.kind == 'l2' else 'scale'} {self.scale:g}{rates}"


@dataclass(frozen=True, eq=False)
class Penalty:
    """Minus the logarithm of a prior of given weights: the sum of w²/(2 sd²) and |w|/scale."""

    precision: Float64  # (n,) 1/sd², 0 where there is none
    slope: Float64  # (n,) 1/scale, 0 where there is none
    held: Bool  # (n,) weights that are 0 whatever the data say

    @property
    def of_free(self) -> Penalty:
        """That of the weights that may be other than 0."""
        free = ~self.held
        return Penalty(self.precision[free], self.slope[free], self.held[free])

    @property
    def is_l1(self) -> bool:
        """Whether any weight has a kink at zero."""
        return bool(self.slope.any())

    def smooth(self, weights: Float64) -> tuple[float, Float64]:
        """The quadratic part and its gradient."""
        return float((self.precision * weights**2).sum()) / 2, self.precision * weights

    def gradient(self, weights: Float64) -> Float64:
        """Of all of it; of l1 where weights are not zero."""
        return self.precision * weights + self.slope * np.sign(weights)


def penalty_of(prior: Prior, is_base: Bool, is_coupling: Bool | None = None) -> Penalty:
    """The prior of weights of which some are base rates, and some tie modelled atoms together."""
    n = len(is_base)
    apart = is_base if prior.base is not None else np.zeros(n, bool)
    scale = np.full(n, prior.scale)
    if prior.base is not None and prior.kind != "none":
        scale[apart] = prior.base
    if prior.coupling is not None and is_coupling is not None:
        scale[is_coupling] = prior.coupling
    held = scale == 0
    scale[held] = 1.0
    plain = 1 / scale**2 if prior.kind == "l2" else np.zeros(n)
    slope = 1 / scale if prior.kind == "l1" else np.zeros(n)
    if prior.base is not None and prior.kind != "none":
        plain[apart], slope[apart] = 1 / scale[apart] ** 2, 0.0
    plain[held], slope[held] = 0.0, 0.0
    return Penalty(plain, slope, held)


@dataclass(frozen=True)
class PriorChoice:
    """A prior as the user gave it: a kind, and a scale where it is not to be chosen."""

    kind: str
    scale: float | None
    base: float | None = None  # see Prior
    coupling: float | None = None

    @property
    def fixed(self) -> Prior | None:
        """The prior, where nothing is left to choose."""
        if self.kind == "none":
            return Prior("none", coupling=self.coupling)
        return None if self.scale is None else Prior(self.kind, self.scale, self.base, self.coupling)


def prior_choice(value: str | float | Prior | None) -> PriorChoice:
    """`auto`, `none`, a standard deviation, `l2`, `l1`, `l2:0.5` or `l1:0.5`."""
    if isinstance(value, Prior):
        return PriorChoice(value.kind, None if value.kind == "none" else value.scale, value.base, value.coupling)
    text = AUTO if value is None else str(value).strip().lower()
    if text == AUTO:
        return PriorChoice("l2", None)
    kind, _, number = text.partition(":")
    if kind not in KINDS:
        kind, number = ("l2", kind) if _is_number(kind) else (kind, number)
    known_name(kind, "prior", (AUTO, *KINDS))
    if not number:
        return PriorChoice(kind, None)
    if kind == "none" or not _is_number(number) or not (math.isfinite(float(number)) and float(number) > 0):
        raise InputError(f"prior {value} is none", hint="expected auto, none, a standard deviation such as 2, l2:2 or l1:0.5")
    return PriorChoice(kind, float(number))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
