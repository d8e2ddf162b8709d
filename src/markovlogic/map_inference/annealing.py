"""A good world of a problem that is not ground: simulated annealing by the sweeps of the counting network.

Each sweep draws every atom, or exclusive group, given the others at an inverse temperature, which rises along a try, so that the
last sweeps take the better value of each (Kirkpatrick, Gelatt, Vecchi 1983). Hard clauses hold from the start on. What a world
weighs is counted, as everything else is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from markovlogic.errors import Interrupted
from markovlogic.language.templates import LoweredModel
from markovlogic.map_inference.settings import SearchSettings
from markovlogic.networks.counting.moves import swept, weight_of
from markovlogic.networks.counting.network import CountingNetwork
from markovlogic.networks.counting.sweeping import kernel_of
from markovlogic.problem import Problem
from markovlogic.system.arrays import Bool, Float64, unpacked
from markovlogic.system.cancellation import Deadline, current
from markovlogic.system.gc_control import without_collection
from markovlogic.system.progress import SILENT, Progress

SWEEPS = 60  # of a try, where nothing is said
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
