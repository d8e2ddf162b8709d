"""The engines that the same tests run on: DuckDB in this process, and Sail, a Spark server without Java."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager

import pytest

from markovlogic.grounding.backends import Engine
from markovlogic.grounding.backends.duckdb import open_duckdb

Opened = Callable[[], AbstractContextManager[Engine]]


@pytest.fixture(scope="session")
def sail() -> Iterator[Callable[[int], AbstractContextManager[Engine]]]:
    """Opens an engine on a Sail server with so many partitions; each server is started once."""
    pytest.importorskip("pysail", reason="pip install 'markovlogic[sail]'")
    with warnings.catch_warnings(), ExitStack() as servers:
        warnings.simplefilter("ignore")  # pyspark and pandas
        from markovlogic.grounding.backends import sessions

        known: dict[int, str] = {}

        @contextmanager
        def opened(partitions: int) -> Iterator[Engine]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if partitions not in known:
                    known[partitions] = servers.enter_context(sessions._sail(partitions))
                with sessions.spark_engine(known[partitions]) as engine:
                    yield engine

        yield opened


@pytest.fixture(params=["duckdb", "sail"])
def engines(request: pytest.FixtureRequest) -> tuple[str, Opened]:
    """Name of an engine, and how it is opened."""
    if request.param == "sail":
        started = request.getfixturevalue("sail")
        return "sail", lambda: started(2)
    return "duckdb", lambda: closing(open_duckdb(threads=1))
