"""Markov logic: weighted first-order rules and relational data in, probabilities out.

    import markovlogic as mln

    model = mln.load("smokers.mln")
    result = mln.infer(model, model.evidence("smokers.db"), query=["Smokes", "Cancer(Bob)"])
    result.table()

Everything is loaded when it is first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markovlogic.data.evidence import Evidence
    from markovlogic.errors import InputError, Interrupted, MarkovLogicError, ResourceError, UnsupportedError
    from markovlogic.guarantee import Guarantee
    from markovlogic.inference import infer
    from markovlogic.model import Model, load
    from markovlogic.planner import explain
    from markovlogic.results import Marginals
    from markovlogic.samplers.gibbs import Gibbs
    from markovlogic.samplers.mcsat import MCSAT

__version__ = "0.1.0.dev0"

_HOME = {
    "Evidence": "data.evidence",
    "Gibbs": "samplers.gibbs",
    "Guarantee": "guarantee",
    "InputError": "errors",
    "Interrupted": "errors",
    "MCSAT": "samplers.mcsat",
    "Marginals": "results",
    "MarkovLogicError": "errors",
    "Model": "model",
    "ResourceError": "errors",
    "UnsupportedError": "errors",
    "explain": "planner",
    "infer": "inference",
    "load": "model",
}

__all__ = [
    "MCSAT",
    "Evidence",
    "Gibbs",
    "Guarantee",
    "InputError",
    "Interrupted",
    "Marginals",
    "MarkovLogicError",
    "Model",
    "ResourceError",
    "UnsupportedError",
    "__version__",
    "explain",
    "infer",
    "load",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module when it is first asked for (PEP 562)."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'markovlogic' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"markovlogic.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
