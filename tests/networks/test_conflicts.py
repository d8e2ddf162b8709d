"""Rules that conflict, against trying every set of rules and every world."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from markovlogic.networks import hard_part as search_module
from markovlogic.networks.conflicts import NoWorldError
from markovlogic.networks.ground import GroundNetwork, network_of
from markovlogic.networks.hard_part import Walk, hard_part
from markovlogic.networks.starts import start_worlds

N_ATOMS, N_RULES = 6, 5


def random_rules(seed: int) -> tuple[GroundNetwork, list[tuple[int, list[int]]], list[list[int]]]:
    """A network of hard clauses and units, each of one rule; and the same as a list, for the oracle."""
    rng = np.random.default_rng(seed)
    groups = [[4, 5]] if seed % 2 else []
    made: dict[tuple[int, ...], int] = {}
    for _ in range(int(rng.integers(10, 26))):
        atoms = sorted(rng.choice(N_ATOMS, int(rng.integers(2, 4)), replace=False).tolist())
        made[tuple(2 * a + int(rng.integers(2)) for a in atoms)] = int(rng.integers(N_RULES))
    units = {
        int(a): (bool(rng.integers(2)), int(rng.integers(N_RULES))) for a in rng.choice(4, int(rng.integers(0, 3)), replace=False)
    }
    bias = {a: np.inf if true else -np.inf for a, (true, _) in units.items()}
    network = network_of(N_ATOMS, [(np.inf, list(ls)) for ls in made], bias=bias, groups=groups)
    hard_rule = np.array([made[key] for key in sorted(made)], np.int32)
    unit_rule = np.array([units[a][1] for a in sorted(units)], np.int32)
    listed = [(rule, list(ls)) for ls, rule in made.items()] + [(rule, [2 * a + true]) for a, (true, rule) in units.items()]
    return replace(network, hard_rule=hard_rule, unit_rule=unit_rule), listed, groups


def is_possible(listed: list[tuple[int, list[int]]], groups: list[list[int]], rules: set[int]) -> bool:
    """Whether some world obeys these rules: all of them are looked at."""
    for world in itertools.product((0, 1), repeat=N_ATOMS):
        if all(sum(world[a] for a in group) == 1 for group in groups) and all(
            any(world[literal >> 1] == (literal & 1) for literal in literals) for rule, literals in listed if rule in rules
        ):
            return True
    return False


def conflict_of(network: GroundNetwork) -> NoWorldError | None:
    try:
        start_worlds(network, 2, np.random.SeedSequence(1), "satisfying")
    except NoWorldError as error:
        return error
    return None


@pytest.mark.parametrize("seed", range(40))
def test_the_reported_rules_conflict_and_none_of_them_is_idle(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "RESTARTS", 2)
    network, listed, groups = random_rules(seed)
    error = conflict_of(network)
    assert (error is None) == is_possible(listed, groups, set(range(N_RULES)))
    if error is None:
        return
    reported = set(error.conflict.rules.tolist())
    assert error.conflict.is_least and error.conflict.has_groups == bool(groups)
    assert not is_possible(listed, groups, reported)
    assert all(is_possible(listed, groups, reported - {rule}) for rule in reported)


def test_the_check_above_sees_wrong_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the rules of the clauses mixed up, some set that is reported does not conflict, or holds an idle rule."""
    monkeypatch.setattr(search_module, "RESTARTS", 2)
    wrong = 0
    for seed in range(40):
        network, listed, groups = random_rules(seed)
        error = conflict_of(replace(network, hard_rule=np.roll(network.hard_rule, 1)))
        if error is not None:
            reported = set(error.conflict.rules.tolist())
            wrong += is_possible(listed, groups, reported) or not all(
                is_possible(listed, groups, reported - {rule}) for rule in reported
            )
    assert wrong > 3


def test_networks_without_rules_say_what_is_known() -> None:
    error = conflict_of(network_of(2, [(np.inf, [a, b]) for a in (0, 1) for b in (2, 3)]))
    assert error is not None and not len(error.conflict.rules) and "no world" in str(error)


def test_how_long_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restarts are longer each time; trials of fewer rules have flips for each of their clauses."""
    monkeypatch.setattr(search_module, "RESTARTS", 3)
    given: list[int] = []
    walk = Walk.go

    def go(self: Walk, world: np.ndarray, generator: np.ndarray, flips: int, until: float) -> bool:
        given.append(flips)
        return walk(self, world, generator, flips, until)

    monkeypatch.setattr(Walk, "go", go)
    network = network_of(4, [(np.inf, [a, b]) for a in (0, 1) for b in (2, 3)] + [(np.inf, [4, 7])])
    error = conflict_of(replace(network, hard_rule=np.array([0, 0, 1, 1, 2], np.int32)))
    assert error is not None and error.conflict.rules.tolist() == [0, 1] and error.conflict.is_least
    assert not error.conflict.is_proven
    assert (error.conflict.n_clauses, error.conflict.least_broken) == (5, 1)
    first = 10_000 + 10 * 5
    assert given[:3] == [first, 2 * first, 3 * first] and error.conflict.flips == 6 * first
    assert f"found in {6 * first:,} flips of WalkSAT: at best 1 of 5 ground hard rules" in str(error)
    assert given[3:] == [20_000 + 4 * 3, 20_000 + 4 * 3, 20_000 + 4 * 4]  # without rule 0, without 1, without 2


def test_how_a_walk_is_cut_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    rows = {tuple(sorted(rng.choice(60, 3, replace=False).tolist())) for _ in range(240)}
    network = network_of(60, [(np.inf, [2 * a + int(rng.integers(2)) for a in row]) for row in rows])
    part = hard_part(network)
    ends = []
    for piece in (1, 7, 100_000):
        walk, world, generator = Walk(part, part.value.copy()), np.zeros(60, np.uint8), np.arange(1, 5, dtype=np.uint64)
        walk._flips_a_piece = piece
        walk.from_random(world, generator)
        walk.go(world, generator, 500, np.inf)
        ends.append((world.tobytes(), generator.tobytes()))
    assert ends[0] == ends[1] == ends[2]


@pytest.mark.parametrize(
    ("step", "pieces"), [(0.0, [100, 200, 400, 800]), (0.1, [100, 100, 100]), (0.3, [100, 50, 25, 12, 6, 3, 1, 1])]
)
def test_pieces_are_cut_by_the_clock(step: float, pieces: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """They last about a tenth of a second: quicker ones are doubled, much slower ones halved, down to a single flip."""
    clock = itertools.count()
    monkeypatch.setattr(search_module, "time", SimpleNamespace(monotonic=lambda: step * next(clock)))
    part = hard_part(network_of(2, [(np.inf, [a, b]) for a in (0, 1) for b in (2, 3)]))
    walk, world, generator = Walk(part, part.value.copy()), np.zeros(2, np.uint8), np.arange(1, 5, dtype=np.uint64)
    assert not walk.go(world, generator, sum(pieces), np.inf) and walk.flips == sum(pieces)
    after = {0.0: 2 * pieces[-1], 0.1: pieces[-1], 0.3: 1}
    assert walk._flips_a_piece == after[step] and walk.least == 1
    late = Walk(part, part.value.copy())
    assert not late.go(world, generator, 10**6, step * next(clock)) and (step == 0 or late.flips == 100)


def test_an_interrupt_ends_a_walk() -> None:
    from markovlogic.errors import Interrupted
    from markovlogic.system.cancellation import Deadline, current

    part = hard_part(network_of(2, [(np.inf, [a, b]) for a in (0, 1) for b in (2, 3)]))
    with Deadline().of_this_run():
        current().cancel()
        with pytest.raises(Interrupted):
            Walk(part, part.value.copy()).go(np.zeros(2, np.uint8), np.arange(1, 5, dtype=np.uint64), 10**6, np.inf)
