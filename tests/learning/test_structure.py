"""Rules that data were drawn from come back, and planted decoys do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import markovlogic as mln
from markovlogic.cli.main import main
from markovlogic.errors import InputError
from markovlogic.language.show import show_model

N, NOISE = 60, 0.1
Pairs = set[tuple[int, ...]]
FAMILIES = (
    "implied",
    "inverse",
    "chain of two",
    "fork",
    "chain of three",
    "constant",
    "one constant",
    "unary end",
    "about y",
    "unary head",
    "exclusive",
)


def drawn(rng: np.random.Generator, n: int) -> set[tuple[int, int]]:
    return {(int(x), int(y)) for x, y in rng.integers(0, N, (n, 2)) if x != y}


def composed(first: Pairs, *others: Pairs) -> Pairs:
    for other in others:
        first = {(x, y) for x, z in first for w, y in other if z == w}
    return first


def reverse(pairs: Pairs) -> Pairs:
    return {(y, x) for x, y in pairs}


def noisy(rng: np.random.Generator, pairs: Pairs) -> Pairs:
    """A tenth of what the rule says is missing, and as much is true without it."""
    return {pair for pair in sorted(pairs) if rng.random() > NOISE} | drawn(rng, int(NOISE * len(pairs)))


def planted(family: str, seed: int) -> tuple[dict[str, Pairs], str]:
    """Relations and what the rule about R looks like. D1 to D3 have nothing to do with R."""
    rng = np.random.default_rng(seed)
    own = {name: drawn(rng, 2 * N) for name in ("P", "Q", "T", "D1", "D2", "D3")}
    p, q, t = own["P"], own["Q"], own["T"]
    match family:
        case "implied":
            rule, wanted = p, "P(x, y) => R(x, y)"
        case "inverse":
            rule, wanted = reverse(p), "P(y, x) => R(x, y)"
        case "chain of two":
            rule, wanted = composed(p, q), "P(x, z) ^ Q(z, y)) => R(x, y)"
        case "fork":
            rule, wanted = composed(p, reverse(q)), "P(x, z) ^ Q(y, z)) => R(x, y)"
        case "chain of three":
            rule, wanted = composed(p, q, t), "P(x, z) ^ Q(z, w) ^ T(w, y)) => R(x, y)"
        case "constant":
            chosen = [x for x in range(N) if rng.random() < 0.3]
            own["K"] = {(x, 0) for x in chosen} | {(x, y) for x, y in drawn(rng, N) if y}
            rule, wanted = {(x, 7) for x in chosen}, "K(x, C0) => R(x, C7)"
        case "one constant":
            chosen = [x for x in range(N) if rng.random() < 0.3]
            own["K"] = {(x, 0) for x in chosen} | {(x, y) for x, y in drawn(rng, N) if y}
            rule, wanted = {(x, y) for x in chosen for y in range(N) if rng.random() < 0.3}, "K(x, C0) => R(x, y)"
        case "unary end":
            own["S"] = {(x,) for x in range(N) if rng.random() < 0.3}
            rule, wanted = {(x, 7) for x, z in p if (z,) in own["S"]}, "P(x, z) ^ S(z)) => R(x, C7)"
        case "about y":
            own["S"] = {(x,) for x in range(N) if rng.random() < 0.3}
            rule, wanted = {(x, y) for (y,) in own["S"] for x in range(N) if rng.random() < 0.3}, "S(y) => R(x, y)"
        case "unary head":
            own["S"] = {(x,) for x in range(N) if rng.random() < 0.3}
            reached = {(x,) for x, z in p if (z,) in own["S"]}
            own["R"] = {one for one in reached if rng.random() > NOISE} | {(int(x),) for x in rng.integers(0, N, 3)}
            return own, "P(x, z) ^ S(z)) => R(x)"
        case _:
            out = {pair for pair in sorted(t) if rng.random() < 0.5}
            own["E"] = out | drawn(rng, N)
            rule, wanted = t - out, "E(x, y) => !R(x, y)"
    own["R"] = noisy(rng, rule)
    return own, wanted


def model_and_evidence(relations: dict[str, Pairs]) -> tuple[mln.Model, mln.Evidence]:
    types = f"thing = {{{', '.join(f'C{x}' for x in range(N))}}}\n"
    arity = {name: len(next(iter(rows))) for name, rows in relations.items()}
    model = mln.Model.parse(types + "".join(f"{name}({', '.join(['thing'] * arity[name])})\n" for name in relations))
    tables = {
        name: pa.table({f"a{at}": [f"C{row[at]}" for row in sorted(rows)] for at in range(arity[name])})
        for name, rows in relations.items()
    }
    return model, model.evidence(**tables)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("family", FAMILIES)
def test_planted_rules_come_back_and_decoys_do_not(family: str, seed: int) -> None:
    relations, wanted = planted(family, seed)
    model, evidence = model_and_evidence(relations)
    found = mln.learn(model, evidence, "R", structure=True, seed=seed, progress=False)
    formulas = [one.formula for one in found.weights]
    assert any(wanted in formula for formula in formulas), formulas
    assert not any(decoy in formula for formula in formulas for decoy in ("D1", "D2", "D3")), formulas


@pytest.mark.parametrize("lists_false", [True, False])
def test_inference_chooses_between_facts_and_open_atoms(lists_false: bool, tmp_path: Path) -> None:
    """Neighbours on a ring are alike. Where no false fact is listed, every open atom would speak against those beside it."""
    rng = np.random.default_rng(0)
    n, strength = 120, 1.0
    is_true = rng.random(n) < 0.5
    for at in [*range(n)] * 200:
        alike = sum(1 if is_true[other % n] else -1 for other in (at - 1, at + 1))
        is_true[at] = rng.random() < 1 / (1 + np.exp(-strength * alike))
    lines = [f"Beside(C{at}, C{other % n})" for at in range(n) for other in (at - 1, at + 1)]
    lines += [f"{'' if is_true[at] else '!'}Smokes(C{at})" for at in range(n) if lists_false or is_true[at]]
    (tmp_path / "facts.db").write_text("\n".join(lines))
    model = mln.Model.parse("Beside(thing, thing)\nSmokes(thing)\n")
    found = mln.learn(model, str(tmp_path / "facts.db"), "Smokes", structure=True, length=2, progress=False)
    base, rule = found.weights
    assert ("Known" in rule.formula) != lists_false and "Smokes(z)" in rule.formula.split("=>")[0]
    assert any("held-out inference chose" in note for note in found.notes)
    if lists_false:
        assert abs(rule.weight - strength) < 3 * rule.stderr and abs(base.weight) < 3 * base.stderr, found.weights
    else:
        assert rule.weight > 1.5 * strength  # the facts that are missing are taken as false


def test_where_there_is_nothing_to_find_nothing_is_found() -> None:
    """The twin: the same relations, R drawn from none of them."""
    relations, _ = planted("implied", 3)
    relations["R"] = drawn(np.random.default_rng(9), 2 * N)
    model, evidence = model_and_evidence(relations)
    found = mln.learn(model, evidence, "R", structure=True, progress=False)
    assert [one.formula for one in found.weights] == ["R(x, y)"]


def test_the_file_says_what_is_known_of_each_rule(tmp_path: Path) -> None:
    relations, _ = planted("chain of two", 5)
    lines = [f"{name}(C{x}, C{y})" for name, pairs in relations.items() for x, y in sorted(pairs)]
    (tmp_path / "facts.db").write_text("\n".join(lines))
    (tmp_path / "m.mln").write_text(
        "".join(f"{name}(thing, thing)\n" for name in relations) + "// given\n2 D1(x, y) => R(x, y)\n"
    )
    out = tmp_path / "out.mln"
    files = [str(tmp_path / "m.mln"), "-e", str(tmp_path / "facts.db"), "-q", "R", "-o", str(out), "--quiet"]
    assert main(["learn", *files, "--structure", "--length", "2", "--rules", "1"]) == 0
    text = out.read_text()
    assert "// given" in text and "D1(x, y) => R(x, y)  // standard error" in text
    rule = next(at for at, line in enumerate(text.splitlines()) if "EXIST z" in line and "P(x, z) ^ Q(z, y)" in line)
    about = text.splitlines()[rule - 1]
    reached = composed(relations["P"], relations["Q"])
    assert f"support {len(reached & relations['R'])} of {len(reached)}, confidence" in about
    assert "e.g. R(C" in about and "P(C" in about
    model = mln.load(out)
    assert sum("=>" in line for line in text.splitlines() if not line.startswith("//")) == 2  # the given one and one found
    assert len(mln.infer(model, model.evidence(str(tmp_path / "facts.db")), ["R(C0,_)"], top=3, progress=False)) == 3


def test_options_without_structure_are_refused(tmp_path: Path) -> None:
    relations, _ = planted("implied", 1)
    model, evidence = model_and_evidence(relations)
    with pytest.raises(InputError, match="structure=True"):
        mln.learn(model, evidence, "R", rules=3)
    with pytest.raises(InputError, match="together"):
        mln.learn(model, evidence, "R", structure=True, refine=True)
    with pytest.raises(InputError, match="length and rules"):
        mln.learn(model, evidence, "R", refine=True, rules=3)
    with pytest.raises(InputError, match="keep_weights: not supported with refine"):
        mln.learn(model, evidence, "R", refine=True, keep_weights=True)
    with pytest.raises(InputError, match="less than 1"):
        mln.learn(model, evidence, "R", structure=True, length=0)


def test_rules_that_the_data_contradict_are_named() -> None:
    relations, _ = planted("exclusive", 0)
    model, evidence = model_and_evidence(relations)
    own = mln.Model.parse(show_model(model) + "1 T(x, y) => R(x, y)\n1 E(x, y) => R(x, y)\n")
    found = mln.learn(own, evidence, "R", structure=True, progress=False)
    contradicted = [note for note in found.notes if "contradict" in note]
    assert len(contradicted) == 1 and "E(x, y) => R(x, y)" in contradicted[0]


def damaged(relations: dict[str, Pairs], *rules: str) -> tuple[mln.Model, mln.Evidence]:
    model, evidence = model_and_evidence(relations)
    return mln.Model.parse(show_model(model) + "\n".join(rules) + "\n"), evidence


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("family", "given"),
    [
        ("implied", "1 (EXIST z P(x, z) ^ D1(z, y)) => R(x, y)"),  # a literal too many
        ("chain of two", "(EXIST z,w P(x, z) ^ Q(z, w) ^ D2(w, y)) => R(x, y)"),
        ("fork", "1 (EXIST z,w P(x, z) ^ T(z, w) ^ Q(y, w)) => R(x, y)"),
        ("chain of two", "(EXIST z P(x, z)) => R(x, y)"),  # a literal missing
        ("fork", "1 P(x, y) => R(x, y)"),
        ("chain of three", "0.5 (EXIST z,w P(x, z) ^ Q(z, w)) => R(x, y)"),
        ("chain of two", "(EXIST z P(x, z) ^ D1(z, y)) => R(x, y)"),  # one in place of another
        ("constant", "(EXIST z K(x, z)) => R(x, C7)"),  # a constant missing
        ("exclusive", "(EXIST z E(x, z) ^ D1(z, y)) => !R(x, y)\n2 T(x, y) => R(x, y)"),
    ],
)
def test_damaged_rules_are_mended(family: str, given: str, seed: int) -> None:
    relations, wanted = planted(family, seed)
    model, evidence = damaged(relations, given, "1 D3(x, y) => R(x, y)")
    found = mln.learn(model, evidence, "R", refine=True, seed=seed, progress=False)
    formulas = [one.formula for one in found.weights]
    assert any(wanted in formula for formula in formulas), formulas
    assert "D3(x, y) => R(x, y)" in formulas and not any("D1" in one or "D2" in one for one in formulas), formulas
    assert len(formulas) == len(model.rules) + 1  # and the head's base rate


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_true_rules_are_left_alone(seed: int) -> None:
    """The twin: nothing is to be gained where the rules are those of the data, or the data those of no rule."""
    relations, _ = planted("chain of two", seed)
    given = ["1 (EXIST z (P(x, z) ^ Q(z, y))) => R(x, y)", "1 D1(x, y) => R(x, y)"]
    for drawn_apart in (False, True):
        if drawn_apart:
            relations["R"] = drawn(np.random.default_rng(seed + 20), 2 * N)
        model, evidence = damaged(relations, *given)
        found = mln.learn(model, evidence, "R", refine=True, seed=seed, progress=False)
        assert found.stats["rules_changed"] == 0 and found.stats["candidates"] > 50
        assert {one.number: one.rule.formula for one in found.weights if one.number < 2} == {
            number: rule.formula for number, rule in enumerate(model.rules)
        }


def test_a_refined_file_shows_what_a_rule_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    relations, _ = planted("exclusive", 0)
    lines = [f"{name}(C{x}, C{y})" for name, pairs in relations.items() for x, y in sorted(pairs)]
    (tmp_path / "facts.db").write_text("\n".join(lines))
    own = ["1 (EXIST z T(x, z) ^ D1(z, y)) => R(x, y)  // mine", "1 E(x, y) => R(x, y)", "0.7 R(x, y) => R(y, x)"]
    (tmp_path / "m.mln").write_text("\n".join([*(f"{name}(thing, thing)" for name in relations), "// first", *own, ""]))
    out = tmp_path / "out.mln"
    files = [str(tmp_path / "m.mln"), "-e", str(tmp_path / "facts.db"), "-q", "R", "-o", str(out)]
    assert main(["learn", *files, "--refine", "--length", "2"]) == 0
    shown = " ".join(capsys.readouterr().err.split())
    assert "the data contradict E(x, y) => R(x, y)" in shown and "are no paths along facts: they are kept" in shown
    text = out.read_text().splitlines()
    at = text.index("// first")
    assert text[at + 1] == f"// {own[0]}"
    assert text[at + 2].startswith("// was ") and "held-out log-likelihood gains " in text[at + 2]
    assert "T(x, y) => R(x, y)  // standard error" in text[at + 3]
    assert text[at + 5].endswith("// standard error " + text[at + 5].rsplit(" ", 1)[1]) and " E(x, y) => R(x, y) " in text[at + 5]
    assert own[2] in text
    model = mln.load(out)
    assert len(model.rules) == 4
    again = mln.learn(model, model.evidence(str(tmp_path / "facts.db")), "R", refine=True, progress=False)
    assert again.stats["rules_changed"] == 0


def test_refining_ends_in_time_with_the_rules_as_they_are() -> None:
    relations, _ = planted("chain of two", 0)
    model, evidence = damaged(relations, "1 P(x, y) => R(x, y)")
    found = mln.learn(model, evidence, "R", refine=True, time_limit=1e-6, progress=False)
    assert found.stats["rules_changed"] == 0 and len(found.weights) == 2
    assert "time limit" in found.concerns()[0]


def test_rules_about_exclusive_values_are_refined_with_constants() -> None:
    """Pages with the word C0 have class A; the rule that is given says: with any word."""
    rng = np.random.default_rng(0)
    words = {(x, int(word)) for x in range(N) for word in rng.integers(0, 6, 2)}
    noise = rng.random(N) < NOISE
    kind = ["A" if ((x, 0) in words) != noise[x] else "B" for x in range(N)]
    rule = "1 (EXIST z Has(x, z)) => Page(x, A)\n"
    model = mln.Model.parse(f"Page(page, class!)\nHas(page, word)\n{rule}")
    has = pa.table({"a": [f"P{x}" for x, _ in sorted(words)], "b": [f"W{word}" for _, word in sorted(words)]})
    page = pa.table({"a": [f"P{x}" for x in range(N)], "b": kind})
    found = mln.learn(model, model.evidence(Has=has, Page=page), "Page", refine=True, progress=False)
    assert any("Has(x, W0) => Page(x, A)" in one.formula and one.weight > 2 for one in found.weights)
    assert any("exactly one value" in worry for worry in found.concerns())
