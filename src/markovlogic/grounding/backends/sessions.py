"""How a Spark session is found or started: the caller's, one by its address, a local Sail server, or Spark with Java."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from markovlogic.errors import InputError, ResourceError
from markovlogic.grounding.backends.spark import Spark
from markovlogic.system import cancellation

SAIL = "sail"
START_SECONDS = 120.0
KEPT = 30 * 24 * 3600  # seconds that a server which is started here keeps a session; Sail's own 900 end long queries
PIECES_A_CORE = 2  # that shuffles have in a session that is started here; Spark's own 200 take minutes for tiny data
RETRIES, RETRIES_HERE = 8, 4  # of calls that find nobody: some 3 minutes, and 4 seconds on this machine
INSTALL = "pip install 'markovlogic[spark]' for Spark with Java, 'markovlogic[sail]' for Sail without"


@contextmanager
def spark_engine(
    remote: str | None = None, *, session: Any = None, folder: str | None = None, partitions: int | None = None
) -> Iterator[Spark]:
    """An engine on a session.

    remote: `sail`, or an address sc://host:port; default SPARK_REMOTE, else the session of the program, else a local one.
    folder: where its tables are written, on storage that all executors share; default a temporary folder of this machine, which
    a cluster does not see. partitions: of a server that is started here.
    """
    with ExitStack() as at_end:
        chosen = remote or os.environ.get("SPARK_REMOTE") or ""
        if session is None:
            session = at_end.enter_context(_session(chosen, partitions))
        if folder is None:
            if chosen not in ("", SAIL) and not _is_here(chosen):
                hint = "give --spark-folder s3://bucket/folder, or a path that all executors share"
                raise InputError(f"{chosen} cannot see a temporary folder of this machine", hint=hint)
            folder = tempfile.mkdtemp(prefix="markovlogic-spark-")
            at_end.callback(shutil.rmtree, folder, ignore_errors=True)
        engine = Spark(session, f"{folder}/{os.getpid()}_{time.time_ns()}")
        at_end.callback(engine.close)
        at_end.enter_context(cancellation.current().ending(engine.interrupt))
        try:
            yield engine
        except KeyboardInterrupt:
            engine.interrupt()
            raise


def _is_here(address: str) -> bool:
    return "127.0.0.1" in address or "localhost" in address


@contextmanager
def _session(remote: str, partitions: int | None) -> Iterator[Any]:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers are the first python3 of PATH
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError("--engine spark needs pyspark", hint=INSTALL) from None
    if remote == SAIL:
        pieces = partitions or PIECES_A_CORE * (os.cpu_count() or 1)
        with sail_server(pieces) as address, _connected(SparkSession, address) as session:
            session.conf.set("spark.sql.shuffle.partitions", str(pieces))
            yield session
    elif remote:
        if not remote.startswith(("sc://", "local")):
            raise InputError(f"--spark-remote {remote}: expected sc://host:port, or sail for a local Sail server")
        with _connected(SparkSession, remote) as session:
            yield session
    else:
        active = SparkSession.getActiveSession()
        yield active if active is not None else _local(SparkSession, partitions)


@contextmanager
def _connected(builder: Any, address: str) -> Iterator[Any]:
    main = sys.modules["__main__"]
    nameless = not hasattr(main, "__file__")  # as in `python -c`: pyspark then takes the program for its own doctests
    try:
        if nameless:
            main.__file__ = "-c"
        from pyspark.sql.connect.client.retries import DefaultPolicy

        session = builder.builder.remote(address).create()
        session.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES_HERE if _is_here(address) else RETRIES)])
        session.sql("SELECT 1").collect()
    except Exception as error:
        first = str(error).strip().partition("\n")[0][:300]
        raise ResourceError(f"no Spark session answers at {address}: {first}") from error
    finally:
        if nameless:
            del main.__file__
    try:
        yield session
    finally:
        session.stop()


def _local(builder: Any, partitions: int | None) -> Any:
    """A session in a Java process of its own, or that of spark-submit."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ and "PYSPARK_GATEWAY_PORT" not in os.environ:
        hint = "install Java 17, set SPARK_REMOTE=sc://host:port, or try it with --spark-remote sail"
        raise InputError("--engine spark found no session and no Java to start one", hint=hint)
    made = builder.builder.appName("markovlogic")
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # else it is for spark-submit to say
        made = made.config("spark.sql.shuffle.partitions", partitions or PIECES_A_CORE * (os.cpu_count() or 1))
    try:
        return made.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    except Exception as error:
        first = str(error).strip().partition("\n")[0][:300]
        hint = "pyspark-client alone starts no session: give --spark-remote sail, or an address"
        raise InputError(f"no local Spark session could be started: {first}", hint=hint) from error


@contextmanager
def sail_server(partitions: int) -> Iterator[str]:
    """A Sail server in a process of its own, for as long as the block lasts."""
    program = Path(sys.executable).parent / "sail"
    if not program.exists():
        raise InputError("--spark-remote sail needs Sail", hint="pip install 'markovlogic[sail]'")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Python inside the server's process finds what this one finds
    path = os.pathsep.join([*(entry for entry in sys.path if entry), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    env = {**os.environ, "PYTHONPATH": path, "RUST_LOG": "error", "NUMBA_NUM_THREADS": "1"}
    env["SAIL_EXECUTION__DEFAULT_PARALLELISM"] = str(partitions)
    env["SAIL_SPARK__SESSION_TIMEOUT_SECS"] = str(KEPT)  # without a new request, though a query may be running
    server = subprocess.Popen(
        [program, "spark", "server", "--ip", "127.0.0.1", "--port", str(port)],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and server.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        else:
            raise ResourceError(f"the Sail server did not start within {START_SECONDS:.0f} s")
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()
