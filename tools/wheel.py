"""Installs the built wheel into an environment of its own and uses it there, away from the project: `make wheel`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Install, generate a problem, infer, and look at what was written."""
    (wheel,) = (ROOT / "dist").glob("*.whl")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        binaries = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")

        def run(*command: str) -> str:
            done = subprocess.run(
                [str(binaries / command[0]), *command[1:]], cwd=folder, text=True, stdout=subprocess.PIPE, check=True
            )
            return done.stdout

        run(
            "python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-c",
            str(ROOT / "constraints.txt"),
            str(wheel),
        )
        print(run("mln", "--version").strip())
        run("mln", "generate", "smokers", "--size", "6", "-o", "problem")
        for output in ("out.csv", "out.html"):
            run("mln", "infer", "problem/smokers.mln", "-e", "problem/smokers.db", "-q", "Smokes", "--quiet", "-o", output)
        assert (folder / "out.csv").read_text().startswith("atom,probability,stderr,rhat,ess,predicate,arg1\n")
        page = (folder / "out.html").read_text()
        assert page.rstrip().endswith("</html>") and "{{" not in page.partition('<script type="application/json"')[2]
        print(f"{wheel.name} installs and runs")


if __name__ == "__main__":
    main()
