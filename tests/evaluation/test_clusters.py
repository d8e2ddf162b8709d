"""Scores of clusters, beside what the definitions say word for word."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markovlogic.cli.main import main
from markovlogic.errors import InputError
from markovlogic.evaluation.clusters import evaluate_clusters, expected_scores, read_clusters, score_clusters

LABELS = st.integers(1, 8).flatmap(lambda n: st.tuples(*(st.lists(st.integers(0, 3), min_size=n, max_size=n) for _ in range(2))))


def by_definition(found: list[int], true: list[int]) -> list[tuple[float, float]]:
    """Precision and recall of pairs, B-cubed and exact clusters; nan where there is nothing to divide by."""
    n = len(found)
    pairs = list(itertools.combinations(range(n), 2))
    message, real = ({(a, b) for a, b in pairs if label[a] == label[b]} for label in (found, true))

    def share(part: float, whole: float) -> float:
        return part / whole if whole else float("nan")

    blocks = [{frozenset(np.flatnonzero(np.array(label) == value)) for value in label} for label in (found, true)]
    own = [[next(block for block in side if i in block) for i in range(n)] for side in blocks]
    common = [len(own[0][i] & own[1][i]) for i in range(n)]
    return [
        (share(len(message & real), len(message)), share(len(message & real), len(real))),
        (sum(common[i] / len(own[0][i]) for i in range(n)) / n, sum(common[i] / len(own[1][i]) for i in range(n)) / n),
        (len(blocks[0] & blocks[1]) / len(blocks[0]), len(blocks[0] & blocks[1]) / len(blocks[1])),
    ]


@settings(deadline=None)
@given(LABELS)
def test_scores_are_the_definitions(labels: tuple[list[int], list[int]]) -> None:
    scores = score_clusters(*(np.array(label) for label in labels))
    for mine, (precision, recall) in zip((scores.pairs, scores.bcubed, scores.exact), by_definition(*labels), strict=True):
        np.testing.assert_allclose([mine.precision, mine.recall], [precision, recall], atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000))
def test_expected_precision_is_the_mean_over_worlds(seed: int) -> None:
    """Over a random distribution of partitions of four records."""
    rng, n = np.random.default_rng(seed), 4
    worlds = [w for w in itertools.product(range(n), repeat=n) if all(v <= max((-1, *w[:i])) + 1 for i, v in enumerate(w))]
    share = rng.dirichlet(np.full(len(worlds), 0.3))
    one, other = np.triu_indices(n, 1)
    probability = sum(p * (np.array(w)[one] == np.array(w)[other]) for p, w in zip(share, worlds, strict=True))
    label = np.array(worlds[int(rng.integers(len(worlds)))])
    same = [[np.array_equal(np.array(w) == w[i], label == label[i]) for i in range(n)] for w in worlds]
    right = share @ np.array(same, float)
    found = expected_scores(label, right, one, other, np.asarray(probability))
    each = [score_clusters(label, np.array(w)) for w in worlds]
    assert found.bcubed.precision == pytest.approx(sum(p * s.bcubed.precision for p, s in zip(share, each, strict=True)))
    assert found.exact.precision == pytest.approx(sum(p * s.exact.precision for p, s in zip(share, each, strict=True)))
    if (np.bincount(label) > 1).any():
        assert found.pairs.precision == pytest.approx(sum(p * s.pairs.precision for p, s in zip(share, each, strict=True)))
    assert 0 <= found.pairs.recall <= 1 + 1e-12 or np.isnan(found.pairs.recall)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "clusters.csv").write_text("id,cluster,probability\na,0,0.9\nb,0,0.9\nc,1,0.8\nd,2,1\n")
    (tmp_path / "truth.csv").write_text("rec_id,person\na,x\nb,x\nc,x\n")
    (tmp_path / "pairs.csv").write_text("a,b,score,probability\na,b,2,0.9\nb,c,-1,0.2\n")
    return tmp_path


def test_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "scores.json"
    command = ["evaluate", str(folder / "clusters.csv"), str(folder / "truth.csv"), "--pairs", str(folder / "pairs.csv")]
    assert main([*command, "-o", str(out)]) == 0
    found = json.loads(out.read_text())
    assert found["measured"]["pairs"] == {"precision": 1.0, "recall": 1 / 3, "f1": 0.5}
    assert found["measured"]["records"] == 3
    assert found["expected"]["pairs"]["precision"] == pytest.approx(0.9)
    assert found["expected"]["exact"]["precision"] == pytest.approx((0.9 + 0.8 + 1) / 3)
    assert found["pair_probabilities"]["rows"] == 2
    assert "1 records were left out" in found["notes"][0]
    assert main(command) == 0
    assert "B-cubed" in capsys.readouterr().out


def test_expected_scores_need_no_truth(folder: Path) -> None:
    out = folder / "scores.csv"
    assert main(["evaluate", str(folder / "clusters.csv"), "--pairs", str(folder / "pairs.csv"), "-o", str(out), "--quiet"]) == 0
    assert out.read_text().splitlines()[0] == "kind,scores,precision,recall,f1"
    assert [line.split(",")[0] for line in out.read_text().splitlines()[1:]] == ["expected"] * 3


def test_what_cannot_be_compared(folder: Path) -> None:
    (folder / "other.csv").write_text("id,cluster\nz,1\n")
    (folder / "wide.csv").write_text("one,two,three\na,b,c\n")
    (folder / "twice.csv").write_text("id,cluster\na,1\na,2\n")
    clusters = read_clusters(str(folder / "clusters.csv"))
    with pytest.raises(InputError, match="no record of"):
        evaluate_clusters(clusters, read_clusters(str(folder / "other.csv")))
    with pytest.raises(InputError, match="no columns id and cluster"):
        read_clusters(str(folder / "wide.csv"))
    with pytest.raises(InputError, match="record a has two rows"):
        read_clusters(str(folder / "twice.csv"))
    assert main(["evaluate", str(folder / "clusters.csv")]) == 2
