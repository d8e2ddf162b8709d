"""The conditional likelihood with transitivity in it: gradients beside sums over all partitions, by the rules' own meaning."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.partition.test_clusters import all_labels

import markovlogic as mln
from markovlogic.data.readers import read_evidence
from markovlogic.learning import partitions
from markovlogic.learning.counted import Wanted
from markovlogic.learning.divergence import Likelihood
from markovlogic.learning.preparing import Prepared, Task, prepared
from markovlogic.methods.resources import Resources
from markovlogic.system.measures import Stopwatch

NAMES = "ABCDEF"
AXIOMS = "Same(x, x).\nSame(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) => Same(x, z).\n"


class Made:
    """A random training database: candidate pairs with levels, who is the same, and rules; with a coupling where `tied`."""

    def __init__(self, seed: int, *, n: int = 5, soft: bool = True, tied: bool = False) -> None:
        rng = np.random.default_rng([seed, 7])
        self.n, self.soft, self.tied = n, soft, tied
        pairs = list(itertools.combinations(range(n), 2))
        self.candidate = [pair for pair in pairs if rng.random() < 0.4] or pairs[:1]
        self.near = [pair for pair in self.candidate if rng.random() < 0.6] or self.candidate[:1]
        worlds = [label for label in all_labels(n) if self.possible(label)]
        self.label = worlds[int(rng.integers(len(worlds)))]
        self.good = rng.random(n) < 0.5
        self.model = mln.Model.parse(
            f"r = {{{', '.join(NAMES[:n])}}}\nSame(r, r)\nCand(r, r)\nNear(r, r)\nGood(r)\n{AXIOMS}"
            + ("" if soft else "Same(x, y) => x = y v Cand(x, y) v Cand(y, x).\n")
            + ("1 Same(x, y) => x = y v Cand(x, y) v Cand(y, x)\n1 !Same(x, y)\n" if soft else "")
            + "1 Near(x, y) ^ Same(x, y)\n"
            + ("1 Cand(x, y) ^ Same(x, y) ^ Good(x) => Good(y)\n1 Good(x)\n" if tied else "1 Cand(x, y) ^ Same(x, y)\n")
        )

    def possible(self, label: np.ndarray) -> bool:
        return self.soft or all(
            label[a] != label[b] or (a, b) in self.candidate for a, b in itertools.combinations(range(self.n), 2)
        )

    @property
    def facts(self) -> str:
        lines = [f"Cand({NAMES[a]}, {NAMES[b]})" for a, b in self.candidate]
        lines += [f"Near({NAMES[a]}, {NAMES[b]})" for a, b in self.near]
        lines += [f"Same({NAMES[a]}, {NAMES[b]})" for a in range(self.n) for b in range(self.n) if self.label[a] == self.label[b]]
        return "\n".join([*lines, *(f"Good({NAMES[a]})" for a in np.flatnonzero(self.good))]) + "\n"

    def counts(self, label: np.ndarray, good: np.ndarray) -> dict[str, float]:
        """N of each rule, by its text."""
        same = label[:, None] == label
        made = {"1 Near(x, y) ^ Same(x, y)": sum(same[pair] for pair in self.near)}
        if self.soft:
            made["1 !Same(x, y)"] = float((~same).sum())
            broken = sum(same[a, b] and (a, b) not in self.candidate for a, b in itertools.combinations(range(self.n), 2))
            made["1 Same(x, y) => x = y v Cand(x, y) v Cand(y, x)"] = -2 * broken
        if self.tied:
            broken = sum(same[a, b] and good[a] and not good[b] for a, b in self.candidate)
            made["1 Cand(x, y) ^ Same(x, y) ^ Good(x) => Good(y)"] = -broken
            made["1 Good(x)"] = float(good.sum())
        else:
            made["1 Cand(x, y) ^ Same(x, y)"] = sum(same[pair] for pair in self.candidate)
        return made

    def gradient(self, weights: dict[str, float]) -> dict[str, float]:
        """N(data) - E[N] over all partitions."""
        goods = [np.array(good) for good in itertools.product((False, True), repeat=self.n)] if self.tied else [self.good]
        found = [self.counts(label, good) for label in all_labels(self.n) if self.possible(label) for good in goods]
        score = np.array([sum(weights[rule] * count for rule, count in own.items()) for own in found])
        share = np.exp(score - score.max())
        share /= share.sum()
        data = self.counts(self.label, self.good)
        return {rule: data[rule] - sum(p * own[rule] for p, own in zip(share, found, strict=True)) for rule in data}

    def prepared(self, tmp_path) -> Prepared:  # type: ignore[no-untyped-def]
        (tmp_path / "m.db").write_text(self.facts)
        evidence = [read_evidence(self.model, [tmp_path / "m.db"])]
        task = Task(self.model, evidence, ("Same", "Good") if self.tied else ("Same",), False)
        return prepared(task, lambda _: Wanted.CLAUSES, Resources(), Stopwatch())


def compared(made: Made, ready: Prepared, seed: int, sweeps: int, steps: int, wrong: float = 0.0) -> np.ndarray:
    """(n_features, steps) estimated less true gradients, at random weights; `wrong` is added to the oracle's weights."""
    assert ready.partitions
    rng = np.random.default_rng(seed)
    names = [made.model.rules[number].text for number, _ in ready.index.keys]
    weights = rng.normal(0, 0.7, len(names))
    true = made.gradient({name: weight + wrong for name, weight in zip(names, weights, strict=True)})
    likelihood = Likelihood(ready.networks, seed)
    likelihood.gradient(weights, sweeps)
    found = np.array([likelihood.gradient(weights, sweeps) for _ in range(steps)])
    return (found - np.array([true[name] for name in names])).T


def test_unlisted_pairs_are_among_the_models(tmp_path) -> None:  # type: ignore[no-untyped-def]
    ready = [Made(seed).prepared(tmp_path) for seed in range(8)]
    assert sum(one.countings[0].partitions.network.has_far for one in ready) >= 3


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_gradients_are_sums_over_all_partitions(seed: int, soft: bool, tmp_path) -> None:  # type: ignore[no-untyped-def]
    made = Made(seed, soft=soft)
    ready = made.prepared(tmp_path)
    assert np.abs(compared(made, ready, seed, 1, 1)).max() < 1e-9
    assert np.abs(compared(made, ready, seed, 1, 1, wrong=0.05)).max() > 1e-5


# z of some four features of six problems: a false alarm in one of 10^6 runs, were means over 40 steps normal
LARGEST_Z = 6.5


@pytest.mark.parametrize(("seed", "soft", "tied"), [(0, True, True), (1, False, True), (2, True, True), (3, True, False)])
def test_gradients_of_chains(seed: int, soft: bool, tied: bool, tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(partitions, "weigh_by_pairs", lambda _, parts: np.zeros(parts.n_parts, np.bool_))
    made = Made(seed, soft=soft, tied=tied)
    ready = made.prepared(tmp_path)

    def worst(wrong: float) -> float:
        off = compared(made, ready, seed, 20, 40, wrong)
        return float(np.abs(off.mean(axis=1) / np.maximum(off.std(axis=1) / np.sqrt(39), 1e-6)).max())

    assert worst(0.0) < LARGEST_Z < worst(0.3)
