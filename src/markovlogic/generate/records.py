"""Records of people with typos, several of each person: entity resolution with pair scores, as a linkage tool gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from markovlogic.generate.draws import facts, known_ones, structure, type_line
from markovlogic.generate.families import Request
from markovlogic.generate.problem_files import FactBlock, Generated
from markovlogic.system.arrays import Float64, Int64, each_once

LARGEST_FAMILY = 5
VALUES = 12  # of each field
NEIGHBOURHOOD, ALIKE = 8, 0.55  # families that live near each other, and how often they share a field
NEAR, REACH = 8, 20  # other candidates of a record, among so many that follow it
LEAST, MOST = 1, 9999  # probabilities are written with four digits, and are neither 0 nor 1


@dataclass(frozen=True)
class Shape:
    """How much a record shows."""

    fields: int  # name, street, town, …
    typo: float  # how often one is wrong
    words: str  # for the note


SHAPES = {"": Shape(10, 0.1, "ten fields"), "hard": Shape(7, 0.15, "seven fields")}

RULES = """
Same(x, x).
Same(x, y) => Same(y, x).
Same(x, y) ^ Same(y, z) => Same(x, z).
Same(x, y) => x = y v Cand(x, y) v Cand(y, x).
"""

NOTE = """\
R3_1 is a record of person 3: persons have one to five records, of {fields} with typos, and live near others who are alike.
Evidence: candidate pairs (about ten a record, each in one order), and how likely each pair is the same
person by its fields alone (Fellegi and Sunter's match weights), as soft evidence. Among the given share of the records it is
known which pairs are the same."""


def rows(size: int, share: float) -> int:
    """About how many facts and constants there will be."""
    return 32 * size


def build(request: Request) -> Generated:
    """Families, their fields with typos, candidate pairs and scores."""
    rng, size, shape = request.rng, request.size, SHAPES[request.variant]
    family = np.repeat(np.arange(size), rng.integers(1, LARGEST_FAMILY + 1, size))[:size]
    first = np.searchsorted(family, family)
    name = np.stack([family, np.arange(size) - first], axis=1)
    pairs = _candidates(rng, family)
    score = _scores(shape, _fields(rng, shape, family), pairs, family)
    known = np.zeros(size, np.bool_)
    known[known_ones(rng, size, request.share)] = True
    is_known = known[pairs].all(axis=1)
    same = family[pairs[:, 0]] == family[pairs[:, 1]]

    def named(rows: Int64) -> Int64:
        return name[rows].reshape(len(rows), 4)

    given = structure("Cand(R%d_%d,R%d_%d)", named(pairs))
    given += facts("Same(R%d_%d,R%d_%d)", named(pairs[is_known]), same[is_known])
    likely = np.clip(np.rint(1e4 / (1 + np.exp(-score))), LEAST, MOST).astype(np.int64)
    soft = np.concatenate([likely[:, None], named(pairs)], axis=1)[~is_known]
    if len(soft):
        given += (FactBlock("0.%04d Same(R%d_%d,R%d_%d)", soft),)
    declared = type_line("record", "R%d_%d", name) + "Same(record, record)\nCand(record, record)\n"
    return Generated("records", declared + RULES, given, "Same", NOTE.format(fields=shape.words))


def _candidates(rng: np.random.Generator, family: Int64) -> Int64:
    """(n_pairs, 2), the smaller record first: all of a family, and some that follow."""
    size = len(family)
    record = np.repeat(np.arange(size), LARGEST_FAMILY - 1)
    inside = np.stack([record, record + np.tile(np.arange(1, LARGEST_FAMILY), size)], axis=1)
    inside = inside[inside[:, 1] < size]
    inside = inside[family[inside[:, 0]] == family[inside[:, 1]]]
    step = 1 + np.argsort(rng.random((size, REACH)), axis=1)[:, :NEAR]
    near = np.stack([np.repeat(np.arange(size), NEAR), (np.arange(size)[:, None] + step).ravel()], axis=1)
    every = np.concatenate([inside, near[near[:, 1] < size]])
    code = each_once(every[:, 0] * size + every[:, 1])
    return np.stack(np.divmod(code, size), axis=1)


def _fields(rng: np.random.Generator, shape: Shape, family: Int64) -> Int64:
    """(n_records, n_fields) what is written in each field."""
    n = int(family[-1]) + 1
    around = rng.integers(0, VALUES, (-(-n // NEIGHBOURHOOD), shape.fields))[np.arange(n) // NEIGHBOURHOOD]
    true = np.where(rng.random((n, shape.fields)) < ALIKE, around, rng.integers(0, VALUES, (n, shape.fields)))[family]
    wrong = rng.random(true.shape) < shape.typo
    return np.where(wrong, (true + rng.integers(1, VALUES, true.shape)) % VALUES, true)


def _scores(shape: Shape, fields: Int64, pairs: Int64, family: Int64) -> Float64:
    """Log-odds of each pair by its fields, taken to be independent (Fellegi and Sunter 1969)."""
    agrees = (fields[pairs[:, 0]] == fields[pairs[:, 1]]).sum(axis=1)
    of_same = (1 - shape.typo) ** 2 + shape.typo**2 / (VALUES - 1)
    alike = ALIKE**2 + (1 - ALIKE**2) / VALUES  # of others who live nearby
    of_others = alike * of_same + (1 - alike) * (1 - of_same) / (VALUES - 1)
    share = np.mean(family[pairs[:, 0]] == family[pairs[:, 1]]) if len(pairs) else 0.5
    share = min(max(float(share), 0.01), 0.99)
    for_one, against = np.log(of_same / of_others), np.log((1 - of_same) / (1 - of_others))
    score: Float64 = np.log(share / (1 - share)) + agrees * for_one + (shape.fields - agrees) * against
    return score
