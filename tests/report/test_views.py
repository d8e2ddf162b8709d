import io

import numpy as np
from rich.console import Console
from tests.report.made import marginals

import markovlogic as mln
from markovlogic.data.evidence import Domain
from markovlogic.report.charts import ATOMS_ON_TOP, chart
from markovlogic.report.tables import bar, marginals_table, most_probable, number, probability, summary

MANY = Domain("person", tuple(f"P{i}" for i in range(30)))


def shown(result, limit=40, width=100):
    console = Console(file=io.StringIO(), width=width)
    console.print(marginals_table(result, limit=limit))
    return console.file.getvalue()


def test_the_table_is_most_probable_first_and_says_what_is_left_out():
    text = shown(marginals(), limit=5)
    lines = text.splitlines()
    assert 'Friends("é","é")' in lines[1] and "0.9375" in lines[1]
    assert "and 12 more" in text
    assert "guarantee: exact" in lines[-1]
    assert "R-hat" not in text
    assert "R-hat" in shown(marginals(sampled=True))


def test_markup_in_names_is_not_interpreted():
    odd = Domain("person", ("[bold]x[/bold]", "[/nothing]"))
    assert "[bold]x[/bold]" in shown(marginals(odd))


def test_most_probable_takes_the_best_of_many_and_keeps_name_order_of_equals():
    result = marginals(MANY)
    rows = most_probable(result, 10)
    assert list(result.probability[rows]) == sorted(result.probability, reverse=True)[:10]
    flat = marginals(MANY)
    flat.probability[:] = 0.5
    assert list(most_probable(flat, 4)) == [0, 1, 2, 3]
    flat.probability[0] = np.nan
    assert list(most_probable(flat, 1)) == [1]


def test_bars_and_numbers():
    assert bar(0.0) == "" and bar(1.0) == "█" * 20 and bar(float("nan")) == ""
    assert bar(0.5) == "█" * 10
    assert [probability(p) for p in (0.0, 1.0, 0.25, 3e-9, float("nan"))] == ["0.000000", "1.000000", "0.250000", "3.0e-09", "-"]
    assert number(float("nan"), 3) == "-" and number(0.123456, 3) == "0.123"
    assert summary(marginals(sampled=True)).startswith("17 rows, method gibbs, guarantee: exact, 8 chains of 100 draws")


def test_few_atoms_get_a_dot_each_and_many_a_histogram():
    few = chart(marginals(sampled=True)).to_dict()
    assert "layer" in few and len(few["layer"][0]["data"]["values"] if "data" in few["layer"][0] else few["data"]["values"]) == 17
    many = marginals(MANY).chart().to_dict()
    bars, dots = many["hconcat"]
    assert sum(value["rows"] for value in bars["data"]["values"]) == 901
    assert len(dots["data"]["values"] if "data" in dots else dots["layer"][0]["data"]["values"]) == ATOMS_ON_TOP


def test_a_page_explains_one_order_of_each_pair():
    from markovlogic.api.views import to_explain

    rules = "Same(x, x).\nSame(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) => Same(x, z).\n-0.4 Same(x, y)\n0.7 Same(A, B)\n"
    result = mln.infer(mln.Model.parse("rec = {A, B, C, D}\nSame(rec, rec)\n" + rules), None, ["Same"], progress=False)
    chosen = to_explain(result, 6)
    assert len(chosen) == 6 == len({frozenset(name[5:-1].split(",")) for name in chosen})
