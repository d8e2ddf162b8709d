"""What is asked for: query items resolved against the model, and the atoms they come to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.arrays import Int64
from markovlogic.data.domains import Domain, Domains
from markovlogic.data.evidence import UNKNOWN, codes
from markovlogic.errors import Fault, InputError, nearest
from markovlogic.language.syntax import Model, show_constant
from markovlogic.problem.values import GroundLiteral, Problem, QueryItem


def resolve_query(model: Model, domains: Domains, query: str | Sequence[str] | None) -> tuple[QueryItem, ...]:
    """Query items with predicates checked and ground atoms as codes; all that is wrong is raised at once."""
    if query is None:
        return ()
    from markovlogic.language.query import parse_query

    faults: list[Fault] = []
    items: list[QueryItem] = []
    for text in _texts(query):
        try:
            parsed = parse_query(text)
        except InputError as error:
            faults.extend(error.faults)
            continue
        for item in parsed:
            if item.predicate is not None:
                faults += unknown_predicates(model, [item.predicate], "the query")
                items.append(QueryItem(item.text, item.predicate, None))
                continue
            literals = []
            for predicate, constants, positive in item.literals or ():
                wrong = _wrong_atom(model, domains, predicate, constants)
                faults += wrong
                if not wrong:
                    literals.append(GroundLiteral(predicate, _code(model, domains, predicate, constants), positive))
            items.append(QueryItem(item.text, None, tuple(literals)))
    if faults:
        raise InputError(faults)
    return tuple(items)


def _texts(query: str | Sequence[str]) -> list[str]:
    """The query's items; people who pass something else are told what a query is."""
    texts = [query] if isinstance(query, str) else list(query) if isinstance(query, Iterable) else [query]
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"the query holds {text!r}, which is no text", hint='write it as query=["Smokes", "Cancer(Bob)"]')
    return texts


def unknown_predicates(model: Model, names: Sequence[str], where: str) -> list[Fault]:
    """One fault for each name that is no predicate of the model."""
    some = ", ".join(list(model.predicates)[:8]) + (", …" if len(model.predicates) > 8 else "") or "no predicate"
    return [
        Fault(
            f"undeclared predicate {name} in {where}", hint=nearest(name, model.predicates) or f"{model.source} declares {some}"
        )
        for name in names
        if name not in model.predicates
    ]


def _wrong_atom(model: Model, domains: Domains, predicate: str, constants: Sequence[str]) -> list[Fault]:
    if predicate not in model.predicates:
        return unknown_predicates(model, [predicate], "the query")
    declared = model.predicates[predicate]
    if declared.arity != len(constants):
        types = f"({', '.join(declared.types)})" if declared.types else ""
        message = f"{predicate} takes {declared.arity} argument{'s' * (declared.arity != 1)}, the query gives {len(constants)}"
        return [Fault(message, hint=f"it is declared as {predicate}{types}")]
    return [
        Fault(f"unknown constant {name} of type {type_name} in the query", hint=_known_constants(name, domains[type_name]))
        for type_name, name in zip(declared.types, constants, strict=True)
        if name not in domains[type_name].number_of
    ]


def _known_constants(name: str, domain: Domain) -> str:
    some = ", ".join(show_constant(known) for known in domain.names[:5]) + (", …" if len(domain) > 5 else "")
    return nearest(name, domain.names) or (f"known are {some}" if some else "the type has no constants")


def _code(model: Model, domains: Domains, predicate: str, constants: Sequence[str]) -> int:
    types = model.predicates[predicate].types
    args = [[domains[type_name].number_of[name] for type_name, name in zip(types, constants, strict=True)]]
    return int(codes(np.array(args, np.int64).reshape(1, len(types)), tuple(len(domains[t]) for t in types))[0])


def queried_predicates(items: Sequence[QueryItem]) -> list[str]:
    """All predicates that a query names, whole or by a ground atom, each once."""
    names: dict[str, None] = {}
    for item in items:
        if item.predicate is not None:
            names[item.predicate] = None
        for literal in item.literals or ():
            names[literal.predicate] = None
    return list(names)


@dataclass(frozen=True, eq=False)
class QueryAtoms:
    """The atoms of one predicate that a query asks for, by code."""

    predicate: str
    code: Int64  # (n,) sorted, distinct
    number: Int64  # (n,) number among the open atoms, -1 where the atom is known
    truth: npt.NDArray[np.int8]  # (n,) UNKNOWN where the atom is open, else FALSE or TRUE


def query_atoms(problem: Problem, *, include_evidence: bool = False) -> tuple[QueryAtoms, ...]:
    """The single atoms that the query asks for, predicate by predicate as the model declares them.

    Known ones are left out unless `include_evidence`. Conjunctions and negated literals are no atoms: see `problem.query`.
    """
    whole = {item.predicate for item in problem.query if item.predicate is not None}
    named: dict[str, set[int]] = {}
    for item in problem.query:
        if item.literals is not None and len(item.literals) == 1 and item.literals[0].positive:
            named.setdefault(item.literals[0].predicate, set()).add(item.literals[0].code)
    found = []
    for predicate, statuses in problem.statuses.items():
        if predicate in whole:
            if include_evidence:
                code = np.arange(statuses.n_ground, dtype=np.int64)
            else:
                code = problem.atoms.codes(predicate)
        elif predicate in named:
            code = np.array(sorted(named[predicate]), np.int64)
        else:
            continue
        truth = statuses.lookup(code)
        if not include_evidence:
            code, truth = code[truth == UNKNOWN], truth[truth == UNKNOWN]
        is_open = truth == UNKNOWN
        number = np.full(len(code), -1, np.int64)
        number[is_open] = problem.atoms.numbers(predicate, code[is_open])
        found.append(QueryAtoms(predicate, code, number, truth))
    return tuple(found)
