"""What is interchangeable in a problem: classes of constants, what broke them, orbits of atoms; for people and programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from markovlogic.errors import known_name
from markovlogic.problem import Problem
from markovlogic.problem.prepare import Assumptions, Evidences, Models, PreparedProblem, Queries, prepare_problem
from markovlogic.report.progress import progress_of
from markovlogic.symmetry.base import ConstantClasses, OrbitPartition
from markovlogic.symmetry.breaks import Break, breaks
from markovlogic.symmetry.find import DEFAULT_BUDGET, KINDS, Symmetries, SymmetryFinder
from markovlogic.symmetry.orbits import MOST_ATOMS, orbit_keys
from markovlogic.system.arrays import Int64
from markovlogic.system.progress import Progress

if TYPE_CHECKING:
    from markovlogic.networks.ground import GroundNetwork


@dataclass(frozen=True, eq=False)
class SymmetryReport:
    """The symmetries of a problem; `found` holds the group and all orbits, None where there are too many atoms to list."""

    problem: Problem
    kind: str
    classes: ConstantClasses
    breaks: tuple[Break, ...]
    atoms: int
    orbit_size: Int64  # (n_orbits,) sizes of all orbits, in no order that matters
    notes: tuple[str, ...]
    found: Symmetries | None

    @property
    def orbits(self) -> int:
        """How many orbits the open atoms fall into."""
        return len(self.orbit_size)

    @property
    def largest_orbit(self) -> int:
        """Atoms of the largest orbit, 0 where no atom is open."""
        return int(self.orbit_size.max(initial=0))

    @property
    def partition(self) -> OrbitPartition:
        """The orbit of every open atom; refuses where there are too many to list."""
        if self.found is None:
            from markovlogic.symmetry.orbits import orbits_by_key

            return orbits_by_key(self.problem, self.classes)
        return self.found.orbits

    def constants(self) -> dict[str, list[list[str]]]:
        """The classes of each type as lists of names, the largest first."""
        made = {}
        for type_name, class_of in self.classes.class_of.items():
            names = self.problem.domains[type_name].names
            parts: list[list[str]] = [[] for _ in range(self.classes.n_classes(type_name))]
            for number, part in enumerate(class_of.tolist()):
                parts[part].append(names[number])
            made[type_name] = sorted(parts, key=lambda part: -len(part))
        return made

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from html import escape

        from markovlogic.report.notebook import code_html, dim_html, some_html, table_html

        rows = []
        for type_name, classes in self.constants().items():
            largest = classes[0] if classes else []
            rows.append((code_html(type_name), f"{len(classes):,}", f"{len(largest):,}", some_html(largest)))
        sizes = f"<p>{self.atoms:,} open atoms in {self.orbits:,} orbits, the largest of {self.largest_orbit:,}</p>"
        notes = "".join(dim_html(escape(note)) for note in self.notes)
        return sizes + table_html(["type", "classes", "in the largest", ""], rows, left=1, last=1) + notes

    def as_dict(self) -> dict[str, Any]:
        """What `symmetries --json` writes."""
        return {
            "classes": self.constants(),
            "atoms": self.atoms,
            "orbits": self.orbits,
            "largest_orbit": self.largest_orbit,
            "kind": self.kind,
            "sound": self.classes.sound,
            "breaks": [
                {
                    "type": item.type_name,
                    "predicate": item.predicate or None,
                    "classes": item.n_classes,
                    "example": item.example or None,
                    "counterpart": item.counterpart or None,
                }
                for item in self.breaks
            ],
            "notes": list(self.notes),
        }

    def table(self) -> Any:
        """Arrow table `atom`, `orbit` of all open atoms, sorted by code point."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from markovlogic.data.arrow import atom_names

        orbits = self.partition
        names = [
            atom_names(
                name,
                self.problem.atoms.codes(name),
                self.problem.statuses[name].sizes,
                [self.problem.domains[t] for t in self.problem.model.predicates[name].types],
            ).cast(pa.large_string())
            for name in self.problem.atoms.predicates
        ]
        table = pa.table({"atom": pa.chunked_array(names, pa.large_string()), "orbit": pa.array(orbits.orbit_of)})
        return table.take(pc.sort_indices(table["atom"]))


def symmetries(
    model: Models,
    evidence: Evidences = None,
    query: Queries = None,
    *,
    kind: str = "twins",
    open_: Sequence[str] = (),
    closed: Sequence[str] = (),
    closed_types: bool = False,
    clause_weights: str = "formula",
    budget_seconds: float = DEFAULT_BUDGET,
    progress: Progress | bool | None = None,
) -> SymmetryReport:
    """Find which constants are interchangeable, which facts broke that, and the orbits of the open atoms.

    kind: `twins` (exchanges of two constants, always found), `refined` (all renamings that preserve the evidence, by search),
    `automorphisms` (any symmetry of the ground network, by search), `auto` (as `SymmetryFinder.found` chooses).
    """
    known_name(kind, "kind of symmetry", KINDS)
    assumed = Assumptions(open_, closed, closed_types, clause_weights)
    with progress_of(progress) as shown:
        prepared = prepare_problem(model, evidence, query, assumed, progress=shown)
        return _report(prepared, kind, budget_seconds, shown)


def _report(prepared: PreparedProblem, kind: str, budget_seconds: float, progress: Progress) -> SymmetryReport:
    problem = prepared.problem
    progress.stage("symmetry")
    broken = breaks(problem)
    if kind == "twins" and len(problem.atoms) > MOST_ATOMS:
        classes = SymmetryFinder(problem).classes
        sizes = [keys.size for keys in orbit_keys(problem, classes)]
        return SymmetryReport(problem, kind, classes, broken, len(problem.atoms), np.concatenate(sizes), (), None)
    network = _grounded(prepared, progress) if kind == "automorphisms" else None
    found = SymmetryFinder(problem, network, budget_seconds=budget_seconds).found(kind)
    return SymmetryReport(problem, kind, found.classes, broken, len(problem.atoms), found.orbits.size, found.notes, found)


def _grounded(prepared: PreparedProblem, progress: Progress) -> GroundNetwork:
    from markovlogic.grounding.ground import ground

    return ground(prepared.problem, prepared.lowered, progress=progress)
