"""From groups of objects to a network of blocks: rows are clauses over groups, with what the evidence says of each block."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf
from typing import Any

import numpy as np

from markovlogic.compression.block_rows import Rows, SummedRows
from markovlogic.compression.block_states import BlockStates, Reading
from markovlogic.compression.partition import Partition
from markovlogic.compression.shares import Blocks, Numbering
from markovlogic.compression.summing_out import add_summed, independent
from markovlogic.errors import Fault, UnsupportedError
from markovlogic.guarantee import Guarantee
from markovlogic.networks.counts import BlockNetwork
from markovlogic.networks.ground import signed_atom_rows
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.problem.query import queried_predicates
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, frozen, offsets
from markovlogic.system.cancellation import check


def block_network(prepared: PreparedProblem, partition: Partition, reading: Reading, *, proposes: bool = False) -> BlockNetwork:
    """The network; refuses hard rules, exclusive groups and quantifiers, with the rule's place.

    proposes: it is the true model that judges, so that hard rules and quantifiers are left to that; exclusive groups are not.
    """
    problem, templates = prepared.problem, prepared.lowered.templates
    if proposes:
        there = problem.statuses
        templates = tuple(t for t in templates if not isinf(t.weight) and all(x.predicate in there for x in t.literals))
    mentioned = {literal.predicate for template in templates for literal in template.literals}
    mentioned |= set(problem.statuses) if proposes else set()  # every atom is to be proposed
    queried = set(queried_predicates(problem.query)) or mentioned  # without a query all are
    _refuse(prepared, mentioned | queried, proposes=proposes)
    blocks = Blocks(problem, partition, split=reading.split)
    numbering = Numbering(blocks, tuple(name for name in problem.statuses if name in mentioned | queried))
    states = BlockStates.of(numbering, reading)
    rows = Rows(problem, partition, numbering, states, reading)
    summed = independent(problem, templates) if reading.sums_out and not proposes else []
    gone = {own.predicate for own in summed}
    for template in templates:
        check()
        if not any(literal.predicate in gone for literal in template.literals):
            rows.add(template)
    summed_rows = [part for own in summed for part in add_summed(rows, own, reported=own.predicate in queried)]
    start, literal, weight = rows.merged()
    has_count = np.repeat([array.predicate not in gone for array in numbering.arrays], np.diff(numbering.start))
    shown = has_count & (states.reported | (np.bincount(literal >> 1, minlength=len(states.size)) > 0))
    number = np.full(len(shown), -1, np.int64)
    number[shown] = np.arange(np.count_nonzero(shown))
    summary_of = np.flatnonzero(~has_count & states.reported & (len(summed_rows) > 0))
    number[summary_of] = np.count_nonzero(shown) + np.arange(len(summary_of))
    literal = (2 * number[literal >> 1] + (literal & 1)).astype(np.int32)
    of_atom = np.zeros(len(problem.atoms), np.int32)  # of atoms outside the query: never read, and may be many
    for name in numbering.predicates:
        own = problem.atoms.range_of(name)
        if len(own) and (proposes or name in queried):
            of_atom[own.start : own.stop] = number[numbering.of_atoms(name, problem.atoms.codes(name))]
    forms = _forms(start, literal, weight, int(shown.sum()))
    known = numbering.joined([array.true + array.false for array in numbering.arrays])[shown]
    true = numbering.joined([array.true for array in numbering.arrays])[shown]
    size = np.maximum(states.size[shown], 1)
    scale = 1.0 / size if reading.weights == "field" else np.ones(len(size))
    kept = Guarantee.EXACT if not partition.merges or rows.exact else Guarantee.UNBOUNDED
    return frozen(
        BlockNetwork(
            n_atoms=len(problem.atoms),
            of_atom=of_atom,
            base=states.base[shown],
            step=states.step[shown],
            most=states.most[shown],
            scale=scale,
            alone=reading.weights == "field" and partition.merges,
            row_start=start,
            row_literal=literal,
            row_weight=weight,
            **forms,
            evidence=known / size,
            known_true=np.where(known > 0, true / np.maximum(known, 1), 0.5),
            guarantee=kept,
            **_reported_forms(summed_rows, number, int(shown.sum()), len(summary_of)),
        )
    )


def _reported_forms(summed_rows: Sequence[SummedRows], number: Int64, n_blocks: int, n_summed: int) -> dict[str, Any]:
    """Rows that describe atoms without counts, block by block; number: of blocks among those that are shown, then these."""
    if not n_summed:
        return {}
    block = np.concatenate([part.block for part in summed_rows])
    width = max(part.literal.shape[1] for part in summed_rows)
    literal = np.concatenate(
        [np.pad(part.literal, ((0, 0), (0, width - part.literal.shape[1])), constant_values=-1) for part in summed_rows]
    )
    weight = np.concatenate([part.weight for part in summed_rows])
    unit = number[block] - n_blocks
    order = np.argsort(unit, kind="stable")
    order = order[unit[order] >= 0]  # blocks without an open atom have nothing to show
    unit, literal, weight = unit[order], literal[order], weight[order]
    held = literal >= 0
    return {
        "summed_start": offsets(np.bincount(unit, minlength=n_summed)),
        "summed_row_start": offsets(held.sum(axis=1)),
        "summed_literal": (2 * number[literal[held] >> 1] + (literal[held] & 1)).astype(np.int32),
        "summed_weight": weight,
    }


def _refuse(prepared: PreparedProblem, names: set[str], *, proposes: bool) -> None:
    """What blocks have no place for."""
    problem, lowered = prepared.problem, prepared.lowered
    hint = "take propose=exchange" if proposes else "take weights=literal, which every rule allows"
    for rule in () if proposes else (problem.model.rules[d.rule] for d in lowered.definitions):
        raise UnsupportedError(Fault(f"blocks do not support a quantifier inside a rule: {rule.text}", rule.place, hint=hint))
    for template in () if proposes else lowered.templates:
        if isinf(template.weight):
            rule = problem.model.rules[template.rule]
            raise UnsupportedError(Fault(f"blocks have no place for a hard rule: {rule.text}", rule.place, hint=hint))
    for group in (group for group in problem.groups if group.predicate in names):
        own = problem.model.predicates[group.predicate]
        raise UnsupportedError(Fault(f"blocks have no place for the exclusive arguments of {own.name}", own.place, hint=hint))


def _forms(start: Int64, literal: Int32, weight: Float64, n_blocks: int) -> dict[str, Any]:
    """Rows as kernels read them: short ones as a bilinear form in shares, for the others the blocks that they hold."""
    length, first = np.diff(start), literal[start[:-1]]
    sign = np.where(first & 1, -1.0, 1.0)  # falsity is 1 − share for a positive literal, share for a negative one
    linear = np.zeros(n_blocks)
    single = length == 1
    np.add.at(linear, first[single] >> 1, sign[single] * weight[single])
    two = np.flatnonzero(length == 2)
    one, other = literal[start[two]], literal[start[two] + 1]
    two, one, other = (part[one >> 1 != other >> 1] for part in (two, one, other))
    parts = []
    for own, beside in ((one, other), (other, one)):
        turn = np.where(own & 1, -1.0, 1.0) * weight[two]
        np.add.at(linear, own >> 1, np.where(beside & 1, turn, 0.0))
        parts.append((own >> 1, beside >> 1, np.where(beside & 1, -turn, turn)))
    block, near, value = (np.concatenate([part[i] for part in parts]) for i in range(3))
    code, place = np.unique(block.astype(np.int64) * n_blocks + near, return_inverse=True)
    total = np.bincount(place.reshape(-1), value, minlength=len(code))
    block, near = np.divmod(code, max(n_blocks, 1))
    longer = np.ones(len(length), np.bool_)
    longer[single] = False
    longer[two] = False
    block_start, block_row = _rows_of_blocks(start, literal, n_blocks, longer)
    return {
        "linear": linear,
        "near_start": offsets(np.bincount(block, minlength=n_blocks)),
        "near_block": near.astype(np.int32),
        "near_weight": total,
        "block_start": block_start,
        "block_row": block_row,
    }


def _rows_of_blocks(start: Int64, literal: Int32, n_blocks: int, kept: Bool) -> tuple[Int64, Int32]:
    """For each block the rows that hold it, each once."""
    first, row, _ = signed_atom_rows(start, literal, n_blocks)
    block = np.repeat(np.arange(n_blocks), np.diff(first))
    again = ~kept[row]
    again[1:] |= (row[1:] == row[:-1]) & (block[1:] == block[:-1])
    return offsets(np.bincount(block[~again], minlength=n_blocks)), row[~again]
