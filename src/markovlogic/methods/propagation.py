"""Methods that send messages: what belief propagation and its lifted form have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.guarantee import Guarantee
from markovlogic.methods.base import Cost, InferOptions, Method, Plan
from markovlogic.methods.messages.schedules import AtomBeliefs, ImpossibleError, Rounds, conjunction
from markovlogic.networks.conflicts import NoWorldError, no_world, what_happened
from markovlogic.networks.hard_part import hard_part
from markovlogic.results.answers import ANSWER_ROW_BYTES
from markovlogic.system.arrays import Float64
from markovlogic.system.cancellation import SURE, current

if TYPE_CHECKING:
    from markovlogic.methods.analysis import Analysis
    from markovlogic.networks.ground import GroundNetwork
    from markovlogic.results.answers import Answer, Values
    from markovlogic.results.queries import ResolvedQuery

EXPECTED_ROUNDS = 60  # assumed by predictions; the true number is known only after a run
LOADING = 0.3  # seconds until kernels that were compiled before are there
EDGE_SECONDS, EDGE_BYTES, NODE_BYTES = 100e-9, 24, 80  # of a message and round; of messages, heap and totals, at most

Given = Callable[[Sequence[int]], AtomBeliefs]


@dataclass(frozen=True)
class Messages(ABC):
    """Settings that both methods share.

    damping: share of the old message that stays in the new one, in log-odds.
    iterations: largest number of rounds.
    tolerance: messages count as settled once none changes by more than this, in log-odds.
    """

    damping: float = 0.5
    iterations: int = 1000
    tolerance: float = 1e-9

    @property
    @abstractmethod
    def method(self) -> str:
        """The method's name on the command line."""

    @property
    def rounds(self) -> Rounds:
        """The same as a run takes it; refuses what makes no sense."""
        made = Rounds(self.damping, self.iterations, self.tolerance)
        made.check()
        return made


@dataclass(frozen=True, eq=False)
class Found:
    """The results of messages for the queries."""

    base: AtomBeliefs
    atoms: Float64  # of the open atoms that are requested
    events: Float64
    converged: bool  # all messages, those for conjunctions too
    concerns: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    query: ResolvedQuery | None = None  # where it is not the one of the analysis
    left_out: tuple[str, ...] = ()  # remarks on what the query does not depend on
    log_z_bethe: float | None = None  # of the whole model


@dataclass(frozen=True)
class PropagationMethod(Method):
    """Messages between atoms and what ties them; subclasses choose the graph."""

    numbers: str = "bethe"

    @abstractmethod
    def defaults(self) -> Messages:
        """The settings that the name alone stands for."""

    def plain_settings(self) -> Messages:
        """All of them are numbers and words."""
        return self.defaults()

    @abstractmethod
    def found(self, analysis: Analysis, plan: Plan, rounds: Rounds) -> Found:
        """Run the messages and compute the answers."""

    def settings(self, options: InferOptions) -> Messages:
        """What the user chose, or the defaults; refuses what makes no sense before anything long runs."""
        made = self.defaults() if options.settings is None else options.settings
        assert isinstance(made, Messages)
        _ = made.rounds
        return made

    def notes(self, options: InferOptions) -> tuple[str, ...]:
        """Notes for a user who gave sampling options, which have no effect here."""
        unused = options.idle()
        return (f"belief propagation makes no draws, so {', '.join(unused)} had no effect",) if unused else ()

    def answer(self, analysis: Analysis, plan: Plan) -> Answer:
        """Marginals, and the Bethe approximation of log Z."""
        from markovlogic.results.answers import Answer
        from markovlogic.results.marginals import Account

        assert isinstance(plan.settings, Messages)
        rounds = plan.settings.rounds
        current().allowance = SURE  # messages that did not settle in time are an answer, with a concern
        found = self.found(analysis, plan, rounds)
        beliefs = found.base.beliefs
        return Answer(
            _without_errors(found.atoms),
            _without_errors(found.events),
            Guarantee.UNBOUNDED,
            Account(converged=found.converged, iterations=beliefs.iterations, log_z_bethe=found.log_z_bethe),
            concerns=(*_concerns(found, rounds), *found.concerns),
            remarks=(*found.remarks, *found.left_out),
            query=found.query,
        )


def found_for(analysis: Analysis, given: Given, concerns: tuple[str, ...] = (), remarks: tuple[str, ...] = ()) -> Found:
    """Put the query to messages; given: beliefs where some literals are known to be true."""
    base = given(())
    cubes = [
        conjunction(literals.astype(np.int64), lambda known: given(known) if known else base) for literals in analysis.query.cubes
    ]
    converged = base.beliefs.converged and all(settled for _, settled in cubes)
    atoms, events = base.probability(analysis.query.numbers), analysis.query.summed(np.array([value for value, _ in cubes]))
    # an exact sum over the rest would make a number that is neither exact nor the Bethe approximation
    whole = analysis.of_all(base.beliefs.log_z_bethe if analysis.narrowed is None else None)
    return Found(base, atoms, events, converged, concerns, remarks, analysis.query, whole.remarks, whole.log_z)


def found_on_network(analysis: Analysis, network: GroundNetwork, given: Given, remarks: tuple[str, ...] = ()) -> Found:
    """The same on a ground network, where conflicts of hard rules can be named and worlds looked for."""
    try:
        return found_for(analysis, given, _doubts(network), remarks)
    except ImpossibleError:
        raise no_world(hard_part(network)) from None


def _doubts(network: GroundNetwork) -> tuple[str, ...]:
    """Messages give numbers even where hard clauses contradict each other, so a world is looked for."""
    if network.n_soft == network.n_clauses:
        return ()
    try:
        network.start_worlds(1, np.random.SeedSequence(0), "satisfying")
    except NoWorldError as error:
        if error.conflict.is_proven:
            raise
        return (f"{what_happened(error.conflict)}; if there is none, these numbers mean nothing",)
    return ()


def _concerns(found: Found, rounds: Rounds) -> tuple[str, ...]:
    beliefs = found.base.beliefs
    concerns = []
    if not found.converged:
        which = "" if beliefs.converged else f", and one more would change a message's log-odds by {beliefs.residual:.2g}"
        concerns.append(
            f"messages have not settled after {beliefs.iterations} of at most {rounds.iterations} rounds{which}; "
            f"allow more rounds or time (--set iterations={10 * rounds.iterations}), damp them more "
            f"(--set damping={_more(rounds.damping):g}), or take a sampling method"
        )
    if beliefs.n_cut:
        concerns.append(
            f"{beliefs.n_cut:,} messages grew beyond all bounds: hard rules in loops, or weights of a million and more, make"
            " belief propagation sure of itself; take a sampling method"
        )
    return tuple(concerns)


def _more(damping: float) -> float:
    """The next damping to try: half of what moves now."""
    return (1.0 + damping) / 2


def _without_errors(probability: Float64) -> Values:
    """Numbers with an unknown error: a standard error of 0 would be a promise."""
    from markovlogic.results.answers import Values

    nothing = np.full(len(probability), np.nan)
    return Values(probability, nothing, nothing, nothing)


def ground_cost(analysis: Analysis, reason: str, *, edge_seconds: float = 0.0, edge_bytes: float = 0.0) -> Cost:
    """What messages take on the ground network; `edge_…`: what else each literal takes, once."""
    scale = analysis.scale
    if scale.predicted and not analysis.forecast.can_refine:
        return analysis.forecast.unknown_cost
    runs = 1 + sum(len(cube) - 1 for cube in analysis.query.cubes)
    seconds = LOADING + runs * scale.literals * (edge_seconds + EXPECTED_ROUNDS * EDGE_SECONDS)
    own = (EDGE_BYTES + edge_bytes) * scale.literals + NODE_BYTES * scale.rows + ANSWER_ROW_BYTES * analysis.questions.rows
    return Cost(seconds, analysis.peak_bytes(int(scale.network_bytes + own)), reason)
