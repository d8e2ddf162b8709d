"""Models that can be lifted, and some that cannot: log Z, probabilities of atoms and conjunctions, predicted work, refusals."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import markovlogic as mln

FILE = Path(__file__).with_name("recorded_numbers.json")
NUMBERS_ONLY = True
NAMES = tuple(str(number) for number in range(24) if number not in (7, 12, 13))  # these take a second each
RULES = (
    "{w} S(x)",
    "{w} S(x) ^ T(x)",
    "{w} F(x, y) ^ S(x) => S(y)",
    "{w} F(x, y) <=> F(y, x)",
    "{w} F(x, x) v T(x)",
    "{w} S(x) ^ T(y)",
    "{w} S(x) ^ S(y) ^ S(z)",
    "{w} S(x) ^ T(y) => x = y",
    "{w} EXIST y F(x, y)",
    "{w} S(x) => EXIST y (F(x, y) ^ T(y))",
    "{w} U(v) ^ G(x, v)",
    "{w} G(x, v) => S(x)",
    "{w} Flag ^ S(x)",
    "{w} Flag => U(v)",
    "{w} K(x, V1) ^ S(x)",
    "{w} K(x, c) ^ K(y, c)",
    "{w} K(x, V2) ^ F(x, y)",
    "{w} F(x, y) ^ F(y, z)",
    "{w} T(P1)",
    "{w} F(P1, x) ^ T(x)",
    "S(x) v T(x).",
    "!F(x, x).",
    "F(x, y) => F(y, x).",
    "G(x, v) => U(v).",
)


def made(number: int) -> tuple[str, str, str]:
    """Rules, facts about single objects, and a query."""
    rng = np.random.default_rng([number, 5])
    n, m = int(rng.integers(3, 9)), int(rng.integers(2, 5))
    chosen = sorted(rng.choice(len(RULES), size=int(rng.integers(2, 7)), replace=False))
    rules = "\n".join(RULES[at].format(w=f"{rng.normal(0, 1):.3f}") for at in chosen)
    text = f"p = {{{', '.join(f'P{i}' for i in range(1, n + 1))}}}\nq = {{{', '.join(f'Q{i}' for i in range(1, m + 1))}}}\n"
    text += f"k = {{V1, V2, V3}}\nS(p)\nT(p)\nF(p, p)\nU(q)\nG(p, q)\nFlag\nK(p, k!)\n{rules}\n"
    facts = [f"{rng.choice(['', '!', '?'])}{name}(P{i})" for name in "ST" for i in range(1, n + 1) if rng.random() < 0.25]
    facts += ["F(P1,P2)"] if rng.random() < 0.2 else []
    facts += ["K(P2,V1)"] if rng.random() < 0.3 else []
    asked = ["S", "T(P1)", "F(P1,P2)", "F(P2,P2)", "U(Q1)", "K(P1,_)", "S(P1) ^ T(P2)", "F(P1,P2) ^ F(P2,P1)", "S(P1) v !Flag"]
    kept = [one for one in asked if rng.random() < 0.7] or ["S"]
    return text, "\n".join(facts) + "\n", ",".join(kept)


def record(name: str) -> dict[str, Any]:
    """By lifted inference and by lifted messages."""
    text, facts, query = made(int(name))
    model, found = mln.Model.parse(text), dict[str, Any]()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", mln.InferenceWarning)
        file = Path(folder) / "facts.db"
        file.write_text(facts)
        for method in ("lifted", "lifted-bp"):
            try:
                result = mln.infer(model, [file], query, method=method)
            except mln.MarkovLogicError as refusal:
                found[method] = str(refusal).splitlines()[0].replace(folder, "")
                continue
            run = result.run
            table = result.table().to_pydict()
            rows = [table["atom"][:12], table["probability"][:12]]
            found[method] = [*rows, run.log_z, run.log_z_bethe, run.iterations, result.guarantee.value]
        told = mln.explain(model, [file], query, method="lifted", memory_limit=1 << 30)
        costs = {one.method: [one.possible, one.memory_bytes, one.reason] for one in told.candidates}
        found["predicted"] = [costs["lifted"], list(told.details)]
        found["decided"] = [[one.rule, one.atoms] for one in told.decided]
    return found
