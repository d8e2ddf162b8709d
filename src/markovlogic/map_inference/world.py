"""The most probable world as a value: its true atoms, what it weighs, and what is proved about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from markovlogic.data.arrow import arrow_texts, atom_names
from markovlogic.data.evidence import Domain, decode
from markovlogic.guarantee import Guarantee
from markovlogic.problem import Problem, WantedAtoms
from markovlogic.problem.query import matching_codes, resolve_query
from markovlogic.results.marginals import RunRecord
from markovlogic.system.arrays import Bool, Int64


@dataclass(frozen=True, eq=False)
class TrueAtoms:
    """The atoms of one predicate that were requested, and which of them are true."""

    predicate: str
    code: Int64  # (n,) sorted
    truth: Bool  # (n,)


@dataclass(frozen=True, eq=False)
class World:
    """A most probable world, or the best that was found: the truth of every query atom.

    `log_weight` is Σ w·N, N counting all true groundings, and `bound` a number that no world's exceeds.
    """

    parts: tuple[TrueAtoms, ...] = field(repr=False)
    problem: Problem = field(repr=False)
    log_weight: float
    bound: float
    run: RunRecord = field(repr=False)
    flips: int = 0
    tries: int = 0
    remarks: tuple[str, ...] = ()

    @property
    def is_optimal(self) -> bool:
        """Whether it is proved that no world is more probable."""
        return self.bound <= self.log_weight

    @property
    def gap(self) -> float:
        """How much more another world may weigh: the logarithm of how many times more probable it could be."""
        return max(0.0, self.bound - self.log_weight)

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the bound's size; 0 where there is no gap."""
        return self.gap / max(abs(self.bound), abs(self.log_weight)) if self.gap else 0.0

    @property
    def guarantee(self) -> Guarantee:
        """`exact`: no world is more probable; `bounded`: none is by more than the gap."""
        return Guarantee.EXACT if self.is_optimal else Guarantee.BOUNDED

    @cached_property
    def atom(self) -> Any:
        """The true atoms as an Arrow array of text, sorted by code point."""
        return self._named[0]

    @property
    def atoms(self) -> list[str]:
        """The true atoms, sorted by code point."""
        names: list[str] = self.atom.to_pylist()
        return names

    @cached_property
    def _named(self) -> tuple[Any, Any]:
        """Names of the true atoms, and the order by which they are sorted."""
        names = [arrow_texts([], large=True)]
        for part in self.parts:
            domains = self._domains(part.predicate)
            code = part.code[part.truth]
            names.append(atom_names(part.predicate, code, tuple(map(len, domains)), domains).cast(pa.large_string()))
        name = pa.concat_arrays(names)
        order = pc.sort_indices(name)
        return name.take(order), order

    def _domains(self, predicate: str) -> tuple[Domain, ...]:
        return tuple(self.problem.domains[type_name] for type_name in self.problem.model.predicates[predicate].types)

    def table(self) -> Any:
        """Arrow table of the true atoms: atom, predicate, then one column an argument (arg1, arg2, …), null beyond the arity."""
        widest = max((len(self._domains(part.predicate)) for part in self.parts), default=0)
        predicate: list[str] = []
        columns: list[list[Any]] = [[] for _ in range(widest)]
        for part in self.parts:
            domains, code = self._domains(part.predicate), part.code[part.truth]
            predicate += [part.predicate] * len(code)
            args = decode(code, tuple(map(len, domains)))
            for position in range(widest):
                if position < len(domains):
                    texts = arrow_texts(list(domains[position].names), large=True)
                    columns[position].append(texts.take(pa.array(args[:, position])))
                else:
                    columns[position].append(pa.nulls(len(code), pa.large_string()))
        name, order = self._named
        made = {"atom": name, "predicate": arrow_texts(predicate).take(order)}
        nothing = arrow_texts([], large=True)
        made |= {f"arg{i + 1}": pa.concat_arrays([nothing, *column]).take(order) for i, column in enumerate(columns)}
        return pa.table(made)

    def to_pandas(self) -> Any:
        """The table as a pandas data frame."""
        return self.table().to_pandas()

    def __len__(self) -> int:
        return sum(int(np.count_nonzero(part.truth)) for part in self.parts)

    def __iter__(self) -> Iterator[str]:
        yield from self.atoms

    def __contains__(self, atom: object) -> bool:
        return isinstance(atom, str) and self[atom]

    def __getitem__(self, atom: str) -> bool:
        """Whether an atom of the query is true in the world, by its name."""
        predicate, code = self._code(atom)
        for part in self.parts:
            if part.predicate == predicate:
                at = int(np.searchsorted(part.code, code))
                if at < len(part.code) and part.code[at] == code:
                    return bool(part.truth[at])
        raise KeyError(f"{atom} is not in the query, or is known from evidence")

    def _code(self, text: str) -> tuple[str, int]:
        items = resolve_query(self.problem.model, self.problem.domains, text)
        wanted = items[0].wanted if len(items) == 1 else None
        if isinstance(wanted, WantedAtoms):
            sizes = tuple(map(len, self._domains(wanted.predicate)))
            constants = wanted.constants if sizes else ()
            if constants is not None and None not in constants:
                return wanted.predicate, int(matching_codes(replace(wanted, constants=constants), sizes)[0])
        raise KeyError(f"{text} is not a ground atom")

    def concerns(self) -> list[str]:
        """Reasons not to trust the world; a gap is no such reason, it is reported."""
        return []

    def stats(self) -> dict[str, Any]:
        """What was done, as `--stats` writes it."""
        own = {"log_weight": self.log_weight, "bound": self.bound, "gap": self.gap, "proved": self.is_optimal}
        return self.run.stats(self.guarantee) | own | {"tries": self.tries, "flips": self.flips}

    @property
    def description(self) -> str:
        """One line on what is known of the world."""
        weight = f"log weight {self.log_weight:.10g}"
        if self.is_optimal:
            return f"{weight}, proved to be the most"
        return f"{weight}, no world weighs more than {self.bound:.10g} (gap {self.gap:.3g}, {self.relative_gap:.2%})"

    def __repr__(self) -> str:
        compressed = "" if self.run.compression is None else f", compressed by {self.run.compression.name}"
        return f"<world of {len(self):,} true atom{'s' * (len(self) != 1)} by {self.run.method}{compressed}: {self.description}>"
