"""Every test of grounding runs twice: small patterns on a grid, as they are, and everything through the database.

Cases as text and random templates against substitution run through a Spark session too.
"""

import pytest

from markovlogic.grounding import ground, predict, surviving

ON_SPARK = ("test_text", "test_against_substitution")


@pytest.fixture(scope="module", autouse=True, params=["grid", "database", "spark"])
def way(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.param != "grid":
            patch.setattr(surviving, "MOST_SUBSTITUTIONS", -1)
        if request.param == "spark":
            if not request.module.__name__.endswith(ON_SPARK):
                pytest.skip("runs on DuckDB alone")
            sail = request.getfixturevalue("sail")
            for module in (ground, predict):
                patch.setattr(module, "engine", lambda *_, **__: sail(2))
        yield request.param
