"""Quantified parts with one and two free variables, which Skolem predicates of one and of two objects stand for."""

import random

import numpy as np
import pytest

import markovlogic as mln

CASES = {
    "an equality makes a pair of two": ("p={A,B,C}\nt={U,V,W}\nR(p)\nQ(t)\n1 EXIST y (R(y) ^ y = x ^ Q(u))\n", "", "R"),
    "known to be false": ("p={A,B,C}\nS(p)\nF(p,p)\n1 EXIST z (S(y) ^ F(z,x))\n", "!S(A)\n!S(B)\n!S(C)\n", "F"),
    "for all": ("p={A,B,C}\nR(p)\nS(p)\n-0.66 FORALL y (y != x v R(y) v !S(z))\n", "", "R"),
}


@pytest.mark.parametrize("name", CASES)
def test_skolem_atoms_of_two_objects_weigh_minus_one_too(name, tmp_path):
    text, facts, query = CASES[name]
    compare(text, facts, query, tmp_path)


def random_rules(seed):
    """Rules with quantifiers over two predicates of one object and one of two."""
    rng = random.Random(seed)
    rules = []
    for _ in range(rng.randint(1, 2)):
        free = rng.sample(["x", "z"], rng.randint(1, 2))
        names, body = [*free, "y"], []
        for _ in range(rng.randint(1, 3)):
            sign, one, other = "!" * (rng.random() < 0.3), rng.choice(names), rng.choice(names)
            body.append(
                rng.choice([f"{sign}R({one})", f"{sign}S({one})", f"{sign}F({one},{other})", f"y = {free[0]}", f"y != {free[0]}"])
            )
        typed = "".join(part for part in body if "=" not in part)
        body += [f"{rng.choice('RS')}({name})" for name in names if name not in typed]  # each has a type from some atom
        rules.append(f"{rng.uniform(-2, 2):.2f} {rng.choice(['EXIST', 'FORALL'])} y ({rng.choice([' ^ ', ' v ']).join(body)})")
    facts = "".join(f"{'!' * (rng.random() < 0.6)}{rng.choice('RS')}({name})\n" for name in rng.sample("ABC", rng.randint(0, 2)))
    return "p={A,B,C}\nR(p)\nS(p)\nF(p,p)\n" + "\n".join(rules) + "\n", facts, ["R", "F"]


@pytest.mark.parametrize("seed", range(60))
def test_lifted_agrees_with_enumeration(seed, tmp_path):
    compare(*random_rules(seed), tmp_path)


def compare(text, facts, query, tmp_path):
    (tmp_path / "e.db").write_text(facts)
    model = mln.Model.parse(text)
    evidence = model.evidence(tmp_path / "e.db")
    truth = mln.infer(model, evidence, query, method="enumerate")
    try:
        found = mln.infer(model, evidence, query, method="lifted")
    except mln.MarkovLogicError:
        return
    np.testing.assert_allclose(found.probability, truth.probability, atol=1e-10)
    assert found.run.log_z == pytest.approx(truth.run.log_z, abs=1e-9)
