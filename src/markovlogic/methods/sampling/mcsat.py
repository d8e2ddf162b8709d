"""MC-SAT: slice sampling over sets of kept clauses (Poon and Domingos 2006; the baseline of [001] section 5).

Departs: after each slice step a Gibbs sweep, which leaves the same target invariant. A slice step lets go of an atom that m
clauses of weight w hold with a probability of e^(−mw), so that the chain stands still where many soft clauses agree and mixes
where hard ones tie atoms together; a sweep does the reverse. So atoms that hard clauses tie together, or that soft ones hardly
hold, are swept after every eighth slice step only, on average, unless conditionals are wanted. `alternate=False` is the papers'
chain.

Departs: small parts are drawn exactly uniformly; a larger part is moved by sweeps that leave the
uniform distribution over its solutions invariant, which keeps the target exact, and only parts that hard clauses tie together so
that single moves might not reach every solution use SampleSAT, whose draws are near-uniform at best (`large="samplesat"` uses it
for every large part, as the paper does).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError
from markovlogic.guarantee import Guarantee
from markovlogic.methods.sampling.base import Sampler, Settings, StepInfo, Target
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.irreducible import (
    Reachability,
    Start,
    check_start,
    hidden_reach,
    single_site_reach,
    start_kind,
    start_words,
    tied_atoms,
)
from markovlogic.networks.ground import GroundNetwork, group_of, network_of, signed_atom_rows, with_definitions
from markovlogic.networks.starts import require_worlds
from markovlogic.system.arrays import Bool, Words, frozen
from markovlogic.system.checkpoint_validation import require_generators

if TYPE_CHECKING:
    from markovlogic.kernels.gibbs.layout import GibbsLayout


LIGHT = 1.0  # sum of the weights that hold an atom, of which a slice step then lets go at least once in e draws


def lightly_held(network: GroundNetwork) -> Bool:
    """(n_all,) the atoms that soft clauses and biases hold with LIGHT in all; those of one group alike."""
    size = np.diff(network.clause_start[: network.n_soft + 1])
    atom = network.clause_literal[: int(size.sum())] >> 1
    bias = np.where(np.isfinite(network.atom_bias), np.abs(network.atom_bias), 0.0)
    held = bias + np.bincount(atom, np.repeat(network.clause_weight[: network.n_soft], size), network.n_all)
    held[network.definition_literal >> 1] = np.inf  # clauses over what follows from them hold them, too
    if network.n_groups:
        heaviest = np.maximum.reduceat(held[network.group_atom], network.group_start[:-1])
        held[network.group_atom] = np.repeat(heaviest, np.diff(network.group_start))
    light: Bool = held <= LIGHT
    return light


class Constraints(NamedTuple):
    """The network as the kernel reads it; definitions of hidden atoms are hard clauses here."""

    clause_start: npt.NDArray[np.int64]
    clause_literal: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.uint64]  # (n_soft,) a satisfied clause is kept when a random word is below it
    n_soft: npt.NDArray[np.int64]  # (1,) clauses from here on are hard
    n_given: npt.NDArray[np.int64]  # (1,) clauses from here on define hidden atoms
    n_open: npt.NDArray[np.int64]  # (1,) atoms from here on are hidden
    reach_start: npt.NDArray[np.int64]  # for each open atom the hidden ones that depend on it, parents before children
    reach: npt.NDArray[np.int32]
    definition_start: npt.NDArray[np.int64]
    definition_literal: npt.NDArray[np.int32]
    atom_start: npt.NDArray[np.int64]
    incidence: npt.NDArray[np.int64]  # 2·clause + (1 if the atom stands there positively)
    bias: npt.NDArray[np.float64]
    bias_threshold: npt.NDArray[np.uint64]
    fixed: npt.NDArray[np.int8]  # value that a hard unit clause gives, else -1
    group_start: npt.NDArray[np.int64]
    group_atom: npt.NDArray[np.int32]
    group_of: npt.NDArray[np.int32]  # -1 outside groups


class Way(NamedTuple):
    """The settings as the kernel reads them."""

    exact_atoms: int
    exact_tied: int
    policy: int  # what moves a large part
    sweeps: int
    selection: int  # which clauses are looked at
    seldom: int  # all sites are swept once in so many draws, on average, and free ones in between
    search: npt.NDArray[np.float64]  # (4,) of SampleSAT: annealing share, temperature, noise, most flips


class Sites(NamedTuple):
    """What a sweep visits."""

    all: GibbsLayout
    free: GibbsLayout  # what no hard clauses tie together and soft ones hold


class Work(NamedTuple):
    """Scratch arrays of one step; their contents mean nothing between steps."""

    kept: npt.NDArray[np.uint8]
    left: npt.NDArray[np.int32]
    true_count: npt.NDArray[np.int32]
    where: npt.NDArray[np.int64]
    broken: npt.NDArray[np.int64]
    n_broken: npt.NDArray[np.int64]
    active: npt.NDArray[np.int64]
    n_active: npt.NDArray[np.int64]
    part_clause: npt.NDArray[np.int64]
    forced: npt.NDArray[np.uint8]
    literal_byte: npt.NDArray[np.uint8]
    queue: npt.NDArray[np.int32]
    n_queue: npt.NDArray[np.int64]
    parent: npt.NDArray[np.int32]
    part_of: npt.NDArray[np.int32]
    part_atom: npt.NDArray[np.int32]
    local: npt.NDArray[np.int32]
    saved: npt.NDArray[np.uint8]
    atom_first: npt.NDArray[np.int64]
    clause_first: npt.NDArray[np.int64]
    group_left: npt.NDArray[np.int32]
    table: npt.NDArray[np.uint64]
    row: npt.NDArray[np.int32]


class MCSATState(NamedTuple):
    """Worlds of a batch and one generator a chain."""

    world: Words
    generator: npt.NDArray[np.uint64]  # (n_chains, 4)


SELDOM = 8  # draws for one sweep of the sites that hard clauses tie together or that slice steps move well
LARGEST = 20  # as kernels.solutions, which is imported late because it compiles
_POLICIES = {"auto": 0, "sweep": 1, "samplesat": 2}  # as kernels.mcsat
_EVERY, _LAZY, _QUICKER = 0, 1, 2  # as kernels.mcsat
_COUNTERS = ("clauses_touched", "clauses_kept", "parts_exact", "parts_swept", "parts_searched", "searches_failed", "hard_broken")


@dataclass(frozen=True)
class MCSAT(Settings):
    """Settings of MC-SAT.

    exact_atoms: parts of up to this many atoms (at most 20) are drawn exactly.
    exact_tied: the same for parts that hard clauses tie.
    large: how a larger part moves. "auto" sweeps, unless hard clauses tie it and single moves may not reach all its solutions.
        "sweep" always sweeps, "samplesat" always searches.
    alternate: make a Gibbs sweep after each slice step. false is the chain of the papers.
    lazy: decide only clauses with an atom that unit clauses leave free ([001]); the distribution is the same. Default: wherever
        that is faster, and never with alternate=false.
    sweeps: sweeps over a larger part in one slice step.
    annealing: SampleSAT: share of annealing moves.
    temperature: SampleSAT: temperature of annealing moves.
    noise: SampleSAT: share of random moves in a WalkSAT step.
    flips: SampleSAT: flips after which a search gives up.
    start: "auto" starts chains far apart, "satisfying" from fair coins. Both obey the hard rules.
    """

    exact_atoms: int = 12
    exact_tied: int = LARGEST
    large: Literal["auto", "sweep", "samplesat"] = "auto"
    alternate: bool = True
    lazy: bool | None = None
    sweeps: int = 2
    annealing: float = 0.5
    temperature: float = 0.5
    noise: float = 0.5
    flips: int = 200_000
    start: Start = "auto"
    confined: bool | None = field(
        default=None, repr=False, compare=False
    )  # whether hard rules may confine sweeps; `bind` finds out

    def __post_init__(self) -> None:
        check_start("MCSAT", self.start, obeying=True)
        if not (0 <= self.exact_atoms <= LARGEST and 0 <= self.exact_tied <= LARGEST):
            raise InputError(f"MCSAT(exact_atoms={self.exact_atoms}, exact_tied={self.exact_tied}): expected 0 to {LARGEST}")
        if self.large not in _POLICIES:
            raise InputError(f"MCSAT(large={self.large!r}): expected one of {', '.join(_POLICIES)}")
        if self.sweeps < 1 or self.flips < 1 or self.temperature <= 0:
            raise InputError("MCSAT: sweeps and flips must be at least 1 and the temperature positive")

    @property
    def method(self) -> str:
        """The method's name on the command line."""
        return "mcsat"

    @property
    def chains_per_batch(self) -> int:
        """Few, because a step serves one chain at a time: small batches let cores share the chains."""
        return 2

    @property
    def has_conditionals(self) -> bool:
        """Those of the sweeps; where hard rules may confine them they do not cover moves that only slice steps make."""
        return self.alternate and not self.confined

    def bind(self, target: Target) -> MCSAT:
        """The same settings, knowing whether hard rules may confine sweeps."""
        return self if target.network is None else replace(self, confined=_may_confine(target.network))

    @property
    def fixed_order(self) -> bool:
        """Sweeps visit atoms by number."""
        return self.alternate

    def build(self, network: GroundNetwork, n_chains: int) -> MCSATSampler:
        """A sampler for one batch of chains."""
        return MCSATSampler(self, network, n_chains, constraints_of(network))


@dataclass(frozen=True, eq=False)
class MCSATSampler(Sampler):
    """One batch of MC-SAT chains."""

    settings: MCSAT
    network: GroundNetwork
    n_chains: int
    constraints: Constraints

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Modules of `kernels` that `step` needs."""
        return ("alternation",)

    @cached_property
    def way(self) -> Way:
        """The settings as the kernel reads them."""
        chosen = self.settings
        lazy = chosen.alternate if chosen.lazy is None else chosen.lazy
        selection = _EVERY if not lazy else _QUICKER if chosen.lazy is None else _LAZY
        search = np.array([chosen.annealing, chosen.temperature, chosen.noise, chosen.flips])
        return Way(chosen.exact_atoms, chosen.exact_tied, self._policy, chosen.sweeps, selection, self._seldom, search)

    @cached_property
    def _policy(self) -> int:
        """What the kernel does with large parts; where single moves reach every world, sweeps do, whatever is hard."""
        chosen = self.settings.large
        return _POLICIES["sweep" if chosen == "auto" and not self._confined else chosen]

    @cached_property
    def _confined(self) -> bool:
        known = self.settings.confined
        return _may_confine(self.network) if known is None else known

    @cached_property
    def _sites(self) -> Sites:
        """The sites of sweeps: all, or those of an empty network; and the free ones among them."""
        from markovlogic.methods.sampling.gibbs_layout import without_sites

        if not self.settings.alternate:
            nothing = Gibbs().build(network_of(0), 1).layout
            return Sites(nothing, nothing)
        every = Gibbs().build(self.network, 1).layout
        left = lightly_held(self.network)
        if self._confined:
            left |= tied_atoms(self.network)
        return Sites(every, without_sites(every, left))

    @cached_property
    def _seldom(self) -> int:
        """Sweeps hardly move what hard clauses tie together, and need not move what slice steps let go of."""
        sites = self._sites
        return SELDOM if len(sites.free.rows.site_kind) < len(sites.all.rows.site_kind) else 1

    @cached_property
    def _works(self) -> list[Work]:
        """Scratch arrays that no step is using; threads share the sampler, and each step takes some or makes them."""
        return []

    def init(self, seed: np.random.SeedSequence, first: int = 0) -> MCSATState:
        """Start from states that satisfy every hard clause and group."""
        from markovlogic.kernels.random import scalar_generator

        chains, start = seed.spawn(2)
        generator = np.stack([scalar_generator(child) for child in chains.spawn(self.n_chains)])
        return MCSATState(self.network.start_worlds(self.n_chains, start, start_kind(self.settings.start), first), generator)

    def starts(self, first: int) -> tuple[str, ...]:
        """Far apart by default."""
        return start_words(self.settings.start, first, self.n_chains)

    def step(
        self,
        state: MCSATState,
        sweeps: int,
        planes: npt.NDArray[np.uint64] | None = None,
        conditionals: npt.NDArray[np.float32] | None = None,
        *,
        burn_in: bool = False,
    ) -> StepInfo:
        """Make `sweeps` draws: slice steps, each followed by a sweep unless the papers' chain is wanted."""
        from markovlogic.kernels.alternation import mcsat_draws

        counters = np.zeros(len(_COUNTERS), np.int64)
        if planes is None:
            planes = np.zeros((0, 8), np.uint64)
        recorded = np.zeros((0, 0), np.float32) if conditionals is None else conditionals
        try:
            work = self._works.pop()
        except IndexError:
            work = work_for(self.constraints)
        chains = (state.world, state.generator)
        mcsat_draws(self.constraints, work, self._sites, *chains, self.way, sweeps, planes, recorded, counters)
        self._works.append(work)
        swept = len(self._sites.all.rows.site_kind) // self._seldom + len(self._sites.free.rows.site_kind) * (self._seldom > 1)
        updates = sweeps * self.n_chains * (self.network.n_atoms + swept)
        return StepInfo(updates, dict(zip(_COUNTERS, counters.tolist(), strict=True)))

    def check(self, state: MCSATState) -> None:
        """Worlds that obey every hard clause: a step keeps what the present world satisfies."""
        require_worlds(self.network, state.world, self.n_chains)
        require_generators(state.generator)

    def guarantee(self, counts: dict[str, int]) -> Guarantee:
        """Exact while every step left the uniform distribution over solutions invariant; SampleSAT does not."""
        return Guarantee.UNBOUNDED if counts.get("parts_searched", 0) else Guarantee.EXACT

    def concerns(self, counts: dict[str, int]) -> list[str]:
        """Concerns about the draws that the counters give."""
        found = []
        searched, failed = counts.get("parts_searched", 0), counts.get("searches_failed", 0)
        if failed:
            found.append(
                f"SampleSAT found no solution within {self.settings.flips} flips in {failed} of {searched} searches; the chain "
                "kept its state there and mixes slowly. Raise MCSAT(flips=...), or take --method exact if components are small."
            )
        return found


def _may_confine(network: GroundNetwork) -> bool:
    return single_site_reach(network) is not Reachability.ALL


def constraints_of(network: GroundNetwork) -> Constraints:
    """The kernel's arrays: clauses, then the definitions of hidden atoms as hard clauses."""
    start, literal = with_definitions(network, network.clause_start, network.clause_literal)
    atom_start, atom_clause, positive = signed_atom_rows(start, literal, network.n_all)
    incidence = 2 * atom_clause.astype(np.int64) + positive
    reach_start, reach = np.zeros(network.n_all + 1, np.int64), np.zeros(0, np.int32)
    if network.n_hidden:
        reach_start, reach = _reach(network)
    hard = np.isinf(network.atom_bias)
    fixed = np.where(hard, (network.atom_bias > 0).astype(np.int8), np.int8(-1)).astype(np.int8)
    bias = np.where(hard, 0.0, network.atom_bias)
    return frozen(
        Constraints(
            clause_start=start,
            clause_literal=literal,
            threshold=_keep_threshold(network.clause_weight[: network.n_soft]),
            n_soft=np.array([network.n_soft]),
            n_given=np.array([network.n_clauses]),
            n_open=np.array([network.n_atoms]),
            reach_start=reach_start,
            reach=reach,
            definition_start=network.definition_start,
            definition_literal=network.definition_literal,
            atom_start=atom_start,
            incidence=incidence,
            bias=bias,
            bias_threshold=_keep_threshold(np.abs(bias)),
            fixed=fixed,
            group_start=network.group_start,
            group_atom=network.group_atom,
            group_of=group_of(network),
        )
    )


def _reach(network: GroundNetwork) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    return hidden_reach(network, np.arange(network.n_all + 1), np.arange(network.n_all, dtype=np.int32))


def work_for(net: Constraints) -> Work:
    """Scratch arrays of the right sizes."""
    n_clauses, n_all, n_groups = len(net.clause_start) - 1, len(net.bias), len(net.group_start) - 1

    def ints(n: int, kind: Any = np.int64) -> Any:
        return np.zeros(n, kind)

    return Work(
        kept=ints(n_clauses, np.uint8),
        left=ints(n_clauses, np.int32),
        true_count=ints(n_clauses, np.int32),
        where=ints(n_clauses),
        broken=ints(n_clauses),
        n_broken=ints(1),
        active=ints(n_clauses + 1),
        n_active=ints(1),
        part_clause=ints(n_clauses),
        forced=ints(n_all, np.uint8),
        literal_byte=ints(2 * n_all, np.uint8),
        queue=ints(n_all, np.int32),
        n_queue=ints(1),
        parent=ints(n_all, np.int32),
        part_of=ints(n_all, np.int32),
        part_atom=ints(n_all, np.int32),
        local=ints(n_all, np.int32),
        saved=ints(n_all, np.uint8),
        atom_first=ints(n_all + 1),
        clause_first=ints(n_all + 1),
        group_left=ints(n_groups, np.int32),
        table=ints(2**LARGEST // 64, np.uint64),
        row=ints(64, np.int32),
    )


def _keep_threshold(weight: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    """1 − e^(−w) as a 64-bit threshold for a random word."""
    share = -np.expm1(-weight) * 2.0**64
    return np.where(share >= 2.0**64, np.float64(2.0**64 - 2048), share).astype(np.uint64)
