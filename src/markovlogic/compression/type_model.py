"""The exact lifted state, and what becomes of it where merged objects differ: counts of what objects are (papers.md 2.5a).

Classes are groups of objects that nothing known of one object alone distinguishes. Atoms of two objects are summed out for every
pair of cells, which is exact where all pairs of two classes know the same. Where they do not, each pair sees the average of what
the pairs of its classes see: log-weights are averaged over the evidence (annealed), and nothing bounds what that costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import isinf

import numpy as np

from markovlogic.compression.partition import Partition
from markovlogic.data.evidence import FALSE, UNKNOWN, codes, decode
from markovlogic.guarantee import Guarantee
from markovlogic.methods.lifted.cells.cell_factors import Factor, Factors, JoinsThree
from markovlogic.methods.lifted.cells.cell_layout import Layout, ObjectClass, Objects, layout_of
from markovlogic.methods.lifted.cells.cell_plan import written_out
from markovlogic.methods.lifted.cells.cell_tables import Cells, Given, cells_of, live
from markovlogic.methods.lifted.cells.clauses import FlatModel, Key, TooLarge
from markovlogic.methods.lifted.cells.numbers import Logarithms
from markovlogic.methods.lifted.cells.pairs import Link, PairTable, links_between, pair_table
from markovlogic.networks.counts import TypeNetwork
from markovlogic.problem import Problem
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.problem.query import queried_predicates
from markovlogic.symmetry.twins import numbered
from markovlogic.system.arrays import Float64, Int32, Int64, frozen, offsets
from markovlogic.system.cancellation import check

MOST_CELLS = 3000  # of all classes: pairs of them are a dense matrix
MOST_CELLS_A_CLASS = 128
MOST_LINK_TERMS = 5_000_000
MOST_CODES = 3**12


class NoTypes(Exception):
    """Why the model has no type model; the message is for people."""


def type_network(prepared: PreparedProblem, partition: Partition) -> TypeNetwork:
    """The network of a problem under a partition; raises NoTypes where rules tie three objects together, and the like."""
    problem, lowered = prepared.problem, prepared.lowered
    if lowered.definitions or any(isinf(template.weight) for template in lowered.templates):
        raise NoTypes("hard rules and quantifiers inside of rules have no place in it")
    try:
        flat, factors = written_out(problem, lowered)
        objects = _objects(problem, flat, factors, partition)
        layout = layout_of(objects, factors)
        return _Model(problem, layout).network()
    except TooLarge as reason:
        raise NoTypes(str(reason)) from None
    except JoinsThree as found:
        raise NoTypes(found.describe(problem.model.rules)) from None


def _objects(problem: Problem, flat: FlatModel, factors: Factors, partition: Partition) -> Objects:
    """Groups, parted by what is known of single objects."""
    used = {of for key in factors.keys for of in flat.open_types(key)} | {of for clause in flat.clauses for of in clause.types}
    classes: list[ObjectClass] = []
    class_of: dict[str, Int32] = {}
    for of in sorted(used):
        label = partition.class_of[of].astype(np.int64)
        for key in sorted(factors.keys):
            types = flat.open_types(key)
            if key.predicate not in flat.hidden and set(types) == {of}:
                status = _single_status(problem, key, len(label))
                label = numbered(label * 3 + status).astype(np.int64)
        own = numbered(label)
        order = np.argsort(own, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(own[order])) + 1) if len(own) else []
        class_of[of] = own + np.int32(len(classes))
        classes += [ObjectClass(of, part.astype(np.int64)) for part in parts]
    return Objects(problem, flat, tuple(classes), class_of)


def _single_status(problem: Problem, key: Key, n: int) -> Int64:
    """What is known of the key's atom for each object alone (twice, where it takes two)."""
    args = np.empty((n, len(key.fixed)), np.int64)
    for at, number in enumerate(key.fixed):
        args[:, at] = np.arange(n) if number is None else number
    statuses = problem.statuses[key.predicate]
    return statuses.lookup(codes(args, statuses.sizes)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Known:
    """What pairs of two types know: codes of statuses of their links that differ from the usual, and how many pairs have each."""

    links: list[Link]
    usual: int
    first: Int64  # (n,) class of the first object
    second: Int64
    code: Int64
    pairs: Int64  # how many

    def status(self, code: int) -> dict[Link, int]:
        """A code as statuses."""
        found = {}
        for link in self.links:
            code, found[link] = divmod(code, 3)
        return found


class _Model:
    """From a layout to arrays."""

    def __init__(self, problem: Problem, layout: Layout) -> None:
        self.problem, self.layout, self.numbers = problem, layout, Logarithms()
        self.given = self._given()
        if layout.factors.count:
            raise NoTypes("a rule counts three or more objects")
        if any(len(key.open_positions) > 1 for group in layout.factors.groups for key in group):
            raise NoTypes("an exclusive argument ties two objects together")
        if len(layout.objects.classes) > MOST_CELLS:
            raise NoTypes(f"there are {len(layout.objects.classes):,} classes of objects, more than {MOST_CELLS:,}")
        single = live(layout.factors.single, self.given)
        self.cells: list[Cells] = []
        for at in range(len(layout.objects.classes)):
            self.cells.append(cells_of(layout, single, at, self.numbers))
            if len(self.cells[-1].weight) > MOST_CELLS_A_CLASS:
                raise NoTypes(f"an object has {len(self.cells[-1].weight):,} states, more than {MOST_CELLS_A_CLASS}")
        self.start = offsets([len(own.weight) for own in self.cells])
        if self.start[-1] > MOST_CELLS:
            raise NoTypes(f"objects have {int(self.start[-1]):,} states in all, more than {MOST_CELLS:,}")
        self.factors: list[Factor] = live(layout.factors.pair, self.given)
        self.sizes = np.array([len(own) for own in layout.objects.classes], np.int64)
        self._tables: dict[object, PairTable] = {}
        self._known: dict[tuple[str, str], _Known] = {}
        self.pure = True

    def _given(self) -> Given:
        """Truth of the atoms without objects, which must be known."""
        found = {}
        for key in self.layout.factors.keys:
            if not key.open_positions:
                status = self.layout.objects.status(key)
                if status == UNKNOWN:
                    raise NoTypes(f"{key.predicate} is open and about no object")
                found[key] = status != FALSE
        return found

    def network(self) -> TypeNetwork:
        """All arrays."""
        pair, queried = np.zeros((int(self.start[-1]),) * 2), set(queried_predicates(self.problem.query))
        wanted = {key for key in self.layout.links if key.predicate in queried}
        links: list[tuple[Link, int, int, Float64]] = []
        for one, other in combinations_with_replacement(range(len(self.cells)), 2):
            check()
            if one == other and self.sizes[one] == 1:
                continue
            weight, chances = self._between(one, other, wanted)
            rows, columns = self._own(one), self._own(other)
            pair[rows, columns] = weight
            pair[columns, rows] = weight.T
            links += [(link, one, other, chance) for link, chance in chances]
        coupled = np.array([bool(np.ptp(pair[self._own(at), self._own(at)]) > 0) for at in range(len(self.cells))], np.bool_)
        h = np.concatenate([np.zeros(0), *(np.asarray(own.weight, np.float64) for own in self.cells)])
        units = _Units(self, links, queried)
        return frozen(
            TypeNetwork(
                n_atoms=len(self.problem.atoms),
                of_atom=units.of_atom(),
                class_start=self.start,
                class_size=self.sizes,
                cell_weight=h,
                pair=pair,
                coupled=coupled,
                n_means=units.count,
                single_unit=np.array(units.single_unit, np.int32),
                single_cell=np.array(units.single_cell, np.int32),
                link_unit=_joined(units.link_unit).astype(np.int32),
                link_cell=np.stack([_joined(units.link_one), _joined(units.link_other)], axis=1).astype(np.int32),
                link_weight=_joined(units.link_weight).astype(np.float64),
                constant_unit=np.array([0], np.int32),
                guarantee=Guarantee.EXACT if self.pure else Guarantee.UNBOUNDED,
            )
        )

    def _own(self, class_: int) -> slice:
        return slice(int(self.start[class_]), int(self.start[class_ + 1]))

    def _between(self, one: int, other: int, wanted: set[Key]) -> tuple[Float64, list[tuple[Link, Float64]]]:
        """Log-weights of pairs of cells, averaged over what pairs of the two classes know; and chances of wanted open links."""
        types = tuple(self.layout.objects.classes[at].type_name for at in (one, other))
        known = self._pairs(types[0], types[1])
        place = one * len(self.cells) + other
        low, high = np.searchsorted(known.first * len(self.cells) + known.second, (place, place + 1)).tolist()
        code, count = known.code[low:high], known.pairs[low:high]
        every = int(self.sizes[one] * (self.sizes[other] - (one == other)))
        left = every - int(count.sum())
        if left:
            code, count = np.append(code, known.usual), np.append(count, left)
        self.pure &= len(code) <= 1
        profiles = self.cells[one].profile, self.cells[other].profile
        total = np.zeros((len(profiles[0]), len(profiles[1])))
        chances: dict[Link, tuple[Float64, int]] = {}
        for own, n in zip(code.tolist(), count.tolist(), strict=True):
            table = self._table(one, other, own, known)
            total += (n / every) * np.asarray(table.weight, np.float64)[np.ix_(*profiles)]
            for part in table.parts:
                for at, link in enumerate(part.links):
                    if link[0] in wanted and not (one == other and link[1]):
                        share = np.exp(part.true(at, self.numbers) - part.total)[np.ix_(*profiles)]
                        before, seen = chances.get(link, (np.zeros(share.shape), 0))
                        chances[link] = (before + n * share, seen + n)
        return total, [(link, share / seen) for link, (share, seen) in chances.items()]

    def _table(self, one: int, other: int, code: int, known: _Known) -> PairTable:
        sides = tuple(
            (
                self.layout.objects.classes[at].type_name,
                self.cells[at].profile_truth.tobytes(),
                at if at in self.layout.pins else -1,
            )
            for at in (one, other)
        )
        name = (sides, code)
        if name not in self._tables:
            truth = (self.cells[one].profile_truth, self.cells[other].profile_truth)
            self._tables[name] = pair_table(self.layout, self.factors, (one, other), truth, self.numbers, known.status(code))
        return self._tables[name]

    def _pairs(self, one: str, other: str) -> _Known:
        """What is known of ordered pairs of objects of two types, gathered from the facts that are not the default."""
        if (one, other) not in self._known:
            self._known[one, other] = self._gathered(one, other)
        return self._known[one, other]

    def _gathered(self, one: str, other: str) -> _Known:
        objects = self.layout.objects
        links = links_between(self.layout, (one, other))
        if 3 ** len(links) > MOST_CODES:
            raise NoTypes(f"a pair of objects has {len(links)} atoms")
        n_other = len(self.problem.domains[other])
        usual, where, change = 0, [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for power, (key, swapped) in enumerate(links):
            statuses = self.problem.statuses[key.predicate]
            usual += 3**power * statuses.default
            args = decode(statuses.code, statuses.sizes).astype(np.int64)
            fits = np.ones(len(args), np.bool_)
            for at, number in enumerate(key.fixed):
                fits &= True if number is None else args[:, at] == number
            first, second = (args[fits][:, at] for at in key.open_positions)
            if swapped:
                first, second = second, first
            apart = first != second if one == other else np.ones(len(first), np.bool_)
            where.append((first * n_other + second)[apart])
            change.append(3**power * (statuses.status[fits][apart].astype(np.int64) - statuses.default))
        place, row = np.unique(np.concatenate(where), return_inverse=True)
        code = usual + np.bincount(row.reshape(-1), np.concatenate(change), minlength=len(place)).astype(np.int64)
        first, second = np.divmod(place, max(n_other, 1))
        classes = objects.class_of[one][first].astype(np.int64), objects.class_of[other][second].astype(np.int64)
        wide = len(self.cells)
        name = (classes[0] * wide + classes[1]) * (3 ** len(links)) + code
        distinct, count = np.unique(name, return_counts=True)
        pairs, code = np.divmod(distinct, 3 ** len(links))
        first, second = np.divmod(pairs, max(wide, 1))
        return _Known(links, usual, first, second, code, count.astype(np.int64))


class _Units:
    """Which means are reported, and how they follow from counts of cells."""

    def __init__(self, model: _Model, links: Sequence[tuple[Link, int, int, Float64]], queried: set[str]) -> None:
        self._model, self._queried = model, queried
        self.count = 1  # unit 0 is one half
        self.single_unit: list[int] = []
        self.single_cell: list[int] = []
        self._single: dict[tuple[int, Key], int] = {}
        layout = model.layout
        for class_, own in enumerate(layout.objects.classes):
            for key in layout.single[own.type_name]:
                if key.predicate in queried:
                    unit = self._single[class_, key] = self._new()
                    held = np.flatnonzero(model.cells[class_].truth[:, layout.column[own.type_name, key]]) + model.start[class_]
                    self.single_unit += [unit] * len(held)
                    self.single_cell += held.tolist()
        self.link_unit: list[Int64] = []
        self.link_one: list[Int64] = []
        self.link_other: list[Int64] = []
        self.link_weight: list[Float64] = []
        self._links: dict[tuple[Key, int, int], int] = {}
        if sum(chance.size for *_, chance in links) > MOST_LINK_TERMS:
            raise NoTypes("the query has atoms of two objects, and there are too many kinds of pairs")
        for (key, swapped), one, other, chance in links:
            unit = self._new()
            self._links[(key, other, one) if swapped else (key, one, other)] = unit
            pairs = model.sizes[one] * (model.sizes[other] - (one == other))
            a, b = np.indices(chance.shape)
            self.link_unit.append(np.full(chance.size, unit))
            self.link_one.append((a + model.start[one]).reshape(-1))
            self.link_other.append((b + model.start[other]).reshape(-1))
            self.link_weight.append((chance / pairs).reshape(-1))

    def _new(self) -> int:
        self.count += 1
        return self.count - 1

    def of_atom(self) -> Int32:
        """The unit of every open atom of a queried predicate; others have none, and get the first."""
        problem = self._model.problem
        found = np.zeros(len(problem.atoms), np.int32)
        for name in self._queried:
            own = problem.atoms.range_of(name)
            if len(own):
                args = decode(problem.atoms.codes(name), problem.statuses[name].sizes).astype(np.int64)
                found[own.start : own.stop] = self._of_predicate(name, args)
        return found

    def _of_predicate(self, name: str, args: Int64) -> Int64:
        objects = self._model.layout.objects
        types, out = objects.flat.types[name], objects.flat.written_out
        if not any(key.predicate == name for key in self._model.layout.factors.keys):
            if any(self._model.problem.model.predicates[name].exclusive):
                raise NoTypes(f"{name} is exclusive, and no rule mentions it")
            return np.zeros(len(args), np.int64)
        label = args.copy()
        places = [at for at, of in enumerate(types) if of not in out]
        for at in places:
            label[:, at] = objects.class_of[types[at]][args[:, at]]
        same = np.zeros(len(args), np.int64)
        if len(places) == 2 and types[places[0]] == types[places[1]]:
            same = (args[:, places[0]] == args[:, places[1]]).astype(np.int64)
        rows, kind = np.unique(np.column_stack([label, same]), axis=0, return_inverse=True)
        unit = np.zeros(len(rows), np.int64)
        for number, row in enumerate(rows.tolist()):
            key = Key(name, tuple(None if p in places else row[p] for p in range(len(types))))
            classes = [row[p] for p in places]
            if not classes:  # about no object that is counted, and no clause mentions it: one half
                continue
            if len(classes) < 2 or row[-1]:
                unit[number] = self._single.get((classes[0], key), 0)
            else:
                unit[number] = self._links.get((key, classes[0], classes[1]), self._turned(key, classes))
        return np.asarray(unit[kind.reshape(-1)], np.int64)

    def _turned(self, key: Key, classes: Sequence[int]) -> int:
        return self._links.get((key, classes[1], classes[0]), 0)


def _joined(parts: Sequence[Int64] | Sequence[Float64]) -> Float64:
    return np.concatenate([np.zeros(0), *parts])
