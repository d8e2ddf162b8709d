"""Draws against enumeration: the law of whole worlds by chi-square, and twins with a planted error that must fail.

The statistic is compared with its chi-square law at a false-alarm rate of 1e-6 a test; seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from scipy.stats import chi2
from tests.grounding.from_text import prepared
from tests.lifted.proving.models import liftable
from tests.lifted.proving.solved import CHAIN, drawn_problem, type_of
from tests.oracle.worlds import all_worlds

from markovlogic.errors import InputError
from markovlogic.grounding.ground import ground
from markovlogic.language.load import parse
from markovlogic.methods.lifted.answer import Refusal
from markovlogic.methods.lifted.proving import plan_proof, shattering
from markovlogic.methods.lifted.proving.prove import ProofWork
from markovlogic.methods.lifted.proving.rules.elimination import EliminationNode
from markovlogic.methods.lifted.proving.rules.power import BinomialNode, PowerNode

FALSE_ALARM = 1e-6
DRAWS = 40_000
LEAST_EXPECTED = 8.0  # rarer worlds are one class

MODELS = {
    "binomial": (type_of("p", 3) + "friends(p,p)\nsmokes(p)\n1.1 friends(x,y) ^ smokes(x) => smokes(y)\n0.6 smokes(x)\n", ""),
    "self-join": (type_of("p", 4) + "s(p)\nt(p)\n0.8 s(x) ^ s(y) => t(x)\n-0.5 s(x)\n", "t(P0)\n"),
    "power": (type_of("l", 2) + type_of("m", 2) + type_of("r", 2) + CHAIN, "R(L0)\n"),
    "pairs": (type_of("p", 3) + "f(p,p)\ns(p)\n0.9 f(x,y) => f(y,x)\n0.7 f(x,y) ^ s(x) => s(y)\n", ""),
    "hard": (type_of("p", 3) + "f(p,p)\ns(p)\nf(x,y) => f(y,x).\n!f(x,x).\n0.7 f(x,y) ^ s(x) => s(y)\n0.2 f(x,y)\n", ""),
    "evidence": (
        type_of("p", 3) + "f(p,p)\ns(p)\nt(p)\n0.6 !f(x,y)\n1.1 f(x,y) ^ s(x) => s(y)\n1 s(P1)\n0.7 s(x) => t(x)\n",
        "t(P0)\n!t(P2)\nf(P0,P1)\nf(P1,P0)\n",
    ),
    "parts": (type_of("p", 2) + type_of("q", 3) + "a(p)\nb(q)\nc\n0.8 a(x) v c\n0.5 b(y) v c\n-0.4 a(x) ^ b(y)\n", ""),
    "existential": (type_of("p", 3) + "a(p)\nb(p,p)\n0.9 EXIST y b(x,y)\n1.1 a(x) => (EXIST y (b(x,y) ^ a(y)))\n", ""),
    "exclusive": (type_of("p", 2) + "c = {U,V,W}\nclass(p,c!)\nlink(p,p)\n0.8 class(x,z) ^ link(x,y) => class(y,z)\n", ""),
    "coins": (type_of("p", 2) + "a(p)\nidle(p,p)\n0.8 a(x)\n", ""),
}


def statistic(mln: str, db: str) -> tuple[float, float]:
    """Chi-square over worlds, and the bound that it passes at the false-alarm rate."""
    problem, lowered = prepared(mln, db, open_=tuple(parse(mln).predicates))
    work = plan_proof(problem, lowered)
    assert isinstance(work, ProofWork), work.reason if isinstance(work, Refusal) else work
    return compared(work, all_worlds(ground(problem, lowered, threads=1)).probability, DRAWS)


def compared(work: ProofWork, probability: np.ndarray, draws: int) -> tuple[float, float]:
    """The same, given the probability of every world."""
    assert len(probability) <= 2**12
    expected = probability * draws
    drawn = work.solve().draw(draws, seed=7)
    count = np.bincount(drawn @ (1 << np.arange(drawn.shape[1])), minlength=len(expected))
    assert count[expected == 0].sum() == 0, "an impossible world was drawn"
    rare = expected < LEAST_EXPECTED
    classes = [(count[~rare], expected[~rare])]
    if expected[rare].sum() > LEAST_EXPECTED:
        classes.append((count[rare].sum(keepdims=True), expected[rare].sum(keepdims=True)))
    found, wanted = (np.concatenate(one) for one in zip(*classes, strict=True))
    return float(((found - wanted) ** 2 / wanted).sum()), float(chi2.isf(FALSE_ALARM, max(1, len(found) - 1)))


@pytest.fixture(params=["small blocks", "no partial grounding"])
def grounding(request, monkeypatch):
    if request.param == "no partial grounding":
        monkeypatch.setattr(shattering, "SMALL", 1)


@pytest.fixture(scope="module", params=["small blocks", "no partial grounding"])
def grounding_of_random_models(request):
    before = shattering.SMALL
    shattering.SMALL = before if request.param == "small blocks" else 1
    yield
    shattering.SMALL = before


@pytest.mark.parametrize("name", list(MODELS))
def test_worlds_are_drawn_with_their_probability(name, grounding):
    found, bound = statistic(*MODELS[name])
    assert found < bound


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
@given(liftable(max_atoms=10))
def test_worlds_of_random_models(grounding_of_random_models, drawn):
    posed_ = drawn_problem(drawn)
    if posed_ is None or not len(posed_[0].atoms):
        return
    work = plan_proof(*posed_)
    try:
        worlds = all_worlds(ground(*posed_, threads=1))
    except InputError:
        return  # the evidence breaks a hard rule
    if isinstance(work, Refusal) or worlds.log_z == -np.inf:
        return
    found, bound = compared(work, worlds.probability, 4000)
    assert found < bound


def test_the_same_seed_gives_the_same_worlds():
    problem, lowered = prepared(*MODELS["power"])
    solution = plan_proof(problem, lowered).solve()
    assert (solution.draw(50, 3) == solution.draw(50, 3)).all()
    assert (solution.draw(50, 3) != solution.draw(50, 4)).any()


def test_many_objects_by_their_means():
    """20 × 20 objects, 820 atoms: means of predicates within five standard errors (6e-7 a comparison, two of them)."""
    n = 20
    problem, lowered = prepared(type_of("l", n) + type_of("m", n) + type_of("r", n) + CHAIN)
    solution = plan_proof(problem, lowered).solve()
    drawn = solution.draw(400, 5)
    for name in ("R", "T"):
        atoms = problem.atoms.range_of(name)
        means = drawn[:, atoms.start : atoms.stop].mean(axis=1)
        expected = solution.marginal(name, np.array([0]))[0]
        assert abs(means.mean() - expected) < 5 * means.std() / np.sqrt(len(means)) + 1e-12


# ---- planted errors: the test has the power to find them


def test_planted_fixed_subset(monkeypatch):
    """The binomial rule takes the first constants instead of random ones."""

    class Fixed(np.random.Generator):
        def permuted(self, block, axis):
            return np.array(block)

    branch = BinomialNode._branch

    def planted(self, numbers, copies, i, pen):
        branch(self, numbers, copies, i, type(pen)(pen.problem, pen.worlds, Fixed(pen.random.bit_generator)))

    monkeypatch.setattr(shattering, "SMALL", 1)
    monkeypatch.setattr(BinomialNode, "_branch", planted)
    found, bound = statistic(*MODELS["binomial"])
    assert found > bound


def test_planted_repeated_copy(monkeypatch):
    """The power rule draws one copy and repeats it: marginals are right, the joint law is not."""

    draw = PowerNode.draw

    def planted(self, numbers, copies, pen):
        n = int(numbers.size[0, self.block])
        worlds = pen.worlds
        draw(self, numbers, copies, pen)
        for binding, blocks in zip(copies.relations, self.theory.relations, strict=True):
            if binding.predicate is not None and len(blocks) == 1 and n > 1:
                columns = [
                    pen.problem.atoms.numbers(
                        binding.predicate,
                        _codes(pen.problem, binding, copies.blocks[self.block][:, at]),
                    )
                    for at in (0, 1)
                ]
                worlds[copies.world, columns[1]] = worlds[copies.world, columns[0]]

    def _codes(problem, binding, constants):
        from markovlogic.data.evidence import codes

        args = np.stack([constants if isinstance(slot, int) else slot for slot in binding.slots], axis=1)
        return codes(args, problem.statuses[binding.predicate].sizes)

    monkeypatch.setattr(shattering, "SMALL", 1)
    monkeypatch.setattr(PowerNode, "draw", planted)
    found, bound = statistic(type_of("l", 3) + "a(l)\nb(l)\nc(l)\n0.9 a(x) v b(x) v c(x)\n0.3 a(x)\n", "")
    assert found > bound


def test_planted_ignored_neighbour(monkeypatch):
    """Elimination draws every variable from its marginal."""

    def planted(self, numbers, copies, pen):
        count = self.evaluate(numbers).count[0]
        for relation, chance in enumerate(count):
            pen.flip(copies, relation, (), chance)

    monkeypatch.setattr(EliminationNode, "draw", planted)
    found, bound = statistic(type_of("l", 3) + "a(l)\nb(l)\nc(l)\n0.9 a(x) v b(x) v c(x)\n0.3 a(x)\n", "")
    assert found > bound
