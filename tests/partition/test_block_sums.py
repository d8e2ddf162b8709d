"""Sums by blocks: held against sums over all set partitions, on random pairs with and without unlisted ones."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.methods.partition import block_sums

AXIOMS = "Same(r, r)\nCand(r, r)\nSame(x, x).\nSame(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) => Same(x, z).\n"
N = 8


def random_pairs(seed: int) -> tuple[np.ndarray, str, str]:
    """(n, n) log-odds of pairs (-inf: impossible), rules and facts."""
    rng = np.random.default_rng([seed, 28])
    far = -float(rng.uniform(0.5, 3)) if seed % 2 else float("-inf")
    weight, facts = np.full((N, N), far), ""
    for a, b in itertools.combinations(range(N), 2):
        if rng.random() < rng.choice([0.25, 0.6]):
            weight[a, b] = rng.normal(0.5, 2.5)
            facts += f"Cand(R{a}, R{b})\n{1 / (1 + np.exp(-weight[a, b]))} Same(R{a}, R{b})\n"
    rule = "Same(x, y) => x = y v Cand(x, y) v Cand(y, x)"
    rules = f"{-far / 2!r} {rule}\n" if seed % 2 else f"{rule}.\n"
    return weight, f"r = {{{', '.join(f'R{i}' for i in range(N))}}}\n{AXIOMS}{rules}", facts


def all_labels(n: int) -> list[tuple[int, ...]]:
    """All partitions, as labels."""
    if n == 0:
        return [()]
    return [(*label, new) for label in all_labels(n - 1) for new in range(max(label, default=-1) + 2)]


def expected(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs together, all partitions and how likely each is."""
    labels = np.array(all_labels(N))
    same = labels[:, :, None] == labels[:, None, :]
    upper = np.triu(np.ones((N, N), bool), 1)
    total = np.where(same & upper, weight, 0.0).sum(axis=(1, 2))
    share = np.exp(total - total.max())
    share /= share.sum()
    return np.einsum("w,wij->ij", share, same), labels, share


def largest_error(seed: int, folder: Path, weight: np.ndarray | None = None) -> float:
    own, rules, facts = random_pairs(seed)
    (folder / "m.db").write_text(facts)
    found = mln.cluster(mln.Model.parse(rules), folder / "m.db", "Same", progress=False)
    assert found.guarantee == "exact" and found.converged is None and found.bound == 0.0
    return error_of(found, own if weight is None else weight)


def error_of(found: mln.Clustering, weight: np.ndarray) -> float:
    """The largest of pairs and clusters, against sums over all partitions."""
    true, labels, share = expected(weight)
    number = [int(name[1:]) for name in found.domain.names]
    pairs = found.pairs
    errors = [abs(p - true[number[a], number[b]]) for a, b, p in zip(pairs.one, pairs.other, pairs.probability, strict=True)]
    label = np.empty(N, int)
    label[number] = found.clusters.label
    for row, likely in zip(number, found.clusters.probability, strict=True):
        right = ((labels == labels[:, row : row + 1]) == (label == label[row])).all(axis=1)
        errors.append(abs(likely - share[right].sum()))
    return max(errors)


@pytest.mark.parametrize("seed", range(12))
def test_pairs_and_clusters_equal_sums_over_all_partitions(seed: int, tmp_path: Path) -> None:
    assert largest_error(seed, tmp_path) < 1e-9


def test_the_oracle_notices_another_weight(tmp_path: Path) -> None:
    for seed in range(4):
        weight = random_pairs(seed)[0]
        weight[np.isfinite(weight)] += 0.01
        assert largest_error(seed, tmp_path, weight) > 1e-4


def test_what_costs_too_much_is_left_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MOST_STEPS", "MOST_STATES", "MOST_BLOCKS"):
        monkeypatch.setattr(block_sums, limit, 4)
        assert largest_error(3, tmp_path) < 1e-9  # by a visit of all worlds


def test_what_is_left_out_changes_no_more_than_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and states that are unlikely are left out; an error larger than a tenth of the bound shows that it is needed."""
    monkeypatch.setattr(block_sums, "QUICK_STEPS", 0)
    monkeypatch.setattr("markovlogic.api.cluster.LEFT_OUT", 0.9)
    tightest = 0.0
    for seed in range(20):
        monkeypatch.setattr(block_sums, "LEAST_LIKELY", (0.2, 0.05, 0.01, 0.001)[seed % 4 :])
        weight, rules, facts = random_pairs(seed)
        (tmp_path / "m.db").write_text(facts)
        found = mln.cluster(mln.Model.parse(rules), tmp_path / "m.db", "Same", progress=False)
        error = error_of(found, weight)
        assert error <= found.bound + 1e-12
        if found.bound:
            assert found.guarantee == "bounded"
            tightest = max(tightest, error / found.bound)
    assert tightest > 0.1


def test_a_part_of_many_nodes(tmp_path: Path) -> None:
    """150 records in a row, each a candidate of the next alone: sums along the row."""
    rng = np.random.default_rng(26)
    odds = np.exp(rng.normal(0, 2, 149).clip(-4))
    facts = "".join(f"Cand(R{i}, R{i + 1})\n{o / (1 + o)!r} Same(R{i}, R{i + 1})\n" for i, o in enumerate(odds.tolist()))
    (tmp_path / "m.db").write_text(facts)
    rules = AXIOMS + "Same(x, y) => x = y v Cand(x, y) v Cand(y, x).\n"
    found = mln.cluster(mln.Model.parse(rules), tmp_path / "m.db", "Same", progress=False)
    before, after = np.ones(152), np.ones(152)  # of the records below, and from a record on
    for i in range(2, 151):
        before[i] = before[i - 1] + odds[i - 2] * before[i - 2]
    for i in range(148, -1, -1):
        after[i] = after[i + 1] + odds[i] * after[i + 2]
    true = before[:149] * odds * after[2:151] / before[150]
    number = np.array([int(name[1:]) for name in found.domain.names])
    low = np.minimum(number[found.pairs.one], number[found.pairs.other])
    assert found.guarantee == "exact"
    assert np.abs(found.pairs.probability - true[low]).max() < 1e-9


def test_room_for_blocks_is_found_in_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty parts of four records, and room for the blocks of three at once."""
    text = AXIOMS + "Same(x, y) => x = y v Cand(x, y) v Cand(y, x).\n"
    facts = "".join(
        f"Cand(R{p}{a}, R{p}{b})\n0.6 Same(R{p}{a}, R{p}{b})\n" for p in range(20) for a in "ABCD" for b in "ABCD" if a < b
    )
    (tmp_path / "m.db").write_text(facts)
    found = mln.cluster(mln.Model.parse(text), tmp_path / "m.db", "Same", progress=False)
    monkeypatch.setattr(block_sums, "KEPT_AT_ONCE", 47)
    again = mln.cluster(mln.Model.parse(text), tmp_path / "m.db", "Same", progress=False)
    assert len(set(found.pairs.probability.round(12))) == 1
    np.testing.assert_array_equal(found.pairs.probability, again.pairs.probability)
    np.testing.assert_array_equal(found.clusters.probability, again.clusters.probability)


def test_many_groups_with_unlisted_pairs(tmp_path: Path) -> None:
    """So many that grounding goes through the database, where the pairs of groups are listed only after a first look."""
    rng, weight, tables = np.random.default_rng(28), {}, {"Cand": ([], []), "Score": ([], [], [])}
    for group in range(900):
        for at in range(3):
            pair = f"R{group:03}{at}", f"R{group:03}{at + 1}"
            weight[pair] = float(rng.normal(2, 2))
            for column, value in zip(tables["Score"], (*pair, weight[pair]), strict=True):
                column.append(value)
            for column, value in zip(tables["Cand"], pair, strict=True):
                column.append(value)
    text = AXIOMS + "Score(r, r): real\n1 * Score(x, y)  Same(x, y)\n10 Same(x, y) => x = y v Cand(x, y) v Cand(y, x)\n"
    given = {name: dict(zip(("one", "other", "value"), columns, strict=False)) for name, columns in tables.items()}
    found = mln.cluster(mln.Model.parse(text), given, "Same", apart=True, progress=False)
    names = found.domain.names
    likely = {
        (names[a], names[b]): p for a, b, p in zip(found.pairs.one, found.pairs.other, found.pairs.probability, strict=True)
    }
    labels = np.array(all_labels(4))
    same = labels[:, :, None] == labels[:, None, :]
    for group in range(900):
        member = [f"R{group:03}{at}" for at in range(4)]
        own = np.array([[weight.get((a, b), -20.0) for b in member] for a in member])
        share = np.exp((np.where(same, own, 0.0) * np.triu(np.ones((4, 4)), 1)).sum(axis=(1, 2)))
        true = np.einsum("w,wij->ij", share / share.sum(), same)
        for a, b in itertools.combinations(range(4), 2):
            key = (member[a], member[b]) if (member[a], member[b]) in likely else (member[b], member[a])
            assert abs(likely.get(key, 0.0) - true[a, b]) <= found.bound < 0.02
