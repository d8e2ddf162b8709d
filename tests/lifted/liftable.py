"""Random problems that the cell method can take, and their answers by enumeration of worlds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from tests.oracle.worlds import Worlds, all_worlds
from tests.strategies import RandomProblem

from markovlogic.data.readers import read_evidence
from markovlogic.data.sources import evidence_sources
from markovlogic.grounding.ground import ground
from markovlogic.language.load import parse
from markovlogic.methods.lifted.answer import Solution
from markovlogic.methods.lifted.cells.cell_merging import Component
from markovlogic.methods.lifted.cells.closed import ClosedSums, free_set
from markovlogic.methods.lifted.cells.lattice import Sums
from markovlogic.methods.lifted.cells.numbers import Numbers
from markovlogic.problem import Problem, pose
from markovlogic.problem.prepare import PreparedProblem

Draw = Callable[[st.SearchStrategy[Any]], Any]

WEIGHTS = ["0.7", "-0.4", "1.3", "-2", "0.1"]


def prepared(mln: str, db: str = "", query: str = "", **worlds: Any) -> PreparedProblem:
    """A problem from its texts."""
    import tempfile
    from pathlib import Path

    model = parse(mln)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "facts.db"
        file.write_text(db)
        evidence = read_evidence(model, evidence_sources([str(file)] if db else None))
    return PreparedProblem(pose(model, evidence, query, **worlds))


def enumerated(problem: PreparedProblem) -> Worlds:
    """Every world."""
    return all_worlds(ground(problem.problem, problem.lowered))


def all_marginals(problem: Problem, solution: Solution) -> npt.NDArray[np.float64]:
    """P(atom) of all open atoms, in the order of their numbers."""
    return np.concatenate([solution.marginal(name, problem.atoms.codes(name)) for name in problem.statuses])


@st.composite
def liftable(draw: Draw) -> RandomProblem:
    """Rules of one or two objects, existentials, counts of three or more, exclusive values; facts about single objects."""
    shape = draw(st.sampled_from(["people", "people", "two types", "values", "counts"]))
    names = {"people": ["A", "B", "C"], "counts": ["A", "B", "C", "D", "E", "H"]}.get(shape, ["A", "B"])
    lines = [f"p = {{{', '.join(names)}}}", "q = {M, N}", "S(p)", "T(p)"]
    atoms = ["S(x)", "S(y)", "T(x)", "S(A)", "T(B)"]
    if shape != "counts":
        lines.append("F(p, p)")
        atoms += ["F(x, y)", "F(y, x)", "F(x, x)", "F(A, x)"]
    if shape == "two types":
        lines += ["U(q)", "G(p, q)", "Flag"]
        atoms += ["U(v)", "G(x, v)", "Flag"]
    if shape == "values":
        lines += ["k = {V1, V2, V3}", "K(p, k!)"]
        atoms += ["K(x, V1)", "K(y, V2)", "K(x, c)"]
    for _ in range(draw(st.integers(1, 4))):
        lines.append(_rule(draw, atoms, counts=shape == "counts"))
    facts = []
    for name, of in (("S", names), ("T", names)):
        for constant in of:
            sign = draw(st.sampled_from([None, None, "", "!", "?"]))
            facts += [] if sign is None else [f"{sign}{name}({constant})"]
    if shape == "values":
        facts += draw(st.sampled_from([[], ["K(A,V1)"], ["!K(B,V2)"]]))
    elif shape != "counts" and draw(st.integers(0, 3)) == 0:
        facts.append(draw(st.sampled_from(["F(A,B)", "!F(A,A)", "!F(B,A)"])))
    query = ("S", "T") if shape == "counts" else ("S", "T", "F")
    return RandomProblem("\n".join(lines) + "\n", "\n".join(facts) + "\n" * bool(facts), query)


def _rule(draw: Draw, atoms: list[str], *, counts: bool) -> str:
    kind = draw(st.sampled_from(["clause", "clause", "exist", "iff", "apart", *["count"] * (1 + 4 * counts)]))

    def signed(choices: list[str]) -> str:
        return draw(st.sampled_from(["", "!"])) + draw(st.sampled_from(choices))

    if kind == "exist":
        body = " ^ ".join(signed([a for a in atoms if "x" in a or "y" in a]) for _ in range(draw(st.integers(1, 2))))
        formula = f"(EXIST y ({body})) v {signed(['S(x)', 'T(x)'])}"
    elif kind == "count":
        formula = f"{signed(['S(x)', 'T(x)'])} v {signed(['S(y)', 'T(y)'])} v {signed(['S(z)', 'T(z)'])}"
        formula += draw(st.sampled_from(["", " v x = y", " v x = y v y = z", " v S(w)", " v T(A)"]))
    elif kind == "iff":
        formula = f"{signed(atoms)} <=> {signed(atoms)}"
    else:
        formula = " v ".join(signed(atoms) for _ in range(draw(st.integers(1, 3))))
        if kind == "apart" and "x" in formula and "y" in formula.replace("EXIST y", ""):
            formula += " v x = y"
    if draw(st.integers(0, 6)) == 0:
        return f"{formula}."
    return f"{draw(st.sampled_from(WEIGHTS))} {formula}"


def always_closed(numbers: Numbers, component: Component) -> Sums | ClosedSums:
    """The closed form wherever there is one, cheap or not."""
    free = free_set(numbers, component)
    return Sums(numbers, component) if free is None else ClosedSums(numbers, component, free)
