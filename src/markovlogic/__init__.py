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

from markovlogic._version import __version__
from markovlogic.api import views as _api_views  # noqa: F401  values refer to them by name
from markovlogic.report import views as _views  # noqa: F401  values refer to them by name

if TYPE_CHECKING:
    from markovlogic.api.check import check
    from markovlogic.api.cluster import Clustering, cluster
    from markovlogic.api.compress import compress
    from markovlogic.api.explain import explain
    from markovlogic.api.infer import infer
    from markovlogic.api.link import link
    from markovlogic.api.maximize import maximize
    from markovlogic.api.scaled import Dataset, infer_dataset
    from markovlogic.api.session import Session
    from markovlogic.api.symmetries import symmetries
    from markovlogic.api.why import why
    from markovlogic.compression.evidence_factors import BMF
    from markovlogic.compression.groupings import DPMeans, KMeans, RandomGroups, Twins
    from markovlogic.compression.obj2vec import Obj2Vec
    from markovlogic.data.evidence import Evidence
    from markovlogic.errors import InferenceWarning, InputError, Interrupted, MarkovLogicError, ResourceError, UnsupportedError
    from markovlogic.evaluation.difference import Difference, diff
    from markovlogic.evaluation.evaluate import Evaluation, evaluate
    from markovlogic.evaluation.ranking import Ranking, rank
    from markovlogic.guarantee import Guarantee
    from markovlogic.learning.learn import learn
    from markovlogic.learning.learned import Learned
    from markovlogic.linking.linked import Linked
    from markovlogic.map_inference.world import World
    from markovlogic.methods.bp import BP
    from markovlogic.methods.lifted_bp import LiftedBP
    from markovlogic.methods.sampling.blocked import Blocked
    from markovlogic.methods.sampling.gibbs import Gibbs
    from markovlogic.methods.sampling.lifted_blocked import LiftedBlocked
    from markovlogic.methods.sampling.lifted_mh import LiftedMH
    from markovlogic.methods.sampling.mcsat import MCSAT
    from markovlogic.methods.sampling.orbital import Orbital
    from markovlogic.methods.sampling.partition import Partition
    from markovlogic.methods.sampling.tempered import Tempered
    from markovlogic.problem.model import Model, load
    from markovlogic.results.marginals import Marginals


_HOME = {
    "BMF": "compression.evidence_factors",
    "BP": "methods.bp",
    "Blocked": "methods.sampling.blocked",
    "Clustering": "api.cluster",
    "DPMeans": "compression.groupings",
    "Difference": "evaluation.difference",
    "Evaluation": "evaluation.evaluate",
    "Evidence": "data.evidence",
    "Gibbs": "methods.sampling.gibbs",
    "Guarantee": "guarantee",
    "InferenceWarning": "errors",
    "InputError": "errors",
    "Interrupted": "errors",
    "KMeans": "compression.groupings",
    "Learned": "learning.learned",
    "Linked": "linking.linked",
    "LiftedBP": "methods.lifted_bp",
    "LiftedBlocked": "methods.sampling.lifted_blocked",
    "LiftedMH": "methods.sampling.lifted_mh",
    "MCSAT": "methods.sampling.mcsat",
    "Dataset": "api.scaled",
    "Marginals": "results.marginals",
    "MarkovLogicError": "errors",
    "Model": "problem.model",
    "Obj2Vec": "compression.obj2vec",
    "Orbital": "methods.sampling.orbital",
    "Partition": "methods.sampling.partition",
    "RandomGroups": "compression.groupings",
    "ResourceError": "errors",
    "Session": "api.session",
    "Tempered": "methods.sampling.tempered",
    "Twins": "compression.groupings",
    "UnsupportedError": "errors",
    "World": "map_inference.world",
    "check": "api.check",
    "cluster": "api.cluster",
    "compress": "api.compress",
    "diff": "evaluation.difference",
    "evaluate": "evaluation.evaluate",
    "Ranking": "evaluation.ranking",
    "rank": "evaluation.ranking",
    "explain": "api.explain",
    "infer": "api.infer",
    "infer_dataset": "api.scaled",
    "learn": "learning.learn",
    "link": "api.link",
    "load": "problem.model",
    "maximize": "api.maximize",
    "symmetries": "api.symmetries",
    "why": "api.why",
}

__all__ = [
    "BMF",
    "BP",
    "MCSAT",
    "Blocked",
    "Clustering",
    "DPMeans",
    "Dataset",
    "Difference",
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
    "Linked",
    "Marginals",
    "MarkovLogicError",
    "Model",
    "Obj2Vec",
    "Orbital",
    "Partition",
    "RandomGroups",
    "Ranking",
    "ResourceError",
    "Session",
    "Tempered",
    "Twins",
    "UnsupportedError",
    "World",
    "__version__",
    "check",
    "cluster",
    "compress",
    "diff",
    "evaluate",
    "explain",
    "infer",
    "infer_dataset",
    "learn",
    "link",
    "load",
    "maximize",
    "rank",
    "symmetries",
    "why",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module when it is first needed (PEP 562)."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'markovlogic' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"markovlogic.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
