"""Blocks of facts → `Facts`: sorted, repeats dropped, contradictions found and named with both their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from markovlogic.data.evidence import (
    FALSE,
    SOFT,
    TRUE,
    UNKNOWN,
    Domain,
    Facts,
    atoms_of_groups,
    check_atom_count,
    codes,
    conflicts,
    decode,
    group_of,
)
from markovlogic.data.vocabulary import Block, FaultLog, SoftColumn
from markovlogic.errors import MOST_SHOWN, Fault, Place
from markovlogic.language.syntax import Predicate, show_constant
from markovlogic.system.arrays import Bool, Float64, Int8, Int64, all_but, each_once, frozen

TOLERANCE = 0.01  # probabilities of a group may miss one by so much: people round them


def from_probability(predicate: Predicate, truth: Int8, probability: Float64) -> SoftColumn | None:
    """The column of facts with probabilities between 0 and 1 where their truth is SOFT; None where none is."""
    if not np.any(truth == SOFT):
        return None
    p = np.where(truth == SOFT, probability, 0.5)
    if any(predicate.exclusive):
        return SoftColumn(np.log(p), is_share=True)
    return SoftColumn(np.log(p) - np.log1p(-p), is_share=False)


def from_number(predicate: Predicate, truth: Int8, number: Float64) -> SoftColumn | None:
    """The column of facts with numbers before them: probabilities, or the predicate's own."""
    if predicate.is_real:
        return SoftColumn(number, is_share=False)
    return from_probability(predicate, truth, number)


def shown(value: float, is_share: bool, exclusive: bool) -> str:
    """A soft fact's number as its user wrote it, or nearly so."""
    if exclusive and not is_share:
        return f"weight {value:.6g}"
    return f"{np.exp(value) if is_share else 1 / (1 + np.exp(-value)):.6g}"


class SoftRows:
    """The soft facts about one predicate, gathered from all blocks and sorted by code, in reading order where codes repeat."""

    def __init__(self, blocks: Sequence[Block], sizes: tuple[int, ...]) -> None:
        parts: list[tuple[Int64, Float64, Bool, Int64, Int64]] = []
        for block in blocks:
            if block.soft is None:
                continue
            rows = np.flatnonzero(block.truth == SOFT)
            n = len(rows)
            is_share = np.full(n, block.soft.is_share)
            line, source = block.line[rows].astype(np.int64), np.full(n, block.source, np.int64)
            parts.append((codes(block.args[rows], sizes), block.soft.value[rows], is_share, source, line))
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        self.code, self.value, self.is_share, self.source, self.line = (column[order] for column in columns)

    def without_repeats(self, complain: Callable[[int, int], None]) -> Int64:
        """Rows of which each atom has one; the others are reported as pairs (earlier, later)."""
        again = np.flatnonzero(self.code[1:] == self.code[:-1]) + 1
        for row in again[:MOST_SHOWN].tolist():
            complain(row - 1, row)
        return all_but(len(self.code), again)


def with_shared_rest(
    predicate: Predicate, facts: Facts, is_share: Bool, sizes: tuple[int, ...], complain: Callable[[Int64, str, str], None]
) -> Facts:
    """Facts with a row for every open value of groups that probabilities were given for; unlisted ones share the rest.

    is_share: which facts are such probabilities. complain gets the codes of a group's soft facts, what is wrong, and advice.
    """
    assert facts.log_odds is not None
    code = codes(facts.args, sizes)
    group = group_of(facts.args, sizes, predicate.exclusive)
    groups = each_once(group[is_share])
    of_group = np.searchsorted(groups, group[is_share])
    total = np.bincount(of_group, np.exp(facts.log_odds[is_share]), minlength=len(groups))

    atoms = atoms_of_groups(groups, sizes, predicate.exclusive)
    at = np.minimum(np.searchsorted(code, atoms), len(code) - 1)
    is_listed = code[at] == atoms
    has_number = np.zeros(len(code), bool)
    has_number[is_share] = True
    is_free = ~is_listed | ((facts.truth[at] == UNKNOWN) & ~has_number[at])
    has_weight = (is_listed & ~has_number[at] & (facts.log_odds[at] != 0)).any(axis=1)
    n_free, rest = is_free.sum(axis=1), 1.0 - total
    wrong = has_weight | (rest < -TOLERANCE) | ((n_free == 0) & (rest > TOLERANCE))
    for row in np.flatnonzero(wrong)[:MOST_SHOWN].tolist():
        own = code[is_share][of_group == row]
        if has_weight[row]:
            complain(own, "some values of this group have probabilities, others weights", "give one kind for a whole group")
        else:
            left = "" if rest[row] < 0 else ", and no value is left to share the rest"
            complain(own, f"the probabilities of this group sum to {total[row]:.6g}{left}", "expected a sum of 1, or less")

    rest = np.maximum(rest, 0.0)
    with np.errstate(divide="ignore"):
        share = np.log(rest) - np.log(np.maximum(n_free, 1))
    new_code = atoms[is_free]
    new_share = np.broadcast_to(share[:, None], atoms.shape)[is_free]
    kept = ~np.isin(code, new_code)
    all_code = np.concatenate([code[kept], new_code])
    order = np.argsort(all_code, kind="stable")
    possible = np.isfinite(new_share)
    truth = np.concatenate([facts.truth[kept], np.where(possible, UNKNOWN, FALSE).astype(np.int8)])
    added = np.concatenate([facts.log_odds[kept], np.where(possible, new_share, 0.0)])
    return Facts(decode(all_code[order], sizes), truth[order], added[order])


def truth_and_weight(weight: Float64) -> Int8:
    """Truth of facts given by their weight: infinite ones are certain."""
    return np.where(np.isfinite(weight), SOFT, np.where(weight > 0, TRUE, FALSE)).astype(np.int8)


TRUTH_WORD = {FALSE: "false", TRUE: "true", UNKNOWN: "unknown", SOFT: "given as probable"}
PlaceOf = Callable[[int, int], Place]  # source and line → where that is


def assemble_facts(
    predicate: Predicate, blocks: Sequence[Block], domains: dict[str, Domain], place_of: PlaceOf, faults: FaultLog
) -> Facts:
    """All facts about one predicate."""
    sizes = tuple(len(domains[type_name]) for type_name in predicate.types)
    n_ground = check_atom_count(predicate.name, sizes)
    if predicate.is_real:
        return frozen(_numbered(predicate, SoftRows(blocks, sizes), sizes, domains, place_of, faults))
    # one sort of code and truth together; `check_atom_count` has seen that they fit
    key = np.concatenate([codes(block.args, sizes) * 4 + block.truth for block in blocks])
    if len(key) > 1 and not bool(np.all(key[1:] > key[:-1])):
        key = _sorted_distinct(key, 4 * n_ground)
    truth = (key & 3).astype(np.int8)
    code = key >> 2
    merged = Facts(decode(code, sizes), truth)  # soft facts are marked as such
    facts = Facts(merged.args, np.where(truth == SOFT, UNKNOWN, truth).astype(np.int8))

    contrary = np.flatnonzero(code[1:] == code[:-1])
    pairs = [(at, at + 1) for at in contrary.tolist()]
    if any(predicate.exclusive):
        pairs += [pair for pair in conflicts(facts, sizes, predicate.exclusive) if code[pair[0]] != code[pair[1]]]
    if pairs:
        _report(predicate, blocks, merged, pairs, sizes, domains, place_of, faults)
    elif any(block.soft is not None for block in blocks):
        facts = _with_soft(predicate, SoftRows(blocks, sizes), merged, facts, domains, place_of, faults)
    return frozen(facts)


def _numbered(
    predicate: Predicate,
    rows: SoftRows,
    sizes: tuple[int, ...],
    domains: dict[str, Domain],
    place_of: PlaceOf,
    faults: FaultLog,
) -> Facts:
    """The facts of a predicate that has numbers."""

    def repeated(early: int, late: int) -> None:
        if rows.value[early] == rows.value[late]:
            return
        text = _show(predicate, decode(rows.code[late : late + 1], sizes)[0].tolist(), domains)
        earlier = place_of(int(rows.source[early]), int(rows.line[early]))
        message = f"contradicting numbers: {text} has {rows.value[late]:g} here, and {rows.value[early]:g} at {earlier}"
        faults.add(Fault(message, place_of(int(rows.source[late]), int(rows.line[late])), hint="keep one of the two"))

    kept = rows.without_repeats(repeated)
    return Facts(decode(rows.code[kept], sizes), np.full(len(kept), TRUE, np.int8), None, rows.value[kept])


def _with_soft(
    predicate: Predicate,
    rows: SoftRows,
    merged: Facts,
    facts: Facts,
    domains: dict[str, Domain],
    place_of: PlaceOf,
    faults: FaultLog,
) -> Facts:
    """The facts with what soft ones among them add."""
    sizes = tuple(len(domains[type_name]) for type_name in predicate.types)
    exclusive = any(predicate.exclusive)

    def place(row: int) -> Place:
        return place_of(int(rows.source[row]), int(rows.line[row]))

    def repeated(early: int, late: int) -> None:
        numbers = [shown(float(rows.value[row]), bool(rows.is_share[row]), exclusive) for row in (early, late)]
        text = _show(predicate, decode(rows.code[late : late + 1], sizes)[0].tolist(), domains)
        if numbers[0] == numbers[1]:
            message = f"repeated soft evidence: {numbers[1]} for {text} stands at {place(early)} already"
            hint = "keep one; two independent observations are one fact whose log-odds are the sum of theirs"
        else:
            message = f"contradicting soft evidence: {text} has {numbers[1]} here, and {numbers[0]} at {place(early)}"
            hint = "keep one of the two"
        faults.add(Fault(message, place(late), hint=hint))

    kept = rows.without_repeats(repeated)
    is_soft = merged.truth == SOFT
    log_odds = np.zeros(len(merged))
    log_odds[is_soft] = rows.value[kept]
    facts = Facts(facts.args, facts.truth, log_odds)
    if not exclusive or not rows.is_share.any() or len(kept) < len(rows.code):
        return facts
    is_share = np.zeros(len(merged), bool)
    is_share[is_soft] = rows.is_share[kept]

    def wrong_group(own: Int64, message: str, hint: str) -> None:
        at = np.searchsorted(rows.code, own)
        last = int(at[np.lexsort((rows.line[at], rows.source[at]))][-1])
        text = _show(predicate, decode(rows.code[last : last + 1], sizes)[0].tolist(), domains)
        faults.add(Fault(f"soft evidence about {text}: {message}", place(last), hint=hint))

    return with_shared_rest(predicate, facts, is_share, sizes, wrong_group)


def _sorted_distinct(key: Int64, end: int) -> Int64:
    """The distinct keys, all below `end`, in ascending order."""
    if end <= 16 * len(key):  # many facts for few atoms: marking them is several times as fast as sorting
        seen = np.zeros(end, bool)
        seen[key] = True
        return np.flatnonzero(seen)
    key.sort()
    is_new = np.ones(len(key), bool)
    np.not_equal(key[1:], key[:-1], out=is_new[1:])
    return np.compress(is_new, key)


def _report(
    predicate: Predicate,
    blocks: Sequence[Block],
    facts: Facts,
    pairs: list[tuple[int, int]],
    sizes: tuple[int, ...],
    domains: dict[str, Domain],
    place_of: PlaceOf,
    faults: FaultLog,
) -> None:
    """One fault for each pair of facts that contradict each other, at the later one, naming the earlier one."""
    shown = pairs[:MOST_SHOWN]
    rows = sorted({row for pair in shown for row in pair})
    where = _first_places(blocks, facts, rows, sizes)
    for pair in shown:
        early, late = sorted(pair, key=lambda row: where[row])
        texts = [_show(predicate, facts.args[row].tolist(), domains) for row in (early, late)]
        words = [TRUTH_WORD[int(facts.truth[row])] for row in (early, late)]
        earlier = place_of(*where[early])
        if texts[0] == texts[1]:
            message = f"contradicting facts: {texts[1]} is {words[1]} here, and {words[0]} at {earlier}"
            hint = "keep one of the two"
        else:
            message = f"contradicting facts: {texts[1]} is {words[1]} here, and {texts[0]} is {words[0]} at {earlier}"
            marked = ", ".join(t + "!" * m for t, m in zip(predicate.types, predicate.exclusive, strict=True))
            hint = f"{predicate.name}({marked}) has exactly one true value in each group"
        faults.add(Fault(message, place_of(*where[late]), hint=hint))
    faults.count += len(pairs) - len(shown)


def _show(predicate: Predicate, args: Sequence[int], domains: dict[str, Domain]) -> str:
    if not args:
        return predicate.name
    names = (show_constant(domains[type_name].names[number]) for type_name, number in zip(predicate.types, args, strict=True))
    return f"{predicate.name}({','.join(names)})"


def _first_places(blocks: Sequence[Block], facts: Facts, rows: list[int], sizes: tuple[int, ...]) -> dict[int, tuple[int, int]]:
    """For each fact the source and line where it first stands."""
    wanted = codes(facts.args[rows], sizes) * 4 + facts.truth[rows]
    row_of: dict[int, int] = dict(zip(wanted.tolist(), rows, strict=True))
    found: dict[int, tuple[int, int]] = {}
    for block in blocks:
        key: Any = codes(block.args, sizes) * 4 + block.truth
        for at in np.flatnonzero(np.isin(key, wanted)).tolist():
            found.setdefault(row_of[int(key[at])], (block.source, int(block.line[at])))
    return found
