"""Orbits of atoms and of sequences of atoms.

Under a product of symmetric groups on classes of constants, two atoms lie in one orbit iff they agree in predicate, in the class
of each argument, and in which arguments are equal (papers.md 3.6); so orbits are keys and nothing is searched. Under a
group that is given by generators they are the connected components of "some generator maps one to the other".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import UNKNOWN, codes, decode
from markovlogic.errors import ResourceError
from markovlogic.networks.components import connected_parts
from markovlogic.problem import Problem
from markovlogic.symmetry.base import ConstantClasses, OrbitPartition
from markovlogic.system.arrays import Int32, Int64, frozen

MOST_KEY = 1 << 62
MOST_ATOMS = np.iinfo(np.int32).max
MANY = 200_000  # labels from which loading a kernel is quicker than sorting them


def check_atoms(problem: Problem) -> int:
    """How many open atoms there are; refuses where a list of them would not be numbered in 32 bits."""
    n_atoms = len(problem.atoms)
    if n_atoms > MOST_ATOMS:
        raise ResourceError(
            f"the problem has {n_atoms:,} open atoms; their orbits can be counted, but at most {MOST_ATOMS:,} can be listed",
            needed=n_atoms,
            limit=MOST_ATOMS,
        )
    return n_atoms


def partition(label: npt.NDArray[np.integer], source: str) -> OrbitPartition:
    """Atoms with equal labels (not negative) as a partition."""
    orbit_of, size = _numbered(label.astype(np.int64, copy=False))
    frozen((orbit_of, size))
    return OrbitPartition(orbit_of, size, source)


def _numbered(label: Int64) -> tuple[Int32, Int64]:
    """Part of each label, parts numbered by first member; and the sizes of the parts."""
    if len(label) > MANY and int(label.max()) < 8 * len(label):
        from markovlogic.kernels.part_numbers import number_parts

        return number_parts(label, int(label.max()) + 1)  # type: ignore[no-any-return]
    _, first, inverse, count = np.unique(label, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    rank = np.empty(len(first), np.int32)
    rank[order] = np.arange(len(first), dtype=np.int32)
    return rank[inverse], count[order].astype(np.int64)


def orbits_by_key(problem: Problem, classes: ConstantClasses) -> OrbitPartition:
    """The orbits of the open atoms under all permutations inside the classes (which must be sound)."""
    if not classes.sound:
        raise ValueError(f"classes by {classes.source} do not come from a group: their permutations need not keep the evidence")
    label = np.empty(check_atoms(problem), np.int64)
    used = 0
    for name in problem.atoms.predicates:
        numbers = problem.atoms.range_of(name)
        if len(numbers):
            args = decode(problem.atoms.codes(name), problem.statuses[name].sizes)
            key = _keys(args, problem.model.predicates[name].types, classes)
            label[numbers.start : numbers.stop] = key + used
            used += int(key.max()) + 1
    return partition(label, classes.source)


def orbits_by_generators(generators: Iterable[Int32], n_atoms: int, source: str) -> OrbitPartition:
    """The orbits of the group that some permutations generate, each an array of images."""
    source_atoms, target_atoms = [], []
    for image in generators:
        moved = np.flatnonzero(image != np.arange(n_atoms, dtype=np.int32))
        source_atoms.append(moved)
        target_atoms.append(image[moved])
    if not source_atoms or not n_atoms:
        return partition(np.arange(n_atoms), source)
    rows, columns = np.concatenate(source_atoms), np.concatenate(target_atoms)
    return partition(connected_parts(n_atoms, rows, columns)[1], source)


def _keys(args: Int32, types: Sequence[str], classes: ConstantClasses) -> Int64:
    """A number for each tuple of constants: equal iff classes and equalities agree."""
    key = np.zeros(len(args), np.int64)
    bound = 1

    def append(digit: npt.NDArray[np.integer], radix: int) -> None:
        nonlocal key, bound
        if bound * radix > MOST_KEY // 2:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            bound = int(key.max(initial=0)) + 1
        key = key * radix + digit
        bound *= radix

    for position, type_name in enumerate(types):
        append(classes.class_of[type_name][args[:, position]], max(classes.n_classes(type_name), 1))
    for position, type_name in enumerate(types):
        earlier = [other for other in range(position) if types[other] == type_name]
        if earlier:  # the first place that holds the same constant shows all equalities
            first = np.zeros(len(args), np.int64)
            for rank, other in reversed(list(enumerate(earlier))):
                first[args[:, other] == args[:, position]] = rank + 1
            append(first, len(earlier) + 1)
    if bound > MOST_KEY // 1024:
        key = np.unique(key, return_inverse=True)[1].astype(np.int64)
    return key


# ---- orbits without a list of atoms


@dataclass(frozen=True, eq=False)
class OrbitKeys:
    """The orbits of one predicate's open atoms, without a list of these atoms."""

    predicate: str
    example: Int64  # (n_orbits,) code of one atom of each orbit
    size: Int64  # (n_orbits,) how many atoms it has


def orbit_keys(problem: Problem, classes: ConstantClasses) -> tuple[OrbitKeys, ...]:
    """The orbits of every predicate with open atoms, in time that grows with the orbits where these are fewer than the atoms."""
    found = []
    for name, statuses in problem.statuses.items():
        if not statuses.n_open:
            continue
        types = problem.model.predicates[name].types
        n_keys = 1
        for type_name in types:
            n_keys *= classes.n_classes(type_name)
        if n_keys * 2 ** len(types) < statuses.n_open:
            found.append(_keys_by_class(problem, name, classes))
        else:
            found.append(_keys_by_atom(problem, name, classes))
    return tuple(found)


def _keys_by_atom(problem: Problem, name: str, classes: ConstantClasses) -> OrbitKeys:
    code = problem.atoms.codes(name)
    key = _keys(decode(code, problem.statuses[name].sizes), problem.model.predicates[name].types, classes)
    orbit_of, size = _numbered(key)
    first = np.empty(len(size), np.int64)
    first[orbit_of[::-1]] = code[::-1]  # the last one written stays, so the first atom of each orbit
    return OrbitKeys(name, first, size)


def _keys_by_class(problem: Problem, name: str, classes: ConstantClasses) -> OrbitKeys:
    """One atom for every way to choose classes and equalities; the size is a product of falling factorials."""
    types = problem.model.predicates[name].types
    statuses = problem.statuses[name]
    members = {type_name: _first_members(classes.class_of[type_name], len(types)) for type_name in set(types)}
    codes_found, sizes_found = [], []
    for pattern in _equality_patterns(types):
        n_blocks = max(pattern, default=-1) + 1
        block_type = [types[pattern.index(block)] for block in range(n_blocks)]
        ranges = [np.arange(classes.n_classes(of)) for of in block_type]
        grid = (
            np.stack([g.ravel() for g in np.meshgrid(*ranges, indexing="ij")], axis=1) if ranges else np.zeros((1, 0), np.int64)
        )
        size = np.ones(len(grid), np.int64)
        chosen = np.zeros((len(grid), n_blocks), np.int64)
        for block, of in enumerate(block_type):
            first, count = members[of]
            before = np.zeros(len(grid), np.int64)  # earlier blocks that take a constant of the same class
            for other in range(block):
                if block_type[other] == of:
                    before += grid[:, other] == grid[:, block]
            size *= np.maximum(count[grid[:, block]] - before, 0)
            chosen[:, block] = first[grid[:, block], np.minimum(before, first.shape[1] - 1)]
        keep = size > 0
        args = chosen[keep][:, list(pattern)]
        codes_found.append(codes(args.reshape(int(keep.sum()), len(types)), statuses.sizes))
        sizes_found.append(size[keep])
    code, size = np.concatenate(codes_found), np.concatenate(sizes_found)
    is_open = statuses.lookup(code) == UNKNOWN
    code, size = code[is_open], size[is_open]
    order = np.argsort(code, kind="stable")
    return OrbitKeys(name, code[order], size[order])


def _first_members(class_of: Int32, most: int) -> tuple[Int64, Int64]:
    """The first few members of each class, (n_classes, most), the last one repeated; and the sizes of the classes."""
    order = np.argsort(class_of, kind="stable")
    count = np.bincount(class_of).astype(np.int64)
    start = np.cumsum(count) - count
    offset = np.minimum(np.arange(most)[None, :], count[:, None] - 1)
    return order[start[:, None] + offset].astype(np.int64), count


def _equality_patterns(types: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Every way to say which arguments are equal: block of each position, blocks numbered by first use, one type a block."""
    for pattern in itertools.product(*(range(position + 1) for position in range(len(types)))):
        blocks: list[str] = []
        for block, type_name in zip(pattern, types, strict=True):
            if block > len(blocks) or (block < len(blocks) and blocks[block] != type_name):
                break
            if block == len(blocks):
                blocks.append(type_name)
        else:
            yield pattern
