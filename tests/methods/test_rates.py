"""Predicted seconds and bytes are sums of a few products: each is written out here with numbers that tell them apart."""

from dataclasses import replace

import numpy as np
import pytest

from markovlogic.estimation.estimator import Estimator
from markovlogic.estimation.orbit_pools import OrbitPools
from markovlogic.methods.forecast import Scale
from markovlogic.methods.rates import Rates, Use
from markovlogic.running import worker_pool
from markovlogic.running.sampling import Schedule
from markovlogic.symmetry.find import DEFAULT_BUDGET

RATES = Rates(
    row=2.0, literal=3.0, conditional=0.5, prepare=7.0, row_bytes=1e7, literal_bytes=1e8, work_bytes=1e6, batch_chains=8
)
SCALE = Scale(atoms=5, rows=6, clauses=7, literals=11, network_bytes=10**12, predicted=False)
USE = Use(Schedule(chains=20, draws=70, burn_in=30), Estimator(), n_query=3, n_events=0, pools=None)
POOLS = OrbitPools(
    np.array([0, 1, 4], np.int32),
    np.array([0, 0, 1], np.int32),
    np.array([0, 2, 5], np.int64),
    np.array([1, 3, 9, 7, 5], np.int32),
    (),
    "made",
)
CONDITIONAL = replace(USE, estimator=Estimator(conditional=True))
POOLED = replace(USE, estimator=Estimator(pooled=True), pools=POOLS)
BOTH = replace(POOLED, estimator=Estimator(pooled=True, conditional=True))


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 chains in batches of 8 are three, of which two are at work at once."""
    monkeypatch.setattr(worker_pool, "cores", lambda: 2)


SWEEPS = 3 * 100 * (2.0 * 6 + 3.0 * 11)  # batches, sweeps of each, seconds of one
BEGINS = 0.3 + 7.0 * 17
COUNTING = 70 * (8e-9 * 20 * 2 + 20e-9 * 3 * 5)  # draws; pools of all chains; members in each batch


@pytest.mark.parametrize(
    ("use", "draws", "ends"),
    [
        (USE, 3 * 4 * 1e-4, 30e-9),  # 100 sweeps are four steps
        (replace(USE, n_events=1), 3 * 100 * 1e-4, 30e-9),
        (replace(USE, schedule=replace(USE.schedule, keep_draws=True)), 3 * 100 * 1e-4, 30e-9),
        (replace(USE, schedule=replace(USE.schedule, worlds="file")), 3 * 100 * 1e-4, 30e-9),
        (CONDITIONAL, 3 * 4 * 1e-4 + 70 * 20 * 0.5 * 6, 30e-9),
        (POOLED, 3 * 100 * 1e-4 + COUNTING, 30e-9),
        (BOTH, 3 * 100 * 1e-4 + COUNTING + 70 * 20 * 0.5 * 6, 100e-9),
    ],
)
def test_seconds(use: Use, draws: float, ends: float) -> None:
    expected = BEGINS + (SWEEPS + draws) / 2 + 3 * 20 * ends
    assert RATES.seconds(SCALE, use) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("use", "draws", "ends"),
    [(USE, 3 * 4 * 1e-4, 30e-9), (POOLED, 3 * 100 * 1e-4 + COUNTING, 30e-9), (BOTH, 3 * 100 * 1e-4 + COUNTING, 100e-9)],
)
def test_seconds_of_small_parts(use: Use, draws: float, ends: float) -> None:
    """As above where sweeps cost nothing, which would hide the rest."""
    free = Rates(row=0.0, literal=0.0, conditional=0.0, prepare=0.0, batch_chains=8)
    assert free.seconds(SCALE, use) - 0.3 == pytest.approx(draws / 2 + 60 * ends, rel=1e-9)
    if use is USE:
        single = replace(free, single_steps=True)
        assert single.seconds(SCALE, use) - 0.3 == pytest.approx(3 * 100 * 1e-4 / 2 + 60 * ends, rel=1e-9)


def test_searching_ends_by_its_budget() -> None:
    assert RATES.searching(SCALE) == 0
    assert replace(RATES, search=1e-3).searching(SCALE) == pytest.approx(17e-3)
    assert replace(RATES, search=1e9).searching(SCALE) == DEFAULT_BUDGET


NETWORK = 10**12 + 1e8 * 11 + 1e7 * 6 + 2 * 1e6 * 17  # itself, the sampler's, and what two batches at work take
ANSWER = 300 * 3
ENDS = 8 * 8 * 60 + 3 * 8 * 60  # blocks, and means of single chains
PLANES = 3 * 6 * 64
POOL_COUNTS = 8 * 2 * 21
POOL_SERIES = (1 + 16 + 2 * 16) * POOL_COUNTS


def slots(rows: int, n: int = 16) -> int:
    """Counts of two bytes in 16 slots, of 20 chains, and two bytes for what the chains did in burn-in."""
    return n * rows * 20 * 2 + rows * 20 * 2


LIMITED = replace(USE, schedule=replace(USE.schedule, time_limit=1.0))


@pytest.mark.parametrize(
    ("use", "bytes_"),
    [
        (USE, PLANES + slots(3) + ENDS),
        (replace(USE, n_events=2), PLANES + 3 * 2 * 64 + slots(5) + ENDS),
        (LIMITED, PLANES + slots(3, 32) + ENDS),
        (replace(LIMITED, schedule=replace(LIMITED.schedule, burn_in=0)), PLANES + slots(3) + ENDS),
        (replace(USE, schedule=replace(USE.schedule, keep_draws=True)), PLANES + slots(3) + ENDS + 70 * 3 * (3 * 8 + 2 * 20)),
        (
            replace(USE, schedule=replace(USE.schedule, keep_draws=True, thin=7)),
            PLANES + slots(3) + ENDS + 10 * 3 * (3 * 8 + 2 * 20),
        ),
        (POOLED, PLANES + slots(3) + ENDS + POOL_SERIES),
    ],
)
def test_bytes(use: Use, bytes_: float) -> None:
    assert RATES.memory_bytes(SCALE, use) == int(NETWORK + ANSWER + bytes_)


def test_bytes_of_conditionals() -> None:
    plain = RATES.memory_bytes(SCALE, USE)
    assert RATES.memory_bytes(SCALE, CONDITIONAL) == plain + 6 * 20 * 4 + 16 * 3 * 20 * 8
    few = Schedule(chains=4, draws=70, burn_in=30)
    alone = [RATES.memory_bytes(SCALE, replace(use, schedule=few)) for use in (USE, CONDITIONAL)]
    assert alone[1] - alone[0] == 6 * 4 * 4 + 32 * 3 * 4 * 8  # with fewer chains, more slots


def test_bytes_of_pooled_conditionals() -> None:
    """Members beside the query are tallied too, and sums of a batch's eight lanes are taken apart by members in the end."""
    found = RATES.memory_bytes(SCALE, BOTH)
    tallies = PLANES + slots(5) + 6 * 20 * 4 + 16 * 5 * 20 * 8
    ends = max(2 * 16 * POOL_COUNTS, 4 * 8 * 5 * 8)
    assert found == int(NETWORK + ANSWER + ENDS + tallies + 17 * POOL_COUNTS + ends)
    many = replace(POOLS, member_start=np.array([0, 2, 5000], np.int64), member=np.ones(5000, np.int32) * 9)
    large = RATES.memory_bytes(SCALE, replace(BOTH, pools=many))
    assert large - found == 4 * 8 * 5000 * 8 - ends - 2 * 16 * 20 * (2 + 8) - 2 * 20 * 2  # atoms 2 and 3 are not tallied


def test_means_of_single_chains_are_kept_where_they_are_few() -> None:
    from markovlogic.estimation.summary import CHAIN_MEAN_CELLS

    most = CHAIN_MEAN_CELLS // 20
    few, many = (RATES.memory_bytes(SCALE, replace(USE, n_query=n)) for n in (most, most + 1))
    assert few - many > 2 * 8 * CHAIN_MEAN_CELLS
