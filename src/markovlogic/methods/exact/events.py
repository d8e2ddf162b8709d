"""Events (conjunctions of literals) taken apart by component and put together again: components are independent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from markovlogic.methods.exact.shapes import Event, Shape
from markovlogic.networks.components import Components
from markovlogic.system.arrays import Float64, Int32


class AskedEvents:
    """The events of one question; the answers of the components are gathered here."""

    def __init__(self, events: Sequence[Int32], parts: Components, n_atoms: int) -> None:
        self._probability = np.ones(len(events))
        self._single: list[tuple[int, int]] = []  # event, its only literal in a component
        self._joint: dict[int, list[tuple[int, list[int]]]] = {}  # component -> events, their literals in it
        for number, event in enumerate(events):
            literals = sorted({int(q) for q in event})
            if literals and not 0 <= literals[0] <= literals[-1] < 2 * n_atoms:
                raise ValueError(f"event {number} holds a literal of no open atom")
            if any(q ^ 1 in literals for q in literals):
                self._probability[number] = 0.0
                continue
            by_component: dict[int, list[int]] = {}
            for q in literals:
                by_component.setdefault(int(parts.component_of[q >> 1]), []).append(q)
            for component, part in by_component.items():
                if len(part) == 1:
                    self._single.append((number, part[0]))
                else:
                    self._joint.setdefault(component, []).append((number, part))

    def of_shape(self, shape: Shape) -> tuple[list[int], list[Event]]:
        """Numbers of the events that hold two or more literals of one component of a shape, and their part in it."""
        numbers: list[int] = []
        events: list[Event] = []
        if not self._joint:
            return numbers, events
        asked = np.fromiter(self._joint, np.int64, len(self._joint))
        for row in np.nonzero(np.isin(shape.component, asked))[0].tolist():
            for number, literals in self._joint[int(shape.component[row])]:
                at = np.searchsorted(shape.atom[row], np.array(literals) >> 1)
                numbers.append(number)
                events.append(Event(row, tuple(2 * int(a) + (q & 1) for a, q in zip(at, literals, strict=True))))
        return numbers, events

    def answered(self, numbers: Sequence[int], probability: Float64) -> None:
        """Take in what a component says about its part of some events."""
        np.multiply.at(self._probability, np.array(numbers, np.int64), probability)

    def probability(self, marginal: Float64) -> Float64:
        """Probability of each event, once all components have answered."""
        found = self._probability.copy()
        for number, literal in self._single:
            p = marginal[literal >> 1]
            found[number] *= p if literal & 1 else 1.0 - p
        return found
