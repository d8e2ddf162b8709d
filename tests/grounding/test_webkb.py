"""The WebKB benchmark: sizes as exact numbers, and the pruned clauses counted another way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from markovlogic.data.readers import read_evidence
from markovlogic.grounding.ground import ground
from markovlogic.grounding.predict import predict
from markovlogic.language.load import load
from markovlogic.language.lower import lower
from markovlogic.language.syntax import Atom, Model, Not, Or
from markovlogic.language.templates import LoweredModel
from markovlogic.problem import Problem, pose

DATA = Path(__file__).parents[3] / "shared" / "data" / "webkb"
CLASSES = ["Course", "Department", "Person", "Faculty", "ResearchProject", "Staff", "Student"]

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the benchmark data ../shared/data/webkb is not there")


@pytest.fixture(scope="module")
def webkb() -> tuple[Problem, LoweredModel]:
    model = load(DATA / "webkb.mln")
    evidence = read_evidence(model, sorted(DATA.glob("*.db")))
    return pose(model, evidence, CLASSES), lower(model)


def signed_atoms(model: Model) -> list[list[tuple[str, tuple[str, ...], bool]]]:
    """The rules, which are all clauses, as (predicate, variables, sign)."""
    clauses = []
    for rule in model.rules:
        parts = rule.formula.parts if isinstance(rule.formula, Or) else (rule.formula,)
        clause = []
        for part in parts:
            atom = part.body if isinstance(part, Not) else part
            assert isinstance(atom, Atom)
            clause.append((atom.predicate, tuple(a.name for a in atom.args), not isinstance(part, Not)))
        clauses.append(clause)
    return clauses


def lines_of(predicate: str) -> list[list[str]]:
    """The true facts of a predicate, read from the files line by line."""
    found = []
    for path in sorted(DATA.glob("*.db")):
        for line in path.read_text().splitlines():
            line = line.strip()
            if line.startswith(predicate + "("):
                found.append([part.strip().strip('"') for part in line[len(predicate) + 1 : line.rindex(")")].split(",")])
    return found


@pytest.mark.ways("grid", "database")
def test_groundings_are_counted_exactly(webkb: tuple[Problem, LoweredModel]) -> None:
    sizes = predict(*webkb)
    n_pages, n_words = 4168, 774
    assert sizes.groundings == 7 * n_words * n_pages + 49 * n_pages**2 + n_pages**2 + 7 * n_pages == 891_222_600
    assert sizes.atoms == len(webkb[0].atoms)


def test_the_pruned_clauses_are_those_of_a_direct_count(webkb: tuple[Problem, LoweredModel]) -> None:
    problem, lowered = webkb
    network = ground(problem, lowered)
    # the other way: pairs of linked pages straight from the files, literals as (class, page, sign) in one integer
    links = lines_of("Linked")
    number = {page: i for i, page in enumerate(dict.fromkeys(page for link in links for page in link))}
    linked = np.unique([[number[a], number[b]] for a, b in links], axis=0)
    labels = {name: {row[0] for row in lines_of(name)} for name in CLASSES}
    labelled = {name: np.isin(list(number), sorted(pages)) for name, pages in labels.items()}
    found = [np.empty((0, 2), np.int64)]
    for clause in signed_atoms(problem.model):
        if len(clause) != 3:
            continue  # words and single classes give unit clauses, and links alone are known
        (_, link, link_sign) = next(part for part in clause if part[0] == "Linked")
        stays = np.ones(len(linked), bool)
        literals = []
        for name, variables, sign in (part for part in clause if part[0] != "Linked"):
            page = linked[:, link.index(variables[0])]
            stays &= ~labelled[name][page]  # a known class makes its literal true, or leaves a unit clause
            literals.append((CLASSES.index(name) * len(number) + page) * 2 + sign)
        assert not link_sign
        stays &= literals[0] >> 1 != literals[1] >> 1  # a page linked to itself: a tautology
        found.append(np.sort(np.stack(literals, axis=1)[stays], axis=1))
    n_clauses = len(np.unique(np.concatenate(found), axis=0))
    assert network.n_clauses == n_clauses
    assert network.n_literals == 2 * n_clauses
    sizes = predict(problem, lowered)
    assert network.n_clauses <= sizes.clauses_at_most <= 49 * len(linked)
    assert len(problem.atoms) == network.n_atoms == 7 * 4168 - sum(len(pages) for pages in labels.values())


@pytest.mark.ways("grid", "database")
def test_threads_do_not_change_an_array(webkb: tuple[Problem, LoweredModel]) -> None:
    one, two = (ground(*webkb, threads=threads) for threads in (1, 2))
    for name, value in vars(one).items():
        assert np.array_equal(value, vars(two)[name]), name
