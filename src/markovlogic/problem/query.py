"""What is requested: query items resolved against the model, and the atoms they come to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import FALSE, UNKNOWN, Domain, Domains, codes, decode
from markovlogic.errors import Fault, InputError, nearest
from markovlogic.language.propositional import Node, conj, disj, iff, negate
from markovlogic.language.query import ParsedItem, parse_query
from markovlogic.language.syntax import And, Atom, Constant, Equal, Formula, Iff, Implies, Model, Not, Or, show_constant
from markovlogic.problem.values import GroundAtom, Problem, QueryItem, WantedAtoms, WantedFormula
from markovlogic.system.arrays import Int64, Pickled, each_once


def resolve_query(model: Model, domains: Domains, query: str | Sequence[str] | None) -> tuple[QueryItem, ...]:
    """Query items with predicates checked and ground atoms as codes; all that is wrong is raised at once."""
    if query is None:
        return ()
    faults: list[Fault] = []
    items: list[QueryItem] = []
    for text in _texts(query):
        try:
            parsed = parse_query(text)
        except InputError as error:
            faults.extend(error.faults)
            continue
        for item in parsed:
            resolver = _Resolver(model, domains)
            items.append(QueryItem(item.text, resolver.wanted(item)))
            faults += resolver.faults
    if faults:
        raise InputError(faults)
    return tuple(items)


def _texts(query: str | Sequence[str]) -> list[str]:
    """The query's items; people who pass something else are shown what a query is."""
    texts = [query] if isinstance(query, str) else list(query) if isinstance(query, Iterable) else [query]
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"the query holds {text!r}, which is not text", hint='write it as query=["Smokes", "Cancer(Bob)"]')
    return texts


def unknown_predicates(model: Model, names: Sequence[str], where: str) -> list[Fault]:
    """One fault for each name that is no predicate of the model."""
    some = ", ".join(list(model.declared)[:8]) + (", …" if len(model.declared) > 8 else "") or "no predicate"
    return [
        Fault(f"undeclared predicate {name} in {where}", hint=nearest(name, model.declared) or f"{model.source} declares {some}")
        for name in names
        if name not in model.declared
    ]


class _Resolver:
    """One item against the model; what is wrong is gathered."""

    def __init__(self, model: Model, domains: Domains) -> None:
        self.model, self.domains = model, domains
        self.faults: list[Fault] = []
        self.number: dict[GroundAtom, int] = {}

    def wanted(self, item: ParsedItem) -> WantedAtoms | WantedFormula:
        """What the item needs; of no use where there are faults."""
        if item.predicate is not None:
            self.faults += unknown_predicates(self.model, [item.predicate], "the query")
            return WantedAtoms(item.predicate)
        if item.pattern is not None:
            return WantedAtoms(item.pattern[0], self.constants(*item.pattern))
        assert item.formula is not None
        node = self.node(item.formula)
        return WantedFormula(tuple(self.number), node)

    def constants(self, predicate: str, names: Sequence[str | None]) -> tuple[int | None, ...] | None:
        """Numbers of an atom's constants; None where the atom is wrong."""
        if predicate not in self.model.predicates:
            self.faults += unknown_predicates(self.model, [predicate], "the query")
            return None
        declared = self.model.predicates[predicate]
        if declared.arity != len(names):
            types = f"({', '.join(declared.types)})" if declared.types else ""
            message = f"{predicate} takes {declared.arity} argument{'s' * (declared.arity != 1)}, the query gives {len(names)}"
            self.faults.append(Fault(message, hint=f"it is declared as {predicate}{types}"))
            return None
        wrong = [
            Fault(f"unknown constant {name} of type {of} in the query", hint=_known_constants(name, self.domains[of]))
            for of, name in zip(declared.types, names, strict=True)
            if name is not None and name not in self.domains[of].number_of
        ]
        self.faults += wrong
        if wrong:
            return None
        pairs = zip(declared.types, names, strict=True)
        return tuple(None if name is None else self.domains[of].number_of[name] for of, name in pairs)

    def node(self, formula: Formula) -> Node:
        """The formula over numbered atoms; equalities between constants are what they are."""
        match formula:
            case Atom():
                names = [arg.name if isinstance(arg, Constant) else None for arg in formula.args]
                return self.literal(formula.predicate, self.constants(formula.predicate, names))
            case Equal():
                return formula.left == formula.right
            case Not(body=body):
                return negate(self.node(body))
            case And(parts=parts):
                return conj([self.node(part) for part in parts])
            case Or(parts=parts):
                return disj([self.node(part) for part in parts])
            case Implies(left=left, right=right):
                return disj([negate(self.node(left)), self.node(right)])
            case Iff(left=left, right=right):
                return iff(self.node(left), self.node(right))
        raise AssertionError(formula)

    def literal(self, predicate: str, constants: Sequence[int | None] | None) -> Node:
        if constants is None:
            return False
        sizes = tuple(len(self.domains[of]) for of in self.model.predicates[predicate].types)
        code = int(codes(np.array([constants], np.int64).reshape(1, len(sizes)), sizes)[0])
        return self.number.setdefault(GroundAtom(predicate, code), len(self.number)) + 1


def _known_constants(name: str, domain: Domain) -> str:
    some = ", ".join(show_constant(known) for known in domain.names[:5]) + (", …" if len(domain) > 5 else "")
    return nearest(name, domain.names) or (f"known are {some}" if some else "the type has no constants")


def queried_predicates(items: Sequence[QueryItem]) -> list[str]:
    """All predicates that a query names, whole or by ground atoms, each once."""
    names: dict[str, None] = {}
    for item in items:
        if isinstance(item.wanted, WantedAtoms):
            names[item.wanted.predicate] = None
        else:
            names.update(dict.fromkeys(atom.predicate for atom in item.wanted.atoms))
    return list(names)


def most_rows(problem: Problem, possible: Problem | None = None) -> int:
    """At most so many rows does the query request, without listing them; facts known from evidence are not counted.

    possible: as for `query_atoms`.
    """
    rows: dict[str, int] = {}
    for item in problem.query:
        if isinstance(item.wanted, WantedAtoms):
            name, sizes = item.wanted.predicate, problem.statuses[item.wanted.predicate].sizes
            among = _possible_codes(problem, possible, name)
            most = problem.statuses[name].n_open if among is None else len(among)
            rows[name] = min(rows.get(name, 0) + _n_matching(item.wanted, sizes), most)
    return sum(rows.values()) + sum(isinstance(item.wanted, WantedFormula) for item in problem.query)


@dataclass(frozen=True, eq=False)
class QueryAtoms(Pickled):
    """The atoms of one predicate that a query needs, by code."""

    predicate: str
    code: Int64  # (n,) sorted, distinct
    number: Int64  # (n,) number among the open atoms, -1 where the atom is known
    truth: npt.NDArray[np.int8]  # (n,) UNKNOWN where the atom is open, else FALSE or TRUE


def _possible_codes(problem: Problem, possible: Problem | None, name: str) -> Int64 | None:
    """Open atoms of a predicate that may be true where hard rules make all others false; None where these cannot be listed."""
    if possible is None or possible.statuses[name].default != FALSE or problem.statuses[name].default == FALSE:
        return None
    code = possible.statuses[name].code
    return np.compress(problem.statuses[name].lookup(code) == UNKNOWN, code)


def query_atoms(problem: Problem, *, include_evidence: bool = False, possible: Problem | None = None) -> tuple[QueryAtoms, ...]:
    """The single atoms that the query needs, predicate by predicate as the model declares them.

    Known ones are left out unless `include_evidence`. Formulas are no atoms: see `problem.query`. possible: the problem after
    hard rules have decided; where they make a predicate false by default, what they make false is left out.
    """
    wanted: dict[str, list[WantedAtoms]] = {}
    for item in problem.query:
        if isinstance(item.wanted, WantedAtoms):
            wanted.setdefault(item.wanted.predicate, []).append(item.wanted)
    found = []
    for predicate, statuses in problem.statuses.items():
        if predicate not in wanted:
            continue
        if any(one.is_whole for one in wanted[predicate]):
            if include_evidence:
                code = np.arange(statuses.n_ground, dtype=np.int64)
            else:
                among = _possible_codes(problem, possible, predicate)
                code = problem.atoms.codes(predicate) if among is None else among
        else:
            most = max(_n_matching(one, statuses.sizes) for one in wanted[predicate])
            among = None if include_evidence else _possible_codes(problem, possible, predicate)
            if among is None and statuses.n_open < most and not include_evidence:
                among = problem.atoms.codes(predicate)
            parts = [matching_codes(one, statuses.sizes, among) for one in wanted[predicate]]
            code = parts[0] if len(parts) == 1 else each_once(np.concatenate(parts))
        truth = statuses.lookup(code)
        if not include_evidence:
            code, truth = code[truth == UNKNOWN], truth[truth == UNKNOWN]
        is_open = truth == UNKNOWN
        number = np.full(len(code), -1, np.int64)
        number[is_open] = problem.atoms.numbers(predicate, code[is_open])
        found.append(QueryAtoms(predicate, code, number, truth))
    return tuple(found)


def _n_matching(wanted: WantedAtoms, sizes: tuple[int, ...]) -> int:
    """How many atoms, known or not, a pattern has."""
    given = (None,) * len(sizes) if wanted.constants is None else wanted.constants
    return math.prod(size for size, number in zip(sizes, given, strict=True) if number is None)


def matching_codes(wanted: WantedAtoms, sizes: tuple[int, ...], among: Int64 | None = None) -> Int64:
    """Codes of all atoms of a pattern, sorted; those `among` some, where these are fewer to look through."""
    constants = wanted.constants or ()
    if among is not None and _n_matching(wanted, sizes) > len(among):
        args = decode(among, sizes)
        fits = [args[:, at] == number for at, number in enumerate(constants) if number is not None]
        matching: Int64 = among[np.logical_and.reduce(fits)]
        return matching
    code: Int64 = np.zeros(1, np.int64)
    for size, number in zip(sizes, constants, strict=True):
        own = np.arange(size, dtype=np.int64) if number is None else np.array([number], np.int64)
        code = (code[:, None] * size + own).ravel()
    return code
