"""Slots of a run that may stop at any time, or go on for longer than planned: against a list of all draws."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.plain_gibbs import pack

from markovlogic.estimation.slots import LEAST_DROPPED, SHORTEST_SEGMENT, SlotClock, slots_for
from markovlogic.estimation.summary import atom_estimates
from markovlogic.estimation.tallies import Counting, Events, Tallies
from markovlogic.kernels import counters
from markovlogic.system.checkpoint_validation import Restored

NO_EVENTS = Events.of([])


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    planned=st.integers(1, 3000), burn_in=st.integers(0, 3000), n_slots=st.sampled_from([8, 16, 32]),
    more=st.sampled_from([1, 2, 9]),
)  # fmt: skip
def test_what_counts_is_the_end_of_the_run_and_depends_on_its_length_alone(
    planned: int, burn_in: int, n_slots: int, more: int
) -> None:
    clock = SlotClock.start(planned, n_slots, burn_in)
    total = burn_in + planned
    share = max(burn_in / total, LEAST_DROPPED)
    while clock.draws < more * total:
        while clock.must_fold:
            clock.fold()
        assert clock.slot < n_slots
        clock.draws += min(clock.room(), 1 + clock.draws // 7)
        lengths, kept = clock.lengths(), clock.kept()
        assert sum(lengths) == clock.draws and len(lengths) <= n_slots and max(lengths) <= clock.longest_segment
        assert all(lengths[slot] == length > 0 for slot, length in kept.items())
        used = [slot for slot, length in enumerate(lengths) if length]
        assert list(kept) == used[len(used) - len(kept) :] and kept  # the last ones, without a gap
        dropped = clock.draws - clock.kept_draws
        assert dropped <= burn_in
        if clock.draws >= total:
            assert dropped == burn_in  # as the user stated
        elif clock.draws > SHORTEST_SEGMENT * n_slots:
            # as near to the share as slots allow: half of them at least are in use
            assert abs(dropped - min(burn_in, share * clock.draws)) <= max(clock.longest_segment, 0.3 * clock.draws)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(planned=st.integers(1, 300), burn_in=st.integers(0, 300), n_slots=st.sampled_from([8, 16]), stop=st.integers(1, 700))
def test_slots_are_dropped_up_to_their_middle(planned: int, burn_in: int, n_slots: int, stop: int) -> None:
    """A slot counts if its middle lies beyond the draws to be dropped, rounded up; the last one always does."""
    clock = SlotClock.start(planned, n_slots, burn_in)
    while clock.draws < stop:
        while clock.must_fold:
            clock.fold()
        clock.draws += min(clock.room(), stop - clock.draws)
    to_drop = min(burn_in, math.ceil(max(burn_in / (burn_in + planned), LEAST_DROPPED) * stop))
    begin, first = 0, 0
    for length in clock.lengths():
        if begin + length / 2 > to_drop or begin + length == stop:
            break
        begin, first = begin + length, first + 1
    assert clock.kept() == {slot: n for slot, n in enumerate(clock.lengths()) if slot >= first and n}
    assert clock.unfinished == (clock.lengths()[-1] if clock.slot < len(clock.lengths()) else 0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    data=st.data(), n_chains=st.sampled_from([1, 2, 9, 64]), planned=st.integers(1, 200), burn_in=st.integers(0, 150),
    conditional=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_estimates_are_those_of_the_draws_that_count(
    data: st.DataObject, n_chains: int, planned: int, burn_in: int, conditional: bool, seed: int
) -> None:
    """Any stopping time, beyond what was planned too, with a save and restore on the way."""
    rng = np.random.default_rng(seed)
    stop = data.draw(st.integers(1, 2 * (planned + burn_in)))
    saved_at = data.draw(st.integers(0, stop))
    atoms = np.arange(3, dtype=np.int32)
    counting = Counting(3, atoms, NO_EVENTS, planned, n_chains, conditional, 8, burn_in)
    tallies = Tallies(counting, n_chains)
    world = rng.random((stop, 3, n_chains)) < 0.4
    values = rng.random((stop, 3, n_chains)).astype(np.float32)
    for draw in range(stop):
        if draw == saved_at:
            arrays = {item.name: item.array.copy() for item in tallies.saved()}
            tallies = Tallies(counting, n_chains)
            tallies.restore(Restored(arrays))
        tallies.room()
        counters.add_world(tallies.planes, pack(world[draw]))
        if tallies.conditionals is not None:
            tallies.conditionals += values[draw]
        tallies.record(1)
    count = tallies.clock.kept_draws
    chosen = values if conditional else world
    np.testing.assert_allclose(atom_estimates([tallies]).mean, chosen[stop - count :].mean(axis=(0, 2)), rtol=1e-5)
    if stop >= planned + burn_in:
        assert count == stop - burn_in


def test_slots_are_many_where_chains_are_few_and_where_all_of_them_are_small() -> None:
    assert [slots_for(1, chains) for chains in (1, 2, 8, 64)] == [128, 64, 16, 16]
    assert [slots_for(1, chains, dropping=True) for chains in (1, 4, 64)] == [128, 32, 32]
    assert [slots_for(rows, 64) for rows in (1 << 15, (1 << 15) + 1)] == [16, 4]  # 64 MiB of two bytes
