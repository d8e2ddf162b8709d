"""A copy of the project in which faults are planted, so that the working tree is never touched."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.part_tests import KERNELS, PACKAGE, PartTests

# What the tests read: sources with their compiled kernels, tests, and the documents whose examples are run.
_LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".mutants", ".hypothesis", "*_cache", "demo", "site", "dist", "results*.json")


@dataclass(frozen=True)
class Copy:
    """The copied project and how its modules depend on each other."""

    project: Path
    tests: PartTests

    @contextmanager
    def with_fault(self, source: Path, text: str) -> Iterator[None]:
        """The file `source` of the copy has this text meanwhile.

        Times of files are put back too: Numba and Python take a compiled file for current when they agree.
        """
        package = self.project / "src" / PACKAGE
        if package / KERNELS not in source.parents:
            times, original = source.stat(), source.read_bytes()
            source.write_text(text)
            try:
                yield
            finally:
                source.write_bytes(original)
                os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
            return
        kept = self.project.parent / "kept-kernels"
        shutil.copytree(package / KERNELS, kept)
        try:
            source.write_text(text)
            yield
        finally:
            shutil.rmtree(package / KERNELS)
            kept.rename(package / KERNELS)


def copy_project(project: Path, into: Path) -> Copy:
    """Copy the project with the times of its files, and the benchmark data beside it as a link."""
    copied = into / "project"
    shutil.copytree(project, copied, ignore=_LEFT_OUT)
    shared = project.parent / "shared"
    if shared.is_dir():
        (into / "shared").symlink_to(shared)
    return Copy(copied, PartTests(copied))
