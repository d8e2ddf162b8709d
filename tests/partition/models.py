"""Random small models with equivalence relations: soft clauses on pairs and other atoms, blocking, hard rules, facts."""

from __future__ import annotations

import numpy as np

FULL = (
    "Same(x, x).\nSame(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) => Same(x, z).\n",
    "Same(x, x).\nSame(x, y) ^ Same(x, z) => Same(y, z).\n",
    "Same(x, x) ^ (Same(x, y) <=> Same(y, x)) ^ (Same(x, y) ^ Same(y, z) => Same(x, z)).\n",
)
PARTIAL = "Same(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) => Same(x, z).\n"
SOFT = (
    "{w} Sim(x, y) => Same(x, y)\n",
    "{w} !Same(x, y)\n",
    "{w} Same(x, y) ^ Good(x) => Good(y)\n",
    "{w} Same(x, y) ^ Same(x, z) => y = z v x = y v x = z\n",
    "{w} Good(x)\n",
    "{w} Same(x, y) <=> Good(x)\n",
    "{w} EXIST y (Same(x, y) ^ Sim(x, y))\n",
    "{w} Good(x) <=> (EXIST y (Same(x, y) ^ Good(y)))\n",
    "{w} Same(x, y) ^ Kind(x, U) => Kind(y, U)\n",
    "{w} Kind(x, V)\n",
    "{w} Same(x, x)\n",
    "{w} Same(A, C)\n",
)
HARD = (
    "Sim(x, y) ^ Sim(y, z) ^ Same(x, z) => x = z.\n",  # some pairs are impossible
    "Same(x, y) ^ Good(x) => Good(y).\n",
    "Same(x, y) ^ Same(x, z) => y = z v x = y v x = z.\n",  # at most two together
    "!Good(A) v !Good(B).\n",
)
OTHER = (
    "Alike(s, s)\nOf(r, s)\nAlike(x, x).\nAlike(x, y) => Alike(y, x).\nAlike(x, y) ^ Alike(y, z) => Alike(x, z).\n"
    "{w} Of(x, u) ^ Of(y, v) ^ Same(x, y) => Alike(u, v)\n{w2} Of(x, u) ^ Of(y, v) ^ Alike(u, v) => Same(x, y)\n"
)
TIED = "Of(x, u) ^ Of(y, v) ^ Same(x, y) => Alike(u, v).\n"


def random_model(rng: np.random.Generator, *, n: int = 4, hard: bool = True, partial: bool = True) -> tuple[str, str, str]:
    """Rules, facts and query."""

    def weight() -> str:
        return f"{rng.normal(0, 1.2):.3f}"

    def some(share: float) -> bool:
        return bool(rng.random() < share)

    names = "ABCDEFG"[:n]
    text = f"r = {{{', '.join(names)}}}\ns = {{S, T, X}}\nk = {{U, V}}\nSame(r, r)\nSim(r, r)\nGood(r)\nKind(r, k!)\n"
    text += PARTIAL if partial and some(0.4) else str(rng.choice(FULL))
    chosen = rng.choice(len(SOFT), size=int(rng.integers(2, 6)), replace=False)
    text += "".join(SOFT[at].format(w=weight()) for at in chosen)
    facts = [f"Sim({x}, {y})" for x in names for y in names if some(0.3)] or ["Sim(A, B)"]
    if hard:
        text += "".join(rule for rule in HARD if some(0.2))
        if some(0.3):
            text += "Cand(r, r)\n!Cand(x, y) => !Same(x, y).\n"
            facts += [f"Cand({x}, {y})" for x in names for y in names if x == y or some(0.75)]
    query = "Same,Good,Kind"
    if some(0.3):
        text += OTHER.format(w=weight(), w2=weight()) + (TIED if hard and some(0.3) else "")
        facts += [f"Of({x}, {rng.choice(['S', 'T', 'X'])})" for x in names]
        query += ",Alike"
    for x in names:
        for y in names:
            if some(0.06):
                facts.append(f"{'!' if some(0.6) else ''}Same({x}, {y})")
        if some(0.15):
            facts.append(f"{'!' if some(0.5) else ''}Good({x})")
    return text, "\n".join(facts) + "\n", query
