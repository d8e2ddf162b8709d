"""What `mln.compress` gives: a short view of it, and a refusal where files could not hold what is known."""

import re

import pytest

import markovlogic as mln
from markovlogic_papers import readings


@pytest.fixture
def files(tmp_path):
    """People, some of whom smoke."""
    (tmp_path / "m.mln").write_text("p = {Ann, Bob, Cid}\nS(p)\nC(p)\nF(p, p)\n1.5 S(x) => C(x)\n1.1 F(x,y) ^ S(x) => S(y)\n")
    (tmp_path / "m.db").write_text("F(Ann,Bob)\nS(Ann)\n")
    return str(tmp_path / "m.mln"), str(tmp_path / "m.db")


def test_views_are_short(files):
    made = mln.compress(*files, "random", ratio=0.4, query="S")
    assert repr(made) == f"<compressed by {made.description}>" and len(repr(made)) < 200
    page = made._repr_html_()
    assert page.startswith("<p>random: 1 group for 3 of p") and "Ann, Bob, Cid" in page and len(page) < 2000
    assert re.search(r"<code>p</code></td><td[^>]*>3</td><td[^>]*>1</td><td[^>]*>3</td>", page)
    assert all(note.replace(">", "&gt;") in page for note in made.notes) and made.notes


def test_numbers_are_refused_where_facts_are_written(files, tmp_path):
    with open(files[1], "a") as file:
        file.write("0.8 S(Bob)\n")
    with pytest.raises(mln.UnsupportedError, match=r"soft evidence about S cannot be compressed \(leave the compression out"):
        mln.compress(*files, "random")
    model = tmp_path / "n.mln"
    head = "p = {A, B}\nR(p)\nSim(p, p): real\n1 R(x)\n"
    (tmp_path / "n.db").write_text("0.5 Sim(A,B)\nR(A)\n")
    for rules, message in (
        ("2 * Sim(x, y)  R(x) => R(y)\n", "a weight that a number multiplies"),
        ("", "the numbers of Sim cannot"),
    ):
        model.write_text(head + rules)
        with pytest.raises(mln.UnsupportedError, match=message) as caught:
            mln.compress(str(model), str(tmp_path / "n.db"), "random")
        assert len(caught.value.faults) == 1
    # no rule uses the numbers, so that answers do not depend on them
    assert len(mln.infer(str(model), str(tmp_path / "n.db"), "R", compress="random")) == 1


def test_a_refusal_for_memory_advises_what_is_possible(files):
    with pytest.raises(mln.ResourceError, match="let more be merged, or allow more") as caught:
        mln.infer(*files, "S", compress=readings.RandomGroups(ratio=0.9, alpha="lazy"), memory_limit=1_000_000, chains=100_000)
    assert "--estimator" not in str(caught.value)
