"""Problems from rule and evidence text, and networks written back as text."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from markovlogic.data.evidence import UNKNOWN, decode
from markovlogic.data.readers import read_evidence
from markovlogic.grounding.ground import atom_name, ground
from markovlogic.language.load import parse
from markovlogic.language.lower import lower
from markovlogic.language.syntax import Model
from markovlogic.language.templates import LoweredModel
from markovlogic.networks.ground import GroundNetwork
from markovlogic.problem import Problem, pose


def prepared(mln: str, db: str = "", *, open_: Sequence[str] = (), closed: Sequence[str] = ()) -> tuple[Problem, LoweredModel]:
    """A problem and its lowered model."""
    problem = posed_model(parse(mln), db, open_=open_, closed=closed)
    return problem, lower(problem.model)


def posed_model(model: Model, db: str, *, open_: Sequence[str] = (), closed: Sequence[str] = ()) -> Problem:
    """A problem in which the predicates in `open_` are queried."""
    sources: list[str | Path] = []
    with tempfile.TemporaryDirectory() as directory:
        if db:
            path = Path(directory) / "facts.db"
            path.write_text(db)
            sources = [path]
        evidence = read_evidence(model, sources)
    return pose(model, evidence, list(open_), closed=list(closed))


def known_true(problem: Problem) -> set[tuple[str, tuple[str, ...]]]:
    """The ground atoms that are known to be true, by name."""
    atoms = set()
    for name, statuses in problem.statuses.items():
        types = problem.model.predicates[name].types
        for args in decode(statuses.code[statuses.status == 1], statuses.sizes):
            atoms.add((name, tuple(problem.domains[t].names[int(i)] for t, i in zip(types, args, strict=True))))
    return atoms


def open_atoms(problem: Problem) -> list[tuple[str, tuple[str, ...]]]:
    """The open ground atoms by name, in the order of their numbers."""
    atoms = []
    for name, statuses in problem.statuses.items():
        types = problem.model.predicates[name].types
        every = np.arange(statuses.n_ground, dtype=np.int64)
        for args in decode(every[statuses.lookup(every) == UNKNOWN], statuses.sizes):
            atoms.append((name, tuple(problem.domains[t].names[int(i)] for t, i in zip(types, args, strict=True))))
    return atoms


def written(problem: Problem, network: GroundNetwork) -> list[str]:
    """The network, a line each: the constant, biases, clauses, groups, definitions."""

    def literals(row: np.ndarray, joint: str = " v ") -> str:
        names = [
            atom_name(problem, q >> 1) if q >> 1 < network.n_atoms else f"h{(q >> 1) - network.n_atoms}" for q in row.tolist()
        ]
        return joint.join(("" if q & 1 else "!") + name for q, name in zip(row.tolist(), names, strict=True))

    lines = [f"{network.log_constant:g} constant"] if network.log_constant else []
    for atom in np.flatnonzero(network.atom_bias):
        lines.append(f"{network.atom_bias[atom]:g} {literals(np.array([2 * atom + 1]))}")
    for weight, (a, b) in zip(network.clause_weight, pairwise(network.clause_start), strict=True):
        lines.append(f"{weight:g} {literals(network.clause_literal[a:b])}")
    for a, b in pairwise(network.group_start):
        lines.append(f"one of {literals(2 * network.group_atom[a:b] + 1, ', ')}")
    for h, (a, b) in enumerate(pairwise(network.definition_start)):
        lines.append(f"h{h} <=> {literals(network.definition_literal[a:b])}")
    return lines


def grounded(mln: str, db: str = "", *, open_: Sequence[str] = (), closed: Sequence[str] = ()) -> list[str]:
    """The network of a problem as text."""
    problem, lowered = prepared(mln, db, open_=open_, closed=closed)
    return written(problem, ground(problem, lowered))
