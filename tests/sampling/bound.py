"""Settings bound to a problem without going through `infer`."""

from __future__ import annotations

from typing import Any

from markovlogic.methods.sampling.base import Target
from markovlogic.symmetry.find import SymmetryFinder


def target(problem: Any, network: Any = None) -> Target:
    return Target(problem, network, SymmetryFinder(problem, network))


def copied(state: Any) -> Any:
    """The same state in arrays of its own, states of base chains included."""
    fields = {name: copied(v) if isinstance(v, tuple) else v.copy() for name, v in state._asdict().items()}
    return type(state)(**fields)


def arrays(state: Any) -> list[tuple[str, Any]]:
    """All arrays of a state by name, those of base chains included."""
    found = []
    for name, value in state._asdict().items():
        found += [(f"{name}.{n}", a) for n, a in arrays(value)] if isinstance(value, tuple) else [(name, value)]
    return found
