"""`cluster`: from a model and evidence to clusters of an equivalence relation, with probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from markovlogic.data.evidence import TRUE
from markovlogic.errors import InputError
from markovlogic.methods.analysis import Analysis, Resources, analysis_of
from markovlogic.methods.options import options_of
from markovlogic.methods.partition.clusters import Clusters, Pairs, exactly_right, least_disagreeing
from markovlogic.methods.planner import Planned
from markovlogic.methods.table import method_named
from markovlogic.problem.prepare import Assumptions, Evidences, Models, pose_problem
from markovlogic.running.sampling import Sampling
from markovlogic.system.cancellation import Deadline, current
from markovlogic.system.measures import Stopwatch
from markovlogic.system.progress import SILENT, Progress

if TYPE_CHECKING:
    from markovlogic.data.domains import Domain

KEPT_CELLS = 200_000_000  # truth values of pairs that are kept to see how often clusters are exactly right


@dataclass(frozen=True, eq=False)
class Clustering:
    """The clusters of a predicate's constants, how they were found, and reasons not to trust them."""

    predicate: str
    domain: Domain
    clusters: Clusters
    pairs: Pairs
    converged: bool | None
    concerns: tuple[str, ...]
    notes: tuple[str, ...] = ()  # what was assumed though nobody said it

    def table(self) -> Any:
        """Arrow table: constant, cluster, probability, one row a constant."""
        import pyarrow as pa

        found = self.clusters
        likely = pa.array(found.probability, mask=np.isnan(found.probability))
        return pa.table({"constant": pa.array(list(self.domain.names)), "cluster": pa.array(found.label), "probability": likely})


def cluster(
    model: Models,
    evidence: Evidences = None,
    predicate: str = "",
    *,
    assumed: Assumptions | None = None,
    sampling: Sampling | None = None,
    memory_limit: int | None = None,
    progress: Progress = SILENT,
) -> Clustering:
    """The partition that disagrees least with the probabilities of pairs, and how likely each cluster is exactly right."""
    predicate = predicate.strip()
    sampling = sampling or Sampling()
    with Deadline(sampling.seconds, outer=current()).of_this_run():
        posed = pose_problem(model, evidence, predicate, assumed, progress=progress)
        with analysis_of(posed, Resources(memory_limit, None, progress), Stopwatch()) as analysis:
            return replace(_clustered(analysis, predicate, sampling), notes=posed.notes)


def _clustered(analysis: Analysis, predicate: str, sampling: Sampling) -> Clustering:
    problem = analysis.prepared.problem
    _require_equivalence(analysis, predicate)
    statuses = problem.statuses[predicate]
    domain = problem.domains[problem.model.predicates[predicate].types[0]]
    code = problem.atoms.codes(predicate)
    sure = statuses.code[statuses.status == TRUE]
    probability, kept, told = np.zeros(0), np.zeros((0, 0), np.bool_), None
    if len(code):
        told = _sampled(analysis, sampling, len(code))
        probability, kept = told.atoms.probability, told.kept.reshape(-1, len(code))
    pairs = Pairs.of(len(domain), np.concatenate([code, sure]), np.concatenate([probability, np.ones(len(sure))]))
    label = least_disagreeing(pairs)
    one, other = np.divmod(sure, max(len(domain), 1))
    split = np.zeros(len(domain), np.bool_)  # what is known to be together is not
    apart = label[one] != label[other]
    split[np.isin(label, np.concatenate([label[one[apart]], label[other[apart]]]))] = True
    clusters = Clusters(label, exactly_right(label, code, split, kept))
    converged = None if told is None else told.account.converged
    return Clustering(predicate, domain, clusters, pairs, converged, () if told is None else told.concerns)


def _sampled(analysis: Analysis, sampling: Sampling, n_atoms: int) -> Any:
    """Chains over partitions, of which some draws are kept."""
    method = method_named("partition")
    plain = options_of(method.name, "auto", replace(sampling, estimator="sample"))
    schedule = sampling.schedule(8)
    thin = max(1, -(-schedule.draws * schedule.chains * n_atoms // KEPT_CELLS))
    options = replace(plain, sampling=replace(plain.sampling, keep_draws=True, thin=min(thin, schedule.draws)))
    return Planned(method.plan(analysis, options, "asked for"), analysis).answer()


def _require_equivalence(analysis: Analysis, predicate: str) -> None:
    declared = analysis.prepared.problem.model.predicates.get(predicate)
    if declared is None:
        raise InputError(f"{predicate} is no name of a predicate", hint="give the name of one equivalence relation alone")
    if len(declared.types) != 2 or len(set(declared.types)) != 1:
        raise InputError(f"{predicate} does not relate constants of one type, so it is no equivalence relation")
    found = analysis.partition.equivalences
    if (
        predicate in {relation.predicate for relation in found.relations}
        or not analysis.prepared.problem.statuses[predicate].n_open
    ):
        return
    reasons = [miss.reason for miss in found.misses if miss.predicate == predicate]
    raise InputError(
        reasons[0] if reasons else f"no hard rules make {predicate} an equivalence relation",
        hint=f"add {predicate}(x,x). and {predicate}(x,y) ^ {predicate}(x,z) => {predicate}(y,z).",
    )
