"""What a compression is: a whole original problem in place of another, and the way back for its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from markovlogic.data.evidence import TRUE, UNKNOWN
from markovlogic.errors import Fault, InputError, ResourceError, UnsupportedError
from markovlogic.guarantee import Guarantee
from markovlogic.system.arrays import Bool, Float64, Int64, each_once

if TYPE_CHECKING:
    from markovlogic.compression.partition import Partition
    from markovlogic.networks.counts import CountNetwork
    from markovlogic.problem import Problem
    from markovlogic.problem.prepare import PreparedProblem
    from markovlogic.symmetry.base import ConstantClasses

Source = TypeVar("Source")
UNCOMPRESSED = "leave the compression out"


@dataclass(frozen=True, eq=False)
class Projection:
    """For open atoms of the original problem, where their values stand in the other one; found for those that are queried."""

    old: Problem
    new: Problem
    moved: Callable[[str, Int64], Int64]  # codes of a predicate's atoms there

    def at(self, numbers: Int64) -> tuple[Int64, Bool]:
        """The open atom of the other problem, -1 where that one knows the value; and the value there."""
        predicate = np.searchsorted(self.old.atoms.start, numbers, side="right") - 1
        atom, known = np.full(len(numbers), -1, np.int64), np.zeros(len(numbers), np.bool_)
        for which in each_once(predicate).tolist():
            name, rows = self.old.atoms.predicates[which], np.flatnonzero(predicate == which)
            code = self.moved(name, self.old.statuses[name].unrank(numbers[rows] - self.old.atoms.start[which]))
            status = self.new.statuses[name].lookup(code)
            stays = status == UNKNOWN
            atom[rows[stays]] = self.new.atoms.numbers(name, code[stays])
            known[rows] = status == TRUE
        return atom, known

    @cached_property
    def all_atoms(self) -> tuple[Int64, Bool]:
        """The same for every open atom of the original."""
        return self.at(np.arange(len(self.old.atoms), dtype=np.int64))

    def values(self, other: Float64) -> Float64:
        """A value for each open atom of the other problem as one for each of the original's; 0 or 1 where it is known there."""
        atom, known = self.all_atoms
        return np.where(atom >= 0, other[np.maximum(atom, 0)] if len(other) else 0.0, known.astype(np.float64))

    def world(self, other: Bool) -> Bool:
        """A world of the other problem's open atoms as one of the original's; evidence is never touched."""
        return self.values(other.astype(np.float64)) > 0


@dataclass(frozen=True, eq=False)
class Compression:
    """Another problem to be solved in place of the original one; rules and weights may be others too."""

    prepared: PreparedProblem
    projection: Projection
    guarantee: Guarantee  # about the change of the target alone
    summary: str  # one sentence for the user on what was merged or lost
    partition: Partition | None = None  # the groups, where objects were merged
    blocks: CountNetwork | None = None  # what is solved in place of any problem: counts of the original problem's atoms
    alpha: str = "none"  # of the chain over blocks, see `methods.sampling.block_gibbs`

    def keeps(self, prepared: PreparedProblem) -> bool:
        """Whether it has the very worlds of the original problem and weighs them alike: nothing is lost, and nobody was merged.

        A problem with fewer objects has another log Z even where marginals agree, be they merged in evidence alone.
        """
        domains = prepared.problem.domains
        same = all(len(domain) == len(domains[of]) for of, domain in self.prepared.problem.domains.items())
        return self.guarantee is Guarantee.EXACT and same

    def description(self, bias: str = "") -> str:
        """The line next to the results: what was merged or lost, what is promised, and how large the bias is.

        bias: what was measured of it; by default it is unknown, or there is none.
        """
        return summary_line(self.summary, self.guarantee, bias)


def summary_line(summary: str, guarantee: Guarantee, bias: str = "") -> str:
    """What a compression did, what is promised of the answers, and how large their bias is; see `description`."""
    true_target = guarantee in (Guarantee.EXACT, Guarantee.CORRECTED)
    size = "no bias" if true_target else bias or "the bias is unknown"
    return f"{summary} (guarantee {guarantee}, {size})"


class Compressor(Protocol):
    """A frozen dataclass such as `BMF(rank=5)`; its defaults stand for its name."""

    @property
    def name(self) -> str:
        """As `--compress` spells it."""
        ...

    @property
    def source(self) -> str:
        """How results name it, with what was chosen."""
        ...

    def memory_bytes(self, problem: Problem) -> int:
        """What finding the other target takes, where that is far more than the problem itself."""
        return 0

    def compress(self, prepared: PreparedProblem, *, needs_problem: bool = False) -> Compression:
        """Another target, that is smaller or more symmetric.

        needs_problem: a problem is wanted (`--compress-as problem`); else the answer may be a network of counts or blocks.
        """
        ...

    def classes(self, problem: Problem) -> ConstantClasses:
        """Constants that are nearly interchangeable, as a source of proposals that leave the target alone."""
        ...


def projection(old: Problem, new: Problem) -> Projection:
    """The way back where both problems have the same ground atoms, some of which the new one may know."""
    return Projection(old, new, lambda _, code: code)


def refuse_large(compressor: Compressor, problem: Problem, limit: int) -> None:
    """Before anything long runs: what does not fit is refused with the estimate."""
    needed = compressor.memory_bytes(problem)
    if needed > limit:
        raise ResourceError(
            f"{compressor.name} would need about {needed / 1e9:.3g} GB of memory for distances between objects, the limit is"
            f" {limit / 1e9:.3g} GB; take kmeans or dpmeans, or allow more with --memory-limit",
            needed=needed,
            limit=limit,
        )


def check_seed(name: str, seed: int | None) -> None:
    """Refuse what no generator starts from; name: of the compressor."""
    try:
        fits = seed is None or index(seed) >= 0
    except TypeError:
        fits = False
    if not fits:
        raise InputError(f"{name}: the seed is {seed}, expected a whole number, 0 or more")


def seeded(source: Source, seed: int | None) -> Source:
    """A compressor that draws from the seed of the run, where it draws at all and has no seed of its own."""
    return replace(source, seed=seed) if getattr(source, "seed", 0) is None else source  # type: ignore[type-var]


def refuse_numbers(prepared: PreparedProblem, *, writes: bool = False) -> None:
    """Compressions merge facts, and do not know what to make of numbers, be they probabilities or factors of weights.

    writes: evidence is to be written, so that numbers are in the way though no rule uses them.
    """
    faults = [
        Fault(
            f"soft evidence about {name} cannot be compressed",
            prepared.problem.model.predicates[name].place,
            hint="leave the compression out, or give facts instead of probabilities",
        )
        for name in prepared.problem.soft
    ]
    faults += [
        Fault("a weight that a number multiplies cannot be compressed", rule.place, rule.text, UNCOMPRESSED)
        for rule in prepared.problem.model.rules
        if rule.factor is not None
    ]
    faults += [
        Fault(f"the numbers of {name} cannot be written with facts of groups", predicate.place, hint=UNCOMPRESSED)
        for name, predicate in prepared.problem.model.declared.items()
        if predicate.is_real and writes and not faults
    ]
    if faults:
        raise UnsupportedError(faults)
