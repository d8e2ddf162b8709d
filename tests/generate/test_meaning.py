"""Generated models mean what the papers' formulas say: sizes and marginals against a count by hand."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.generate.reading import of, types_of

import markovlogic
from markovlogic.generate import Generated, make, write

Score = Callable[[dict[str, bool]], float]


def marginals_by_hand(atoms: list[str], known: dict[str, bool], score: Score) -> dict[str, float]:
    """P(atom is true) for the atoms that are not known, by adding up all worlds."""
    unknown = [atom for atom in atoms if atom not in known]
    total, true = 0.0, dict.fromkeys(unknown, 0.0)
    for values in itertools.product((False, True), repeat=len(unknown)):
        world = known | dict(zip(unknown, values, strict=True))
        weight = math.exp(score(world))
        total += weight
        for atom in unknown:
            true[atom] += weight * world[atom]
    return {atom: value / total for atom, value in true.items()}


def inferred(generated: Generated, folder: Path, query: str) -> dict[str, float]:
    rules, facts = write(generated, folder)
    result = markovlogic.infer(rules, [facts], query=query, method="enumerate")
    return {atom: float(result[atom]) for atom in result}


def unary(generated: Generated, predicate: str) -> dict[str, bool]:
    return {args[0]: truth for truth, args in of(generated, predicate)}


def edges(generated: Generated) -> list[tuple[str, str]]:
    return [(args[0], args[1]) for truth, args in of(generated, "Adjacent") if truth]


@pytest.mark.parametrize("size", [1, 3])
def test_grid_is_a_factor_of_exp_0_2_where_neighbours_differ(size: int, tmp_path: Path) -> None:
    generated = make("grid", size, 0.3, 1)
    sites = sorted(types_of(generated)["site"])
    expected = marginals_by_hand(
        sites, unary(generated, "Red"), lambda red: sum(0.2 * (red[a] != red[b]) for a, b in edges(generated))
    )
    found = inferred(generated, tmp_path, "Red")
    assert found == pytest.approx({f"Red({site})": value for site, value in expected.items()}, abs=1e-12)


@pytest.mark.parametrize(("name", "size"), [("ising", 3), ("chimera", 1)])
def test_ising_couples_equal_neighbours_and_has_a_field(name: str, size: int, tmp_path: Path) -> None:
    generated = make(name, size, 0.2, 2)
    strengths = (-0.5, -0.3, -0.1, 0.1, 0.3, 0.5)
    field = {args[0]: strengths[int(args[1][1:])] for _, args in of(generated, "Field")}
    expected = marginals_by_hand(
        sorted(field),
        unary(generated, "Up"),
        lambda up: sum(0.4 * (up[a] == up[b]) for a, b in edges(generated)) + sum(field[site] * up[site] for site in field),
    )
    found = inferred(generated, tmp_path, "Up")
    assert found == pytest.approx({f"Up({site})": value for site, value in expected.items()}, abs=1e-12)


def test_smokers_with_closed_friends(tmp_path: Path) -> None:
    generated = make("smokers", 6, 0.5, 3)
    people = sorted(types_of(generated)["person"])
    friends = [args for _, args in of(generated, "Friends")]

    def score(smokes: dict[str, bool]) -> float:
        alone = sum(1.4 * (not smokes[p]) for p in people)
        together = sum(1.1 * (not smokes[a] or smokes[b]) for a, b in friends)
        # cancer is summed out: without it 2.3 and, for those who do not smoke, 1.5; with it always 1.5
        cancer = sum(math.log(math.exp(2.3 + 1.5 * (not smokes[p])) + math.exp(1.5)) for p in people)
        return alone + together + cancer

    expected = marginals_by_hand(people, unary(generated, "Smokes"), score)
    assert inferred(generated, tmp_path, "Smokes") == pytest.approx(
        {f"Smokes({person})": value for person, value in expected.items()}, abs=1e-12
    )


@pytest.mark.parametrize("variant", ["", "desaturated"])
def test_synthetic_has_independent_log_odds(variant: str, tmp_path: Path) -> None:
    generated = make("synthetic", 3, 1.0, 1, variant=variant)
    weight = [float(w) for w in re.findall(r"^(\S+) R\(x\)", generated.rules, re.MULTILINE)]
    found = inferred(generated, tmp_path, "R")
    for item in range(3):
        log_odds = 0.0
        for number, w in enumerate(weight, 1):
            false = [
                sum(not truth for truth, args in of(generated, f"{letter}{number}") if args[0] == f"X{item}") for letter in "ST"
            ]
            log_odds += w * false[0] * false[1]
        assert found[f"R(X{item})"] == pytest.approx(1 / (1 + math.exp(-log_odds)), abs=1e-9)


def test_a_hard_grid_has_two_colourings(tmp_path: Path) -> None:
    found = inferred(make("grid", 4, 0.0, 1, variant="hard"), tmp_path, "Red(S0_0)^!Red(S0_1),Red(S0_0)^Red(S0_1)")
    assert found == pytest.approx({"Red(S0_0)^!Red(S0_1)": 0.5, "Red(S0_0)^Red(S0_1)": 0.0}, abs=1e-12)


@pytest.mark.parametrize("pages", [30, 300])
def test_webkb_grounds_to_25_clauses_a_link(pages: int, tmp_path: Path) -> None:
    generated = make("webkb", pages, 0.0, 0)
    rules, facts = write(generated, tmp_path)
    found = markovlogic.explain(rules, [facts], query=generated.query)
    assert found.clauses == 25 * 10 * pages
    assert found.atoms == 5 * pages
    assert found.groundings == 25 * pages**2 + 5 * 100 * pages + 5 * pages
