"""The orbit of a conjunction under all renamings inside classes, counted in a world without going through it where that is long.

The orbit Hamming weight of [003] (Definition 2) is the number of *injective* class-respecting substitutions of the conjunction's
constants under which all literals hold; divided by the number of all such substitutions it is the Rao-Blackwell value of the
world (Lemma 3). Three ways, in this order (papers.md 3.6):

- *listed*: every substitution is a conjunction; repeated ones (its own symmetry) are dropped, which changes no share;
- *inclusion-exclusion*: injective = Σ over the ways to make constants of one class coincide of Π (-1)^(b-1)·(b-1)! over blocks of
  b constants, times the number of *all* substitutions, which is a product over parts that share no constant: Smokes(A)^Cancer(B)
  costs two passes over people, not one over pairs;
- *drawn*: substitutions drawn uniformly, anew for each draw of the chains: unbiased.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import FALSE, UNKNOWN, codes, decode
from markovlogic.problem import Problem
from markovlogic.symmetry.base import ConstantClasses
from markovlogic.system.arrays import Int32, Int64

LISTED_READS = 1 << 18  # literals that an exact count may read for each draw: well below a millisecond for 64 chains
DRAWN = 2048  # substitutions for each draw where an exact count would be longer
MOST_MERGED = 6  # constants of one conjunction whose coincidences are summed over (203 ways)


@dataclass(frozen=True)
class _Literal:
    predicate: str
    args: tuple[tuple[int, int], ...]  # (0, constant) where the constant stays, (1, variable) where it is substituted
    positive: bool

    @property
    def variables(self) -> frozenset[int]:
        return frozenset(which for moves, which in self.args if moves)


@dataclass(frozen=True, eq=False)
class Pattern:
    """A conjunction of open literals with variables for the constants that have others in their class."""

    literals: tuple[_Literal, ...]
    members: tuple[Int64, ...]  # for each variable the constants of its class
    class_of: tuple[int, ...]  # equal for variables of one class
    problem: Problem

    @property
    def n_substitutions(self) -> int:
        """How many injective class-respecting substitutions there are."""
        total = 1
        for own in set(self.class_of):
            first = self.class_of.index(own)
            total *= math.perm(len(self.members[first]), self.class_of.count(own))
        return total


@dataclass(frozen=True, eq=False)
class Conjunctions:
    """A list of conjunctions of one width, and how many further ones are true in every world."""

    literal: Int32  # (n, width) literals 2·atom + sign
    always: int = 0


@dataclass(frozen=True, eq=False)
class ListedCount:
    """The whole orbit as a list."""

    conjunctions: Conjunctions

    @property
    def size(self) -> int:
        """What the count is divided by."""
        return len(self.conjunctions.literal)


@dataclass(frozen=True, eq=False)
class MergedCount:
    """Σ coefficient · Π counts of parts; exact, though no part is as large as the orbit."""

    parts: tuple[Conjunctions, ...]
    terms: tuple[tuple[int, tuple[int, ...]], ...]  # coefficient, parts
    size: int

    def combine(self, counts: Int64) -> npt.NDArray[np.float64]:
        """The count for each chain, given those of the parts, (n_parts, n_chains); exact below 2^53."""
        total = np.zeros(counts.shape[1])
        for coefficient, parts in self.terms:
            product = np.full(counts.shape[1], float(coefficient))
            for part in parts:
                product *= counts[part] + self.parts[part].always
            total += product
        return total


@dataclass(frozen=True, eq=False)
class DrawnCount:
    """Substitutions that are drawn anew each time."""

    pattern: Pattern
    size: int = DRAWN

    def draw(self, rng: np.random.Generator) -> Int32:
        """(size, width) literals of conjunctions that are uniform over the orbit, independent of each other."""
        pattern = self.pattern
        value: list[Int64] = []
        for variable, members in enumerate(pattern.members):
            rivals = [other for other in range(variable) if pattern.class_of[other] == pattern.class_of[variable]]
            # each variable is uniform over what the earlier ones leave: rank among the rest, moved up past those taken
            rank = rng.integers(len(members) - len(rivals), size=self.size)
            if rivals:
                taken = np.sort(np.stack([value[other] for other in rivals]), axis=0)
                for row in taken:
                    rank += rank >= row
            value.append(rank)
        constants = [members[rank] for members, rank in zip(pattern.members, value, strict=True)]
        return np.stack([_open_literals(pattern, literal, constants, self.size) for literal in pattern.literals], axis=1)


CubeCount = ListedCount | MergedCount | DrawnCount


@dataclass(frozen=True, eq=False)
class SummedCount:
    """Conjunctions of which no two hold together: the share of the orbit of their disjunction is the sum of theirs.

    The mean of a sum over a group is the sum of the means, each over an orbit of its own size; counts are put on one scale.
    """

    parts: tuple[CubeCount, ...]

    @property
    def size(self) -> int:
        """What the sum is divided by."""
        return max(part.size for part in self.parts)


Count = CubeCount | SummedCount


def pattern_of(problem: Problem, classes: ConstantClasses, event: npt.NDArray[np.integer]) -> Pattern:
    """An event (literals 2·atom + sign over open atoms) with variables for the constants that can be renamed."""
    sizes = {name: np.bincount(of, minlength=1) for name, of in classes.class_of.items()}
    number: dict[tuple[str, int], int] = {}
    literals = []
    for entry in event.tolist():
        name, args = _named(problem, entry >> 1)
        made = []
        for type_name, constant in zip(problem.model.predicates[name].types, args, strict=True):
            if sizes[type_name][classes.class_of[type_name][constant]] > 1:
                made.append((1, number.setdefault((type_name, constant), len(number))))
            else:
                made.append((0, constant))
        literals.append(_Literal(name, tuple(made), bool(entry & 1)))
    members, class_of = [], []
    seen: dict[tuple[str, int], int] = {}
    for type_name, constant in number:
        own = int(classes.class_of[type_name][constant])
        members.append(np.flatnonzero(classes.class_of[type_name] == own))
        class_of.append(seen.setdefault((type_name, own), len(seen)))
    return Pattern(tuple(literals), tuple(members), tuple(class_of), problem)


def count_of(pattern: Pattern, *, most_reads: int = LISTED_READS, drawn: int = DRAWN) -> CubeCount:
    """The cheapest exact way to count, or draws where every exact way reads more than `most_reads` literals a draw."""
    width = len(pattern.literals)
    listed_reads = pattern.n_substitutions * width
    merged_reads = _merged_reads(pattern)
    if listed_reads <= min(most_reads, max(merged_reads, 4096)):
        return ListedCount(_listed(pattern))
    if merged_reads <= most_reads:
        return _merged(pattern)
    return DrawnCount(pattern, drawn)


# ---- listed


def _listed(pattern: Pattern) -> Conjunctions:
    """Every conjunction of the orbit, once."""
    constants = _injective(pattern)
    n_rows = len(constants[0]) if constants else 1
    rows = np.stack([_open_literals(pattern, literal, constants, n_rows) for literal in pattern.literals], axis=1)
    return Conjunctions(np.unique(np.sort(rows, axis=1), axis=0))


def _injective(pattern: Pattern) -> list[Int64]:
    """Values of every variable in all injective class-respecting substitutions."""
    columns: list[Int64] = []
    for variable, members in enumerate(pattern.members):
        n_rows = len(columns[0]) if columns else 1
        columns = [np.repeat(column, len(members)) for column in columns]
        columns.append(np.tile(members, n_rows))
        keep = np.ones(len(columns[0]), bool)
        for other in range(variable):
            if pattern.class_of[other] == pattern.class_of[variable]:
                keep &= columns[other] != columns[variable]
        columns = [column[keep] for column in columns]
    return columns


def _open_literals(pattern: Pattern, literal: _Literal, constants: Sequence[Int64], n_rows: int) -> Int32:
    """The literal under each substitution; it is an open atom's, since renamings preserve what is known."""
    code = _codes(pattern.problem, literal, constants, n_rows)
    number = pattern.problem.atoms.numbers(literal.predicate, code)
    return (2 * number + literal.positive).astype(np.int32)


def _codes(problem: Problem, literal: _Literal, constants: Sequence[Int64], n_rows: int) -> Int64:
    args = np.empty((n_rows, len(literal.args)), np.int64)
    for position, (moves, which) in enumerate(literal.args):
        args[:, position] = constants[which] if moves else which
    return codes(args, problem.statuses[literal.predicate].sizes)


def _named(problem: Problem, atom: int) -> tuple[str, tuple[int, ...]]:
    """Predicate and constants of an open atom."""
    at = int(np.searchsorted(problem.atoms.start, atom, side="right")) - 1
    name = problem.atoms.predicates[at]
    statuses = problem.statuses[name]
    code = statuses.unrank(np.array([atom - int(problem.atoms.start[at])], np.int64))
    return name, tuple(int(value) for value in decode(code, statuses.sizes)[0])


# ---- inclusion-exclusion


def _partitions(pattern: Pattern) -> Iterator[tuple[int, ...]]:
    """Every way to let variables of one class coincide: the block of each variable, numbered by first use."""

    def extend(blocks: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        variable = len(blocks)
        if variable == len(pattern.members):
            yield blocks
            return
        for block in range(max(blocks, default=-1) + 2):
            if block not in blocks or pattern.class_of[blocks.index(block)] == pattern.class_of[variable]:
                yield from extend((*blocks, block))

    return extend(())


def _terms(pattern: Pattern) -> Iterator[tuple[int, list[tuple[_Literal, ...]]]]:
    """Coefficient and parts (literals that share no variable with other parts) of each partition that no literal contradicts."""
    for blocks in _partitions(pattern):
        merged = {
            _Literal(q.predicate, tuple((moves, blocks[which] if moves else which) for moves, which in q.args), q.positive)
            for q in pattern.literals
        }
        if any(_Literal(q.predicate, q.args, not q.positive) in merged for q in merged):
            continue
        coefficient = 1
        for block in set(blocks):
            size = blocks.count(block)
            coefficient *= (-1) ** (size - 1) * math.factorial(size - 1)
        yield coefficient, [_canonical(part, blocks) for part in _parts(merged)]


def _parts(literals: set[_Literal]) -> list[set[_Literal]]:
    parts: list[tuple[set[int], set[_Literal]]] = []
    for literal in literals:
        variables, own = set(literal.variables), {literal}
        apart = []
        for part in parts:
            if part[0] & variables:
                variables |= part[0]
                own |= part[1]
            else:
                apart.append(part)
        parts = [*apart, (variables, own)]
    return [own for _, own in parts]


def _canonical(part: set[_Literal], blocks: tuple[int, ...]) -> tuple[_Literal, ...]:
    """A part with each block written as the first variable in it, in a fixed order, so that equal parts of two terms meet."""
    made = (
        _Literal(q.predicate, tuple((moves, blocks.index(which) if moves else which) for moves, which in q.args), q.positive)
        for q in part
    )
    return tuple(sorted(made, key=lambda q: (q.predicate, q.args, q.positive)))


def _merged_reads(pattern: Pattern) -> int:
    if len(pattern.members) > MOST_MERGED:
        return 1 << 62
    distinct = {part for _, parts in _terms(pattern) for part in parts}
    return sum(
        len(part) * math.prod(len(pattern.members[variable]) for variable in set().union(*(q.variables for q in part)))
        for part in distinct
    )


def _merged(pattern: Pattern) -> MergedCount:
    number: dict[tuple[_Literal, ...], int] = {}
    terms = []
    for coefficient, parts in _terms(pattern):
        terms.append((coefficient, tuple(number.setdefault(part, len(number)) for part in parts)))
    return MergedCount(tuple(_all_assignments(pattern, part) for part in number), tuple(terms), pattern.n_substitutions)


def _all_assignments(pattern: Pattern, part: tuple[_Literal, ...]) -> Conjunctions:
    """A part under all substitutions, injective or not; some of its atoms may then be known, and are put in."""
    variables = sorted(set().union(*(q.variables for q in part)))
    grid = np.meshgrid(*(pattern.members[v] for v in variables), indexing="ij") if variables else []
    n_rows = math.prod(len(pattern.members[v]) for v in variables)
    constants: list[Int64] = [np.zeros(0, np.int64)] * len(pattern.members)
    for variable, values in zip(variables, grid, strict=True):
        constants[variable] = values.ravel()
    entry = np.full((n_rows, len(part)), -1, np.int64)
    possible = np.ones(n_rows, bool)
    for column, literal in enumerate(part):
        code = _codes(pattern.problem, literal, constants, n_rows)
        status = pattern.problem.statuses[literal.predicate].lookup(code)
        is_open = status == UNKNOWN
        number = pattern.problem.atoms.numbers(literal.predicate, code[is_open])
        entry[is_open, column] = 2 * number + literal.positive
        possible &= is_open | ((status != FALSE) == literal.positive)
    entry = np.sort(entry[possible], axis=1)[:, ::-1]  # what is known comes last
    open_rows = entry[entry[:, 0] >= 0]
    padded = np.where(open_rows >= 0, open_rows, open_rows[:, :1])  # a literal that is repeated changes nothing
    return Conjunctions(np.ascontiguousarray(padded, dtype=np.int32), always=len(entry) - len(open_rows))


# ---- groups that are given by generators


def sequence_orbit(generators: Sequence[Int32], event: npt.NDArray[np.integer], *, most: int) -> Int32 | None:
    """Every image of an event under the group that permutations of literals generate, (n, width) literals; None beyond `most`."""
    found = {tuple(sorted(event.tolist()))}
    frontier = list(found)
    while frontier:
        fresh = []
        for conjunction, image in itertools.product(frontier, generators):
            moved = tuple(sorted(int(image[entry]) for entry in conjunction))
            if moved not in found:
                found.add(moved)
                fresh.append(moved)
                if len(found) > most:
                    return None
        frontier = fresh
    return np.array(sorted(found), np.int32)
