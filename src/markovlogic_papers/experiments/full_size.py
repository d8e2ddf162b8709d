"""The three benchmarks of [000] Table 1 at full size: their rules and domains, with everything open but a share of all atoms.

Rules have the benchmarks' forms, with weights drawn from [0, 1] as there. WebKB has 4168 pages, 774 words and 64 rules (892
million groundings), Protein 1785 proteins, 44 places and 211 rules (408 million), ER 1995 citations, 88 authors, 209 titles, 403
venues and 14 rules (1.7 trillion). What the evidence says of an atom is drawn, with about the density of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from markovlogic.data.evidence import UNKNOWN, Domain, Evidence
from markovlogic.generate.draws import weights
from markovlogic.language.load import parse
from markovlogic.problem import AtomIndex, Problem, Statuses
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.system.arrays import frozen

CLASSES = ("Course", "Department", "Person", "Faculty", "ResearchProject", "Staff", "Student")
FUNCTIONS = tuple(f"Func_{number}" for number in range(1, 43))
FIELDS = (("Author", "author"), ("Title", "title"), ("Venue", "venue"))

SIZES = {
    "webkb": {"page": 4168, "word": 774},
    "protein": {"protein": 1785, "place": 44},
    "er": {"bib": 1995, "author": 88, "title": 209, "venue": 403},
    "transitivity": {"thing": 1295},  # one rule, 2.17 billion groundings: no benchmark of the paper's
}
BENCHMARKS = ("webkb", "protein", "er")
DENSITY = {"Linked": 6e-4, "HasWord": 0.05, "Interaction": 1.4e-3, "Location": 0.04, "SameBib": 0.01}
OTHER_DENSITY = 0.1


def full_size(name: str, share: float, seed: int, *, scale: float = 1.0) -> PreparedProblem:
    """A benchmark with a share of its atoms known; scale: of the domains, 1 for the benchmark's own."""
    rng = np.random.default_rng([seed, *name.encode()])
    declarations, forms = rules_of(name)
    rules = "\n".join(f"{weight} {form}" for weight, form in zip(weights(rng, len(forms)), forms, strict=True))
    model = parse(f"{declarations}\n{rules}\n", f"<{name}>")
    domains = {kind: _domain(kind, max(2, round(scale * size))) for kind, size in SIZES[name].items()}
    statuses = {}
    for predicate in model.predicates.values():
        sizes = tuple(len(domains[kind]) for kind in predicate.types)
        n_ground = int(np.prod(sizes, dtype=np.int64))
        code = np.flatnonzero(rng.random(n_ground, np.float32) < share).astype(np.int64)
        truth = (rng.random(len(code), np.float32) < DENSITY.get(predicate.name, OTHER_DENSITY)).astype(np.int8)
        statuses[predicate.name] = Statuses(predicate.name, sizes, UNKNOWN, *frozen((code, truth)))
    start = np.concatenate([[0], np.cumsum([known.n_open for known in statuses.values()])]).astype(np.int64)
    return PreparedProblem(Problem(model, Evidence(domains, {}), (), statuses, AtomIndex(tuple(statuses), start, statuses), ()))


def rules_of(name: str) -> tuple[str, list[str]]:
    """Declarations and the forms of the rules of a benchmark."""
    return _FORMS[name]()


def _domain(kind: str, size: int) -> Domain:
    return Domain(kind, tuple(f"{kind[0].upper()}{number}" for number in range(size)))


def _webkb() -> tuple[str, list[str]]:
    declared = "\n".join([*(f"{name}(page)" for name in CLASSES), "HasWord(word, page)", "Linked(page, page)"])
    forms = [f"!HasWord(w, p) v {name}(p)" for name in CLASSES]
    forms += [f"!{one}(x) v !Linked(x, y) v {other}(y)" for one in CLASSES for other in CLASSES]
    return declared, [*forms, *(f"!{name}(p)" for name in CLASSES), "!Linked(x, y) v Linked(y, x)"]


def _protein() -> tuple[str, list[str]]:
    declared = [*(f"{name}(protein)" for name in FUNCTIONS), "Interaction(protein, protein)", "Location(protein, place)"]
    forms = ["Interaction(x, y)"]
    for name in FUNCTIONS:
        forms += [
            f"{name}(p)",
            f"!Location(p, t) v {name}(p)",
            f"!Interaction(x, y) v !{name}(x) v {name}(y)",
            f"!Interaction(x, y) v !{name}(y) v {name}(x)",
            f"Interaction(x, y) v !Interaction(y, x) v {name}(y)",
        ]
    return "\n".join(declared), forms


def _er() -> tuple[str, list[str]]:
    same = [("Bib", "bib"), *FIELDS]
    declared = [f"{name}(bib, {kind})" for name, kind in FIELDS] + [f"Same{name}({kind}, {kind})" for name, kind in same]

    def joined() -> Iterator[str]:
        for name, _ in FIELDS:
            yield f"!{name}(b, x) v !{name}(c, y) v !Same{name}(x, y) v SameBib(b, c)"
            yield f"!{name}(b, x) v !{name}(c, y) v !SameBib(b, c) v Same{name}(x, y)"
        for name, _ in same:
            yield f"!Same{name}(x, y) v !Same{name}(y, z) v Same{name}(x, z)"
            yield f"!Same{name}(x, y)"

    return "\n".join(declared), list(joined())


def _transitivity() -> tuple[str, list[str]]:
    return "R(thing, thing)", ["!R(x, y) v !R(y, z) v R(x, z)"]


_FORMS: dict[str, Callable[[], tuple[str, list[str]]]] = {
    "webkb": _webkb,
    "protein": _protein,
    "er": _er,
    "transitivity": _transitivity,
}
