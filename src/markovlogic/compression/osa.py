"""Over-symmetric approximation: a problem whose binary evidence is replaced by its low-rank form ([004]).

It changes the target, and nothing bounds by how much; at full rank it is the problem itself, and the guarantee says so. The
statuses that factors assert are equal for constants in the same factors, left and right: such constants are twins, so the lifted
engines, which work on twin classes, have as many classes as there are combinations of memberships, with no rule rewritten. As a
source of proposals (`factor_classes`) the same factors leave the target alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from markovlogic.compression.base import Compression, projection
from markovlogic.compression.bmf import BooleanMatrix
from markovlogic.compression.evidence_factors import BMF, EvidenceFactors, factorise_evidence
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.guarantee import Guarantee
from markovlogic.problem import Problem, Statuses, with_statuses
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.problem.query import queried_predicates
from markovlogic.symmetry.base import ConstantClasses
from markovlogic.symmetry.twins import classes_by_evidence, named_constants, numbered, relations_of, set_apart
from markovlogic.system.arrays import Int32, Int64, each_once, frozen

HEURISTICS = {"grecond": "GreConD", "asso": "ASSO"}


@dataclass(frozen=True, eq=False)
class OverSymmetric:
    """A problem with low-rank evidence, and what that cost."""

    problem: Problem
    settings: BMF
    rank: Mapping[str, int]  # by predicate, the ranks of true and false evidence added
    proved: Mapping[str, bool]  # by predicate, whether fewer factors could not say the same
    lost: Mapping[str, int]  # by predicate, evidence atoms that have another status now
    asserted: Mapping[str, int]  # by predicate, unknown atoms that are known now

    @property
    def guarantee(self) -> Guarantee:
        """Exact where nothing changed, at full rank or above it; another target otherwise, and no bound is known."""
        changed = any(self.lost.values()) or any(self.asserted.values())
        return Guarantee.UNBOUNDED if changed else Guarantee.EXACT

    def summary(self) -> str:
        """One sentence for the user."""
        if not self.rank:
            return "no binary evidence to factorise: the target is unchanged"
        parts = []
        for name, rank in self.rank.items():
            also = f", asserts {self.asserted[name]:,} unknown" if self.asserted[name] else ""
            how = "its Boolean rank" if self.proved[name] else f"by {HEURISTICS[self.settings.algorithm]}, a heuristic"
            parts.append(f"{name} at rank {rank} ({how}) changes {self.lost[name]:,} known atoms{also}")
        same = "; the target is unchanged" if self.guarantee is Guarantee.EXACT else ""
        return f"evidence of low Boolean rank: {'; '.join(parts)}{same}"


def over_symmetric(problem: Problem, settings: BMF) -> OverSymmetric:
    """Replace the evidence of every binary predicate by its factorisation.

    Open atoms of queried predicates stay open, whatever the factors say: they are what is requested.
    """
    factors = factorise_evidence(problem, settings)
    products = {name: (own.true.product(), None if own.false is None else own.false.product()) for name, own in factors.items()}
    changed, lost, asserted = replaced_evidence(problem, products)
    proved = {name: own.is_minimal for name, own in factors.items()}
    return OverSymmetric(changed, settings, {name: own.rank for name, own in factors.items()}, proved, lost, asserted)


def replaced_evidence(
    problem: Problem, products: Mapping[str, tuple[BooleanMatrix, BooleanMatrix | None]]
) -> tuple[Problem, dict[str, int], dict[str, int]]:
    """The problem with these cells true, and those false, in place of the binary evidence; without false ones all others are.

    With it, by predicate, known atoms that have another status now, and unknown ones that are known now.
    """
    queried = set(queried_predicates(problem.query))
    statuses, lost, asserted = dict(problem.statuses), {}, {}
    for name, (true, false) in products.items():
        made = _approximate(problem.statuses[name], true, false, keep_open=name in queried)
        lost[name], asserted[name] = _differences(problem.statuses[name], made)
        statuses[name] = made
    return with_statuses(problem, statuses), lost, asserted


def compressed(prepared: PreparedProblem, settings: BMF) -> Compression:
    """The same as a compression."""
    made = over_symmetric(prepared.problem, settings)
    other = replace(prepared, problem=made.problem)
    return Compression(other, projection(prepared.problem, made.problem), made.guarantee, made.summary())


def _approximate(statuses: Statuses, yes: BooleanMatrix, no: BooleanMatrix | None, *, keep_open: bool) -> Statuses:
    """The statuses that the factors assert; a cell that both matrices claim keeps what it was, if it was known."""
    width = max(statuses.sizes[1], 1)
    true = yes.row * width + yes.column
    default = FALSE if no is None else UNKNOWN
    if no is None:
        return _statuses(statuses, default, true, np.full(len(true), TRUE, np.int8))
    false = no.row * width + no.column
    code = each_once(np.concatenate([true, false]))
    is_true, is_false = np.isin(code, true, assume_unique=True), np.isin(code, false, assume_unique=True)
    old = statuses.lookup(code)
    status = np.where(is_true, TRUE, FALSE).astype(np.int8)
    status = np.where(is_true & is_false, old, status)
    if keep_open:
        status = np.where(old == UNKNOWN, UNKNOWN, status)
    return _statuses(statuses, default, code, status.astype(np.int8))


def _statuses(like: Statuses, default: int, code: Int64, status: npt.NDArray[np.int8]) -> Statuses:
    """Statuses with only the exceptions listed, under whichever default has fewer of them."""
    if default == UNKNOWN and np.count_nonzero(status == FALSE) > like.n_ground // 2:
        every = np.full(like.n_ground, UNKNOWN, np.int8)
        every[code] = status
        default, code, status = FALSE, np.arange(like.n_ground, dtype=np.int64), every
    kept = status != default
    code, status = code[kept], status[kept]
    frozen((code, status))
    return Statuses(like.predicate, like.sizes, default, code, status)


def _differences(old: Statuses, new: Statuses) -> tuple[int, int]:
    """(known atoms that have another status now, unknown atoms that are known now)."""
    listed = each_once(np.concatenate([old.code, new.code]))
    before, after = old.lookup(listed), new.lookup(listed)
    lost = int(np.count_nonzero((before != UNKNOWN) & (before != after)))
    asserted = int(np.count_nonzero((before == UNKNOWN) & (after != UNKNOWN)))
    rest = old.n_ground - len(listed)  # atoms that are default in both
    if old.default != new.default:
        lost += rest if old.default != UNKNOWN else 0
        asserted += rest if old.default == UNKNOWN else 0
    return lost, asserted


def factor_classes(problem: Problem, settings: BMF, factors: Mapping[str, EvidenceFactors] | None = None) -> ConstantClasses:
    """Classes of constants with equal rows in all factors and equal unary evidence: the symmetries of the low-rank evidence.

    Constants that formulas name are alone. Not sound for the true evidence: a source of proposals.
    """
    own = factorise_evidence(problem, settings) if factors is None else factors
    class_of: dict[str, Int32] = dict(unary_classes(problem).class_of)
    for name, factor in own.items():
        for type_name, side in zip(problem.model.predicates[name].types, ("left", "right"), strict=True):
            for part in (factor.true, factor.false):
                if part is not None and part.rank:
                    rows = np.packbits(getattr(part, side), axis=1)
                    kind = np.unique(rows, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
                    class_of[type_name] = numbered(class_of[type_name].astype(np.int64) * (int(kind.max(initial=0)) + 1) + kind)
    return _classes(class_of, settings.source)


def unary_classes(problem: Problem) -> ConstantClasses:
    """Twin classes that ignore the evidence of predicates with two or more arguments."""
    relations = [relation for relation in relations_of(problem).values() if len(relation.types) == 1]
    named = named_constants(problem)
    class_of = {}
    for type_name, domain in problem.domains.items():
        own = classes_by_evidence(type_name, len(domain), relations)
        class_of[type_name] = set_apart(own, named.get(type_name, np.zeros(0, np.int64)))
    return _classes(class_of, "unary evidence")


def _classes(class_of: Mapping[str, Int32], source: str) -> ConstantClasses:
    for classes in class_of.values():
        frozen(classes)
    return ConstantClasses(dict(class_of), sound=False, source=source)
