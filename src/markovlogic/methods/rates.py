"""What chains take: seconds and bytes by rates that `benchmarks/test_predictions.py` measures.

They decide nothing but the choice of `auto` and what the memory limit refuses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markovlogic.estimate.tallies import tally_bytes

if TYPE_CHECKING:
    from markovlogic.estimate.estimator import Estimator
    from markovlogic.estimate.orbit_pools import OrbitPools
    from markovlogic.methods.case import Scale
    from markovlogic.running.sampling import Schedule

SWEEPS_A_STEP = 32


@dataclass(frozen=True)
class Use:
    """What a run is asked for, as far as it bears on its cost."""

    schedule: Schedule
    estimator: Estimator
    n_query: int
    n_events: int
    pools: OrbitPools | None


@dataclass(frozen=True)
class Rates:
    """What a sampler takes of one core; `literals` are those of clauses, groups and definitions."""

    atom: float  # seconds an atom, chain and sweep
    literal: float  # seconds a literal, chain and sweep
    step: float = 5e-5  # seconds a step of a batch, whatever it does
    prepare: float = 1e-7  # seconds a literal or atom before the first sweep
    literal_bytes: float = 16.0  # of the sampler's own arrays
    atom_bytes: float = 64.0
    batch_chains: int = 64  # chains that share a pass, and a core
    single_steps: bool = False  # every draw is a step of its own

    def seconds(self, scale: Scale, use: Use) -> float:
        """Seconds of a whole run, burn-in and preparation included."""
        from markovlogic.running.crew import cores

        schedule = use.schedule
        batches = -(-schedule.chains // self.batch_chains)
        work = schedule.chains * (self.atom * scale.rows + self.literal * scale.literals)
        each = self.single_steps or use.n_events > 0 or use.pools is not None
        steps = schedule.sweeps if each else -(-schedule.sweeps // SWEEPS_A_STEP)
        chains = schedule.sweeps * work + batches * steps * self.step
        return chains / min(batches, cores()) + self.prepare * (scale.literals + scale.rows)

    def memory_bytes(self, scale: Scale, use: Use) -> int:
        """Bytes of network, sampler and tallies."""
        schedule = use.schedule
        tallies = tally_bytes(
            n_all=scale.rows,
            n_query=use.n_query,
            n_events=use.n_events,
            n_chains=schedule.chains,
            draws=schedule.draws,
            conditional=use.estimator.conditional,
        )
        own = self.literal_bytes * scale.literals + self.atom_bytes * scale.rows
        return int(scale.network_bytes + own + tallies)


SLOW = Rates(1e-6, 1e-6, single_steps=True)  # of a sampler in plain Python, which nobody has measured
