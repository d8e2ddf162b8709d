"""Rows of answers that tasks give, of several kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from markovlogic.estimation.diagnostics import Estimates

SCHEMA = "kind int, atom bigint, probability double, stderr double, rhat double, ess double, word string"
ATOM, COMPONENT, CONCERN, EVENT, STORED, SOLVED = 0, 1, 2, 3, 4, 5  # kinds of rows


class Answers:
    """Rows of answers, gathered."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []

    def add(self, kind: int, atom: Any, word: str, **columns: Any) -> None:
        """Some rows of one kind; undefined numbers are null."""
        atom = np.asarray(atom, np.int64)
        made: dict[str, Any] = {"kind": np.full(len(atom), kind, np.int32), "atom": atom}
        for name in ("probability", "stderr", "rhat", "ess"):
            value = columns.get(name)
            made[name] = np.full(len(atom), np.nan) if value is None else np.asarray(value, np.float64)
        made["word"] = [word] * len(atom)
        self._parts.append(made)

    def atoms(self, codes: Any, found: Estimates) -> None:
        """Estimates of sampled atoms."""
        self.add(ATOM, codes, "", probability=found.mean, stderr=found.stderr, rhat=found.rhat, ess=found.ess)

    def events(self, numbers: Sequence[int], found: Estimates) -> None:
        """Estimates of sampled formulas."""
        self.add(EVENT, numbers, "", probability=found.mean, stderr=found.stderr, rhat=found.rhat, ess=found.ess)

    def component(self, first: Any, word: str, *, converged: bool, rhat: float, atoms: int) -> None:
        """How the chains of a component went."""
        self.add(COMPONENT, first, word, probability=[float(converged)], rhat=[rhat], ess=[atoms])

    def solved(self, rows: int) -> None:
        """How many rows a task was given: together they must be as many as there were."""
        self.add(SOLVED, [0], "", ess=[rows])

    def concerns(self, first: Any, texts: Sequence[str]) -> None:
        """Reasons not to trust a component's numbers."""
        for text in texts:
            self.add(CONCERN, first, text)

    def table(self) -> Any:
        """All rows as Arrow."""
        import pyarrow as pa

        columns: dict[str, Any] = {}
        types = {"kind": pa.int32(), "atom": pa.int64(), "word": pa.string()}
        for name in ("kind", "atom", "probability", "stderr", "rhat", "ess", "word"):
            of = types.get(name, pa.float64())
            parts = [pa.array(part[name], of, from_pandas=True) for part in self._parts]
            columns[name] = pa.chunked_array(parts, of)
        return pa.table(columns)
