"""The exact marginals of [002]'s synthetic model against the engine's own exact inference, with and without unknown atoms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import markovlogic as mln
from markovlogic_papers.experiments.synthetic_rules import (
    COINS,
    CORRECTED,
    LITERAL,
    TOPICS,
    drawn,
    entropy,
    error,
    exact_after,
    exact_of_problem,
    groupings,
    translated,
)


def exact(prepared):
    """Of the R atoms, by elimination."""
    problem = prepared.problem
    found = mln.infer(problem.model, problem.evidence, "R", method="exact").to_pandas()
    order = {name: number for number, name in enumerate(problem.domains["item"].names)}
    values = np.zeros(len(order))
    for name, value in zip(found["arg1"], found["probability"], strict=True):
        values[order[name]] = value
    return values


@pytest.mark.parametrize("evidence", [COINS, TOPICS])
def test_marginals_are_those_of_exact_inference(evidence):
    world = drawn(2, (4, 5, 3), evidence, 1)
    world = replace(world, weight=world.weight / 5)
    prepared = world.prepared()
    np.testing.assert_allclose(exact_of_problem(prepared), world.truth, atol=1e-12)
    np.testing.assert_allclose(exact(prepared), world.truth, atol=1e-12)


def test_atoms_without_a_majority_are_summed_over():
    world = drawn(2, (4, 6, 6), COINS, 5)
    prepared = world.prepared()
    grouping = groupings(0.5, 0)["random groups"]
    made = translated(grouping, prepared, grouping.partition(prepared.problem))[LITERAL]
    assert any(own.n_open for name, own in made.prepared.problem.statuses.items() if name != "R")
    np.testing.assert_allclose(exact_of_problem(made.prepared), exact(made.prepared), atol=1e-12)


@pytest.mark.parametrize("name", groupings(1.0, 0))
def test_where_nobody_is_merged_nothing_is_lost(name):
    world = drawn(3, (5, 6, 4), TOPICS, 2).desaturated()
    prepared, grouping = world.prepared(), groupings(1.0, 0)[name]
    for made in translated(grouping, prepared, grouping.partition(prepared.problem)).values():
        assert error(world, made) < 1e-9


def test_corrected_values_average_over_members():
    """All of a group in one: its R atoms see the mean numbers of false atoms, whatever the groups of y and z are."""
    world = drawn(2, (4, 6, 6), TOPICS, 3).desaturated()
    prepared, grouping = world.prepared(), groupings(0.01, 0)["random groups"]
    made = translated(grouping, prepared, grouping.partition(prepared.problem))[CORRECTED]
    false = (~world.s).sum(axis=2).mean(axis=1) * (~world.t).sum(axis=2).mean(axis=1)
    np.testing.assert_allclose(exact_after(made), 1 / (1 + np.exp(-world.weight @ false)), atol=1e-9)


def test_desaturated_weights_leave_entropy():
    world = drawn(10, (10, 40, 40), TOPICS, 0)
    assert entropy(world.truth).mean() < 0.1
    assert entropy(world.desaturated().truth).mean() >= 0.3
