"""Constants of each type as integers 0..n-1, in order of first occurrence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from markovlogic.errors import InputError, nearest


@dataclass(frozen=True, eq=False)
class Domain:
    """The constants of one type; a constant's number is its position."""

    type_name: str
    names: tuple[str, ...]
    integers: bool = False  # whether the user gave them as integers, so that results give them back as such

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def number_of(self) -> dict[str, int]:
        """Name to number."""
        return {name: number for number, name in enumerate(self.names)}

    def number(self, name: str) -> int:
        """Number of a constant; an unknown one is an input error that names the nearest."""
        found = self.number_of.get(name)
        if found is None:
            raise InputError(f"unknown constant {name} of type {self.type_name}", hint=nearest(name, self.names))
        return found

    def extended(self, names: Iterable[str]) -> Domain:
        """This domain with more constants at its end; known ones are skipped."""
        return Domain(self.type_name, tuple(dict.fromkeys((*self.names, *names))), self.integers)


Domains = Mapping[str, Domain]
