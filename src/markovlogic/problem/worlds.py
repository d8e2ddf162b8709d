"""Evidence and world assumptions of one predicate → statuses, and the open exclusive groups."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import (
    FALSE,
    TRUE,
    UNKNOWN,
    Domains,
    Facts,
    atoms_of_groups,
    check_atom_count,
    codes,
    conflicts,
    decode,
    group_of,
    group_sizes,
    n_values,
)
from markovlogic.errors import Fault, InputError, ResourceError
from markovlogic.language.syntax import Predicate, show_constant
from markovlogic.problem.statuses import AtomIndex, Statuses
from markovlogic.problem.values import ExclusiveGroups, Problem
from markovlogic.system.arrays import Int64, all_but, each_once, frozen, offsets

MOST_SHOWN = 20


def statuses_of(predicate: Predicate, facts: Facts | None, domains: Domains, *, is_open: bool) -> Statuses:
    """What is known about a predicate's atoms; raises InputError where exclusive arguments contradict the facts."""
    sizes = tuple(len(domains[type_name]) for type_name in predicate.types)
    check_atom_count(predicate.name, sizes)
    if facts is None:
        facts = Facts(np.empty((0, predicate.arity), np.int32), np.empty(0, np.int8))
    if any(predicate.exclusive):
        default, code, status = _exclusive(predicate, facts, sizes, domains)
    else:
        default = UNKNOWN if is_open else FALSE
        differs = facts.truth != default
        code, status = codes(facts.args[differs], sizes), facts.truth[differs]
    frozen((code, status))
    return Statuses(predicate.name, sizes, default, code, status)


def _exclusive(
    predicate: Predicate, facts: Facts, sizes: tuple[int, ...], domains: Domains
) -> tuple[int, Int64, npt.NDArray[np.int8]]:
    """Default, exceptions and their statuses: a group with a true fact is decided, any other is open but for its false facts.

    Open and closed worlds do not differ here. Of the two possible defaults the one with fewer exceptions is taken.
    """
    _refuse_conflicts(predicate, facts, sizes, domains)
    values = n_values(sizes, predicate.exclusive)
    groups = math.prod(group_sizes(sizes, predicate.exclusive))
    group = group_of(facts.args, sizes, predicate.exclusive)
    code = codes(facts.args, sizes)
    true = code[facts.truth == TRUE]
    decided = each_once(group[facts.truth == TRUE])
    is_removed = (facts.truth == FALSE) & ~np.isin(group, decided)
    removed = code[is_removed]
    _refuse_empty_groups(predicate, facts, group, is_removed, values, domains)

    n_open = (groups - len(decided)) * values - len(removed)
    if len(decided) * values + len(removed) <= len(decided) + n_open:
        default = UNKNOWN
        known = np.concatenate([atoms_of_groups(decided, sizes, predicate.exclusive).ravel(), removed])
        known.sort()
        status = np.zeros(len(known), np.int8)
        status[np.searchsorted(known, true)] = TRUE
        return default, known, status
    undecided = all_but(groups, decided)
    unknown = np.setdiff1d(atoms_of_groups(undecided, sizes, predicate.exclusive).ravel(), removed, assume_unique=True)
    listed = np.concatenate([true, unknown])
    order = np.argsort(listed, kind="stable")
    status = np.concatenate([np.full(len(true), TRUE, np.int8), np.full(len(unknown), UNKNOWN, np.int8)])
    return FALSE, listed[order], status[order]


def _show(predicate: Predicate, args: npt.NDArray[np.int32], domains: Domains, *, hide_values: bool = False) -> str:
    texts = [
        "…" if hide_values and marked else show_constant(domains[type_name].names[number])
        for type_name, number, marked in zip(predicate.types, args.tolist(), predicate.exclusive, strict=True)
    ]
    return f"{predicate.name}({','.join(texts)})"


def _refuse_conflicts(predicate: Predicate, facts: Facts, sizes: tuple[int, ...], domains: Domains) -> None:
    words = {TRUE: "true", UNKNOWN: "unknown"}
    pairs = conflicts(facts, sizes, predicate.exclusive)
    if pairs:
        raise InputError(
            Fault(
                f"contradicting facts: {_show(predicate, facts.args[one], domains)} is true,"
                f" and {_show(predicate, facts.args[other], domains)} is {words[int(facts.truth[other])]}",
                hint=f"each group of {predicate.name} has exactly one true value",
            )
            for one, other in pairs[:MOST_SHOWN]
        )


def _refuse_empty_groups(
    predicate: Predicate, facts: Facts, group: Int64, is_removed: npt.NDArray[np.bool_], values: int, domains: Domains
) -> None:
    _, first, count = np.unique(group[is_removed], return_index=True, return_counts=True)
    rows = np.flatnonzero(is_removed)[first[count == values]]
    if len(rows):
        raise InputError(
            Fault(
                f"contradicting facts: all {values} values of"
                f" {_show(predicate, facts.args[row], domains, hide_values=True)} are false",
                hint="exactly one value of an exclusive argument is true: remove one of the negative facts",
            )
            for row in rows[:MOST_SHOWN]
        )


def open_groups(predicate: Predicate, statuses: Statuses, atoms: AtomIndex) -> ExclusiveGroups | None:
    """The open exclusive groups of a predicate; None where it has none."""
    if not any(predicate.exclusive) or not statuses.n_open:
        return None
    numbers = atoms.range_of(predicate.name)
    if numbers.stop > np.iinfo(np.int32).max:
        raise ResourceError(
            f"the exclusive groups of {predicate.name} reach beyond {np.iinfo(np.int32).max:,} open atoms;"
            " more evidence, or fewer constants, would fit",
            needed=numbers.stop,
            limit=np.iinfo(np.int32).max,
        )
    group = group_of(decode(atoms.codes(predicate.name), statuses.sizes), statuses.sizes, predicate.exclusive)
    atom = np.arange(numbers.start, numbers.stop, dtype=np.int32)
    if np.any(group[1:] < group[:-1]):
        order = np.argsort(group, kind="stable")
        group, atom = group[order], atom[order]
    start = np.concatenate([[0], np.flatnonzero(group[1:] != group[:-1]) + 1, [len(group)]]).astype(np.int64)
    frozen((start, atom))
    return ExclusiveGroups(predicate.name, start, atom)


def with_statuses(problem: Problem, statuses: Mapping[str, Statuses]) -> Problem:
    """A problem that differs in what is known; exclusive groups consist of what the statuses leave open of them."""
    atoms = AtomIndex(tuple(statuses), frozen(offsets([own.n_open for own in statuses.values()])), statuses)
    groups = (open_groups(predicate, statuses[name], atoms) for name, predicate in problem.model.predicates.items())
    return replace(problem, statuses=statuses, atoms=atoms, groups=tuple(group for group in groups if group is not None))
