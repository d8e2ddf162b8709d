"""Groups of permutations of the open atoms: all permutations inside classes of constants, and groups given by generators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from markovlogic.data.evidence import decode
from markovlogic.problem import Problem
from markovlogic.symmetry.base import AtomGroup, ConstantClasses, OrbitPartition
from markovlogic.symmetry.orbits import check_atoms, orbits_by_generators, orbits_by_key
from markovlogic.system.arrays import Int32, Int64
from markovlogic.system.checkpoint_validation import require_permutations

LEAST_SLOTS = 10
BURN_IN = 60  # steps of product replacement at least, papers.md 3.7
STEPS_A_SLOT = 8  # and so many for each slot, since every slot must have met the others


class ProductReplacement:
    """Slots that hold a generating set are multiplied into each other at random.

    After Celler, Leedham-Green, Murray, Niemeyer and O'Brien (1995), with the accumulator ("rattle") of Leedham-Green and
    Murray, which removes most of the bias of the slots themselves. The whole state is `rows`, the slots and then the rattle,
    which steps change in place: a chain that needs an element a draw keeps it, since a burn-in costs a hundred steps.
    """

    def __init__(self, rows: Int32) -> None:
        self.rows = rows

    @classmethod
    def begun(cls, generators: Sequence[Int32], n_points: int, rng: np.random.Generator) -> ProductReplacement:
        """A walk, burnt in."""
        n_slots = slots_for(generators)
        rows = np.empty((n_slots + 1, n_points), np.int32)
        for k in range(n_slots):
            rows[k] = generators[k % len(generators)]
        rows[-1] = np.arange(n_points)
        walk = cls(rows)
        for _ in range(max(BURN_IN, STEPS_A_SLOT * n_slots) if generators else 0):
            walk.step(rng)
        return walk

    def step(self, rng: np.random.Generator) -> Int32:
        """The next element."""
        slots: Int32 = self.rows[:-1]
        rattle: Int32 = self.rows[-1]
        n_slots = len(slots)
        if n_slots:
            i = int(rng.integers(n_slots))
            j = int(rng.integers(n_slots - 1))
            j += j >= i
            other = slots[j] if rng.integers(2) else inverse(slots[j])
            one = slots[i]
            # images compose as (first p, then q) = q[p]
            slots[i] = other[one] if rng.integers(2) else one[other]
            rattle[:] = slots[i][rattle] if rng.integers(2) else rattle[slots[i]]
        return rattle.copy()

    def check(self) -> None:
        """Rows that were read back are permutations."""
        require_permutations(self.rows, "walk in the group")


def slots_for(generators: Sequence[Int32]) -> int:
    """At least one slot beyond the generators: without room to spare some groups' walks are not connected."""
    return max(LEAST_SLOTS, len(generators) + 1) if generators else 0


def inverse(image: Int32) -> Int32:
    """The permutation that undoes another."""
    back = np.empty_like(image)
    back[image] = np.arange(len(image), dtype=image.dtype)
    return back


NO_MEMORY = np.zeros(0, np.int32)


class OpenAtoms:
    """How renamings of constants move the open atoms."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.n_atoms = check_atoms(problem)
        self._args: dict[str, Int32] = {}

    def induced(self, renaming: Mapping[str, Int32]) -> Int32:
        """What a renaming {type: images of its constants} does to the open atoms, (n_atoms,) images.

        It must preserve the statuses; types that are not mentioned stay as they are.
        """
        image = np.arange(self.n_atoms, dtype=np.int32)
        for name in self.problem.atoms.predicates:
            numbers = self.problem.atoms.range_of(name)
            types = self.problem.model.predicates[name].types
            if not len(numbers) or not any(t in renaming for t in types):
                continue
            args, statuses = self._open_args(name), self.problem.statuses[name]
            code = np.zeros(len(numbers), np.int64)
            for position, (type_name, size) in enumerate(zip(types, statuses.sizes, strict=True)):
                code *= size
                constant = args[:, position]
                code += renaming[type_name][constant] if type_name in renaming else constant
            image[numbers.start : numbers.stop] = self.problem.atoms.numbers(name, code)
        return image

    def _open_args(self, name: str) -> Int32:
        if name not in self._args:
            self._args[name] = decode(self.problem.atoms.codes(name), self.problem.statuses[name].sizes)
        return self._args[name]


class RenamingGroup(AtomGroup):
    """All renamings of constants that stay inside sound classes: a product of symmetric groups, sampled uniformly.

    Elements are given as permutations of the open atoms, or of the constants (`renaming`, `induced`).
    """

    def __init__(self, problem: Problem, classes: ConstantClasses) -> None:
        if not classes.sound:
            raise ValueError(
                f"classes by {classes.source} do not come from a group: their permutations need not keep the evidence"
            )
        self.problem = problem
        self.classes = classes
        self._atoms = OpenAtoms(problem)
        self._members = {type_name: _classes_with_several(of) for type_name, of in classes.class_of.items()}
        self._orbits: OrbitPartition | None = None

    @property
    def n_atoms(self) -> int:
        """How many open atoms it acts on."""
        return self._atoms.n_atoms

    @property
    def is_trivial(self) -> bool:
        """Whether no two constants are interchangeable."""
        return not any(self._members.values())

    def renaming(self, rng: np.random.Generator) -> dict[str, Int32]:
        """A uniform element as a permutation of each type's constants: Fisher-Yates inside each class."""
        made = {}
        for type_name, classes in self._members.items():
            image = np.arange(len(self.classes.class_of[type_name]), dtype=np.int32)
            for members in classes:
                image[members] = rng.permutation(members)
            made[type_name] = image
        return made

    def induced(self, renaming: Mapping[str, Int32]) -> Int32:
        """What a renaming does to the open atoms, (n_atoms,) images; it must preserve the statuses, as those of the group do."""
        return self._atoms.induced({t: image for t, image in renaming.items() if self._members[t]})

    def sample(self, rng: np.random.Generator) -> Int32:
        """A uniform group element as an array of images, (n_atoms,)."""
        return self.induced(self.renaming(rng))

    def memory(self, rng: np.random.Generator) -> Int32:
        """Every element is drawn afresh."""
        return NO_MEMORY.copy()

    def next_literals(self, rng: np.random.Generator, memory: Int32) -> Int32:
        """A uniform element as images of the positive literals, (n_atoms,)."""
        return 2 * self.sample(rng) + 1

    def check(self, memory: Int32) -> None:
        """There is nothing to be wrong."""

    def orbits(self) -> OrbitPartition:
        """The orbits of single atoms, by key."""
        if self._orbits is None:
            self._orbits = orbits_by_key(self.problem, self.classes)
        return self._orbits


def _classes_with_several(class_of: Int32) -> list[Int64]:
    """Members of each class that has more than one."""
    several = np.flatnonzero(np.bincount(class_of, minlength=1)[class_of] > 1)
    several = several[np.argsort(class_of[several], kind="stable")]
    ends = np.flatnonzero(np.diff(class_of[several])) + 1
    return [members for members in np.split(several, ends) if len(members)]


class GeneratedGroup(AtomGroup):
    """The group that some permutations of the open atoms generate, each an array of images.

    Elements are drawn by product replacement with a rattle, nearly uniform: `sample` starts it anew every time, so that it
    depends on nothing but the generator of random numbers; a chain that needs many elements keeps the walk's `memory`.
    """

    def __init__(self, generators: Sequence[Int32], n_atoms: int, source: str = "generators") -> None:
        identity = np.arange(n_atoms, dtype=np.int32)
        self._n_atoms = n_atoms
        self.source = source
        kept = []
        for image in generators:
            if image.shape != (n_atoms,) or not np.array_equal(np.sort(image), identity):
                raise ValueError(f"a generator is not a permutation of {n_atoms} atoms")
            if not np.array_equal(image, identity):
                kept.append(image.astype(np.int32))
        self.generators: tuple[Int32, ...] = tuple(kept)
        self._orbits: OrbitPartition | None = None

    @property
    def n_atoms(self) -> int:
        """How many open atoms it acts on."""
        return self._n_atoms

    @property
    def is_trivial(self) -> bool:
        """Whether it holds nothing but the identity."""
        return not self.generators

    def walk(self, rng: np.random.Generator) -> ProductReplacement:
        """A stream of elements, burnt in."""
        return ProductReplacement.begun(self.generators, self._n_atoms, rng)

    def sample(self, rng: np.random.Generator) -> Int32:
        """A nearly uniform group element as an array of images, (n_atoms,)."""
        return self.walk(rng).step(rng)

    def memory(self, rng: np.random.Generator) -> Int32:
        """The walk's rows."""
        return self.walk(rng).rows.reshape(-1)

    def next_literals(self, rng: np.random.Generator, memory: Int32) -> Int32:
        """The walk's next element as images of the positive literals, (n_atoms,)."""
        return 2 * self._continued(memory).step(rng) + 1

    def check(self, memory: Int32) -> None:
        """Every row is a permutation of the atoms."""
        self._continued(memory).check()

    def _continued(self, memory: Int32) -> ProductReplacement:
        return ProductReplacement(memory.reshape(slots_for(self.generators) + 1, self._n_atoms))

    def orbits(self) -> OrbitPartition:
        """The orbits of single atoms, by union of the generators' cycles."""
        if self._orbits is None:
            self._orbits = orbits_by_generators(self.generators, self._n_atoms, self.source)
        return self._orbits

    def literal_generators(self) -> list[Int32]:
        """As images of literals."""
        return [np.stack([2 * image, 2 * image + 1], axis=1).ravel() for image in self.generators]
