"""The worker process as the server sees it: jobs go in, their states come out, and stop always works."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

GRACE = 3.0  # seconds that a stopped run has to hand over what it has found
KEPT = 50  # states of finished jobs


@dataclass
class WorkerProcess:
    """One process at a time; a new one takes its place where it had to be killed."""

    folder: str
    jobs: dict[int, dict[str, Any]] = field(default_factory=dict)
    _process: subprocess.Popen[str] | None = None
    _number: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def submit(self, job: Mapping[str, Any]) -> int:
        """Hand over a job; its number. Jobs are done one after the other."""
        with self._lock:
            process = self._running()
            self._number += 1
            self.jobs[self._number] = {"state": "running", "progress": None, "process": process.pid}
            for old in [number for number, job in self.jobs.items() if job["state"] != "running"][:-KEPT]:
                del self.jobs[old]
            assert process.stdin is not None
            process.stdin.write(json.dumps({**job, "id": self._number}) + "\n")
            process.stdin.flush()
            return self._number

    def state(self, number: int) -> dict[str, Any] | None:
        """What is known of a job: `state` is running, done, failed or stopped."""
        with self._lock:
            found = self.jobs.get(number)
            return None if found is None else dict(found)

    def stop(self) -> None:
        """End what runs: with what it has found if it comes soon, else without."""
        with self._lock:
            process = self._process
            if process is None or process.poll() is not None or not self._busy():
                return
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.write(json.dumps({"do": "stop"}) + "\n")
                process.stdin.flush()
        threading.Thread(target=self._end_later, args=(process,), daemon=True, name="stop").start()

    def close(self) -> None:
        """End the process, whatever it does."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            _kill(process)

    def _busy(self) -> bool:
        return any(job["state"] == "running" for job in self.jobs.values())

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "markovlogic.studio.jobs"], cwd=self.folder, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, text=True, encoding="utf-8", start_new_session=True,
            )  # fmt: skip
            threading.Thread(target=self._read, args=(self._process,), daemon=True, name="results").start()
        return self._process

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            message = json.loads(line)
            with self._lock:
                job = self.jobs.get(message.pop("id"))
                if job is None or job["state"] != "running":
                    continue
                if "progress" in message:
                    job["progress"] = message["progress"]
                elif "done" in message:
                    job.update(state="done", result=message["done"])
                else:
                    job.update(state="failed", message=message["failed"], faults=message["faults"])
        with self._lock:  # the process is gone
            if self._process is process:
                self._process = None
            for job in self.jobs.values():
                if job["state"] == "running" and job["process"] == process.pid:
                    job.update(state="stopped", message="stopped")
        _kill(process)

    def _end_later(self, process: subprocess.Popen[str]) -> None:
        begun = threading.Event()
        for _ in range(int(GRACE / 0.05)):
            with self._lock:
                if not self._busy() or process.poll() is not None:
                    return
            begun.wait(0.05)
        _kill(process)


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process and all that it started."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
