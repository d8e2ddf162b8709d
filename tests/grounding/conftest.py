"""Tests of grounding run three times: small patterns on a grid, as they are; everything through DuckDB; and through Sail.

Modules that request nothing of a database, or only what DuckDB alone has, run in fewer ways, and so do tests marked with `ways`.
"""

import pytest

from markovlogic.grounding import ground, predict, surviving

WAYS = ("grid", "database", "spark")
FEWER = {"test_sql": WAYS[:1], "test_predict": WAYS[:2]}  # the text of queries; counts that stop at a budget, which DuckDB has


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "way" in metafunc.fixturenames:
        marked = metafunc.definition.get_closest_marker("ways")
        ways = marked.args if marked else FEWER.get(metafunc.module.__name__.rpartition(".")[2], WAYS)
        metafunc.parametrize("way", ways, indirect=True, scope="module")


@pytest.fixture(scope="module", autouse=True)
def way(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.param != "grid":
            patch.setattr(surviving, "MOST_SUBSTITUTIONS", -1)
        if request.param == "spark":
            sail = request.getfixturevalue("sail")
            for module in (ground, predict):
                patch.setattr(module, "engine", lambda *_, **__: sail(2))
        yield request.param
