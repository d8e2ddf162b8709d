"""What a problem assumes without being given it, in the user's terms: notes of a run, each kind once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from markovlogic.data.evidence import group_sizes
from markovlogic.language.syntax import Constant, Model, Rule, atoms_of, show_constant
from markovlogic.problem.query import queried_predicates
from markovlogic.problem.values import Problem
from markovlogic.system.arrays import Int64

SHOWN = 4  # examples of one kind
MOST_CONSTANTS = 20_000  # of a type, among which one letter's difference is looked for
SHORTEST = 5  # letters of a constant that one letter's difference makes suspicious
LONGEST = 200  # letters of such a constant; longer ones are texts, and the comparison takes the square of the length
SUSPICIOUS_SHARE = 0.01  # of a type's constants: where more are alike, names are made that way
MOST_PREDICATES = 12  # that a note names; of more, the largest
_LONE_CAPITAL = re.compile(r"[A-Z][0-9]?\Z")


class Purpose(NamedTuple):
    """What a run does with open atoms that nobody requested, and how to close them: `{names}` predicates, `{them}` it or them."""

    becomes: str
    advice: str = "--closed {names} takes {them} to be false"


INFERENCE = Purpose("summed over")
MAXIMIZATION = Purpose("part of the world that is searched")
COMPRESSION = Purpose("merged like the rest")
LEARNING = Purpose("summed over as hidden", "facts in the data, or a star before the declaration, *{first}(…), close {them}")


def assumed_notes(problem: Problem, opened: Sequence[str] = (), purpose: Purpose = INFERENCE) -> tuple[str, ...]:
    """Notes on a problem; opened: predicates that the user named as open."""
    chosen = {*queried_predicates(problem.query), *opened}
    uses = _uses(problem)
    notes = [*problem.model.notes, *problem.evidence.notes]
    notes += [_open_not_queried(problem, chosen, purpose), _open_groups(problem, chosen, purpose)]
    notes += [_capitals(problem, uses), *(_alike(problem, name, uses[name]) for name in problem.domains)]
    return tuple(note for note in notes if note)


def _open_not_queried(problem: Problem, chosen: set[str], purpose: Purpose) -> str:
    """Predicates that are open because they have no evidence and no declaration closes them."""
    in_rules = {atom.predicate for rule in problem.model.rules for atom in atoms_of(rule.formula)} - chosen
    found = [
        (name, problem.statuses[name].n_open)
        for name, predicate in problem.model.predicates.items()
        if name in in_rules and not problem.evidence.has(name) and not any(predicate.exclusive)
    ]
    found = [(name, count) for name, count in found if count]
    if not found:
        return ""
    one, rest = len(found) == 1, 0
    if len(found) > MOST_PREDICATES:  # the largest first, and how much there is beside them
        found.sort(key=lambda own: -own[1])
        rest = sum(count for _, count in found[SHOWN:])
    more = f" and {len(found) - SHOWN:,} more predicates ({rest:,} atoms)" if rest else ""
    found = found[:SHOWN] if rest else found
    shown = ", ".join(f"{name} ({count:,} atom{'s' * (count != 1)})" for name, count in found) + more
    names = ",".join(name for name, _ in found) + ",…" * bool(rest)
    why = "has no evidence and is not queried, so it is" if one else "have no evidence and are not queried, so they are"
    advice = purpose.advice.format(names=names, first=found[0][0], them="it" if one else "them")
    return f"{shown} {why} open and {purpose.becomes}; {advice}"


def _open_groups(problem: Problem, chosen: set[str], purpose: Purpose) -> str:
    """Exclusive predicates that nobody requested, some of whose groups have no true fact."""
    parts = []
    for groups in problem.groups:
        if groups.predicate not in chosen:
            predicate, sizes = problem.model.predicates[groups.predicate], problem.statuses[groups.predicate].sizes
            total = int(np.prod(group_sizes(sizes, predicate.exclusive), dtype=object))
            parts.append(f"{len(groups.start) - 1:,} of the {total:,} groups of {groups.predicate}")
    if not parts:
        return ""
    why = f"have no true fact, so their values stay open and are {purpose.becomes}"
    return f"{' and '.join(parts)} {why}; a true fact in a group closes it"


def _uses(problem: Problem) -> dict[str, Int64]:
    """How often each constant occurs in facts and rules, by type."""
    uses: dict[str, Int64] = {name: np.zeros(len(domain), np.int64) for name, domain in problem.domains.items()}
    for name, facts in problem.evidence.given.items():
        for position, type_name in enumerate(problem.model.predicates[name].types):
            uses[type_name] += np.bincount(facts.args[:, position], minlength=len(uses[type_name]))
    return uses


def _constants_of(model: Model) -> Iterator[tuple[Rule, str, str]]:
    """Each rule with type and name of every constant in its atoms."""
    for rule in model.rules:
        for atom in atoms_of(rule.formula):
            for type_name, arg in zip(model.predicates[atom.predicate].types, atom.args, strict=True):
                if isinstance(arg, Constant):
                    yield rule, type_name, arg.name


def _capitals(problem: Problem, uses: dict[str, Int64]) -> str:
    """Constants of rules that look like Prolog's variables: a capital that neither evidence nor a declaration names."""
    found: dict[str, Rule] = {}
    for rule, type_name, name in _constants_of(problem.model):
        listed = name in problem.model.listed.get(type_name, ())
        if _LONE_CAPITAL.match(name) and not listed and not uses[type_name][problem.domains[type_name].number(name)]:
            found.setdefault(name, rule)
    if not found:
        return ""
    names, rule = ", ".join(list(found)[:SHOWN]), next(iter(found.values()))
    are = "is a constant, and no evidence names it" if len(found) == 1 else "are constants, and no evidence names them"
    return f"{names} in {rule.text or 'a formula'} ({rule.place}) {are}; variables are lower case"


def _alike(problem: Problem, type_name: str, facts: Int64) -> str:
    """Constants that occur once and look like another one that was meant."""
    names, uses = problem.domains[type_name].names, facts.copy()
    for _, of, name in _constants_of(problem.model):
        if of == type_name:
            uses[problem.domains[of].number(name)] += 1
    once = [number for number in np.flatnonzero(uses == 1).tolist() if problem.evidence.given]
    if not once or len(names) < 2:
        return ""
    pairs = _same_but_for_spelling(names, once, uses)
    if len(names) <= MOST_CONSTANTS:
        pairs |= {one: other for one, other in _one_letter_apart(names, once, uses).items() if one not in pairs}
    if not pairs or len(pairs) > max(3, SUSPICIOUS_SHARE * len(names)):
        return ""
    shown = ", ".join(f"{show_constant(one)} (like {show_constant(other)})" for one, other in list(pairs.items())[:SHOWN])
    more = f" and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else ""
    return f"constants of type {type_name} that occur once and differ from others by case, spaces or one letter: {shown}{more}"


def _same_but_for_spelling(names: Sequence[str], once: Sequence[int], uses: Int64) -> dict[str, str]:
    """Those that equal another one but for case, spaces, hyphens and underscores."""
    known: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        known.setdefault(_plain(name), []).append(number)
    found = {}
    for number in once:
        others = [other for other in known[_plain(names[number])] if other != number and uses[other]]
        if others and (len(others) > 1 or uses[others[0]] > 1 or others[0] < number):
            found[names[number]] = names[max(others, key=lambda other: int(uses[other]))]
    return found


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if not (letter.isspace() or letter in "_-")) or name


def _one_letter_apart(names: Sequence[str], once: Sequence[int], uses: Int64) -> dict[str, str]:
    """Those that one letter more, less or another one turns into a constant that occurs more often."""
    masked: dict[tuple[int, str], int] = {}  # a name with one letter taken out, and where
    whole: dict[str, int] = {}
    for number in once:
        if SHORTEST <= len(names[number]) <= LONGEST:
            whole[names[number]] = number
            masked.update(dict.fromkeys(_shortened(names[number]), number))
    shorter = {short: number for (_, short), number in masked.items()}
    found: dict[str, str] = {}
    for other, name in enumerate(names):
        if uses[other] < 2 or not SHORTEST <= len(name) <= LONGEST + 1:
            continue
        hits = [shorter.get(name)]
        for at, short in _shortened(name):
            hits += [masked.get((at, short)), whole.get(short)]
        for hit in hits:
            if hit is not None:
                found.setdefault(names[hit], name)
    return found


def _shortened(name: str) -> Iterator[tuple[int, str]]:
    """The name without one of its letters; digits count things, and differ for a reason."""
    for at, letter in enumerate(name):
        if letter.isalpha():
            yield at, name[:at] + name[at + 1 :]
