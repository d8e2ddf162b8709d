"""Tallies against counting every draw by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.plain_gibbs import pack

from markovlogic.estimation.slots import SlotClock, slots_for
from markovlogic.estimation.tallies import Counting, Events, Tallies, tally_bytes
from markovlogic.kernels import counters
from markovlogic.system.checkpoint_validation import Restored

NO_EVENTS = Events.of([])


def made(n_all: int, n_chains: int, planned: int, n_slots: int, conditional: bool = False, events: Events = NO_EVENTS) -> Tallies:
    atoms = np.arange(n_all, dtype=np.int32)[::-1].copy()
    return Tallies(Counting(n_all, atoms, events, planned, 1, conditional, n_slots), n_chains)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(planned=st.integers(1, 5000), n_slots=st.sampled_from([4, 8, 16, 64]), steps=st.lists(st.integers(1, 600), max_size=40))
def test_slots_cover_the_draws_and_halves_exist(planned: int, n_slots: int, steps: list[int]) -> None:
    clock = SlotClock.start(planned, n_slots)
    for step in [*steps, planned]:
        while step and clock.draws < planned:
            while clock.must_fold:
                before = clock.lengths()
                clock.fold()
                assert clock.lengths() == [a + b for a, b in zip(before[::2], before[1::2], strict=True)]
            assert 0 <= clock.slot < n_slots and clock.room() > 0
            draws = min(step, clock.room(), planned - clock.draws)
            clock.draws += draws
            step -= draws
        lengths = clock.lengths()
        assert sum(lengths) == clock.draws and all(lengths) and len(lengths) <= n_slots
        assert all(length <= clock.longest_segment for length in lengths)
        if clock.draws >= 32:
            ends = np.cumsum(lengths)
            assert (
                np.abs(ends / clock.draws - 0.5).min() <= 1 / 6 + 1 / clock.draws
            )  # no half shorter than a third, but for one draw
    assert clock.draws == planned
    if planned >= 2:
        assert planned // 2 in np.cumsum(clock.lengths())  # a whole run splits in the middle


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    data=st.data(), n_all=st.integers(0, 4), n_chains=st.sampled_from([1, 2, 8, 9, 63, 64]), planned=st.integers(1, 700),
    n_slots=st.sampled_from([4, 16]), seed=st.integers(0, 99),
)  # fmt: skip
def test_counts_are_those_of_the_draws(
    data: st.DataObject, n_all: int, n_chains: int, planned: int, n_slots: int, seed: int
) -> None:
    """Any grouping of draws, any stopping time, and a save and restore on the way."""
    rng = np.random.default_rng(seed)
    stop = data.draw(st.integers(1, planned))
    truth = rng.random((stop, n_all, n_chains)) < rng.random((1, n_all, 1))
    chances = rng.random((stop, n_all, n_chains)).astype(np.float32)
    tallies = made(n_all, n_chains, planned, n_slots, conditional=True)
    save_at = data.draw(st.integers(0, stop))
    at = 0
    while at < stop:
        if at >= save_at:
            arrays = {item.name: item.array.copy() for item in tallies.saved()}
            tallies = made(n_all, n_chains, planned, n_slots, conditional=True)
            restored = Restored(arrays)
            tallies.restore(restored)
            restored.require_none_left()
            save_at = stop
        draws = min(data.draw(st.integers(1, 300)), tallies.room(), stop - at)
        for draw in range(at, at + draws):
            counters.add_world(tallies.planes, pack(truth[draw]))
            tallies.conditionals += chances[draw]
        tallies.record(draws)
        at += draws
        if data.draw(st.booleans()):
            tallies.settle()
    tallies.settle()
    assert tallies.draws == stop
    begin = 0
    for slot, length in enumerate(tallies.clock.lengths()):
        part = slice(begin, begin + length)
        np.testing.assert_array_equal(tallies.counts.cells[slot], truth[part].sum(axis=0)[::-1])
        sums = tallies.slot_sums(slice(None))[slot]
        np.testing.assert_allclose(sums, chances[part].sum(axis=0, dtype=np.float64)[::-1], atol=1e-6 * length)
        begin += length
    for slot in range(len(tallies.clock.lengths()), n_slots):
        assert not tallies.counts.cells[slot].any()


def test_counts_widen_before_they_overflow() -> None:
    tallies = made(1, 2, planned=10**6, n_slots=4)
    assert tallies.counts.cells[0].dtype == np.uint16
    while tallies.draws < 10**6:
        draws = min(tallies.room(), 10**6 - tallies.draws)
        for plane in range(8):  # chain 0 is always true
            tallies.planes[0, plane] = (tallies._in_planes + draws) >> plane & 1
        tallies.record(draws)
    assert sum(int(cells[0, 0]) for cells in tallies.counts.cells) == 10**6
    assert not any(cells[0, 1] for cells in tallies.counts.cells)
    assert tallies.counts.cells[0].dtype == np.uint32


def test_versions_never_repeat_for_other_contents() -> None:
    """A checkpoint writes only arrays whose version changed, so equal versions must mean equal arrays."""
    rng = np.random.default_rng(0)
    tallies = made(2, 3, planned=400, n_slots=4)
    seen: dict[tuple[str, int], bytes] = {}
    while tallies.draws < 400:
        draws = min(int(rng.integers(1, 9)), tallies.room())
        for _ in range(draws):
            counters.add_world(tallies.planes, pack(rng.random((2, 3)) < 0.5))
        tallies.record(draws)
        for item in tallies.saved():
            assert seen.setdefault((item.name, item.version), item.array.tobytes()) == item.array.tobytes()


@pytest.mark.parametrize(("rows", "chains", "least"), [(10, 64, 4), (10**6, 64, 4), (10**6, 1, 32), (10**6, 7, 8), (0, 1, 32)])
def test_slots_are_few_where_memory_is_dear(rows: int, chains: int, least: int) -> None:
    slots = slots_for(rows, chains)
    assert slots >= least and slots & (slots - 1) == 0
    assert slots == least or slots * rows * chains * 2 <= 1 << 26


def test_a_million_atoms_fit_beside_the_sampler() -> None:
    size = {"n_all": 10**6, "n_query": 10**6, "n_events": 0, "n_chains": 64, "draws": 1000}
    assert tally_bytes(**size, conditional=False) < 0.72e9
    assert tally_bytes(**size, conditional=True) < 1.5e9


def test_bytes_are_those_of_planes_slots_and_sums() -> None:
    """Planes of 64 bytes a row and batch; counts of two or four, and two for burn-in.

    Sums have slots where chains are not many or sweeps may drop.
    """
    size = {"n_all": 6, "n_query": 3, "n_events": 2, "draws": 70}
    assert tally_bytes(**size, n_chains=20, conditional=False) == (6 + 2) * 64 + 17 * 5 * 20 * 2
    assert tally_bytes(**size, n_chains=65, conditional=False) == 2 * (6 + 2) * 64 + 17 * 5 * 65 * 2
    assert tally_bytes(**size, n_chains=20, conditional=False, n_batches=7) == 7 * (6 + 2) * 64 + 17 * 5 * 20 * 2
    plain = {chains: tally_bytes(**size, n_chains=chains, conditional=False) for chains in (7, 8, 31, 32)}
    slots = {7: 32, 8: 16, 31: 16, 32: 1}
    for chains, n_slots in slots.items():
        found = tally_bytes(**size, n_chains=chains, conditional=True) - plain[chains]
        assert found == 6 * chains * 4 + n_slots * 3 * chains * 8
    for rows, n_slots in ((1 << 16, 16), ((1 << 16) + 1, 1)):  # 64 MiB of eight bytes
        large = {"n_all": rows, "n_query": rows, "n_events": 0, "n_chains": 8, "draws": 70}
        found = tally_bytes(**large, conditional=True) - tally_bytes(**large, conditional=False)
        assert found == rows * 8 * (4 + n_slots * 8)
    dropping = [tally_bytes(**size, n_chains=8, conditional=conditional, dropping=True) for conditional in (False, True)]
    assert dropping[1] - dropping[0] == 6 * 8 * 4 + 32 * 3 * 8 * 8
    wide = {**size, "n_chains": 64, "conditional": False}
    assert tally_bytes(**wide | {"draws": 16 * 65534}) == (6 + 2) * 64 + 17 * 5 * 64 * 2
    assert tally_bytes(**wide | {"draws": 16 * 65535}) == (6 + 2) * 64 + 16 * 5 * 64 * 4 + 5 * 64 * 2
