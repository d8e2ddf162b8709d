"""Keys of atoms and digests of components, made of names: they stay the same when numbers of constants and atoms change.

A key is two 64-bit hashes. A digest adds up the hashes of what a component consists of, so that order does not matter; two
different components share one with a probability of about 2^-128.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from markovlogic.data.arrow import utf8
from markovlogic.data.evidence import decode
from markovlogic.networks.components import Components
from markovlogic.networks.ground import GroundNetwork
from markovlogic.problem import Problem
from markovlogic.system.arrays import Float64, Int32, Int64, UInt64, offsets

TEXTS_AT_ONCE = 1 << 16
DECIMALS = 11  # of a weight that count; the order in which weights are added up may change those beyond
_ODD = (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SIGN, _CLAUSE, _GROUP, _HIDDEN, _BIAS = (np.uint64(0xA24BAED4963EE407 * k % 2**64) for k in (1, 3, 5, 7, 9))


def mixed(x: UInt64) -> UInt64:
    """Each number as another one whose bits depend on all of its bits."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


def text_keys(texts: Sequence[str]) -> UInt64:
    """(n, 2) the key of each text: the sum of the hashes of its bytes, each with its place."""
    found = np.zeros((len(texts), 2), np.uint64)
    for begin in range(0, len(texts), TEXTS_AT_ONCE):
        whole, length = utf8(texts[begin : begin + TEXTS_AT_ONCE])
        start = offsets(length)
        byte = np.frombuffer(whole, np.uint8).astype(np.uint64)
        place = (np.arange(len(byte)) - np.repeat(start[:-1], np.diff(start))).astype(np.uint64)
        for lane, odd in enumerate(_ODD):
            own = mixed(mixed(place + np.uint64(odd)) + byte)
            found[begin : begin + len(length), lane] = mixed(row_sums(own, start) + np.diff(start).astype(np.uint64))
    return found


class ConstantKeys:
    """Keys of the constants of each type, made when they are first needed; like: those of a problem with many of the same."""

    def __init__(self, problem: Problem, like: ConstantKeys | None = None) -> None:
        self.problem, self.like = problem, like
        self._of_type: dict[str, UInt64] = {}

    def of_type(self, type_name: str) -> UInt64:
        """(n_constants, 2)."""
        found = self._of_type.get(type_name)
        if found is None:
            found = self._of_type[type_name] = self._new(type_name)
        return found

    def _new(self, type_name: str) -> UInt64:
        names = self.problem.domains[type_name].names
        if self.like is None or type_name not in self.like.problem.domains:
            return text_keys(names)
        number = self.like.problem.domains[type_name].numbers(names)
        known = number >= 0
        found = np.empty((len(names), 2), np.uint64)
        found[known] = self.like.of_type(type_name)[number[known]]
        if not known.all():
            found[~known] = text_keys([names[n] for n in np.flatnonzero(~known).tolist()])
        return found

    def of_codes(self, predicate: str, code: Int64) -> UInt64:
        """(n, 2) keys of a predicate's atoms, open or not."""
        args = decode(code, self.problem.statuses[predicate].sizes)
        key = np.repeat(text_keys([predicate]), len(code), axis=0)
        for position, type_name in enumerate(self.problem.model.predicates[predicate].types):
            own = self.of_type(type_name)[args[:, position]]
            key = np.column_stack([mixed(key[:, lane] * np.uint64(_ODD[lane]) + own[:, lane]) for lane in (0, 1)])
        return key

    def of_open_atoms(self) -> UInt64:
        """(n_atoms, 2) keys of all open atoms of the problem, by number."""
        atoms = self.problem.atoms
        parts = [self.of_codes(name, atoms.codes(name)) for name in atoms.predicates]
        return np.concatenate([np.zeros((0, 2), np.uint64), *parts])

    def of_some(self, numbers: Int64) -> UInt64:
        """(n, 2) keys of some open atoms, by increasing numbers."""
        atoms, parts = self.problem.atoms, [np.zeros((0, 2), np.uint64)]
        for name in atoms.predicates:
            own = atoms.range_of(name)
            begin, end = np.searchsorted(numbers, (own.start, own.stop))
            parts.append(self.of_codes(name, self.problem.statuses[name].unrank(numbers[begin:end] - own.start)))
        return np.concatenate(parts)


def component_digests(network: GroundNetwork, parts: Components, atom_keys: UInt64) -> UInt64:
    """(n_components, 2) what each component is, by names: its atoms with biases, clauses with weights, and exclusive groups."""
    return np.column_stack([_digests(network, parts, atom_keys[:, lane]) for lane in (0, 1)])


def _digests(network: GroundNetwork, parts: Components, atom_key: UInt64) -> UInt64:
    clause = parts.component_of[network.clause_literal[network.clause_start[:-1]] >> 1]
    return mixed(atom_and_clause_sums(network, atom_key, parts.component_of, clause, parts.n_components)[1])


def atom_and_clause_sums(
    network: GroundNetwork, atom_key: UInt64, of_atom: Int32, of_clause: Int32, n_parts: int
) -> tuple[UInt64, UInt64]:
    """Keys of all atoms, and (n_parts,) sums of the hashes of atoms with biases, clauses with weights, and exclusive groups.

    of_atom, of_clause: the part of each.
    """
    key = _with_hidden(network, atom_key)
    atoms = mixed(key + mixed(weight_bits(network.atom_bias) + _BIAS))
    clauses = mixed(clause_keys(network, key) + mixed(weight_bits(network.clause_weight) + _CLAUSE))
    groups = mixed(row_sums(mixed(key[network.group_atom]), network.group_start) + _GROUP)
    owner = of_atom[network.group_atom[network.group_start[:-1]]]
    total = np.zeros(n_parts, np.uint64)
    for part, value in ((of_atom, atoms), (of_clause, clauses), (owner, groups)):
        order = np.argsort(part, kind="stable")
        total += row_sums(value[order], offsets(np.bincount(part, minlength=n_parts)))
    return key, total


def clause_keys(network: GroundNetwork, key: UInt64) -> UInt64:
    """(n_clauses,) of what each clause says, without its weight; key: of all atoms."""
    return row_sums(_literal_keys(key, network.clause_literal), network.clause_start)


def _with_hidden(network: GroundNetwork, key: UInt64) -> UInt64:
    """Keys of all atoms; a hidden one is named after its definition, which may mention hidden ones before it."""
    if not network.n_hidden:
        return key
    start, literal = network.definition_start, network.definition_literal
    found = np.concatenate([key, np.zeros(network.n_hidden, np.uint64)])
    known = np.zeros(network.n_all, np.bool_)
    known[: network.n_atoms] = True
    while not known.all():
        left = np.flatnonzero(~known) - network.n_atoms
        unknown = np.concatenate([[0], np.cumsum(~known[literal >> 1])])
        ready = left[unknown[start[left + 1]] == unknown[start[left]]]
        sums = row_sums(_literal_keys(found, literal), start)[ready]
        found[network.n_atoms + ready] = mixed(sums + _HIDDEN)
        known[network.n_atoms + ready] = True
    return found


def _literal_keys(key: UInt64, literal: Int32) -> UInt64:
    return mixed(key[literal >> 1] + (literal & 1).astype(np.uint64) * _SIGN)


def weight_bits(weight: Float64) -> UInt64:
    """Each weight as a number, without the decimals that do not count."""
    rounded: UInt64 = (np.round(weight, DECIMALS) + 0.0).view(np.uint64)
    return rounded


def row_sums(value: UInt64, start: Int64) -> UInt64:
    """The sum of each row, modulo 2^64."""
    before = np.concatenate([np.zeros(1, np.uint64), np.cumsum(value, dtype=np.uint64)])
    found: UInt64 = before[start[1:]] - before[start[:-1]]
    return found
