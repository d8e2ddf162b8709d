"""The engines that the same tests run on: DuckDB in this process, and Sail, a Spark server without Java."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing

import pytest

from markovlogic.grounding.backends import Engine
from markovlogic.grounding.backends.duckdb import open_duckdb

Opened = Callable[[], AbstractContextManager[Engine]]


@pytest.fixture(params=["duckdb", "sail"])
def engines(request: pytest.FixtureRequest) -> tuple[str, Opened]:
    """Name of an engine, and how it is opened."""
    if request.param == "sail":
        started = request.getfixturevalue("sail")
        return "sail", lambda: started(2)
    return "duckdb", lambda: closing(open_duckdb(threads=1))
