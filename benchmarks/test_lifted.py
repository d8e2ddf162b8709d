"""Lifted inference: seconds for all marginals of Friends & Smokers, by the number of people.

Aims, for a single core: 100 people in 0.2 s, 1,000 in 1 s, 10,000 in 10 s, with Smokes and Cancer queried and 10 % of the
people known to smoke or not. Reading is not counted; planning is.
"""

import resource

import numpy as np
import pytest

from markovlogic.generate.smokers import DECLARATIONS, RULES
from markovlogic.language.load import parse
from markovlogic.methods.lifted.answer import Refusal
from markovlogic.methods.lifted.cells import plan_cells
from markovlogic.problem import pose
from markovlogic.problem.prepare import PreparedProblem

pytestmark = pytest.mark.benchmark(group="lifted")

AIM = {100: 0.2, 1_000: 1.0, 10_000: 10.0}


def smokers(people: int, tmp_path, *, cancer: bool) -> PreparedProblem:
    from markovlogic.data.readers import read_evidence

    rng = np.random.default_rng(0)
    model = parse(f"person = {{{', '.join(f'P{i}' for i in range(people))}}}\n{DECLARATIONS}{RULES}")
    known = rng.permutation(people)[: people // 10]
    facts = [f"{'' if rng.random() < 0.2 else '!'}Smokes(P{i})\n" for i in known]
    if cancer:
        facts += [f"{'' if rng.random() < 0.3 else '!'}Cancer(P{i})\n" for i in rng.permutation(people)[: people // 10]]
    (tmp_path / "facts.db").write_text("".join(facts))
    evidence = read_evidence(model, [str(tmp_path / "facts.db")])
    made = PreparedProblem(pose(model, evidence, "Smokes,Cancer"))
    assert made.lowered
    return made


def all_marginals(prepared: PreparedProblem) -> float:
    work = plan_cells(prepared.problem, prepared.lowered)
    assert not isinstance(work, Refusal)
    solution = work.solve()
    for name in ("Smokes", "Cancer"):
        solution.marginal(name, prepared.problem.atoms.codes(name))
    return solution.log_z


@pytest.mark.parametrize("cancer", [False, True], ids=["smoking known", "cancer known too"])
@pytest.mark.parametrize("people", AIM)
def test_friends_and_smokers(benchmark, people, cancer, tmp_path):
    prepared = smokers(people, tmp_path, cancer=cancer)
    benchmark(all_marginals, prepared)
    benchmark.extra_info["aim_seconds"] = AIM[people]
    benchmark.extra_info["peak_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"{people} people: {benchmark.stats.stats.mean:.3f} s, aim {AIM[people]} s")
    assert benchmark.stats.stats.mean < AIM[people]


def test_draws(benchmark, tmp_path):
    """Worlds of 100 people a second: 10,200 atoms each, friendships among them."""
    prepared = smokers(100, tmp_path, cancer=True)
    work = plan_cells(prepared.problem, prepared.lowered)
    assert not isinstance(work, Refusal)
    solution = work.solve()
    benchmark(solution.draw, 100, 1)
    benchmark.extra_info["unit"] = "worlds"
    benchmark.extra_info["per_second"] = 100 / benchmark.stats.stats.mean
    benchmark.extra_info["peak_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
