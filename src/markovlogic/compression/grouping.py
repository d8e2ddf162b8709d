"""What all compressors that merge objects have in common: how evidence and weights are carried over to groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import isinf
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from markovlogic.compression.base import Compression, Compressor, check_seed, projection
from markovlogic.compression.block_network import block_network
from markovlogic.compression.block_states import Reading, Translation
from markovlogic.compression.features import is_kept
from markovlogic.compression.partition import Partition, held_apart, proposals_of
from markovlogic.compression.shares import Blocks
from markovlogic.compression.shrinking import Shrinking, Vote, n_scaled_rules
from markovlogic.compression.type_model import NoTypes, type_network
from markovlogic.errors import InputError, UnsupportedError
from markovlogic.grounding.hard_rules.relevance import rules_that_matter
from markovlogic.guarantee import Guarantee
from markovlogic.language.lower import lower
from markovlogic.language.templates import LoweredModel
from markovlogic.networks.counts import CountNetwork
from markovlogic.problem import Problem
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.problem.query import queried_predicates
from markovlogic.system.settings_parser import check_words

if TYPE_CHECKING:
    from markovlogic.symmetry.base import ConstantClasses

Weights = Literal["default", "literal", "uniform", "field", "count"]
Evidence = Literal["default", "majority", "clamp", "split", "representatives"]
Diagonal = Literal["default", "merged", "split"]
Alpha = Literal["none", "scan", "lazy", "clamp", "bang-bang"]
Independent = Literal["summed", "kept"]

RATIO = 0.1  # groups over objects of a type, the K of [000]'s cgibbs
MOST_SCALED = 8  # rules that one rule may become where weights are multiplied by the sizes of groups
AS_THEY_WERE = "; weights and rules are as they were (--compress-as problem)"
_WEIGHTS = {
    "literal": "literal weights",
    "uniform": "weights times group sizes",
    "field": "the field of one atom (no joint target)",
    "count": "counts of true ones (annealed)",
}


@dataclass(frozen=True)
class CarryOver:
    """How weights and evidence are carried over from objects to groups.

    "default" is what is right: counts and shares with split diagonals; and a smaller problem with literal weights, where that
    is chosen (`--compress-as problem`), or rules have no place in blocks. The other values are readings of the papers, settings
    of the package markovlogic_papers.

    weights: weights of the smaller problem. "literal" leaves them as they are; "uniform" multiplies them by the sizes of the
        groups, which is right for worlds that are constant on groups; "field" uses what one member of a block sees, a chain
        without a joint target; "count" counts how many atoms are true. "default": count where the rules allow it, else literal.
    evidence: of a block of atoms. "majority": true where true ones outnumber all others together; "clamp": what most known ones
        are; "split": shares, which enter counts as they are; "representatives": what is known of one member of each group, as in
        [002]. "default": shares with counts, otherwise votes.
    diag: whether p(A,A) and p(A,B), with A and B in one group, are one atom ("merged") or two ("split").
    alpha: what the selection probabilities of [000] do; see `methods.sampling.block_gibbs`.
    independent: "summed" sums atoms that are independent given the rest out of blocks before anything is scaled.
    """

    weights: Weights = "default"
    evidence: Evidence = "default"
    diag: Diagonal = "default"
    alpha: Alpha = "none"
    independent: Independent = "summed"

    @property
    def is_literal(self) -> bool:
        """Whether weights stay as in the papers, or are multiplied by sizes."""
        return self.weights in ("literal", "uniform")

    @property
    def wants_problem(self) -> bool:
        """Whether it is a reading for a smaller problem alone."""
        return self.is_literal or self.evidence == "representatives"

    @property
    def wants_blocks(self) -> bool:
        """Whether no smaller problem has a place for it."""
        of_chains = self.alpha != "none" or self.independent == "kept"
        return self.weights in ("field", "count") or self.evidence == "split" or of_chains

    @property
    def merges_diagonals(self) -> bool:
        """Whether atoms with one object twice are as any others."""
        return self.diag == "merged" or (self.diag == "default" and self.is_literal)

    @property
    def reading(self) -> Reading:
        """How blocks are read."""
        weights = "count" if self.weights == "default" else self.weights
        evidence: Translation = "majority" if self.is_literal else "split"
        if self.evidence == "majority" or self.evidence == "clamp" or self.evidence == "split":  # representatives are no blocks
            evidence = self.evidence
        sums_out = self.independent == "summed" and weights in ("count", "field")
        return Reading(weights, evidence, not self.merges_diagonals, sums_out)


@dataclass(frozen=True)
class Grouping(Compressor, ABC):
    """Settings that all groupings share.

    ladder: number of finer partitions that are solved too, to measure how far the answers move.
    seed: seed of what is drawn. Default: that of the run.
    """

    paper_evidence: ClassVar[Vote] = "majority"  # what the paper of the grouping makes of evidence

    ladder: int = 0
    seed: int | None = None

    def __post_init__(self) -> None:
        check_words(self, self.name)
        check_seed(self.name, self.seed)
        if self.ladder < 0:
            raise InputError(f"{self.name}: ladder is {self.ladder}, expected a number of finer partitions")

    @property
    def carry_over(self) -> CarryOver:
        """How weights and evidence are carried over to groups."""
        return CarryOver()

    @property
    def source(self) -> str:
        """How results name it."""
        return self.name

    @abstractmethod
    def partition(self, problem: Problem) -> Partition:
        """The groups."""

    @abstractmethod
    def finer(self) -> Self:
        """The same with about twice as many groups: the next rung of a ladder."""

    def classes(self, problem: Problem) -> ConstantClasses:
        """The groups as a source of proposals."""
        return proposals_of(problem, self.partition(problem))

    def compress(self, prepared: PreparedProblem, *, needs_problem: bool = False) -> Compression:
        """Blocks of atoms, or another problem with groups in the place of objects."""
        partition, how = self.partition(prepared.problem), self.carry_over
        if needs_problem and how.wants_blocks:
            hint = "leave --compress-as problem out, or take weights=literal or uniform with evidence=majority or clamp"
            raise InputError(f"{self.name}: these settings are for counts and blocks, not for a smaller problem", hint=hint)
        if not how.wants_blocks and (how.wants_problem or needs_problem or not partition.merges):
            made = self.shrunk(prepared, partition)
            chosen = how.wants_problem or made.guarantee is Guarantee.EXACT
            return made if chosen else replace(made, summary=made.summary + AS_THEY_WERE)
        try:
            return self.counted(prepared, partition)
        except UnsupportedError as reason:
            if how.wants_blocks:
                raise
            made = self.shrunk(prepared, partition)
            return replace(made, summary=f"{made.summary}; with literal weights, since {reason.faults[0].message}")

    def counted(self, prepared: PreparedProblem, partition: Partition, into: str = "auto") -> Compression:
        """A network of counts or blocks; raises UnsupportedError where the rules allow none. into: see `--compress-as`."""
        how = self.carry_over
        if into != "auto" and how.wants_problem:
            raise InputError(
                f"{self.name}: weights={how.weights} and evidence={how.evidence} are for a smaller problem, not for {into}",
                hint="leave them out, or take --compress-as problem",
            )
        network, what = self.network(prepared, partition, into)
        note = merged_text(partition, network.guarantee)
        if network.guarantee is not Guarantee.EXACT and partition.merges:
            note += self._put_together(prepared.problem, partition)
        same = projection(prepared.problem, prepared.problem)
        return Compression(prepared, same, network.guarantee, f"{note}; {what}", partition, network, how.alpha)

    def network(self, prepared: PreparedProblem, partition: Partition, into: str = "auto") -> tuple[CountNetwork, str]:
        """What is sampled, and in words what it is: objects by what they are where rules allow it, else blocks of atoms.

        Groups go by all rules; which network they make is decided by those that the query can depend on.
        """
        reading, queried = self.carry_over.reading, queried_predicates(prepared.problem.query)
        rules = rules_that_matter(prepared.problem, prepared.lowered, queried)
        left = tuple(
            template for template in rules.templates if not isinf(template.weight) or not is_kept(prepared.problem, template)
        )
        prepared = replace(prepared, rules=replace(rules, templates=left))
        has_types = reading == Reading("count", "split", True, True) and self.carry_over.alpha == "none"
        if into == "counts" and not has_types:
            raise InputError(f"{self.name}: these settings are for blocks, not for counts", hint="take --compress-as blocks")
        if has_types and into != "blocks":
            try:
                types = type_network(prepared, partition)
                return types, f"counts of what objects are, {types.n_cells:,} cell{'s' * (types.n_cells != 1)}"
            except NoTypes as reason:
                if into == "counts":
                    raise UnsupportedError(
                        f"no counts of objects: {reason}", hint="take --compress-as blocks or problem"
                    ) from None
        blocks = block_network(prepared, partition, reading)
        several = "s" * (blocks.n_blocks != 1)
        return blocks, f"{blocks.n_blocks:,} block{several} of atoms with {_WEIGHTS[reading.weights]}"

    def _put_together(self, problem: Problem, partition: Partition) -> str:
        """How much evidence is in blocks with atoms of another status: shares keep how much, not which; votes override it."""
        reading = self.carry_over.reading
        blocks = Blocks(problem, partition, split=reading.split)
        if reading.evidence != "split":
            return _overridden(Shrinking(PreparedProblem(problem), partition, reading.evidence, split=reading.split))
        known = mixed = 0
        for array in (array for name in problem.statuses for array in blocks.of(name)):
            own = array.true + array.false
            known, mixed = known + int(own.sum()), mixed + int(own[array.count.max(axis=0) < array.size].sum())
        return f"; {mixed:,} of {known:,} known atoms are in blocks with others" if known else ""

    def shrinking(self, prepared: PreparedProblem, partition: Partition, how: CarryOver | None = None) -> Shrinking:
        """The smaller problem over groups; how: in place of the settings' own."""
        how, vote = how or self.carry_over, self.paper_evidence
        if how.evidence == "majority" or how.evidence == "clamp" or how.evidence == "representatives":
            vote = how.evidence
        return Shrinking(prepared, partition, vote, split=not how.merges_diagonals, scaled=how.weights == "uniform")

    def shrunk(self, prepared: PreparedProblem, partition: Partition, how: CarryOver | None = None) -> Compression:
        """A problem over groups."""
        made = self.shrinking(prepared, partition, how)
        other = replace(prepared, problem=made.problem)
        kept = Guarantee.EXACT if is_exact(made) else Guarantee.UNBOUNDED
        what = "" if kept is Guarantee.EXACT or not partition.merges else _overridden(made)
        return Compression(other, made.projection, kept, merged_text(partition, kept) + what, partition)


def for_worlds(compressor: Compressor, prepared: PreparedProblem) -> Compression:
    """The smaller problem for those who look for a world: by default weights are multiplied by the sizes of groups.

    Then it weighs worlds that are constant on groups as the original one does, up to what merging overrides. Where groups have so
    many sizes that rules would multiply, weights are left as they are.
    """
    how = compressor.carry_over if isinstance(compressor, Grouping) else None
    if not isinstance(compressor, Grouping) or how is None or how.weights != "default" or how.wants_blocks:
        return compressor.compress(prepared, needs_problem=True)
    partition, rules = compressor.partition(prepared.problem), len(prepared.problem.model.rules)
    scaled = n_scaled_rules(prepared.problem.model, partition)
    if how.diag != "split" and scaled <= MOST_SCALED * rules:
        return compressor.shrunk(prepared, partition, replace(how, weights="uniform"))
    made = compressor.shrunk(prepared, partition, replace(how, weights="literal"))
    why = f"groups have so many sizes that weights times sizes would make {scaled:,} rules of {rules:,}"
    if how.diag == "split":
        why = "weights times sizes are a reading for merged diagonals"
    return replace(made, summary=f"{made.summary}; with literal weights, since {why}")


def is_exact(made: Shrinking) -> bool:
    """Whether the smaller problem has the very marginals of the original one.

    It has where nothing is merged; and where the evidence agrees inside blocks and merged objects never meet: each clause speaks
    of one merged object at most, and all its open atoms of that one, so that groups are copies of one another.
    """
    partition, problem = made.partition, made.prepared.problem
    if not partition.merges:
        return True
    merged = {of for of, own in partition.class_of.items() if len(own) > partition.n_groups(of)}
    lowered = lowered_of(problem)
    if lowered.definitions or not _never_meet(lowered, problem, merged):
        return False
    blocks = made.blocks  # with the diagonals that the smaller problem has
    mentioned = [name for name in problem.statuses if any(of in merged for of in problem.model.predicates[name].types)]
    pure = all(bool((array.count.max(axis=0) == array.size).all()) for name in mentioned for array in blocks.of(name))
    return pure and not made.scaled


def _never_meet(lowered: LoweredModel, problem: Problem, merged: set[str]) -> bool:
    for template in lowered.templates:
        own = [name for name, of in (*template.variables, *template.idle) if of in merged]
        if len(own) > 1:
            return False
        for literal in template.literals if own else ():
            open_ = problem.statuses[literal.predicate].n_open > 0
            if open_ and own[0] not in [term.name for term in literal.args]:
                return False
    # atoms that tie two merged objects, or a merged one to another open object's rules, were excluded above
    return all(
        sum(of in merged for of in predicate.types) < 2 or not problem.statuses[name].n_open
        for name, predicate in problem.model.predicates.items()
        if any(x.predicate == name for template in lowered.templates for x in template.literals)
    )


def merged_text(partition: Partition, kept: Guarantee) -> str:
    """What was merged."""
    shares = [
        f"{partition.n_groups(of):,} group{'s' * (partition.n_groups(of) != 1)} for {len(own):,} of {of}"
        for of, own in partition.class_of.items()
        if len(own) > partition.n_groups(of)
    ]
    if not shares:
        return f"{partition.source} merges nothing"
    return f"{partition.source}: {', '.join(shares)}" + (", which loses nothing" if kept is Guarantee.EXACT else "")


def _overridden(made: Shrinking) -> str:
    """How much evidence the smaller problem overrides."""
    overridden, known = made.overridden()
    return f"; merging overrides {overridden:,} of {known:,} known atoms" if known else ""


@dataclass(frozen=True)
class SharedRatio(Grouping):
    """Groupings whose number of groups is a share of the objects of each type.

    ratio: number of groups over number of objects, for each type. Default: 0.1. Also `--ratio`.
    """

    ratio: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_ratio()

    def check_ratio(self) -> None:
        """Refuse what is no share."""
        if self.ratio is not None and not 0.0 < self.ratio <= 1.0:
            raise InputError(f"{self.name}: the ratio is {self.ratio:g}, expected a share above 0, up to 1")

    @property
    def share(self) -> float:
        """Groups over objects."""
        return RATIO if self.ratio is None else self.ratio

    def finer(self) -> Self:
        """Twice as many groups."""
        return replace(self, ratio=min(1.0, 2 * self.share))


def group_number(problem: Problem, of: str, share: float) -> int:
    """How many groups a share makes of the constants of a type that may be merged; at least one."""
    n = int(np.count_nonzero(~held_apart(problem)[of]))
    return min(n, max(1, round(share * n)))


def lowered_of(problem: Problem) -> LoweredModel:
    """The rules as clauses, which features and contexts are counted in; a rule whose weight is to be learned weighs 1."""
    rules = tuple(replace(rule, weight=1.0) if rule.weight is None else rule for rule in problem.model.rules)
    return lower(replace(problem.model, rules=rules))
