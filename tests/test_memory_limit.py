"""A memory limit holds for the process that works, in every function that takes one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.api.cluster import cluster
from markovlogic.errors import ResourceError
from markovlogic.system import measures
from markovlogic.system.cancellation import Deadline

LIMIT = 300 << 20
MODEL = "p = {A, B, C}\nS(p)\nF(p, p)\n0.5 F(x, y) ^ S(x) => S(y)\n"
SAME = (
    "p = {A, B, C}\nSame(p, p)\nSame(x, x).\nSame(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) => Same(x, z).\n0.1 Same(x, y)\n"
)
LARGE = "p = {%s}\nR(p, p)\nS(p)\n0.5 R(x, y) ^ S(x) => S(y)\n0.1 R(x, y)\n"
IN_A_PROCESS = "import sys; from markovlogic.cli.main import main; sys.exit(main())"


def test_a_run_that_holds_too_much_is_refused_at_its_next_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "PROGRAM_BYTES", 0)
    deadline = Deadline()
    with pytest.raises(ResourceError, match="the run was stopped at the memory limit of 20 MB"):  # noqa: SIM117
        with deadline.of_this_run(), measures.memory_of_run(20_000_000):
            held = []
            for _ in range(10_000):
                held.append(np.ones(1_000_000))
                deadline.check()
    assert deadline.overdue() > 0  # what cannot check is ended from outside


def learned() -> Any:
    model = mln.Model.parse("p = {A, B}\nS(p)\n(S(x))\n")
    return mln.learn(model, model.evidence(S={"x": ["A"]}), "S", prior=1.0, memory_limit=LIMIT, progress=False)


CALLS: dict[str, Callable[[], Any]] = {
    "infer": lambda: mln.infer(mln.Model.parse(MODEL), None, "S", memory_limit=LIMIT),
    "map": lambda: mln.maximize(mln.Model.parse(MODEL), None, "S", memory_limit=LIMIT),
    "explain": lambda: mln.explain(mln.Model.parse(MODEL), None, "S", memory_limit=LIMIT),
    "cluster": lambda: cluster(mln.Model.parse(SAME), None, predicate="Same", memory_limit=LIMIT),
    "learn": learned,
}


@pytest.mark.parametrize("name", CALLS)
def test_every_function_watches_its_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    @contextmanager
    def watching(limit: int) -> Iterator[None]:
        seen.append(limit)
        yield

    monkeypatch.setattr(measures, "_watching_this", watching)
    CALLS[name]()
    assert seen == [LIMIT]


def test_a_command_ends_at_its_limit(tmp_path: Path) -> None:
    """Its process is watched, libraries included: it held 600 MB and went on."""
    (tmp_path / "m.mln").write_text(LARGE % ", ".join(f"T{i}" for i in range(700)))
    arguments = [
        "infer",
        str(tmp_path / "m.mln"),
        "-q",
        "S",
        "--method",
        "mcsat",
        "--network",
        "ground",
        "--memory-limit",
        f"{LIMIT}",
    ]
    ran = subprocess.run([sys.executable, "-c", IN_A_PROCESS, *arguments], capture_output=True, text=True, check=False)
    assert ran.returncode == 3 and "memory limit" in ran.stderr
