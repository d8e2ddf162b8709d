"""What no model needs is refused at once, with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from markovlogic.errors import InputError
from markovlogic.generate import make, write
from markovlogic.language.load import load, parse
from markovlogic.language.lower import lower
from markovlogic.language.parser import MAX_ATOMS
from markovlogic.language.typing import MAX_ARITY

DECLARED = "p = {A, B}\nS(p)\nT(p, p)\n"


def faults_of(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        parse(DECLARED + text, "m.mln")
    return [fault.one_line() for fault in caught.value.faults]


@pytest.mark.parametrize("weight", ["1e308", "-1e308", "1e10", "1e400", "123456789012345"])
def test_weights_that_would_swallow_others(weight: str) -> None:
    (message,) = faults_of(f"{weight} S(x)\n")
    assert message.startswith(
        f"m.mln:4:1: weight {weight} is too large (weights are logarithms, at most 1,000,000,000; write inf"
    )


def test_large_weights_and_small_ones_keep_each_other_company() -> None:
    """The largest weights that are allowed: a small one beside them keeps eight digits of its probability."""
    import markovlogic as mln

    model = mln.Model.parse("p = {A}\nS(p)\n1e9 S(x)\n-1e9 S(x)\n1 S(x)\n")
    assert mln.infer(model, (), "S", method="exact").probability[0] == pytest.approx(0.731058578630, abs=1e-7)


@pytest.mark.parametrize("text", ["nan S(x)", "NaN S(x)", "-nan S(x) v S(y)", "+NAN !S(x)", "nan *S(x)"])
def test_nan_is_no_weight(text: str) -> None:
    (message,) = faults_of(text + "\n")
    assert message.startswith("m.mln:4:1: nan is not a weight (expected a number such as 1.5, -2, 1e-3 or inf)")


def test_nan_may_be_a_predicate() -> None:
    model = parse("NaN\nnan(p)\np = {A}\n1 NaN v nan(x)\n0.5 nan(x)\n")
    assert set(model.predicates) == {"NaN", "nan"} and len(model.rules) == 2


def test_many_arguments() -> None:
    for n in (MAX_ARITY + 1, 1000):
        (message,) = faults_of(f"W({', '.join(['p'] * n)})\n1 W({', '.join(['x'] * n)})\n")
        assert message.startswith(f"m.mln:4:1: W has {n:,} arguments, at most {MAX_ARITY} are allowed")
    parse(f"p = {{A}}\nW({', '.join(['p'] * MAX_ARITY)})\n1 W({', '.join(['x'] * MAX_ARITY)})\n")


@pytest.mark.parametrize("connective", ["v", "^", "=>"])
def test_long_formulas(connective: str) -> None:
    for n in (MAX_ATOMS + 1, 5000):
        if connective != "=>":
            (message,) = faults_of(f"1 {f' {connective} '.join(f'S(x{i})' for i in range(n))}\n")
            assert message.startswith(f"m.mln:4:1: formula of {n:,} atoms, at most {MAX_ATOMS:,} are allowed")
        else:
            assert "nested deeper" in faults_of(f"1 {' => '.join(f'S(x{i})' for i in range(n))}\n")[0]


def test_the_longest_clause_that_is_allowed() -> None:
    import markovlogic as mln

    model = mln.Model.parse(DECLARED + f"1 {' v '.join(f'S(x{i})' for i in range(MAX_ATOMS // 2))} v T(x0, x1)\n")
    assert len(lower(model).templates) == 1
    with pytest.raises(mln.MarkovLogicError, match="grounding would need"):
        mln.infer(model, (), "S", method="gibbs")


def test_thousands_of_errors_are_counted() -> None:
    for line in ("0.5 S(x, y)\n", "0.5 S(x) ^\n\n"):
        message = faults_of(line * 19_000)
        assert len(message) == 101 and message[-1].endswith("and 18,900 more")


def test_messages_have_the_names_of_the_source() -> None:
    message = faults_of(
        "q = {B}\nU(q)\n"
        "1 S(x) ^ (EXIST x U(x)) ^ (EXIST x (U(x) ^ S(x)))\n"
        "1 S(x) ^ (EXIST x, y (S(x) ^ U(y) ^ x = y))\n"
        "1 S(x) ^ (EXIST x x = x)\n"
    )
    assert len(message) == 3 and not any("x_1" in text or "x_2" in text for text in message)
    model = parse(DECLARED + "S(x) ^ (EXIST x *T(x, A)).\n")
    assert [rule.text for rule in model.rules] == ["S(x) ^ EXIST x T(x, A).", "S(x) ^ EXIST x !T(x, A)."]


def test_a_file_counts_once_under_whatever_name_it_is_included(tmp_path: Path) -> None:
    (tmp_path / "more.mln").write_text("0.5 S(x)\n")
    (tmp_path / "link.mln").symlink_to("more.mln")
    (tmp_path / "deep").mkdir()
    names = ["more.mln", "./more.mln", "deep/../more.mln", "link.mln", str(tmp_path / "more.mln")]
    (tmp_path / "m.mln").write_text(DECLARED + "".join(f'#include "{name}"\n' for name in names))
    assert len(load(tmp_path / "m.mln").rules) == 1


def test_large_generated_files_can_be_read(tmp_path: Path) -> None:
    """A grid of 300 by 300 has a line of constants that would be too long at 1000 by 1000."""
    rules, _ = write(make("ising", 300, 0.1, 1), tmp_path)
    assert max(map(len, rules.read_text().splitlines())) < 1 << 18
    assert len(load(rules).constants["site"]) == 90_000
