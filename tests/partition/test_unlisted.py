"""Pairs without a row of their own: held against sums over all set partitions, weighed by the rules' own meaning."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.partition.followed import outcomes, plain_moves
from tests.partition.test_clusters import all_labels

import markovlogic as mln
from markovlogic.data.readers import read_evidence
from markovlogic.grounding.ground import database_for, ground
from markovlogic.language.equivalence import equivalences
from markovlogic.methods import forecast
from markovlogic.methods.partition import apart, block_sums, exact, listed
from markovlogic.methods.partition.layout import layout_of, room_for
from markovlogic.methods.partition.network import PartitionNetwork, partition_network
from markovlogic.problem import pose
from markovlogic.problem.prepare import PreparedProblem

NAMES = "ABCDEF"


@dataclass(frozen=True)
class Made:
    """A random problem: weights, candidate pairs with log-odds of their own, known pairs, and one more atom for each record."""

    n: int
    far: float  # of every atom
    uncandidate: float  # of every atom that is no candidate
    candidate: dict[tuple[int, int], float]
    together: tuple[tuple[int, int], ...]
    never: tuple[tuple[int, int], ...]
    alike: float  # Good in candidate pairs that are together
    good: float

    @staticmethod
    def of(seed: int, n: int = 5) -> Made:
        rng = np.random.default_rng([seed, 3])
        pairs = list(itertools.combinations(range(n), 2))
        chosen = [pair for pair in pairs if rng.random() < 0.35] or pairs[:1]
        odds = {pair: float(rng.normal(1, 1.5)) for pair in chosen}
        rest = [pair for pair in pairs if pair not in odds]
        together = (chosen[0],) if rng.random() < 0.4 else ()
        never = (rest[int(rng.integers(len(rest)))],) if rest and rng.random() < 0.4 else ()
        alike, good = (float(rng.normal()), float(rng.normal())) if rng.random() < 0.5 else (0.0, 0.0)
        return Made(n, -float(rng.uniform(0, 1.2)), float(rng.uniform(0, 1.0)), odds, together, never, alike, good)

    @property
    def rules(self) -> str:
        text = f"r = {{{', '.join(NAMES[: self.n])}}}\nSame(r, r)\nCand(r, r)\nGood(r)\n"
        text += "Same(x, x).\nSame(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) => Same(x, z).\n"
        text += f"{self.far} Same(x, y)\n{self.uncandidate} Same(x, y) => x = y v Cand(x, y) v Cand(y, x)\n"
        if self.alike or self.good:
            text += f"{self.alike} Cand(x, y) ^ Same(x, y) ^ Good(x) => Good(y)\n{self.good} Good(x)\n"
        return text

    @property
    def facts(self) -> str:
        text = "".join(f"Cand({NAMES[a]}, {NAMES[b]})\n" for a, b in self.candidate)
        for (a, b), odds in self.candidate.items():
            if (a, b) not in self.together:
                text += f"{1 / (1 + np.exp(-odds))} Same({NAMES[b]}, {NAMES[a]})\n"
        text += "".join(f"Same({NAMES[a]}, {NAMES[b]})\n" for a, b in self.together)
        return text + "".join(f"!Same({NAMES[b]}, {NAMES[a]})\n" for a, b in self.never)

    def weighed(self) -> Iterator[tuple[np.ndarray, float]]:
        """All partitions, and what each weighs, Good summed out."""
        for label in all_labels(self.n):
            same = label[:, None] == label
            if any(not same[pair] for pair in self.together) or any(same[pair] for pair in self.never):
                continue
            weight = 2 * sum(
                self.far + self.uncandidate * -((a, b) not in self.candidate)
                for a, b in zip(*np.nonzero(np.triu(same, 1)), strict=True)
            )
            weight += sum(odds for pair, odds in self.candidate.items() if same[pair] and pair not in self.together)
            total = 0.0
            for good in itertools.product((0, 1), repeat=self.n):
                broken = sum(same[a, b] and good[a] and not good[b] for a, b in self.candidate)
                total += np.exp(self.good * sum(good) - self.alike * broken)
            yield label, weight + np.log(total)

    @property
    def probability(self) -> np.ndarray:
        """(n, n) of pairs."""
        weight = np.array([w for _, w in self.weighed()])
        share = np.exp(weight - weight.max())
        return np.array(sum(s * (x[:, None] == x) for s, (x, _) in zip(share / share.sum(), self.weighed(), strict=True)))

    def clustered(self, folder: Path, **options: object) -> mln.Clustering:
        (folder / "m.db").write_text(self.facts)
        return mln.cluster(mln.Model.parse(self.rules), folder / "m.db", "Same", progress=False, **options)  # type: ignore[arg-type]


def worst(made: Made, found: mln.Clustering) -> tuple[float, float]:
    """The largest error of a pair, absolutely and by standard errors."""
    true = made.probability
    at = found.domain.number_of
    rows = found.pairs_table().to_pylist()
    assert rows
    error = np.array([abs(row["probability"] - true[NAMES.index(row["first"]), NAMES.index(row["second"])]) for row in rows])
    stderr = np.array([row["stderr"] for row in rows])
    assert len(at) == made.n
    return float(error.max()), float((error / np.maximum(stderr, 1e-3)).max())


@pytest.mark.parametrize("seed", range(16))
def test_small_parts_equal_sums_over_all_partitions(seed: int, tmp_path: Path) -> None:
    made = Made.of(seed)
    found = made.clustered(tmp_path)
    assert found.guarantee == "exact" and worst(made, found)[0] < 1e-9
    for row in found.table().to_pylist():  # how likely clusters are exactly right
        own = np.array([found.clusters.label[found.domain.number_of[name]] for name in NAMES[: made.n]])
        members = own == own[NAMES.index(row["constant"])]
        weights = [(w, ((x == x[np.argmax(members)]) == members).all()) for x, w in made.weighed()]
        share = np.exp([w - max(w for w, _ in weights) for w, _ in weights])
        assert row["probability"] == pytest.approx(share @ [right for _, right in weights] / share.sum(), abs=1e-9)


def test_the_oracle_notices_another_weight(tmp_path: Path) -> None:
    made = Made.of(3)
    other = Made(**{**vars(made), "far": made.far - 0.05})
    assert worst(other, made.clustered(tmp_path))[0] > 1e-3


# z of some eight pairs of six problems: a false alarm in one of 10^6 runs, were intervals normal
LARGEST_Z = 6.0


@pytest.mark.parametrize("seed", range(6))
def test_chains_agree_with_all_partitions(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "MOST_NODES", 0)
    monkeypatch.setattr(block_sums, "MOST_NODES", 0)
    made = Made.of(seed)
    found = made.clustered(tmp_path, chains=8, draws=2000, seed=seed)
    assert found.guarantee == "exact" and worst(made, found)[1] < LARGEST_Z


def test_the_check_of_chains_notices_another_weight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "MOST_NODES", 0)
    monkeypatch.setattr(block_sums, "MOST_NODES", 0)
    made = Made.of(3)
    found = made.clustered(tmp_path, chains=8, draws=2000)
    assert worst(Made(**{**vars(made), "far": made.far - 0.2}), found)[1] > LARGEST_Z


def test_parts_are_apart_within_their_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also at weights that are no reason to treat anything apart; a bound a tenth as large would be wrong."""
    monkeypatch.setattr(apart, "LARGEST_ERROR", 0.0)
    monkeypatch.setattr(apart, "MOST_TIED", 0)
    largest, n_bounded = 0.0, 0
    for seed in range(8):
        made = Made(**{**vars(Made.of(seed, 6)), "far": -1.5, "alike": 0.0, "good": 0.0})
        found = made.clustered(tmp_path)
        error = worst(made, found)[0]
        if found.guarantee == "exact":  # most of the pairs differ from others, so that all were listed
            continue
        assert error <= found.bound
        largest, n_bounded = max(largest, error / found.bound), n_bounded + 1
    assert n_bounded > 3 and largest > 0.1


def network_of(made: Made, folder: Path) -> PartitionNetwork:
    """The network with unlisted pairs, also where so few pairs are not worth it."""
    (folder / "m.db").write_text(made.facts)
    model = mln.Model.parse(made.rules)
    prepared = PreparedProblem(pose(model, read_evidence(model, [folder / "m.db"]), ["Same"]))
    found = equivalences(model, prepared.lowered)
    lowered = found.without_axioms(prepared.lowered)
    with database_for(1 << 30, None) as database:
        few = listed.listed(prepared.problem, lowered, found.relations, database)
    assert few is not None
    return partition_network(few.problem, ground(few.problem, lowered), found.relations, few.unlisted)


def moved(network: PartitionNetwork, made: Made, move: object, **changed: object) -> float:
    """How far one move from the target leads away from it: by all worlds, and all outcomes of all random decisions."""
    net, room = layout_of(network), room_for(network, 1)
    node_of = network.relations[0].node_of
    weights: dict[tuple[int, ...], float] = {}
    for label, weight in made.weighed():
        weights[tuple(label)] = weight
    share = np.exp(np.array(list(weights.values())) - max(weights.values()))
    before = dict(zip(weights, share / share.sum(), strict=True))
    after = dict.fromkeys(before, 0.0)

    def far_block(net: object, chain: object, node: int, load: int, tape: object) -> int:
        near = set(chain.option[: chain.n_near[0]].tolist())  # type: ignore[attr-defined]
        there = set(chain.block[chain.block >= 0].tolist())  # type: ignore[attr-defined]
        fits = sorted(block for block in there if chain.load[block] == load and block not in near)  # type: ignore[attr-defined]
        return fits[tape.decide(np.full(len(fits), 1 / len(fits)))]  # type: ignore[attr-defined]

    scope = plain_moves(**{"far_block": far_block, **changed})
    from tests.partition.followed import chain_at

    for start, chance in before.items():

        def run(tape: object, start: tuple[int, ...] = start) -> tuple[int, ...]:
            chain = chain_at(room)
            chain.world[:] = network.rows.atom_bias == np.inf
            blocks = np.array([start[int(np.flatnonzero(node_of == node)[0])] for node in range(network.n_nodes)])
            chain.block[:] = blocks
            for a, b, row in zip(*network.pairs, strict=True):
                chain.world[row] = blocks[a] == blocks[b]
            scope["begin"](net, chain)
            move(scope, net, chain, tape)  # type: ignore[operator]
            assert chain.broken[0] == 0 and (chain.side == -1).all() and not chain.found.any() and not chain.tally.any()
            loads = np.bincount(chain.block, network.mass, minlength=network.n_nodes)
            assert (loads == chain.load).all()
            for a, b, row in zip(*network.pairs, strict=True):
                assert chain.world[row] == (chain.block[a] == chain.block[b])
            of = chain.block[node_of]
            return tuple(np.unique(of, return_index=True)[1].argsort().argsort()[np.unique(of, return_inverse=True)[1]].tolist())

        for likely, where in outcomes(run):
            after[where] += chance * likely
    return max(abs(after[key] - before[key]) for key in before)


PLAIN = [
    Made(4, -0.4, 0.3, {(0, 1): 0.8}, (), (), 0.0, 0.0),
    Made(5, -0.3, 0.2, {(0, 1): 0.8, (1, 2): -0.5}, (), ((2, 4),), 0.0, 0.0),
    Made(5, -0.2, 0.1, {(0, 1): 0.8, (1, 2): 0.9}, ((0, 1),), (), 0.0, 0.0),
]


@pytest.mark.parametrize("made", PLAIN)
def test_moves_leave_the_target_invariant(made: Made, tmp_path: Path) -> None:
    network = network_of(made, tmp_path)
    assert network.has_far
    for node in range(2):
        assert moved(network, made, lambda scope, net, chain, tape, node=node: scope["move_node"](net, chain, node, tape)) < 1e-12
    if not len(network.edge):
        return
    first, second = network.edge[0]

    def both(scope: dict, net: object, chain: object, tape: object, scans: int = 0) -> None:  # type: ignore[type-arg]
        scope["split_or_merge"](net, chain, int(first), int(second), scans, tape)

    assert moved(network, made, both) < 1e-12
    assert moved(network, made, lambda *args: both(*args, scans=-1)) < 1e-12
    assert moved(network, made, lambda *args: both(*args, scans=-1), between=lambda *args: 0.0) > 1e-6


def test_marginals_of_whole_relations_list_few_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a relation has very many atoms, those that differ from others are answered, with all others summed over."""
    monkeypatch.setattr(forecast, "MANY_ROWS", 5)
    few, other_weight = 0, 0.0
    for seed in range(8):
        made = Made(**{**vars(Made.of(seed)), "alike": 0.0, "good": 0.0})
        (tmp_path / "m.db").write_text(made.facts)
        found = mln.infer(mln.Model.parse(made.rules), tmp_path / "m.db", "Same", progress=False)
        rows = found.to_pandas()
        at = rows["arg1"].map(NAMES.index), rows["arg2"].map(NAMES.index)
        assert np.abs(rows["probability"] - made.probability[at]).max() < 1e-9
        planted = Made(**{**vars(made), "far": made.far - 0.05}).probability[at]
        other_weight = max(other_weight, float(np.abs(rows["probability"] - planted).max()))
        few += any("no rule tells" in remark for remark in found.remarks)
    assert few >= 3 and other_weight > 1e-3


@pytest.mark.parametrize("seed", range(10))
def test_the_heaviest_partition_is_found(seed: int, tmp_path: Path) -> None:
    made = Made(**{**vars(Made.of(seed, 6)), "alike": 0.0, "good": 0.0})
    (tmp_path / "m.db").write_text(made.facts)
    world = mln.maximize(mln.Model.parse(made.rules), tmp_path / "m.db", "Same", include_evidence=True, progress=False)
    true = np.array([[f"Same({a},{b})" in set(world) for b in NAMES] for a in NAMES])
    best = max(weight for _, weight in made.weighed())
    assert max(weight for label, weight in made.weighed() if ((label[:, None] == label) == true).all()) == pytest.approx(best)
    assert world.bound == pytest.approx(world.log_weight)
