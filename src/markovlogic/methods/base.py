"""The base of all methods: what a method needs and promises, what it would cost on an analysis, and how it solves it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from markovlogic.guarantee import Guarantee
from markovlogic.networks.base import NetworkKind
from markovlogic.system.arrays import Pickled

if TYPE_CHECKING:
    from markovlogic.compression.base import Compressor
    from markovlogic.estimation.estimator import Estimator
    from markovlogic.estimation.orbit_pools import OrbitPools
    from markovlogic.methods.analysis import Analysis
    from markovlogic.methods.exact.planning import ExactShare
    from markovlogic.results.answers import Answer
    from markovlogic.running.sampling import Sampling, Schedule
    from markovlogic.running.warm import Ended


@runtime_checkable
class MethodSettings(Protocol):
    """A frozen dataclass that a user may give in place of a method's name: `Gibbs(scan="random")`, `BP(damping=0.9)`."""

    @property
    def method(self) -> str:
        """The method's name on the command line."""
        ...


@dataclass(frozen=True)
class Cost:
    """What a method would take on a problem: rough predictions, None where there is none."""

    seconds: float | None
    memory_bytes: int | None  # beyond what the program itself takes
    reason: str
    possible: bool = True


@dataclass(frozen=True)
class Offer:
    """A method's answer to `auto`: whether it takes the analysis, and why."""

    takes: bool
    reason: str
    alone: bool = False  # it also takes the components that are cheap to solve exactly


@dataclass(frozen=True)
class InferOptions:
    """What a user chose about the method; None leaves the choice to `auto`."""

    sampling: Sampling
    method: Method | None = None
    settings: MethodSettings | None = None  # where the user gave them
    network: NetworkKind | None = None
    compressor: Compressor | None = None  # what gives another problem in place of the original one
    compress_as: str = "auto"  # what the compressor gives: counts, blocks or a problem
    proposals: Compressor | None = None  # what the method takes as a source of proposals

    def idle(self) -> list[str]:
        """The sampling options that the user gave, and that have no effect where nothing is drawn.

        A time limit holds for every method, and groups may be drawn where answers are not.
        """
        seed = self.sampling.seed is not None and getattr(self.compressor, "seed", None) == self.sampling.seed
        return [name for name in self.sampling.given() if name != "--time-limit" and not (seed and name == "--seed")]


@dataclass(frozen=True, eq=False)
class Plan(Pickled):
    """What is going to be done, and why: the very value that `explain` shows and `infer` executes."""

    method: Method
    network: NetworkKind
    reason: str
    cost: Cost
    estimator: Estimator | None = None  # None where nothing is averaged
    settings: MethodSettings | None = None
    schedule: Schedule | None = None
    pools: OrbitPools | None = None
    notes: tuple[str, ...] = ()
    details: tuple[str, ...] = ()  # lines that `explain` shows under the plan
    share: ExactShare | None = None  # components that are solved exactly; the rest of the plan is for the others
    warm: Ended | None = None  # what chains of an earlier run ended with, for those of this one to begin with
    fallback: Plan | None = None  # what chains that disagree after burn-in give way to, where `auto` chose

    @property
    def estimator_name(self) -> str:
        """As users see it."""
        return self.method.numbers if self.estimator is None else self.estimator.name


@dataclass(frozen=True)
class Method(ABC):
    """One entry of the table; files of this package hold one each, as `METHOD`."""

    name: str  # on the command line
    summary: str  # one line, for the user
    networks: tuple[NetworkKind, ...]  # what it can work on, the best first
    promise: Guarantee  # what it sets out with; what happens in a run may weaken it
    numbers: str = "exact"  # what its numbers are, where nothing is averaged
    listed: bool = True  # a candidate without being requested, also for `auto`; variants of another method are not

    @property
    def samples(self) -> bool:
        """Whether it makes draws, so that options about draws mean something."""
        return False

    def plain_settings(self) -> MethodSettings | None:
        """Default settings whose fields are numbers and words, so that `--set` can change them; None: there are none."""
        return None

    @property
    def writes_worlds(self) -> bool:
        """Whether it can write worlds, though it runs no chains."""
        return self.samples

    @property
    def takes_proposals(self) -> bool:
        """Whether `--proposals` may name the source of its proposals; the target stays the true model."""
        return False

    @abstractmethod
    def cost(self, analysis: Analysis, options: InferOptions) -> Cost:
        """What it would take: from predicted sizes, or from the ground network where there is one."""

    def network_for(self, analysis: Analysis, options: InferOptions) -> NetworkKind:
        """The network that it would work on; found from predicted sizes, so that all callers get the same one."""
        return self.networks[0]

    def costs(self, analysis: Analysis, options: InferOptions) -> tuple[tuple[NetworkKind, Cost], ...]:
        """What it would take on each network that it can work on."""
        return ((self.networks[0], self.cost(analysis, options)),)

    def skip_in_auto(self, analysis: Analysis, options: InferOptions) -> bool:
        """Whether `auto` passes over the method without its cost, so that nothing is planned or loaded."""
        return False

    def offer(self, analysis: Analysis, cost: Cost, options: InferOptions) -> Offer | None:
        """Whether the method takes the problem, for `auto`. None: it runs only when requested by name."""
        return None

    def can_replace_stuck_chains(self, analysis: Analysis) -> bool:
        """Whether `auto` goes over to this method where the chains of another disagree after burn-in."""
        return False

    @abstractmethod
    def plan(self, analysis: Analysis, options: InferOptions, reason: str) -> Plan:
        """All decisions that are left, taken once."""

    @abstractmethod
    def answer(self, analysis: Analysis, plan: Plan) -> Answer:
        """Do what was planned."""
