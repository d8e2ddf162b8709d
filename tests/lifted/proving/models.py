"""Random models that lifted rules like: few predicates of small arity, larger domains, evidence about some objects."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from tests.strategies import RandomProblem

Draw = Callable[[st.SearchStrategy[Any]], Any]

VARIABLES = {"ta": ("x", "y", "z"), "tb": ("u", "v1")}
WEIGHTS = ("1.5", "-0.75", "0.25", "2", "-0.1", "-3")


def _literal(draw: Draw, signatures: list[tuple[str, tuple[str, ...]]], sizes: dict[str, int], named: bool) -> str:
    name, types = draw(st.sampled_from(signatures))
    args = []
    for t in types:
        if named and draw(st.integers(0, 9)) == 0:
            args.append(f"{t[1].upper()}{draw(st.integers(1, sizes[t]))}")
        else:
            args.append(draw(st.sampled_from(VARIABLES[t])))
    atom = f"{name}({','.join(args)})" if args else name
    return draw(st.sampled_from(["", "!"])) + atom


def _equality(draw: Draw, literals: list[str]) -> str | None:
    """Two variables of the first type that occur."""
    text = " ".join(literals)
    there = [v for v in ("x", "y", "z") if f"({v}" in text or f",{v}" in text]
    if len(there) < 2 or draw(st.integers(0, 3)):
        return None
    one, other = draw(st.permutations(there))[:2]
    return f"{one} {draw(st.sampled_from(['=', '!=']))} {other}"


@st.composite
def liftable(draw: Draw, *, max_atoms: int = 20, hard: bool = True, named: bool = True, binary: bool = False) -> RandomProblem:
    """Clauses over unary and binary predicates; `binary` gives evidence about any atoms, else about unary ones."""
    sizes = {"ta": draw(st.integers(1, 5)), "tb": draw(st.integers(1, 4))}
    shapes = [(), ("ta",), ("ta",), ("tb",), ("ta", "ta"), ("ta", "ta"), ("ta", "tb"), ("tb", "tb"), ("tb", "ta", "ta")]
    signatures, room = [], max_atoms
    for number in range(draw(st.integers(2, 4))):
        if room <= 0:
            break
        types = draw(st.sampled_from(shapes))
        while math.prod(sizes[t] for t in types) > room:
            types = types[1:]
        room -= math.prod(sizes[t] for t in types)
        signatures.append((("P", "Q", "Rel", "S")[number], types))
    lines = [f"{t} = {{{', '.join(f'{t[1].upper()}{i + 1}' for i in range(n))}}}" for t, n in sizes.items()]
    lines += [f"{name}({', '.join(types)})" if types else name for name, types in signatures]
    for _ in range(draw(st.integers(1, 4))):
        literals = [_literal(draw, signatures, sizes, named) for _ in range(draw(st.integers(1, 3)))]
        mirrored = [name for name, types in signatures if types == ("ta", "ta")]
        if mirrored and draw(st.integers(0, 3)) == 0:
            name = draw(st.sampled_from(mirrored))
            literals = [f"!{name}(x,y)", f"{name}(y,x)", *literals[2:]]
        equality = _equality(draw, literals)
        joint = draw(st.sampled_from([" v ", " v ", " ^ ", " <=> "]))
        text = joint.join(literals) if joint != " <=> " or len(literals) == 2 else " v ".join(literals)
        if equality is not None:
            text = f"({text}) v {equality}"
        weight = "." if hard and draw(st.integers(0, 7)) == 0 else draw(st.sampled_from(WEIGHTS))
        lines.append(f"{text}." if weight == "." else f"{weight} {text}")
    facts = []
    for name, types in signatures:
        if len(types) == 1 or (binary and types):
            for args in _tuples([sizes[t] for t in types]):
                sign = draw(st.sampled_from([None, None, "", "!"]))
                if sign is not None:
                    constants = ",".join(f"{t[1].upper()}{i + 1}" for t, i in zip(types, args, strict=True))
                    facts.append(f"{sign}{name}({constants})")
    return RandomProblem("\n".join(lines) + "\n", "".join(f + "\n" for f in facts), tuple(name for name, _ in signatures))


def _tuples(sizes: list[int]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for size in sizes:
        found = [(*before, i) for before in found for i in range(size)]
    return found
