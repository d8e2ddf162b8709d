"""Given rules with a literal dropped or added, where held-out likelihood gains: greedily, the largest gain first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from markovlogic.data.evidence import Evidence
from markovlogic.kernels.paths import CONSTANT, MEMBER, NOTHING, OPEN, walks_back
from markovlogic.language.show import show_formula
from markovlogic.language.syntax import Model
from markovlogic.learning.structure.columns import FOLDS, Columns, columns_of
from markovlogic.learning.structure.find import COUNTING, Found, FoundRule, Search, on_exclusive, on_given, on_negatives, rules_of
from markovlogic.learning.structure.sampling import says_more
from markovlogic.learning.structure.selection import LOG_LIKELIHOOD_A_FACT, PRICE, fitted, held_out_loss
from markovlogic.paths.graph import graph_of
from markovlogic.paths.reading import read_rules
from markovlogic.paths.rules import FIRST, PAIRS, SECOND, PathRule, Target, targets_of
from markovlogic.system.arrays import Int64
from markovlogic.system.cancellation import SURE, Deadline, current
from markovlogic.system.progress import SILENT, Progress

TRIED = 12  # changes of a rule that held-out atoms judge: those with the largest gradients
CONSTANTS = 20  # that a rule's end may become: those that most walks from true atoms end at
CHANGES = 4  # of one rule at most, a literal each


@dataclass(frozen=True)
class _Given:
    """A rule of the model as it is by now."""

    number: int  # in the model
    origin: frozenset[tuple[str, int]]  # relations and sets that it was given with; one at least stays
    rule: PathRule
    sign: float  # -1 where it speaks against the head as it is written
    sense: float  # 1 where its weight spoke for the head, -1 against; a change keeps that
    gain: float = 0.0  # in held-out log-likelihood, of all changes so far


def refine(
    model: Model, databases: Sequence[Evidence], targets: tuple[str, ...], search: Search, progress: Progress = SILENT
) -> Found:
    """Change the model's rules about the targets where that predicts held-out atoms better."""
    graph = graph_of(model, databases)
    heads = targets_of(graph, targets, {name: own.exclusive for name, own in model.predicates.items()})
    reading = read_rules(graph, model.rules, heads)
    deadline = current()
    deadline.allowance = SURE
    known = frozenset(targets)
    rules: list[FoundRule] = []
    before: list[FoundRule] = []
    made: list[Columns] = []
    n_candidates, is_cut = 0, False
    progress.stage("refine", len(heads))
    for at, head in enumerate(heads):
        left = deadline.left
        share = deadline if left is None else Deadline(left / (len(heads) - at))
        own = []
        for rule in reading.heads[at].rules:
            number, sign = reading.places[at, rule]
            weight = model.rules[number].weight
            own.append(_Given(number, _reads(rule), rule, sign, -sign if weight is not None and weight < 0 else sign))
        changed, n = _refined(head, own, search, share)
        n_candidates += n
        is_cut |= share.over
        for some, into in ((own, before), (changed, rules)):
            columns = columns_of(head, [], search.seed, deadline, [one.rule for one in some], is_open=search.is_open)
            places = {(at, one.rule): (one.number, one.sign) for one in some}
            places |= {key: place for key, place in reading.places.items() if key[0] == at and key[1].is_base}
            remarks = {
                one.rule: f"was {show_formula(model.rules[one.number].formula)}: held-out log-likelihood gains {one.gain:.1f}"
                for one in some
                if one.gain
            }
            into += rules_of(columns, fitted(columns, np.arange(len(some)), 0.0), known, places, at, remarks)
        made.append(columns)
        progress.advance(at + 1, head.text())
    changed_ones = {rule.given for rule in rules if rule.is_changed}
    judged = [*(rule for rule in before if rule.given in changed_ones), *(rule for rule in rules if not rule.is_changed)]
    notes = [on_negatives(made, search), *on_given(model, judged, reading)]
    for found in rules:
        if found.is_changed and found.given is not None:
            notes.append(f"{show_formula(model.rules[found.given].formula)} has become {found.formula}")
    if not any(reading.heads[at].rules for at in range(len(heads))):
        notes.append(f"no rule is a path along facts to {', '.join(targets)}: name the heads alone as query predicates")
    worries = ["the time limit ended the search before all changes were tried"] if is_cut else []
    worries += on_exclusive(heads)
    return Found(tuple(rules), tuple(reading.others), tuple(notes), tuple(worries), n_candidates, graph, tuple(heads))


def _refined(target: Target, given: Sequence[_Given], search: Search, deadline: Deadline) -> tuple[list[_Given], int]:
    """The rules after all changes that gain, and how many changes were counted."""
    now, total = list(given), 0
    for _ in range(CHANGES if len(target.first) else 0):
        edits = {one.rule: {edit for edit in _edits(target, one.rule, search.length) if one.origin & _reads(edit)} for one in now}
        own = {replace(one.rule, each=False) for one in now}
        candidates = sorted(
            set().union(*edits.values()) - own,
            key=lambda rule: (rule.length, rule.shape, rule.path, rule.end, rule.what, rule.head_constant),
        )
        if deadline.over or not candidates:
            break
        left = deadline.left
        share = deadline if left is None else Deadline(COUNTING * left)
        columns = columns_of(target, candidates, search.seed, share, [one.rule for one in now], is_open=search.is_open)
        total += len(columns.rules) - columns.n_given
        after = _changed(columns, now, edits, deadline)
        if after == now:
            break
        now = after
    return now, total


def _changed(columns: Columns, now: list[_Given], edits: dict[PathRule, set[PathRule]], deadline: Deadline) -> list[_Given]:
    """One change of each rule at most: the best is made, and the others are judged again beside it."""
    column_of = {rule: at for at, rule in enumerate(columns.rules)}
    price = PRICE * LOG_LIKELIHOOD_A_FACT + np.log(
        max(len(columns.rules) - columns.n_given, 1)
    )  # the best of many gains by chance
    best: list[tuple[float, int, int]] = []
    chosen = np.array([column_of[one.rule] for one in now], np.int64)
    value = _held_out(columns, chosen)
    for at, one in enumerate(now):
        for column in _tried(columns, np.delete(chosen, at), edits[one.rule]):
            if deadline.over:
                break
            gain = _gain(columns, chosen, at, column, one.sense, value)
            best.append((gain, at, column))
    after = list(now)
    for gain, at, column in sorted(best, reverse=True):
        if after[at] is not now[at] or gain <= price or column in chosen:
            continue
        if not np.array_equal(chosen, [column_of[one.rule] for one in now]):
            if deadline.over:
                break
            gain = _gain(columns, chosen, at, column, now[at].sense, value)
        if gain > price:
            chosen[at] = column
            value += gain
            after[at] = replace(now[at], rule=columns.rules[column], gain=now[at].gain + gain)
    return after


def _tried(columns: Columns, others: Int64, edits: set[PathRule]) -> list[int]:
    """The edits that pull most where the rule itself is left out."""
    own = [at for at in range(columns.n_given, len(columns.rules)) if replace(columns.rules[at], each=False) in edits]
    rest = columns.weight * (columns.truth - 1 / (1 + np.exp(-fitted(columns, others, 0.0).log_odds(columns))))
    pull = abs(columns.matrix[:, own].T @ rest) / columns.scale[own]
    return [own[at] for at in np.argsort(-pull, kind="stable")[:TRIED]]


def _gain(columns: Columns, chosen: Int64, at: int, column: int, sense: float, value: float) -> float:
    """What held-out atoms gain by another column in this place; nothing where it would speak the other way."""
    other = chosen.copy()
    other[at] = column
    if fitted(columns, other, 0.0).weights[at] * sense <= 0:
        return -np.inf
    return _held_out(columns, other) - value


def _held_out(columns: Columns, chosen: Int64) -> float:
    """Log-likelihood of each part of the atoms with weights of the others."""
    parts = [columns.fold == fold for fold in range(FOLDS)]
    return -sum(held_out_loss(columns, fitted(columns, chosen, 0.0, ~part), part) for part in parts)


def _edits(target: Target, rule: PathRule, length: int) -> Iterator[PathRule]:
    """The rule with one literal less or one more; where a literal goes or comes within the path, the rest joins up."""
    for made in (*_dropped(rule), *(_added(target, rule) if rule.length < length else ())):
        if not _fits(target, made) or made.is_base:
            continue
        is_head = made.shape != PAIRS and not made.path and made.what == target.own_set
        if not is_head and (made.shape != PAIRS or says_more(made.path, (2 * target.number,))):
            yield replace(made, each=False)


def _reads(rule: PathRule) -> frozenset[tuple[str, int]]:
    ends = {("set", rule.what)} if rule.end == MEMBER else set()
    return frozenset(ends | {("relation", way >> 1) for way in rule.path})


def _dropped(rule: PathRule) -> Iterator[PathRule]:
    path = rule.path
    for at in range(len(path)):
        yield replace(rule, path=path[:at] + path[at + 1 :])
    if rule.shape == PAIRS:
        yield PathRule(FIRST, path[:-1])
        yield PathRule(SECOND, _backward(path[1:]))
    elif rule.end == MEMBER:
        yield replace(rule, end=OPEN, what=NOTHING)
    elif rule.end == CONSTANT:
        yield replace(rule, path=path[:-1], end=OPEN, what=NOTHING)


def _added(target: Target, rule: PathRule) -> Iterator[PathRule]:
    path = rule.path
    for way in range(2 * len(target.graph.relations)):
        for at in range(len(path) + 1):
            yield replace(rule, path=(*path[:at], way, *path[at:]))
        if rule.shape != PAIRS and rule.end == OPEN and rule.head_constant == NOTHING:
            yield PathRule(PAIRS, (*path, way) if rule.shape == FIRST else _backward((*path, way)))
    if rule.shape != PAIRS and rule.end == OPEN:
        for label in _constants(target, rule) if path else ():
            yield replace(rule, end=CONSTANT, what=label)
        for number in range(len(target.graph.sets)):
            yield replace(rule, end=MEMBER, what=number)


def _constants(target: Target, rule: PathRule) -> list[int]:
    """Labels of the constants that most walks from true atoms end at."""
    net = target.graph.net
    side = target.second if rule.shape == SECOND else target.first
    if rule.head_constant != NOTHING:
        other = target.first if rule.shape == SECOND else target.second
        side = side[net.label[other] == rule.head_constant]
    times = np.bincount(side, minlength=len(net.label)).astype(np.float64)
    walks_back(net, np.array(_backward(rule.path), np.int64), times, np.empty(len(times)))
    by_label = np.bincount(net.label, times)
    return [int(label) for label in np.argsort(-by_label, kind="stable")[:CONSTANTS] if by_label[label] > 0]


def _backward(path: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(way ^ 1 for way in reversed(path))


def _fits(target: Target, rule: PathRule) -> bool:
    """Whether types agree along the path."""
    graph = target.graph
    at = target.head.types[rule.shape == SECOND]
    if rule.shape == PAIRS and not (target.is_pair and rule.path):
        return False
    if rule.end == CONSTANT and not rule.path:
        return False
    for way in rule.path:
        one, other = graph.relations[way >> 1].types[:: -1 if way & 1 else 1]
        if one != at:
            return False
        at = other
    if rule.shape == PAIRS:
        return at == target.head.types[1]
    if rule.end == OPEN:
        return True
    return at == (graph.sets[rule.what].types[0] if rule.end == MEMBER else graph.labels[rule.what][0])
