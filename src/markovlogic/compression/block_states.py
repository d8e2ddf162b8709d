"""What blocks of atoms are under a reading of weights and evidence: how much of each is known, and what is left to be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from markovlogic.compression.shares import Numbering
from markovlogic.system.arrays import Bool, Float64, Int64

Weights = Literal["literal", "uniform", "field", "count"]
Translation = Literal["majority", "clamp", "split"]


@dataclass(frozen=True)
class Reading:
    """How weights and evidence are carried over to blocks (papers.md 2.5, 2.6, 3.15)."""

    weights: Weights
    evidence: Translation
    split: bool  # diagonals
    sums_out: bool = False  # atoms that are independent given the rest


@dataclass(frozen=True, eq=False)
class BlockStates:
    """What each numbered block is: its share of known true atoms, and what is left to be drawn."""

    base: Float64
    step: Float64
    most: Int64
    size: Int64
    reported: Bool  # some atom of it is open

    @staticmethod
    def of(numbering: Numbering, reading: Reading) -> BlockStates:
        """By votes, or by shares."""
        size = numbering.joined([array.size for array in numbering.arrays])
        false, true, unknown = (numbering.joined([array.count[s] for array in numbering.arrays]) for s in range(3))
        some = np.maximum(size, 1)
        if reading.evidence == "split":
            base, left = true / some, unknown / some
        else:
            yes = true > false + unknown if reading.evidence == "majority" else true > false
            no = false > true + unknown if reading.evidence == "majority" else false > true
            base, left = yes.astype(np.float64), (~yes & ~no).astype(np.float64)
        if reading.weights == "count":
            most = np.where(left > 0, np.where(reading.evidence == "split", unknown, size), 0)
            step = np.where(most > 0, 1.0 / some, 0.0)
        else:
            most = (left > 0).astype(np.int64)
            step = left
        return BlockStates(base, step, most.astype(np.int64), size, unknown > 0)
