"""Small components of many forms, listed together: what solving them form by form gives, with events and hard clauses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from markovlogic.errors import InputError
from markovlogic.methods.exact import planning
from markovlogic.methods.exact.assorted import Assorted
from markovlogic.methods.exact.solve import ExactAnswer, solve
from markovlogic.networks.components import components
from markovlogic.networks.ground import GroundNetwork, atom_rows
from markovlogic.system.arrays import frozen, offsets


def many_small(seed: int, n_components: int = 300, n: int = 5) -> GroundNetwork:
    """Components of n atoms, each with n + 1 clauses of up to three literals; some weights and biases are infinite."""
    rng = np.random.default_rng(seed)
    literals, lengths, weights = [], [], []
    for component in range(n_components):
        hard = int(rng.integers(2))
        weights += [*rng.normal(0, 1.5, n + 1 - hard).tolist(), *[np.inf] * hard]
        for clause in range(n + 1):
            others = rng.choice([a for a in range(n) if a != clause % n and a != (clause + 1) % n], 1)
            atoms = [clause % n, (clause + 1) % n, *others][: 2 + (clause > 2)]
            literals += [2 * (component * n + a) + int(rng.integers(2)) for a in atoms]
            lengths.append(len(atoms))
    weight, start = np.array(weights), offsets(lengths)
    order = np.argsort(np.isinf(weight), kind="stable")
    rows = [literals[start[at] : start[at + 1]] for at in order]
    start, literal = offsets([len(row) for row in rows]), np.concatenate(rows).astype(np.int32)
    bias = rng.normal(0, 1, n_components * n)
    bias[rng.random(len(bias)) < 0.02] = -np.inf
    nothing, none = np.zeros(0, np.int32), np.zeros(1, np.int64)
    atom_start, atom_clause = atom_rows(start, literal, len(bias))
    return frozen(
        GroundNetwork(
            n_atoms=len(bias), clause_start=start, clause_literal=literal, clause_weight=weight[order], atom_bias=bias,
            atom_start=atom_start, atom_clause=atom_clause, group_start=none, group_atom=nothing, definition_start=none,
            definition_literal=nothing, definition_rule=nothing, log_constant=0.25, hard_rule=nothing, unit_rule=nothing,
        )
    )  # fmt: skip


def solved(network: GroundNetwork, events: list[np.ndarray], many_forms: int, patch: pytest.MonkeyPatch) -> ExactAnswer:
    patch.setattr(planning, "MANY_FORMS", many_forms)
    return solve(network, events=events)


@pytest.mark.parametrize("seed", range(3))
def test_components_of_many_forms_are_solved_as_one_by_one(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network = many_small(seed)
    rng = np.random.default_rng(seed)
    events = [np.array([2 * a + 1, 2 * b], np.int32) for a, b in rng.choice(network.n_atoms, (20, 2), replace=False)]
    events += [np.array([10 * c + 1, 10 * c + 4, 10 * c + 7], np.int32) for c in range(40)]
    try:
        one_by_one = solved(network, events, 10**9, monkeypatch)
    except InputError:
        with pytest.raises(InputError, match="no world"):
            solved(network, events, 2, monkeypatch)
        return
    together = solved(network, events, 2, monkeypatch)
    np.testing.assert_allclose(together.marginal, one_by_one.marginal, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(together.event_probability, one_by_one.event_probability, rtol=1e-10, atol=1e-14)
    assert together.log_z == pytest.approx(one_by_one.log_z, rel=1e-12)


def test_they_are_planned_together_where_forms_are_many() -> None:
    network = many_small(7)
    plan = planning.plan_exact(network, components(network))
    sizes = [one.shape.n_rows for one in plan.shapes if isinstance(one.shape, Assorted)]
    assert sizes and sum(one.shape.n_rows for one in plan.shapes) == 300 and plan.entries == 300 * 2**5


def test_a_hard_clause_that_leaves_no_world_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    network = many_small(8)
    bias = network.atom_bias.copy()
    bias[:5] = -np.inf  # all of the first component
    literal = network.clause_literal | 1  # every clause wants a true atom
    weight = np.where(np.arange(network.n_clauses) >= network.n_clauses - 300, np.inf, network.clause_weight)
    broken = frozen(replace(network, atom_bias=bias, clause_literal=literal, clause_weight=weight))
    for many_forms in (2, 10**9):
        with pytest.raises(InputError, match="no world"):
            solved(broken, [], many_forms, monkeypatch)
