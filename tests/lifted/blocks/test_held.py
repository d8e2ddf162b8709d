"""Groups, quantifiers and hard rules: which predicates are drawn by themselves, and which hard rules leave moves free."""

from __future__ import annotations

import numpy as np
import pytest
from tests.grounding.from_text import prepared
from tests.lifted.blocks.oracle import all_bits

import markovlogic as mln
from markovlogic.errors import UnsupportedError
from markovlogic.guarantee import Guarantee
from markovlogic.methods.lifted.blocks.clusters import Bounds, construct
from markovlogic.methods.lifted.blocks.held import rules_about
from markovlogic.methods.lifted.blocks.tensor_network import TensorNetwork

TYPES = "p = {A, B, C}\nk = {U, V}\nS(p)\nF(p, p)\nG(p, p)\nK(p, k!)\nE(p)\n"
SOFT = "0.4 S(x) ^ F(x, y) => S(y)\n0.2 G(x, y) v S(x)\n"


def network_of(rules, db="", types=TYPES):
    problem, lowered = prepared(types + SOFT + rules, db, open_=["S", "F", "G", "K", "E"])
    return TensorNetwork.of(problem, lowered)


@pytest.mark.parametrize(
    ("rules", "held"),
    [
        ("0.3 K(x, U) => S(x)\n", {"K"}),
        ("0.3 S(x) => EXIST y (F(x, y) ^ S(y))\n", {"K", "S", "F"}),
        ("S(x) => F(x, y).\n", {"K", "S", "F"}),
        ("S(x) ^ F(x, y) => K(y, U).\nE(x) => S(x).\n", {"K", "S", "F", "E"}),
    ],
)
def test_only_what_a_formula_names_is_drawn_by_itself(rules, held):
    network = network_of(rules)
    assert set(network.held) == held
    graph = construct(network.field(literal_messages=False), Bounds())
    for cluster in graph.clusters:
        if set(cluster.predicates) & held:
            assert len(cluster.predicates) == 1
            assert "group by group, 3 in turn" in cluster.note if cluster.predicates == ("K",) else "atom by atom" in cluster.note


def test_a_predicate_depends_on_the_rules_that_name_it_and_on_quantified_parts_that_do():
    network = network_of("0.3 S(x) => EXIST y (F(x, y) ^ E(y))\n")
    assert {t.rule for t in rules_about("E", network.lowered).templates} == {2}
    assert {t.rule for t in rules_about("G", network.lowered).templates} == {1}
    assert not rules_about("G", network.lowered).definitions
    assert len(rules_about("E", network.lowered).definitions) == 1


SIGNS = ("", "!")


def hard_models(n, seed):
    """One to three hard clauses over S, E and a relation, some atoms known."""
    rng = np.random.default_rng(seed)
    atoms = ["S(x)", "S(y)", "E(x)", "E(y)", "F(x, y)", "F(y, x)", "F(x, x)"]
    for _ in range(n):
        rules = []
        for _ in range(rng.integers(1, 4)):
            own = rng.choice(atoms, rng.integers(2, 4), replace=False)
            rules.append(" v ".join(f"{rng.choice(SIGNS)}{atom}" for atom in own) + ".")
        facts = [f"{rng.choice(SIGNS)}{atom}\n" for atom in ("S(A)", "E(B)", "F(A, B)") if rng.random() < 0.2]
        yield "\n".join(rules) + "\n", "".join(facts)


def test_where_hard_rules_are_taken_single_atoms_reach_every_world_from_every_other():
    """By enumeration; most are taken, and among those that are refused some are truly confined."""
    taken = confined = 0
    for rules, db in hard_models(60, 5):
        problem, lowered = prepared("p = {A, B}\nS(p)\nE(p)\nF(p, p)\n" + rules, db, open_=["S", "E", "F"])
        free = True
        try:
            network = TensorNetwork.of(problem, lowered)
        except UnsupportedError:
            free = False
        parts = parts_of(problem, lowered)
        if free:
            assert parts <= 1, rules
            assert network.are_possible(np.zeros((0, network.n_atoms), bool))
        taken += free
        confined += not free and parts > 1
    assert taken > 15 and confined > 5


def parts_of(problem, lowered):
    """Into how many parts single-atom moves divide the possible worlds."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    from markovlogic.networks.counting.direct import DirectCount

    direct = DirectCount(problem, lowered)
    worlds = all_bits(len(problem.atoms))
    fine = [not any(direct.false_groundings(t, w) for t in lowered.templates) for w in worlds]
    number = {tuple(w): i for i, w in enumerate(worlds[fine].tolist())}
    pairs = [(i, number[near]) for w, i in number.items() for near in _near(w) if near in number]
    if not number:
        return 0
    one, other = np.array(pairs, int).reshape(-1, 2).T
    return connected_components(csr_matrix((np.ones(len(one)), (one, other)), (len(number),) * 2))[0]


def _near(world):
    for i in range(len(world)):
        yield (*world[:i], not world[i], *world[i + 1 :])


@pytest.mark.parametrize(
    ("rules", "wrong"),
    [
        ("0.9 K(x, u) ^ K(y, u) => F(x, y)\n", "1.9 K(x, u) ^ K(y, u) => F(x, y)\n"),
        ("0.8 S(x) => EXIST y (F(x, y) ^ E(y))\n", "1.8 S(x) => EXIST y (F(x, y) ^ E(y))\n"),
        ("S(x) => F(x, y).\n-1 F(x, y)\n", "S(x) => F(x, y).\n-1.5 F(x, y)\n"),
    ],
)
def test_a_run_gives_what_enumeration_gives(rules, wrong):
    """Within five of its own standard errors and 0.002 for all atoms at once: false alarm below 1e-4; another weight is seen."""
    types = TYPES.replace("{A, B, C}", "{A, B}").replace("G(p, p)\n", "G(p)\n")

    def inferred(last, method, **more):
        model = mln.Model.parse(types + SOFT.replace("G(x, y)", "G(x)") + last)
        return mln.infer(model, None, "S,F,E,K", method=method, **more)

    found = inferred(rules, "lifted-blocked", draws=200, seed=3, chains=8)
    assert found.guarantee is Guarantee.EXACT
    for expected, fine in ((inferred(rules, "enumerate"), True), (inferred(wrong, "enumerate"), False)):
        assert (np.abs(found.probability - expected.probability) < 5 * found.stderr + 0.002).all() == fine


def test_worlds_that_are_read_back_must_be_possible():
    network = network_of("S(x) => F(x, y).\n")
    words = network.start_worlds(5, np.random.SeedSequence(1), "spread")
    bits = ((words[None, :] >> np.arange(5, dtype=np.uint64)[:, None]) & np.uint64(1)).astype(bool)
    assert network.are_possible(bits)
    broken = bits[:1].copy()
    broken[0, network.problem.atoms.range_of("K").start] ^= True
    assert not network.are_possible(broken)  # a group with two values, or with none
    broken = bits[:1].copy()
    broken[0, network.problem.atoms.range_of("S").start], broken[0, network.problem.atoms.range_of("F").start] = True, False
    assert not network.are_possible(broken)
