"""Start-up: CPU seconds of tiny `mln infer` runs beside those of a process that only imports the libraries they need.

Processes take turns and the best of several counts, so that a busy machine slows both sides alike. CPU time is that of all
threads of a process.
"""

import os
import resource
import subprocess
import sys

import pytest

BARE = {"exact": "import numpy, duckdb, pyarrow", "gibbs": "import numpy, duckdb, pyarrow, numba"}
MLN = "import sys; from markovlogic.cli.main import main; sys.exit(main())"
MODEL = "person = {Ann, Bob, Cid}\nSmokes(person)\nFriends(person, person)\n1.1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n"
FACTS = "Friends(Ann, Bob)\nFriends(Bob, Cid)\nSmokes(Ann)\n"
ROUNDS = 5


def cpu_seconds(directory: str, code: str, *arguments: str) -> float:
    """User and system seconds of a fresh process, its compiled Python files kept beside the problem."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = os.path.join(directory, "compiled")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", code, *arguments]
    subprocess.run(command, check=False, capture_output=True, cwd=directory, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("method", ["exact", "gibbs"])
def test_tiny_run(benchmark, tmp_path, method):
    (tmp_path / "tiny.mln").write_text(MODEL)
    (tmp_path / "tiny.db").write_text(FACTS)
    call = (str(tmp_path), MLN, "infer", "tiny.mln", "-e", "tiny.db", "-q", "Smokes", "--method", method, "--quiet")
    cpu_seconds(*call)  # kernels and Python files are compiled
    bare, tiny = [], []
    for _ in range(ROUNDS):
        bare.append(cpu_seconds(str(tmp_path), BARE[method]))
        tiny.append(cpu_seconds(*call))
    benchmark.pedantic(cpu_seconds, call, rounds=1)
    ratio = min(tiny) / min(bare)
    benchmark.extra_info |= {"cpu_seconds": min(tiny), "bare_imports": min(bare), "ratio": ratio}
    print(f"\n{method}: {min(tiny):.2f} CPU s, bare imports {min(bare):.2f}, ratio {ratio:.2f}")


@pytest.mark.parametrize("code", ["import markovlogic", f"{MLN}"], ids=["import", "help"])
def test_light_start(benchmark, tmp_path, code):
    cpu_seconds(str(tmp_path), code, "--help")
    best = min(cpu_seconds(str(tmp_path), code, "--help") for _ in range(ROUNDS))
    benchmark.pedantic(cpu_seconds, (str(tmp_path), code, "--help"), rounds=1)
    benchmark.extra_info["cpu_seconds"] = best
    print(f"\n{best:.2f} CPU s")
