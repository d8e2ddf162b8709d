"""The values that a problem is made of, and the problem itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from markovlogic.arrays import Float64, Int64
from markovlogic.data.domains import Domain
from markovlogic.data.evidence import Evidence
from markovlogic.language.syntax import Model
from markovlogic.problem.statuses import AtomIndex, Statuses


@dataclass(frozen=True)
class GroundLiteral:
    """A ground literal of a query; `code` counts within the predicate."""

    predicate: str
    code: int
    positive: bool


@dataclass(frozen=True)
class QueryItem:
    """One item of `-q`: a whole predicate (`literals` is None), or a conjunction of one or more ground literals."""

    text: str  # as it is reported, without spaces
    predicate: str | None
    literals: tuple[GroundLiteral, ...] | None


@dataclass(frozen=True, eq=False)
class ExclusiveGroups:
    """Open exclusive groups of one predicate: in each, exactly one atom is true. Atoms that false facts removed are left out."""

    predicate: str
    start: Int64  # (n_groups + 1,)
    atom: npt.NDArray[np.int32]  # open atom numbers, group by group


@dataclass(frozen=True, eq=False)
class SoftAtoms:
    """Soft evidence about one predicate: what is added to the log weight of a world where the atom is true."""

    code: Int64  # (n,) sorted, distinct
    log_odds: Float64  # (n,) finite, not zero


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything that inference is asked: the model, what is known, what is open, what is wanted."""

    model: Model
    evidence: Evidence
    query: tuple[QueryItem, ...]
    statuses: Mapping[str, Statuses]  # for every predicate of the model
    atoms: AtomIndex
    groups: tuple[ExclusiveGroups, ...]  # open exclusive groups, one value for each predicate that has them
    soft: Mapping[str, SoftAtoms] = field(default_factory=dict)  # by predicate, of those that have any; see `problem.soft`

    @property
    def domains(self) -> Mapping[str, Domain]:
        """Constants of each type."""
        return self.evidence.domains
