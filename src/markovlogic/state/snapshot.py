"""What was known when a state was written, by names, and which ground atoms are known differently now."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from markovlogic.data.arrow import utf8
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Domain, codes, decode
from markovlogic.problem import Problem, Statuses, with_statuses
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.problem.values import NumberedAtoms, SoftAtoms
from markovlogic.system.arrays import Bool, Int8, Int64, frozen, is_among, offsets
from markovlogic.system.checkpoint_validation import Restored


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A problem without its rules: constants, what is known of atoms, soft evidence and numbers."""

    rules: str  # a digest of the rules as they are grounded
    constants: Mapping[str, tuple[str, ...]]
    statuses: Mapping[str, Statuses]
    soft: Mapping[str, SoftAtoms]
    numbers: Mapping[str, NumberedAtoms]

    @staticmethod
    def of(prepared: PreparedProblem) -> Snapshot:
        """That of a problem as it is solved."""
        problem = prepared.problem
        constants = {name: domain.names for name, domain in problem.domains.items()}
        return Snapshot(rules_digest(prepared), constants, problem.statuses, problem.soft, problem.numbers)

    def problem_of(self, now: Problem) -> Problem:
        """The problem as it was, of the rules of `now`, without exclusive groups' soft evidence."""
        domains = {name: Domain(name, names) for name, names in self.constants.items()}
        evidence = replace(now.evidence, domains=domains, facts={})
        before = replace(now, evidence=evidence, query=(), soft={}, numbers=self.numbers)
        return with_statuses(before, dict(self.statuses))

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as arrays; names as one text for each type."""
        found: dict[str, np.ndarray] = {}
        for name, names in self.constants.items():
            whole, found[f"lengths.{name}"] = utf8(names)
            found[f"constants.{name}"] = np.frombuffer(whole, np.uint8)
        for name, own in self.statuses.items():
            found[f"code.{name}"], found[f"status.{name}"] = own.code, own.status
        for name, soft in self.soft.items():
            found[f"soft code.{name}"], found[f"soft.{name}"] = soft.code, soft.log_odds
        for name, numbered in self.numbers.items():
            found[f"number code.{name}"], found[f"number.{name}"] = numbered.code, numbered.number
        return found

    def facts(self) -> dict[str, Any]:
        """The rest of it."""
        return {
            "rules": self.rules,
            "types": list(self.constants),
            "statuses": {name: [list(own.sizes), own.default] for name, own in self.statuses.items()},
            "soft": list(self.soft),
            "numbers": list(self.numbers),
        }

    @staticmethod
    def restored(facts: Mapping[str, Any], arrays: Restored) -> Snapshot:
        """From what was saved; a ValueError where it makes no sense."""

        def column(name: str, dtype: Any) -> np.ndarray:
            return frozen(arrays.take(name, dtype, arrays.shape(name)))

        constants = {}
        for name in facts["types"]:
            text, end = column(f"constants.{name}", np.uint8).tobytes(), offsets(column(f"lengths.{name}", np.int64))
            if (np.diff(end) < 0).any() or end[-1] != len(text):
                raise ValueError(f"constants of {name} are cut short")
            pieces = list(zip(end[:-1].tolist(), end[1:].tolist(), strict=True))
            if text.isascii():
                whole = text.decode()
                constants[name] = tuple([whole[a:b] for a, b in pieces])
            else:
                constants[name] = tuple([text[a:b].decode() for a, b in pieces])
        statuses = {}
        for name, (sizes, default) in facts["statuses"].items():
            code, status = column(f"code.{name}", np.int64), column(f"status.{name}", np.int8)
            if len(code) != len(status) or default not in (FALSE, UNKNOWN) or (code[1:] <= code[:-1]).any():
                raise ValueError(f"statuses of {name} make no sense")
            statuses[name] = Statuses(name, tuple(map(int, sizes)), int(default), code, status)
        soft = {n: SoftAtoms(column(f"soft code.{n}", np.int64), column(f"soft.{n}", np.float64)) for n in facts["soft"]}
        numbers = {
            n: NumberedAtoms(column(f"number code.{n}", np.int64), column(f"number.{n}", np.float64)) for n in facts["numbers"]
        }
        return Snapshot(str(facts["rules"]), constants, statuses, soft, numbers)


def rules_digest(prepared: PreparedProblem) -> str:
    """A digest of the rules as they are grounded."""
    text = repr((prepared.lowered, sorted(prepared.problem.model.predicates)))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, eq=False)
class Atoms:
    """Some ground atoms of a predicate and what is known of them; sorted by code."""

    code: Int64
    status: Int8

    def unsatisfied(self, *, positive: bool) -> Int64:
        """Codes of those that leave a literal of this sign unsatisfied."""
        return np.asarray(self.code[self.status != (TRUE if positive else FALSE)], np.int64)


@dataclass(frozen=True, eq=False)
class Difference:
    """Where two snapshots differ: atoms as they are now and as they were, by predicate, and types that got or lost constants."""

    now: Mapping[str, Atoms]
    before: Mapping[str, Atoms]
    soft: Mapping[str, Int64]  # codes as they are now
    grown: frozenset[str]
    shrunk: frozenset[str]

    @property
    def size(self) -> int:
        """How many atoms differ."""
        return sum(len(own.code) for side in (self.now, self.before) for own in side.values())

    @property
    def is_nothing(self) -> bool:
        """Whether all is as it was."""
        return not (self.size or self.soft or self.grown or self.shrunk)


def difference(before: Snapshot, prepared: PreparedProblem) -> Difference | None:
    """What is known differently; None where a predicate went from closed to open or back, so that nearly all atoms differ."""
    problem = prepared.problem
    number, back = {}, {}  # of the old constants of each type now, and the other way round
    grown, shrunk = set(), set()
    for name, domain in problem.domains.items():
        old = before.constants.get(name, ())
        number[name] = domain.numbers(old)
        back[name] = np.full(len(domain), -1, np.int64)
        back[name][number[name][number[name] >= 0]] = np.flatnonzero(number[name] >= 0)
        if (back[name] < 0).any():
            grown.add(name)
        if (number[name] < 0).any():
            shrunk.add(name)
    now_atoms, before_atoms = {}, {}
    for name, own in problem.statuses.items():
        old_one, types = before.statuses.get(name), problem.model.predicates[name].types
        if old_one is None or old_one.default != own.default:
            return None
        moved, exists = _moved(old_one.code, old_one.sizes, own.sizes, [number[t] for t in types])
        there, existed = _moved(own.code, own.sizes, old_one.sizes, [back[t] for t in types])
        differs_now = ~existed | (old_one.lookup(there) != own.status)
        differs_before = ~exists | (own.lookup(moved) != old_one.status)
        changed_number = _numbers_changed(before.numbers.get(name), problem.numbers.get(name), own.sizes, types, number)
        if changed_number is not None:
            differs_now |= is_among(own.code, changed_number)
            differs_before |= exists & is_among(moved, changed_number)
        # atoms that only one side lists have the default on the other side
        now_atoms[name] = _atoms(own.code[differs_now], own.status[differs_now], moved[differs_before & exists], own)
        before_atoms[name] = _atoms(
            old_one.code[differs_before], old_one.status[differs_before], there[differs_now & existed], old_one
        )
    soft = {}
    for name in before.soft.keys() | problem.soft.keys():
        changed = _soft_changed(before.soft.get(name), problem.soft.get(name), before, problem, name, number)
        if len(changed):
            soft[name] = changed
    return Difference(_some(now_atoms), _some(before_atoms), soft, frozenset(grown), frozenset(shrunk))


def _some(atoms: Mapping[str, Atoms]) -> dict[str, Atoms]:
    return {name: own for name, own in atoms.items() if len(own.code)}


def _moved(code: Int64, sizes: tuple[int, ...], to: tuple[int, ...], number: list[np.ndarray]) -> tuple[Int64, Bool]:
    """Codes of the same atoms where constants have other numbers, and which of them exist there."""
    args = decode(code, sizes)
    moved = np.empty(args.shape, np.int64)
    for position, own in enumerate(number):
        moved[:, position] = own[args[:, position]] if len(own) else -1
    exists: Bool = np.asarray((moved >= 0).all(axis=1), np.bool_)
    moved[~exists] = 0
    return codes(moved, to), exists


def _atoms(code: Int64, status: Int8, others: Int64, statuses: Statuses) -> Atoms:
    """Listed atoms that differ, and those that only the other side lists."""
    others = others[~is_among(others, np.sort(code))]
    every = np.concatenate([code, others])
    order = np.argsort(every, kind="stable")
    return Atoms(every[order], np.concatenate([status, statuses.lookup(others)])[order])


def _numbers_changed(
    old: NumberedAtoms | None,
    new: NumberedAtoms | None,
    sizes: tuple[int, ...],
    types: tuple[str, ...],
    number: Mapping[str, np.ndarray],
) -> Int64 | None:
    """Codes, as they are now, of atoms with another number than before."""
    if old is None or new is None or not len(old.code) or not len(new.code):
        return None
    old_sizes = tuple(len(number[name]) for name in types)
    moved, exists = _moved(old.code, old_sizes, sizes, [number[name] for name in types])
    at = np.minimum(np.searchsorted(new.code, moved), len(new.code) - 1)
    differs = exists & (new.code[at] == moved) & (new.number[at] != old.number)
    return np.sort(moved[differs])


def _soft_changed(
    old: SoftAtoms | None,
    new: SoftAtoms | None,
    before: Snapshot,
    problem: Problem,
    name: str,
    number: Mapping[str, np.ndarray],
) -> Int64:
    """Codes, as they are now, of atoms whose soft evidence is another one."""
    none = SoftAtoms(np.zeros(0, np.int64), np.zeros(0))
    old, new = old or none, new or none
    types, sizes = problem.model.predicates[name].types, problem.statuses[name].sizes
    moved, exists = _moved(old.code, before.statuses[name].sizes, sizes, [number[t] for t in types])
    moved, odds = moved[exists], old.log_odds[exists]
    order = np.argsort(moved, kind="stable")
    moved, odds = moved[order], odds[order]
    every = np.union1d(moved, new.code)

    def at(code: Int64, value: np.ndarray) -> np.ndarray:
        found = np.zeros(len(every))
        found[np.searchsorted(every, code)] = value
        return found

    return np.asarray(every[at(moved, odds) != at(new.code, new.log_odds)], np.int64)
