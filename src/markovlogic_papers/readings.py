"""Literal readings of the papers, as settings: each class has those of the library's class of the same name, and more.

They plug in as `markovlogic.variants`: `--compress kmeans --set weights=field` takes `KMeans` from here. See papers.md 3.15.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from markovlogic.compression import evidence_factors, groupings, obj2vec
from markovlogic.compression.contexts import Contexts, Tokens, contexts_of
from markovlogic.compression.contexts import Reading as ContextReading
from markovlogic.compression.dpmeans import SMALLEST, Found, Measure, Search, farthest_first
from markovlogic.compression.features import FeatureKind
from markovlogic.compression.grouping import (
    RATIO,
    Alpha,
    CarryOver,
    Diagonal,
    Evidence,
    Grouping,
    Independent,
    SharedRatio,
    Weights,
)
from markovlogic.compression.shares import Blocks, evidence_error
from markovlogic.errors import InputError
from markovlogic.methods.lifted.blocks.clusters import Bounds, Coupling
from markovlogic.methods.sampling import lifted_blocked
from markovlogic.problem import Problem
from markovlogic.system.arrays import Float64, Int32
from markovlogic.system.settings_parser import check_words

FIRST_LAMBDA, FACTOR = 10_000.0, 0.5  # [000] section 3.4; the factor is not given there

Cr = Literal["new/old", "old/new"]
Unknown = Literal["closed", "masked"]


@dataclass(frozen=True)
class CarriedOver(Grouping):
    """How weights and evidence are carried over to groups, see `compression.grouping.CarryOver`.

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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights == "uniform" and self.diag == "split":
            raise InputError(f"{self.name}: weights=uniform is a reading for merged diagonals", hint="leave diag out")
        if self.independent == "kept" and self.carry_over.is_literal:
            hint = "leave independent out, or take weights=count or field"
            raise InputError(f"{self.name}: weights={self.weights} sums nothing out", hint=hint)
        if self.evidence == "representatives" and self.carry_over.wants_blocks:
            hint = "take weights=literal or uniform, and leave alpha out"
            raise InputError(f"{self.name}: evidence=representatives is a reading for smaller problems", hint=hint)

    @property
    def carry_over(self) -> CarryOver:
        """As the settings have it."""
        return CarryOver(self.weights, self.evidence, self.diag, self.alpha, self.independent)


@dataclass(frozen=True)
class OldOverNew(SharedRatio):
    """The ratio of [002]'s text.

    cr: "old/new" reads the ratio as objects over groups, as the text of [002] has it (papers.md 2.9).
    """

    cr: Cr = "new/old"

    def check_ratio(self) -> None:
        """A share, or its inverse."""
        if self.cr == "new/old":
            super().check_ratio()
        elif self.ratio is not None and not self.ratio >= 1.0:
            raise InputError(f"{self.name}: the ratio is {self.ratio:g}, expected old over new size, 1 or more")

    @property
    def share(self) -> float:
        """Groups over objects."""
        return super().share if self.ratio is None or self.cr == "new/old" else 1.0 / self.ratio

    def finer(self) -> Self:
        """Twice as many groups."""
        if self.cr == "new/old":
            return super().finer()
        return replace(self, ratio=max(1.0, (self.ratio or 1.0 / RATIO) / 2))


@dataclass(frozen=True)
class KMeans(CarriedOver, OldOverNew, groupings.KMeans):
    """K-means.

    features: "sat-fals-unk" counts satisfied, falsified and unknown groundings; "sat" counts the satisfied ones alone.
    """

    features: FeatureKind = "sat-fals-unk"

    @property
    def feature_kind(self) -> FeatureKind:
        """The setting `features`."""
        return self.features


@dataclass(frozen=True)
class RandomGroups(CarriedOver, OldOverNew, groupings.RandomGroups):
    """Random groups."""


@dataclass(frozen=True)
class Twins(CarriedOver, groupings.Twins):
    """Interchangeable objects."""


@dataclass(frozen=True)
class DPMeans(CarriedOver, groupings.DPMeans):
    """NP-Cluster as [000] prints it.

    path: how λ falls: to the "farthest" object, or by the paper's "schedule".
    beta2: the result where the bound on blocks is met first: "last-feasible" keeps it, the paper's "last" breaks it.
    dp_distance: "squared", or "plain" as in Algorithm 1 of [000].
    error: E_G that chooses the groups, within `beta1` or 0.0001 times the number of blocks: "literal" is Eq. 5, "both" also
        counts evidence that disagrees inside a block. "default": the library's choice of groups; Eq. 5 with path=schedule.
    features: as of kmeans.
    """

    path: Literal["farthest", "schedule"] = "farthest"
    beta2: Literal["last-feasible", "last"] = "last-feasible"
    dp_distance: Literal["squared", "plain"] = "squared"
    error: Literal["default", "both", "literal"] = "default"
    features: FeatureKind = "sat-fals-unk"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beta2 == "last" and self.path != "schedule":
            raise InputError("dpmeans: beta2=last is how the paper's schedule ends", hint="add path=schedule")

    @property
    def feature_kind(self) -> FeatureKind:
        """The setting `features`."""
        return self.features

    def search(self, points: dict[str, Float64], measure: Measure) -> Found:
        """By the schedule, or by radii."""
        made = (PlainSearch if self.dp_distance == "plain" else Search)(points, measure, self.seed or 0)
        if self.path == "schedule":
            return by_schedule(made, return_broken=self.beta2 == "last")
        return made.by_radii() if self.goes_by_error else made.shortest()

    @property
    def goes_by_error(self) -> bool:
        """Whether a bound of E_G chooses the groups."""
        return self.error != "default" or self.path == "schedule" or super().goes_by_error

    def evidence_error(self, blocks: Blocks, predicates: list[str]) -> float:
        """E_G, by Eq. 5 alone or not."""
        literal = self.error == "literal" or (self.error == "default" and self.path == "schedule")
        return evidence_error(blocks, predicates, literal=literal)


class PlainSearch(Search):
    """Penalties are compared with distances, as Algorithm 1 has it, where the objective has squared ones (papers.md 2.8)."""

    def limit(self, penalty: float) -> float:
        """The squared distance beyond which an object is a cluster of its own."""
        return penalty * penalty

    def penalty(self, limit: float) -> float:
        """The other way."""
        return float(np.sqrt(limit))


def by_schedule(search: Search, *, return_broken: bool) -> Found:
    """[000] Algorithm 2: halve λ until the bounds hold or there are too many blocks."""
    found = search.at(FIRST_LAMBDA)
    last = found if found.bounds.small else None
    finest = min((float(r.min()) for own in search.turned.values() if len(r := farthest_first(own))), default=0.0)
    floor = SMALLEST * FIRST_LAMBDA
    while not found.bounds.good:
        if not found.bounds.small:
            return found if return_broken or last is None else last
        last = found
        penalty = found.penalty * FACTOR
        if penalty < floor or search.limit(penalty) < finest * SMALLEST:
            return last
        found = search.at(penalty, found)
    return found


@dataclass(frozen=True)
class Obj2Vec(CarriedOver, OldOverNew, obj2vec.Obj2Vec):
    """Obj2Vec as [002] prints it.

    context: "conjunctive" joins the true atoms of a formula, "clause" is the literal reading of [002].
    tokens: what stands in a context: the "object", its "role", or its class after refinement ("refined").
    window: largest distance of two objects of a context, in positions of a formula; 0: the whole formula.
    p_random: share of steps that choose an object at random. 0.99 is Algorithm 1 to the letter.
    K: neighbours that a chosen object takes with it: "n/a-1", or the paper's "n/a".
    unary: "equal" never groups objects with different known unary facts.
    """

    context: ContextReading = "conjunctive"
    tokens: Tokens = "object"
    window: int = 0
    p_random: float = 0.01
    K: Literal["n/a-1", "n/a"] = "n/a-1"
    unary: Literal["equal", "any"] = "equal"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window < 0 or not 0 <= self.p_random <= 1:
            raise InputError("obj2vec: window is at least 0, p_random a share")

    def contexts(self, problem: Problem) -> Contexts:
        """By this reading."""
        return contexts_of(problem, reading=self.context, tokens=self.tokens, window=self.window)

    def sentences(self, problem: Problem, contexts: Contexts) -> list[list[int]]:
        """Pairs of an object and a context, unless the reading is the library's."""
        if (self.context, self.tokens, self.window) == ("conjunctive", "object", 0):
            return super().sentences(problem, contexts)
        word = np.arange(contexts.n_contexts) + contexts.n_objects
        left, right = contexts.object, contexts.context
        if contexts.are_objects:  # contexts have the objects' own words, so that both directions train one vector
            word, once = np.unique(left), contexts.object < np.unique(left)[right]
            left, right = left[once], right[once]
        count = contexts.count[once] if contexts.are_objects else contexts.count
        rows = np.repeat(np.stack([left, word[right]], axis=1), np.minimum(count, obj2vec.MOST_SENTENCES), axis=0)
        if len(rows) > obj2vec.MOST_SENTENCES:
            rows = np.random.default_rng(self.seed or 0).permutation(rows)[: obj2vec.MOST_SENTENCES]
        return rows.tolist()  # type: ignore[no-any-return]

    def kinds(self, problem: Problem, of: str) -> Int32:
        """By what is known of single objects, or all alike."""
        return super().kinds(problem, of) if self.unary == "equal" else np.zeros(len(problem.domains[of]), np.int32)

    def balanced(self, points: Float64, wanted: int, rng: np.random.Generator) -> list[obj2vec.Group]:
        """By Algorithm 1 as it is read."""
        return obj2vec.balanced(points, wanted, rng, p_random=self.p_random, one_less=self.K == "n/a-1")


@dataclass(frozen=True)
class BMF(evidence_factors.BMF):
    """Low-rank evidence.

    unknown: "closed" takes unknown atoms as zeros of both matrices, "masked" leaves them free, so that factors assert them
        (papers.md 2.15).
    """

    unknown: Unknown = "closed"

    @property
    def masks_unknown(self) -> bool:
        """Whether factors ignore unknown atoms."""
        return self.unknown == "masked"


@dataclass(frozen=True)
class LiftedBlocked(lifted_blocked.LiftedBlocked):
    """Lifted blocked Gibbs.

    cost: "literal" counts costs as the paper does, "count-cached" as the array programs do.
    coupling: strength of two predicates: number of "formulas" or of "groundings" that hold both. "auto": formulas where
        costs are literal.
    messages: "joint" is correct. "literal" is Theorem 2 of the paper, which is wrong where atoms of a sender share a variable
        that the receiver does not have (papers.md 2.2).
    """

    cost: Literal["literal", "count-cached"] = "literal"
    coupling: Coupling = "auto"
    messages: Literal["joint", "literal"] = "joint"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_words(self, "LiftedBlocked")

    @property
    def bounds(self) -> Bounds:
        """Of the cluster graph."""
        return Bounds(self.alpha, self.beta, self.cost, self.coupling)

    @property
    def literal_messages(self) -> bool:
        """Whether messages follow the paper's formula."""
        return self.messages == "literal"
