"""What `test_real_spark` runs in the environment that has Spark: a small problem; a worker is killed, shuffled files are lost."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

from tests.scale_out.small import OPTIONS, rows_of  # noqa: E402

from markovlogic.grounding.backends import sessions  # noqa: E402

SHUFFLES = 3  # of which a file is lost


def workers() -> list[int]:
    """Python processes that Spark forked for its tasks."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                above = (Path("/proc") / str(parent) / "cmdline").read_bytes()
            except (OSError, ValueError):
                continue
            if b"pyspark.daemon" in command and b"pyspark.daemon" in above and _is_ours(parent):
                found.append(int(entry.name))
    return found


def _is_ours(pid: int) -> bool:
    while pid > 1:
        if pid == os.getpid():
            return True
        pid = int((Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    return False


def kill_one(killed: list[int], ended: threading.Event) -> None:
    """Kill the first worker that is seen."""
    while not killed and not ended.is_set():
        for pid in workers()[:1]:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
        time.sleep(0.01)


def lose_files(lost: dict[str, str], ended: threading.Event) -> None:
    """Remove a file of each of the first shuffles, as soon as it is seen."""
    local = Path(os.environ["SPARK_LOCAL_DIRS"])
    while len(lost) < SHUFFLES and not ended.is_set():
        for file in local.glob("*/*/shuffle_*.data"):
            shuffle = file.name.split("_")[1]
            if shuffle not in lost and len(lost) < SHUFFLES:
                file.unlink(missing_ok=True)
                lost[shuffle] = file.name
        time.sleep(0.001)


def main() -> None:
    """Write rows of the result, with what was broken on the way, as JSON."""
    killed: list[int] = []
    lost: dict[str, str] = {}
    ended = threading.Event()
    threads = [threading.Thread(target=own, args=(made, ended)) for own, made in ((kill_one, killed), (lose_files, lost))]
    with sessions.spark_engine(partitions=4) as engine:
        threads[1].start()
        found = rows_of(engine, OPTIONS, before=threads[0].start)
    ended.set()
    for thread in threads:
        thread.join()
    Path(sys.argv[1]).write_text(json.dumps({"rows": found, "workers_killed": len(killed), "files_lost": len(lost)}))


if __name__ == "__main__":
    main()
