"""A good world of a problem that is not ground: simulated annealing by the sweeps of the counting network.

Each sweep draws every atom, or exclusive group, given the others at an inverse temperature, which rises along a try, so that the
last sweeps take the better value of each (Kirkpatrick, Gelatt, Vecchi 1983). Hard clauses hold from the start on. What a world
weighs is counted, as everything else is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from markovlogic.errors import Interrupted
from markovlogic.language.templates import LoweredModel
from markovlogic.map_inference.integer_program import compile_kernels
from markovlogic.map_inference.restricting import decided_by_hard_rules, restricted
from markovlogic.map_inference.search import search
from markovlogic.map_inference.settings import SearchSettings
from markovlogic.map_inference.solve import Work
from markovlogic.map_inference.weighing import TOLERANCE, is_possible, log_weight, most_conceivable, scale, with_hidden
from markovlogic.networks.counting.moves import kernel_of, swept, weight_of
from markovlogic.networks.counting.network import CountingNetwork
from markovlogic.networks.ground import GroundNetwork
from markovlogic.problem import Problem
from markovlogic.system.arrays import Bool, Float64, unpacked
from markovlogic.system.cancellation import Deadline, current
from markovlogic.system.measures import without_collection
from markovlogic.system.progress import SILENT, Progress

SWEEPS = 60  # of a try, by default
COOLING, GREEDY = (0.1, 8.0), 1e4  # inverse temperatures: from, to; and of the last sweeps
GREEDY_SHARE = 0.15
PIECE_SECONDS = 0.2


@dataclass(frozen=True, eq=False)
class Annealed:
    """The best world of all tries."""

    world: Bool  # (n_atoms,)
    log_weight: float
    updates: int  # of atoms
    tries: int  # that were begun


def most_countable(problem: Problem, lowered: LoweredModel) -> float:
    """No world weighs more: every grounding of every clause is true."""

    def groundings(variables: tuple[tuple[str, str], ...]) -> int:
        return math.prod(len(problem.domains[of]) for _, of in variables)

    total = [
        each * groundings(tuple((name, rule.type_of[name]) for name in rule.free))
        for each, rule in zip(lowered.constant_per_grounding, problem.model.rules, strict=True)
        if each
    ]
    total += [t.weight * groundings(t.variables + t.idle) for t in lowered.templates if math.isfinite(t.weight)]
    return math.fsum(total)


def anneal(network: CountingNetwork, settings: SearchSettings, *, progress: Progress = SILENT) -> Annealed:
    """Anneal from worlds that are far apart, one after the other, until all are done or the time is over."""
    ceiling, own = most_countable(network.problem, network.lowered), current()
    best, weight, updates, tries = np.zeros(network.n_atoms, np.bool_), -math.inf, 0, 0
    _compile(network, own, progress)
    progress.stage("anneal", settings.tries)
    for number, seed in enumerate(np.random.SeedSequence([settings.seed, 2]).spawn(settings.tries)):
        if number and _is_over(own):
            break
        first, then = seed.spawn(2)
        world = unpacked(network.start_worlds(1, first, "spread", number), 1)[0]
        tries += 1
        weight, best = max((weight, best), (_weight(network, world, ceiling), world), key=lambda found: found[0])
        own.has_answer = True  # whoever asks the run to stop gets it
        try:
            world, made = _cooled(network, world, _schedule(network, settings), np.random.default_rng(then), own)
        except Interrupted:  # the start of this try is known, and the tries before
            break
        updates += made * network.n_atoms
        weight, best = max((weight, best), (_weight(network, world, ceiling), world), key=lambda found: found[0])
        progress.advance(number + 1, f"log weight {weight:.10g}")
    return Annealed(best, weight, updates, tries)


def _compile(network: CountingNetwork, own: Deadline, progress: Progress) -> None:
    """The first use of the sweeps on a machine: they are compiled, and the time does not count."""
    from markovlogic.kernels import are_cold

    if are_cold((kernel_of(network), "counting.sweep:read_atoms", "counting.evaluate:sum_terms")):
        progress.stage("compile kernels (once on this machine, some 10 to 30 s)")
        with own.paused(), without_collection():
            world = unpacked(network.start_worlds(1, np.random.SeedSequence(0), "false"), 1)[0]
            weight_of(network, swept(network, world, np.ones(1), np.random.default_rng(0)))


def _weight(network: CountingNetwork, world: Bool, ceiling: float) -> float:
    """What a world weighs; nothing where it breaks a hard rule."""
    found = weight_of(network, world)
    return -math.inf if found.obeyed < 0 else ceiling + found.log_weight


def _schedule(network: CountingNetwork, settings: SearchSettings) -> Float64:
    """Inverse temperatures, one a sweep."""
    sweeps = SWEEPS if settings.flips is None else max(1, settings.flips // max(network.n_atoms, 1))
    greedy = max(1, int(GREEDY_SHARE * sweeps))
    return np.concatenate([np.geomspace(*COOLING, max(0, sweeps - greedy)), np.full(greedy, GREEDY)])


def _cooled(network: CountingNetwork, world: Bool, betas: Float64, rng: np.random.Generator, own: Deadline) -> tuple[Bool, int]:
    """The world after the schedule, or as far as the time lasts with one greedy sweep at its end; and how many were made."""
    piece = max(1, int(PIECE_SECONDS / max(network.sweep_seconds, 1e-6)))
    for begin in range(0, len(betas), piece):
        world = swept(network, world, betas[begin : begin + piece], rng)
        if begin + piece < len(betas) and _is_over(own):
            return swept(network, world, betas[-1:], rng), begin + piece + 1
    return world, len(betas)


def _is_over(own: Deadline) -> bool:
    return own.cancelled or (own.left is not None and own.left <= 0)


@dataclass(frozen=True, eq=False)
class Polished:
    """A world of the true model, and where it came from."""

    world: Bool  # (n_atoms,)
    log_weight: float
    bound: float  # no world weighs more
    before: float | None  # what it weighed as it was projected; None where it broke hard rules
    flips: int


def with_groups(network: GroundNetwork, world: Bool) -> Bool:
    """The world with exactly one true value in every exclusive group: the one it has, else the likeliest by bias that is left."""
    world = world.copy()
    for group in np.flatnonzero(_n_true(network, world) != 1).tolist():
        atoms = network.group_atom[network.group_start[group] : network.group_start[group + 1]]
        liking = network.atom_bias[atoms] + np.where(world[atoms] & (network.atom_bias[atoms] > -np.inf), 1e300, 0.0)
        world[atoms] = False
        world[atoms[int(np.argmax(liking))]] = True
    return world


def _n_true(network: GroundNetwork, world: Bool) -> np.ndarray:
    if not network.n_groups:
        return np.zeros(0, np.int64)
    return np.add.reduceat(world[network.group_atom].astype(np.int64), network.group_start[:-1])


def polished(network: GroundNetwork, world: Bool, work: Work, *, polish: bool) -> Polished | None:
    """The world (n_atoms,) with hard rules mended, after one walk where that is wanted; None where hard rules stay broken."""
    decided = decided_by_hard_rules(network)
    world = np.where(decided[: network.n_atoms] >= 0, decided[: network.n_atoms] == 1, world)
    world = with_groups(network, world)
    full = with_hidden(network, world)
    before = log_weight(network, full) if is_possible(network, full) else None
    flips, best = 0, world
    if polish or before is None:
        compile_kernels(work.progress)
        rest = restricted(network, decided)
        if rest.network.n_all:
            start = with_hidden(rest.network, full[rest.atom][: rest.network.n_atoms]).astype(np.uint8)
            found = search(rest.network, [start], replace(work.search, tries=1), threads=work.threads, progress=work.progress)
            best, flips = rest.expanded(found.world)[: network.n_atoms], found.flips
    full = with_hidden(network, best)
    if not is_possible(network, full):
        return None
    weight = log_weight(network, full)
    if before is not None and before > weight:
        best, weight = world, before
    bound = most_conceivable(network)
    bound = weight if bound - weight <= TOLERANCE * scale(network) else bound
    return Polished(best, weight, bound, before, flips)
