"""What a sweep draws at once: a cluster of predicates."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

import numpy as np

from markovlogic.methods.lifted.blocks.messages import Bools, Message
from markovlogic.methods.lifted.blocks.program import Program, compile_cluster
from markovlogic.methods.lifted.blocks.schedule import Drawn, Known, Schedule
from markovlogic.methods.lifted.blocks.tensors import Tensor


class Unit(Protocol):
    """Atoms that are drawn from their conditional given all others."""

    def draw(self, values: Mapping[str, Bools], n_chains: int, rng: np.random.Generator) -> Drawn:
        """New values of whole predicates, and probabilities; chains come first."""
        ...


class ClusterUnit:
    """A cluster that theorem proving can draw whole."""

    def __init__(
        self,
        messages: tuple[Message, ...],
        known: Mapping[str, Known],
        arguments: Mapping[str, tuple[int, ...]],
        changing: Collection[str],
    ) -> None:
        self.messages, self.changing = messages, frozenset(changing)
        self.program: Program = compile_cluster([m.inner(i) for i, m in enumerate(messages)], arguments)
        self.schedule = Schedule(self.program, known, arguments)
        self._still: dict[int, Tensor] = {}  # coefficients that nothing changes

    def coefficients(self, values: Mapping[str, Bools]) -> dict[int, Tensor]:
        """What the rest of the world says, of every term."""
        found = {}
        for number, message in enumerate(self.messages):
            tensor = self._still.get(number)
            if tensor is None:
                tensor = message.coefficient(values, self.changing, self.program.axis_of[number])
                if not message.speaks(self.changing):
                    self._still[number] = tensor
            found[number] = tensor
        return found

    def draw(self, values: Mapping[str, Bools], n_chains: int, rng: np.random.Generator) -> Drawn:
        """New values of the cluster's predicates."""
        return self.schedule.draw(self.coefficients(values), n_chains, rng)
