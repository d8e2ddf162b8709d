"""`mln explain` and the run set the same thing of method, network and estimator, for every method on problems of all kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

import markovlogic as mln
from markovlogic.api.explain import explanation
from markovlogic.generate import NAMES, make, write
from markovlogic.methods.analysis import analysis_of
from markovlogic.methods.base import InferOptions
from markovlogic.methods.planner import make_plan
from markovlogic.methods.resources import Resources
from markovlogic.methods.table import TABLE, all_methods, method_named
from markovlogic.problem.prepare import prepare_problem
from markovlogic.running.sampling import Sampling
from markovlogic.system.measures import Stopwatch

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
METHODS = ["auto", *TABLE]
EXAMPLES = {"smokers": "Smokes,Cancer", "pages": "PageClass", "duplicates": "Same"}
# sizes at which every method is quick; what is beyond exact inference must be refused by both
SIZES = {"webkb": 8, "protein": 6, "er": 3, "grid": 3, "ising": 3, "chimera": 1, "synthetic": 4}


def assert_agreement(model: Path, evidence: list[Path], query: str, method: str) -> None:
    samples = method != "auto" and method_named(method).samples
    try:
        reported = mln.explain(model, evidence, query, method=method).plan
    except mln.MarkovLogicError as refusal:
        with pytest.raises(type(refusal)):
            mln.infer(model, evidence, query, method=method, **({"draws": 5} if samples else {}))
        return
    options = {"draws": 5, "chains": 2} if samples else {"target_stderr": 1.0}
    try:
        run = mln.infer(model, evidence, query, method=method, **options).run
    except (mln.ResourceError, mln.UnsupportedError):
        candidate = next(c for c in mln.explain(model, evidence, query, method=method).candidates if c.method == reported.method)
        assert not candidate.possible
        return
    assert (reported.method, reported.network, reported.estimator) == (run.method, run.network, run.estimator)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str, method: str) -> None:
    folder = ROOT / "examples"
    assert_agreement(folder / f"{name}.mln", [folder / f"{name}.db"], EXAMPLES[name], method)


# every method on a third of the families and every family by a third of the methods; plans are compared for all of them below
RUNS = [
    (name, method) for i, name in enumerate(NAMES) for j, method in enumerate(METHODS) if method == "auto" or (i + j) % 3 == 0
]


def family(name: str, folder: Path) -> tuple[Path, list[Path], str]:
    made = make(name, SIZES.get(name, 5), 0.3, 1)
    write(made, folder)
    return folder / f"{name}.mln", [folder / f"{name}.db"], made.query


@pytest.mark.parametrize(("name", "method"), RUNS)
def test_generated_families(name: str, method: str, tmp_path: Path) -> None:
    assert_agreement(*family(name, tmp_path), method)


def assert_plans_agree(model: Path, evidence: list[Path], query: str) -> None:
    """Every method, by the plan itself."""
    prepared = prepare_problem(model, evidence, query)
    with analysis_of(prepared, Resources(), Stopwatch()) as explained, analysis_of(prepared, Resources(), Stopwatch()) as run:
        for method in (None, *all_methods()):
            wanted = InferOptions(Sampling(), method)
            try:
                reported = explanation(explained, wanted).plan
            except mln.MarkovLogicError as refusal:
                with pytest.raises(type(refusal)):
                    make_plan(run, wanted)
                continue
            try:
                made = make_plan(run, wanted)
            except mln.ResourceError:
                assert "refused" in reported.reason
                continue
            assert (reported.method, reported.network, reported.estimator) == (
                made.main,
                made.plan.network,
                made.plan.estimator_name,
            )


@pytest.mark.parametrize("name", NAMES)
def test_plans_of_generated_families(name: str, tmp_path: Path) -> None:
    assert_plans_agree(*family(name, tmp_path))


SHARED = {
    "webkb": (["texas.db"], "Student"),
    "protein": (["protein.db"], "Func_id_1"),
    "er": (["cora-fold1.db"], "SameBib"),
}


@pytest.mark.skipif(not DATA.exists(), reason="the public benchmark data is not beside the project")
@pytest.mark.parametrize("name", SHARED)
def test_what_explain_says_of_the_benchmarks_is_planned(name: str) -> None:
    """Some methods would take long, and er is too dense to be grounded at all."""
    files, query = SHARED[name]
    assert_plans_agree(DATA / name / f"{name}.mln", [DATA / name / file for file in files], query)
