"""What `learn` says of small training data by every method and prior."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import markovlogic as mln
from markovlogic.learning.priors import Prior

FILE = Path(__file__).with_name("recorded_numbers.json")

COUPLED = """S(p)
T(p)
F(p, p)
F(x, y) ^ S(x) => S(y)
(S(x))
S(x) ^ T(x)
0.7 S(x) v T(x)
T(x) => EXIST y (F(x, y) ^ S(y))
"""
EXCLUSIVE = """K(p, k!)
L(p, p)
W(p, w)
W(x, +a) ^ K(x, +c)
L(x, y) ^ K(x, +c) => K(y, +c)
K(x, A) => !K(y, A) v !L(x, y).
"""
APART = "K(p, k!)\nW(p, w)\nL(p, p)\nW(x, +a) ^ K(x, +c)\nK(x, A) v K(x, B)\n"  # no rule ties two objects
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "pseudolikelihood": (COUPLED, {"method": "pseudolikelihood", "prior": 2.0}),
    "pseudolikelihood, prior chosen": (COUPLED, {"method": "pseudolikelihood"}),
    "pseudolikelihood, one database, prior chosen": (COUPLED, {"method": "pseudolikelihood", "one": True}),
    "pseudolikelihood, no prior": (COUPLED, {"method": "pseudolikelihood", "prior": "none", "keep_weights": True}),
    "pseudolikelihood, l1": (COUPLED, {"method": "pseudolikelihood", "prior": "l1:0.3"}),
    "cd": (COUPLED, {"method": "cd", "prior": 2.0, "seed": 3}),
    "cd, l1": (COUPLED, {"method": "cd", "prior": "l1:0.5", "keep_weights": True}),
    "cd, hidden atoms": (COUPLED, {"method": "cd", "prior": 1.0, "hidden": True}),
    "newton": (COUPLED, {"method": "newton", "prior": 1.5}),
    "newton, hidden atoms": (COUPLED, {"method": "newton", "prior": 1.0, "hidden": True}),
    "perceptron": (COUPLED, {"method": "perceptron", "prior": 2.0, "keep_weights": True}),
    "exclusive": (EXCLUSIVE, {"method": "pseudolikelihood"}),
    "exclusive, nothing coupled": (APART, {"prior": 1.0}),
    "exclusive, cd": (EXCLUSIVE, {"prior": Prior("l2", 0.5, 3.0)}),
}
NAMES = tuple(WAYS)


def _database(rules: str, rng: np.random.Generator, *, hidden: bool) -> str:
    """Twelve people, who is linked to whom, and what they are."""
    n = 12
    links = [f"({i},{j})" for i in range(n) for j in range(n) if rng.random() < 0.2]
    first, second = rng.random((2, n))
    if rules in (EXCLUSIVE, APART):
        kinds = ["A" if at == 0 else "B" if draw < 0.6 else "C" for at, draw in enumerate(first)]
        facts = [f"K({i},{kind})" for i, kind in enumerate(kinds)] + [f"L{link}" for link in links if link != "(0,0)"]
        facts += [f"W({i},{word})" for i in range(n) for word, draw in (("U", first[i]), ("V", second[i])) if draw < 0.5]
    else:
        facts = [f"F{link}" for link in links]
        facts += [f"{'' if first[i] < 0.5 else '!'}S({i})" for i in range(n)]
        facts += [f"{'?' if hidden and i < 3 else '' if second[i] < 0.4 else '!'}T({i})" for i in range(n)]
    return "\n".join(facts) + "\n"


def record(name: str) -> dict[str, Any]:
    """Weights, errors and all that is told, but for what a clock and memory say."""
    rules, wanted = WAYS[name]
    options = dict(wanted)
    rng = np.random.default_rng(4)
    hidden, one = bool(options.pop("hidden", False)), bool(options.pop("one", False))
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{at}.db" for at in range(1 if one else 2)]
        for file in files:
            file.write_text(_database(rules, rng, hidden=hidden))
        learned = mln.learn(mln.Model.parse(rules), [str(file) for file in files], "K" if "K(" in rules else "S,T", **options)
    return {
        "weights": [[one.formula, one.weight, one.stderr, one.informed] for one in learned.weights],
        "prior": learned.prior,
        "notes": learned.notes,
        "concerns": learned.concerns(),
        "stats": {key: value for key, value in learned.stats.items() if key not in ("seconds", "peak_memory_bytes")},
    }
