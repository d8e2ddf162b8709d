"""Training databases: each a world of its own, with its own constants; what is modelled is open, its truth beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from markovlogic.data.arrow import atom_names
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Domain, Evidence, Facts, codes, group_of
from markovlogic.data.readers import read_evidence
from markovlogic.data.sources import evidence_sources
from markovlogic.errors import Fault, InputError, Place
from markovlogic.language.syntax import Model, atoms_of, known_name
from markovlogic.problem import Problem, pose
from markovlogic.problem.assumed import LEARNING, assumed_notes
from markovlogic.problem.query import queried_predicates, resolve_query
from markovlogic.problem.values import QueryItem, WantedAtoms
from markovlogic.problem.worlds import statuses_of
from markovlogic.system.arrays import Bool, Int32, each_once, frozen
from markovlogic.system.progress import SILENT, Progress

LEAST_DIVIDED = 20  # constants of a database that is divided in two
LARGEST_UNIT = 0.25  # of them, that stay together


@dataclass(frozen=True, eq=False)
class Database:
    """One training world: a problem whose modelled predicates are open, and what is true of their atoms."""

    name: str
    problem: Problem
    truth: Bool  # (n_atoms,) of the open atoms; anything where they are hidden
    hidden: Bool  # (n_atoms,) atoms that nothing is known about
    excluded: Bool  # (n_atoms,) hidden values of exclusive groups that negative facts rule out


def read_databases(model: Model, given: object, *, closed_types: bool = False, progress: Progress = SILENT) -> list[Evidence]:
    """The evidence of each database: a list holds one an item, anything else is a single one."""
    items: Iterable[Any] = given if isinstance(given, list) else [given]
    made = []
    for item in items:
        if isinstance(item, Evidence):
            made.append(item)
        else:
            made.append(read_evidence(model, evidence_sources(item), closed_types=closed_types, progress=progress))
    if not made:
        raise InputError("no training data", hint="give each training database by -e FILE")
    return made


def targets_of(model: Model, evidence: Sequence[Evidence], query: str | Sequence[str] | None) -> tuple[str, ...]:
    """The predicates that are modelled given the others; without a query all that rules mention and data show."""
    if query is None or (not isinstance(query, str) and not query):
        modelled = [name for name in model.declared if not model.predicates[name].is_real]  # numbers are known, never modelled
        found = tuple(name for name in modelled if any(one.has(name) for one in evidence))
        if not found:
            raise InputError("no training facts", hint="give training databases by -e FILE")
        _refuse_soft(model, evidence, found)
        return found
    names: list[str] = []
    problems: list[Fault] = []
    for one in evidence[:1]:
        domains = {**pose(model, one).domains}
        try:
            items = resolve_query(model, domains, query)
            names = queried_predicates(items)
            problems += [_no_predicate(item) for item in items if not _is_predicate(item)]
        except InputError as error:
            problems += error.faults
    if problems:
        raise InputError(problems)
    silent = [name for name in names if not any(one.has(name) for one in evidence)]
    if silent:
        raise InputError(
            Fault(
                f"no training facts about {name}: its weights cannot be learned",
                model.predicates[name].place,
                hint="give facts about it (what is not listed counts as false), or take it out of -q; it is then hidden",
            )
            for name in silent
        )
    _refuse_soft(model, evidence, names)
    return tuple(names)


def _is_predicate(item: QueryItem) -> bool:
    return isinstance(item.wanted, WantedAtoms) and item.wanted.is_whole


def _no_predicate(item: QueryItem) -> Fault:
    names = ",".join(queried_predicates((item,)))
    return Fault(
        f"{item.text} is not a predicate; learning models all atoms of a predicate", hint=f"name the predicate: -q {names}"
    )


def _refuse_soft(model: Model, evidence: Sequence[Evidence], targets: Sequence[str]) -> None:
    """Weights are learned from what is true; raises InputError where the data give a probability of it."""
    faults = []
    for at, one in enumerate(evidence):
        for name in targets:
            facts = one.facts.get(name)
            if facts is None or facts.log_odds is None:
                continue
            domains = [one.domains[kind] for kind in model.predicates[name].types]
            sizes = tuple(map(len, domains))
            soft = np.flatnonzero(facts.log_odds)
            code = codes(facts.args, sizes)[soft[:1]]
            atom = str(atom_names(name, code, sizes, domains)[0]) if len(soft) else name
            more = f" and {len(soft) - 1:,} more" if len(soft) > 1 else ""
            faults.append(
                Fault(
                    f"soft evidence about {atom}{more} does not say what is true, and {name} is modelled",
                    Place("+".join(one.sources) or f"database {at + 1}"),
                    hint=f"give facts, or ?{atom} for what is not known; or model other predicates with -q",
                )
            )
    if faults:
        raise InputError(faults)


def database_of(model: Model, evidence: Evidence, targets: Sequence[str], name: str) -> Database:
    """Open the modelled predicates, and note what is true of them: what no fact mentions is false, `?` is hidden."""
    known = {of: facts for of, facts in evidence.facts.items() if of not in targets}
    given = Evidence(evidence.domains, known, evidence.sources, evidence.observed - set(targets))
    in_rules = {atom.predicate for rule in model.rules for atom in atoms_of(rule.formula)}
    idle = [of for of in model.predicates if of not in in_rules and of not in targets and of in model.declared]
    problem = pose(model, given, list(targets), closed=idle)  # what no rule mentions is nothing to sum over
    problem = _with_known(problem, evidence, targets)
    n_atoms = len(problem.atoms)
    truth, hidden, excluded = np.zeros(n_atoms, bool), np.zeros(n_atoms, bool), np.zeros(n_atoms, bool)
    for predicate in problem.atoms.predicates:
        own = problem.atoms.range_of(predicate)
        if predicate not in targets:
            hidden[own.start : own.stop] = True
            continue
        facts = evidence.facts.get(predicate)
        if facts is None:
            continue
        _note(problem, predicate, facts, truth, hidden, excluded)
    return frozen(Database(name, problem, truth, hidden, excluded))


def _with_known(problem: Problem, evidence: Evidence, targets: Sequence[str]) -> Problem:
    """The problem in which `Known(P(x))` reads the true facts of modelled predicates too, which are open here."""
    found = {}
    for name in targets:
        facts = evidence.facts.get(name)
        if facts is not None and known_name(name) in problem.statuses:
            true = facts.truth == TRUE
            found[known_name(name)] = frozen(Facts(facts.args[true], facts.truth[true]))
    if not found:
        return problem
    model, domains = problem.model, problem.domains
    statuses = dict(problem.statuses)
    for name, own in found.items():
        statuses[name] = statuses_of(model.predicates[name], own, domains, is_open=False)
    given = replace(problem.evidence, facts={**problem.evidence.facts, **found})
    return replace(problem, statuses=statuses, atoms=replace(problem.atoms, statuses=statuses), evidence=given)


def halves(model: Model, evidence: Evidence, targets: Sequence[str], seed: int) -> list[Evidence]:
    """The evidence of one database as that of two; none where no type is in all modelled predicates, or has few constants.

    Constants of that type go one way or the other by lot, those that facts tie together alike unless they are many; facts about
    constants of both halves are lost. Constants that rules name are in both.
    """
    of_each = [set(model.predicates[name].types) for name in targets]
    shared = sorted(set.intersection(*of_each), key=lambda name: (-len(evidence.domains[name]), name))
    if not shared or len(evidence.domains[shared[0]]) < LEAST_DIVIDED:
        return []
    divided = evidence.domains[shared[0]]
    words = {word for rule in model.rules for word in re.findall(r"\w+", rule.text)}
    in_both = np.array([name in words for name in divided.names])
    unit = _units(model, evidence, divided)
    size = np.bincount(unit)
    order = np.random.default_rng([seed, len(divided)]).permutation(len(size))
    first = np.empty(len(size), np.bool_)
    first[order] = np.cumsum(size[order]) <= len(divided) / 2
    return [_only(model, evidence, divided, in_both | (first[unit] == which)) for which in (True, False)]


def _units(model: Model, evidence: Evidence, divided: Domain) -> Int32:
    """(n_constants,) constants that facts tie together have one number, unless these are a large share of all."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, tied = len(divided), [np.zeros((0, 2), np.int32)]
    for name, facts in evidence.facts.items():
        at = [i for i, of in enumerate(model.predicates[name].types) if of == divided.type_name]
        tied += [facts.args[facts.truth == TRUE][:, [one, other]] for one, other in pairwise(at)]
    one, other = np.concatenate(tied).T
    unit = connected_components(coo_array((np.ones(len(one), np.bool_), (one, other)), shape=(n, n)), directed=False)[1]
    large = np.bincount(unit)[unit] > LARGEST_UNIT * n
    return np.unique(np.where(large, n + np.arange(n), unit), return_inverse=True)[1].astype(np.int32)


def _only(model: Model, evidence: Evidence, divided: Domain, keep: Bool) -> Evidence:
    """The evidence about some of the constants of a type; what was known of a predicate still is."""
    number = np.cumsum(keep) - 1
    facts = {}
    for name, own in evidence.facts.items():
        at = [i for i, of in enumerate(model.predicates[name].types) if of == divided.type_name]
        stays = keep[own.args[:, at]].all(axis=1)
        args = own.args[stays].copy()
        args[:, at] = number[args[:, at]]
        if len(args):
            odds, numbers = (None if values is None else values[stays] for values in (own.log_odds, own.number))
            facts[name] = frozen(Facts(args, own.truth[stays], odds, numbers))
    names = tuple(name for name, kept in zip(divided.names, keep.tolist(), strict=True) if kept)
    domains = {**evidence.domains, divided.type_name: replace(divided, names=names)}
    return replace(evidence, domains=domains, facts=facts, observed=evidence.observed | set(evidence.facts))


def decided_database(database: Database, found: Problem) -> Database:
    """The database in which what was found to be decided is evidence; raises InputError where data say otherwise."""
    problem = database.problem
    if found is problem:
        return database
    stays = [np.zeros(0, np.int64)]
    for name in problem.atoms.predicates:
        own, now = problem.atoms.range_of(name), found.statuses[name]
        code = problem.atoms.codes(name)
        status = now.lookup(code)
        known = (status != UNKNOWN) & ~database.hidden[own.start : own.stop]
        wrong = code[known & ((status == TRUE) != database.truth[own.start : own.stop])]
        if len(wrong):
            raise InputError(_broken(database, name, int(wrong[0]), len(wrong)))
        stays.append(own.start + np.flatnonzero(status == UNKNOWN))
    kept = np.concatenate(stays)
    return frozen(Database(database.name, found, database.truth[kept], database.hidden[kept], database.excluded[kept]))


def _broken(database: Database, predicate: str, code: int, count: int) -> Fault:
    problem = database.problem
    domains = [problem.domains[kind] for kind in problem.model.predicates[predicate].types]
    names = atom_names(predicate, np.array([code], np.int64), problem.statuses[predicate].sizes, domains)
    more = f" and {count - 1:,} more" if count > 1 else ""
    return Fault(
        f"{database.name} breaks a hard rule of the model: the rules decide {names[0]}{more} otherwise",
        hint="correct the data, or give the hard rules weights to be learned",
    )


def assumed_of(database: Database, evidence: Evidence) -> tuple[str, ...]:
    """What was assumed of a database without an option; of all its facts, those of what is modelled too."""
    return assumed_notes(replace(database.problem, evidence=evidence), purpose=LEARNING)


def _note(problem: Problem, predicate: str, facts: Facts, truth: Bool, hidden: Bool, excluded: Bool) -> None:
    statuses = problem.statuses[predicate]
    atom = problem.atoms.numbers(predicate, codes(facts.args, statuses.sizes))
    truth[atom[facts.truth == TRUE]] = True
    hidden[atom[facts.truth == UNKNOWN]] = True
    marks = problem.model.predicates[predicate].exclusive
    if not any(marks):
        return
    decided = each_once(group_of(facts.args[facts.truth == TRUE], statuses.sizes, marks))
    for groups in problem.groups:
        if groups.predicate != predicate:
            continue
        for begin, end in zip(groups.start[:-1].tolist(), groups.start[1:].tolist(), strict=True):
            members = groups.atom[begin:end]
            if not truth[members].any():
                hidden[members] = True
    is_false = facts.truth == FALSE
    undecided = ~np.isin(group_of(facts.args, statuses.sizes, marks), decided)
    excluded[atom[is_false & undecided]] = True
