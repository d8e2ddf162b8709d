"""A problem: model, evidence, query and world assumptions, normalised to one status for every ground atom.

Each predicate has a *default* status (FALSE where it is closed, UNKNOWN where it is open) and a sorted list of exceptions.
Exclusive arguments, `?` facts and `--open`/`--closed` are all folded into that form here, so that nothing after this package
needs to know them (grounding, symmetry, networks, results). Open atoms are numbered predicate by predicate, by code.
"""

from markovlogic.problem.pose import pose
from markovlogic.problem.query import QueryAtoms, query_atoms
from markovlogic.problem.statuses import AtomIndex, Statuses
from markovlogic.problem.values import (
    ExclusiveGroups,
    GroundAtom,
    NumberedAtoms,
    Problem,
    QueryItem,
    SoftAtoms,
    WantedAtoms,
    WantedFormula,
)
from markovlogic.problem.worlds import with_statuses

__all__ = [
    "AtomIndex",
    "ExclusiveGroups",
    "GroundAtom",
    "NumberedAtoms",
    "Problem",
    "QueryAtoms",
    "QueryItem",
    "SoftAtoms",
    "Statuses",
    "WantedAtoms",
    "WantedFormula",
    "pose",
    "query_atoms",
    "with_statuses",
]
