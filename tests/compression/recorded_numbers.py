"""Groups, notes and sizes that every compressor makes of a generated problem, setting by setting."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.methods.recorded import prepared as files_of

import markovlogic as mln
from markovlogic.compression.base import Compressor
from markovlogic.problem.prepare import PreparedProblem, prepare_problem
from markovlogic_papers import readings
from markovlogic_papers.thinning import NIMFA, Drop

FILE = Path(__file__).with_name("recorded_numbers.json")
NUMBERS_ONLY = True
WAYS: dict[str, Compressor] = {
    "kmeans": mln.KMeans(ratio=0.4),
    "kmeans, satisfied": readings.KMeans(ratio=3.0, features="sat", cr="old/new"),
    "dpmeans": mln.DPMeans(),
    "dpmeans, few": mln.DPMeans(ratio=0.4, beta1=2.0),
    "dpmeans, few blocks": mln.DPMeans(most_blocks=20),
    "dpmeans, schedule": readings.DPMeans(path="schedule", most_blocks=60),
    "dpmeans, to the letter": readings.DPMeans(
        path="schedule", beta2="last", dp_distance="plain", error="literal", features="sat", most_blocks=40
    ),
    "obj2vec": mln.Obj2Vec(ratio=0.4, dim=6),
    "obj2vec, clauses": readings.Obj2Vec(ratio=0.3, dim=4, context="clause", tokens="role", window=2, p_random=0.5, unary="any"),
    "obj2vec, to the letter": readings.Obj2Vec(ratio=2.5, cr="old/new", dim=5, tokens="refined", K="n/a", negatives=1),
    "random": mln.RandomGroups(ratio=0.4, seed=2),
    "twins": mln.Twins(),
    "bmf": mln.BMF(),
    "bmf of rank 2": mln.BMF(rank=2),
    "asso": readings.BMF(rank=2, algorithm="asso", unknown="masked"),
    "drop": Drop(ratio=0.3, seed=1),
    "nimfa": NIMFA(rank=3, rounds=8),
}
PROBLEMS = ("smokers", "webkb", "asthma hard", "er")
SLOW = ("er: obj2vec", "webkb: obj2vec")  # most of their time is one decomposition
NAMES = tuple(name for problem in PROBLEMS for way in WAYS if not (name := f"{problem}: {way}").startswith(SLOW))


def posed_of(problem: str) -> PreparedProblem:
    """A generated problem by name."""
    with tempfile.TemporaryDirectory() as folder:
        return prepare_problem(*files_of(problem, Path(folder)))


def record(name: str) -> dict[str, Any]:
    """What becomes of the problem, and the classes that would be proposed; or why not."""
    problem, way = name.split(": ")
    prepared = posed_of(problem)
    found: dict[str, Any] = {}
    for needs_problem in (False, True):
        try:
            made = WAYS[way].compress(prepared, needs_problem=needs_problem)
        except mln.MarkovLogicError as refusal:
            found[f"problem {needs_problem}"] = str(refusal)
            continue
        told: dict[str, Any] = {"told": made.description(), "atoms": len(made.prepared.problem.atoms), "alpha": made.alpha}
        told["facts"] = {key: len(facts) for key, facts in made.prepared.problem.evidence.facts.items()}
        if made.blocks is not None:
            told["blocks"] = [made.blocks.n_atoms, made.blocks.nbytes]
        if made.partition is not None:
            told["groups"] = {of: groups.tolist() for of, groups in made.partition.class_of.items()}
            told["stand"] = {of: groups.tolist() for of, groups in made.partition.representative.items()}
            told["notes"] = made.partition.notes
        found[f"problem {needs_problem}"] = told
    classes = WAYS[way].classes(prepared.problem)
    found["classes"] = {of: np.asarray(own).tolist() for of, own in classes.class_of.items()}
    return found
