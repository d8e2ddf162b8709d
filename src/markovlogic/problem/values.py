"""The values that a problem is made of, and the problem itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import Domain, Evidence
from markovlogic.language.propositional import Node
from markovlogic.language.syntax import Model
from markovlogic.problem.statuses import AtomIndex, Statuses
from markovlogic.system.arrays import Float64, Int64, Pickled


@dataclass(frozen=True)
class WantedAtoms:
    """Atoms of one predicate: all, or those with certain constants (by number; None where any will do)."""

    predicate: str
    constants: tuple[int | None, ...] | None = None  # None: the predicate was named alone

    @property
    def is_whole(self) -> bool:
        """Whether all atoms of the predicate are meant."""
        return self.constants is None or (bool(self.constants) and all(number is None for number in self.constants))


@dataclass(frozen=True)
class GroundAtom:
    """A ground atom of a query; `code` counts within the predicate."""

    predicate: str
    code: int


@dataclass(frozen=True)
class WantedFormula:
    """A ground formula: a node of `language.propositional` in which literal ±(n + 1) is the n-th atom."""

    atoms: tuple[GroundAtom, ...]
    node: Node


@dataclass(frozen=True)
class QueryItem:
    """One item of `-q`."""

    text: str  # as it is reported, without spaces
    wanted: WantedAtoms | WantedFormula

    @property
    def joins_atoms(self) -> bool:
        """Whether it is a formula over two atoms or more, whose probability no marginals give."""
        return isinstance(self.wanted, WantedFormula) and len(self.wanted.atoms) > 1


@dataclass(frozen=True, eq=False)
class ExclusiveGroups(Pickled):
    """Open exclusive groups of one predicate: in each, exactly one atom is true. Atoms that false facts removed are left out."""

    predicate: str
    start: Int64  # (n_groups + 1,)
    atom: npt.NDArray[np.int32]  # open atom numbers, group by group


@dataclass(frozen=True, eq=False)
class SoftAtoms(Pickled):
    """Soft evidence about one predicate: what is added to the log weight of a world where the atom is true."""

    code: Int64  # (n,) sorted, distinct
    log_odds: Float64  # (n,) finite, not zero


@dataclass(frozen=True, eq=False)
class NumberedAtoms(Pickled):
    """The numbers of one predicate's atoms, where evidence gives them."""

    code: Int64  # (n,) sorted, distinct
    number: Float64  # (n,) finite


@dataclass(frozen=True, eq=False)
class Problem:
    """The input of inference: the model, what is known, what is open, what is wanted."""

    model: Model
    evidence: Evidence
    query: tuple[QueryItem, ...]
    statuses: Mapping[str, Statuses]  # for every predicate of the model
    atoms: AtomIndex
    groups: tuple[ExclusiveGroups, ...]  # open exclusive groups, one value for each predicate that has them
    soft: Mapping[str, SoftAtoms] = field(default_factory=dict)  # by predicate, of those that have any; see `problem.soft`
    numbers: Mapping[str, NumberedAtoms] = field(default_factory=dict)  # of predicates with numbers, where there are any

    @property
    def domains(self) -> Mapping[str, Domain]:
        """Constants of each type."""
        return self.evidence.domains
