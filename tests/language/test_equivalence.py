"""Equivalence relations are recognised by meaning: held against all relations on four elements, rule by rule."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import markovlogic as mln
from markovlogic.language.equivalence import Found, equivalences
from markovlogic.language.lower import lower
from markovlogic.language.templates import ClauseTemplate

HEAD = "Same(r, r)\nCand(r, r)\nOther(r, s)\n"
SYMMETRIC, TRANSITIVE, REFLEXIVE = "Same(x, y) => Same(y, x).\n", "Same(x, y) ^ Same(y, z) => Same(x, z).\n", "Same(x, x).\n"
BLOCKED = "!Cand(x, y) => !Same(x, y).\n"
FULL = [
    REFLEXIVE + SYMMETRIC + TRANSITIVE,
    REFLEXIVE + "Same(x, y) <=> Same(y, x).\n" + TRANSITIVE + BLOCKED,
    REFLEXIVE + "Same(x, y) ^ Same(x, z) => Same(y, z).\n",
    "Same(x, y) <=> (FORALL z (Same(x, z) <=> Same(y, z))).\n",
    "Same(u, u) ^ (Same(u, w) <=> Same(w, u)) ^ (Same(u, w) ^ Same(w, t) => Same(t, u)).\n",
    "x = y => Same(x, y).\nx != y ^ Same(x, y) => Same(y, x).\nx != z ^ Same(x, y) ^ Same(y, z) => Same(x, z).\n",
    "-inf Same(x, y) ^ Same(y, z) ^ !Same(z, x)\n" + REFLEXIVE,
    REFLEXIVE + SYMMETRIC + BLOCKED + "Cand(x, y) ^ Cand(y, z) ^ Same(x, y) ^ Same(y, z) => Same(x, z).\n",
    REFLEXIVE + SYMMETRIC + TRANSITIVE + "Same(x, y) ^ Same(y, z) ^ Same(z, u) => Same(x, u).\n",
]
PARTIAL = [
    SYMMETRIC + TRANSITIVE,
    "Same(x, y) ^ Same(y, z) => Same(z, x).\nSame(x, y) => Same(y, x) ^ Same(x, x).\n",
    SYMMETRIC + TRANSITIVE + "0.7 Same(x, x)\n",
]
NEITHER = {
    REFLEXIVE + SYMMETRIC: "no hard rule makes it transitive",
    REFLEXIVE + SYMMETRIC + "1.5 Same(x, y) ^ Same(y, z) => Same(x, z)\n": "transitive (the rule at <text>:6:1 has a weight)",
    REFLEXIVE + TRANSITIVE: "no hard rule makes it symmetric",
    # without blocking by the same predicate the guards matter; and a guard on the conclusion always does
    REFLEXIVE + SYMMETRIC + "Cand(x, y) ^ Cand(y, z) ^ Same(x, y) ^ Same(y, z) => Same(x, z).\n": "transitive",
    REFLEXIVE + SYMMETRIC + BLOCKED + "Cand(x, z) ^ Same(x, y) ^ Same(y, z) => Same(x, z).\n": "transitive",
}


def found(rules: str) -> Found:
    model = mln.Model.parse(HEAD + rules)
    return equivalences(model, lower(model))


@pytest.mark.parametrize("rules", FULL)
def test_spellings_of_an_equivalence_relation(rules: str) -> None:
    (relation,) = found(rules).relations
    assert relation.predicate == "Same" and relation.type_name == "r" and relation.reflexive
    lowered = lower(mln.Model.parse(HEAD + rules))
    left = found(rules).without_axioms(lowered).templates
    assert all({literal.predicate for literal in template.literals} == {"Cand", "Same"} for template in left)


def test_what_is_quantified_about_another_relation_is_no_axiom() -> None:
    """That records which are the same share a neighbour holds in every equivalence relation only if Cand is that relation."""
    rules = REFLEXIVE + SYMMETRIC + TRANSITIVE + "Same(x, y) => (EXIST w (Cand(x, w) ^ Cand(w, y))).\n"
    (relation,) = found(rules).relations
    own = found(rules.replace("Cand", "Same")).relations[0]
    assert len(own.templates) == len(relation.templates) + 1


@pytest.mark.parametrize("rules", PARTIAL)
def test_without_reflexivity(rules: str) -> None:
    (relation,) = found(rules).relations
    assert not relation.reflexive


@pytest.mark.parametrize("rules", NEITHER)
def test_what_is_missing_is_reported(rules: str) -> None:
    reported = found(rules)
    assert not reported.relations
    assert NEITHER[rules] in reported.misses[0].reason


def test_what_says_more_stays() -> None:
    rules = REFLEXIVE + SYMMETRIC + TRANSITIVE + "Same(x, y) ^ Same(x, z) => x = y v x = z v y = z.\n!Same(A, B).\n"
    (relation,) = found(rules).relations
    assert relation.templates == (0, 1, 2)
    assert not found("Same(A, A).\n!Same(A, B) v Same(B, A).\n").relations  # of single constants
    assert not found("0.3 Same(x, y)\n").misses


def test_several_relations() -> None:
    rules = "".join(text.replace("Same", name) for name in ("Same", "Cand") for text in (REFLEXIVE, SYMMETRIC, TRANSITIVE))
    assert [relation.predicate for relation in found(rules).relations] == ["Same", "Cand"]


# all relations on four elements
RELATIONS = ((np.arange(2**16)[:, None] >> np.arange(16)) & 1).astype(bool).reshape(-1, 4, 4)


def obeying(templates: list[ClauseTemplate]) -> set[bytes]:
    """The relations that obey clauses, straight from the definition."""
    left = RELATIONS
    for template in templates:
        names = [name for name, _ in template.variables]
        for each in itertools.product(range(4), repeat=len(names)):
            at = dict(zip(names, each, strict=True))
            holds = np.zeros(len(left), bool)
            for literal in template.literals:
                one, other = (at[arg.name] for arg in literal.args)  # type: ignore[union-attr]
                holds |= left[:, one, other] == literal.positive
            left = left[holds]
    return {np.packbits(one).tobytes() for one in left}


def partitions(*, reflexive: bool) -> set[bytes]:
    found = set()
    for blocks in itertools.product(range(5), repeat=4):
        if reflexive and 0 in blocks:
            continue
        found.add(np.packbits([[a == b and a > 0 for a in blocks] for b in blocks]).tobytes())
    return found


ATOM = st.tuples(st.sampled_from("xyz"), st.sampled_from("xyz"))
CLAUSE = st.tuples(st.lists(ATOM, min_size=1, max_size=3), ATOM).map(
    lambda parts: " v ".join([*(f"!Same({a}, {b})" for a, b in parts[0]), f"Same({parts[1][0]}, {parts[1][1]})"]) + ".\n"
)
RULES = st.lists(st.one_of(CLAUSE, st.sampled_from([SYMMETRIC, TRANSITIVE, REFLEXIVE])), min_size=1, max_size=4, unique=True)


@settings(max_examples=60, deadline=None)
@given(RULES)
def test_recognised_iff_all_worlds_are_equivalence_relations(rules: list[str]) -> None:
    model = mln.Model.parse(HEAD + "".join(rules))
    lowered, reported = lower(model), found("".join(rules))
    worlds = obeying([t for t in lowered.templates if all(literal.predicate == "Same" for literal in t.literals)])
    kinds = {reflexive: partitions(reflexive=reflexive) for reflexive in (True, False)}
    for relation in reported.relations:
        dropped = obeying([lowered.templates[number] for number in relation.templates])
        assert dropped == kinds[relation.reflexive]
    if worlds in kinds.values():
        assert reported.relations
