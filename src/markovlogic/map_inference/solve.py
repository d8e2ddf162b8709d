"""The most probable world of a ground network: each component by the cheapest proof, then by search and an integer program."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from markovlogic.errors import ResourceError
from markovlogic.map_inference.integer_program import compile_kernels, maximize_program
from markovlogic.map_inference.orbits import NetworkKinds, solve_by_colours
from markovlogic.map_inference.restricting import UNDECIDED, decided_by_hard_rules, restricted
from markovlogic.map_inference.roof import is_pairwise, roof
from markovlogic.map_inference.search import World, search
from markovlogic.map_inference.settings import MapMethod, SearchSettings, share_of
from markovlogic.map_inference.weighing import TOLERANCE, is_possible, log_weight, most_conceivable, scale, with_hidden
from markovlogic.methods.exact.interaction import ONE_SECOND, Effort
from markovlogic.methods.exact.maximum import ShapeOptimum, best_eliminated, best_listed, can_list
from markovlogic.methods.exact.shapes import Shape, shapes_of
from markovlogic.methods.exact.widths import MOST_WIDTH, plan_elimination
from markovlogic.networks.components import Part, components, split
from markovlogic.networks.conflicts import Conflict, NoWorldError, no_world, propagates
from markovlogic.networks.ground import NO_RULES, GroundNetwork
from markovlogic.networks.hard_part import HardPart, hard_part
from markovlogic.networks.starts import start_worlds
from markovlogic.running.worker_pool import cores
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Int8, frozen, unpacked
from markovlogic.system.progress import SILENT, Progress


def proved_impossible(network: GroundNetwork) -> NoWorldError:
    """The error for a network that has no world; the rules that it names have none either."""
    part = hard_part(network)
    conflict = no_world(part).conflict
    if not conflict.is_proven:
        conflict = _proved(part, conflict)
    return NoWorldError(conflict)


def _proved(part: HardPart, conflict: Conflict) -> Conflict:
    """A search found no world for the rules that it names; an integer program knows whether there is one."""
    if is_impossible(part.of_rules(conflict.rules)):
        return replace(conflict, is_proven=True)
    return replace(conflict, rules=part.rules, is_proven=True, is_least=False)


def is_impossible(part: HardPart) -> bool:
    """Whether it is proved that no world obeys a hard part."""
    value = part.value.copy()
    if not propagates(part, value):
        return True
    rest = restricted(_network(part), value).network
    for one in split(rest, components(rest)):
        found = maximize_program(one.network, None)
        if found.world is None and found.is_optimal:
            return True
    return False


def _network(part: HardPart) -> GroundNetwork:
    """The hard part as a network without weights, in which hidden atoms are bound by its clauses."""
    none = np.zeros(0, np.int32)
    return frozen(
        GroundNetwork(
            n_atoms=len(part.value),
            clause_start=part.clause_start,
            clause_literal=part.clause_literal,
            clause_weight=np.full(part.n_clauses, np.inf),
            atom_bias=np.zeros(len(part.value)),
            atom_start=part.atom_start,
            atom_clause=part.atom_clause,
            group_start=part.group_start,
            group_atom=part.group_atom,
            definition_start=np.zeros(1, np.int64),
            definition_literal=none,
            definition_rule=none,
            log_constant=0.0,
            hard_rule=NO_RULES,
            unit_rule=NO_RULES,
        )
    )


PLANNING = 10 * ONE_SECOND  # effort for orders of elimination
# what solves components, by effort
HARDEST = ("partition", "maxwalksat", "ilp", "colours", "flow", "eliminate", "enumerate", "closed form")
SEARCH_SHARE = 0.3  # of the time that is left, where proofs come after it
BATCH = 64  # worlds to start from that are made together
MOST_ENTRIES = 2.0**27  # of the tables of one elimination


@dataclass(frozen=True)
class Work:
    """Settings of a run: the method, the search, and the resources it may use."""

    method: MapMethod
    search: SearchSettings = field(default_factory=SearchSettings)
    memory_limit: int | None = None
    threads: int | None = None
    progress: Progress = SILENT


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best world that was found, and what is proved about it."""

    world: Bool  # (n_atoms,) open atoms
    log_weight: float  # Σ w·N of it
    bound: float  # no world weighs more
    is_proved: bool  # it is a most probable world; then the bound is its weight
    flips: int
    tries: int
    used: Mapping[str, int]  # components by what solved them
    interrupted: bool
    remarks: tuple[str, ...] = ()

    @property
    def hardest(self) -> str:
        """What solved the component that was the hardest to solve."""
        return next((name for name in HARDEST if self.used.get(name)), next(iter(self.used), HARDEST[-1]))


class _StopError(Exception):
    """The time is over or the run was cancelled: the best world so far is the answer."""


def _must_stop() -> bool:
    own = cancellation.current()
    return own.cancelled or (own.left is not None and own.left <= 0)


def _go_on() -> None:
    if _must_stop():
        raise _StopError


def memory_needed(network: GroundNetwork) -> int:
    """Bytes that solving takes beyond the network, about: rows without decided atoms, and the arrays of searches side by side."""
    literals, clauses = network.n_literals + network.n_all, network.n_clauses + network.n_all
    return 110 * literals + (40 + 24 * cores()) * clauses + 60 * network.n_all


def maximize_network(network: GroundNetwork, work: Work) -> Optimum:
    """The best world of a network within the deadline; raises NoWorldError where hard rules leave none."""
    compile_kernels(work.progress)
    run = _Run(network, work)
    world, gap = run.solved(network, decided_by_hard_rules(network), flows=work.method.flows)
    world = with_hidden(network, world[: network.n_atoms])
    assert is_possible(network, world)
    weight = log_weight(network, world)
    return Optimum(
        world=world[: network.n_atoms],
        log_weight=weight,
        bound=weight + gap if gap > 0.0 else weight,
        is_proved=gap <= 0.0,
        flips=run.flips,
        tries=run.tries,
        used=dict(run.used),
        interrupted=cancellation.current().cancelled,
    )


def prove_by_programs(network: GroundNetwork, world: Bool, work: Work) -> tuple[Bool, float, Counter[str]]:
    """A world at least as good as the one that is known, by an integer program for each component, as long as `work` allows.

    Gives also by how much another one may be heavier, and components by what found their world.
    """
    run = _Run(network, work)
    with share_of(cancellation.current(), 1.0, work.method.seconds):
        best, gap = run.by_programs(network, world.copy(), is_known=True)
    return best, gap, run.used


def gap_of(network: GroundNetwork, world: Bool, bound: float) -> float:
    """By how much another world may be heavier; nothing where rounding is all that it could be."""
    gap = bound - log_weight(network, world)
    return 0.0 if gap <= TOLERANCE * scale(network) else gap


class _Run:
    """What goes on through all components: the work, and the account of it."""

    def __init__(self, network: GroundNetwork, work: Work) -> None:
        self._whole, self._work = network, work
        self._effort = Effort(PLANNING)
        self.flips, self.tries = 0, 0
        self.used: Counter[str] = Counter()
        self._failed: NoWorldError | None = None

    def not_found(self, error: NoWorldError) -> NoWorldError:
        """What to raise where search found no world, with the rules of the whole network."""
        return no_world(hard_part(self._whole), flips=error.conflict.flips, least_broken=error.conflict.least_broken)

    def solved(self, network: GroundNetwork, value: Int8, *, flows: bool) -> tuple[Bool, float]:
        """A world (n_all,) of a network of which some atoms are decided, and by how much another one may be heavier.

        The second number is 0 where it is proved that none is.
        """
        rest = restricted(network, value)
        own = np.full(rest.network.n_all, UNDECIDED, np.int8)
        gap = 0.0
        if self._work.method.eliminates:
            self._by_elimination(rest.network, own)
        if flows:
            gap += self._by_flow(rest.network, own)
        left = restricted(rest.network, own)
        world = left.value == 1
        if left.network.n_all:
            found, more = self._by_search(left.network)
            world = left.expanded(found)
            gap += more
        return rest.expanded(world), gap

    def _by_elimination(self, network: GroundNetwork, value: Int8) -> None:
        """Decide the atoms of components that are small or narrow enough."""
        parts = components(network)
        alone = (np.diff(parts.start) == 1) & (np.diff(parts.clause_start) == 0)
        alone[parts.component_of[network.group_atom]] = False
        independent_atoms = parts.atom[parts.start[:-1][alone]]
        value[independent_atoms] = network.atom_bias[independent_atoms] > 0
        self.used["closed form"] += len(independent_atoms)
        rest = np.flatnonzero(~alone)
        self._work.progress.stage("solve components", len(rest))
        done = 0
        with suppress(_StopError):
            for shape in shapes_of(network, parts, rest):
                _go_on()
                best = self._shape_optimum(shape)
                if best is not None:
                    if np.isneginf(best.log_weight).any():
                        raise proved_impossible(self._whole)
                    value[shape.atom] = best.world
                done += shape.n_rows
                self._work.progress.advance(done)

    def _shape_optimum(self, shape: Shape) -> ShapeOptimum | None:
        if can_list(shape):
            self.used["enumerate"] += shape.n_rows
            return best_listed(shape)
        try:
            plan = plan_elimination(shape, max_width=MOST_WIDTH, memory_limit=self._work.memory_limit, effort=self._effort)
        except ResourceError:
            return None
        if plan.entries * shape.n_rows > MOST_ENTRIES * max(1.0, math.log2(shape.n_rows)):
            return None
        self.used["eliminate"] += shape.n_rows
        return best_eliminated(shape, plan, advance=lambda share: _go_on())

    def _by_flow(self, network: GroundNetwork, value: Int8) -> float:
        """Decide the atoms of pairwise components as far as maximum flow does; the gap of those that stay open in part."""
        left = restricted(network, value)
        if not left.network.n_all:
            return 0.0
        parts = components(left.network)
        gap = 0.0
        self._work.progress.stage("maximum flow", parts.n_components)
        for done, part in enumerate(split(left.network, parts), 1):
            if not is_pairwise(part.network):
                continue
            found = roof(part.network)
            if found is None:
                break
            world, more = self._after_flow(part, found.value, found.bound)
            value[left.atom[part.atom]] = world
            gap += more
            self._work.progress.advance(done)
        return gap

    def _after_flow(self, part: Part, value: Int8, bound: float) -> tuple[Bool, float]:
        """The rest of a component, which may be narrow now; and its gap, by the better of two bounds."""
        network = part.network
        if (value != UNDECIDED).all():
            self.used["flow"] += 1
            return value == 1, 0.0
        world, gap = self.solved(network, value, flows=False)
        return world, min(gap, gap_of(network, world, bound))

    def _by_search(self, network: GroundNetwork) -> tuple[Bool, float]:
        """A world by local search, then by an integer program for each component where the method has them."""
        alike = self._by_colours(network)
        if alike is not None and alike.is_optimal:
            if alike.world is None:
                raise proved_impossible(self._whole)
            self.used["colours"] += components(network).n_components
            return alike.world, 0.0
        world, gap = self._after_colours(network)
        if alike is not None and alike.world is not None and log_weight(network, alike.world) > log_weight(network, world):
            world, gap = alike.world, gap_of(network, alike.world, log_weight(network, world) + gap)
        return world, gap if alike is None else min(gap, gap_of(network, world, alike.bound))

    def _by_colours(self, network: GroundNetwork) -> NetworkKinds | None:
        """A bound, and perhaps a world, from kinds of atoms; None where that is not requested or they are many."""
        if not self._work.method.colours or _must_stop():
            return None
        self._work.progress.stage("symmetry")
        with share_of(cancellation.current(), SEARCH_SHARE):
            return solve_by_colours(network)

    def _after_colours(self, network: GroundNetwork) -> tuple[Bool, float]:
        start, world = self._start_worlds(network), np.zeros(network.n_all, np.bool_)
        own = cancellation.current()
        if start:
            with share_of(own, SEARCH_SHARE if self._work.method.programs else 1.0):
                found = search(network, start, self._work.search, threads=self._work.threads, progress=self._work.progress)
            world = with_hidden(network, found.world)
            self.flips, self.tries = self.flips + found.flips, max(self.tries, found.tries)
            own.has_answer, own.allowance = True, cancellation.SURE  # a cancelled run returns it
        if not self._work.method.programs:
            self.used["maxwalksat"] += components(network).n_components
            return world, gap_of(network, world, most_conceivable(network))
        with share_of(own, 1.0, self._work.method.seconds):
            return self.by_programs(network, world, is_known=bool(start))

    def by_programs(self, network: GroundNetwork, world: Bool, *, is_known: bool) -> tuple[Bool, float]:
        """The best world of each component, small ones first, from the known one on."""
        parts, gap, progress = components(network), 0.0, self._work.progress
        progress.stage("integer program", parts.n_components)
        order = np.argsort(np.diff(parts.start), kind="stable")
        for done, part in enumerate(split(network, parts, order.tolist())):
            known = world[part.atom] if is_known else None
            if known is not None and not gap_of(part.network, known, most_conceivable(part.network)):
                self.used["maxwalksat"] += 1
                continue
            found = maximize_program(part.network, known, on_bound=partial(self._show_error, done, known is not None))
            if found.world is None:
                assert self._failed is not None  # else a world was known
                raise proved_impossible(self._whole) if found.is_optimal else self.not_found(self._failed)
            world[part.atom] = found.world
            self.used["ilp" if found.is_optimal else "maxwalksat"] += 1
            if not found.is_optimal:
                gap += gap_of(part.network, found.world, min(found.bound, most_conceivable(part.network)))
            progress.advance(done + 1)
        return world, gap

    def _show_error(self, done: int, is_known: bool, bound: float, weight: float) -> None:
        """Show how far the proof of a component is."""
        note = f"at most {bound - weight:.4g} to gain" if is_known else ""
        self._work.progress.advance(done, note)

    def _start_worlds(self, network: GroundNetwork) -> list[World]:
        """Worlds that obey the hard rules, far apart, one for each try; none where none was found but a program may find one."""
        n, seed = 1 if _must_stop() else self._work.search.tries, np.random.SeedSequence([self._work.search.seed, 0])
        worlds: list[World] = []
        try:
            for first, child in zip(range(0, n, BATCH), seed.spawn(-(-n // BATCH)), strict=True):
                count = min(BATCH, n - first)
                words = start_worlds(network, count, child, "spread", first)
                worlds += list(unpacked(words, count).astype(np.uint8))
        except NoWorldError as error:
            if not self._work.method.programs:
                raise self.not_found(error) from None
            self._failed = error
            return []
        return worlds
