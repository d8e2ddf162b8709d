"""The methods of the table that run chains: what each promises and takes, and what it offers to auto."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markovlogic.estimation.estimator import Estimator
from markovlogic.guarantee import Guarantee
from markovlogic.methods.base import Cost, InferOptions, Offer, Plan
from markovlogic.methods.rates import LOADING, Rates, Use, counting_bytes, counting_rates, counting_scale
from markovlogic.methods.sampler_method import SamplingMethod
from markovlogic.methods.sampling.base import Settings
from markovlogic.methods.sampling.irreducible import Reachability
from markovlogic.networks.base import COMPRESSED, NetworkKind
from markovlogic.system.measures import show_bytes, too_large

if TYPE_CHECKING:
    from markovlogic.methods.analysis import Analysis


CHEAPER = 0.5  # share of the ground network's seconds below which counting is taken, where both are possible


@dataclass(frozen=True)
class GibbsMethod(SamplingMethod):
    """One atom, or exclusive group, at a time."""

    counting_chains: int = 8  # each is a pass of its own

    def network_for(self, analysis: Analysis, options: InferOptions) -> NetworkKind:
        """Count where grounding does not fit, or where it would take much longer, all chains considered."""
        if options.network is not None:
            return options.network
        use = Use(options.sampling.schedule(self.chains), Estimator(), 0, 0, None)
        grounded = analysis.forecast.sizes.seconds + self.rates.seconds(analysis.forecast.scale, use)
        if analysis.forecast.fits and CHEAPER * grounded <= LOADING:  # which counting takes, too: it is not even planned
            return NetworkKind.GROUND
        if analysis.forecast.outweighs is not None or analysis.forecast.uncountable is not None:
            return NetworkKind.GROUND
        if not analysis.forecast.fits:
            return NetworkKind.COUNTING if self._counting_fits(analysis, options) else NetworkKind.GROUND
        counted = counting_rates(analysis).seconds(counting_scale(analysis), use)
        return NetworkKind.COUNTING if counted < CHEAPER * grounded else NetworkKind.GROUND

    def _counting_fits(self, analysis: Analysis, options: InferOptions) -> bool:
        """Whether relations and chains fit into memory, whatever the query."""
        return counting_bytes(analysis, options.sampling.schedule(self.counting_chains).chains) <= analysis.memory_limit

    def cost_on(self, network: NetworkKind, analysis: Analysis, options: InferOptions) -> Cost:
        """As any sampler's; but the questions are not listed where not even the chains fit."""
        if network is NetworkKind.COUNTING and options.network is None and (outweighs := analysis.forecast.outweighs) is not None:
            return Cost(None, None, f"{outweighs}; --network counting plans it all the same", possible=False)
        if network is NetworkKind.COUNTING and (fault := analysis.forecast.uncountable) is not None:
            return Cost(None, None, f"{fault.message} ({fault.place})", possible=False)
        if network is NetworkKind.COUNTING and not self._counting_fits(analysis, options):
            needed = counting_bytes(analysis, options.sampling.schedule(self.counting_chains).chains)
            return Cost(None, needed, f"relations and chains need {show_bytes(needed)}", possible=False)
        return super().cost_on(network, analysis, options)

    def plan(self, analysis: Analysis, options: InferOptions, reason: str) -> Plan:
        """As any sampler's; refuses chains that do not fit, before the questions are listed."""
        if self.network_for(analysis, options) is NetworkKind.COUNTING and not self._counting_fits(analysis, options):
            chains, atoms = options.sampling.schedule(self.counting_chains).chains, len(analysis.prepared.problem.atoms)
            needed = counting_bytes(analysis, chains)
            fitting = f"about {int(atoms * analysis.memory_limit / needed):,} atoms would fit"
            advice = f"{fitting}: ask for fewer chains, close a predicate with --closed, or "
            raise too_large(f"{chains} chains over {atoms:,} open atoms", needed, analysis.memory_limit, advice)
        return super().plan(analysis, options, reason)

    def costs(self, analysis: Analysis, options: InferOptions) -> tuple[tuple[NetworkKind, Cost], ...]:
        """What it would take on either network."""
        uncompressed = tuple(network for network in self.networks if network not in COMPRESSED)
        wanted = uncompressed if options.network is None else (options.network,)
        return tuple((network, self.cost_on(network, analysis, options)) for network in wanted)

    def chains_on(self, network: NetworkKind) -> int:
        """Fewer where they share no pass."""
        return self.counting_chains if network is NetworkKind.COUNTING else self.chains

    def settings_on(self, network: NetworkKind, analysis: Analysis, options: InferOptions) -> Settings:
        """On the counting network another sampler follows the settings."""
        made = self.settings(options)
        if network is not NetworkKind.COUNTING:
            return made
        from markovlogic.methods.sampling.counting_gibbs import CountingGibbs
        from markovlogic.methods.sampling.gibbs import Gibbs

        assert isinstance(made, Gibbs)
        confined = analysis.prepared.lowered.has_hard and analysis.reach is not Reachability.ALL
        return CountingGibbs(made.scan, made.start, confined)

    def offer(self, analysis: Analysis, cost: Cost, options: InferOptions) -> Offer:
        """Take everything but what hard rules confine; and that too where the other methods' network does not fit."""
        counts = self.network_for(analysis, options) is NetworkKind.COUNTING
        if analysis.reach is Reachability.ALL:
            return Offer(True, self._why_counting(analysis) if counts else "")
        word = "do" if analysis.reach is Reachability.PART else "may"
        kept = f"hard clauses {word} keep single-site moves from some worlds"
        alone = options.network is NetworkKind.COUNTING or not analysis.forecast.fits
        if alone and counts:
            return Offer(True, f"{kept}, and no other method counts groundings; {self._why_counting(analysis)}")
        return Offer(False, kept)

    def _why_counting(self, analysis: Analysis) -> str:
        sizes = analysis.forecast.sizes
        return f"groundings are counted: making them would take up to {show_bytes(sizes.memory_bytes)} and {sizes.seconds:,.0f} s"


GIBBS = GibbsMethod(
    name="gibbs",
    summary="Gibbs sampling, 64 chains in one pass over the network; averages conditionals",
    networks=(NetworkKind.GROUND, NetworkKind.COUNTING, *COMPRESSED),
    promise=Guarantee.EXACT,
    home=("markovlogic.methods.sampling.gibbs", "Gibbs"),
    chains=64,
    rates=Rates(row=45e-9, literal=3e-9),
)


BLOCKED = SamplingMethod(
    name="blocked",
    summary="Gibbs sampling of blocks of atoms, each drawn jointly by elimination of bounded width; "
    "for strong couplings, tree-like parts and hard rules that tie a few atoms",
    networks=(NetworkKind.GROUND,),
    promise=Guarantee.EXACT,
    home=("markovlogic.methods.sampling.blocked", "Blocked"),
    # A phase of weight 0.004 (twenty people, `2 !S(x)`, `0.006 S(x) ^ S(y) ^ S(z)`) was missed in silence by 6 of 10 runs with 8
    # chains, 5 with 16, 2 with 32 and none with 64. Eight chains are one batch, so this costs as many times more.
    chains=64,
    rates=Rates(
        row=450e-9,
        literal=18e-9,
        conditional=15e-9,
        prepare=2e-6,  # blocks are grown and their program is written
        row_bytes=700,
        literal_bytes=315,  # rows of the program, in two divisions, and the numbers they are made of
        batch_chains=8,
    ),
    confined_moves="moves of blocks",
)


@dataclass(frozen=True)
class MCSATMethod(SamplingMethod):
    """Worlds that satisfy a random set of the clauses that hold now."""

    def offer(self, analysis: Analysis, cost: Cost, options: InferOptions) -> Offer:
        """Take what is left."""
        return Offer(True, "")


MCSAT = MCSATMethod(
    name="mcsat",
    summary="MC-SAT slice sampling, for models with hard rules; `unbounded` as soon as a step needed SampleSAT",
    networks=(NetworkKind.GROUND,),
    promise=Guarantee.EXACT,
    home=("markovlogic.methods.sampling.mcsat", "MCSAT"),
    chains=32,  # of 16, two runs in five miss a phase of "triples, small" in tests/multimodal.py in silence; of 32, none
    rates=Rates(row=110e-9, literal=30e-9, prepare=5e-7, literal_bytes=25, work_bytes=22, batch_chains=2),
    confined_moves="",
)


ORBITAL = SamplingMethod(
    name="orbital",
    summary="Gibbs with a random symmetry of model and evidence after each sweep",
    networks=(NetworkKind.GROUND,),
    promise=Guarantee.EXACT,
    home=("markovlogic.methods.sampling.orbital", "Orbital"),
    chains=64,  # lanes of one pass: 8 miss a phase in silence in 7 of 10 runs of tests/multimodal.py "triples, small", 64 in none
    rates=Rates(
        row=175e-9,  # most of it for a symmetry a sweep, as a permutation of all atoms
        literal=3e-9,
        search=1e-5,
        search_bytes=(8500, 120),  # more where generators are many: between half and twice of what five problems took
        row_bytes=380,  # while the search has its graph
        literal_bytes=110,
        work_bytes=10,
        single_steps=True,
    ),
)


LIFTED_MH = SamplingMethod(
    name="lifted-mh",
    summary="lifted Metropolis-Hastings: approximate symmetries propose, the true model accepts or rejects",
    networks=(NetworkKind.GROUND,),
    promise=Guarantee.CORRECTED,
    home=("markovlogic.methods.sampling.lifted_mh", "LiftedMH"),
    # As many as a batch of the base chain has: 64 take hardly twice the seconds of 8. A phase of weight 0.004 was missed in
    # silence by 3 of 10 runs with 8 chains, 1 with 16, none with 32 and 64.
    chains=64,
    rates=Rates(
        row=120e-9,
        literal=4e-9,
        prepare=4e-7,
        row_bytes=220,
        literal_bytes=175,  # clauses with each of their atoms, and the numbers they are made of
        work_bytes=12,
    ),
    proposes=True,
)


@dataclass(frozen=True)
class TemperedMethod(SamplingMethod):
    """Ladders of temperatures."""

    def can_replace_stuck_chains(self, analysis: Analysis) -> bool:
        """Where single-site moves reach every world: heat does not melt hard rules."""
        return analysis.network is not None and analysis.reach is Reachability.ALL


TEMPERED = TemperedMethod(
    name="tempered",
    summary="replica exchange: ladders of temperatures in the 64 lanes, so that chains cross between modes; estimates log Z too",
    networks=(NetworkKind.GROUND,),
    promise=Guarantee.EXACT,
    home=("markovlogic.methods.sampling.tempered", "Tempered"),
    # Ladders of 16 rungs, two batches: each crosses between phases by itself, and eight are enough for errors from their spread.
    chains=8,
    rates=Rates(row=60e-9, literal=6e-9, row_bytes=230, literal_bytes=40, batch_chains=4, single_steps=True),
)
