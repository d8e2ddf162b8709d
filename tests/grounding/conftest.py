"""Every test of grounding runs twice: small patterns on a grid, as they are, and everything through the database."""

import pytest

from markovlogic.grounding import surviving


@pytest.fixture(scope="module", autouse=True, params=["grid", "database"])
def way(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "database":
            patch.setattr(surviving, "MOST_SUBSTITUTIONS", -1)
        yield request.param
