"""What the Gibbs tests share: networks of every kind of site, exact draws packed into words, and the transition of one update."""

from collections.abc import Iterator
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from tests.oracle.worlds import Worlds, all_worlds, random_network

from markovlogic.methods.sampling.gibbs import LONG_FROM
from markovlogic.networks.ground import GroundNetwork, network_of

Words = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]


def networks() -> Iterator[tuple[str, GroundNetwork]]:
    """Small networks that between them hold every kind of site and clause."""
    rng = np.random.default_rng(11)
    yield "soft", random_network(rng, 8, 14, longest=3)
    yield "long", random_network(rng, 8, 12, longest=7)
    yield "hard", random_network(rng, 8, 8, hard=5, decided=1)
    yield "groups", random_network(rng, 9, 12, groups=3)
    yield "hard groups", random_network(rng, 9, 8, groups=3, hard=4)
    yield "hidden", random_network(rng, 7, 12, hidden=4)
    yield "everything", random_network(rng, 8, 10, groups=2, hidden=3, hard=3, decided=1, longest=5)
    yield "everything else", random_network(np.random.default_rng(5), 9, 12, groups=2, hidden=2, hard=2, longest=6)
    # 64-bit rows: huge weights that nearly cancel, and a hub with many clauses
    yield (
        "wide",
        network_of(
            4,
            [(50_000.0, [1, 3]), (50_000.25, [1, 2]), (1.0, [1, 3, 5]), (40_000.0, [0, 7]), (0.5, [0, 5, 7])],
            bias={0: -50_000.5},
        ),
    )
    yield (
        "forbidden values",
        network_of(6, [(1.0, [1, 9]), (0.7, [3, 8, 11])], groups=[[0, 1, 2], [3, 4]], bias={0: -np.inf, 3: 0.4, 5: 0.2, 1: -1.0}),
    )
    # clauses that have counters, among shorter ones
    rng = np.random.default_rng(12)
    yield "very long", with_long_clauses(rng, random_network(rng, 13, 6, hard=1), 6, 2)
    yield "long in groups", with_long_clauses(rng, random_network(rng, 13, 6, groups=3), 7, 3)
    yield "long hidden", with_long_clauses(rng, random_network(rng, 10, 6, groups=1, hidden=5), 7, 2)
    yield "long and wide", with_long_clauses(rng, random_network(rng, 12, 6, groups=1, scale=5_000.0), 5, 1, scale=5_000.0)
    yield "required value", network_of(5, [(1.0, [1, 7]), (0.7, [3, 9])], groups=[[0, 1, 2]], bias={1: np.inf, 3: 0.4})


def with_long_clauses(
    rng: np.random.Generator, network: GroundNetwork, soft: int, hard: int, scale: float = 2.0
) -> GroundNetwork:
    """Add so many clauses of ten literals and more, at most all atoms; most literals are false in most worlds."""
    marginal = all_worlds(network).marginal
    starts = zip(network.clause_start[:-1], network.clause_start[1:], strict=True)
    clauses = {tuple(network.clause_literal[a:b].tolist()): float(network.clause_weight[c]) for c, (a, b) in enumerate(starts)}
    for index in range(soft + hard):
        size = int(rng.integers(LONG_FROM, network.n_all + 1))
        atoms = np.sort(rng.choice(network.n_all, size, replace=False))
        signs = (marginal[atoms] < 0.5) ^ (rng.random(size) < 0.1)
        weight = np.inf if index >= soft else float(rng.exponential(scale)) + 1e-3
        clauses[tuple(int(v) for v in 2 * atoms + signs)] = weight
    groups = [network.group_atom[a:b].tolist() for a, b in zip(network.group_start[:-1], network.group_start[1:], strict=True)]
    bounds = zip(network.definition_start[:-1], network.definition_start[1:], strict=True)
    return network_of(
        network.n_atoms,
        [(weight, list(literals)) for literals, weight in clauses.items()],
        bias={atom: float(value) for atom, value in enumerate(network.atom_bias)},
        groups=groups,
        definitions=[network.definition_literal[a:b].tolist() for a, b in bounds],
    )


NETWORKS = dict(networks())


def limit(n_statistics: int, false_alarm: float = 1e-6) -> float:
    """The |z| that none of so many statistics exceeds, but for a false alarm."""
    return NormalDist().inv_cdf(1 - false_alarm / (2 * n_statistics))


def packed(world: Bools) -> Words:
    """Worlds of up to 64 chains, (chains, n_all), as chain-minor words."""
    shift = np.arange(len(world), dtype=np.uint64)[:, None]
    return np.bitwise_or.reduce(world.astype(np.uint64) << shift, axis=0)


def unpacked(words: Words, n_chains: int) -> Bools:
    return ((words[None, :] >> np.arange(n_chains, dtype=np.uint64)[:, None]) & np.uint64(1)) == 1


def sites(network: GroundNetwork) -> list[list[int]]:
    """Atoms and groups in the order in which a sweep visits them; a group stands where its first atom does."""
    rows = [network.group_atom[a:b].tolist() for a, b in zip(network.group_start[:-1], network.group_start[1:], strict=True)]
    grouped = {atom for row in rows for atom in row}
    single = [[a] for a in range(network.n_atoms) if a not in grouped and np.isfinite(network.atom_bias[a])]
    return sorted(single + rows)


def conditional(network: GroundNetwork, site: list[int], world: Bools) -> npt.NDArray[np.float64]:
    """P(atom true | rest of the world) for each atom of a site, from the float64 conditional."""
    group = _group_of(network, site)
    if group is None:
        return np.array([_logistic(network.log_odds(site[0], world))])
    log_weight = network.group_log_weights(group, world)
    share = np.exp(log_weight - log_weight.max())
    return share / share.sum()


def transition(network: GroundNetwork, worlds: Worlds, site: list[int]) -> npt.NDArray[np.float64]:
    """What one update of a site makes of the target distribution: (2^n,) probabilities."""
    after = np.zeros(len(worlds.probability))
    own = sum(1 << atom for atom in site)
    grouped = _group_of(network, site) is not None
    for index in np.flatnonzero(worlds.probability > 0):
        p = conditional(network, site, worlds.world[index])
        rest = int(index) & ~own
        if grouped:
            for atom, share in zip(site, p, strict=True):
                after[rest | 1 << atom] += worlds.probability[index] * share
        else:
            after[rest | own] += worlds.probability[index] * p[0]
            after[rest] += worlds.probability[index] * (1 - p[0])
    return after


def _group_of(network: GroundNetwork, site: list[int]) -> int | None:
    for group in range(network.n_groups):
        if network.group_atom[network.group_start[group] : network.group_start[group + 1]].tolist() == site:
            return group
    return None


def _logistic(x: float) -> float:
    return float(np.exp(-np.logaddexp(0.0, -x)))
