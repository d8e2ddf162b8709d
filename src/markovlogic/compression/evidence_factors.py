"""Binary evidence as Boolean matrices, and its factors.

`p ⇔ ∨(qᵣ ∧ rᵣ)` fixes every atom of p. Where all of p is known, zeros mean false and one factorisation says all. Where atoms are
unknown, two fully specified matrices are factorised, the known true and the known false atoms, each zero where p is unknown: from
below, nothing is then asserted that was not known (papers.md 2.15).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.compression.base import Compressor
from markovlogic.compression.bmf import Algorithm, BooleanMatrix, Factors, factorise
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.errors import InputError, ResourceError
from markovlogic.problem import Problem, Statuses
from markovlogic.system.settings_parser import check_words

if TYPE_CHECKING:
    from markovlogic.compression.base import Compression
    from markovlogic.problem.prepare import PreparedProblem
    from markovlogic.symmetry.base import ConstantClasses

MOST_CELLS = 50_000_000  # of a matrix that has to be listed cell by cell


@dataclass(frozen=True)
class BMF(Compressor):
    """Settings of low-rank evidence.

    rank: factors of each matrix. Default: by minimum description length. Also `--rank`.
    algorithm: "grecond" works from below and never covers a zero; it is a heuristic, but small matrices are factorised with
        the fewest factors. "asso" is another heuristic, which may cover zeros.
    """

    rank: int | None = None
    algorithm: Algorithm = "grecond"

    def __post_init__(self) -> None:
        if self.rank is not None and self.rank < 0:
            raise InputError(f"the rank is {self.rank}, it must be 0 or more")
        check_words(self, "BMF")

    @property
    def masks_unknown(self) -> bool:
        """Whether factors may cover unknown atoms at no cost, which asserts them; else these are zeros of both matrices."""
        return False

    @property
    def name(self) -> str:
        """As `--compress` spells it."""
        return "bmf"

    @property
    def source(self) -> str:
        """How results name it."""
        return "bmf" if self.rank is None else f"bmf rank {self.rank}"

    def compress(self, prepared: PreparedProblem, *, needs_problem: bool = False) -> Compression:
        """The problem under low-rank evidence."""
        from markovlogic.compression.osa import compressed

        return compressed(prepared, self)

    def classes(self, problem: Problem) -> ConstantClasses:
        """Constants that the low-rank evidence does not distinguish."""
        from markovlogic.compression.osa import factor_classes

        return factor_classes(problem, self)


@dataclass(frozen=True, eq=False)
class EvidenceFactors:
    """The factors of one binary predicate's evidence; `false` is None where everything that is not true is false."""

    predicate: str
    true: Factors
    false: Factors | None

    @property
    def rank(self) -> int:
        """Ranks add."""
        return self.true.rank + (self.false.rank if self.false is not None else 0)

    @property
    def is_minimal(self) -> bool:
        """Whether fewer factors of true and of false evidence could not say the same."""
        return self.true.is_minimal and (self.false is None or self.false.is_minimal)


def binary_predicates(problem: Problem) -> list[str]:
    """Predicates whose evidence is a matrix: two arguments, none exclusive, some atom known; what numbers say is no evidence."""
    found = []
    for name, predicate in problem.model.declared.items():
        statuses = problem.statuses[name]
        if predicate.arity == 2 and not any(predicate.exclusive) and statuses.n_open < statuses.n_ground:
            found.append(name)
    return found


def factorise_evidence(problem: Problem, settings: BMF) -> dict[str, EvidenceFactors]:
    """Factors of the evidence of every binary predicate."""
    return {name: _factorise(problem.statuses[name], settings) for name in binary_predicates(problem)}


def _factorise(statuses: Statuses, settings: BMF) -> EvidenceFactors:
    true = cells_of(statuses, TRUE)
    if not statuses.n_open:
        return EvidenceFactors(statuses.predicate, _factors(true, settings, None), None)
    unknown = cells_of(statuses, UNKNOWN) if settings.masks_unknown else None
    false = cells_of(statuses, FALSE)
    return EvidenceFactors(statuses.predicate, _factors(true, settings, unknown), _factors(false, settings, unknown))


def _factors(matrix: BooleanMatrix, settings: BMF, unknown: BooleanMatrix | None) -> Factors:
    return factorise(matrix, settings.rank, algorithm=settings.algorithm, unknown=unknown)


def cells_of(statuses: Statuses, wanted: int) -> BooleanMatrix:
    """Where a predicate has a status, as a matrix."""
    shape = (statuses.sizes[0], statuses.sizes[1])
    if wanted != statuses.default:
        code = statuses.code[statuses.status == wanted]
    else:
        if statuses.n_ground > MOST_CELLS:
            raise ResourceError(
                f"factorising what is {'unknown' if wanted == UNKNOWN else 'false'} of {statuses.predicate} needs a list of"
                f" {statuses.n_ground:,} atoms; at most {MOST_CELLS:,} fit. Close the predicate, or give fewer constants.",
                needed=statuses.n_ground,
                limit=MOST_CELLS,
            )
        code = np.delete(np.arange(statuses.n_ground, dtype=np.int64), statuses.code)
    return BooleanMatrix(shape, *np.divmod(code, max(shape[1], 1)))
