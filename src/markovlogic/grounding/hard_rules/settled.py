"""The statuses of a problem while hard rules decide more and more of them; and who decided what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, atoms_of_groups, decode, group_of, n_values
from markovlogic.problem import Problem, Statuses
from markovlogic.system.arrays import Int64, each_once, frozen, is_among


@dataclass(frozen=True)
class Decider:
    """What decides atoms: a hard rule, by its index in the model, or the exclusive arguments of a predicate."""

    rule: int | None
    predicate: str = ""  # where it is no rule


@dataclass(frozen=True, eq=False)
class Decided:
    """A problem whose implied atoms are known, and how many atoms each hard rule decided."""

    problem: Problem
    atoms: int  # that were open, and are known now
    by: Mapping[Decider, int]
    complete: bool  # False where more may be implied, and finding it would be long


class Clash(Exception):
    """An atom that must be both true and false; `group`: all values of its exclusive group are false, or two are true."""

    def __init__(self, predicate: str, code: int, wanted: int, by: Decider) -> None:
        super().__init__(predicate, code)
        self.predicate, self.code, self.wanted, self.by = predicate, code, wanted, by


@dataclass(frozen=True, eq=False)
class _Entry:
    """Atoms of one predicate that were decided at once: those listed, or all that were open but those listed."""

    predicate: str
    value: int
    by: Decider
    code: Int64
    all_but: bool

    def holds(self, predicate: str, code: int, value: int) -> bool:
        if (predicate, value) != (self.predicate, self.value):
            return False
        at = int(self.code.searchsorted(code))
        return (at < len(self.code) and int(self.code[at]) == code) != self.all_but


@dataclass(eq=False)
class Settled:
    """Statuses that only grow: what is known stays known, with its value."""

    problem: Problem
    statuses: dict[str, Statuses] = field(init=False)
    version: dict[str, int] = field(init=False)
    counts: dict[Decider, int] = field(init=False, default_factory=dict)
    fresh: dict[tuple[str, int], list[Int64] | None] = field(init=False, default_factory=dict)  # None: too many to list

    def __post_init__(self) -> None:
        self.statuses = dict(self.problem.statuses)
        self.version = dict.fromkeys(self.statuses, 0)
        self._log: list[_Entry] = []

    def taken_fresh(self) -> dict[tuple[str, int], Int64 | None]:
        """Codes that became known since the last call, by predicate and value."""
        found = {key: None if parts is None else each_once(np.concatenate(parts)) for key, parts in self.fresh.items()}
        self.fresh = {}
        return found

    def settle(self, predicate: str, code: Int64, value: int, by: Decider) -> None:
        """Make atoms known; code: sorted, distinct. Raises Clash where one is known to be otherwise."""
        statuses = self.statuses[predicate]
        known = statuses.lookup(code)
        if (known == 1 - value).any():
            raise Clash(predicate, int(code[np.argmax(known == 1 - value)]), value, by)
        code = code[known == UNKNOWN]
        if not len(code):
            return
        self.statuses[predicate] = _with_known(statuses, code, value)
        self._note(_Entry(predicate, value, by, code, all_but=False), len(code))
        self._close_groups(predicate, code, value)

    def settle_all_but(self, predicate: str, code: Int64, by: Decider) -> None:
        """Make all atoms false but those listed; code: sorted, distinct. Raises Clash where another one is known to be true."""
        statuses = self.statuses[predicate]
        true = statuses.code[statuses.status == TRUE]
        clash = true[~is_among(true, code)]
        if len(clash):
            raise Clash(predicate, int(clash[0]), FALSE, by)
        left = code[statuses.lookup(code) == UNKNOWN]
        count = statuses.n_open - len(left)
        if not count:
            return
        groups = self._open_groups(predicate)
        listed = np.concatenate([true, left])
        order = np.argsort(listed, kind="stable")
        status = np.concatenate([np.full(len(true), TRUE, np.int8), np.full(len(left), UNKNOWN, np.int8)])
        made = Statuses(predicate, statuses.sizes, FALSE, listed[order], status[order])
        self.statuses[predicate] = frozen(made)
        self._note(_Entry(predicate, FALSE, by, code, all_but=True), count)
        if groups is not None:
            self._check_groups(predicate, groups)

    def decider_of(self, predicate: str, code: int, value: int) -> Decider | None:
        """Who gave an atom its value; None where the evidence did."""
        if self.problem.statuses[predicate].lookup(np.array([code], np.int64))[0] != UNKNOWN:
            return None
        return next((entry.by for entry in self._log if entry.holds(predicate, code, value)), None)

    def close_all_groups(self) -> None:
        """Find what false facts leave of exclusive groups: one value alone is true."""
        for predicate in self.statuses:
            groups = self._touched_groups(predicate)
            if groups is not None and len(groups):
                self._check_groups(predicate, groups)

    def _note(self, entry: _Entry, count: int) -> None:
        key = (entry.predicate, entry.value)
        self._log.append(entry)
        self.counts[entry.by] = self.counts.get(entry.by, 0) + count
        self.version[entry.predicate] += 1
        parts = self.fresh.setdefault(key, [])
        if entry.all_but:
            self.fresh[key] = None
        elif parts is not None:
            parts.append(entry.code)

    def _marks(self, predicate: str) -> tuple[bool, ...]:
        return self.problem.model.predicates[predicate].exclusive

    def _groups_of(self, predicate: str, code: Int64) -> Int64:
        sizes = self.statuses[predicate].sizes
        return each_once(group_of(decode(code, sizes), sizes, self._marks(predicate)))

    def _open_groups(self, predicate: str) -> Int64 | None:
        """Groups with open atoms; None where the predicate has no exclusive arguments."""
        if not any(self._marks(predicate)):
            return None
        statuses = self.statuses[predicate]
        return self._groups_of(predicate, statuses.unrank(np.arange(statuses.n_open, dtype=np.int64)))

    def _touched_groups(self, predicate: str) -> Int64 | None:
        """Open groups of which something is known, or that have one value alone; None where there can be none."""
        marks, statuses = self._marks(predicate), self.statuses[predicate]
        if not any(marks) or not statuses.n_open:
            return None
        if statuses.default != UNKNOWN or n_values(statuses.sizes, marks) == 1:
            return self._open_groups(predicate)
        return self._groups_of(predicate, statuses.code[statuses.status == FALSE])

    def _close_groups(self, predicate: str, code: Int64, value: int) -> None:
        """What exclusive arguments make of atoms that became known. Groups are never left half closed."""
        if not any(self._marks(predicate)):
            return
        groups = self._groups_of(predicate, code)
        if value == TRUE:
            by = Decider(None, predicate)
            sizes = self.statuses[predicate].sizes
            members = atoms_of_groups(groups, sizes, self._marks(predicate))
            status = self.statuses[predicate].lookup(members.ravel()).reshape(members.shape)
            twice = np.count_nonzero(status == TRUE, axis=1) > 1
            if twice.any():
                row = int(np.argmax(twice))
                raise Clash(predicate, int(members[row][status[row] == TRUE][-1]), FALSE, by)
            self.settle(predicate, np.sort(members[status == UNKNOWN]), FALSE, by)
        else:
            self._check_groups(predicate, groups)

    def _check_groups(self, predicate: str, groups: Int64) -> None:
        """Groups of which one value alone is left have it; groups of which none is left cannot be."""
        statuses, by = self.statuses[predicate], Decider(None, predicate)
        members = atoms_of_groups(groups, statuses.sizes, self._marks(predicate))
        status = statuses.lookup(members.ravel()).reshape(members.shape)
        no_truth = (status != TRUE).all(axis=1)
        n_open = np.count_nonzero(status == UNKNOWN, axis=1)
        none_left = no_truth & (n_open == 0)
        if none_left.any():
            raise Clash(predicate, int(members[int(np.argmax(none_left))][0]), TRUE, by)
        last = (status == UNKNOWN) & (no_truth & (n_open == 1))[:, None]
        self.settle(predicate, np.sort(members[last]), TRUE, by)


def _with_known(statuses: Statuses, code: Int64, value: int) -> Statuses:
    """Statuses with open atoms known; where more than half of all atoms are false, false is what is assumed."""
    if statuses.default == FALSE:
        at = np.searchsorted(statuses.code, code)
        status = statuses.status.copy()
        status[at] = value
        stays = status != FALSE
        return frozen(Statuses(statuses.predicate, statuses.sizes, FALSE, statuses.code[stays], status[stays]))
    at = np.searchsorted(statuses.code, code)
    listed, status = np.insert(statuses.code, at, code), np.insert(statuses.status, at, np.int8(value))
    made = Statuses(statuses.predicate, statuses.sizes, UNKNOWN, listed, status)
    if 2 * np.count_nonzero(status == FALSE) <= made.n_ground:
        return frozen(made)
    left, true = made.unrank(np.arange(made.n_open, dtype=np.int64)), listed[status == TRUE]
    listed = np.concatenate([left, true])
    order = np.argsort(listed, kind="stable")
    status = np.concatenate([np.full(len(left), UNKNOWN, np.int8), np.full(len(true), TRUE, np.int8)])
    return frozen(Statuses(statuses.predicate, statuses.sizes, FALSE, listed[order], status[order]))
