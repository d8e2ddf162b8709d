"""Lifted belief propagation: the messages of `bp`, each kind of them once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.errors import InputError, UnsupportedError
from markovlogic.guarantee import Guarantee
from markovlogic.methods.base import Cost, InferOptions, Plan
from markovlogic.methods.messages.lifting import MOST_WORK, lift, quotient, work_of
from markovlogic.methods.messages.orbits import TooManyError
from markovlogic.methods.messages.schedules import AtomBeliefs, ImpossibleError, Rounds, propagate
from markovlogic.methods.propagation import (
    LOADING,
    Found,
    Messages,
    PropagationMethod,
    found_for,
    found_on_network,
    ground_cost,
)
from markovlogic.networks.base import NetworkKind
from markovlogic.results.answers import ANSWER_ROW_BYTES
from markovlogic.system.arrays import frozen

if TYPE_CHECKING:
    from markovlogic.methods.analysis import Analysis
    from markovlogic.networks.ground import GroundNetwork

WORK_SECONDS, WORK_BYTES = 1e-6, 100  # of a form of a kind of clause
REFINING_SECONDS, REFINING_BYTES = 1.5e-6, 60  # of a literal, while the network's colours are found


@dataclass(frozen=True)
class LiftedBP(Messages):
    """Settings; all kinds of messages are sent at once, round by round."""

    @property
    def method(self) -> str:
        """The method's name on the command line."""
        return "lifted-bp"


@dataclass(frozen=True)
class LiftedBeliefPropagation(PropagationMethod):
    """Messages on a quotient: of the problem by classes of constants, or of the ground network by its colours."""

    def defaults(self) -> LiftedBP:
        """The settings when the user gives only the name."""
        return LiftedBP()

    def cost(self, analysis: Analysis, options: InferOptions) -> Cost:
        """At most what it takes on the ground network; where that is long, what it takes without."""
        if analysis.network is None and not analysis.forecast.can_refine:
            work = _work(analysis, options)
            if isinstance(work, int):
                return _lifted_cost(analysis, work)
        return ground_cost(
            analysis,
            "as bp, each kind of message once; colours of the ground network at most",
            edge_seconds=REFINING_SECONDS,
            edge_bytes=REFINING_BYTES,
        )

    def plan(self, analysis: Analysis, options: InferOptions, reason: str) -> Plan:
        """Without grounding where constants fall into few classes and the rules allow it, else by the network's colours."""
        settings, notes = self.settings(options), self.notes(options)
        with analysis.watch("symmetry"):
            analysis.progress.stage("symmetry")
            work = _work(analysis, options)
        if isinstance(work, int):
            cost = _lifted_cost(analysis, work)
            return Plan(self, NetworkKind.NONE, f"{reason}; {cost.reason}", cost, settings=settings, notes=notes)
        if analysis.forecast.can_refine:
            analysis = analysis.grounded
        reason = f"{reason}; on the ground network's colours: {work}"
        return Plan(self, NetworkKind.GROUND, reason, self.cost(analysis, options), settings=settings, notes=notes)

    def found(self, analysis: Analysis, plan: Plan, rounds: Rounds) -> Found:
        """Lift, run the messages, and show how much was lifted."""
        if plan.network is NetworkKind.NONE:
            return _by_classes(analysis, rounds)
        return _by_colours(analysis, analysis.ground_network, rounds)


def _work(analysis: Analysis, options: InferOptions) -> int | str:
    """The number of forms of clauses and atoms, if nothing is grounded; or the reason for grounding."""
    analysis = analysis.as_prepared
    if options.network is NetworkKind.GROUND:
        return "chosen by name"
    if any(item.joins_atoms for item in analysis.prepared.problem.query):
        return "a formula distinguishes its constants from the others"
    try:
        as_rules = analysis.prepared.written_as_rules
        work = work_of(as_rules.problem, as_rules.lowered, analysis.symmetry.classes.class_of)
    except TooManyError as refusal:
        return str(refusal)
    except UnsupportedError as refusal:
        return refusal.faults[0].message
    return work if work <= MOST_WORK else f"the classes of constants make up to {work:,} forms of clauses and atoms"


def _lifted_cost(analysis: Analysis, work: int) -> Cost:
    analysis = analysis.as_prepared
    memory = WORK_BYTES * work + ANSWER_ROW_BYTES * analysis.questions.rows
    return Cost(LOADING + WORK_SECONDS * work, int(memory), "nothing is grounded: constants fall into few classes")


def _by_classes(analysis: Analysis, rounds: Rounds) -> Found:
    analysis = analysis.as_prepared
    prepared, progress = analysis.prepared, analysis.progress
    with analysis.watch("symmetry"):
        progress.stage("lift")
        as_rules = prepared.written_as_rules
        lifted = lift(as_rules.problem, as_rules.lowered, analysis.symmetry.classes.class_of)
    graph = lifted.graph
    remarks = [_lifted_to(graph.n_nodes, graph.n_factors, float(graph.members.sum()), "nothing was grounded")]
    if prepared.lowered.has_hard:
        remarks.append("whether any world obeys all hard rules was not looked for, as nothing was grounded")

    def given(literals: Sequence[int]) -> AtomBeliefs:
        assert not literals
        return AtomBeliefs(propagate(graph, rounds, progress), lifted.nodes)

    with analysis.watch("sample"):
        try:
            return found_for(analysis, given, remarks=tuple(remarks))
        except ImpossibleError:
            hint = "give one of the hard rules a weight, or correct the evidence; --method bp names those that conflict"
            raise InputError("no world satisfies the hard rules and the evidence", hint=hint) from None


def _by_colours(analysis: Analysis, network: GroundNetwork, rounds: Rounds) -> Found:
    from markovlogic.symmetry.refinement import refine_network

    progress = analysis.progress
    remarks: list[str] = []

    def given(literals: Sequence[int]) -> AtomBeliefs:
        bias = network.atom_bias.copy()
        for literal in literals:
            if np.isfinite(bias[literal >> 1]):
                bias[literal >> 1] = np.inf if literal & 1 else -np.inf
        known = frozen(replace(network, atom_bias=bias)) if literals else network
        with analysis.watch("symmetry"):
            progress.stage("symmetry")
            colours = refine_network(known)
        with analysis.watch("sample"):
            graph = quotient(known, colours.atom, colours.clause)
            if not remarks:
                remarks.append(_lifted_to(graph.n_nodes, graph.n_factors, network.n_all, "by colours of the ground network"))
            return AtomBeliefs(propagate(graph, rounds, progress), lambda atoms: colours.atom[atoms].astype(np.int64))

    found = found_on_network(analysis, network, given)
    return replace(found, remarks=tuple(remarks))


def _lifted_to(n_nodes: int, n_factors: int, n_atoms: float, how: str) -> str:
    return f"{n_atoms:,.0f} atoms were lifted to {n_nodes:,} nodes and {n_factors:,} factors; {how}"


METHOD = LiftedBeliefPropagation(
    name="lifted-bp",
    summary="the messages of bp, each kind once, without grounding where constants are interchangeable",
    networks=(NetworkKind.NONE, NetworkKind.GROUND),
    promise=Guarantee.UNBOUNDED,
)
