"""Blocks of facts → `Facts`: sorted, repeats dropped, contradictions found and named with both their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from markovlogic.arrays import Int64, frozen
from markovlogic.data.blocks import Block
from markovlogic.data.domains import Domain
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Facts, check_atom_count, codes, decode
from markovlogic.data.exclusive import conflicts
from markovlogic.data.faults import FaultLog
from markovlogic.errors import MOST_SHOWN, Fault, Place
from markovlogic.language.syntax import Predicate, show_constant

TRUTH_WORD = {FALSE: "false", TRUE: "true", UNKNOWN: "unknown"}
PlaceOf = Callable[[int, int], Place]  # source and line → where that is


def assemble_facts(
    predicate: Predicate, blocks: Sequence[Block], domains: dict[str, Domain], place_of: PlaceOf, faults: FaultLog
) -> Facts:
    """All facts about one predicate."""
    sizes = tuple(len(domains[type_name]) for type_name in predicate.types)
    n_ground = check_atom_count(predicate.name, sizes)
    # one sort of code and truth together; `check_atom_count` has seen that they fit
    key = np.concatenate([codes(block.args, sizes) * 4 + block.truth for block in blocks])
    if len(key) > 1 and not bool(np.all(key[1:] > key[:-1])):
        key = _sorted_distinct(key, 4 * n_ground)
    truth = (key & 3).astype(np.int8)
    code = key >> 2
    facts = frozen(Facts(decode(code, sizes), truth))

    contrary = np.flatnonzero(code[1:] == code[:-1])
    pairs = [(at, at + 1) for at in contrary.tolist()]
    if any(predicate.exclusive):
        pairs += [pair for pair in conflicts(facts, sizes, predicate.exclusive) if code[pair[0]] != code[pair[1]]]
    if pairs:
        _report(predicate, blocks, facts, pairs, sizes, domains, place_of, faults)
    return facts


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
