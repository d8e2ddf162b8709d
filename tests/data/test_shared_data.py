"""The benchmark data of the papers, where it is present: sizes as its README gives them."""

import re

import pytest
from tests.data.made import SHARED, facts_of, model_of
from tests.data.slow_reader import read_slowly

from markovlogic.data.readers import read_evidence
from markovlogic.problem import pose

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="needs the benchmark data in ../shared/data")


def declared_model(path):
    """The predicates that a rule file declares; its rules do not matter here."""
    pattern = re.compile(r"[A-Za-z]\w*\([a-z]\w*!?(?:, *[a-z]\w*!?)*\)\s*\Z")
    declarations = {}
    for line in path.read_text().splitlines():
        if pattern.match(line):
            declarations.setdefault(line.partition("(")[0], line.strip())
    return model_of(*declarations.values())


def test_webkb():
    model = declared_model(SHARED / "webkb" / "webkb.mln")
    evidence = read_evidence(model, sorted((SHARED / "webkb").glob("*.db")))
    assert {name: len(domain) for name, domain in evidence.domains.items()} == {"page": 4168, "word": 774}
    assert len(evidence.facts["HasWord"]) == 271_455
    assert len(evidence.facts["Linked"]) == 10_019
    problem = pose(model, evidence, None, open_=list(model.predicates))
    n_facts = sum(len(facts) for facts in evidence.facts.values())
    assert len(problem.atoms) == 7 * 4168 + 774 * 4168 + 4168**2 - n_facts


def test_protein():
    model = declared_model(SHARED / "protein" / "protein.mln")
    evidence = read_evidence(model, [SHARED / "protein" / "protein.db"])
    assert sorted(len(domain) for domain in evidence.domains.values()) == [44, 1785]


def test_cora():
    model = declared_model(SHARED / "er" / "er.mln")
    evidence = read_evidence(model, sorted((SHARED / "er").glob("*.db")))
    assert {88, 209, 403, 1295} < {len(domain) for domain in evidence.domains.values()}


@pytest.mark.parametrize("name", ["webkb/unlinked_unassigned.db", "protein/yeast-fold4.db"])
def test_against_the_slow_reader(name):
    path = SHARED / name
    rules = {"webkb": "webkb.mln", "protein": "yeast.mln"}[path.parent.name]
    model = declared_model(path.parent / rules)
    expected = read_slowly(model, [path.read_text()])
    assert not expected.wrong_lines
    evidence = read_evidence(model, [path])
    assert facts_of(evidence, model) == {atom: message[0][0] for atom, message in expected.facts.items()}
    assert {name: list(domain.names) for name, domain in evidence.domains.items()} == expected.constants
