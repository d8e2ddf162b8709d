"""Random typed models with evidence, for hypothesis.

    from tests.strategies import problems

    @settings(max_examples=100, deadline=None, derandomize=True)
    @given(problems())
    def test_something(problem):
        model = parse(problem.mln)          # rule file text; every type is declared with 1 to 3 constants
        ...                                 # problem.db: evidence text, free of contradictions
        ...                                 # problem.query: names of one or more predicates

There are at most `max_atoms` ground atoms in all, so that worlds can be enumerated. Keywords switch features off: `hard`
(weights `inf`, `-inf` and final periods; random hard rules can contradict each other or the evidence, so that no world is left),
`exclusive` (`class!` arguments), `quantifiers`, `equality`; `soft` switches soft evidence on, `mostly_hard` makes two rules of
three hard. Formulas hold constants and self-joins; weights may be negative or zero.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]

CONSTANTS = {"ta": ("A1", "A2", "A3"), "tb": ("7", '"b two"', "B3"), "tc": ("C1", "C-2", "C_3")}  # as they are written
WEIGHTS = ("1.5", "-0.75", "0.25", "2", "-1e-1", "0", "-3")
HARD_WEIGHTS = ("inf", "-inf", ".")


@dataclass(frozen=True)
class RandomProblem:
    """A rule file, an evidence file and the predicates requested."""

    mln: str
    db: str
    query: tuple[str, ...]


@dataclass(frozen=True)
class _Signature:
    name: str
    types: tuple[str, ...]
    exclusive: tuple[bool, ...]


@dataclass
class _Scope:
    """What a formula under construction may use: predicates, constants, and the names in scope."""

    signatures: Sequence[_Signature]
    domains: dict[str, tuple[str, ...]]
    quantifiers: bool
    equality: bool
    bound: list[tuple[str, str]] = field(default_factory=list)  # (name, type) of the quantifiers around
    n_bound: int = 0  # quantified variables so far, for fresh names
    typed: set[str] = field(default_factory=set)  # variables that an atom gives a type

    def variables(self, type_name: str) -> list[str]:
        free = [f"{type_name[1]}x"] if self.n_bound else [f"{type_name[1]}x", f"{type_name[1]}y"]
        return free + [name for name, of in self.bound if of == type_name]


def _term(draw: Draw, scope: _Scope, type_name: str) -> str:
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(scope.domains[type_name]))
    return draw(st.sampled_from(scope.variables(type_name)[::-1]))


def _atom(draw: Draw, scope: _Scope) -> str:
    signature = draw(st.sampled_from(scope.signatures))
    args = [_term(draw, scope, t) for t in signature.types]
    scope.typed.update(args)
    return f"{signature.name}({', '.join(args)})" if args else signature.name


def _equality(draw: Draw, scope: _Scope) -> str:
    """An equality of which one side has its type from an atom already, else an atom."""
    known = [(n, t) for t in scope.domains for n in scope.variables(t) if n in scope.typed]
    if not known:
        return _atom(draw, scope)
    name, type_name = draw(st.sampled_from(known))
    return f"{name} {draw(st.sampled_from(['=', '!=']))} {_term(draw, scope, type_name)}"


def _formula(draw: Draw, scope: _Scope, depth: int) -> str:
    kinds = ["atom"] if depth == 0 else ["atom", "not", "and", "or", "implies", "iff"]
    if depth and scope.quantifiers and scope.n_bound < 2:
        kinds += ["exist", "forall"]
    if scope.equality:
        kinds.append("equality")
    kind = draw(st.sampled_from(kinds))
    if kind == "atom":
        return _atom(draw, scope)
    if kind == "equality":
        return _equality(draw, scope)
    if kind == "not":
        return f"!({_formula(draw, scope, depth - 1)})"
    if kind in ("exist", "forall"):
        name, type_name = f"q{scope.n_bound}", draw(st.sampled_from(list(scope.domains)))
        scope.n_bound += 1
        scope.bound.append((name, type_name))
        body = _formula(draw, scope, depth - 1)
        scope.bound.pop()
        return f"({kind.upper()} {name} {body})"
    connective = {"and": "^", "or": "v", "implies": "=>", "iff": "<=>"}[kind]
    return f"({_formula(draw, scope, depth - 1)} {connective} {_formula(draw, scope, depth - 1)})"


def _signatures(draw: Draw, domains: dict[str, tuple[str, ...]], exclusive: bool, max_atoms: int) -> list[_Signature]:
    signatures: list[_Signature] = []
    room = max_atoms
    for number in range(draw(st.integers(1, 4))):
        if room == 0:
            break
        types = tuple(draw(st.lists(st.sampled_from(list(domains)), max_size=3)))
        while math.prod(len(domains[t]) for t in types) > room:
            types = types[1:]
        room -= math.prod(len(domains[t]) for t in types)
        marks = [False] * len(types)
        if exclusive and types and draw(st.integers(0, 2)) == 0:
            marks[draw(st.integers(0, len(types) - 1))] = True
        name = ("P", "Q", "rel", "S")[number]
        signatures.append(_Signature(name, types, tuple(marks)))
    return signatures


def _probable(draw: Draw, signs: list[str | None], exclusive: bool) -> list[str | None]:
    """Some of the facts that are not known in a group of atoms made soft; in an exclusive group one value stays unlisted."""
    free = [at for at, sign in enumerate(signs) if sign in (None, "?")]
    chosen = [at for at in (free[1:] if exclusive else free) if draw(st.booleans())]
    made = list(signs)
    for at in chosen:
        made[at] = draw(st.sampled_from(["0.25 ", "0.1 "] if exclusive else ["0.8 ", "0.3 ", ".5 "]))
    return made


def _evidence(
    draw: Draw, signatures: Sequence[_Signature], domains: dict[str, tuple[str, ...]], *, soft: bool = False
) -> list[str]:
    """Facts in `.db` syntax; an exclusive group gets at most one true fact and never loses its last value."""
    facts = []
    for signature in signatures:
        if draw(st.booleans()):
            continue
        groups: dict[tuple[str, ...], list[str]] = {}
        for args in itertools.product(*(domains[t] for t in signature.types)):
            atom = f"{signature.name}({','.join(args)})" if args else signature.name
            key = tuple(a for a, mark in zip(args, signature.exclusive, strict=True) if not mark)
            groups.setdefault(key, []).append(atom)
        for atoms in groups.values():
            if not any(signature.exclusive):
                signs = [draw(st.sampled_from([None, "", "!", "?"])) for _ in atoms]
            else:
                kept = draw(st.integers(0, len(atoms) - 1))
                true = draw(st.booleans())
                others = [None, "!"] if true else [None, "!", "?"]
                signs = [draw(st.sampled_from(others)) for _ in atoms]
                signs[kept] = "" if true else draw(st.sampled_from([None, "?"]))
            if soft and "" not in signs[: None if any(signature.exclusive) else 0]:
                signs = _probable(draw, signs, any(signature.exclusive))
            facts += [sign + atom for sign, atom in zip(signs, atoms, strict=True) if sign is not None]
    return facts


@st.composite
def problems(
    draw: Draw,
    *,
    max_atoms: int = 14,
    max_rules: int = 4,
    hard: bool = True,
    mostly_hard: bool = False,
    exclusive: bool = True,
    quantifiers: bool = True,
    equality: bool = True,
    soft: bool = False,
) -> RandomProblem:
    """A random model with evidence and query; see the module for what it holds."""
    domains = {t: CONSTANTS[t][: draw(st.integers(1, 3))] for t in list(CONSTANTS)[: draw(st.integers(1, 3))]}
    signatures = _signatures(draw, domains, exclusive, max_atoms)
    lines = [f"{name} = {{{', '.join(constants)}}}" for name, constants in domains.items()]
    for s in signatures:
        args = ", ".join(t + "!" * mark for t, mark in zip(s.types, s.exclusive, strict=True))
        lines.append(f"{s.name}({args})" if args else s.name)
    for _ in range(draw(st.integers(1, max_rules))):
        scope = _Scope(signatures, domains, quantifiers, equality)
        weight = draw(st.sampled_from(WEIGHTS))
        if hard and draw(st.integers(0, 5)) <= 3 * mostly_hard:
            weight = draw(st.sampled_from(HARD_WEIGHTS))
        formula = _formula(draw, scope, draw(st.integers(0, 3)))
        lines.append(f"{formula}." if weight == "." else f"{weight} {formula}")
    facts = _evidence(draw, signatures, domains, soft=soft)
    query = draw(st.lists(st.sampled_from([s.name for s in signatures]), min_size=1, unique=True))
    return RandomProblem("\n".join(lines) + "\n", "\n".join(facts) + "\n" * bool(facts), tuple(query))
