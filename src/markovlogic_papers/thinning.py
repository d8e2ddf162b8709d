"""Compressors that change evidence and merge nobody: facts left out ([002]'s Random), and NIMFA's smoothing of binary facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from markovlogic.compression.base import Compression, Compressor, check_seed, projection
from markovlogic.compression.bmf import BooleanMatrix
from markovlogic.compression.evidence_factors import binary_predicates, cells_of
from markovlogic.compression.osa import replaced_evidence
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Facts
from markovlogic.errors import InputError
from markovlogic.guarantee import Guarantee
from markovlogic.problem import AtomIndex, Problem, Statuses
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.problem.worlds import open_groups, statuses_of
from markovlogic.symmetry.base import ConstantClasses
from markovlogic.symmetry.twins import twin_classes
from markovlogic.system.arrays import Float64, each_once, frozen, offsets
from markovlogic.system.cancellation import check


@dataclass(frozen=True)
class Drop(Compressor):
    """Facts left out at random: the baseline that [002] calls Random.

    ratio: share of the facts that is kept. Also `--ratio`.
    seed: seed of what is drawn. Default: that of the run.
    """

    ratio: float = 0.1
    seed: int | None = None

    def __post_init__(self) -> None:
        check_seed(self.name, self.seed)
        if not 0.0 <= self.ratio <= 1.0:
            raise InputError(f"drop: the ratio is {self.ratio:g}, expected the share of facts to keep, 0 to 1")

    @property
    def name(self) -> str:
        """As `--compress` spells it."""
        return "drop"

    @property
    def source(self) -> str:
        """How results name it."""
        return "drop"

    def compress(self, prepared: PreparedProblem, *, needs_problem: bool = False) -> Compression:
        """The problem with fewer facts; what a closed predicate loses is false then."""
        problem = prepared.problem
        facts: dict[str, Facts] = {}
        total = kept = 0
        seeds = np.random.SeedSequence(self.seed or 0).spawn(len(problem.statuses))
        statuses: dict[str, Statuses] = {}
        for (name, old), seed in zip(problem.statuses.items(), seeds, strict=True):
            own = problem.evidence.facts.get(name)
            statuses[name] = old
            if own is None:
                continue
            if name not in problem.model.declared:  # numbers that rules compare, and what repeats evidence
                facts[name] = own
                continue
            n = round(self.ratio * len(own))
            rows = np.sort(np.random.default_rng(seed).permutation(len(own))[:n])
            total, kept = total + len(own), kept + n
            facts[name] = frozen(Facts(own.args[rows], own.truth[rows]))
            is_open = old.default == UNKNOWN
            statuses[name] = statuses_of(problem.model.predicates[name], facts[name], problem.domains, is_open=is_open)
        made = _with_statuses(problem, statuses, facts)
        promise = Guarantee.EXACT if kept == total else Guarantee.UNBOUNDED
        note = f"drop: {kept:,} of {total:,} facts are kept"
        return Compression(replace(prepared, problem=made), projection(problem, made), promise, note)

    def classes(self, problem: Problem) -> ConstantClasses:
        """Constants that the facts that are left do not distinguish."""
        return _unsound(self.compress(PreparedProblem(problem)).prepared.problem, self.source)


def _with_statuses(problem: Problem, statuses: Mapping[str, Statuses], facts: Mapping[str, Facts]) -> Problem:
    start = frozen(offsets([own.n_open for own in statuses.values()]))
    atoms = AtomIndex(tuple(statuses), start, statuses)
    groups = (open_groups(predicate, statuses[name], atoms) for name, predicate in problem.model.predicates.items())
    evidence = replace(problem.evidence, facts=facts, observed=problem.evidence.observed | set(problem.evidence.facts))
    return replace(
        problem, evidence=evidence, statuses=statuses, atoms=atoms, groups=tuple(group for group in groups if group is not None)
    )


def _unsound(problem: Problem, source: str) -> ConstantClasses:
    return ConstantClasses(twin_classes(problem).class_of, sound=False, source=source)


@dataclass(frozen=True)
class NIMFA(Compressor):
    """Binary evidence smoothed by binary matrix factorisation, as [002] ran it: NIMFA's penalty method, thresholded.

    Not Boolean: 1 + 1 = 2 (Zhang, Ding, Li and Zhang 2007, Binary matrix factorization with applications).

    rank: number of factors; 30 is NIMFA's default. Also `--rank`.
    rounds: number of alternating updates; 30 is NIMFA's default.
    seed: seed of what is drawn. Default: that of the run.
    """

    rank: int = 30
    rounds: int = 30
    seed: int | None = None

    def __post_init__(self) -> None:
        check_seed(self.name, self.seed)
        if self.rank < 1 or self.rounds < 1:
            raise InputError(f"nimfa: rank and rounds are at least 1, not {self.rank} and {self.rounds}")

    @property
    def name(self) -> str:
        """As `--compress` spells it."""
        return "nimfa"

    @property
    def source(self) -> str:
        """How results name it."""
        return f"nimfa rank {self.rank}"

    def compress(self, prepared: PreparedProblem, *, needs_problem: bool = False) -> Compression:
        """The problem under smoothed evidence; what is unknown and queried stays so."""
        problem, smoothed = prepared.problem, {}
        for name in binary_predicates(problem):
            statuses = problem.statuses[name]
            true = self._smoothed(cells_of(statuses, TRUE))
            smoothed[name] = (true, None if not statuses.n_open else self._smoothed(cells_of(statuses, FALSE)))
        made, lost, asserted = replaced_evidence(problem, smoothed)
        same = not any(lost.values()) and not any(asserted.values())
        promise = Guarantee.EXACT if same else Guarantee.UNBOUNDED
        parts = [f"{name} changes {lost[name]:,} known atoms, asserts {asserted[name]:,} unknown ones" for name in lost]
        note = f"{self.source}: {'; '.join(parts) or 'no binary evidence'}"
        return Compression(replace(prepared, problem=made), projection(problem, made), promise, note)

    def classes(self, problem: Problem) -> ConstantClasses:
        """Constants that the smoothed evidence does not distinguish."""
        return _unsound(self.compress(PreparedProblem(problem)).prepared.problem, self.source)

    def _smoothed(self, matrix: BooleanMatrix) -> BooleanMatrix:
        """W·H ≥ ½ for nonnegative factors that penalties push towards 0 and 1; rows and columns without a one stay empty."""
        if not matrix.n_ones:
            return matrix
        from scipy.sparse import csr_array

        rows, columns = each_once(matrix.row), each_once(matrix.column)
        at = np.searchsorted(rows, matrix.row), np.searchsorted(columns, matrix.column)
        given = csr_array((np.ones(matrix.n_ones), at), shape=(len(rows), len(columns)))
        left, right = self._factors(given, min(self.rank, len(rows), len(columns)))
        row, column = np.nonzero(left @ right >= 0.5)
        return BooleanMatrix.of(matrix.shape, rows[row], columns[column])

    def _factors(self, given: Any, rank: int) -> tuple[Float64, Float64]:
        rng = np.random.default_rng(self.seed or 0)
        scale = np.sqrt(given.mean() / rank)
        left, right = (scale * (0.5 + rng.random(shape)) for shape in ((given.shape[0], rank), (rank, given.shape[1])))
        tiny = np.finfo(np.float64).tiny
        for _ in range(self.rounds):  # plain nonnegative factors first: penalties fix what they find
            check()
            right *= (given.T @ left).T / (left.T @ left @ right + tiny)
            left *= (given @ right.T) / (left @ (right @ right.T) + tiny)
        balance = np.sqrt(np.maximum(right.max(axis=1), tiny) / np.maximum(left.max(axis=0), tiny))
        left, right = left * balance, right / balance[:, None]
        penalty = 1.1
        for _ in range(self.rounds):
            check()
            right *= ((given.T @ left).T + 3 * penalty * right**2) / (
                left.T @ left @ right + 2 * penalty * right**3 + penalty * right + tiny
            )
            left *= (given @ right.T + 3 * penalty * left**2) / (
                left @ (right @ right.T) + 2 * penalty * left**3 + penalty * left + tiny
            )
            penalty *= 1.1
        return left, right
