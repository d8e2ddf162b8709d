"""What a user should know of learned weights: what was assumed, what the data do not decide, and what would decide it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from markovlogic.data.evidence import FALSE
from markovlogic.language import syntax
from markovlogic.learning.databases import Database, assumed_of
from markovlogic.learning.preparing import Prepared, Task
from markovlogic.learning.priors import Prior
from markovlogic.learning.pseudolikelihood import Design
from markovlogic.system.arrays import Bool, Float64

MOST_NAMED = 5  # rules in a note
UNSURE = 30.0  # a standard error of so much: nothing holds the weight
LARGE = 5.0  # a weight that nothing holds and that is so large was on its way to infinity


@dataclass(frozen=True)
class Messages:
    """Notes, and reasons to distrust the weights."""

    notes: tuple[str, ...] = ()
    worries: tuple[str, ...] = ()


def assumed(task: Task, ready: Prepared) -> tuple[str, ...]:
    """What was assumed by default, each once."""
    notes = [*_hidden(task, ready), *_soft(ready), *_unlisted(task)]
    for database, evidence in zip(ready.databases, task.evidence, strict=True):
        notes += assumed_of(database, evidence)
    return tuple(dict.fromkeys(notes))


def _hidden(task: Task, ready: Prepared) -> Iterator[str]:
    """Modelled predicates of which some atoms are not known; `assumed_of` reports those that are not modelled."""
    for name in task.targets:
        count = sum(int(one.hidden[_span(one, name)].sum()) for one in ready.databases)
        if count:
            these = f"1 atom of {name} is" if count == 1 else f"{count:,} atoms of {name} are"
            yield f"{these} hidden (? in the data, or a group without a true fact) and summed over, as in EM"


def _soft(ready: Prepared) -> Iterator[str]:
    """Predicates that are not modelled and have soft evidence: their atoms are hidden, but not altogether."""
    soft = [(name, len(own.code)) for one in ready.databases for name, own in one.problem.soft.items()]
    for name in dict.fromkeys(name for name, _ in soft):
        count = sum(own for of, own in soft if of == name)
        if count:
            atoms, are = ("atom", "has soft evidence and is") if count == 1 else ("atoms", "have soft evidence and are")
            yield f"{count:,} {atoms} of {name} {are} summed over, as probable as it and the rules say"


def _unlisted(task: Task) -> Iterator[str]:
    """Modelled predicates of which false facts are listed, but not all of them: what is not listed counts as false."""
    for name in task.targets:
        facts = [one.facts[name] for one in task.evidence if name in one.facts]
        if not any((own.truth == FALSE).any() for own in facts) or any(task.model.predicates[name].exclusive):
            continue
        types = task.model.predicates[name].types
        total = sum(int(np.prod([len(one.domains[kind]) for kind in types], dtype=object)) for one in task.evidence)
        rest = total - sum(len(own.truth) for own in facts)
        if rest:
            these = (
                f"1 atom of {name} is not listed and counts"
                if rest == 1
                else f"{rest:,} atoms of {name} are not listed and count"
            )
            yield f"{these} as false, like those that the data list as false"


def undecided(
    task: Task, ready: Prepared, design: Design, weights: Float64, errors: Float64, prior: Prior, met: frozenset[int]
) -> Messages:
    """What the data do not decide, rule by rule, and what would. met: rules with a grounding that the evidence leaves open."""
    notes: list[str] = []
    worries: list[str] = [*_constant(task, ready)]
    informed = np.diff(design.matrix.tocsc().indptr) > 0
    informed_rules = {ready.index.keys[at][0] for at in np.flatnonzero(informed).tolist()}
    silent = [rule for rule in ready.rules.rules if rule.kept is None and rule.number not in informed_rules]
    for rules, why in (
        (
            [rule.rule for rule in silent if rule.number not in met],
            "the evidence decides all their groundings; name one of their predicates in -q, or leave them out",
        ),
        (
            [rule.rule for rule in silent if rule.number in met],
            "no atom of the data makes a difference to them; add data in which one does, or leave them out",
        ),
    ):
        if rules:
            notes.append(f"the data say nothing about {_listed(rules)}: {why}; their weight is 0")
    up, down = design.one_sided()
    held = np.zeros(len(errors), bool) if prior.has_couplings else ready.is_coupling
    one_sided = (up | down) & ~held
    plain = [at for at, (_, constants) in enumerate(ready.index.keys) if not constants and one_sided[at]]
    if plain:
        text = f"the data never contradict {_named(task, ready, plain)}: by themselves they would make the weight infinite"
        if prior.kind == "none":
            worries.append(f"{text}; give a prior, such as --prior 2, or make the rule hard by a final period")
        else:
            notes.append(f"{text}; the prior keeps it finite, and a final period would make the rule hard")
    if prior.kind == "none":
        by_constant = sum(1 for at, (_, constants) in enumerate(ready.index.keys) if constants and one_sided[at])
        if by_constant:
            worries.append(f"{by_constant:,} weights of rules with + would be infinite: give a prior, such as --prior 1")
        worries += _unbounded(task, ready, weights, errors, informed & ~one_sided & ~held)
    return Messages(tuple(notes), tuple(worries))


def _unbounded(task: Task, ready: Prepared, weights: Float64, errors: Float64, informed: Bool) -> Iterator[str]:
    """Weights that nothing holds, though each alone is contradicted: together they part true from false, or are as one."""
    free = informed & ~(errors < UNSURE)
    running = np.flatnonzero(free & (np.abs(weights) > LARGE)).tolist()
    if running:
        yield (
            f"the data are separable by {_named(task, ready, running)}: together they separate true from false without error, so"
            " their weights run to infinity; give a prior, such as --prior 2"
        )
        return
    alike = np.flatnonzero(free).tolist()
    if alike:
        yield (
            f"the data cannot tell {_named(task, ready, alike)} apart: only some sum of their weights is determined;"
            " give a prior, such as --prior 2, or leave one of them out"
        )


def _constant(task: Task, ready: Prepared) -> Iterator[str]:
    """Modelled predicates that never vary."""
    for name in task.targets:
        shares = [_share(one, name) for one in ready.databases]
        known = [share for share in shares if share is not None]
        for value, word in ((1.0, "true"), (0.0, "false")):
            if known and all(share == value for share in known):
                yield (
                    f"every atom of {name} is {word} in the training data: nothing shows what would make it otherwise;"
                    " add data in which it varies, or take it out of -q"
                )


def _span(database: Database, predicate: str) -> slice:
    own = database.problem.atoms.range_of(predicate)
    return slice(own.start, own.stop)


def _share(database: Database, predicate: str) -> float | None:
    own = _span(database, predicate)
    known = ~database.hidden[own]
    return float(database.truth[own][known].mean()) if known.any() else None


def _named(task: Task, ready: Prepared, features: Sequence[int]) -> str:
    return _listed([task.model.rules[number] for number in dict.fromkeys(ready.index.keys[at][0] for at in features)])


def _listed(rules: Sequence[syntax.Rule]) -> str:
    shown = [f"{rule.text} ({rule.place})" for rule in rules[:MOST_NAMED]]
    more = len(rules) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")
