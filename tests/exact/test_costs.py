"""Predicted seconds and bytes of exact inference, written out for shapes whose sizes tell all terms apart."""

from __future__ import annotations

import numpy as np
import pytest

from markovlogic.methods.exact.enumeration import FEW_WORLDS, TILE
from markovlogic.methods.exact.planning import components_cost, elimination_cost, enumeration_cost
from markovlogic.methods.exact.shapes import Shape
from markovlogic.methods.exact.widths import CHUNK, EliminationPlan, Order
from markovlogic.networks.ground import network_of

OPEN, HIDDEN, SOFT, CLAUSES, LITERALS, ROWS = 5, 2, 3, 4, 7, 1000


def shape(n_rows: int = ROWS) -> Shape:
    none, zeros = np.zeros(0, np.int32), np.zeros(20, np.int64)
    return Shape(
        n_open=OPEN,
        n_hidden=HIDDEN,
        n_soft=SOFT,
        clause_start=zeros[: CLAUSES + 1],
        clause_literal=none,
        group_start=zeros[:1],
        group_atom=none,
        definition_start=zeros[: HIDDEN + 1],
        definition_literal=np.zeros(LITERALS, np.int32),
        fixed=np.zeros(OPEN + HIDDEN, np.int8),
        component=np.zeros(n_rows, np.int64),
        atom=np.zeros((n_rows, OPEN), np.int32),
        bias=np.zeros((n_rows, OPEN + HIDDEN)),
        weight=np.zeros((n_rows, SOFT)),
    )


def kept(n_rows: int = ROWS) -> float:
    return 1500 + n_rows * (8 * (7 + 3 + 1) + 4 * 5)


def answers(n_rows: int = ROWS) -> float:
    return n_rows * (2 * 5 + 1)


@pytest.mark.parametrize(("n_rows", "worlds"), [(1000, 32.0), (3, 32.0), (1000, 1.0), (10**6, 32.0), (1000, 0.5)])
def test_few_worlds_are_listed_for_all_components_at_once(n_rows: int, worlds: float) -> None:
    assert worlds <= FEW_WORLDS
    found = enumeration_cost(shape(n_rows), worlds)
    listed = worlds * n_rows
    seconds = 120e-6 + 6e-6 * (7 + 4) + 0.2e-6 * 5 * n_rows + listed * (12e-9 + 0.03e-9 * 10)
    room = 1.3 * min(listed, TILE) + 2.2 * worlds * 10 + min(n_rows, TILE // max(worlds, 1)) * 10
    assert found.seconds == pytest.approx(seconds, rel=1e-12)
    assert found.room == pytest.approx(8 * (room + answers(n_rows)), rel=1e-12)
    assert found.kept == kept(n_rows)


def test_many_worlds_are_listed_component_by_component() -> None:
    for worlds in (2.0 * FEW_WORLDS, 4.0 * TILE):
        found = enumeration_cost(shape(), worlds)
        listed = worlds * 1000
        seconds = 120e-6 + 6e-6 * 11 + 0.2e-6 * 5 * 1000 + listed * (12e-9 + 0.03e-9 * 10) + 6e-6 * 4 * 1000 + 1.5e-9 * listed * 7
        assert found.seconds == pytest.approx(seconds, rel=1e-12)
        assert found.room == pytest.approx(8 * (2.5 * min(worlds, TILE) + answers()), rel=1e-12)
    assert enumeration_cost(shape(), FEW_WORLDS).seconds < 1000 * FEW_WORLDS * (12e-9 + 0.3e-9) + 0.0022


@pytest.mark.parametrize("entries", [0.5, 100.0, CHUNK / 2.0, CHUNK * 3.0])
@pytest.mark.parametrize("variables", [3, 9])
def test_elimination(entries: float, variables: int) -> None:
    order = Order(list(range(variables)), [[]] * variables)
    plan = EliminationPlan(3, order, 2, entries, 16.0, 50.0)
    found = elimination_cost(shape(), plan)
    factors = 4 + max(0, variables - 5)
    at_once = min(1000.0, max(1.0, CHUNK // max(entries, 1.0)))
    chunks = 1000 / at_once
    seconds = variables * (20e-6 + chunks * 30e-6) + factors * (12e-6 + chunks * 7e-6)
    seconds += 1000 * (entries * 10e-9 + 50 * 2e-9) + 0.2e-6 * 5 * 1000
    assert found.seconds == pytest.approx(seconds, rel=1e-12)
    assert found.room == pytest.approx(8 * (at_once * (entries + 16) + answers()) + 1100 * (variables + factors) + 50, rel=1e-12)
    assert found.kept == kept() + 140 * variables


def test_sorting_into_components() -> None:
    network = network_of(5, [(1.0, [1, 3, 5]), (0.5, [0, 7])], definitions=[[1, 3], [2, 5]])
    found = components_cost(network)
    assert (found.seconds, found.room, found.kept) == (0.0, 110 * 7 + 20 * 5 + 12 * 2, 28 * 7 + 4 * 2)
