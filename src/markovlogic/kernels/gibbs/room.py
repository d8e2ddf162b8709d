"""What the Gibbs kernels work in: memory that is made once and used for many steps."""

from typing import NamedTuple

import numpy as np

from markovlogic.kernels.gibbs.layout import GibbsLayout, LongClauses
from markovlogic.kernels.gibbs.long import CACHE_LINE, count_words
from markovlogic.kernels.vectors import LANES


class ValueRoom(NamedTuple):
    """Memory for the values of one site, largest_group of them at most; Numba would compile an allocation for a second."""

    log_weight: np.ndarray  # (largest_group, 64) float64
    share: np.ndarray  # (largest_group, 64) float32
    allowed: np.ndarray  # (largest_group,) uint64
    previous: np.ndarray  # (largest_group,) uint64
    choice: np.ndarray  # (64,) int64
    total: np.ndarray  # (64,) float64
    target: np.ndarray  # (64,) float64
    running: np.ndarray  # (64,) float64
    real: np.ndarray  # (64,) float32
    high: np.ndarray  # (64,) uint32
    low: np.ndarray  # (64,) uint32


class Chains(NamedTuple):
    """The chains of a sweep: how many, their random numbers, and what each of them samples."""

    generator: np.ndarray  # (4, 8) uint64 for `next_lanes`, the draws of all chains
    scalar: np.ndarray  # (4,) uint64, the order of a random scan; all draws of a single chain
    beta: np.ndarray  # (64,) float32: the log-odds of chain c are multiplied by beta[c], a nonnegative inverse temperature
    n_chains: int
    first: int = 0  # the column of `conditionals` that is the first chain's

    @staticmethod
    def lanes() -> int:
        """How many lanes a kernel has that is compiled for this class of chains."""
        return LANES


class HalfOfChains(Chains):
    """The chains of half a word, at most 32."""

    @staticmethod
    def lanes() -> int:
        """Half of a word's."""
        return LANES // 2


class GibbsRoom(NamedTuple):
    """Memory that the kernels work in, besides worlds; for one batch at a time, and for one layout."""

    values: ValueRoom
    twin: np.ndarray  # (n_all,) uint64 where there are general sites, else (0,)
    stamp: np.ndarray  # (n_clauses,) int64 where there are general sites, else (0,)
    counter: np.ndarray  # (long.n_words,) uint64, of the long clauses
    counted: np.ndarray  # (n_all,) uint64, the world that the counters count; (0,) where there are none


def value_room(largest_group: int) -> ValueRoom:
    """Room for sites of so many values."""
    shape = (largest_group, LANES)
    return ValueRoom(
        log_weight=np.zeros(shape),
        share=np.zeros(shape, np.float32),
        allowed=np.zeros(largest_group, np.uint64),
        previous=np.zeros(largest_group, np.uint64),
        choice=np.zeros(LANES, np.int64),
        total=np.zeros(LANES),
        target=np.zeros(LANES),
        running=np.zeros(LANES),
        real=np.zeros(LANES, np.float32),
        high=np.zeros(LANES, np.uint32),
        low=np.zeros(LANES, np.uint32),
    )


def counters_for(long: LongClauses) -> np.ndarray:
    """Room for the counters of 64 chains, (n_words,) uint64 that begin with a cache line."""
    room = np.zeros(long.n_words + CACHE_LINE, np.uint64)
    skipped = -(room.ctypes.data // room.itemsize) % CACHE_LINE
    return room[skipped : skipped + long.n_words]


def room_for(layout: GibbsLayout) -> GibbsRoom:
    """Room for a batch of chains."""
    general, long = layout.general, layout.long
    n_all, has_general, has_long = len(general.atom_bias), len(general.is_group) > 0, len(long.clause) > 0
    room = GibbsRoom(
        values=value_room(layout.rows.largest_group),
        twin=np.empty(n_all if has_general else 0, np.uint64),
        stamp=np.zeros(len(general.clause_weight) if has_general else 0, np.int64),
        counter=counters_for(long),
        counted=np.zeros(n_all if has_long else 0, np.uint64),
    )
    if has_long:
        count_words(long, general.clause_start, general.clause_literal, room.counted, room.counter)
    return room
