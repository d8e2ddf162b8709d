"""Evidence after changes is what reading the changed files gives."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from tools.attack import Attack
from tools.random_models import Features, Maker, shown

import markovlogic as mln
from markovlogic.data.updates import updated


def facts_of(evidence) -> dict[str, dict[tuple[str, ...], tuple]]:
    found = {}
    for name, facts in evidence.given.items():
        types = evidence.model_types[name]
        rows = {}
        for row in range(len(facts)):
            args = tuple(evidence.domains[t].names[n] for t, n in zip(types, facts.args[row].tolist(), strict=True))
            soft = 0.0 if facts.log_odds is None else round(float(facts.log_odds[row]), 9)
            number = None if facts.number is None else float(facts.number[row])
            rows[args] = (int(facts.truth[row]), soft, number)
        found[name] = rows
    return found


def same(model, one, other) -> None:
    for evidence in (one, other):
        object.__setattr__(evidence, "model_types", {name: own.types for name, own in model.predicates.items()})
    assert facts_of(one) == facts_of(other)
    used = {t for own in model.predicates.values() for t in own.types}
    assert {n: set(d.names) for n, d in one.domains.items() if n in used} == {
        n: set(d.names) for n, d in other.domains.items() if n in used
    }
    for facts in one.facts.values():
        assert not facts.args.flags.writeable


def test_random_changes_are_as_if_read(tmp_path: Path) -> None:
    """Plain facts, numbers and soft evidence of predicates without exclusive arguments, in random order."""
    checked = 0
    for seed in range(60):
        rng = random.Random(seed)
        case = Maker(rng, Features(numbers=0.5, soft=0.5, exclusive=0.0)).case()
        lines = case.evidence_text.splitlines()
        kept = [line for line in lines if rng.random() < 0.6]
        gone, more = [line for line in lines if line not in kept], [line for line in lines if rng.random() < 0.4]
        model = mln.Model.parse(case.model_text)

        def read(rows: list[str], model=model):
            path = tmp_path / "facts.db"
            path.write_text("\n".join(rows) + "\n")
            return model.evidence(str(path))

        base, after = read(lines), read([line for line in lines if line in kept or line in more])
        same(model, updated(model, base, read(more), read(gone)), after)
        same(model, updated(model, updated(model, base, None, read(gone)), read(more)), after)
        same(model, updated(model, base), base)
        checked += bool(gone) and bool(more)
    assert checked > 15


def test_a_new_fact_replaces_what_was_known_of_its_atom(tmp_path: Path) -> None:
    model = mln.Model.parse(
        "P(thing)\nC(thing, kind!)\nNum(thing): real\nR(thing, thing)\n1 P(x) ^ R(x, y)\n1 * Num(x) P(x)\n1 C(x, k)\n"
    )

    def read(text: str):
        path = tmp_path / "facts.db"
        path.write_text(text)
        return model.evidence(str(path))

    base = read("P(A)\n!P(B)\n0.3 P(D)\nC(A, K1)\nC(B, K1)\n2 Num(A)\nR(A, B)\n")
    after = updated(model, base, read("!P(A)\n0.9 P(B)\nP(D)\nC(A, K2)\n5 Num(A)\n"))
    same(model, after, read("!P(A)\n0.9 P(B)\nP(D)\nC(A, K2)\nC(B, K1)\n5 Num(A)\nR(A, B)\n"))
    without = updated(model, base, None, read("R(A, B)\nP(D)\n!C(A, K1)\n"))
    same(model, without, read("P(A)\n!P(B)\nC(B, K1)\n2 Num(A)\n"))
    assert "D" not in without.domains["thing"].names


def test_sessions_take_facts_as_texts_tables_and_files(tmp_path: Path) -> None:
    import pandas as pd

    model = "thing = {A, B}\nP(thing)\nR(thing, thing)\n0.7 P(x)\n1.1 R(x, y) ^ P(x) => P(y)\n"
    path = tmp_path / "rules.mln"
    path.write_text(model)
    session = mln.Session(str(path), {"R": pd.DataFrame({"a": ["A"], "b": ["B"]})}, "P", progress=False)
    first = session.result["P(B)"]
    assert session.update(add=["R(B,C)", "R(C,D)"])["P(B)"] != first
    assert session.update(remove={"R": pd.DataFrame({"a": ["B", "C"], "b": ["C", "D"]})})["P(B)"] == pytest.approx(first)
    assert len(session.result.atom) == 2
    (tmp_path / "more.db").write_text("P(A)\n")
    assert session.update(add=str(tmp_path / "more.db"))["P(B)"] > first
    alone = 1 / (1 + np.exp(-0.7))  # a table was given for R, so R is closed
    assert session.update(remove=["P(A)", "R(A,B)"])["P(B)"] == pytest.approx(alone)
    with pytest.raises(mln.InputError):
        session.update(add=["Nonsense(A)"])
    assert session.set_weight("0.7 P(x)", -0.7)["P(A)"] == pytest.approx(1 / (1 + np.exp(0.7)))
    assert session.set_weight(0, 0.0)["P(A)"] == pytest.approx(0.5)
    with pytest.raises(mln.InputError, match="no rules read"):
        session.set_weight("P(y) v P(z)", 1.0)
    assert session.why("P(A)").probability == pytest.approx(0.5)


def test_sessions_agree_with_fresh_runs_over_random_changes(tmp_path: Path) -> None:
    seen = 0
    for seed in range(15):
        maker = Maker(random.Random(f"session {seed}"), Features(numbers=0.3, hard=0.2, exclusive=0.0))
        case = maker.case()
        maker.has_numbers = maker.has_soft = False
        case.event = None
        model = mln.Model.parse(case.model_text)
        attack = Attack(case, seed, tmp_path)
        if not attack.judged.exists:
            continue
        session = mln.Session(model, attack.evidence, case.query, method="exact", progress=False)
        for _ in range(4):
            atom = (name := maker.rng.choice(case.names), tuple(maker.rng.choice(case.domains[t]) for t in _types(name)))
            case.soft.pop(atom, None)
            case.opened.discard(atom)
            if atom in case.facts and maker.rng.random() < 0.5:
                del case.facts[atom]
                session.change(remove=[shown(atom)])
            else:
                case.facts[atom] = maker.rng.random() < 0.5
                session.change(add=[("" if case.facts[atom] else "!") + shown(atom)])
            attack = Attack(case, seed, tmp_path)
            if not 1 <= case.n_worlds <= 4096 or not attack.judged.exists:
                break
            fresh = mln.infer(model, attack.evidence, case.query, method="exact", progress=False)
            assert session.result.atom.equals(fresh.atom)
            np.testing.assert_allclose(session.result.probability, fresh.probability, atol=1e-10)
            seen += 1
    assert seen > 20


def _types(name: str) -> tuple[str, ...]:
    from tools.random_models import PREDICATES

    return PREDICATES[name]
