"""A memory limit holds for the process tree: children are measured, counted, and ended where there is no room for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from markovlogic.errors import ResourceError
from markovlogic.symmetry import bliss
from markovlogic.symmetry.bliss import ColouredGraph, search_all
from markovlogic.system import measures
from markovlogic.system.measures import memory_of_run, peak_memory, resident, tree_resident, watching

HOLDS = (
    "import sys, threading; held = bytearray(b'x') * int(sys.argv[1]); print(len(held), flush=True); threading.Event().wait(60)"
)
GREEDY = "import time\nheld = []\nwhile True:\n    held.append(bytearray(b'x') * 10_000_000)\n    time.sleep(0.01)\n"


def started(program: str, *args: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", program, *args], stdout=subprocess.PIPE)


def test_resident_memory_of_a_child_and_of_its_children():
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLDS!r}, sys.argv[1]])"
    with started(nested, "100000000") as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            assert resident(child.pid) < 90e6  # the outer one waits
            assert 1e8 < tree_resident(child.pid) < 2e8
            assert measures._resident_by_ps(child.pid) == pytest.approx(resident(child.pid), rel=0.2)
        finally:
            for pid in Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split():
                subprocess.run(["kill", pid], check=True)
            child.kill()
    assert resident(child.pid) == 0


def test_a_child_is_ended_at_what_is_left_of_the_limit():
    limit = resident() + 200_000_000
    with memory_of_run(limit), started(GREEDY) as child, watching(child) as watch:
        child.wait(timeout=30)
    assert watch.stopped
    assert 1e8 < watch.most < 3e8
    assert limit < peak_memory()  # it is counted
    with pytest.raises(ResourceError, match="the search was stopped at the memory limit of"):
        watch.check("the search")


def test_a_child_with_room_ends_by_itself():
    with memory_of_run(resident() + 1_000_000_000), started("print('done')") as child, watching(child) as watch:
        child.wait(timeout=30)
    watch.check("nothing")
    assert not watch.stopped


def ring(n: int) -> ColouredGraph:
    at = np.arange(n, dtype=np.int32)
    return ColouredGraph(np.stack([at, (at + 1) % n], axis=1).astype(np.int32), np.zeros(n, np.int32))


def test_the_search_for_symmetries_says_that_its_memory_was_not_enough():
    graph = ring(bliss.SMALL + 50)
    (found,) = search_all([(graph, False)], seconds=60)
    assert found is not None
    with (
        memory_of_run(resident() + 1_000_000),
        pytest.raises(ResourceError, match="search for symmetries was stopped") as refused,
    ):
        search_all([(graph, False)], seconds=60)
    assert refused.value.exit_code == 3
