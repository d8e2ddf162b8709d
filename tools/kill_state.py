"""Kill runs with a state at random moments: the state is the old or the new one, never a mixture.

python -m tools.kill_state --count 50

Half of the runs are killed at any moment, the others within milliseconds of the first byte that they write to the state. After
each, the folder is read and compared, and the same command runs to its end and must give the right results.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from markovlogic.api import infer as _loaded  # noqa: F401  before processes are split off
from markovlogic.cli.main import main as mln
from markovlogic.state.saved import StateFolder

SITES, PAGES = 400, 8
SOON = 0.02  # seconds after the first byte
RULES = "Topic(page)\nHas(page, word)\nLinked(page, page)\n-0.4 Topic(p)\n0.6 Has(p, w) => Topic(p)\n"
RULES += "0.7 Linked(p, q) => (Topic(p) <=> Topic(q))\n"


def problem(folder: Path) -> None:
    """Rules, and facts before and after a change."""
    rng = random.Random(1)
    facts = []
    for site in range(SITES):
        names = [f"S{site}_{page}" for page in range(PAGES)]
        facts += [f"Has({name},W{rng.randrange(20)})" for name in names]
        facts += [f"Linked({a},{b})" for a in names for b in rng.sample(names, 2) if a != b]
    (folder / "rules.mln").write_text(RULES)
    (folder / "old.db").write_text("\n".join(facts[: -len(facts) // 20]) + "\n")
    (folder / "new.db").write_text("\n".join(facts) + "\n")


def begun(folder: Path, facts: str) -> int:
    """The process of a run that has begun."""
    process = os.fork()
    if not process:
        arguments = ["infer", str(folder / "rules.mln"), "-e", str(folder / facts), "-q", "Topic", "--quiet"]
        os._exit(mln([*arguments, "--state", str(folder / "state"), "-o", str(folder / "out.csv")]))
    return process


def finished(folder: Path, facts: str) -> tuple[bytes, float]:
    """The results of a whole run, and its seconds."""
    start = time.monotonic()
    _, status = os.waitpid(begun(folder, facts), 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return (folder / "out.csv").read_bytes(), time.monotonic() - start


def held(folder: Path) -> dict[str, bytes]:
    """All that the state says, but for times."""
    with StateFolder(folder / "state") as opened:
        kept = opened.load()
    assert kept is not None and kept.snapshot is not None
    arrays = {name: own for name, own in vars(kept).items() if isinstance(own, np.ndarray)} | kept.snapshot.arrays()
    return {name: own.tobytes() for name, own in arrays.items()}


def killed(folder: Path, seconds: float, rng: random.Random) -> None:
    """Kill a run: at any moment, or soon after it begins to write."""
    before = {path.name for path in (folder / "state").iterdir()}
    process = begun(folder, "new.db")
    if rng.random() < 0.5:
        time.sleep(rng.uniform(0.0, 1.2 * seconds))
    else:
        while {path.name for path in (folder / "state").iterdir()} <= before and not os.waitid(
            os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT
        ):
            pass
        time.sleep(rng.uniform(0.0, SOON))
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def main() -> int:
    """Kill as often as the command line wants, and count what is left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng, count = random.Random(given.seed), {"old": 0, "new": 0, "neither": 0, "wrong results": 0}
    with TemporaryDirectory() as name:
        folder = Path(name)
        problem(folder)
        finished(folder, "old.db")
        old = held(folder)
        shutil.copytree(folder / "state", folder / "copy")
        wanted, seconds = finished(folder, "new.db")
        new = held(folder)
        for _ in range(given.count):
            shutil.rmtree(folder / "state")
            shutil.copytree(folder / "copy", folder / "state")
            killed(folder, seconds, rng)
            found = held(folder)
            count["old" if found == old else "new" if found == new else "neither"] += 1
            count["wrong results"] += finished(folder, "new.db")[0] != wanted
    print(", ".join(f"{what} {times}" for what, times in count.items()))
    return int(bool(count["neither"] or count["wrong results"]))


if __name__ == "__main__":
    raise SystemExit(main())
