"""Answers of this checkout and of another one, case by case: `python -m tools.same_draws OTHER`.

OTHER is the folder of another commit, with an environment of its own in `.venv`. Both answer the same questions about the same
generated problems with the same seed, by every method and compression that both have; what is not equal bit for bit is listed.
Only functions of the public interface are called, so that older commits can answer too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SIZES = {"smokers": 5, "webkb": 6, "ising": 3, "transitivity": 4, "records": 4, "m3": 4, "asthma": 4, "synthetic": 4, "er": 3}
METHODS = ["auto", "lifted", "exact", "enumerate", "eliminate", "partition", "gibbs", "blocked", "lifted-blocked", "mcsat"]
METHODS += ["orbital", "lifted-mh", "tempered", "bp", "lifted-bp"]
COMPRESSIONS = ("bmf", "kmeans", "dpmeans", "random", "obj2vec", "twins")
SAMPLED: dict[str, Any] = {"chains": 4, "draws": 30, "burn_in": 5, "seed": 7}


def cases() -> list[str]:
    """Names of all cases: problem, what is done, and by what."""
    done = [f"infer {method}" for method in METHODS] + [f"compress {name}" for name in COMPRESSIONS] + ["map auto"]
    return [f"{problem}: {how}" for problem in SIZES for how in done]


def answer(folder: Path, case: str) -> Any:
    """What this checkout answers: probabilities by atom, atoms of a world, or the kind of the refusal."""
    import markovlogic as mln

    problem, _, how = case.partition(": ")
    kind, name = how.split()
    model, evidence = folder / f"{problem}.mln", [folder / f"{problem}.db"]
    query = (folder / f"{problem}.query").read_text()
    own: dict[str, Any] = {"compress": name, "ratio": 0.5, "method": "gibbs"} if kind == "compress" else {"method": name}
    try:
        if kind == "map":
            return sorted(mln.maximize(model, evidence, query, seed=7).atoms)
        if own["method"] in ("auto", "exact", "lifted", "enumerate", "eliminate", "bp", "lifted-bp"):
            result = mln.infer(model, evidence, query, **own, seed=7, progress=False)
        else:
            result = mln.infer(model, evidence, query, **own, **SAMPLED, progress=False)
    except Exception as error:  # of any kind: it is what the two are compared by
        return type(error).__name__
    table = result.table().to_pydict()
    return {atom: value.hex() for atom, value in zip(table["atom"], table["probability"], strict=True)}


def write(folder: Path, chosen: list[str], out: Path) -> None:
    """Answers of the checkout whose Python runs this."""
    warnings.simplefilter("ignore")
    out.write_text(json.dumps({case: answer(folder, case) for case in chosen}))


def difference(one: Any, other: Any) -> str:
    """In words; empty where both are the same."""
    if one == other:
        return ""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return " and ".join(value if isinstance(value, str) else "an answer" for value in (one, other))
    if one.keys() != other.keys():
        return f"other atoms: {len(one)} and {len(other)}"
    apart = max(abs(float.fromhex(one[atom]) - float.fromhex(other[atom])) for atom in one)
    return f"apart by {apart:.1g} at most"


def main() -> int:
    """Run both and list what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="folder of another commit, with its environment in .venv")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every N-th case")
    given = parser.parse_args()
    chosen = cases()[:: given.every]
    from markovlogic.generate import make
    from markovlogic.generate import write as write_problem

    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for problem, size in SIZES.items():
            made = make(problem, size, 0.3, 1)
            write_problem(made, folder)
            (folder / f"{problem}.query").write_text(made.query)
        for number, root in enumerate((ROOT, given.other.absolute())):
            out = folder / f"answers{number}.json"
            code = "import json, sys, runpy; from pathlib import Path; own = runpy.run_path(sys.argv[1]); "
            code += "own['write'](Path(sys.argv[2]), json.loads(sys.argv[3]), Path(sys.argv[4]))"
            python = [str(root / ".venv/bin/python"), "-c", code, __file__]
            subprocess.run([*python, str(folder), json.dumps(chosen), str(out)], cwd=root, check=True)
            found.append(json.loads(out.read_text()))
    differing = {case: words for case in chosen if (words := difference(found[0][case], found[1][case]))}
    for case, words in differing.items():
        print(f"{case}: {words}")
    print(f"{len(chosen)} cases, {len(chosen) - len(differing)} equal")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
