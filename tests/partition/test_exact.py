"""Small parts, classes of constants, the network of pairs: held against exact inference on the same rules, fully grounded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.partition.models import random_model

import markovlogic as mln
from markovlogic.errors import InputError

SEEDS = range(24)


def results(problem: int, folder: Path, **options: object) -> list[object]:
    """What exact inference and partitions say; the error where they refuse."""
    rng = np.random.default_rng(problem)
    text, facts, query = random_model(rng, n=int(rng.integers(3, 5)))
    (folder / "facts.db").write_text(facts)
    found: list[object] = []
    for method, more in (("exact", {}), ("partition", options)):
        try:
            model = mln.Model.parse(text)
            found.append(mln.infer(model, folder / "facts.db", query, method=method, include_evidence=True, **more))
        except InputError as error:
            found.append(error)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_marginals_and_log_z_equal_those_of_all_worlds(seed: int, tmp_path: Path) -> None:
    truth, reported = results(seed, tmp_path)
    assert isinstance(truth, InputError) == isinstance(reported, InputError), (truth, reported)
    if isinstance(truth, InputError):
        return
    assert reported.guarantee == "exact" and not reported.run.chains  # type: ignore[attr-defined]
    np.testing.assert_allclose(reported.probability, truth.probability, rtol=0, atol=1e-12)  # type: ignore[attr-defined]
    assert reported.run.log_z == pytest.approx(truth.run.log_z, abs=1e-9)  # type: ignore[attr-defined]


# z of some sixty atoms of three problems: a false alarm in one of 10^6 runs, were intervals normal
LARGEST_Z = 6.0


@pytest.mark.parametrize("seed", [0, 5, 11])
def test_chains_agree_with_all_worlds(seed: int, tmp_path: Path) -> None:
    truth, reported = results(seed, tmp_path, keep_draws=True, chains=12, draws=1500, seed=1)
    assert worst_z(truth, reported) < LARGEST_Z


def worst_z(truth: object, reported: object) -> float:
    error, stderr = np.abs(reported.probability - truth.probability), reported.stderr  # type: ignore[attr-defined]
    assert reported.run.chains == 12 and (error[stderr == 0] < 1e-9).all()  # type: ignore[attr-defined]
    return float((error[stderr > 0] / stderr[stderr > 0]).max())


def test_the_check_notices_another_weight() -> None:
    rules = "Same(r, r)\nSame(x, x).\nSame(x, y) ^ Same(x, z) => Same(y, z).\n{} Same(x, y)\nr = {{A, B, C, D}}\n"
    truth, wrong = (mln.Model.parse(rules.format(weight)) for weight in ("-0.4", "-0.5"))
    reported = mln.infer(wrong, None, "Same", method="partition", keep_draws=True, chains=12, draws=1500, seed=1)
    assert worst_z(mln.infer(truth, None, "Same", method="exact"), reported) > LARGEST_Z
