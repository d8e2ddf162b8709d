"""The moves' own source, run as plain Python, with every random decision followed to all of its outcomes."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from markovlogic.kernels.partition import carrying, choices, far, flips, merging, records, several, sweep
from markovlogic.kernels.partition.layout import Chain


@dataclass
class Tape:
    """The decisions of one run: those given, then the first possible one each; with their probabilities."""

    given: list[int]
    made: list[int] = field(default_factory=list)
    chance: list[np.ndarray] = field(default_factory=list)

    def decide(self, probability: np.ndarray) -> int:
        at = len(self.made)
        chosen = self.given[at] if at < len(self.given) else int(np.flatnonzero(probability > 0)[0])
        self.made.append(chosen)
        self.chance.append(probability.copy())
        return chosen


def pick(tape: Tape, weight: np.ndarray, n: int) -> int:
    top = weight[:n].max()
    weight[:n] = 1.0 if top == -np.inf else np.exp(weight[:n] - top)
    weight[:n] /= weight[:n].sum()
    return tape.decide(weight[:n])


def below(tape: Tape, n: int) -> int:
    return tape.decide(np.full(n, 1 / n))


def plain_moves(**changed: Any) -> dict[str, Any]:
    """All functions of the kernels by name, in plain Python; `changed` ones take the place of their namesakes."""
    scope: dict[str, Any] = {}
    for module in (choices, far, flips, records, merging, several, carrying, sweep):
        for name, value in vars(module).items():
            scope[name] = types.FunctionType(value.py_func.__code__, scope, name) if isinstance(value, Dispatcher) else value
    scope.update(pick=pick, below=below)
    scope.update(changed)
    return scope


def outcomes(run: Callable[[Tape], Any]) -> Iterator[tuple[float, Any]]:
    """Everything that can happen, with its probability."""
    waiting: list[list[int]] = [[]]
    while waiting:
        tape = Tape(waiting.pop())
        result = run(tape)
        chance = float(np.prod([p[c] for p, c in zip(tape.chance, tape.made, strict=True)]))
        yield chance, result
        for at in range(len(tape.given), len(tape.made)):
            others = np.flatnonzero(tape.chance[at] > 0)
            waiting += [[*tape.made[:at], int(other)] for other in others if other != tape.made[at]]


def chain_at(chains: Chain) -> Chain:
    """The only chain of some room."""
    return Chain(*(array[0] for array in chains))
