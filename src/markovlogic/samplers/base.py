"""What every sampler is: settings and a network, with `init` and `step`; a chain's state lives outside.

Chains run in batches of up to 64. In a batch the world is chain-minor: bit c of `world[a]` is atom a in chain c, so one pass
over the network serves all chains. Bits of absent chains (c >= n_chains) are zero between steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from markovlogic.arrays import Words
from markovlogic.guarantee import Guarantee

CHAINS_PER_BATCH = 64
SWEEPS_PER_STEP = 255  # what eight counter planes can hold


class State(Protocol):
    """A NamedTuple of arrays only, generator state included: saving its fields and loading them continues the very same draws."""

    @property
    def world(self) -> Words:
        """(n_all,) the current worlds of the batch, chain-minor."""
        ...

    def _asdict(self) -> dict[str, Any]: ...


class StepInfo(NamedTuple):
    """What a step did, beside moving the state."""

    updates: int  # atom updates over all chains of the batch
    counts: dict[str, int]  # sampler's own counters, added up over steps and batches (e.g. proposed, accepted)


class Sampler(Protocol):
    """One batch of chains: settings and network, immutable; everything that changes is in the state.

    A sampler with compiled kernels names their modules in `kernel_modules`, so that a run can say when it compiles them.
    """

    @property
    def n_chains(self) -> int:
        """Chains in this batch, 1 to 64."""
        ...

    def init(self, seed: np.random.SeedSequence) -> Any:
        """A state to start from (see State); spawn generators from `seed`, use no other randomness."""
        ...

    def step(
        self,
        state: Any,
        sweeps: int,
        planes: npt.NDArray[np.uint64] | None = None,
        conditionals: npt.NDArray[np.float32] | None = None,
    ) -> StepInfo:
        """Make `sweeps` sweeps (at most SWEEPS_PER_STEP), changing the state's arrays in place.

        planes: (n_all, 8) vertical counters: after each sweep the kernel `kernels.counters.add_world` adds the world to them.
        conditionals: (n_all, n_chains): each sweep adds P(atom true | rest) as it was when the atom was updated; samplers that
        have no conditionals refuse (`has_conditionals` is False).
        A sweep that is split over several calls gives the same draws as one call.
        """
        ...

    @property
    def has_conditionals(self) -> bool:
        """Whether `step` can fill `conditionals`."""
        ...

    def guarantee(self, counts: dict[str, int]) -> Guarantee:
        """What the draws promise, given the counters of the whole run."""
        ...

    def concerns(self, counts: dict[str, int]) -> list[str]:
        """Reasons, known to the sampler, not to trust the draws; each a sentence that says what to do."""
        ...


class Settings(Protocol):
    """A frozen dataclass such as `Gibbs(scan="random")`; its defaults stand for the method's name."""

    @property
    def method(self) -> str:
        """The method's name on the command line."""
        ...

    def build(self, network: Any, n_chains: int) -> Sampler:
        """A sampler for one batch of chains; refuses (InputError, ResourceError) what it cannot do, with the rule's place."""
        ...
