"""Clauses of seven to 24 literals for the Gibbs kernels: each has four or eight words that its atoms share.

A row that lists the other literals of a clause costs k - 1 looks a visit. Here literal j belongs to part j mod 4, and each part
has the word of the chains in which one of its literals is true. The clause hinges on an atom where the literals of the atom's own
part and the words of the other parts are false: at most 3 + 3 looks. After the draw the word of the own part is written anew.
From 17 literals on there are eight parts, whose words are one cache line: at most 2 + 7 looks. Below seven literals there are two
or three parts. Only for soft clauses whose atoms are all plain (`gibbs_storage`); any scan.

The entries of an atom lie together: in `code` 2 · place of the own part's word + sign of the literal; in `detail` a header
(number of its first code; number of entries of each kind), then for each entry the fixed-point weight as in `gibbs_rows` and the
partners, the other literals of the own part. The kinds are (words, partners) = (4, 0), (4, 1), (4, 2), (4, 3), (8, 2). A
part that is smaller than the largest part of its clause names a partner twice, unless it has none.
"""

from typing import NamedTuple

import numpy as np

from markovlogic.kernels.gibbs_general import literal_word
from markovlogic.kernels.gibbs_rows import put_weight
from markovlogic.kernels.gibbs_storage import IN_PARTS, PARTS_TO, Clauses, clauses_kept
from markovlogic.kernels.internal import called, inlined, internal
from markovlogic.kernels.vectors import add_weight, prefetch_once, prefetch_to_write

FEW, MANY = 4, 8  # words of a clause
FEW_TO = 16  # literals: with four parts
KINDS = 5
PARTNERS = np.array([0, 1, 2, 3, 2])  # of each kind
HEADER = 1 + KINDS
AHEAD = 48  # entries ahead of the present one whose words are asked for
DETAIL_AHEAD, CODE_AHEAD = 256, 192  # words of 32 bits, the same for the entries themselves
CACHE_LINE = 8  # words of 64 bits
ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN = (np.uint64(value) for value in range(1, 8))
assert FEW_TO == FEW * (3 + 1) and PARTS_TO == MANY * (2 + 1)


class PartedClauses(NamedTuple):
    """The clauses in parts, and what each atom needs to know of its own."""

    clause: np.ndarray  # (n_parted,) int32, those of eight words first
    place: np.ndarray  # (n_parted + 1,) int64, where the words of each begin, and the number of all words
    start: np.ndarray  # (n_atoms,) int64, where the header of an atom is in `detail`, -1 without one; (0,) without such clauses
    code: np.ndarray  # (n_entries + AHEAD,) uint32
    detail: np.ndarray  # (words,) uint32
    most: int  # entries of the atom that has most


def parted_clauses(clauses: Clauses, storage: np.ndarray, scale: np.ndarray) -> PartedClauses:
    """Lay out the clauses in parts; scale: (n_atoms,) as `gibbs_rows.scale_rows` gives it."""
    clause = clauses_kept(clauses, storage, IN_PARTS)
    n_words = np.where(np.diff(clauses.start)[clause] > FEW_TO, MANY, FEW)
    order = np.argsort(-n_words, kind="stable")
    clause, place = clause[order], np.concatenate([np.zeros(1, np.int64), np.cumsum(n_words[order])])
    nothing, no_words = np.zeros(0, np.int64), np.zeros(0, np.uint32)
    if not len(clause):
        return PartedClauses(clause, place, nothing, no_words, no_words, 0)
    tally = np.zeros((len(scale), KINDS), np.int64)
    _list_entries(clauses, clause, place, scale, tally, tally, no_words, no_words)
    number = tally.sum(axis=1)
    words = tally * (1 + PARTNERS)  # of each kind's details
    room = np.where(number > 0, HEADER + words.sum(axis=1), 0)
    start = np.where(number > 0, np.cumsum(room) - room, -1)
    first = np.cumsum(number) - number
    detail = np.zeros(int(room.sum()), np.uint32)
    own = np.flatnonzero(number)
    detail[start[own]] = first[own]
    detail[start[own, None] + 1 + np.arange(KINDS)] = tally[own]
    code = np.zeros(int(number.sum()) + AHEAD, np.uint32)
    to_code = first[:, None] + np.cumsum(tally, axis=1) - tally
    to_detail = (start + HEADER)[:, None] + np.cumsum(words, axis=1) - words
    _list_entries(clauses, clause, place, scale, to_code, to_detail, code, detail)
    return PartedClauses(clause, place, start, code, detail, int(number.max()))


def words_for(parted: PartedClauses) -> np.ndarray:
    """Room for the parts' words, uint64 that begin with a cache line."""
    n_words = int(parted.place[-1])
    room = np.empty(n_words + CACHE_LINE, np.uint64)
    skipped = -(room.ctypes.data // room.itemsize) % CACHE_LINE
    return room[skipped : skipped + n_words]


@internal
def _number_of_parts(length):
    if length > FEW_TO:
        return MANY
    return FEW if length >= 7 else length // 2


@called
def _list_entries(clauses, parted, place, scale, to_code, to_detail, code, detail):
    """Count (when `code` is empty) or write the entries; to_code, to_detail: (n_atoms, KINDS), counts or where to write."""
    for index in range(parted.shape[0]):
        clause = parted[index]
        begin, end = clauses.start[clause], clauses.start[clause + 1]
        parts = _number_of_parts(end - begin)
        partners = (end - begin + parts - 1) // parts - 1  # in the largest part
        for at in range(begin, end):
            literal = clauses.literal[at]
            atom = literal >> 1
            part = (at - begin) % parts
            single = begin + part + parts >= end
            kind = 0 if single else KINDS - 1 if parts == MANY else partners
            if code.shape[0] == 0:
                to_code[atom, kind] += 1
                continue
            code[to_code[atom, kind]] = 2 * (place[index] + part) + (literal & 1)
            to_code[atom, kind] += 1
            fixed = np.rint((2 * (literal & 1) - 1) * clauses.weight[clause] / np.float64(scale[atom]))
            to = put_weight(detail, to_detail[atom, kind], fixed, False)
            partner = at
            for _ in range(0 if single else partners):
                partner = partner + parts if partner + parts < end else begin + part
                if partner == at:  # a smaller part: begin again
                    partner = at + parts if at + parts < end else begin + part
                detail[to] = clauses.literal[partner]
                to += 1
            to_detail[atom, kind] = to


@internal
def fill_parts(parted, clause_start, clause_literal, world, words):
    """Compute the words of all clauses in parts."""
    for index in range(parted.clause.shape[0]):
        begin, end = clause_start[parted.clause[index]], clause_start[parted.clause[index] + 1]
        parts = _number_of_parts(end - begin)
        first = parted.place[index]
        for word in range(first, parted.place[index + 1]):
            words[word] = np.uint64(0)
        part = 0
        for at in range(begin, end):
            words[first + part] |= literal_word(world, clause_literal[at])
            part = part + 1 if part + 1 < parts else 0


@internal
def _others_of_four(code, words):
    place = np.uint64(code) >> ONE
    return words[place ^ ONE] | words[place ^ TWO] | words[place ^ THREE]


@internal
def _others_of_eight(code, words):
    place = np.uint64(code) >> ONE
    near = words[place ^ ONE] | words[place ^ TWO] | words[place ^ THREE]
    return near | (words[place ^ FOUR] | words[place ^ FIVE]) | (words[place ^ SIX] | words[place ^ SEVEN])


@internal
def _two_partners(detail, at, world):
    return literal_word(world, detail[at]) | literal_word(world, detail[at + ONE])


@internal
def _three_partners(detail, at, world):
    return literal_word(world, detail[at]) | literal_word(world, detail[at + ONE]) | literal_word(world, detail[at + TWO])


@inlined
def _ask(code, entry, detail, place, words, ahead):
    """Ask for the words of the entry that is `ahead`, and for the entries themselves."""
    prefetch_to_write(words, np.uint64(code[entry + ahead]) >> ONE)
    prefetch_once(detail, place + np.uint64(DETAIL_AHEAD))
    prefetch_once(code, entry + np.uint64(CODE_AHEAD))


@inlined
def add_parted(total, code, detail, at, world, words, own, ahead):
    """Add to int32 lanes the weights of an atom's clauses in parts, where they hinge on it.

    code, detail: of PartedClauses; at: where the atom's header is in `detail`; own: (parted.most,) uint64, filled with what
    `write_parts` needs; ahead: AHEAD in a scan in order, to fetch the words of the atoms that follow while this one is at work;
    else 0.
    """
    first = np.uint64(detail[at])
    place = at + np.uint64(HEADER)
    entry = np.uint64(0)
    for _ in range(detail[at + ONE]):
        prefetch_to_write(words, np.uint64(code[first + entry + ahead]) >> ONE)
        own[entry] = np.uint64(0)
        total = add_weight(total, ~_others_of_four(code[first + entry], words), detail, place)
        place += ONE
        entry += ONE
    for _ in range(detail[at + TWO]):
        _ask(code, first + entry, detail, place, words, ahead)
        part = literal_word(world, detail[place + ONE])
        own[entry] = part
        total = add_weight(total, ~(part | _others_of_four(code[first + entry], words)), detail, place)
        place += TWO
        entry += ONE
    for _ in range(detail[at + THREE]):
        _ask(code, first + entry, detail, place, words, ahead)
        part = _two_partners(detail, place + ONE, world)
        own[entry] = part
        total = add_weight(total, ~(part | _others_of_four(code[first + entry], words)), detail, place)
        place += THREE
        entry += ONE
    for _ in range(detail[at + FOUR]):
        _ask(code, first + entry, detail, place, words, ahead)
        part = _three_partners(detail, place + ONE, world)
        own[entry] = part
        hinging = ~(part | _others_of_four(code[first + entry], words))
        if hinging != 0:  # rare in so long a clause
            total = add_weight(total, hinging, detail, place)
        place += FOUR
        entry += ONE
    for _ in range(detail[at + FIVE]):
        _ask(code, first + entry, detail, place, words, ahead)
        part = _two_partners(detail, place + ONE, world)
        own[entry] = part
        hinging = ~(part | _others_of_eight(code[first + entry], words))
        if hinging != 0:  # rare in so long a clause
            total = add_weight(total, hinging, detail, place)
        place += THREE
        entry += ONE
    return total


@inlined
def write_parts(code, detail, at, value, words, own):
    """After the draw: write the words of the atom's parts; own: from `add_parted`."""
    first = np.uint64(detail[at])
    number = detail[at + ONE] + detail[at + TWO] + detail[at + THREE] + detail[at + FOUR] + detail[at + FIVE]
    for entry in range(np.uint64(number)):
        literal = np.uint64(code[first + entry])
        words[literal >> ONE] = own[entry] | (value ^ ((literal & ONE) - ONE))
