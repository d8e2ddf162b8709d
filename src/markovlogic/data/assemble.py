"""Blocks of facts → `Facts`: sorted, repeats dropped, contradictions found and named with both their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from markovlogic.data.blocks import Block
from markovlogic.data.domains import Domain
from markovlogic.data.evidence import FALSE, SOFT, TRUE, UNKNOWN, Facts, check_atom_count, codes, decode
from markovlogic.data.exclusive import conflicts
from markovlogic.data.faults import FaultLog
from markovlogic.data.soft import SoftRows, shown, with_shared_rest
from markovlogic.errors import MOST_SHOWN, Fault, Place
from markovlogic.language.syntax import Predicate, show_constant
from markovlogic.system.arrays import Int64, frozen

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
    said = Facts(decode(code, sizes), truth)  # soft facts are marked as such
    facts = Facts(said.args, np.where(truth == SOFT, UNKNOWN, truth).astype(np.int8))

    contrary = np.flatnonzero(code[1:] == code[:-1])
    pairs = [(at, at + 1) for at in contrary.tolist()]
    if any(predicate.exclusive):
        pairs += [pair for pair in conflicts(facts, sizes, predicate.exclusive) if code[pair[0]] != code[pair[1]]]
    if pairs:
        _report(predicate, blocks, said, pairs, sizes, domains, place_of, faults)
    elif any(block.soft is not None for block in blocks):
        facts = _with_soft(predicate, SoftRows(blocks, sizes), said, facts, domains, place_of, faults)
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
    said: Facts,
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
    is_soft = said.truth == SOFT
    log_odds = np.zeros(len(said))
    log_odds[is_soft] = rows.value[kept]
    facts = Facts(facts.args, facts.truth, log_odds)
    if not exclusive or not rows.is_share.any() or len(kept) < len(rows.code):
        return facts
    is_share = np.zeros(len(said), bool)
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
