"""Clauses of one literal over a predicate that is mostly false: known atoms are counted without being gone through."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tests.grounding.from_text import prepared
from tests.grounding.made import Oracle

from markovlogic.errors import InputError
from markovlogic.grounding import ground as grounding
from markovlogic.grounding import surviving as database
from markovlogic.grounding.ground import ground
from markovlogic.grounding.predict import Unit, predict, unit_of

HEAD = "p = {P0, P1, P2, P3}\nk = {K0, K1}\nS(p, p)\nT(p, p, k)\n"
FACTS = (
    "S(P0, P1)\nS(P2, P2)\n?S(P0, P0)\n?S(P1, P0)\n?S(P2, P3)\n?S(P3, P2)\n"
    "T(P0, P0, K0)\n?T(P0, P1, K0)\n?T(P1, P1, K1)\n?T(P2, P0, K1)\n"
)
RULES = (
    "0.7 S(x, y)",
    "0.7 S(x, x)",
    "0.7 S(P0, y)",
    "0.7 S(x, y) v x = y",
    "0.7 S(x, y) v x = P0",
    "0.7 S(x, y) v y = P3",
    "0.7 T(x, y, u)",
    "0.7 T(x, x, u)",
    "0.7 T(x, P0, K1)",
    "0.7 T(x, y, u) v x = y",
    "0.7 S(x, y) v x = y v x = P0",  # two inequalities: gone through
)


def log_weights(rule: str) -> list[tuple[float, float]]:
    """Of every world, by the network and by substitution."""
    problem, lowered = prepared(f"{HEAD}{rule}\n", FACTS)
    network, oracle = ground(problem, lowered), Oracle(problem, lowered)
    found = []
    for world in itertools.product([False, True], repeat=len(problem.atoms)):
        weight = network.log_constant + float(network.atom_bias[: len(world)][np.array(world)].sum())
        found.append((weight, oracle.log_weight(world)))
    return found


@pytest.mark.parametrize("rule", RULES)
def test_they_weigh_what_substitution_says(rule: str) -> None:
    for found, expected in log_weights(rule):
        assert found == pytest.approx(expected, abs=1e-12)


def test_a_wrong_number_of_falsified_atoms_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(found, access):
        made = unit_of(found, access)
        return Unit(made.rows, made.n_falsified + 1)

    monkeypatch.setattr(grounding, "unit_of", wrong)
    assert any(abs(found - expected) > 0.1 for found, expected in log_weights(RULES[0]))


def test_a_hard_one_that_a_known_atom_breaks_is_told() -> None:
    problem, lowered = prepared(f"{HEAD}S(x, x).\n", FACTS)
    with pytest.raises(InputError, match=r"makes this hard rule false for x = P[13]"):
        ground(problem, lowered)


def test_known_atoms_are_not_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """3000 records have nine million pairs; some twenty stay open."""
    pairs = "".join(f"?Same({i},{i + 1})\n" for i in range(1, 21))
    problem, lowered = prepared("rec = {1,...,3000}\nSame(rec,rec)\n1.5 Same(x,y)\n", pairs)
    sizes = predict(problem, lowered)
    assert sizes.rows == (20,) and sizes.seconds < 1 and sizes.memory_bytes < 10_000_000
    monkeypatch.setattr(database, "query", None)  # nothing is requested of a database
    network = ground(problem, lowered)
    assert (network.n_atoms, network.log_constant) == (20, 0.0)
    np.testing.assert_array_equal(network.atom_bias, np.full(20, 1.5))
    assert math.isclose(sum(np.logaddexp(0, network.atom_bias)), 20 * math.log1p(math.exp(1.5)))
