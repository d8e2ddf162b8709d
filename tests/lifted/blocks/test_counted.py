"""Atoms drawn one by one, in groups or in blocks have the conditionals of enumeration, and leave the target invariant."""

from __future__ import annotations

import numpy as np
import pytest
from tests.grounding.from_text import prepared
from tests.lifted.blocks.oracle import all_bits
from tests.lifted.blocks.random_models import random_text

from markovlogic.methods.lifted.blocks.clusters import rows_of
from markovlogic.methods.lifted.blocks.counted import counted_unit
from markovlogic.methods.lifted.blocks.tensor_network import TensorNetwork

TRANSITIVE = "a = {A, B, C}\nT(a, a)\n0.7 T(x, y) ^ T(y, z) => T(x, z)\n-0.4 T(x, y)\n"
LINKED = "a = {A, B, C}\nP(a)\nR(a, a)\n0.7 P(x) ^ R(x, y) => P(y)\n0.5 P(x) v P(y) v !P(z) v R(x, z)\n"
BLOCKS = "a = {A, B}\nb = {U, V, W}\nR(a, b)\nP(a)\n0.8 R(x, u) v R(y, w) v P(x)\n-0.5 R(x, u) v !R(x, w)\n0.3 P(x)\n"


def network_of(mln, db="", open_=("P", "Q", "U", "R", "S", "T", "K")):
    problem, lowered = prepared(mln, db, open_=[p for p in open_ if f"\n{p}" in mln])
    return TensorNetwork.of(problem, lowered)


def log_weights(network, worlds):
    """Of all worlds up to a constant, by counting each ground clause that is false; hard ones weigh nothing."""
    direct = network._direct
    weight = np.zeros(len(worlds))
    for i, world in enumerate(worlds):
        for template in network.lowered.templates:
            false = direct.false_groundings(template, world)
            weight[i] -= template.weight * false if false else 0.0
    return weight


def possible(network, worlds):
    """One true atom in every exclusive group."""
    keep = np.ones(len(worlds), bool)
    for groups in network.problem.groups:
        for own in np.split(groups.atom, groups.start[1:-1]):
            keep &= worlds[:, own].sum(axis=1) == 1
    return worlds[keep]


def target_of(network, worlds):
    weight = log_weights(network, worlds)
    weight = np.exp(weight - weight.max())
    return weight / weight.sum()


def sites_of(network, unit):
    """Atoms that the unit draws at once, in its order; numbers among all open atoms."""
    name = unit.predicate
    first, codes = network.problem.atoms.range_of(name).start, network.problem.atoms.codes(name)
    if unit.blocks is not None:
        own = first + np.searchsorted(codes, unit.blocks.code)
        return np.split(own, unit.blocks.start[1:-1])
    for groups in network.problem.groups:
        if groups.predicate == name:
            return np.split(groups.atom, groups.start[1:-1])
    return list((first + np.arange(len(codes))).reshape(-1, 1))


def generators(rng, n_chains):
    return rng.integers(1, 1 << 63, (n_chains, 4), np.uint64)


def law_after(network, unit, worlds, target, n_chains=1024, seed=0):
    """The law of a world from the target after the unit's draw, from the probabilities that the kernel gave.

    Chains start in all worlds, so every state comes by in which a site is drawn; `units_of` says what is drawn in blocks.
    """
    rng = np.random.default_rng(seed)
    start = worlds[rng.integers(len(worlds), size=n_chains)]
    drawn = unit.draw(network.values(start), generators(rng, n_chains))
    name = unit.predicate
    numbers = network.problem.atoms.range_of(name)
    after, chance = (network.of_open(name, found) for found in drawn)
    state, place = start.copy(), 1 << np.arange(network.n_atoms)
    number = {int(world @ place): i for i, world in enumerate(worlds)}
    law = target.copy()
    for site in sites_of(network, unit):
        own = site - numbers.start
        rest = [i for i in range(network.n_atoms) if i not in site]
        key = state[:, rest] @ place[rest]
        found = dict(zip(key.tolist(), chance[:, own], strict=True))
        assert all((found[k] == c).all() for k, c in zip(key.tolist(), chance[:, own], strict=True))  # of the rest alone
        state[:, site] = after[:, own]
        before, law = law, np.zeros(len(worlds))
        for i, world in enumerate(worlds):
            k = int(world[rest] @ place[rest])
            for values in all_bits(len(site)):
                to = number.get(k + int(values @ place[site]))
                if to is not None:
                    law[to] += before[i] * _share(found[k], values)
    return law


def _share(chance, values):
    """The probability of an atom's value, or of a group's."""
    return (chance[0] if values[0] else 1.0 - chance[0]) if len(values) == 1 else float(chance[values].sum())


def units_of(network):
    """A unit for every open predicate: in blocks where atoms of a row can be exchanged."""
    for name in network.changing:
        counted = ()
        if name not in network.held and network.problem.statuses[name].sizes:
            counted = rows_of(name, network.terms, network.problem.statuses[name].sizes).counted
        yield name, counted_unit(name, network.problem, network.lowered, counted)


@pytest.mark.parametrize(
    ("mln", "db"),
    [
        (LINKED.replace(", C}", "}"), ""),
        (TRANSITIVE, "T(A, B)\n!T(C, B)\nT(C, C)\n"),
        ("a = {A, B}\nk = {U, V, W}\nK(a, k!)\nP(a)\n0.9 K(x, u) ^ K(y, u) => P(x)\n-0.7 K(x, U) v P(x)\n", "!K(A, W)\n"),
        ("a = {A, B}\nP(a)\nR(a, a)\nP(x) => R(x, y).\n0.7 R(x, y) ^ R(y, z) => R(x, z)\n-0.5 P(x)\n", ""),
        ("a = {A, B}\nP(a)\nR(a, a)\n0.7 P(x) => EXIST y (R(x, y) ^ P(y))\n-0.5 P(x)\n", ""),
    ],
    ids=["links", "transitive", "exclusive", "hard", "quantified"],
)
def test_every_unit_leaves_the_target_invariant(mln, db):
    network = network_of(mln, db)
    worlds = possible(network, all_bits(network.n_atoms))
    target = target_of(network, worlds)
    worlds, target = worlds[target > 0], target[target > 0]
    wrong, seen = dict(units_of(network_of(mln.replace("0.7 ", "0.71 "), db))), []
    for name, unit in units_of(network):
        assert unit.blocks is None
        np.testing.assert_allclose(law_after(network, unit, worlds, target), target, rtol=0, atol=1e-12)
        seen.append(np.abs(law_after(network, wrong[name], worlds, target) - target).max())
    assert max(seen) > 1e-5


@pytest.mark.parametrize("seed", range(6))
def test_draws_have_the_probabilities_of_enumeration(seed):
    """Of each atom, group or block given what was drawn before it, in three chains, under random evidence: to 1e-10."""
    rng = np.random.default_rng(seed)
    models = [random_text(rng) for _ in range(3)]
    for mln, db in [*models, (BLOCKS, "R(A, U)\n!R(B, W)\n" if seed % 2 else ""), (TRANSITIVE, "T(A, B)\n" if seed % 2 else "")]:
        network = network_of(mln, db)
        for name, unit in units_of(network):
            start = rng.random((3, network.n_atoms)) < 0.5
            drawn = unit.draw(network.values(start), generators(rng, 3))
            first = network.problem.atoms.range_of(name).start
            after, chance = (network.of_open(name, found) for found in drawn)
            for chain, state in enumerate(start):
                for site in sites_of(network, unit):
                    worlds = np.repeat(state[None], 2 ** len(site), axis=0)
                    worlds[:, site] = all_bits(len(site))
                    expected = target_of(network, worlds) @ worlds[:, site]
                    np.testing.assert_allclose(chance[chain, site - first], expected, rtol=0, atol=1e-10, err_msg=mln)
                    state[site] = after[chain, site - first]


@pytest.mark.parametrize("db", ["", "R(A, U)\n"])
def test_a_block_is_drawn_from_its_joint_law(db):
    """Chi-square over all values of the first block: false alarm 1e-6; a model whose weights are off is seen."""
    from scipy.stats import chi2

    network, wrong = network_of(BLOCKS, db), network_of(BLOCKS.replace("0.5", "1.2"), db)
    rng, n = np.random.default_rng(3), 4_000
    start = rng.random(network.n_atoms) < 0.5
    for made, fine in ((network, True), (wrong, False)):
        unit = dict(units_of(made))["R"]
        assert unit.blocks is not None
        site = sites_of(made, unit)[0]
        worlds = np.repeat(start[None], 2 ** len(site), axis=0)
        worlds[:, site] = all_bits(len(site))
        expected = n * target_of(network, worlds)
        drawn = unit.draw(made.values(np.repeat(start[None], n, axis=0)), generators(rng, n))
        found = made.of_open("R", drawn.value)[:, site - made.problem.atoms.range_of("R").start]
        count = np.bincount(found @ (1 << np.arange(len(site))[::-1]), minlength=len(worlds))
        statistic = ((count - expected) ** 2 / expected).sum()
        assert (statistic < chi2.isf(1e-6, len(worlds) - 1)) == fine


def test_relations_of_more_than_a_word_are_drawn_as_direct_counts_say():
    """70 objects: log-odds of the first atoms drawn, which see the start world but for those before them."""
    names = ", ".join(f"A{i}" for i in range(70))
    network = network_of(f"a = {{{names}}}\nT(a, a)\n0.05 T(x, y) ^ T(y, z) => T(x, z)\n", "T(A0, A2)\n")
    unit = counted_unit("T", network.problem, network.lowered, ())
    state = np.random.default_rng(1).random(network.n_atoms) < 0.5
    drawn = unit.draw(network.values(state[None]), generators(np.random.default_rng(2), 1))
    after, chance = (network.of_open("T", found)[0] for found in drawn)
    for atom in range(len(state)):
        if atom % 97 == 0:
            odds = network.log_odds(atom, state)
            assert chance[atom] == pytest.approx(1 / (1 + np.exp(-odds)), abs=1e-12)
        state[atom] = after[atom]
