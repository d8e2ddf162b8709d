"""Run messages on a factor graph until they stop changing, or until rounds, time or deadline are over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from markovlogic.errors import InputError
from markovlogic.networks.components import connected_parts
from markovlogic.networks.ground import GroundNetwork, atom_rows
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, frozen, offsets
from markovlogic.system.measures import without_collection
from markovlogic.system.progress import SILENT, Progress

if TYPE_CHECKING:
    from markovlogic.kernels.messages import Graph, Heard, Room


ONE: Float64 = frozen(np.ones(1))


@dataclass(frozen=True, eq=False)
class FactorGraph:
    """Factors in compressed rows: clauses, then exclusive groups, then definitions with the hidden atom's literal first."""

    bias: Float64  # (n_nodes,) log-odds, ±inf where decided
    start: Int64  # (n_factors + 1,)
    literal: Int32  # (n_edges,) 2·node + sign
    weight: Float64  # (n_clauses,) inf where hard
    n_groups: int
    log_constant: float
    # of lifted graphs; arrays of the one number 1 elsewhere
    inner: Float64  # (n_edges,) equal literals of one factor that the edge stands for
    copies: Float64  # (n_factors,) ground factors that each stands for
    members: Float64  # (n_nodes,) ground atoms that each stands for

    @property
    def n_nodes(self) -> int:
        """Atoms, or colours of atoms."""
        return len(self.bias)

    @property
    def n_factors(self) -> int:
        """Factors, or colours of them."""
        return len(self.start) - 1

    @property
    def n_edges(self) -> int:
        """Messages in one direction."""
        return len(self.literal)

    @property
    def is_lifted(self) -> bool:
        """Whether nodes stand for more than themselves."""
        return self.members is not ONE

    def given(self, literals: Sequence[int]) -> FactorGraph:
        """The same graph where these literals are known to be true; a node that is decided otherwise stays as it is."""
        if not literals:
            return self
        bias = self.bias.copy()
        for literal in literals:
            if np.isfinite(bias[literal >> 1]):
                bias[literal >> 1] = np.inf if literal & 1 else -np.inf
        return replace(self, bias=frozen(bias))

    def arrays(self) -> Graph:
        """The same as kernels take it."""
        from markovlogic.kernels.messages import Graph

        outer = ONE
        if self.is_lifted:
            copies = np.repeat(self.copies, np.diff(self.start))
            outer = frozen(copies * self.inner / self.members[self.literal >> 1])
        first_definition = len(self.weight) + self.n_groups
        mask = -1 if self.is_lifted else 0
        strength = frozen(-np.expm1(-self.weight))
        return Graph(self.start, self.literal, self.weight, strength, first_definition, self.inner, outer, self.copies, mask)

    def is_forest(self) -> bool:
        """Whether no two paths join the same two nodes, so that belief propagation is exact; of ground graphs only."""
        n_vertices = self.n_nodes + self.n_factors
        if self.is_lifted or self.n_edges >= n_vertices:
            return False
        factor = self.n_nodes + np.repeat(np.arange(self.n_factors), np.diff(self.start))
        n_parts, _ = connected_parts(n_vertices, self.literal >> 1, factor)
        return self.n_edges == n_vertices - n_parts


def ground_graph(network: GroundNetwork) -> FactorGraph:
    """The factor graph of a ground network; its arrays are the network's own where there are clauses only."""
    start, literal = network.clause_start, network.clause_literal
    if network.n_groups or network.n_hidden:
        hidden = 2 * (network.n_atoms + np.arange(network.n_hidden)) + 1
        definition = np.insert(network.definition_literal, network.definition_start[:-1], hidden)
        literal = np.concatenate([literal, 2 * network.group_atom + 1, definition]).astype(np.int32)
        lengths = (np.diff(start), np.diff(network.group_start), np.diff(network.definition_start) + 1)
        start = offsets(np.concatenate(lengths))
    return frozen(
        FactorGraph(
            bias=network.atom_bias,
            start=start,
            literal=literal,
            weight=network.clause_weight,
            n_groups=network.n_groups,
            log_constant=network.log_constant,
            inner=ONE,
            copies=ONE,
            members=ONE,
        )
    )


Schedule = Literal["auto", "residual", "flooding"]
SCHEDULES = ("auto", "residual", "flooding")
# A message by residual takes about ten times as long as in a round of all of them (benchmarks/test_propagation.py), and most
# graphs settle in some dozens of rounds; so `auto` floods first, and goes on by residuals where messages swing.
FLOODED_PART = 4  # one in so many iterations
HUB_WORK = 64  # neighbours of neighbours for each edge, from which on bounds cost more to keep than they save
HEAP_EDGES = 1_000_000  # beyond, the heap's jumps through memory cost more than the rounds that it saves

LARGE_MESSAGE = 100.0  # log-odds, beyond which messages have to settle more closely than the tolerance
NEARLY = 1 - 1e-6  # damped messages come near to where they are cut, and never to it
LEAST_CHANGE = 4 * float(np.finfo(np.float64).eps)

FEWEST_STEPS = 1000  # updates between two looks at the clock


class ImpossibleError(Exception):
    """Certain messages contradict each other, which proves that no world obeys the hard rules."""


@dataclass(frozen=True)
class Rounds:
    """How messages are sent; see `methods.bp.BP` for the users' settings."""

    damping: float = 0.5
    iterations: int = 1000
    tolerance: float = 1e-9
    schedule: Schedule = "auto"

    def check(self) -> None:
        """Refuse what makes no sense."""
        if not 0 <= self.damping < 1:
            raise InputError(f"damping must be at least 0 and below 1, not {self.damping:g}")
        if self.iterations < 1:
            raise InputError(f"iterations must be at least 1, not {self.iterations}")
        if not self.tolerance > 0:
            raise InputError(f"tolerance must be above 0, not {self.tolerance:g}")
        if self.schedule not in SCHEDULES:
            raise InputError(f"unknown schedule {self.schedule}; there are {', '.join(SCHEDULES)}")


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What the messages came to."""

    log_odds: Float64  # (n_nodes,)
    converged: bool
    iterations: int  # rounds; of the residual schedule as many updates as there are factors
    residual: float  # the largest change that one more round would make, relative where messages are large
    log_z_bethe: float | None  # None where messages did not converge, or were cut
    n_cut: int  # messages that grew beyond all bounds
    schedule: str

    @property
    def probability(self) -> Float64:
        """P(true) of each node."""
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * self.log_odds)))


def propagate(graph: FactorGraph, rounds: Rounds, progress: Progress = SILENT) -> Beliefs:
    """Run the messages of a graph; raises ImpossibleError where they prove that no world is possible."""
    from markovlogic.kernels.messages import LARGEST

    _warm_up(progress)
    run = _Messages(graph, rounds.damping)
    schedule: str = "flooding" if graph.is_lifted else rounds.schedule
    if schedule == "residual":
        iterations, residual = _by_residual(run, graph, rounds, progress)
    elif schedule == "flooding" or graph.n_edges > HEAP_EDGES or _has_hubs(graph):
        schedule = "flooding"
        iterations, residual = _by_rounds(run, rounds, progress)
    else:
        first = -(-rounds.iterations // FLOODED_PART)
        iterations, residual = _by_rounds(run, replace(rounds, iterations=first), progress)
        schedule = "flooding"
        if residual > run.bound(rounds.tolerance) and first < rounds.iterations and not _is_over():
            schedule = "flooding, then residual"
            more, residual = _by_residual(run, graph, replace(rounds, iterations=rounds.iterations - first), progress)
            iterations += more
    converged = residual <= run.bound(rounds.tolerance)
    n_cut = int(np.count_nonzero(np.isfinite(run.message) & (np.abs(run.message) > NEARLY * LARGEST)))
    log_z = run.log_z() if converged and not n_cut else None
    return Beliefs(run.log_odds(), converged, iterations, residual, log_z, n_cut, schedule)


def _warm_up(progress: Progress) -> None:
    """Compile the kernels on the first use on a machine, and report it. Time limits do not count it."""
    from markovlogic.kernels import are_cold

    if not are_cold(("flooding:flood", "flooding:bethe", "residual:speak")):
        return
    progress.stage("compile kernels (once on this machine, some 5 to 15 s)")
    start, literal, bias = np.array([0, 2], np.int64), np.array([1, 2], np.int32), np.zeros(2)
    small = frozen(FactorGraph(bias, start, literal, np.ones(1), 0, 0.0, ONE, ONE, ONE))
    with cancellation.current().paused(), without_collection():
        run = _Messages(small, 0.0)
        run.round()
        run.log_z()
        _by_residual(run, small, Rounds(iterations=1), SILENT)


def _has_hubs(graph: FactorGraph) -> bool:
    degree = np.bincount(graph.literal >> 1, minlength=1).astype(np.float64)
    return float(degree @ degree) > HUB_WORK * max(graph.n_edges, 1)


class _Messages:
    """The state: all messages, and the sums that reach the atoms."""

    def __init__(self, graph: FactorGraph, damping: float) -> None:
        from markovlogic.kernels.messages import Heard, Room

        self.graph, self.damping = graph, damping
        self.arrays: Graph = graph.arrays()
        self.message = np.zeros(graph.n_edges)
        longest = int(np.diff(graph.start).max(initial=1))
        self.room: Room = Room(np.empty(longest), np.empty(longest), np.empty(longest))
        n = graph.n_nodes
        self.heard: Heard = Heard(np.empty((n, 2)), np.empty((n, 4)), np.zeros(2, np.bool_))
        self.side = 0
        self._forget(0)

    def _forget(self, side: int) -> None:
        """Reset the atoms' sums to their biases."""
        bias, heard = self.graph.bias, self.heard
        heard.total[:, side] = np.where(np.isfinite(bias), bias, 0.0)
        heard.sure[:, 2 * side] = bias == -np.inf
        heard.sure[:, 2 * side + 1] = bias == np.inf
        heard.any_sure[side] = np.isinf(bias).any()

    def round(self) -> float:
        """One round of all factors; gives the largest change that an undamped round would make."""
        from markovlogic.kernels.flooding import flood

        self._forget(1 - self.side)
        change = float(flood(self.arrays, self.damping, self.message, self.heard, self.side, self.room))
        self.side = 1 - self.side
        self.check()
        return change

    def listen(self) -> None:
        """Add up the atoms' sums anew, without the rounding errors of many single changes."""
        from markovlogic.kernels.flooding import listen

        self._forget(self.side)
        listen(self.arrays, self.message, self.heard, self.side)
        self.check()

    def _certain(self) -> tuple[Bool, Bool]:
        """Which nodes are certainly false by their messages, and which certainly true."""
        sure = self.heard.sure
        return sure[:, 2 * self.side] > 0, sure[:, 2 * self.side + 1] > 0

    def check(self) -> None:
        """Stop where certain messages contradict each other."""
        if self.heard.any_sure[self.side]:
            false, true = self._certain()
            if (false & true).any():
                raise ImpossibleError

    def bound(self, tolerance: float) -> float:
        """The relative change below which messages count as settled.

        Changes are reported relative to messages, so large messages, which may cancel at an atom, have to settle more closely: a
        billion that is off by a billionth is off by one. Nothing settles more closely than floats allow.
        """
        finite = np.abs(self.message[np.isfinite(self.message)])
        return max(LEAST_CHANGE, tolerance * min(1.0, LARGE_MESSAGE / max(float(finite.max(initial=0.0)), 1.0)))

    def log_odds(self) -> Float64:
        """The belief of each node."""
        false, true = self._certain()
        return np.where(true, np.inf, np.where(false, -np.inf, self.heard.total[:, self.side]))

    def log_z(self) -> float | None:
        """The Bethe approximation of ln Z."""
        from markovlogic.kernels.flooding import bethe

        graph, bias = self.graph, self.graph.bias
        sides = np.zeros((graph.n_nodes, 2))
        found = bethe(self.arrays, self.heard, self.side, self.message, sides, self.room)
        sides[:, 1] += np.where(bias == np.inf, 0.0, bias)
        sides[:, 0] += np.where(bias == np.inf, -np.inf, 0.0)
        nodes = np.logaddexp(sides[:, 0], sides[:, 1])
        log_z = graph.log_constant + float(found) + float(np.sum(nodes * graph.members))
        return log_z if np.isfinite(log_z) else None


def _by_rounds(run: _Messages, rounds: Rounds, progress: Progress) -> tuple[int, float]:
    progress.stage("messages", rounds.iterations)
    residual = np.inf
    for done in range(rounds.iterations):
        residual = run.round()
        if residual <= rounds.tolerance and residual <= run.bound(rounds.tolerance):
            return done + 1, residual
        progress.advance(done + 1, f"largest change {residual:.1g}")
        if _is_over():
            return done + 1, residual
    return rounds.iterations, residual


def _by_residual(run: _Messages, graph: FactorGraph, rounds: Rounds, progress: Progress) -> tuple[int, float]:
    """As many updates as there are factors count as an iteration; bounds and sums are found anew where that is worth it."""
    from markovlogic.kernels.residual import order, speak, true_bounds

    n = graph.n_factors
    if not n:
        return 0, 0.0
    progress.stage("messages", rounds.iterations)
    around = atom_rows(graph.start, graph.literal, graph.n_nodes)
    queue = (np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n))
    limit, made, over = rounds.iterations * n, 0, False
    run.side = 0  # the only one that these kernels know
    run.listen()
    while True:
        residual = float(true_bounds(run.arrays, run.heard, run.message, queue[2], run.room))
        bound = run.bound(rounds.tolerance)
        if residual <= bound or made >= limit or over:
            return -(-made // n), residual
        order(*queue)
        steps = wanted = 0
        while steps == wanted and made < limit and not over:
            wanted = min(max(n, FEWEST_STEPS), limit - made)
            steps = int(speak(run.arrays, around, queue, (rounds.damping, bound, wanted), run.heard, run.message, run.room))
            made += steps
            run.listen()
            progress.advance(made / n)
            over = _is_over()


def _is_over() -> bool:
    """Whether the time is over. Raises where the run was cancelled, since half-way messages are no answer."""
    cancellation.check()
    left = cancellation.current().left
    return left is not None and left <= 0


@dataclass(frozen=True, eq=False)
class AtomBeliefs:
    """Beliefs, and the node of each open atom."""

    beliefs: Beliefs
    node: Callable[[Int64], Int64]  # of atoms, given by their numbers

    def probability(self, atoms: Int64) -> Float64:
        """P(true) of some atoms."""
        return self.beliefs.probability[self.node(atoms)]


def conjunction(literals: Int64, given: Callable[[Sequence[int]], AtomBeliefs]) -> tuple[float, bool]:
    """The probability that all literals are true, and whether all messages that it took converged.

    given: beliefs where some literals are known to be true.
    """
    product, converged = 1.0, True
    for at in range(len(literals)):
        try:
            found = given(literals[:at].tolist())
        except ImpossibleError:
            return 0.0, converged
        converged &= found.beliefs.converged
        true = float(found.probability(literals[at : at + 1] >> 1)[0])
        product *= true if literals[at] & 1 else 1.0 - true
        if not product:
            break
    return product, converged
