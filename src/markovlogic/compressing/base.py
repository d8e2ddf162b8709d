"""What a compression is: a whole posed problem in place of another, and the way back for its values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import index
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from markovlogic.compressing.role import Role
from markovlogic.data.evidence import TRUE, UNKNOWN
from markovlogic.errors import Fault, InputError, UnsupportedError
from markovlogic.guarantee import Guarantee
from markovlogic.networks.counts import CountNetwork
from markovlogic.posing import Posed
from markovlogic.problem import Problem
from markovlogic.symmetry.base import ConstantClasses

if TYPE_CHECKING:
    from markovlogic.compressing.partition import Partition

Source = TypeVar("Source")
UNCOMPRESSED = "leave the compression out"


@dataclass(frozen=True, eq=False)
class Projection:
    """For each open atom of the original problem, where its value stands in the other one."""

    atom: npt.NDArray[np.int64]  # (n_atoms,) open atom of the other problem, -1 where that one knows the value
    known: npt.NDArray[np.bool_]  # (n_atoms,) the value there

    def world(self, other: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """A world of the other problem's open atoms, (n_other,), as one of the original's; evidence is never touched."""
        return np.where(self.atom >= 0, other[np.maximum(self.atom, 0)] if len(other) else False, self.known)


@dataclass(frozen=True, eq=False)
class Compression:
    """Another problem to be solved in place of the one that was posed; rules and weights may be others too."""

    posed: Posed
    projection: Projection
    guarantee: Guarantee  # about the change of the target alone
    summary: str  # one sentence for the user on what was merged or lost
    partition: Partition | None = None  # the groups, where objects were merged
    blocks: CountNetwork | None = None  # what is solved in place of any problem: counts of the posed problem's atoms
    alpha: str = "none"  # of the chain over blocks, see `samplers.block_gibbs`

    def keeps(self, posed: Posed) -> bool:
        """Whether it has the very worlds of the posed problem and weighs them alike: nothing is lost, and nobody was merged.

        A problem with fewer objects has another log Z even where marginals agree, be they merged in evidence alone.
        """
        domains = posed.problem.domains
        same = all(len(domain) == len(domains[of]) for of, domain in self.posed.problem.domains.items())
        return self.guarantee is Guarantee.EXACT and same

    def told(self, bias: str = "") -> str:
        """The line next to the results: what was merged or lost, what is promised, and how large the bias is.

        bias: what was measured of it; by default it is unknown, or there is none.
        """
        return told_line(self.summary, self.guarantee, bias)


def told_line(summary: str, guarantee: Guarantee, bias: str = "") -> str:
    """What a compression did, what is promised of the answers, and how large their bias is; bias: see `Compression.told`."""
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

    @property
    def role(self) -> Role:
        """Whether it gives another target or proposes moves."""
        return "auto"

    def compress(self, posed: Posed, *, needs_problem: bool = False) -> Compression:
        """Another target, that is smaller or more symmetric.

        needs_problem: the method was chosen, and it reads problems; else the answer may be a network of blocks.
        """
        ...

    def classes(self, problem: Problem) -> ConstantClasses:
        """Constants that are nearly interchangeable, as a source of proposals that leave the target alone."""
        ...


def projection(old: Problem, new: Problem) -> Projection:
    """The way back where both problems have the same ground atoms, some of which the new one may know."""
    atom = np.full(len(old.atoms), -1, np.int64)
    known = np.zeros(len(old.atoms), np.bool_)
    for name in old.atoms.predicates:
        own = old.atoms.range_of(name)
        if not len(own):
            continue
        codes = old.atoms.codes(name)
        status = new.statuses[name].lookup(codes)
        stays = status == UNKNOWN
        numbers = np.full(len(codes), -1, np.int64)
        numbers[stays] = new.atoms.numbers(name, codes[stays])
        atom[own.start : own.stop] = numbers
        known[own.start : own.stop] = status == TRUE
    return Projection(atom, known)


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


def refuse_proposals(compressor: Compressor) -> None:
    """Where there are no chains, nothing can be proposed to them."""
    if compressor.role == "proposal":
        raise InputError(f"{compressor.name} is to propose, and there is no chain to propose to", hint="leave osa=proposal out")


def refuse_numbers(posed: Posed, *, writes: bool = False) -> None:
    """Compressions merge facts, and do not know what to make of numbers, be they probabilities or factors of weights.

    writes: evidence is to be written, so that numbers are in the way though no rule uses them.
    """
    faults = [
        Fault(
            f"soft evidence about {name} cannot be compressed",
            posed.problem.model.predicates[name].place,
            hint="leave the compression out, or give facts instead of probabilities",
        )
        for name in posed.problem.soft
    ]
    faults += [
        Fault("a weight that a number multiplies cannot be compressed", rule.place, rule.text, UNCOMPRESSED)
        for rule in posed.problem.model.rules
        if rule.factor is not None
    ]
    faults += [
        Fault(f"the numbers of {name} cannot be written with facts of groups", predicate.place, hint=UNCOMPRESSED)
        for name, predicate in posed.problem.model.declared.items()
        if predicate.is_real and writes and not faults
    ]
    if faults:
        raise UnsupportedError(faults)
