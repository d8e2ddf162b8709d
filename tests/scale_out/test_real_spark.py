"""Spark itself with 1 GB for Java, in an environment of its own (`.ci/spark`): the bits of DuckDB, though a worker is killed
and shuffled files are lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from tests.scale_out.small import OPTIONS, rows_of

from markovlogic.grounding.backends.duckdb import open_duckdb

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-spark" / "bin" / "python"


def test_spark_gives_the_bits_of_duckdb(tmp_path: Path) -> None:
    if not PYTHON.exists() or shutil.which("java") is None:
        pytest.skip("there is no Spark with Java (.ci/spark installs it)")
    with closing(open_duckdb(threads=1)) as engine:
        here = rows_of(engine, OPTIONS)
    java = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # a run this short does not repay more compiling and collecting
    arguments = f'--master local[2,4] --driver-memory 1g --driver-java-options "{java}" pyspark-shell'
    local = {"SPARK_LOCAL_DIRS": str(tmp_path / "local")}
    env = {**os.environ, **local, "PYSPARK_SUBMIT_ARGS": arguments, "PYTHONPATH": str(ROOT), "NUMBA_NUM_THREADS": "1"}
    for name in ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE"):  # what sessions of other tests set
        env.pop(name, None)
    out = tmp_path / "found.json"
    ran = subprocess.run([PYTHON, "-m", "tests.scale_out.on_spark", str(out)], env=env, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    found = json.loads(out.read_text())
    assert found["workers_killed"] == 1
    assert found["files_lost"] and "FetchFailed" in ran.stderr  # Spark ran a stage again
    for one, other in zip(here, found["rows"], strict=True):
        assert one[0] == other[0]
        if one[2]:  # sampled
            assert one == other
        assert one[1:] == pytest.approx(other[1:], abs=1e-12)
