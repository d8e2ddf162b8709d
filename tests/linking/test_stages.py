"""The stages of linking, each beside a slow version: levels, blocking, EM."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from markovlogic.errors import InputError
from markovlogic.linking import blocking, weights
from markovlogic.linking.comparisons import compare, comparisons_of
from markovlogic.linking.database import Database, database
from markovlogic.linking.records import read_records
from markovlogic.linking.weight_errors import with_errors, with_errors_of_labels

TABLE = {
    "id": [str(at) for at in range(8)],
    "name": ["anna", "anna", "anan", "bernd", None, "bernt", "carla maria", "Maria, Carla"],
    "born": ["1980-02-03", "1980-02-03", "1980-03-02", "1991-12-24", "1991-12-24", None, "1970-01-01", "1971-01-01"],
    "mail": ["a@x.de", "a@x.de", "b@x.de", "c@y.de", None, "c@z.de", "d@x.de", "d@x.de"],
}


def distance(a: str, b: str) -> int:
    """Damerau and Levenshtein's, with swaps of neighbours."""
    cost = np.arange(len(b) + 1)[None, :] + np.arange(len(a) + 1)[:, None]
    for i, j in itertools.product(range(1, len(a) + 1), range(1, len(b) + 1)):
        cost[i, j] = min(cost[i - 1, j] + 1, cost[i, j - 1] + 1, cost[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            cost[i, j] = min(cost[i, j], cost[i - 2, j - 2] + 1)
    return int(cost[-1, -1])


def normal(value: str | None, column: str) -> str | None:
    if value is None:
        return None
    lower = value.lower().replace(",", " ")
    return lower.replace("-", "") if column == "born" else " ".join(lower.split())


def test_levels_are_what_they_say() -> None:
    one, other = (side.astype(np.int32) for side in np.triu_indices(8, 1))
    with database(1 << 30) as db:
        records = read_records(db, [TABLE])
        comparisons = comparisons_of(db, records)
        level = compare(db, comparisons, one, other)
    assert [(c.name, c.column.kind) for c in comparisons] == [("name", "name"), ("born", "date"), ("mail", "email")]
    for at, comparison in enumerate(comparisons):
        values = [normal(value, comparison.name) for value in TABLE[comparison.name]]
        for pair, (x, y) in enumerate(zip(one, other, strict=True)):
            a, b = values[x], values[y]
            label = comparison.levels[level[pair, at]]
            if a is None or b is None:
                assert label == "missing"
            elif a == b:
                assert label.startswith("equal")
            elif comparison.name == "name" and sorted(a.split()) == sorted(b.split()):
                assert label == "same words"
            elif distance(a, b) <= 1:
                assert label == "one typo"
            else:
                assert label not in ("missing", "one typo", "same words") and not label.startswith("equal")


def pairs_by_hand(keys: list[tuple[str | None, ...]]) -> set[tuple[int, int]]:
    return {
        (x, y)
        for x, y in itertools.combinations(range(len(keys)), 2)
        if None not in keys[x] and None not in keys[y] and keys[x] == keys[y]
    }


def test_blocking_takes_and_counts_the_pairs_of_its_rules() -> None:
    name = [normal(value, "name") for value in TABLE["name"]]
    born = [normal(value, "born") for value in TABLE["born"]]
    by_hand = {
        "born": pairs_by_hand([(value,) for value in born]),
        "name:2": pairs_by_hand([(value and value[:2],) for value in name]),
        "name, born": pairs_by_hand(list(zip(name, born, strict=True))),
    }
    with database(1 << 30) as db:
        records = read_records(db, [TABLE])
        comparisons_of(db, records)
        for text, expected in by_hand.items():
            rules = blocking.given_rules(db, records, [text])
            found = blocking.pairs_of(db, records, rules, one_to_one=False, memory_limit=1 << 30)
            assert rules[0].pairs == len(expected)
            assert set(zip(found.one.tolist(), found.other.tolist(), strict=True)) == expected


def proposed(db: Database, n: int) -> set[tuple[int, int]]:
    rng = np.random.default_rng(n)
    table = {"name": [f"n{v}" for v in rng.zipf(1.5, n) % 400], "town": [f"t{v}" for v in rng.integers(0, 30, n)]}
    records = read_records(db, [table], kinds={"name": "name", "town": "name"})
    comparisons_of(db, records)
    found = blocking.proposed_pairs(db, records, one_to_one=False, memory_limit=1 << 30)
    rules, one, other = found.rules, found.one, found.other
    expected: set[tuple[int, int]] = set()
    for rule in rules:
        if rule.keys and all(key.label in table for key in rule.keys):
            keys = list(zip(*(table[key.label] for key in rule.keys), strict=True))
            size = {key: keys.count(key) for key in set(keys)}
            some = {pair for pair in pairs_by_hand(keys) if rule.most is None or size[keys[pair[0]]] <= rule.most}
            assert rule.pairs == len(some)
            expected |= some
    found = set(zip(one.tolist(), other.tolist(), strict=True))
    assert expected <= found
    return found


def test_proposed_rules_count_their_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking, "ALL_PAIRS", 10)
    monkeypatch.setattr(blocking, "LEAST_PAIRS", 300)
    with database(1 << 30) as db:
        assert len(proposed(db, 120)) > 100


def test_em_is_that_of_the_mixture() -> None:
    """One step of EM with independent columns, beside the same step row by row; and every step makes the data likelier."""
    rng = np.random.default_rng(3)
    rows = np.stack([rng.integers(0, 4, 300), rng.integers(0, 3, 300)], axis=1).astype(np.int8)
    known = np.full(300, -1, np.int8)
    known[:5], known[5:12] = 1, 0
    patterns = weights.patterns_of(rows, known, np.zeros((0, 2), np.int8), 0.0, 300, (4, 3), (3, 2))
    assert patterns.total.sum() == 300
    learned = weights.learn(patterns, forest=False)
    p = 1 / (1 + np.exp(-learned.score(rows)))
    p = np.where(known >= 0, known, p)
    assert learned.matches == pytest.approx(p.sum(), rel=1e-2)
    guesses = weights.first_guesses(patterns)
    for at, number in enumerate((4, 3)):
        same = np.array([p[rows[:, at] == level].sum() for level in range(number)]) + weights.GUESSED * guesses[at]
        different = np.array([(1 - p)[rows[:, at] == level].sum() for level in range(number)]) + weights.FEW / number
        m, u = same / same.sum(), different / different.sum()
        m[1:] *= (1 - u[0]) / (1 - m[0])
        np.testing.assert_allclose(learned.table[at][0, 1:], np.log(m[1:] / u[1:]), atol=0.02)
        assert learned.table[at][0, 0] == 0  # that a value is missing says nothing


def mixture(rng: np.random.Generator, n: int, copied: bool) -> tuple[np.ndarray, np.ndarray]:
    """Levels of pairs of which a twentieth is the same; `copied` repeats the first column."""
    same = rng.random(n) < 0.05
    columns = [np.where(rng.random(n) < np.where(same, 0.9, 0.03), 2, 1) for _ in range(5)]
    if copied:
        columns.append(columns[0])
    return np.stack(columns, axis=1).astype(np.int8), same


@pytest.mark.parametrize("copied", [False, True])
def test_em_finds_the_mixture_and_counts_a_copied_column_once(copied: bool) -> None:
    rows, same = mixture(np.random.default_rng(5), 40_000, copied)
    none, n = np.full(len(rows), -1, np.int8), rows.shape[1]
    patterns = weights.patterns_of(rows, none, np.zeros((0, n), np.int8), 0.0, 8_000, (3,) * n, (2,) * n)

    def off(learned: weights.Weights) -> float:
        """How far the expected number of pairs that are the same is from the truth, among rows that agree in the first column."""
        chosen = rows[:, 0] == 2
        p = 1 / (1 + np.exp(-learned.score(rows[chosen])))
        return abs(float(p.sum()) / same[chosen].sum() - 1)

    learned = weights.learn(patterns)
    assert (max(learned.parent) >= 0) is copied
    assert off(learned) < 0.03
    if copied:  # the planted error: taken as independent, the copy counts twice
        assert off(weights.learn(patterns, forest=False)) > 0.05


def test_labels_make_weights() -> None:
    """Where the values that EM would believe in say the opposite, labels decide."""
    rng = np.random.default_rng(7)
    rows = rng.integers(1, 3, (4000, 3)).astype(np.int8)
    truth = (rows[:, 0] == 1).astype(np.int8)
    patterns = weights.patterns_of(rows, truth, np.zeros((0, 3), np.int8), 0.0, 4000, (3,) * 3, (2,) * 3)
    learned = weights.discriminate(weights.learn(patterns), rows, truth)
    assert ((learned.score(rows) > 0) == (truth > 0)).all()


def test_two_columns_with_one_name() -> None:
    import pyarrow as pa

    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["x", "x"])
    with database(1 << 30) as db, pytest.raises(InputError, match="columns with the same name: x"):
        read_records(db, [table])


def test_recall_and_missed_pairs_are_those_of_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three rules over sets of pairs: shares of probability, and Chao's bound by pairs that one and two rules take."""
    taken = [{0, 1, 2, 3}, {2, 3, 4}, {3, 5}]
    rules = tuple(blocking.BlockingRule(name, (blocking.Key(name, name, name),), None, 1) for name in "abc")
    times = np.array([sum(pair in rule for rule in taken) for pair in range(6)], np.int32)
    sample = tuple(np.array(sorted(rule)) for rule in taken)
    numbers = np.arange(6, dtype=np.int32)
    found = blocking.Candidates(rules, numbers, numbers + 6, times, sample)
    likely = np.array([0.9, 0.1, 0.8, 1.0, 0.5, 0.2])
    once, twice = 0.9 + 0.1 + 0.5 + 0.2, 0.8
    missed = found.missed(likely)
    assert missed == pytest.approx(once**2 / (2 * twice))
    total = likely.sum() + missed
    assert found.recall(likely, missed) == pytest.approx([likely[list(rule)].sum() / total for rule in taken])
    assert np.isnan(blocking.Candidates(rules[:1], numbers, numbers + 6, times, sample[:1]).missed(likely))


def test_pairs_are_counted_alike_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(n: int = 400) -> blocking.Candidates:
        rng = np.random.default_rng(n)
        table = {name: [f"{name}{v}" for v in rng.integers(0, 60, n)] for name in ("given", "town", "street")}
        with database(1 << 30) as db:
            records = read_records(db, [table], kinds=dict.fromkeys(table, "name"))
            comparisons_of(db, records)
            rules = blocking.given_rules(db, records, ["given", "town", "street", "given, town"])
            return blocking.pairs_of(db, records, rules, one_to_one=False, memory_limit=1 << 30)

    whole = taken()
    monkeypatch.setattr(blocking, "MERGED_AT_ONCE", 300)
    pieces = taken()
    for name in ("one", "other", "times"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(pieces, name))
    assert whole.times.max() >= 2 and [len(own) for own in whole.sample] == [rule.pairs for rule in whole.rules]


def squared_errors(runs: int) -> tuple[float, float]:
    """Mean squared error of a weight, in standard errors; and in those that would hold, were all labels known."""
    own, naive = [], []
    true = np.log(0.2 * 0.7 / (0.85 * 0.95))
    for seed in range(runs):
        rng = np.random.default_rng([seed, 11])
        same = rng.random(20_000) < 0.05
        columns = []
        for _ in range(4):
            level = np.where(rng.random(len(same)) < np.where(same, 0.8, 0.15), 3, 1)
            level[(level == 1) & (rng.random(len(same)) < np.where(same, 0.3, 0.05))] = 2
            columns.append(np.where(rng.random(len(same)) < 0.1, 0, level))
        rows, none = np.stack(columns, axis=1).astype(np.int8), np.zeros((0, 4), np.int8)
        patterns = weights.patterns_of(rows, np.full(len(rows), -1, np.int8), none, 0.0, 8_000, (4,) * 4, (3,) * 4)
        learned = with_errors(weights.learn(patterns, forest=False), patterns)
        for table, error, m in zip(learned.table, learned.stderr, learned.same, strict=True):
            own.append((table[0, 1] - true) / error[0, 1])
            naive.append((table[0, 1] - true) * np.sqrt(m[0, 1] * learned.matches))
    return float(np.mean(np.square(own))), float(np.mean(np.square(naive)))


def test_standard_errors_of_weights_are_as_large_as_errors() -> None:
    """160 squares of about normal numbers: their mean is off by 0.55 in one of 10^6 runs; errors of known labels are smaller."""
    own, naive = squared_errors(40)
    assert abs(own - 1) < 0.55
    assert naive > 1.55


def test_standard_errors_of_labelled_weights_are_those_of_the_regression() -> None:
    """Beside the dense information matrix of the same logistic regression."""
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 4, (2000, 3)).astype(np.int8)
    truth = (rng.random(2000) < 1 / (1 + np.exp(1.5 * (2.0 - rows[:, 0])))).astype(np.int8)
    patterns = weights.patterns_of(rows, truth, np.zeros((0, 3), np.int8), 0.0, 2000, (4,) * 3, (3,) * 3)
    learned = with_errors_of_labels(weights.discriminate(weights.learn(patterns, forest=False), rows, truth), rows, truth)
    shows = np.concatenate([np.ones((2000, 1)), *(rows[:, [at]] == np.arange(4) for at in range(3))], axis=1)
    p = 1 / (1 + np.exp(-learned.score(rows)))
    error = np.sqrt(np.diag(np.linalg.inv(shows.T @ (shows * (p * (1 - p))[:, None]) + np.eye(13) / weights.STRENGTH**2)))
    assert learned.prior_stderr == pytest.approx(error[0])
    for at, table in enumerate(learned.stderr):
        np.testing.assert_allclose(table[0, 1:], error[1 + 4 * at :][1:4])
