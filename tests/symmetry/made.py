"""Problems to look for symmetry in: from text, and random ones that have some."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st
from tests.grounding.from_text import posed_model

from markovlogic.language.load import parse
from markovlogic.problem import Problem

SIGNATURES = {"U": ("a",), "R": ("a", "a"), "S": ("a", "b"), "T": ("a", "a", "a"), "V": ("b", "a", "b")}
SIGNS = ("", "!", "?", None)


def prepared(mln: str, db: str = "", **more) -> Problem:
    return posed_model(parse(mln), db, **more)


@st.composite
def symmetric_problems(draw, most=4, others=3):
    """Evidence that is constant on the orbits of a random partition of the constants, then disturbed in a few places."""
    sizes = {"a": draw(st.integers(1, most)), "b": draw(st.integers(1, others))}
    part = {t: [draw(st.integers(0, 1)) for _ in range(n)] for t, n in sizes.items()}
    lines = [f"{t} = {{{', '.join(f'{t.upper()}{n}' for n in range(size))}}}" for t, size in sizes.items()]
    names = draw(st.lists(st.sampled_from(list(SIGNATURES)), min_size=1, max_size=3, unique=True))
    lines += [f"{name}({', '.join(SIGNATURES[name])})" for name in names]
    lines.append(
        "1.5 " + " v ".join(f"{name}({', '.join('xyz'[i] for i in range(len(SIGNATURES[name])))})" for name in names[:1])
    )
    if draw(st.integers(0, 3)) == 0 and SIGNATURES[names[0]][0] == "a":
        rest = "".join(f", y{i}" for i in range(len(SIGNATURES[names[0]]) - 1))
        lines.append(f"0.5 {names[0]}(A0{rest})")
    facts = []
    for name in names:
        types = SIGNATURES[name]
        sign_of = {}
        atoms = list(itertools.product(*(range(sizes[t]) for t in types)))
        disturbed = draw(st.lists(st.sampled_from(atoms), max_size=2))
        for args in atoms:
            equal = tuple(args[i] == args[j] and types[i] == types[j] for i in range(len(args)) for j in range(i))
            key = (tuple(part[t][n] for t, n in zip(types, args, strict=True)), equal)
            if key not in sign_of:
                sign_of[key] = draw(st.sampled_from(SIGNS))
            sign = draw(st.sampled_from(SIGNS)) if args in disturbed else sign_of[key]
            if sign is not None:
                facts.append(f"{sign}{name}({','.join(f'{t.upper()}{n}' for t, n in zip(types, args, strict=True))})")
    open_ = draw(st.lists(st.sampled_from(names), unique=True))
    return "\n".join(lines) + "\n", "\n".join(facts) + "\n", tuple(open_)
