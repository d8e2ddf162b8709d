"""Every atom of a sweep is drawn with the log-odds that direct count gives in the world of its turn."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.grounding.from_text import prepared
from tests.grounding.made import Maker
from tests.strategies import RandomProblem, problems

from markovlogic.errors import InputError
from markovlogic.kernels.counting.layout import FIRST_ROW, GROUPS, MODE, N_WORDS, OPEN, ROW_GROUPS, Chain, Record
from markovlogic.kernels.counting.sweep import drawn
from markovlogic.networks.counting import messages, terms
from markovlogic.networks.counting.building import counting_network
from markovlogic.networks.counting.moves import _first_world, sweep
from markovlogic.networks.counting.network import CountingNetwork

TOLERANCE = 1e-9


def sites_in_order(network: CountingNetwork) -> list[tuple[bool, np.ndarray]]:
    """The atoms of each site, and whether they are an exclusive group."""
    found = []
    for predicate, item in network.site:
        own = network.relations.predicate[predicate]
        if own[MODE] == GROUPS:
            found.append((True, network.groups.atom[network.groups.start[item] : network.groups.start[item + 1]]))
            continue
        first = network.open_atoms.first[own[FIRST_ROW] + item]
        begin = own[OPEN] + item * own[N_WORDS]
        n = int(np.bitwise_count(network.open_atoms.mask[begin : begin + own[N_WORDS]]).sum())
        found.append((own[MODE] == ROW_GROUPS, np.arange(first, first + n)))
    return found


def fault_of(network: CountingNetwork, world: np.ndarray, seed: int, *, random_scan: bool = False) -> str:
    """What is wrong with one sweep; random scan records in a pass after the draws, in the world that they left."""
    n = network.n_atoms
    room = network.room()
    bits = network.bits_of(world, room)
    generator = np.random.SeedSequence(seed).generate_state(4, np.uint64)
    chain = Chain(bits, generator, room, network.registers(), np.zeros(network.n_slots, np.int64), 1.0)
    record = Record(np.zeros(n, np.uint8), np.zeros((n, 1), np.float32), np.full((n, 2), np.nan), 0)
    sweep(network, chain, 1, record, random_scan=random_scan)
    after = record.counts.astype(bool)
    other = network.room()
    if (network.bits_of(after, other) != bits).any() or (other.tally != room.tally).any():
        return "relations do not follow from the atoms"
    now = after.copy() if random_scan else world.copy()
    start = network.groups.start
    for is_group, atoms in sites_in_order(network):
        sums = record.sums[atoms]
        if is_group:
            group = int(np.flatnonzero(network.groups.atom[start[:-1]] == atoms[0])[0])
            expected = network.group_log_weights(group, now)
            possible = np.isfinite(expected)
            if possible.any():
                if ((sums[:, 1] > sums[:, 1].max() - 0.5) != possible).any():
                    return f"group {group}: {sums}, expected {expected}"
                if np.ptp((expected - sums[:, 0])[possible]) > TOLERANCE:
                    return f"group {group}: {sums}, expected {expected}"
            now[atoms] = after[atoms]
            continue
        for atom, (soft, hard) in zip(atoms, sums, strict=True):
            expected_odds = network.log_odds(int(atom), now)
            found = math.copysign(math.inf, hard) if hard else soft
            if not math.isnan(expected_odds) and found != expected_odds and not abs(found - expected_odds) < TOLERANCE:
                return f"atom {atom}: {soft} and {hard}, expected {expected_odds}"
            if not hard and abs(record.conditionals[atom, 0] - 1 / (1 + math.exp(-soft))) > 1e-6:
                return f"atom {atom}: conditional {record.conditionals[atom, 0]}, log-odds {soft}"
            now[atom] = after[atom]
    return "" if (now == after).all() else "an atom was drawn twice, or not at all"


def faults(seeds: range) -> list[str]:
    found = []
    for seed in seeds:
        problem, lowered = Maker(seed, hidden=seed % 4 == 3, hard=seed % 3 == 2).draw()
        network = counting_network(problem, lowered)
        rng = np.random.default_rng(seed)
        for random_scan in (False, True):
            found.append(fault_of(network, rng.random(network.n_atoms) < 0.5, seed, random_scan=random_scan))
    return [fault for fault in found if fault]


def test_random_templates() -> None:
    assert not faults(range(40))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(problems(max_atoms=14), st.integers(0, 1000))
def test_random_models(random: RandomProblem, seed: int) -> None:
    try:
        problem, lowered = prepared(random.mln, random.db, open_=random.query)
    except InputError:  # a hard rule that can never be true
        return
    network = counting_network(problem, lowered)
    world = _first_world(network, "coins", np.random.default_rng(seed))
    assert not fault_of(network, world, seed)


JOINED = """
p = {A, B, C, D, E}
k = {U, V, W}
R(p, p)
S(p)
K(p, k)
L(p, k!)
0.7 !R(x, y) v !R(y, z) v R(x, z)
0.4 K(x, u) ^ K(y, v) ^ R(x, y) => K(x, v)
0.3 R(x, y) ^ R(y, z) ^ R(z, w) ^ S(w) => S(x)
-0.2 R(x, y) ^ R(y, z) ^ R(z, x)
0.5 K(x, U) ^ R(x, y) => K(y, V)
0.6 R(A, y) ^ S(y) => R(y, B)
0.1 R(x, x) => S(x)
0.2 L(x, u) ^ R(x, y) => L(y, u)
-0.3 K(x, u) ^ K(y, u) ^ x != y
"""


def test_joins_that_are_messages_cycles_points_diagonals_and_special_rows() -> None:
    problem, lowered = prepared(JOINED, "R(A,B)\n!R(B,C)\nS(A)\n", open_=["R", "S", "K", "L"])
    network = counting_network(problem, lowered)
    assert len(network.program.instruction) and len(network.program.live) and len(network.program.vector)
    for seed in range(3):
        world = _first_world(network, "coins", np.random.default_rng(seed))
        assert not fault_of(network, world, seed)


@pytest.mark.parametrize("names", list(itertools.permutations(["K1", "K2", "K3", "K4"])), ids="-".join)
def test_chains_of_relations_by_any_names(names: tuple[str, ...]) -> None:
    """Variables get their numbers by the names of relations, so that the far end of a chain may come first."""
    near, far, start, end = names
    rules = (
        f"p = {{A, B, C}}\n{near}(p, p)\n{far}(p, p)\n{start}(p)\n{end}(p)\n"
        f"1.0 {start}(x) ^ {near}(x, y) ^ {far}(y, z) => {end}(z)\n0.5 {start}(x) ^ {near}(y, x) ^ {far}(z, y) ^ {end}(z)\n"
    )
    known = f"{near}(A,B)\n{near}(B,A)\n{near}(A,C)\n{far}(B,C)\n{far}(A,C)\n{far}(C,B)\n"
    for evidence, open_ in ((known, [start, end]), ("", names)):
        problem, lowered = prepared(rules, evidence, open_=list(open_))
        network = counting_network(problem, lowered)
        world = _first_world(network, "coins", np.random.default_rng(3))
        assert not fault_of(network, world, 3)


def test_a_mask_that_is_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages of a row must not read the row itself: without that mask, a sweep is wrong."""
    whole = messages.Instructions.bits
    monkeypatch.setattr(messages.Instructions, "bits", lambda self, factors, v, masks, size: whole(self, factors, v, (), size))
    assert faults(range(40)) or _joined_fault()


def test_factors_that_meet_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    combinations = terms.itertools.combinations

    def singles_only(items: object, number: int) -> object:
        return combinations(items, number) if number < 2 else ()

    monkeypatch.setattr(terms.itertools, "combinations", singles_only)
    assert faults(range(40))


def _joined_fault() -> str:
    problem, lowered = prepared(JOINED, "", open_=["R", "S", "K", "L"])
    network = counting_network(problem, lowered)
    return fault_of(network, _first_world(network, "coins", np.random.default_rng(1)), 1)


def test_a_draw_is_true_as_often_as_it_should_be() -> None:
    """Twelve log-odds, 5000 draws each: |z| above 5 in one of 10^5 runs; with the wrong sign it is far beyond."""
    borders = _borders()
    generator = np.random.SeedSequence(5).generate_state(4, np.uint64)
    for log_odds in (-9.0, -4.0, -1.5, -0.7, -1e-3, 0.0, 1e-6, 0.2, 1.0, 2.5, 4.0, 9.0):
        p = 1 / (1 + math.exp(-log_odds))
        n = 5000
        true = sum(drawn.py_func(log_odds, 0.0, generator, borders) for _ in range(n))
        assert abs(true - n * p) < 5 * math.sqrt(n * p * (1 - p)) + 1
        assert drawn.py_func(log_odds, 3.0, generator, borders) and not drawn.py_func(log_odds, -1.0, generator, borders)


def _borders() -> np.ndarray:
    problem, lowered = prepared("p = {A}\nS(p)\n0.1 S(x)\n", "", open_=["S"])
    return counting_network(problem, lowered).layout.borders


@pytest.mark.parametrize("seed", [3, 5, 8])
def test_what_is_recorded_of_some_atoms_is_what_is_recorded_of_all(seed: int) -> None:
    problem, lowered = Maker(seed, hidden=seed == 3, hard=False).draw()
    network = counting_network(problem, lowered)
    n = network.n_atoms
    found = []
    for first, last in ((0, n), (1, n - 1), (n // 2, n // 2 + 1), (0, 0)):
        world = np.random.default_rng(seed).random(n) < 0.5
        room = network.room()
        generator = np.random.SeedSequence(seed).generate_state(4, np.uint64)
        slots = np.zeros(network.n_slots, np.int64)
        chain = Chain(network.bits_of(world, room), generator, room, network.registers(), slots, 1.0)
        record = Record(np.zeros(last - first, np.uint8), np.zeros((last - first, 1), np.float32), np.zeros((0, 2)), first)
        sweep(network, chain, 7, record)
        found.append((first, last, record))
    (_, _, whole), *parts = found
    assert whole.counts.any() and whole.conditionals.any()
    for first, last, own in parts:
        np.testing.assert_array_equal(own.counts, whole.counts[first:last])
        np.testing.assert_array_equal(own.conditionals, whole.conditionals[first:last])
