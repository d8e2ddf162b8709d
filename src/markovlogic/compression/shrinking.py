"""A smaller problem in place of the original one: groups become objects, their evidence is one, rules stay as they are.

That is what [000] section 3 and [002] do; the members of a group vote there, or one of them is kept with its evidence. Weights
are as they were ("literal") or multiplied by the sizes of the groups ("uniform", which is right for worlds that are constant on
groups, and for no others; papers.md 2.5). Where diagonals are split, a group keeps as many members as a rule or predicate may
hold different objects of it (papers.md 2.16).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import Literal

import numpy as np
import numpy.typing as npt

from markovlogic.compression.base import Projection
from markovlogic.compression.partition import Partition
from markovlogic.compression.shares import MOST_BLOCKS, BlockArray, Blocks, first_places, fits
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Domain, Evidence, Facts, codes, decode, group_of
from markovlogic.errors import ResourceError
from markovlogic.language.syntax import Atom, Model, Not, Or, Predicate, Rule, Variable
from markovlogic.problem import AtomIndex, GroundAtom, Problem, QueryItem, Statuses, WantedAtoms, WantedFormula
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.problem.worlds import open_groups
from markovlogic.system.arrays import Int64, each_once, frozen, offsets

Vote = Literal["majority", "clamp", "representatives"]


@dataclass(frozen=True, eq=False)
class Shrinking:
    """A problem over groups: their members that are left, and where each old atom stands now."""

    prepared: PreparedProblem
    partition: Partition
    vote: Vote
    split: bool
    scaled: bool = False  # weights times group sizes

    @cached_property
    def blocks(self) -> Blocks:
        """Statuses by blocks."""
        return Blocks(self.prepared.problem, self.partition, split=self.split)

    @cached_property
    def copies(self) -> dict[str, Int64]:
        """How many members of each group are left."""
        problem, found = self.prepared.problem, {}
        for of in problem.domains:
            most = _most_together(problem.model, of) if self.split else 1
            found[of] = np.minimum(self.partition.sizes(of), max(most, 1))
        return found

    @cached_property
    def first(self) -> dict[str, Int64]:
        """The number that the first kept member of each group gets, and how many there are."""
        return {of: offsets(own) for of, own in self.copies.items()}

    @cached_property
    def members(self) -> dict[str, Int64]:
        """For each new object the old one that it is: a group's representative, then its first members."""
        found = {}
        for of, own in self.partition.class_of.items():
            kept = np.zeros(int(self.first[of][-1]), np.int64)
            kept[self.first[of][:-1]] = self.partition.representative[of]
            left = self.copies[of] - 1
            at = self.first[of][:-1] + 1
            stands = np.zeros(len(own), np.bool_)
            stands[self.partition.representative[of]] = True
            for number in np.flatnonzero((left[own] > 0) & ~stands).tolist():
                group = own[number]
                if left[group] > 0:
                    kept[at[group]] = number
                    at[group] += 1
                    left[group] -= 1
            found[of] = kept
        return found

    @cached_property
    def group(self) -> dict[str, Int64]:
        """The group of each new object."""
        return {of: np.repeat(np.arange(len(own)), own).astype(np.int64) for of, own in self.copies.items()}

    @cached_property
    def problem(self) -> Problem:
        """The smaller problem."""
        old = self.prepared.problem
        domains = {of: Domain(of, tuple(old.domains[of].names[n] for n in self.members[of].tolist())) for of in old.domains}
        statuses = {name: self._statuses(name) for name in old.statuses}
        model = replace(
            old.model,
            constants={of: tuple(n for n in own if n in domains[of].number_of) for of, own in old.model.constants.items()},
        )
        if self.scaled:
            model, sizes = _scaled(model, self.partition)
            statuses |= sizes
        start = frozen(offsets([own.n_open for own in statuses.values()]))
        atoms = AtomIndex(tuple(statuses), start, statuses)
        groups = (open_groups(predicate, statuses[name], atoms) for name, predicate in model.predicates.items())
        facts = {name: _facts(own) for name, own in statuses.items() if len(own.code)}
        evidence = Evidence(domains, facts, old.evidence.sources, frozenset(n for n, own in statuses.items() if not own.n_open))
        return Problem(model, evidence, self._query, statuses, atoms, tuple(group for group in groups if group is not None))

    @cached_property
    def _query(self) -> tuple[QueryItem, ...]:
        """The same questions about groups."""
        return tuple(QueryItem(item.text, self._wanted(item.wanted)) for item in self.prepared.problem.query)

    def _wanted(self, wanted: WantedAtoms | WantedFormula) -> WantedAtoms | WantedFormula:
        """What is queried about groups; patterns become whole predicates, since only the rows of the original are reported."""
        if isinstance(wanted, WantedAtoms):
            return WantedAtoms(wanted.predicate)
        atoms = tuple(
            GroundAtom(atom.predicate, int(self.moved(atom.predicate, np.array([atom.code], np.int64))[0]))
            for atom in wanted.atoms
        )
        return WantedFormula(atoms, wanted.node)

    def moved(self, predicate: str, code: Int64) -> Int64:
        """Codes of the new atoms that old ones are represented by; different objects of one group take different members."""
        old = self.prepared.problem
        types = old.model.predicates[predicate].types
        args = decode(code, old.statuses[predicate].sizes).astype(np.int64)
        made = np.empty_like(args)
        for at, of in enumerate(types):
            group = self.partition.class_of[of][args[:, at]]
            copy = np.zeros(len(args), np.int64)
            for before in range(at) if self.split else ():
                if types[before] != of:
                    continue
                seen_before = np.any(
                    [args[:, b] == args[:, before] for b in range(before) if types[b] == of] or [copy < 0], axis=0
                )
                same_group = self.partition.class_of[of][args[:, before]] == group
                copy += same_group & ~seen_before & (args[:, before] != args[:, at])
            for before in range(at) if self.split else ():  # an object that was met keeps its place
                if types[before] == of:
                    same = args[:, before] == args[:, at]
                    copy[same] = made[same, before] - self.first[of][group[same]]
            made[:, at] = self.first[of][group] + copy
        return codes(made, self._sizes(predicate))

    def _sizes(self, predicate: str) -> tuple[int, ...]:
        return tuple(int(self.first[of][-1]) for of in self.prepared.problem.model.predicates[predicate].types)

    @property
    def projection(self) -> Projection:
        """Where the value of each old open atom stands."""
        return Projection(self.prepared.problem, self.problem, self.moved)

    def _statuses(self, name: str) -> Statuses:
        """What is made of the members of each block."""
        old, predicate = self.prepared.problem.statuses[name], self.prepared.problem.model.predicates[name]
        sizes = self._sizes(name)
        if prod(sizes) > MOST_BLOCKS:
            raise ResourceError(
                f"{name} would still have {prod(sizes):,} atoms; at most {MOST_BLOCKS:,} fit. Use a smaller --ratio.",
                needed=prod(sizes),
                limit=MOST_BLOCKS,
            )
        args = decode(np.arange(prod(sizes), dtype=np.int64), sizes).astype(np.int64)
        types = predicate.types
        made = np.full(len(args), UNKNOWN, np.int8)
        if self.vote == "representatives":  # whoever is left keeps what is known of him
            made = self._own_status(name, [self.members[of][args[:, at]] for at, of in enumerate(types)])
        for array in self.blocks.of(name) if self.vote != "representatives" else ():
            rows = fits(args, types, array.pattern) if self.split else np.ones(len(args), np.bool_)
            groups = tuple(self.group[types[at]][args[rows, at]] for at in first_places(array.pattern))
            made[rows] = self._status(array)[groups]
        if any(predicate.exclusive):
            _settle_groups(made, group_of(args.astype(np.int32), sizes, predicate.exclusive))
        default = old.default
        listed = np.flatnonzero(made != default)
        code, status = listed.astype(np.int64), made[listed]
        frozen((code, status))
        return Statuses(name, sizes, default, code, status)

    def overridden(self) -> tuple[int, int]:
        """Known atoms that are something else in the smaller problem, and all known ones."""
        known = overridden = 0
        for name in self.prepared.problem.statuses:
            for array in self.blocks.of(name):
                status = self._status(array)
                own = array.true + array.false
                agree = np.where(status == TRUE, array.true, np.where(status == FALSE, array.false, 0))
                known, overridden = known + int(own.sum()), overridden + int((own - agree).sum())
        return overridden, known

    def _status(self, array: BlockArray) -> npt.NDArray[np.int8]:
        """One status for each block; a value of an exclusive argument is only taken away where nobody may have it."""
        if self.vote == "representatives":
            return self._kept(array)
        true, false, unknown = array.true, array.false, array.unknown
        if self.vote == "clamp":
            yes, no = true > false, false > true
        else:
            yes, no = true > false + unknown, false > true + unknown
        if any(self.prepared.problem.model.predicates[array.predicate].exclusive):
            no = false == array.size
        return np.where(yes, TRUE, np.where(no, FALSE, UNKNOWN)).astype(np.int8)

    def _kept(self, array: BlockArray) -> npt.NDArray[np.int8]:
        """What is known of the members that stand for each block: [002] removes all evidence about others."""
        shape = array.size.shape
        groups = np.indices(shape) if shape else np.zeros((0,), np.int64)
        objects: list[Int64] = []
        for at, of in enumerate(array.types):
            copy = np.zeros(shape, np.int64)
            for before in range(at) if self.split else ():
                copy += (array.types[before] == of) & (groups[before] == groups[at])
            copy = np.minimum(copy, self.copies[of][groups[at]] - 1)  # no atom is there where a group has too few members
            objects.append(self.members[of][self.first[of][groups[at]] + copy].reshape(-1))
        return self._own_status(array.predicate, [objects[number] for number in array.pattern]).reshape(shape)

    def _own_status(self, predicate: str, objects: list[Int64]) -> npt.NDArray[np.int8]:
        """The statuses of atoms about objects of the original problem, place by place."""
        statuses = self.prepared.problem.statuses[predicate]
        args = np.stack(objects, axis=1) if objects else np.zeros((1, 0), np.int64)
        return np.asarray(statuses.lookup(codes(args, statuses.sizes)), np.int8)


def _settle_groups(status: npt.NDArray[np.int8], group: Int64) -> None:
    """A true value makes the others of its group false; a group that lost all its values gets them back."""
    n = int(group.max(initial=-1)) + 1
    decided = np.bincount(group[status == TRUE], minlength=n) > 0
    status[decided[group] & (status != TRUE)] = FALSE
    lost = np.bincount(group[status != FALSE], minlength=n) == 0
    status[lost[group]] = UNKNOWN


def _facts(statuses: Statuses) -> Facts:
    made = Facts(decode(statuses.code, statuses.sizes), statuses.status)
    frozen(made)
    return made


def _most_together(model: Model, of: str) -> int:
    """The largest number of different objects of a type that one atom or rule may hold."""
    places = [sum(own == of for own in predicate.types) for predicate in model.predicates.values()]
    variables = [sum(own == of for _, own in rule.types) for rule in model.rules]
    return max((*places, *variables), default=1)


def _scaled(model: Model, partition: Partition) -> tuple[Model, dict[str, Statuses]]:
    """Rules whose weight is multiplied by the sizes of the groups that their variables stand for.

    A size is a sum of parts, powers of two or the few sizes that occur, and known predicates say which parts a group has:
    w · ∏ sizes is then the sum over choices of parts of rules that only such groups can break.
    """
    used = dict.fromkeys(of for rule in model.rules if not rule.is_hard for name, of in rule.types if name in rule.free)
    parts = {of: _parts(partition.sizes(of)) for of in used}
    predicates, statuses = dict(model.predicates), {}
    names: dict[tuple[str, int], str] = {}
    for of, own in parts.items():
        for part, has in own.items():
            if not has.all():
                name = names[of, part] = f"Members{part}Of{of}"
                predicates[name] = Predicate(name, (of,), (False,))
                code = np.flatnonzero(has).astype(np.int64)
                status = np.full(len(code), TRUE, np.int8)
                frozen((code, status))
                statuses[name] = Statuses(name, (len(has),), FALSE, code, status)
    rules: list[Rule] = []
    for rule in model.rules:
        rules += [rule] if rule.is_hard or rule.weight is None else _scaled_rule(rule, rule.weight, parts, names)
    return replace(model, predicates=predicates, rules=tuple(rules)), statuses


def n_scaled_rules(model: Model, partition: Partition) -> int:
    """How many rules those would become whose weights are multiplied by the sizes of groups."""
    parts = {of: len(_parts(partition.sizes(of))) for of in partition.class_of if len(partition.class_of[of])}
    return sum(1 if rule.is_hard else prod(parts.get(rule.type_of[name], 1) for name in rule.free) for rule in model.rules)


def _parts(sizes: Int64) -> Mapping[int, npt.NDArray[np.bool_]]:
    """Numbers that add up to the sizes, and which of the groups has each."""
    distinct = each_once(sizes)
    bits = [1 << k for k in range(int(distinct.max()).bit_length()) if np.any(sizes >> k & 1)]
    if len(distinct) <= len(bits):
        return {int(size): sizes == size for size in distinct}
    return {bit: (sizes & bit) != 0 for bit in bits}


def _scaled_rule(
    rule: Rule, weight: float, parts: Mapping[str, Mapping[int, npt.NDArray[np.bool_]]], names: Mapping[tuple[str, int], str]
) -> Iterator[Rule]:
    type_of = rule.type_of
    for chosen in product(*(parts[type_of[name]] for name in rule.free)):
        guards = [
            Not(Atom(names[type_of[variable], part], (Variable(variable),)))
            for variable, part in zip(rule.free, chosen, strict=True)
            if (type_of[variable], part) in names
        ]
        formula = Or((rule.formula, *guards)) if guards else rule.formula
        yield replace(rule, formula=formula, weight=weight * prod(chosen))
