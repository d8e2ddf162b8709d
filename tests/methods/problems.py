"""Small problems that between them hold everything a model can have, and their marginals by enumeration of worlds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
from tests.oracle.worlds import all_worlds

import markovlogic as mln
from markovlogic.data.readers import read_evidence
from markovlogic.data.sources import evidence_sources
from markovlogic.grounding.ground import ground
from markovlogic.problem import pose
from markovlogic.problem.names import atom_name
from markovlogic.problem.prepare import PreparedProblem

# name -> rules, facts by predicate, query
PROBLEMS: Mapping[str, tuple[str, Mapping[str, list[tuple[str, ...]]], str]] = {
    "soft": (
        "Smokes(person)\nFriends(person, person)\n0.7 Friends(x, y) ^ Smokes(x) => Smokes(y)\n-0.4 Smokes(x)\n",
        {"Friends": [("A", "B"), ("B", "C")]},
        "Smokes",
    ),
    "hard": (
        "p = {A, B, C, D}\nS(p)\nT(p)\n0.8 S(x)\n-0.5 T(x)\nT(x) => S(x).\nS(A) v S(B).\n",
        {},
        "S,T",
    ),
    "exclusive": (
        "page = {P, Q, R}\nkind = {U, V, W}\nK(page, kind!)\nL(page, page)\n0.8 L(p, q) ^ K(p, U) => K(q, U)\n-0.3 K(p, V)\n"
        "0.2 K(P, W) => K(Q, W)\n",
        {"L": [("P", "Q"), ("Q", "R")]},
        "K",
    ),
    "hidden": (
        "p = {A, B, C}\nS(p)\nT(p, p)\n1.1 S(x) <=> (EXIST y (T(x, y) ^ S(y)))\n-0.2 T(x, y)\n0.4 S(x)\n",
        {},
        "S,T",
    ),
    "no clauses": ("p = {A, B}\nS(p)\nT(p)\n0.3 S(x)\n", {}, "S,T"),
    "no atoms": ("S(p)\n0.3 S(x)\n", {"S": [("A",), ("B",)]}, "S"),
}


@cache
def prepared(name: str) -> PreparedProblem:
    """The problem, posed."""
    text, facts, query = PROBLEMS[name]
    model = mln.Model.parse(text)
    tables = {predicate: _table(rows) for predicate, rows in facts.items()}
    evidence = read_evidence(model, evidence_sources(tables))
    return PreparedProblem(pose(model, evidence, query))


def _table(rows: list[tuple[str, ...]]) -> object:
    import pyarrow as pa

    columns = list(zip(*rows, strict=True))
    return pa.table({f"a{i}": list(column) for i, column in enumerate(columns)})


@cache
def truth(name: str) -> dict[str, float]:
    """P(atom) of all open query atoms."""
    network = ground(prepared(name).problem, prepared(name).lowered)
    if not network.n_atoms:
        return {}
    marginal = all_worlds(network).marginal
    problem = prepared(name).problem
    return {atom_name(problem, atom): float(marginal[atom]) for atom in range(network.n_atoms)}


def inputs(name: str) -> tuple[mln.Model, object, str]:
    """Model, evidence and query as users give them."""
    text, facts, query = PROBLEMS[name]
    model = mln.Model.parse(text)
    return model, {predicate: _table(rows) for predicate, rows in facts.items()}, query


def worst_error(result: object, expected: dict[str, float]) -> tuple[float, float]:
    """The largest |estimate - truth|, and the largest of it in stated standard errors."""
    table = result.table().to_pydict()  # type: ignore[attr-defined]
    shown = {a: (p, s) for a, p, s in zip(table["atom"], table["probability"], table["stderr"], strict=True)}
    assert set(shown) <= set(expected)
    errors = np.array([abs(p - expected[a]) for a, (p, _) in shown.items()])
    scaled = [abs(p - expected[a]) / s if s else (0.0 if abs(p - expected[a]) < 1e-9 else np.inf) for a, (p, s) in shown.items()]
    return float(errors.max(initial=0.0)), float(np.max(scaled, initial=0.0))
