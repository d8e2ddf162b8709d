"""`mln warm-up`: compile all kernels now, so that no later run waits for it."""

from __future__ import annotations

import time
import warnings
from contextlib import suppress
from typing import Any

from markovlogic.cli import options
from markovlogic.cli.outputs import show_message

# Between them they have every kind of site and clause, so that every kernel is requested: short and long clauses, hard ones,
# exclusive groups, quantifiers, interchangeable constants, evidence that parts them; and enough atoms for two cores to share.
MODELS = {
    "soft rules": ("p = {A, B, C, D}\nS(p)\nF(p, p)\n0.7 F(x, y) ^ S(x) => S(y)\n-0.4 S(x)\n", "S,F"),
    "everything": (
        "p = {A, B, C, D, E, G, H, I, J, K, L, M}\nk = {U, V, W}\nS(p)\nF(p, p)\nC(p, k!)\nT(p)\n1.1 EXIST y F(x, y)\n"
        "0.6 F(x, y) ^ C(x, U) => C(y, U)\n-0.8 S(x) <=> (EXIST y (F(x, y) ^ S(y)))\nT(x) => S(x).\nT(x) => C(x, V).\n0.1 S(A)\n",
        "S,F,C,T,S(A)^T(B)",
    ),
    "exchangeable atoms": (
        "p = {A, B}\nk = {U, V, W}\nS(p)\nR(p, k)\n0.8 R(x, u) v R(y, w) v S(x)\n-0.5 R(x, u) v !R(x, w)\n",
        "S,R",
    ),
    "many atoms": (f"p = {{{', '.join(f'A{i}' for i in range(80))}}}\nF(p, p)\n0.2 F(x, y) => F(y, x)\n", "F(A0, A1)"),
}
CHAINS = (64, 8, 1)
LEADING, LONGEST = "gibbs", "partition"


def warm_up(quiet: options.Quiet = False) -> int:
    """Compile all kernels now, so that no later run waits for it."""
    from concurrent.futures import ProcessPoolExecutor, as_completed, wait
    from multiprocessing import get_context

    from markovlogic.methods.table import all_methods
    from markovlogic.report.progress import shown_progress
    from markovlogic.running.worker_pool import cores

    begun = time.perf_counter()
    names = [method.name for method in all_methods() if method.samples or method.plain_settings() is not None]
    with shown_progress(quiet=quiet) as progress:
        progress.stage("compile kernels", 6 + len(names))
        with ProcessPoolExecutor(min(cores(), 1 + len(names)), mp_context=get_context("spawn")) as pool:
            # What Gibbs needs most other samplers need too, so they wait for it. What is long and stands alone comes first.
            leading = pool.submit(compile_for, LEADING)
            waiting = {leading: LEADING, pool.submit(compile_for, LONGEST): LONGEST}
            waiting |= {pool.submit(compile_counting): "counting", pool.submit(compile_for_learning): "learn"}
            wait([leading])
            waiting |= {pool.submit(compile_for, name): name for name in names if name not in (LEADING, LONGEST)}
            waiting[pool.submit(compile_for_map)] = "map"
            waiting[pool.submit(compile_for_clusters)] = "cluster"
            waiting[pool.submit(compile_compressions)] = "compression"
            waiting[pool.submit(compile_variants)] = "estimators and settings"
            for done, ended in enumerate(as_completed(waiting)):
                ended.result()
                progress.advance(1 + done, waiting[ended])
    if not quiet:
        seconds = time.perf_counter() - begun
        what = f"{len(names)} methods with their estimators, of compression, map, cluster and learn"
        show_message(f"all kernels of {what} are compiled ({seconds:.0f} s)")
    return 0


def compile_for(method: str) -> int:
    """Run a method on every kind of network that it takes by itself, for a moment; gives the number of runs."""
    from markovlogic.methods.table import AUTO

    return sum(_run(method, text, query, AUTO, chains) for text, query in MODELS.values() for chains in CHAINS)


def compile_counting() -> int:
    """Run every method that can on counts of groundings; gives the number of runs."""
    from markovlogic.methods.table import all_methods
    from markovlogic.networks.base import NetworkKind

    counting = NetworkKind.COUNTING
    able = [method.name for method in all_methods() if counting in method.networks]
    return sum(_run(name, text, query, counting, CHAINS[-1]) for name in able for text, query in MODELS.values())


def _run(method: str, text: str, query: str, network: str, chains: int) -> bool:
    """Two draws; gives whether the method can."""
    from markovlogic.api.infer import infer
    from markovlogic.errors import InferenceWarning, UnsupportedError
    from markovlogic.problem.model import Model

    options: dict[str, Any] = {"method": method, "network": network, "chains": chains}
    with suppress(UnsupportedError), warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)  # two draws are no answer
        infer(Model.parse(text), None, query, **options, draws=2, burn_in=1, progress=False)
        return True
    return False


def compile_variants() -> int:
    """Run every sampler with every estimator for a moment, and settings with kernels of their own; gives the number of runs."""
    from markovlogic.api.infer import infer
    from markovlogic.errors import InferenceWarning, InputError, UnsupportedError
    from markovlogic.methods.sampling.gibbs import Gibbs
    from markovlogic.methods.sampling.lifted_mh import LiftedMH
    from markovlogic.methods.sampling.mcsat import MCSAT
    from markovlogic.methods.sampling.orbital import Orbital
    from markovlogic.methods.sampling.tempered import Tempered
    from markovlogic.methods.table import all_methods
    from markovlogic.problem.model import Model

    text, query = MODELS["soft rules"]
    runs: list[dict[str, Any]] = [
        {"method": method.name, "estimator": estimator}
        for method in all_methods()
        if method.samples
        for estimator in ("sample", "orbit", "orbit-conditional")
    ]
    runs += [{"method": made} for made in (Gibbs(scan="random"), MCSAT(alternate=False), Orbital(base=MCSAT()))]
    runs += [{"method": made} for made in (Tempered(reweight=True), LiftedMH(flip=True), LiftedMH(propose="independent"))]
    for chosen in runs:
        with suppress(UnsupportedError, InputError), warnings.catch_warnings():
            warnings.simplefilter("ignore", InferenceWarning)
            infer(Model.parse(text), None, query, **chosen, draws=2, burn_in=1, progress=False)
    return len(runs)


def compile_compressions() -> int:
    """Run every compression for a moment, by counts of what objects are and by blocks of atoms; gives the number of runs."""
    from markovlogic.api.infer import infer
    from markovlogic.compression.table import TABLE, compressor_from
    from markovlogic.errors import InferenceWarning, InputError
    from markovlogic.methods.sampling.lifted_mh import LiftedMH
    from markovlogic.problem.model import Model

    text, query = MODELS["soft rules"]
    runs = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        infer(Model.parse(text), None, query, method=LiftedMH(propose="counts"), draws=8, burn_in=8, progress=False)
    for name in TABLE:
        for words in ((), ("weights=count", "diag=merged")):
            with suppress(InputError), warnings.catch_warnings():  # the words are settings of some
                made = compressor_from(name, None, None, words)
                warnings.simplefilter("ignore", InferenceWarning)  # two draws are no answer
                # the estimator needs draws, or counts of few states would be summed over
                infer(Model.parse(text), None, query, compress=made, estimator="conditional", draws=2, burn_in=1, progress=False)
                runs += 1
    return runs


def compile_for_map() -> int:
    """Look for the most probable world of every kind of network, by every method; gives the number of runs."""
    from markovlogic.api.maximize import maximize
    from markovlogic.map_inference.settings import MAP_METHODS
    from markovlogic.problem.model import Model

    for method in MAP_METHODS:
        for text, _ in MODELS.values():
            maximize(Model.parse(text), method=method.name, tries=2, flips=10)
    return len(MAP_METHODS) * len(MODELS)


def compile_for_learning() -> int:
    """Count what atoms and values of groups add to rules; gives the number of atoms. Chains are those of inference."""
    from markovlogic.data.readers import read_evidence
    from markovlogic.learning.counted import counted_rules
    from markovlogic.learning.databases import database_of
    from markovlogic.learning.features import FeatureIndex, prepare
    from markovlogic.problem.model import Model

    model = Model.parse(MODELS["everything"][0])
    database = database_of(model, read_evidence(model, []), list(model.predicates), "nothing")
    return len(counted_rules(prepare(model), database, FeatureIndex()).table(database.truth))


def compile_for_clusters() -> int:
    """Cluster the constants of an equivalence relation, some of them by chains; gives the number of clusters."""
    from markovlogic.api.cluster import cluster
    from markovlogic.problem.model import Model

    people = ", ".join(f"A{i}" for i in range(14))  # more than are solved by a visit of all partitions
    rules = f"p = {{{people}}}\nS(p, p)\nS(x, x).\nS(x, y) ^ S(y, z) => S(x, z).\nS(x, y) => S(y, x).\n-0.5 S(x, y)\n"
    rules += "".join(f"0.3 S(A{i}, A{i + 1})\n" for i in range(13))
    found = cluster(Model.parse(rules), predicate="S", draws=2, burn_in=1)
    return len(found.table()["cluster"].unique())
