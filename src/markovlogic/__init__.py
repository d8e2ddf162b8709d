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

from markovlogic.version import __version__

if TYPE_CHECKING:
    from markovlogic.compressing.evidence_factors import BMF
    from markovlogic.compressing.groupings import DPMeans, KMeans, RandomGroups, Twins
    from markovlogic.compressing.obj2vec import Obj2Vec
    from markovlogic.compressing.thinning import NIMFA, Drop
    from markovlogic.compression import compress
    from markovlogic.data.evidence import Evidence
    from markovlogic.errors import InferenceWarning, InputError, Interrupted, MarkovLogicError, ResourceError, UnsupportedError
    from markovlogic.evaluation.evaluate import Evaluation, evaluate
    from markovlogic.guarantee import Guarantee
    from markovlogic.inference import infer
    from markovlogic.learning.learn import learn
    from markovlogic.learning.result import Learned
    from markovlogic.maximization import maximize
    from markovlogic.maximizing.result import World
    from markovlogic.methods.bp import BP
    from markovlogic.methods.lifted_bp import LiftedBP
    from markovlogic.model import Model, load
    from markovlogic.planner import explain
    from markovlogic.results import Marginals
    from markovlogic.samplers.blocked import Blocked
    from markovlogic.samplers.gibbs import Gibbs
    from markovlogic.samplers.lifted_blocked import LiftedBlocked
    from markovlogic.samplers.lifted_mh import LiftedMH
    from markovlogic.samplers.mcsat import MCSAT
    from markovlogic.samplers.orbital import Orbital
    from markovlogic.samplers.partition import Partition
    from markovlogic.samplers.tempered import Tempered
    from markovlogic.symmetry_report import symmetries


_HOME = {
    "BMF": "compressing.evidence_factors",
    "BP": "methods.bp",
    "Blocked": "samplers.blocked",
    "DPMeans": "compressing.groupings",
    "Drop": "compressing.thinning",
    "Evaluation": "evaluation.evaluate",
    "Evidence": "data.evidence",
    "Gibbs": "samplers.gibbs",
    "Guarantee": "guarantee",
    "InferenceWarning": "errors",
    "InputError": "errors",
    "Interrupted": "errors",
    "KMeans": "compressing.groupings",
    "Learned": "learning.result",
    "LiftedBP": "methods.lifted_bp",
    "LiftedBlocked": "samplers.lifted_blocked",
    "LiftedMH": "samplers.lifted_mh",
    "MCSAT": "samplers.mcsat",
    "Marginals": "results",
    "MarkovLogicError": "errors",
    "Model": "model",
    "NIMFA": "compressing.thinning",
    "Obj2Vec": "compressing.obj2vec",
    "Orbital": "samplers.orbital",
    "Partition": "samplers.partition",
    "RandomGroups": "compressing.groupings",
    "ResourceError": "errors",
    "Tempered": "samplers.tempered",
    "Twins": "compressing.groupings",
    "UnsupportedError": "errors",
    "World": "maximizing.result",
    "compress": "compression",
    "evaluate": "evaluation.evaluate",
    "explain": "planner",
    "infer": "inference",
    "learn": "learning.learn",
    "load": "model",
    "maximize": "maximization",
    "symmetries": "symmetry_report",
}

__all__ = [
    "BMF",
    "BP",
    "MCSAT",
    "NIMFA",
    "Blocked",
    "DPMeans",
    "Drop",
    "Evaluation",
    "Evidence",
    "Gibbs",
    "Guarantee",
    "InferenceWarning",
    "InputError",
    "Interrupted",
    "KMeans",
    "Learned",
    "LiftedBP",
    "LiftedBlocked",
    "LiftedMH",
    "Marginals",
    "MarkovLogicError",
    "Model",
    "Obj2Vec",
    "Orbital",
    "Partition",
    "RandomGroups",
    "ResourceError",
    "Tempered",
    "Twins",
    "UnsupportedError",
    "World",
    "__version__",
    "compress",
    "evaluate",
    "explain",
    "infer",
    "learn",
    "load",
    "maximize",
    "symmetries",
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
