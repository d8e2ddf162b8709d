"""What chains take: seconds and bytes by rates that `benchmarks/test_predictions.py` measures.

They decide nothing but the choice of `auto` and what the memory limit refuses. Seconds are of one core and then shared out among
batches; bytes are a peak, so temporary arrays count as much as those that stay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from markovlogic.estimation.diagnostics import CELLS_AT_ONCE
from markovlogic.estimation.slots import slots_for
from markovlogic.estimation.summary import CHAIN_MEAN_CELLS
from markovlogic.estimation.tallies import tally_bytes
from markovlogic.results.answers import ANSWER_ROW_BYTES

if TYPE_CHECKING:
    from markovlogic.estimation.estimator import Estimator
    from markovlogic.estimation.orbit_pools import OrbitPools
    from markovlogic.methods.analysis import Analysis
    from markovlogic.methods.forecast import Scale
    from markovlogic.running.sampling import Schedule

SWEEPS_A_STEP = 32
_NUMBER = 8  # bytes of a float64
LOADING = 0.3  # seconds until kernels that were compiled before are there
_STEP = 1e-4  # seconds of Python a step of a batch
_POOL_CELL, _POOL_MEMBER = 8e-9, 20e-9  # seconds a draw: of a pool's chain, of a member that is counted in all chains
_CELL, _POOLED_CELL = 30e-9, 100e-9  # seconds of the estimates, once: a query atom's chain, and where conditionals are pooled


@dataclass(frozen=True)
class Use:
    """What a run is requested, as far as it bears on its cost."""

    schedule: Schedule
    estimator: Estimator
    n_query: int
    n_events: int
    pools: OrbitPools | None

    @property
    def cells(self) -> int:
        """Query atoms of all chains."""
        return self.n_query * self.schedule.chains

    @property
    def sees_each_draw(self) -> bool:
        """Whether something looks at every draw, so that each is a step of its own."""
        return self.n_events > 0 or self.pools is not None or self.schedule.keep_draws or self.schedule.worlds is not None

    @property
    def kept_values(self) -> int:
        """Values of atoms that are kept in memory, of each chain."""
        return self.schedule.draws // self.schedule.thin * self.n_query if self.schedule.keep_draws else 0

    @property
    def pool_slots(self) -> int:
        """Slots of time for each pool's counts, as `PoolObserver` keeps them."""
        return 0 if self.pools is None else slots_for(4 * self.pools.n_pools, self.schedule.chains)

    @property
    def counted_atoms(self) -> int:
        """Atoms that are tallied: those of the query, and where conditionals are pooled all members of their orbits."""
        if self.pools is None or not self.estimator.conditional:
            return self.n_query
        return len(self.pools.counted_atoms)


@dataclass(frozen=True)
class Rates:
    """What a sampler takes; rows are open and hidden atoms, `literals` those of clauses, groups and definitions.

    A sweep of a batch takes the same whatever the number of its chains: they are lanes of one word, or of one vector.
    """

    row: float  # seconds a row and sweep of a batch
    literal: float  # seconds a literal and sweep of a batch
    conditional: float = 1.2e-9  # seconds more a row, chain and sweep where conditionals are collected
    prepare: float = 2e-7  # seconds a literal or row before the first sweep
    search: float = 0.0  # seconds a literal or row of a search for symmetries, as far as its budget goes
    search_bytes: tuple[float, float] = (0.0, 0.0)  # of a row and a literal, in the process that searches
    row_bytes: float = 150.0  # of the sampler's own arrays while it is built
    literal_bytes: float = 20.0
    work_bytes: float = 2.0  # of a literal or row, for each batch that is at work
    batch_chains: int = 64  # chains that share a pass, and a core
    single_steps: bool = False  # every draw is a step of its own
    chain_bytes: float = 0.0  # of each chain's own arrays
    plane_bytes: int = 64  # of a row's count planes
    tallied: int | None = None  # rows that are counted, where a sampler need not count all

    def _batches(self, use: Use) -> tuple[int, int]:
        """Batches in all, and at work at once."""
        from markovlogic.running.worker_pool import cores

        batches = -(-use.schedule.chains // self.batch_chains)
        return batches, min(batches, cores())

    def seconds(self, scale: Scale, use: Use) -> float:
        """Seconds of a whole run, burn-in and preparation included; a search for symmetries comes before, see `searching`."""
        schedule, pools = use.schedule, use.pools
        batches, at_once = self._batches(use)
        sweep = self.row * scale.rows + self.literal * scale.literals
        sweeps = batches * schedule.sweeps * sweep
        draws = batches * -(-schedule.sweeps // SWEEPS_A_STEP) * _STEP
        if self.single_steps or use.sees_each_draw:
            draws = batches * schedule.sweeps * _STEP
        if use.estimator.conditional:
            draws += schedule.draws * schedule.chains * self.conditional * self._tallied(scale, use)
        if pools is not None:
            cells, counted = schedule.chains * pools.n_pools, batches * len(pools.member)
            draws += schedule.draws * (_POOL_CELL * cells + _POOL_MEMBER * counted)
        ends = use.cells * (_POOLED_CELL if pools is not None and use.estimator.conditional else _CELL)
        begins = LOADING + self.prepare * (scale.literals + scale.rows)
        return begins + (sweeps + draws) / at_once + ends

    def _tallied(self, scale: Scale, use: Use) -> int:
        """Rows whose counts and conditionals are kept."""
        return scale.rows if self.tallied is None or use.pools is not None else self.tallied

    def searching(self, scale: Scale) -> float:
        """Seconds that a search for symmetries may take, before it is made; it ends by itself or by its budget."""
        from markovlogic.symmetry.find import DEFAULT_BUDGET

        return min(self.search * (scale.literals + scale.rows), DEFAULT_BUDGET)

    def memory_bytes(self, scale: Scale, use: Use) -> int:
        """Bytes of network, sampler, tallies, estimates and answer."""
        batches, at_once = self._batches(use)
        tallies = tally_bytes(
            n_all=self._tallied(scale, use),
            n_query=use.counted_atoms,
            n_events=use.n_events,
            n_chains=use.schedule.chains,
            draws=use.schedule.draws,
            conditional=use.estimator.conditional,
            n_batches=batches,
            dropping=use.schedule.is_limited and use.schedule.burn_in > 0,
            plane_bytes=self.plane_bytes,
        )
        own = self.literal_bytes * scale.literals + self.row_bytes * scale.rows + self.chain_bytes * use.schedule.chains
        work = at_once * self.work_bytes * (scale.literals + scale.rows)
        kept = use.kept_values * (batches * _NUMBER + 2 * use.schedule.chains)  # words of lanes, then a byte each, put together
        answer = ANSWER_ROW_BYTES * use.n_query
        lanes = min(use.schedule.chains, self.batch_chains)
        searching = self.search_bytes[0] * scale.rows + self.search_bytes[1] * scale.literals
        return int(scale.network_bytes + own + max(searching, work + tallies + kept + _estimate_bytes(use, lanes) + answer))


def _estimate_bytes(use: Use, lanes: int) -> float:
    """Bytes of pools' counts, and of what is made of them and of the tallies in the end."""
    block = 8 * _NUMBER * min(use.cells, CELLS_AT_ONCE)  # rows are summed up block by block, in some arrays
    means = 3 * _NUMBER * use.cells if use.cells <= CHAIN_MEAN_CELLS else 0  # of single chains, where they are few
    if use.pools is None:
        return block + means
    counts = _NUMBER * use.pools.n_pools * (use.schedule.chains + 1)
    series = use.pool_slots * counts
    ends = 2 * series  # stacked, then divided by the orbits' sizes
    if use.estimator.conditional:  # a batch's sums, the members' share of them, with signs
        ends = max(ends, 4 * _NUMBER * len(use.pools.member) * lanes)
    return block + means + counts + series + ends


SLOW = Rates(64e-6, 64e-6, single_steps=True)  # of a sampler in plain Python that was not measured


def counting_scale(analysis: Analysis) -> Scale:
    """How large the counting network is."""
    from markovlogic.methods.forecast import Scale

    atoms = len(analysis.forecast.prepared.problem.atoms)
    return Scale(atoms, atoms, 0, 0, analysis.forecast.counting_plan.network_bytes, predicted=False)


def counting_rates(analysis: Analysis) -> Rates:
    """What Gibbs takes on the counting network, before anything is requested: the plan of its counts shows."""
    plan, atoms = analysis.forecast.counting_plan, max(len(analysis.forecast.prepared.problem.atoms), 1)
    return Rates(
        row=plan.sweep_seconds / atoms,
        literal=0.0,
        conditional=12e-9,
        prepare=50e-9,
        row_bytes=24.0,  # what the search for symmetries leaves
        work_bytes=16.0,  # of a chain's first world
        batch_chains=1,
        chain_bytes=_chain_bytes(analysis),
        plane_bytes=1,
    )


def _chain_bytes(analysis: Analysis) -> float:
    """One word an atom is the world of a chain."""
    return analysis.forecast.counting_plan.chain_bytes + 8.0 * len(analysis.forecast.prepared.problem.atoms)


def counting_rates_for_query(analysis: Analysis) -> Rates:
    """The same with tallies from the first atom that is requested to the last; lists the questions."""
    numbers = analysis.query.numbers
    span = int(numbers.max()) - int(numbers.min()) + 1 if len(numbers) else 0
    return replace(counting_rates(analysis), tallied=span)


def counting_bytes(analysis: Analysis, chains: int) -> int:
    """Bytes of the counting network and its chains, before tallies and whatever is requested."""
    return int(counting_scale(analysis).network_bytes + chains * _chain_bytes(analysis))
