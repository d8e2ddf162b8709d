"""What is read back is refused when it is not what a run could have saved; what a run saved never is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.plain_gibbs import pack
from tests.running.test_tampered_checkpoints import CASES

from markovlogic.estimation.slots import SlotClock
from markovlogic.kernels.counters import add_world
from markovlogic.system.checkpoint_validation import Restored, duration, require_counters, whole_number


def test_arrays_are_handed_out_once_as_expected() -> None:
    arrays = Restored({"a.b": np.arange(3), "c": np.array([0.5, np.nan])})
    assert arrays.under("a").take("b", np.int64, (3,), low=0, high=2).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"a\.b is missing"):
        arrays.under("a").take("b", np.int64, (3,))
    with pytest.raises(ValueError, match="c is not expected"):
        arrays.require_none_left()
    with pytest.raises(ValueError, match="nan"):
        arrays.take("c", np.float64, (2,), low=0)
    arrays.require_none_left()


@pytest.mark.parametrize(
    ("dtype", "shape", "bounds"),
    [
        (np.int32, (3,), {}),
        (np.int64, (4,), {}),
        (np.int64, (3, 1), {}),
        (np.int64, (3,), {"low": 1}),
        (np.int64, (3,), {"high": 1}),
    ],
)
def test_other_types_shapes_and_values_are_refused(dtype: Any, shape: tuple[int, ...], bounds: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="array a"):
        Restored({"a": np.arange(3)}).take("a", dtype, shape, **bounds)


@pytest.mark.parametrize("value", [-1, 1.0, "1", None, True, [1]])
def test_numbers_of_a_manifest_are_whole(value: object) -> None:
    assert whole_number({"n": 3}, "n") == 3
    with pytest.raises(ValueError, match="n is"):
        whole_number({"n": value}, "n")


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "1", None, True, 10**400])
def test_seconds_of_a_manifest_are_finite(value: object) -> None:
    assert duration({"n": 3}, "n") == 3.0
    with pytest.raises(ValueError, match="n is"):
        duration({"n": value}, "n")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(n_chains=st.integers(1, 64), draws=st.integers(1, 255), seed=st.integers(0, 99))
def test_counters_are_compared_with_the_draws(n_chains: int, draws: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    planes = np.zeros((4, 8), np.uint64)
    count = np.zeros((4, n_chains), np.int64)
    for _ in range(draws):
        truth = rng.random((4, n_chains)) < rng.choice([0.2, 0.99])
        add_world(planes, pack(truth))
        count += truth
    require_counters(planes, int(count.max()), n_chains, "planes")
    if count.max():
        with pytest.raises(ValueError, match="counted more"):
            require_counters(planes, int(count.max()) - 1, n_chains, "planes")
    if n_chains < 64:
        planes[rng.integers(4), rng.integers(8)] |= np.uint64(1 << int(rng.integers(n_chains, 64)))
        with pytest.raises(ValueError, match="chains beyond"):
            require_counters(planes, 255, n_chains, "planes")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(planned=st.integers(1, 3000), n_slots=st.sampled_from([4, 8, 64]), share=st.floats(0, 1))
def test_a_clock_is_restored_to_where_it_was_and_nowhere_else(planned: int, n_slots: int, share: float) -> None:
    clock = SlotClock.start(planned, n_slots)
    begun = 0
    for draw in range(int(share * planned)):
        while clock.must_fold:
            clock.fold()
        begun = begun if clock.slot < len(clock.lengths()) else draw
        clock.draws += 1
    assert clock.unfinished == (0 if clock.slot >= len(clock.lengths()) or clock.draws == planned else clock.draws - begun)
    SlotClock.start(planned, n_slots).restore(clock.level, clock.draws)
    for level, draws in ((clock.level + 1, clock.draws), (clock.level - 1, clock.draws)):
        with pytest.raises(ValueError, match="draws"):
            SlotClock.start(planned, n_slots).restore(level, draws)


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("n_chains", [1, 3, 64])
def test_what_steps_leave_behind_is_never_refused(name: str, n_chains: int) -> None:
    chosen, network = CASES[name]()
    sampler = chosen.build(network, n_chains)
    state = sampler.init(np.random.SeedSequence(1))
    sampler.check(state)
    for burn_in in (True, False):
        for _ in range(4):
            sampler.step(state, 3, burn_in=burn_in)
            sampler.check(state)


def _beyond(state: Any) -> None:
    state.world[0] |= np.uint64(1 << 63)


def _decided(state: Any) -> None:
    state.world[7] ^= np.uint64(1)


def _group(state: Any) -> None:
    state.world[4:7] |= np.uint64(2)


def _empty_group(state: Any) -> None:
    state.world[4:7] &= ~np.uint64(2)


def _hidden(state: Any) -> None:
    state.world[8] ^= np.uint64(4)


def _hard(state: Any) -> None:
    state.world[[0, 2, 8]] |= np.uint64(1)  # 0 and 2 exclude each other, 8 follows from 0


PLANTED = {"absent": _beyond, "decided": _decided, "group": _group, "empty": _empty_group, "hidden": _hidden, "hard": _hard}


@pytest.mark.parametrize("fault", list(PLANTED))
@pytest.mark.parametrize("name", ["gibbs", "blocked", "mcsat", "orbital"])
def test_worlds_of_no_network_are_refused(name: str, fault: str) -> None:
    chosen, network = CASES[name]()
    sampler = chosen.build(network, 5)
    state = sampler.init(np.random.SeedSequence(1))
    PLANTED[fault](state)
    with pytest.raises(ValueError, match="world"):
        sampler.check(state)


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("blocked", "done", -1),
        ("lifted-mh", "chosen", 99),
        ("lifted-mh", "chosen", -7),
        ("lifted-mh", "tried", -1),
        ("lifted-mh", "trials", -1),
        ("lifted-mh", "coin", 0),
        ("orbital", "memory", 99),
        ("orbital", "memory", 0),
        ("orbital", "memory", -1),
        ("orbital", "key", 1 << 40),
        ("mcsat", "generator", 0),
        ("gibbs", "scalar", 0),
        ("gibbs", "generator", 0),
    ],
)
def test_indices_out_of_range_and_dead_generators_are_refused(name: str, field: str, value: int) -> None:
    chosen, network = CASES[name]()
    sampler = chosen.build(network, 5)
    state = sampler.init(np.random.SeedSequence(1))
    getattr(state, field)[:] = value
    with pytest.raises(ValueError):
        sampler.check(state)
