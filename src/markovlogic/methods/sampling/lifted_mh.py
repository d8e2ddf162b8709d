"""Lifted Metropolis-Hastings: a base chain mixed with moves that an approximation proposes and the true model judges ([004]).

With probability alpha a draw is one sweep of the base chain. Otherwise it is a sweep of proposals, so many that every open atom
is proposed to change about once. The approximation is classes of nearly interchangeable constants, used in one of two ways:
constants of a class change places (`exchange_moves`), or counts of true atoms in blocks of classes are redrawn (`count_moves`).
The target is the true model whatever the classes are: they decide how often proposals are accepted, and nothing else. The mixture
is irreducible because the base chain is (Tierney 1994, as [004] quotes it).

With `propose=group` a draw is one proposal instead: the world's image under a random symmetry of an approximate model, see
`symmetrised`. Such a group may exchange the values of atoms too.

With `flip` such a sweep also proposes to negate every open atom at once: a symmetry of values, which spins in an outer field have
but for the field, and which no renaming of constants makes.

Which classes and how much at a time is tried out in burn-in only, and fixed from the first counted draw on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError
from markovlogic.guarantee import Guarantee
from markovlogic.methods.sampling.base import Sampler, Settings, StepInfo, Target, require_sweeps, total_counts
from markovlogic.methods.sampling.count_moves import CountMoves
from markovlogic.methods.sampling.exchanges import ExchangeMoves
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.group_moves import GroupMoves
from markovlogic.networks.ground import GroundNetwork
from markovlogic.problem import Problem
from markovlogic.symmetry.base import AtomGroup, ConstantClasses
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, Words, unpacked
from markovlogic.system.checkpoint_validation import require_generators, require_within

if TYPE_CHECKING:
    from markovlogic.compression.base import Compressor
    from markovlogic.methods.sampling.exchanges import Arm, Moves
    from markovlogic.methods.sampling.symmetrised import Proposer


def flip_log_ratios(network: GroundNetwork, worlds: Bool) -> Float64:
    """(n_chains,) log P(y)/P(x) of negating the open atoms of each world, (n_chains, n_atoms); −inf where hard rules break.

    x itself must be possible. A network without hidden atoms and exclusive groups.
    """
    bias = network.atom_bias[: network.n_atoms]
    decided = np.isinf(bias)
    made = np.where(worlds, -1.0, 1.0) @ np.where(decided, 0.0, bias)
    literal, start = network.clause_literal, network.clause_start[:-1]
    if len(literal):
        agrees = worlds[:, literal >> 1] == (literal & 1).astype(bool)
        before, after = (np.logical_or.reduceat(side, start, axis=1) for side in (agrees, ~agrees))
        soft = slice(0, network.n_soft)
        made = made + (after[:, soft].astype(np.float64) - before[:, soft]) @ network.clause_weight[soft]
        made = np.where(after[:, network.n_soft :].all(axis=1), made, -np.inf)
    return np.full(len(worlds), -np.inf) if decided.any() else np.asarray(made, np.float64)


def flip_all(network: GroundNetwork, world: Words, n_chains: int, generator: npt.NDArray[np.uint64]) -> int:
    """Propose the flip to every chain of a batch, in place; how many took it."""
    from markovlogic.kernels.random import next_uniform

    ratio = flip_log_ratios(network, unpacked(world[: network.n_atoms], n_chains))
    chance = np.exp(np.minimum(ratio, 0.0))
    taken = [chain for chain in range(n_chains) if next_uniform(generator) < chance[chain]]
    world[: network.n_atoms] ^= np.uint64(sum(1 << chain for chain in taken))
    return len(taken)


Propose = Literal["exchange", "counts", "independent", "group"]
WORTH_KEEPING = 0.05  # a type stays if its exchanges move so much, relative to the best type's, for the same work
COST_OF_A_MOVE = 8  # in clause visits, whatever a move touches
NOT_CHOSEN, DROPPED = -2, -1
ENOUGH, HOPELESS = 1000, 0.002  # proposals after which a share of accepted ones below this is worth a word


@dataclass(frozen=True)
class LiftedMH(Settings):
    """Settings of lifted Metropolis-Hastings.

    base: the chain that it is mixed with; Python only: `Gibbs()` or `MCSAT()`.
    alpha: share of base sweeps, 0 to 1. 0 leaves the exchanges alone, which reach only worlds that exchanges can make.
    source: where the classes come from: unary, colours, twins or the name of a compressor. From Python also a compressor such as
        `BMF()`, or ConstantClasses, or several of them, among which burn-in chooses.
    propose: "exchange": constants of a class change places. "counts": a network of blocks redraws atoms, with delayed acceptance.
        "independent": it redraws whole worlds. "group": a symmetry of an approximate model moves the whole world.
    rounds: sweeps over the blocks before propose=independent proposes a world.
    tune: choose classes and size of moves in burn-in. false takes the first classes and the smallest moves.
    flip: also propose to negate all open atoms at once.
    fields: with propose=group, keep the weights of single atoms in the approximate model. Default: leave them out.
    low_rank: with propose=group, so many Boolean factors of each binary predicate's evidence in the approximate model. Default:
        all evidence.
    without: with propose=group, predicates, separated by +, whose rules the approximate model leaves out.
    signed: with propose=group, let symmetries exchange the values of atoms.
    group: Python only: a group of signed permutations of the open atoms, in place of those of an approximate model.
    """

    base: Settings = field(default_factory=Gibbs)
    alpha: float = 0.5
    source: str | Compressor | ConstantClasses | tuple[ConstantClasses, ...] = field(default="unary", repr=False)
    propose: Propose = "exchange"
    rounds: int = 1
    tune: bool = True
    flip: bool = False
    fields: bool = False
    low_rank: int | None = None
    without: str = ""
    signed: bool = True
    group: AtomGroup | None = field(default=None, repr=False, compare=False)
    proposals: Proposals | None = None  # what `bind` makes of the source

    def __post_init__(self) -> None:
        if not 0.0 <= self.alpha <= 1.0:
            raise InputError(f"LiftedMH(alpha={self.alpha:g}): expected a share between 0 and 1")
        if self.propose not in get_args(Propose):
            known = ", ".join(get_args(Propose))
            raise InputError(f"LiftedMH: propose is {self.propose!r}, expected one of {known}")
        if self.flip and self.propose != "exchange":
            raise InputError(
                f"LiftedMH: flip works only with propose=exchange, not with propose={self.propose}", hint="leave one out"
            )
        if self.low_rank is not None and self.low_rank < 0:
            raise InputError(f"LiftedMH(low_rank={self.low_rank}): the rank must be 0 or more")
        of_groups = (self.fields, self.low_rank is not None, bool(self.without), not self.signed, self.group is not None)
        if self.propose != "group" and any(of_groups):
            raise InputError(
                "LiftedMH: fields, low_rank, without, signed and group are settings of propose=group", hint="take propose=group"
            )
        if self.group is not None and any(of_groups[:-1]):
            raise InputError(
                "LiftedMH: fields, low_rank, without and signed make a group, and one is given", hint="leave one or the other out"
            )
        if self.rounds < 1 or (self.rounds > 1 and self.propose != "independent"):
            raise InputError(f"LiftedMH: rounds is {self.rounds}; it must be 1, or with propose=independent more")

    @property
    def method(self) -> str:
        """The method's name on the command line."""
        return "lifted-mh"

    @property
    def chains_per_batch(self) -> int:
        """As many as the base chain likes best."""
        return self.base.chains_per_batch

    @property
    def fixed_order(self) -> bool:
        """As the base chain."""
        return self.base.fixed_order

    @property
    def proposing(self) -> str:
        """How many classes, of the first partition where burn-in chooses among several."""
        if self.proposals is None:
            return ""
        if self.proposals.group is not None:
            return self.proposals.group.words
        from markovlogic.compression.proposals import summary_of

        return summary_of(self.proposals.levels[0])

    def bind(self, target: Target) -> LiftedMH:
        """The same settings with classes of this problem's constants."""
        problem = target.problem
        if self.propose == "group":
            proposer = self._proposer(target)
            return replace(self, base=self.base.bind(target), proposals=Proposals(problem, (), proposer))
        levels: tuple[ConstantClasses, ...]
        if isinstance(self.source, ConstantClasses):
            levels = (self.source,)
        elif isinstance(self.source, tuple):
            levels = self.source
        else:
            from markovlogic.compression.proposals import proposal_classes

            levels = (proposal_classes(problem, self.source),)
        return replace(self, base=self.base.bind(target), proposals=Proposals(problem, levels))

    def _proposer(self, target: Target) -> Proposer:
        from markovlogic.methods.sampling.symmetrised import Approximation, Proposer, approximate_symmetries

        if self.group is not None:
            return Proposer(self.group, "a given group")
        names = tuple(name.strip() for name in self.without.split("+") if name.strip())
        return approximate_symmetries(
            target.problem, target.network, Approximation(self.fields, self.low_rank, names, self.signed)
        )

    def build(self, network: GroundNetwork, n_chains: int) -> LiftedMHSampler:
        """A sampler for one batch of chains; the settings must be bound to the problem that the network comes from."""
        if self.proposals is None:
            raise InputError("LiftedMH has no classes of constants yet", hint="use it through infer, or bind it to a target")
        if len(self.proposals.problem.atoms) != network.n_atoms:
            raise ValueError("the network has other atoms than the problem that LiftedMH was bound to")
        return LiftedMHSampler(self, network, n_chains, self.proposals)


@dataclass(frozen=True, eq=False)
class Proposals:
    """A problem and one or more partitions of its constants, the first taken where nothing is tried out; or a group."""

    problem: Problem = field(repr=False)
    levels: tuple[ConstantClasses, ...] = field(repr=False)
    group: Proposer | None = None

    def __repr__(self) -> str:
        """Sources and a digest of the classes: a checkpoint of a run with other classes is not continued."""
        import hashlib

        if self.group is not None:
            return repr(self.group)
        digest = hashlib.blake2b(digest_size=8)
        for level in self.levels:
            for type_name, class_of in sorted(level.class_of.items()):
                digest.update(type_name.encode() + np.ascontiguousarray(class_of, np.int64).tobytes())
        return f"<{', '.join(level.source for level in self.levels)}: {digest.hexdigest()}>"


class LiftedMHState(NamedTuple):
    """Everything that the next draw depends on."""

    base: Any  # the base chain's state
    coin: npt.NDArray[np.uint64]  # (4,) which kernel comes next
    generator: npt.NDArray[np.uint64]  # (4,) which constants change places, and who accepts
    trials: Int64  # (n_arms, 2) in burn-in: atoms moved, work done
    chosen: Int64  # (n_types,) arm of each type, NOT_CHOSEN until the first counted draw
    tried: Int64  # (1,) symmetric sweeps of burn-in so far
    memory: Int32  # of the walk in the group that proposes, empty without one

    @property
    def world(self) -> Words:
        """The base chain's world is ours."""
        return self.base.world  # type: ignore[no-any-return]


class LiftedMHSampler(Sampler):
    """One batch of chains; see `methods.sampling.base.Sampler`."""

    def __init__(self, settings: LiftedMH, network: GroundNetwork, n_chains: int, proposals: Proposals) -> None:
        self.settings = settings
        self.network = network
        self.n_chains = n_chains
        self.proposals = proposals
        self.base = settings.base.build(network, n_chains)
        if settings.flip and (network.n_hidden or network.n_groups):
            raise InputError(
                "LiftedMH(flip=True): the negation of a world with exclusive groups or quantifiers inside rules is not a world",
                hint="leave flip out",
            )
        if settings.alpha == 0 and not any(self.arms):
            if settings.propose == "group":
                raise InputError(
                    "LiftedMH(alpha=0): the approximate model has no symmetries, so nothing would ever change",
                    hint="take alpha above 0",
                )
            raise InputError(
                "LiftedMH(alpha=0): no two constants with open atoms are in one class, so nothing would ever change",
                hint="take alpha above 0",
            )

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Modules of `kernels` that `step` needs."""
        return (*self.base.kernel_modules, self.moves.kernel_module)

    @cached_property
    def moves(self) -> Moves:
        """What proposes."""
        own, settings = self.proposals, self.settings
        if own.group is not None:
            return GroupMoves(self.network, own.group.group)
        if settings.propose == "exchange":
            return ExchangeMoves(own.problem, self.network, own.levels, tune=settings.tune)
        rounds = settings.rounds if settings.propose == "independent" else None
        return CountMoves(own.problem, self.network, own.levels, tune=settings.tune, rounds=rounds)

    @cached_property
    def arms(self) -> tuple[tuple[Arm, ...], ...]:
        """Ways to propose, among which burn-in chooses one in each group."""
        return self.moves.arms

    def init(self, seed: np.random.SeedSequence, first: int = 0) -> LiftedMHState:
        """The base chain's start, and generators of our own."""
        from markovlogic.kernels.random import scalar_generator

        base_seed, coin, moves, walk = seed.spawn(4)
        base = self.base.init(base_seed, first)
        return LiftedMHState(
            base=base,
            coin=scalar_generator(coin),
            generator=scalar_generator(moves),
            trials=np.zeros((sum(map(len, self.arms)), 2), np.int64),
            chosen=np.full(len(self.arms), NOT_CHOSEN, np.int64),
            tried=np.zeros(1, np.int64),
            memory=self.moves.memory(np.random.default_rng(walk)),
        )

    def starts(self, first: int) -> tuple[str, ...]:
        """As the base chain."""
        return self.base.starts(first)

    def step(
        self,
        state: LiftedMHState,
        sweeps: int,
        planes: npt.NDArray[np.uint64] | None = None,
        conditionals: npt.NDArray[np.float32] | None = None,
        *,
        burn_in: bool = False,
    ) -> StepInfo:
        """Make `sweeps` draws in place; see `methods.sampling.base.Sampler.step`."""
        from markovlogic.kernels.counters import add_world
        from markovlogic.kernels.exchange import ACCEPTED, EXCHANGED, N_COUNTS, PROPOSED, UNCHANGED
        from markovlogic.kernels.random import next_uniform

        require_sweeps(sweeps)
        warming_up = burn_in and self.settings.tune
        if not warming_up and len(state.chosen) and state.chosen[0] == NOT_CHOSEN:
            self._choose(state)
        base_steps: list[StepInfo] = []
        totals = np.zeros(N_COUNTS, np.int64)
        sweep = _Sweeps(self, state)
        moves = bool(self.arms) or self.settings.flip
        is_base = [not moves or next_uniform(state.coin) < self.settings.alpha for _ in range(sweeps)]
        done = 0
        while done < sweeps:
            if is_base[done]:
                run = done
                while run < sweeps and is_base[run]:
                    run += 1
                base_steps.append(self.base.step(state.base, run - done, planes, burn_in=burn_in))
                done = run
                continue
            if self.arms:
                totals += sweep.trial() if warming_up else sweep.chosen()
            if self.settings.flip:
                totals[[PROPOSED, ACCEPTED]] += self.n_chains, flip_all(self.network, state.world, self.n_chains, state.generator)
            if planes is not None:
                add_world(planes, state.world)
            done += 1
        updates = sum(info.updates for info in base_steps) + int(totals[EXCHANGED]) * self.n_chains
        counts = total_counts([info.counts for info in base_steps])
        if not warming_up:
            own = {"proposed": PROPOSED, "accepted": ACCEPTED, "unchanged": UNCHANGED}
            counts |= {name: int(totals[at]) for name, at in own.items()}
        return StepInfo(updates, counts)

    def _choose(self, state: LiftedMHState) -> None:
        """Fix for each type the arm that moved most atoms for its work; types that hardly move anything are dropped."""
        rate = np.where(state.trials[:, 1] > 0, state.trials[:, 0] / np.maximum(state.trials[:, 1], 1), -1.0)
        first = np.cumsum([0, *map(len, self.arms)])
        best = np.array([rate[a:b].max() for a, b in pairwise(first)])
        for number, (a, b) in enumerate(pairwise(first)):
            idle = 0 <= best[number] < WORTH_KEEPING * best.max()
            state.chosen[number] = DROPPED if idle else int(np.argmax(rate[a:b])) if best[number] > 0 else 0

    def check(self, state: LiftedMHState) -> None:
        """The base chain's own, and an arm that exists for each type, or none yet for all of them."""
        self.base.check(state.base)
        require_generators(state.coin)
        require_generators(state.generator)
        require_within(state.trials, 0, np.iinfo(np.int64).max // 2, "trials")
        if self.proposals.group is not None:
            self.proposals.group.group.check(state.memory)
        require_within(state.tried, 0, np.iinfo(np.int64).max // 2, "sweeps tried")
        if not (state.chosen == NOT_CHOSEN).all():
            require_within(state.chosen, DROPPED, np.array([len(arms) - 1 for arms in self.arms]), "arms chosen")

    def guarantee(self, counts: dict[str, int]) -> Guarantee:
        """An approximate proposal, an accept/reject step; never better than the base chain."""
        return Guarantee.CORRECTED | self.base.guarantee(counts)

    def concerns(self, counts: dict[str, int]) -> list[str]:
        """Concerns of the base chain, moves that do not reach every world, and moves that are hardly ever accepted."""
        found = []
        if self.settings.alpha > 0:
            found += self.base.concerns(counts)
        else:
            found.append("lifted-mh: without a base chain (alpha=0) only worlds that its moves reach are; take alpha above 0.")
        group = self.proposals.group
        if group is not None and not any(self.arms):
            why = "; ".join(group.notes) or f"there are none in {group.source}"
            found.append(f"lifted-mh: no symmetry proposes, so this is the base chain alone: {why}.")
        proposed, accepted = counts.get("proposed", 0), counts.get("accepted", 0)
        if self.settings.propose == "group" and proposed >= ENOUGH and accepted < HOPELESS * proposed:
            found.append(
                f"lifted-mh: of {proposed:,} proposals by symmetries {accepted:,} were accepted, so the base chain did the work;"
                " take an approximation closer to the model (--set fields=true), or another method."
            )
        elif self.settings.propose != "exchange" and proposed >= ENOUGH and accepted < HOPELESS * proposed:
            found.append(
                f"lifted-mh: of {proposed:,} proposals by counts {accepted:,} were accepted, so the base chain did all the work;"
                " take more groups (--ratio), --set propose=exchange, or another method."
            )
        return found

    def describe(self, state: LiftedMHState) -> Sequence[str]:
        """For each group of arms what is done, in words; for logs and experiments."""
        found = []
        for arms, chosen in zip(self.arms, state.chosen, strict=True):
            if chosen == DROPPED:
                found.append(f"{arms[0].about}: dropped")
            elif chosen >= 0:
                found.append(f"{arms[chosen].about}: {arms[chosen].description}")
        return found


class _Sweeps:
    """Sweeps of proposals within one step: the scratch arrays are made when the first of them is due."""

    def __init__(self, sampler: LiftedMHSampler, state: LiftedMHState) -> None:
        self._sampler = sampler
        self._state = state

    @cached_property
    def _room(self) -> Any:
        return self._sampler.moves.room(self._state.memory)

    def chosen(self) -> Int64:
        """One sweep with what was chosen for each group."""
        from markovlogic.kernels.exchange import N_COUNTS

        sampler, state = self._sampler, self._state
        sampler.moves.begin(self._room, state.world, sampler.n_chains)
        totals = np.zeros(N_COUNTS, np.int64)
        for arms, chosen in zip(sampler.arms, state.chosen, strict=True):
            if chosen != DROPPED:
                sampler.moves.make(arms[chosen], self._room, state.world, sampler.n_chains, state.generator, totals)
        return totals

    def trial(self) -> Int64:
        """One sweep of burn-in: each group tries its arms in turn."""
        from markovlogic.kernels.exchange import EXCHANGED, MOVED_ATOMS, N_COUNTS, VISITS

        sampler, state = self._sampler, self._state
        sampler.moves.begin(self._room, state.world, sampler.n_chains)
        totals = np.zeros(N_COUNTS, np.int64)
        first = 0
        for arms in sampler.arms:
            number = int(state.tried[0]) % len(arms)
            own = np.zeros(N_COUNTS, np.int64)
            sampler.moves.make(arms[number], self._room, state.world, sampler.n_chains, state.generator, own)
            trial = state.trials[first + number]
            trial[0] += own[MOVED_ATOMS]
            trial[1] += own[VISITS] + own[EXCHANGED] + COST_OF_A_MOVE * arms[number].n_moves
            totals += own
            first += len(arms)
        state.tried[0] += 1
        return totals
