"""What `explain` says of problems of all kinds: sizes, plan, and every method with its predicted cost."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from tests.methods.problems import PROBLEMS, inputs
from tests.recorded import plain

import markovlogic as mln
from markovlogic.generate import make, write

FILE = Path(__file__).with_name("recorded_numbers.json")
NUMBERS_ONLY = True
LIMIT = 4 << 30  # bytes; else the machine's own memory would have a say

TEXTS = {
    "two kinds": (
        "p = {1, ..., 40}\nS(p)\nC(p)\nF(p, p)\n1.1 S(x) ^ F(x, y) => S(y)\n0.6 S(x) => C(x)\n-0.8 F(x, y)\n!F(x, x).\n",
        "S(1),C(2)",
    ),
    "several parts": (
        "p = {1, ..., 9}\nS(p)\nT(p)\nR(p, p)\nQ(p)\n1 S(x) v T(x)\n-0.4 R(x, y) ^ Q(x)\n"
        "0.2 R(x, y) ^ R(y, x)\nR(1, 2).\n!T(3).\n",
        "S,T",
    ),
    "equivalence": (
        "p = {1, ..., 7}\nE(p, p)\nD(p)\nE(x, x).\nE(x, y) => E(y, x).\nE(x, y) ^ E(y, z) => E(x, z).\n-0.9 E(x, y)\n"
        "0.5 E(x, y) ^ D(x) => D(y)\n",
        "E,D",
    ),
    "long": (
        "p = {1, ..., 12}\nk = {A, B, C, D}\nK(p, k!)\nL(p, p)\n0.7 L(x, y) ^ K(x, A) => K(y, B)\n"
        "1.2 EXIST y (L(x, y) ^ K(y, C))\n"
        "-0.3 L(x, y) v L(y, z) v K(x, D)\n0.9 !L(x, y)\n",
        "K,L(1,2)",
    ),
    "mixed": (  # groups of every shape beside quantified parts, hard rules and atoms that nothing ties
        "p = {1, ..., 5}\nk = {A, B, C}\nm = {U, V}\nC(k!, p)\nD(m!, p)\nG(p, m!)\nR(p, p)\nS(p)\nN(p)\n0.6 C(A, x) ^ D(U, x)\n"
        "-0.4 C(c, x) ^ C(c, y) ^ R(x, y)\n0.5 G(x, U) ^ (EXIST y (R(x, y) ^ S(y)))\n0.3 D(V, x) => S(x)\n"
        "-0.7 S(x) ^ S(y) ^ G(x, V)\n1.1 EXIST x (S(x) ^ C(B, x))\nR(x, y) ^ R(y, z) => R(x, z).\n!R(1, 2) v S(3).\n"
        "0.2 N(x)\n0.4 C(C, 2)\n",
        "C,D,G,S,N(1),R(1,2) ^ S(1)",
    ),
    "too large": (
        "p = {1, ..., 900}\nR(p, p)\nS(p)\n0.01 R(x, y) ^ R(y, z) => R(x, z)\n0.5 R(x, y) ^ S(x) => S(y)\n-2 R(x, y)\n",
        "R(1,2),S(1)",
    ),
}
FAMILIES = {"smokers": 30, "asthma": 12, "webkb": 25, "protein": 8, "er": 4, "ising": 6, "grid": 4, "transitivity": 6}
NAMES = (*PROBLEMS, *TEXTS, *FAMILIES)


def record(name: str) -> dict[str, Any]:
    """The explanation as it is written, candidates by name."""
    folder = ""
    if name in FAMILIES:
        made = make(name, FAMILIES[name], 0.3, 1)
        with tempfile.TemporaryDirectory() as folder:
            write(made, Path(folder))
            files = (Path(folder) / f"{name}.mln", [Path(folder) / f"{name}.db"])
            told = mln.explain(*files, made.query, memory_limit=LIMIT)
    elif name in TEXTS:
        text, query = TEXTS[name]
        told = mln.explain(mln.Model.parse(text), None, query, memory_limit=LIMIT)
    else:
        told = mln.explain(*inputs(name), memory_limit=LIMIT)
    made_plain = told.as_dict()
    made_plain["plan"] = {key: value for key, value in made_plain["plan"].items() if key not in ("reason", "seconds")}
    made_plain["candidates"] = {f"{one.method}, {one.network}": [one.possible, one.memory_bytes]
                                for one in told.candidates}  # fmt: skip
    made_plain["decided"] = [[one.rule, one.atoms] for one in told.decided]
    return json.loads(json.dumps(plain(made_plain)).replace(f"{folder}/", "")) if folder else made_plain
