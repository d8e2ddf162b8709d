"""A problem solved by lifted rules and by enumeration or elimination of its ground network, side by side."""

from __future__ import annotations

import numpy as np
import pytest
from tests.grounding.from_text import prepared
from tests.strategies import RandomProblem

from markovlogic.errors import InputError
from markovlogic.grounding.ground import ground
from markovlogic.language.templates import LoweredModel
from markovlogic.methods.exact.solve import solve
from markovlogic.methods.lifted.answer import Refusal
from markovlogic.methods.lifted.proving import plan_proof
from markovlogic.methods.lifted.proving.prove import ProofSolution, ProofWork
from markovlogic.problem import Problem

TOLERANCE = 1e-10
CHAIN = "R(l)\nS(l,m)\nT(m,r)\n1 R(x) v S(x,y)\n1 S(x,y) v T(y,z)\n"


def type_of(name: str, size: int) -> str:
    """A type with constants that are named after it."""
    return f"{name} = {{{', '.join(f'{name.upper()}{i}' for i in range(size))}}}\n"


def planned(mln: str, db: str = "", *, open_: tuple[str, ...] = ()) -> ProofWork:
    work = plan_proof(*prepared(mln, db, open_=open_))
    assert not isinstance(work, Refusal), work.reason
    return work


def marginals(problem: Problem, solution: ProofSolution) -> np.ndarray:
    """Of all open atoms, in the order of their numbers."""
    return np.concatenate(
        [np.zeros(0), *(solution.marginal(name, problem.atoms.codes(name)) for name in problem.atoms.predicates)]
    )


def assert_exact(problem: Problem, lowered: LoweredModel) -> ProofWork | Refusal | None:
    """Log Z and marginals are those of the ground network; None where no world is possible, as both say."""
    work = plan_proof(problem, lowered)
    if isinstance(work, Refusal):
        return work
    try:
        expected = solve(ground(problem, lowered, threads=1))
    except InputError:
        with pytest.raises(InputError, match="no world"):
            work.solve()
        return None
    found = work.solve()
    assert found.log_z == pytest.approx(expected.log_z, abs=TOLERANCE)
    np.testing.assert_allclose(marginals(problem, found), expected.marginal, atol=TOLERANCE, rtol=0)
    return work


def drawn_problem(drawn: RandomProblem) -> tuple[Problem, LoweredModel] | None:
    """PreparedProblem and lowered; None where a rule contradicts itself."""
    try:
        return prepared(drawn.mln, drawn.db, open_=drawn.query)
    except InputError:
        return None
