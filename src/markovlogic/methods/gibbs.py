"""Gibbs sampling: what `auto` takes where exact inference would take long and single-site moves reach every world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markovlogic.errors import ResourceError
from markovlogic.estimation.estimator import Estimator
from markovlogic.grounding.memory import show_bytes
from markovlogic.guarantee import Guarantee
from markovlogic.methods.base import Cost, InferOptions, Offer, Plan
from markovlogic.methods.rates import Rates, Use, counting_bytes, counting_rates, counting_scale
from markovlogic.methods.sampler_method import SamplingMethod
from markovlogic.methods.sampling.base import Settings
from markovlogic.methods.sampling.irreducible import Reach
from markovlogic.networks.kinds import COMPRESSED, NetworkKind

if TYPE_CHECKING:
    from markovlogic.methods.case import Case


CHEAPER = 0.5  # share of the ground network's seconds below which counting is taken, where both are possible


@dataclass(frozen=True)
class GibbsMethod(SamplingMethod):
    """One atom, or exclusive group, at a time."""

    counting_chains: int = 8  # each is a pass of its own

    def network_for(self, case: Case, wish: InferOptions) -> NetworkKind:
        """Count where grounding does not fit, or where it would take much longer, all chains considered."""
        if wish.network is not None:
            return wish.network
        if case.planning_outweighs is not None or case.uncountable is not None:
            return NetworkKind.GROUND
        if case.sizes.memory_bytes > case.memory_limit:
            return NetworkKind.COUNTING if self._counting_fits(case, wish) else NetworkKind.GROUND
        use = Use(wish.sampling.schedule(self.chains), Estimator(), 0, 0, None)
        grounded = case.sizes.seconds + self.rates.seconds(case.predicted_scale, use)
        counted = counting_rates(case).seconds(counting_scale(case), use)
        return NetworkKind.COUNTING if counted < CHEAPER * grounded else NetworkKind.GROUND

    def _counting_fits(self, case: Case, wish: InferOptions) -> bool:
        """Whether relations and chains fit, whatever is asked of them."""
        return counting_bytes(case, wish.sampling.schedule(self.counting_chains).chains) <= case.memory_limit

    def cost_on(self, network: NetworkKind, case: Case, wish: InferOptions) -> Cost:
        """As any sampler's; but the questions are not listed where not even the chains fit."""
        if network is NetworkKind.COUNTING and wish.network is None and (outweighs := case.planning_outweighs) is not None:
            return Cost(None, None, f"{outweighs}; --network counting plans it all the same", possible=False)
        if network is NetworkKind.COUNTING and (fault := case.uncountable) is not None:
            return Cost(None, None, f"{fault.message} ({fault.place})", possible=False)
        if network is NetworkKind.COUNTING and not self._counting_fits(case, wish):
            needed = counting_bytes(case, wish.sampling.schedule(self.counting_chains).chains)
            return Cost(None, needed, f"relations and chains need {show_bytes(needed)}", possible=False)
        return super().cost_on(network, case, wish)

    def plan(self, case: Case, wish: InferOptions, reason: str) -> Plan:
        """As any sampler's; refuses chains that do not fit, before the questions are listed."""
        if self.network_for(case, wish) is NetworkKind.COUNTING and not self._counting_fits(case, wish):
            chains, atoms = wish.sampling.schedule(self.counting_chains).chains, len(case.posed.problem.atoms)
            needed = counting_bytes(case, chains)
            raise ResourceError(
                f"{chains} chains over {atoms:,} open atoms would need about {show_bytes(needed)} of memory, the limit is "
                f"{show_bytes(case.memory_limit)}; about {int(atoms * case.memory_limit / needed):,} atoms would fit: ask for "
                "fewer chains, close a predicate with --closed, or allow more with --memory-limit",
                needed=needed,
                limit=case.memory_limit,
            )
        return super().plan(case, wish, reason)

    def costs(self, case: Case, wish: InferOptions) -> tuple[tuple[NetworkKind, Cost], ...]:
        """What it would take on either network."""
        posed = tuple(network for network in self.networks if network not in COMPRESSED)
        wanted = posed if wish.network is None else (wish.network,)
        return tuple((network, self.cost_on(network, case, wish)) for network in wanted)

    def chains_on(self, network: NetworkKind) -> int:
        """Fewer where they share no pass."""
        return self.counting_chains if network is NetworkKind.COUNTING else self.chains

    def settings_on(self, network: NetworkKind, case: Case, wish: InferOptions) -> Settings:
        """On the counting network another sampler does what the settings say."""
        made = self.settings(wish)
        if network is not NetworkKind.COUNTING:
            return made
        from markovlogic.methods.sampling.counting_gibbs import CountingGibbs
        from markovlogic.methods.sampling.gibbs import Gibbs

        assert isinstance(made, Gibbs)
        confined = case.posed.lowered.has_hard and case.reach is not Reach.ALL
        return CountingGibbs(made.scan, made.start, confined)

    def offer(self, case: Case, cost: Cost, wish: InferOptions) -> Offer:
        """Take everything but what hard rules confine; and that too where the other methods' network does not fit."""
        counts = self.network_for(case, wish) is NetworkKind.COUNTING
        if case.reach is Reach.ALL:
            return Offer(True, self._why_counting(case) if counts else "")
        word = "do" if case.reach is Reach.PART else "may"
        kept = f"hard clauses {word} keep single-site moves from some worlds"
        alone = wish.network is NetworkKind.COUNTING or case.sizes.memory_bytes > case.memory_limit
        if alone and counts:
            return Offer(True, f"{kept}, and no other method counts groundings; {self._why_counting(case)}")
        return Offer(False, kept)

    def _why_counting(self, case: Case) -> str:
        sizes = case.sizes
        return f"groundings are counted: making them would take up to {show_bytes(sizes.memory_bytes)} and {sizes.seconds:,.0f} s"


METHOD = GibbsMethod(
    name="gibbs",
    summary="Gibbs sampling, 64 chains in one pass over the network; averages conditionals",
    networks=(NetworkKind.GROUND, NetworkKind.COUNTING, *COMPRESSED),
    promise=Guarantee.EXACT,
    home=("markovlogic.methods.sampling.gibbs", "Gibbs"),
    chains=64,
    rates=Rates(row=45e-9, literal=3e-9),
)
