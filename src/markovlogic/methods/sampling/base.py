"""What every sampler is: settings and a network, with `init` and `step`; a chain's state lives outside.

Chains run in batches of up to 64. In a batch the world is chain-minor: bit c of `world[a]` is atom a in chain c, so one pass
over the network serves all chains. Bits of absent chains (c >= n_chains) are zero between steps.

Settings and samplers name these protocols as their base classes: what most of them do alike then has its default here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from markovlogic.guarantee import Guarantee
from markovlogic.system.arrays import Words
from markovlogic.system.checkpoint_validation import require_lanes

if TYPE_CHECKING:
    from markovlogic.problem import Problem
    from markovlogic.symmetry.find import SymmetryFinder


Together = Callable[[Sequence[Callable[[], None]]], None]  # runs all calls, at once as far as threads are free

CHAINS_PER_BATCH = 64
SWEEPS_PER_STEP = 255  # what eight counter planes can hold


class Target(NamedTuple):
    """What chains are to sample: a problem, its network, and the door to its symmetries."""

    problem: Problem
    network: Any  # the one that the settings work on
    symmetry: SymmetryFinder


class State(Protocol):
    """A NamedTuple of arrays, or of states of the same kind (a composed sampler holds its base chain's state as a field).

    Generator state is among the arrays: saving all of them and loading them continues the very same draws.
    """

    @property
    def world(self) -> Words:
        """(n_all,) the current worlds of the batch, chain-minor."""
        ...

    def _asdict(self) -> dict[str, Any]: ...


class Units(NamedTuple):
    """What a sampler reports in place of single atoms, block means for instance: each unit has a value in [0, 1] a draw."""

    n_units: int
    of_atom: npt.NDArray[np.int32]  # (n_atoms,) whose mean stands for each open atom
    total: int | None = None  # the unit by whose mean all others are divided, chain by chain: the sum of weights


class LogZ(NamedTuple):
    """An estimate of ln Z with its standard error."""

    value: float
    stderr: float


class StepInfo(NamedTuple):
    """What a step did, beside moving the state."""

    updates: int  # atom updates over all chains of the batch
    counts: dict[str, int]  # sampler's own counters, added up over steps and batches (e.g. proposed, accepted)


class Sampler(Protocol):
    """One batch of chains: settings and network, immutable; everything that changes is in the state."""

    n_chains: int  # in this batch, 1 to 64

    def init(self, seed: np.random.SeedSequence, first: int = 0) -> Any:
        """A state to start from (see State); spawn generators from `seed`, use no other randomness.

        first: the number of this batch's first chain among all chains of the run, which had better start far apart.
        """
        ...

    def starts(self, first: int) -> tuple[str, ...]:
        """How the chains of a batch whose first has this number start, by a word each; empty words where they start alike."""
        return ("",) * self.n_chains

    def step(
        self,
        state: Any,
        sweeps: int,
        planes: Any = None,
        conditionals: npt.NDArray[np.float32] | None = None,
        *,
        burn_in: bool = False,
    ) -> StepInfo:
        """Make `sweeps` sweeps (at most SWEEPS_PER_STEP), changing the state's arrays in place.

        planes: (n_all, 8) vertical counters: after each sweep the kernel `kernels.counters.add_world` adds the world to them; of
        samplers that count in bytes (`counts_in_bytes`), one byte an atom.
        conditionals: (n_all, n_chains): each sweep adds P(atom true | rest) as it was when the atom was updated; samplers that
        have no conditionals are never requested them (`Settings.has_conditionals`). burn_in: the kernel may adapt. A limit may
        end the run there, and then the later draws of burn-in count: a kernel that learns from where the chain was changes
        between rounds of doubling length only, and is fixed within one.
        A sweep that is split over several calls gives the same draws as one call.
        """
        ...

    def with_worlds(self, state: Any, world: Words) -> Any:
        """A state to start from with other worlds, which are possible ones; world: (n_all,)."""
        state.world[:] = world
        return state

    def learned(self, states: Sequence[Any]) -> dict[str, npt.NDArray[Any]]:
        """What the chains of all batches found out in burn-in and a later run of the same kind may begin with."""
        return {}

    def with_learned(self, state: Any, learned: Mapping[str, npt.NDArray[Any]]) -> Any:
        """A state to start from with what an earlier run found out, where it fits."""
        return state

    def check(self, state: Any) -> None:
        """Refuse, with a ValueError, a state that was read back from a file and that `step` could not have left behind.

        Its arrays have the types and shapes of a fresh one; what else `step` relies on, indices above all, is checked here.
        """
        require_lanes(state.world, self.n_chains, "a world")

    def shared(self, together: Together) -> Sampler:
        """The same sampler, whose steps may hand pieces of their work to `together`; draws do not depend on that."""
        return self

    def tallying(self, atoms: range) -> Sampler | None:
        """The same sampler with `planes` and `conditionals` of some atoms alone; None where they have to be those of all."""
        return None

    def unit_values(self, state: Any) -> npt.NDArray[np.float64]:
        """(n_units, n_chains) the value of each unit in the last sweep; only for samplers with `units`."""
        return np.zeros((0, self.n_chains))

    @property
    def units(self) -> Units | None:
        """What is reported; None: the atoms themselves, through `planes` and `conditionals`."""
        return None

    def log_z(self, states: Sequence[Any]) -> LogZ | str | None:
        """Ln Z from the final states of all batches; or the reason why it is unknown; None where a sampler never knows it."""
        return None

    @property
    def counts_in_bytes(self) -> bool:
        """Whether `planes` is (n_all,) uint8, how often each atom was true in the only chain of the batch."""
        return False

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Modules of `kernels` that `step` needs, so that a run can say when it compiles them."""
        return ()

    def guarantee(self, counts: dict[str, int]) -> Guarantee:
        """What the draws promise, given the counters of the whole run."""
        return Guarantee.EXACT

    def concerns(self, counts: dict[str, int]) -> list[str]:
        """Reasons, known to the sampler, not to trust the draws; each a sentence with the remedy."""
        return []


@runtime_checkable
class Settings(Protocol):
    """A frozen dataclass such as `Gibbs(scan="random")`; its defaults stand for the method's name."""

    @property
    def method(self) -> str:
        """The method's name on the command line."""
        ...

    def build(self, network: Any, n_chains: int) -> Sampler:
        """A sampler for one batch of chains; refuses (InputError, ResourceError) what it cannot do, with the rule's place."""
        ...

    def bind(self, target: Target) -> Self:
        """The same settings with what they need of a problem: its symmetries, classes of its constants."""
        return self

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of what `bind` found."""
        return ()

    @property
    def proposing(self) -> str:
        """One sentence on the classes that propose, where settings that are bound have such; else nothing."""
        return ""

    @property
    def chains_per_batch(self) -> int:
        """Chains that one batch takes at most; fewer where the kernel gains nothing from words, so that cores share them."""
        return CHAINS_PER_BATCH

    @property
    def may_scout(self) -> bool:
        """Whether more chains in a word cost little, so that some may look around in burn-in whose draws do not count."""
        return False

    @property
    def has_conditionals(self) -> bool:
        """Whether the samplers' `step` can fill `conditionals`."""
        return False

    @property
    def fixed_order(self) -> bool:
        """Whether sweeps visit atoms in one order, which symmetries do not preserve."""
        return False

    @property
    def symmetries(self) -> str:
        """An identity of the symmetries that chains move by, as far as they were found; empty where there are none."""
        return ""

    @property
    def moves_by_symmetry(self) -> bool:
        """Whether all symmetries are searched for anyway, so that an estimator may pool over them too."""
        return False


def require_sweeps(sweeps: int) -> None:
    """Refuse a step that is longer than counters hold; a mistake of ours."""
    if not 0 <= sweeps <= SWEEPS_PER_STEP:
        raise ValueError(f"a step has at most {SWEEPS_PER_STEP} sweeps, not {sweeps}")


def total_counts(parts: list[dict[str, int]]) -> dict[str, int]:
    """Counters of several steps or batches, added up."""
    total: dict[str, int] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, 0) + value
    return total
