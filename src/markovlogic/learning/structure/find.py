"""From data to rules: candidates of every head, their selection, and what is known about each rule that is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from markovlogic.data.evidence import Evidence
from markovlogic.errors import InputError, known_name
from markovlogic.kernels.paths import NOTHING
from markovlogic.language.show import show_formula
from markovlogic.language.syntax import KNOWN, Model, Rule
from markovlogic.learning.structure.columns import NEGATIVES, Columns, bare, columns_of
from markovlogic.learning.structure.sampling import sampled
from markovlogic.learning.structure.selection import (
    CLEARS,
    STRENGTHS,
    Fit,
    by_chance,
    fitted,
    held_out_values,
    option_chosen,
    path_of,
    refitted,
)
from markovlogic.paths.examples import example
from markovlogic.paths.graph import Graph, graph_of
from markovlogic.paths.reading import Reading, read_rules
from markovlogic.paths.rules import PathRule, Target, targets_of
from markovlogic.system.arrays import Float64
from markovlogic.system.cancellation import SURE, Deadline, current
from markovlogic.system.progress import SILENT, Progress

CANDIDATES = 1_000  # of each shape that a head has at most
LENGTH = 3
COUNTING = 0.25  # of a head's share of the time limit: for sampling and counting its candidates
LEAST_SECONDS = 0.3  # of a head: with less of each, the last ones go without
ALL, SAMPLED = "all", "sampled"
DIGITS = 4  # of weights behind the point: standard errors are larger


@dataclass(frozen=True)
class Search:
    """How rules are looked for; negatives: atoms that are no facts, `all` of them false or some `sampled` ones."""

    length: int = LENGTH  # literals of a body at most
    rules: int | None = None  # found at most; None: as many as held-out atoms ask for
    seed: int = 0
    negatives: str = ALL

    @property
    def is_open(self) -> bool:
        """Whether what is no fact may be true all the same."""
        return self.negatives == SAMPLED

    def __post_init__(self) -> None:
        for name, value in (("length", self.length), ("rules", self.rules)):
            if value is not None and value < 1:
                raise InputError(f"{name}={value} is less than 1")
        if self.length > 6:
            raise InputError(f"length={self.length} is more than 6", hint="bodies of two or three literals are usual")
        known_name(self.negatives, "negatives", (ALL, SAMPLED))


@dataclass(frozen=True)
class FoundRule:
    """A rule as text, without its weight, and what is known about it."""

    formula: str
    weight: float
    stderr: float
    about: str  # support, confidence, an example
    given: int | None = None  # number of the model's rule, where it was given
    is_changed: bool = False  # in place of that rule
    coupling: str | None = None  # the formula with open atoms in place of known facts, where it reads any of modelled predicates


@dataclass(frozen=True, eq=False)
class Found:
    """What was found in the data."""

    rules: tuple[FoundRule, ...]
    others: tuple[Rule, ...]  # of the model, about modelled predicates, that are not paths
    notes: tuple[str, ...]
    worries: tuple[str, ...]
    candidates: int  # bodies whose groundings were counted
    graph: Graph
    heads: tuple[Target, ...]


def find(
    model: Model, databases: Sequence[Evidence], targets: tuple[str, ...], search: Search, progress: Progress = SILENT
) -> Found:
    """Look for rules about the targets in all databases together."""
    graph = graph_of(model, databases)
    heads = targets_of(graph, targets, {name: own.exclusive for name, own in model.predicates.items()})
    given = read_rules(graph, model.rules, heads)
    deadline = current()
    deadline.allowance = SURE  # from here on weights can always be reported
    order = sorted(range(len(heads)), key=lambda at: -len(heads[at].first))
    made: dict[int, tuple[Columns, list[Fit]]] = {}
    values: list[Float64] = []
    sizes: list[Float64] = []
    n_candidates, n_unseen, is_cut = 0, 0, False
    progress.stage("candidates", len(order))
    for done, at in enumerate(order):
        if deadline.over and not given.heads[at].rules:
            columns = bare(heads[at])
            made[at] = columns, [fitted(columns, np.zeros(0, np.int64), 0.0)] * len(STRENGTHS)
            n_unseen += 1
            continue
        left = deadline.left
        seconds = None if left is None else max(left / (len(order) - done), LEAST_SECONDS)
        whole = deadline if seconds is None else Deadline(seconds)
        share = deadline if seconds is None else Deadline(COUNTING * seconds)
        candidates = [] if deadline.over else sampled(heads[at], search.length, CANDIDATES, (search.seed, at), share)
        columns = columns_of(heads[at], candidates, search.seed, share, given.heads[at].rules, is_open=search.is_open)
        is_cut |= share.over
        n_candidates += len(candidates)
        fits = path_of(columns, STRENGTHS, deadline=whole)
        columns = replace(columns, by_chance=by_chance(columns, fits[-1], search.seed))
        for all_of, own in zip((values, sizes), held_out_values(columns, STRENGTHS, whole), strict=True):
            all_of.append(own)
        made[at] = _narrowed(columns, fits)
        progress.advance(done + 1, heads[at].text())
    best = option_chosen(np.concatenate(values), np.concatenate(sizes)) if values else 0
    strength, clear = divmod(best, len(CLEARS))
    chosen = {at: refitted(columns, fits[strength], CLEARS[clear]) for at, (columns, fits) in made.items()}
    if search.rules is not None:
        chosen = _bounded(made, chosen, search.rules)
    known = frozenset(targets)
    rules = [rule for at in sorted(chosen) for rule in rules_of(made[at][0], chosen[at], known, given.places, at)]
    total = np.concatenate(values).sum(axis=0) if values else np.zeros(len(STRENGTHS) * len(CLEARS))
    notes = [on_negatives([columns for columns, _ in made.values()], search)]
    notes.append(
        "held-out atoms chose how many rules: reciprocal ranks of facts and a third of the log-likelihood are"
        f" {total[best]:,.1f}, {total[0]:,.1f} with the fewest that were tried"
    )
    if graph.skipped:
        notes.append(f"no rules use {', '.join(graph.skipped)}: they would be taken apart into too many relations")
    notes += on_given(model, rules, given)
    worries = ["the time limit ended the search before all candidates were counted"] if is_cut else []
    if n_unseen:
        worries.append(f"the time limit left no time for {n_unseen:,} of {len(heads):,} heads, which have no rules")
    worries += on_exclusive(heads)
    return Found(tuple(rules), tuple(given.others), tuple(notes), tuple(worries), n_candidates, graph, tuple(heads))


def on_given(model: Model, rules: Sequence[FoundRule], given: Reading) -> list[str]:
    """What should be known of the model's own rules."""
    made = []
    for rule in rules:
        if rule.given is None or not rule.about.startswith("support"):
            continue
        before = model.rules[rule.given].weight
        if rule.weight < -2 * rule.stderr and (before is None or before > 0):
            formula = show_formula(model.rules[rule.given].formula)
            made.append(f"the data contradict {formula}: weight {rule.weight:g}, standard error {rule.stderr:.2g}")
    if given.others:
        made.append(f"{len(given.others)} rules of the model are no paths along facts: they are kept as they are")
    return made


def on_exclusive(heads: Sequence[Target]) -> list[str]:
    """What should be known of weights of predicates of which exactly one value is true."""
    marked = sorted({head.head.predicate for head in heads if head.constant != NOTHING})
    if not marked:
        return []
    why = f"of {', '.join(marked)} exactly one value is true, and its rules were weighted value by value"
    return [f"{why}: run mln learn on the rules that were found"]


def _narrowed(columns: Columns, fits: list[Fit]) -> tuple[Columns, list[Fit]]:
    """Only the candidates that a fit has chosen: the others take memory and are not needed again."""
    kept = np.unique(np.concatenate([np.arange(columns.n_given), *(fit.chosen for fit in fits)])).astype(np.int64)
    small = replace(
        columns,
        rules=tuple(columns.rules[at] for at in kept),
        matrix=columns.matrix[:, kept],
        scale=columns.scale[kept],
        support=columns.support[kept],
        body=columns.body[kept],
    )
    return small, [replace(fit, chosen=np.searchsorted(kept, fit.chosen)) for fit in fits]


def _bounded(made: dict[int, tuple[Columns, list[Fit]]], chosen: dict[int, Fit], most: int) -> dict[int, Fit]:
    """At most so many found rules over all heads: those furthest from zero, in standard errors."""
    clear = {
        at: np.sort((abs(fit.weights) / fit.error[1:])[fit.chosen >= made[at][0].n_given])[::-1] for at, fit in chosen.items()
    }
    every = np.sort(np.concatenate([np.zeros(0), *clear.values()]))[::-1]
    if len(every) <= most:
        return chosen
    return {at: refitted(made[at][0], fit, 0.0, most=int((clear[at] > every[most]).sum())) for at, fit in chosen.items()}


def on_negatives(made: Sequence[Columns], search: Search) -> str:
    """Which atoms were taken as false."""
    n_sampled = sum(columns.n_sampled for columns in made)
    if search.is_open:
        return (
            f"{n_sampled:,} atoms that are no facts were taken as false, {NEGATIVES} a fact, the others as unknown (open world):"
            " probabilities are those among facts and sample"
        )
    if not n_sampled:
        return "all atoms that are no facts were taken as false (closed world)"
    n_atoms = sum(columns.weight.sum() for columns in made)
    return (
        f"what is no fact was taken as false (closed world), of {n_atoms:,.0f} atoms by a sample that stands for all:"
        f" {n_sampled:,} of them count for several"
    )


def rules_of(
    columns: Columns,
    fit: Fit,
    known: frozenset[str],
    places: Mapping[tuple[int, PathRule], tuple[int, float]],
    at: int,
    remarks: Mapping[PathRule, str] | None = None,
) -> list[FoundRule]:
    """The rules of one head: how often it is true at all, and the bodies by how sure their weights are.

    places: rule of the model and its sign, by head and body; remarks: of those that are not as they were given.
    """
    target = columns.target
    base = f"{len(target.first):,} of {target.n_atoms:,} are true"
    number, sign = next(
        (own for (head, rule), own in places.items() if head == at and rule.is_base and rule.head_constant < 0), (None, 1.0)
    )
    made = [FoundRule(target.text(), round(sign * fit.base, DIGITS), float(fit.error[0]), base, number)]
    order = np.argsort(-abs(fit.weights) / fit.error[1:], kind="stable")
    for place in order.tolist():
        column = int(fit.chosen[place])
        rule, weight, error = columns.rules[column], float(fit.weights[place]), float(fit.error[1 + place])
        own, sign = places[at, rule] if column < columns.n_given else (None, 1.0)
        shown, formula = target.formula(rule, weight, known)
        remark = remarks.get(rule) if remarks else None
        shown = shown if own is None or remark else sign * weight
        about = _about(target, rule, weight, int(columns.support[column]), float(columns.body[column]))
        about = f"{remark}; {about}" if remark else about
        coupling = target.formula(replace(rule, each=True), weight, frozenset())[1] if f"{KNOWN}(" in formula else None
        made.append(FoundRule(formula, round(shown, DIGITS), error, about, own, remark is not None, coupling))
    return made


def _about(target: Target, rule: PathRule, weight: float, support: int, body: float) -> str:
    """Support, confidence and an example, as a comment says them."""
    hits = support if weight >= 0 else body - support
    confidence = hits / max(body, 1)
    found = example(target, rule, true=weight >= 0)
    return f"support {hits:,.0f} of {body:,.0f}, confidence {confidence:.3g}" + (f"; e.g. {found}" if found else "")
