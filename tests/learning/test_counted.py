"""Rules that are counted give the observations that grounding gives, and learn where grounding is refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.learning.made import Training, random_training, training
from tests.strategies import RandomProblem, problems

import markovlogic as mln
from markovlogic.errors import InputError, ResourceError
from markovlogic.language.load import parse
from markovlogic.learning import counted
from markovlogic.learning.counted import Wanted
from markovlogic.learning.pseudolikelihood import Design, design_of
from markovlogic.networks.counting import terms


@pytest.fixture
def counts_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count every rule that can be counted, however small it is."""
    monkeypatch.setattr(counted, "FEW_ROWS", -1)
    monkeypatch.setattr(counted, "SECONDS_A_ROW", math.inf)


def observations(of: Training) -> tuple[Design, np.ndarray]:
    """The design with its columns in the order of the weights' names."""
    design = design_of([of.counting], [of.database.truth], len(of.index))
    order = sorted(range(len(of.index)), key=lambda at: of.index.keys[at])
    return design, design.matrix.toarray()[:, order]


def difference(grounded: Training, counted: Training, rng: np.random.Generator) -> float:
    """The largest one of features, value and gradient at random weights; a weight that has no grounding is none."""
    one, dense = observations(grounded)
    other, dense_counted = observations(counted)
    names = [sorted(of.index.keys) for of in (grounded, counted)]
    weight = {key: rng.normal() for key in sorted({*names[0], *names[1]})}
    wide = [np.zeros((len(dense), len(weight))), np.zeros((len(dense_counted), len(weight)))]
    for made, part, own in zip(wide, (dense, dense_counted), names, strict=True):
        made[:, [list(weight).index(key) for key in own]] = part
    if wide[0].shape != wide[1].shape or not (one.label == other.label).all():
        return math.inf
    values = [
        design.value_and_gradient(np.array([weight[key] for key in of.index.keys]))[0]
        for design, of in ((one, grounded), (other, counted))
    ]
    return max(abs(values[0] - values[1]), float(np.abs(wide[0] - wide[1]).max(initial=0.0)))


def both(drawn: RandomProblem, folder: Path, seed: int) -> tuple[Training, Training] | None:
    """The same training data, grounded and counted; None where the data break a hard rule."""
    try:
        return random_training(drawn, folder, seed), random_training(drawn, folder, seed, Wanted.CHANGES)
    except InputError:
        return None


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(problems(max_atoms=10, max_rules=3), st.integers(0, 1000))
def test_counted_rules_give_the_same_observations(
    counts_everything: None, tmp_path_factory, drawn: RandomProblem, seed: int
) -> None:
    made = both(drawn, tmp_path_factory.mktemp("train"), seed)
    if made is not None:
        try:
            found = difference(*made, np.random.default_rng(seed))
        except InputError as error:  # hard rules that the data break, found with the rest of the world
            with pytest.raises(InputError) as again:
                observations(made[1])
            assert str(again.value) == str(error)
            return
        assert found < 1e-9


TRANSITIVE = """thing = {A, B, C, D, E}
kind = {K1, K2}
Same(thing, thing)
Kind(thing, kind!)
Red(thing)
Same(x, y) ^ Same(y, z) => Same(x, z)
!Same(x, y)
Red(x) ^ Red(y) => Same(x, y)
Same(x, y) ^ Kind(x, k) ^ Kind(y, k)
Kind(x, +k) ^ Red(x)
(EXIST y (Same(x, y) ^ Red(y))) => Red(x)
Same(x, x).
Same(x, y) => Same(y, x).
"""


def transitive(folder: Path, wanted: Wanted) -> Training:
    pairs = [("A", "B"), ("B", "A"), ("C", "D"), ("D", "C"), ("D", "E"), ("E", "D")]
    facts = [f"Same({x},{y})" for x, y in [*pairs, *((x, x) for x in "ABCDE")]]
    facts += ["Kind(A,K1)", "Kind(B,K1)", "Kind(C,K2)", "Kind(D,K2)", "Kind(E,K1)", "Red(A)", "Red(B)", "Red(D)"]
    return training(parse(TRANSITIVE), "\n".join(facts) + "\n", ["Same", "Kind", "Red"], folder, wanted)


def test_groups_hidden_parts_and_hard_rules(counts_everything: None, tmp_path: Path) -> None:
    grounded, counted = transitive(tmp_path, Wanted.CLAUSES), transitive(tmp_path, Wanted.CHANGES)
    assert counted.counting.counted is not None and len(counted.counting.hard) == 0
    assert {rule for rule, _ in counted.index.keys} == {0, 1, 2, 3, 4, 5}
    assert difference(grounded, counted, np.random.default_rng(0)) < 1e-9


def test_a_wrong_count_is_noticed(counts_everything: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the terms of factors that meet in one atom the observations must differ."""
    whole = terms.itertools.combinations
    monkeypatch.setattr(terms.itertools, "combinations", lambda items, n: whole(items, n) if n < 2 else ())
    counted = transitive(tmp_path, Wanted.CHANGES)
    monkeypatch.undo()
    assert difference(transitive(tmp_path, Wanted.CLAUSES), counted, np.random.default_rng(0)) > 1e-3


def clusters(n: int, seed: int) -> str:
    """Things in random clusters of which some pairs were missed."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, n // 6, n)
    same = (cluster[:, None] == cluster) & (rng.random((n, n)) < 0.9)
    return "\n".join(f"Same(T{x},T{y})" for x, y in np.argwhere(same).tolist()) + "\n"


RULES = "Same(thing, thing)\nSame(x, y) ^ Same(y, z) => Same(x, z)\n!Same(x, y)\nSame(x, y) => Same(y, x)\n"


def test_what_is_refused_grounded_learns_counted(tmp_path: Path) -> None:
    """Transitivity over 200 things has 8 million ground clauses, 2 GB of them; counted it takes some megabytes."""
    model, file = mln.Model.parse(RULES), tmp_path / "things.db"
    file.write_text(clusters(200, 1))
    options = {"prior": 2.0, "memory_limit": 500_000_000}
    with pytest.raises(ResourceError, match="would need about"):
        mln.learn(model, [str(file)], ["Same"], method="cd", **options)
    learned = mln.learn(model, [str(file)], ["Same"], method="pseudolikelihood", **options)
    assert learned.stats["network"] == "counting" and learned.stats["clauses"] is not None  # two rules are small
    assert learned.weights[0].weight > 0.5
    went_no_further = mln.learn(model, [str(file)], ["Same"], **options)
    assert any("would not fit" in concern for concern in went_no_further.concerns())
    assert [one.weight for one in went_no_further.weights] == [one.weight for one in learned.weights]


def test_counted_and_grounded_learn_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, file = mln.Model.parse(RULES), tmp_path / "things.db"
    file.write_text(clusters(60, 2))
    found = []
    for few in (10**9, 1000):
        monkeypatch.setattr(counted, "FEW_ROWS", few)
        found.append(mln.learn(model, [str(file)], ["Same"], method="pseudolikelihood", prior=2.0))
    assert [one.stats["network"] for one in found] == ["ground", "counting"]
    np.testing.assert_allclose(*([one.weight for one in learned.weights] for learned in found), atol=1e-6)
