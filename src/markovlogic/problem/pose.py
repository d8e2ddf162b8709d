"""Model + evidence + query + world assumptions → Problem."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from markovlogic.data.evidence import TRUE, Domain, Domains, Evidence, Facts, facts_of_numbers
from markovlogic.data.readers import read_evidence
from markovlogic.errors import Fault, InputError, Place, ResourceError
from markovlogic.language.integers import is_built_in, relation_of
from markovlogic.language.syntax import Model, known_of
from markovlogic.problem.query import queried_predicates, resolve_query, unknown_predicates
from markovlogic.problem.soft import numbered_atoms, soft_atoms
from markovlogic.problem.statuses import AtomIndex
from markovlogic.problem.values import Problem
from markovlogic.problem.worlds import open_groups, statuses_of
from markovlogic.system.arrays import frozen

MOST_ATOMS = 1 << 62  # of all predicates together: their numbers are 64-bit integers


def pose(
    model: Model,
    evidence: Evidence | None,
    query: str | Sequence[str] | None = None,
    *,
    open_: str | Sequence[str] = (),
    closed: str | Sequence[str] = (),
) -> Problem:
    """State a problem: which atoms are known, which are open, which are requested.

    A queried predicate is open; one with evidence that is not queried is closed (what is missing is false); one with neither is
    open. `open_` and `closed` name predicates for which it is to be otherwise. `query` is what `-q` takes, or a list of such.
    """
    if evidence is None:
        evidence = read_evidence(model, ())
    domains = _all_domains(model, evidence)
    evidence = _with_numbers(model, evidence, domains)
    opened, shut = listed_names(open_), listed_names(closed)
    faults = unknown_predicates(model, opened, "--open") + unknown_predicates(model, shut, "--closed")
    try:
        items = resolve_query(model, domains, query)
    except InputError as error:
        raise InputError([*faults, *error.faults]) from None
    queried = queried_predicates(items)
    faults += [
        Fault(f"{name} is queried, so it cannot be closed", hint="take it out of the query, or out of the closed predicates")
        for name in shut
        if name in queried
    ]
    faults += [
        Fault(f"{name} is named as open and as closed", hint="name it once") for name in dict.fromkeys(opened) if name in shut
    ]
    faults += [
        Fault(f"{name} has numbers, and is neither true nor false", hint="its numbers are known from evidence only")
        for name in dict.fromkeys([*queried, *opened])
        if name in model.predicates and model.predicates[name].is_real
    ]
    faults += _empty_domains(model, domains, [*queried, *opened])
    statuses = {}
    for name, predicate in model.predicates.items():
        is_open = name in queried or name in opened or (name not in shut and not predicate.closed and not evidence.has(name))
        is_open &= not predicate.is_real
        try:
            statuses[name] = statuses_of(predicate, evidence.facts.get(name), domains, is_open=is_open)
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)

    first = [0]
    for status in statuses.values():
        first.append(first[-1] + status.n_open)
    if first[-1] > MOST_ATOMS:
        raise ResourceError(
            f"the problem has {first[-1]:.2g} open atoms; close predicates or use fewer constants",
            needed=first[-1],
            limit=MOST_ATOMS,
        )
    start = frozen(np.array(first, np.int64))
    atoms = AtomIndex(tuple(statuses), start, statuses)
    groups = (open_groups(predicate, statuses[name], atoms) for name, predicate in model.predicates.items())
    if domains is not evidence.domains:
        evidence = replace(evidence, domains=domains)
    numbers = numbered_atoms(evidence, statuses)
    open_ones = tuple(group for group in groups if group is not None)
    return Problem(model, evidence, items, statuses, atoms, open_ones, soft_atoms(evidence, statuses), numbers)


def listed_names(names: str | Iterable[str]) -> list[str]:
    """Predicates as users list them: in one text, or in several."""
    items = [names] if isinstance(names, str) else names
    return [name.strip() for item in items for name in item.split(",") if name.strip()]


def _all_domains(model: Model, evidence: Evidence) -> Domains:
    """The evidence's domains, with an empty one for every type that it has never met."""
    types = {type_name for predicate in model.predicates.values() for type_name in predicate.types}
    types |= {type_name for rule in model.rules for _, type_name in rule.types}
    missing = sorted(types - set(evidence.domains))
    if not missing:
        return evidence.domains
    return {**evidence.domains, **{name: Domain(name, model.constants.get(name, ())) for name in missing}}


def _with_numbers(model: Model, evidence: Evidence, domains: Domains) -> Evidence:
    """The evidence with what integers make true for this model, whichever model it was read for, and what is known."""
    found = {name: facts_of_numbers(relation_of(name), domains) for name in model.predicates if is_built_in(name)}
    given = evidence.given
    for name in model.predicates:
        facts = given.get(known_of(name) or "")
        if facts is not None:
            true = facts.truth == TRUE
            found[name] = frozen(Facts(facts.args[true], facts.truth[true]))
    return evidence if not found and len(given) == len(evidence.facts) else replace(evidence, facts={**given, **found})


def _empty_domains(model: Model, domains: Domains, queried: Sequence[str]) -> list[Fault]:
    """One fault for each type without constants that a rule's variable ranges over, or that a queried predicate takes."""
    faults: dict[str, Fault] = {}

    def note(type_name: str, message: str, place: Place | None = None) -> None:
        hint = f"declare its constants, {type_name} = {{A, B}}, or give evidence that names some"
        if not len(domains[type_name]):
            faults.setdefault(type_name, Fault(message, place, hint=hint))

    for rule in model.rules:
        for variable, type_name in rule.types:
            text = f": {rule.text}" if rule.text else ""
            note(
                type_name,
                f"type {type_name} has no constants, so {variable} of this formula ranges over nothing{text}",
                rule.place,
            )
    for name in queried:
        predicate = model.predicates.get(name)
        for type_name in predicate.types if predicate else ():
            note(type_name, f"type {type_name} has no constants, so {name} has no ground atoms")
    return list(faults.values())
