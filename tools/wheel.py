"""Installs the built wheel into an environment of its own and uses it there, away from the project: `make wheel`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Install, generate a problem, infer, compress, and look at what was written; the papers' package is not there."""
    (wheel,) = (ROOT / "dist").glob("markovlogic-*.whl")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        binaries = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")

        def run(*command: str, code: int = 0) -> str:
            done = subprocess.run(
                [str(binaries / command[0]), *command[1:]], cwd=folder, text=True, capture_output=True, check=False
            )
            if done.returncode != code:
                raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}, expected {code}\n{done.stderr}")
            return done.stdout + done.stderr

        pip = ("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, "-c", str(ROOT / "constraints.txt"), str(wheel))
        print(run("mln", "--version").strip())
        run("mln", "generate", "smokers", "--size", "6", "-o", "problem")
        files = ("problem/smokers.mln", "-e", "problem/smokers.db", "-q", "Smokes")
        for output in ("out.csv", "out.html"):
            run("mln", "infer", *files, "--quiet", "-o", output)
        assert (folder / "out.csv").read_text().startswith("atom,probability,stderr,rhat,ess,predicate,arg1\n")
        page = (folder / "out.html").read_text()
        assert page.rstrip().endswith("</html>") and "{{" not in page.partition('<script type="application/json"')[2]
        run("mln", "compress", *files, "--method", "kmeans", "-o", "smaller")
        assert (folder / "smaller" / "mapping.csv").read_text().startswith("type,object,group,representative\n")
        run("mln", "infer", *files, "--compress", "kmeans", "--quiet")
        for command in (
            ("reproduce", "E1"),
            ("infer", *files, "--compress", "nimfa"),
            ("infer", *files, "--compress", "kmeans", "--set", "weights=literal"),
        ):
            reported = run("mln", *command, code=2)
            assert "markovlogic-papers" in reported and "Traceback" not in reported, reported
        print(f"{wheel.name} installs and runs without the papers' package")


if __name__ == "__main__":
    main()
