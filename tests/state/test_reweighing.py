"""Small moves of weights: old worlds weighed anew give the answers of the new weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import markovlogic as mln
from markovlogic.state import reweighing
from markovlogic.state.reweighing import OldWorlds, reweighed

SIDE = 4
RULES = """site = {{{sites}}}
P(site)
R(site, site)
{field} P(x)
{coupling} R(x, y) => (P(x) <=> P(y))
"""


def grid(field: float, coupling: float) -> mln.Model:
    sites = ", ".join(f"S{a}{b}" for a in range(SIDE) for b in range(SIDE))
    return mln.Model.parse(RULES.format(sites=sites, field=field, coupling=coupling))


def links() -> list[str]:
    right = [f"R(S{a}{b},S{a}{b + 1})" for a in range(SIDE) for b in range(SIDE - 1)]
    return [*right, *(f"R(S{b}{a},S{b + 1}{a})" for a in range(SIDE) for b in range(SIDE - 1))]


def z_values(tmp_path, seeds: range, moves: list[tuple[float, float]]) -> tuple[list[float], int]:
    """(answer - truth) / error of answers after moves of the weights, and how many runs were weighed and not sampled."""
    facts = tmp_path / "facts.db"
    facts.write_text("\n".join(links()) + "\n")
    z, weighed = [], 0
    for seed in seeds:
        session = mln.Session(grid(0.3, 0.4), str(facts), "P", method="gibbs", chains=64, draws=200, seed=seed, progress=False)
        assert session.result.stderr.max() > 0
        for field, coupling in moves:
            result = session.set_model(grid(field, coupling))
            weighed += any("weighed anew" in remark for remark in result.remarks)
            exact = mln.infer(grid(field, coupling), str(facts), "P", method="exact", progress=False)
            assert result.atom.equals(exact.atom)
            z += list((result.probability - exact.probability) / result.stderr)
    return z, weighed


def test_answers_after_small_moves_stay_within_their_errors(tmp_path) -> None:
    """False-alarm rate 1e-6 for the largest z, by Student's t of 63 degrees; moves are told from the drawn weights."""
    moves = [(0.301, 0.4), (0.302, 0.399), (0.31, 0.4)]
    z, weighed = z_values(tmp_path, range(8), moves)
    assert weighed >= 16
    assert np.abs(z).max() < stats.t.isf(0.5e-6 / len(z), 63)
    assert np.mean(np.square(z)) < 1.6


def test_worlds_weighed_the_wrong_way_round_are_seen(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted error: no move at all, and an allowance that takes every move."""
    monkeypatch.setattr(reweighing, "LARGEST_ERROR", 1.0)
    monkeypatch.setattr(reweighing, "LEAST_SHARE", 0.0)

    def backwards(network, parts, old):
        weight, bias = 2 * network.clause_weight - old.clause_weight, 2 * network.atom_bias - old.atom_bias
        return reweighed(network, parts, replace(old, clause_weight=weight, atom_bias=bias))

    monkeypatch.setattr(reweighing, "reweighed", backwards)
    z, weighed = z_values(tmp_path, range(6), [(0.36, 0.4)])
    assert weighed == 6
    assert np.abs(np.mean(z)) * np.sqrt(6) > stats.norm.isf(0.5e-6)


def test_a_large_move_runs_the_chains_again(tmp_path) -> None:
    assert z_values(tmp_path, range(1), [(1.5, 0.4)])[1] == 0


def test_weighing_is_what_its_formula_says() -> None:
    """Beside the slow sum over chains, clauses and atoms, for random networks; the same weights change nothing."""
    from markovlogic.networks.components import components
    from markovlogic.networks.ground import log_odds, network_of

    rng = np.random.default_rng(4)
    for _ in range(30):
        n = int(rng.integers(2, 7))
        rows = [rng.choice(n, rng.integers(2, min(n, 3) + 1), replace=False) for _ in range(rng.integers(1, 8))]
        rows = [[2 * int(a) + int(rng.integers(2)) for a in sorted(row)] for row in rows]
        old, new = (
            network_of(n, [(float(w), row) for w, row in zip(rng.random(len(rows)), rows, strict=True)]) for _ in range(2)
        )
        if old.n_clauses != len(rows):
            continue
        parts, world = components(new), rng.random((n, 64)) < 0.5
        words = np.packbits(world, axis=1, bitorder="little").view("<u8").astype(np.uint64)
        p, error = rng.random(n), rng.random(n) / 100
        found = reweighed(new, parts, OldWorlds(words, 64, p, error, old.atom_bias, old.clause_weight))
        for atom in range(n):
            own = parts.component_of[atom]
            gain = np.array([component_weight(new, parts, own, w) - component_weight(old, parts, own, w) for w in world.T])
            weight = np.exp(gain)
            before, now = ([1 / (1 + np.exp(-log_odds(net, atom, w))) for w in world.T] for net in (old, new))
            plain = np.average(now, weights=weight) - np.mean(before)
            left = [
                np.average(np.delete(now, c), weights=np.delete(weight, c)) - np.mean(np.delete(before, c)) for c in range(64)
            ]
            shift = 64 * plain - 63 * np.mean(left)
            assert found.probability[atom] == pytest.approx(min(max(p[atom] + shift, 0), 1), abs=1e-12)
            assert found.stderr[atom] == pytest.approx(error[atom] + np.sqrt(63 / 64 * np.var(left) * 64), abs=1e-12)
            assert found.worth[own] == pytest.approx(weight.sum() ** 2 / (weight**2).sum() / 64)
        same = reweighed(old, components(old), OldWorlds(words, 64, p, error, old.atom_bias, old.clause_weight))
        assert np.allclose(same.probability, p) and np.allclose(same.stderr, error) and np.allclose(same.worth, 1)


def component_weight(network, parts, number: int, world) -> float:
    total = 0.0
    for clause in range(network.n_clauses):
        literals = network.clause_literal[network.clause_start[clause] : network.clause_start[clause + 1]]
        if parts.component_of[literals[0] >> 1] == number and any(world[one >> 1] == (one & 1) for one in literals):
            total += network.clause_weight[clause]
    return total
