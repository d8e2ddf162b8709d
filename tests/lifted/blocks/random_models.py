"""Random models of soft clauses over two types: self-joins, constants, repeated variables, equalities, closed predicates."""

from __future__ import annotations

import numpy as np

PREDICATES = {"P": ("a",), "Q": (), "U": ("b",), "R": ("a", "b"), "S": ("a", "a")}
NAMES = {"a": ("A0", "A1"), "b": ("B0", "B1")}


def random_text(rng: np.random.Generator, n_rules: int = 4) -> tuple[str, str]:
    """A rule file and evidence; at most twelve atoms."""
    lines = [f"{t} = {{{', '.join(names)}}}" for t, names in NAMES.items()]
    chosen = ["S", *rng.choice(["P", "Q", "U", "R"], size=3, replace=False)]
    lines += [f"{p}({', '.join(PREDICATES[p])})" if PREDICATES[p] else p for p in chosen]
    for _ in range(n_rules):
        literals = []
        for _ in range(rng.integers(1, 4)):
            name = str(rng.choice(chosen))
            args = [_term(rng, t) for t in PREDICATES[name]]
            literals.append(("!" if rng.random() < 0.5 else "") + (f"{name}({', '.join(args)})" if args else name))
        text = " v ".join(literals)
        variables = sorted(
            {word for word in ("x", "y", "z") if any(f"{word}" in lit.split("(")[-1] for lit in literals if "(" in lit)}
        )
        if len(variables) > 1 and rng.random() < 0.4:
            text += f" v {variables[0]} {'=' if rng.random() < 0.7 else '!='} {variables[1]}"
        lines.append(f"{rng.normal():.3f} {text}")
    facts = []
    for name in chosen:
        for args in np.ndindex(*(2 for _ in PREDICATES[name])):
            if PREDICATES[name] and rng.random() < 0.2:
                shown = ", ".join(NAMES[t][i] for t, i in zip(PREDICATES[name], args, strict=True))
                facts.append(("!" if rng.random() < 0.5 else "") + f"{name}({shown})")
    return "\n".join(lines) + "\n", "\n".join(facts) + ("\n" if facts else "")


def _term(rng: np.random.Generator, type_name: str) -> str:
    if rng.random() < 0.15:
        return str(rng.choice(NAMES[type_name]))
    return str(rng.choice(["x", "y", "z"])) if type_name == "a" else str(rng.choice(["u", "w"]))
