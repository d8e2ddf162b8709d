"""Chains over blocks of atoms: what answers where a compression gives a network of blocks in the place of a problem.

What `gibbs` is on the networks of a compression.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markovlogic.errors import InputError
from markovlogic.estimation.estimator import Estimator
from markovlogic.guarantee import Guarantee
from markovlogic.methods.base import Cost, InferOptions, Method, Plan
from markovlogic.methods.sampler_method import SamplingMethod
from markovlogic.networks.base import COMPRESSED

if TYPE_CHECKING:
    from markovlogic.methods.analysis import Analysis
    from markovlogic.networks.counts import CountNetwork

# Measured on full WebKB: seconds and bytes
_LOADING = 0.3
_BYTE = 0.6e-9  # a byte of the network, chain and sweep
_UNIT_BYTES = 64  # of sums, a unit or count and chain; and of an atom that is requested


WITH_WORLDS = "leave it out, or add --compress-as problem, which has worlds"
WITH_NETWORKS = "leave it out, or add --compress-as problem, which has networks"


def plan_over_counts(analysis: Analysis, options: InferOptions) -> Plan:
    """The plan where the compression made counts: as on any problem, exact where that is cheap and no draws were requested."""
    from markovlogic.methods.count_sum import METHOD as SUM

    if analysis.query.open_events:
        raise InputError(
            "the compression makes blocks of atoms, which answer queries of single atoms, not of formulas", hint=WITH_WORLDS
        )
    if options.network is not None:
        raise InputError(
            f"--network {options.network}: the compression made counts, and the method does not work on counts",
            hint=WITH_NETWORKS,
        )
    assert analysis.replacement is not None
    alpha = analysis.replacement.made.alpha
    if options.method is not None:
        return _named(analysis, options, alpha, options.method)
    offer = SUM.offer(analysis, SUM.cost(analysis, options), options)
    if alpha == "none" and offer.takes:
        return SUM.plan(analysis, options, offer.reason)
    why = offer.reason if alpha == "none" else f"alpha={alpha} is about draws"
    return METHOD.over_blocks(analysis, options, alpha, f"the compression made counts; {why}")


def _named(analysis: Analysis, options: InferOptions, alpha: str, method: Method) -> Plan:
    """The plan of the method that was named; refuses one that does not work on counts or blocks."""
    from markovlogic.methods.count_sum import METHOD as SUM

    assert analysis.counts is not None
    kind = analysis.counts.kind
    if kind not in method.networks:
        raise InputError(
            f"{method.name} does not work on {kind}, which the compression makes",
            hint="add --compress-as problem, or take --method exact or gibbs"
            + (", or use the groups as --proposals" if method.takes_proposals else ""),
        )
    if options.settings is not None and options.settings != method.plain_settings():
        raise InputError(
            f"the settings of {method.name} are not supported on {kind}", hint="leave them out, or add --compress-as problem"
        )
    if method.name == METHOD.name:
        return METHOD.over_blocks(analysis, options, alpha, "chosen by name")
    cost = SUM.cost(analysis, options)
    if alpha != "none":
        raise InputError(f"alpha={alpha} works only with a sampler, and {method.name} makes no draws", hint="take --method gibbs")
    if not cost.possible:
        raise InputError(f"{method.name} is not possible: {cost.reason}", hint="take --method gibbs")
    return SUM.plan(analysis, options, "chosen by name")


@dataclass(frozen=True)
class BlockMethod(SamplingMethod):
    """Chains over the blocks that a compression gave."""

    def network(self, analysis: Analysis) -> CountNetwork:
        """The compression's."""
        assert analysis.counts is not None
        return analysis.counts

    def over_blocks(self, analysis: Analysis, options: InferOptions, alpha: str, reason: str) -> Plan:
        """The plan; refuses what blocks cannot show."""
        from markovlogic.methods.sampling.block_gibbs import BlockGibbs

        settings = BlockGibbs(alpha)  # type: ignore[arg-type]
        network, schedule, hint = self.network(analysis), options.sampling.schedule(self.chains), WITH_WORLDS
        if schedule.worlds is not None or schedule.keep_draws:
            raise InputError("the compression makes blocks of atoms, which have no worlds to write or keep", hint=hint)
        if options.sampling.estimator not in ("auto", "conditional"):
            raise InputError(
                f"the compression makes blocks of atoms, which have no estimator {options.sampling.estimator}",
                hint=hint,
            )
        if options.sampling.orbits != "auto":
            raise InputError("the compression makes blocks of atoms, which have no orbits to average over", hint=WITH_NETWORKS)
        swept = network.nbytes - network.of_atom.nbytes
        seconds = _LOADING + schedule.sweeps * schedule.chains * swept * _BYTE
        sums = _UNIT_BYTES * (schedule.chains * (network.n_units + network.n_counts) + len(analysis.query.numbers))
        memory = network.nbytes + 2 * swept + sums
        cost = Cost(seconds, memory, f"{schedule.chains} chains of {schedule.draws} draws")
        estimator = Estimator(conditional=True)
        return Plan(self, network.kind, reason, cost, estimator=estimator, settings=settings, schedule=schedule)


METHOD = BlockMethod(
    name="gibbs",
    summary="Gibbs sampling of blocks of atoms",
    networks=COMPRESSED,
    promise=Guarantee.UNBOUNDED,
    home=("markovlogic.methods.sampling.block_gibbs", "BlockGibbs"),
    chains=16,
)
