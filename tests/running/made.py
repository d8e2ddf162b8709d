"""Small networks and short calls, for the tests of runs."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.oracle.plain_gibbs import PlainGibbs

from markovlogic.networks.ground import GroundNetwork, network_of
from markovlogic.running.run_result import RunResult


def random_network(seed: int, n_atoms: int = 5, n_clauses: int = 6, scale: float = 1.0) -> GroundNetwork:
    rng = np.random.default_rng(seed)
    clauses = {}
    for _ in range(n_clauses):
        atoms = sorted(rng.choice(n_atoms, size=int(rng.integers(2, min(4, n_atoms + 1))), replace=False).tolist())
        clauses[tuple(2 * a + int(rng.integers(2)) for a in atoms)] = float(rng.exponential(scale))
    bias = {a: float(rng.normal(0, scale)) for a in range(n_atoms)}
    return network_of(n_atoms, [(w, list(ls)) for ls, w in clauses.items()], bias=bias)


def marginals(network: GroundNetwork) -> np.ndarray:
    """Exact marginals by enumeration."""
    n = network.n_atoms
    worlds = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1 == 1
    score = worlds @ np.where(np.isfinite(network.atom_bias), network.atom_bias, 0.0)
    for c in range(network.n_clauses):
        literals = network.clause_literal[network.clause_start[c] : network.clause_start[c + 1]]
        score += network.clause_weight[c] * (worlds[:, literals >> 1] == (literals & 1)).any(axis=1)
    weight = np.exp(score - score.max())
    return (weight[:, None] * worlds).sum(axis=0) / weight.sum()


def all_atoms(network: GroundNetwork) -> np.ndarray:
    return np.arange(network.n_atoms, dtype=np.int32)


def run(settings: Any, network: GroundNetwork, *, query_atoms: np.ndarray, **options: Any) -> RunResult:
    """A run by keywords: what is about the task, the schedule and the call, each to its own."""
    from markovlogic.estimation.estimator import resolved
    from markovlogic.running.run import Task
    from markovlogic.running.run import run as run_task
    from markovlogic.running.sampling import Sampling

    call = {name: options.pop(name) for name in ("worlds", "observers", "threads", "progress") if name in options}
    events, pools = options.pop("events", ()), options.pop("pools", None)
    wanted, fingerprint = options.pop("estimator", "auto"), options.pop("fingerprint", "")
    chains = options.pop("chains", 64)
    has = settings.has_conditionals
    pooled = pools is not None and bool(pools.n_pools or wanted != "auto")
    estimator = resolved(wanted, has_conditionals=has, cells=network.n_atoms * chains, has_pools=pooled)
    cubes = [(event,) if isinstance(event, np.ndarray) else event for event in events]  # a conjunction is one cube
    task = Task(settings, network, np.asarray(query_atoms, np.int32), cubes, estimator, pools, fingerprint)
    return run_task(task, Sampling(chains=chains, **options).schedule(chains), **call)


def plain_run(network: GroundNetwork, settings: Any = None, **options: Any) -> RunResult:
    options.setdefault("query_atoms", all_atoms(network))
    options.setdefault("chains", 8)
    options.setdefault("draws", 60)
    return run(settings or PlainGibbs(), network, **options)


def assert_same(first: RunResult, second: RunResult) -> None:
    """Bit for bit the same numbers."""
    for one, other in ((first.atoms, second.atoms), (first.events, second.events)):
        for name in ("mean", "stderr", "rhat", "ess", "never_moved", "chain_mean"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert (first.draws, first.updates, first.counts) == (second.draws, second.updates, second.counts)
    assert (first.kept is None) == (second.kept is None)
    if first.kept is not None:
        np.testing.assert_array_equal(first.kept, second.kept)
