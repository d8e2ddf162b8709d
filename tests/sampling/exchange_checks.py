"""What the tests of exchanges share: problems with evidence in the way, random networks on their atoms, and explicit kernels."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
from tests.oracle.worlds import Worlds
from tests.sampling.gibbs_checks import packed, unpacked

from markovlogic.data.evidence import decode
from markovlogic.kernels.exchange import N_COUNTS, propose, settle
from markovlogic.language.syntax import Model
from markovlogic.methods.sampling.exchanges import atom_table, constant_offsets, surroundings, work_for
from markovlogic.networks.ground import GroundNetwork
from markovlogic.problem import Problem, pose
from markovlogic.problem.model import Model as ModelOfText

Floats = npt.NDArray[np.float64]

# three people, unary and binary open atoms; the evidence leaves nine to eleven of them open
PEOPLE = """\
person = {A, B, C}
thing = {X, Y}
S(person)
F(person, person)
H(person, thing)
Flag
1 S(x) ^ F(x, y) => S(y)
1 H(x, t) v Flag
"""
EVIDENCE = {
    "scattered": "F(A,B)\n!F(B,C)\nF(C,C)\nH(A,X)\n!H(B,Y)\nH(C,X)\nS(C)\nH(A,Y)\n",
    "a row": "F(A,A)\nF(A,B)\nF(A,C)\n!H(A,X)\n!H(A,Y)\n!H(B,X)\nS(A)\n",
    "unknown in a closed world": "?F(A,B)\n?F(B,A)\n?F(B,C)\n?F(C,C)\nF(C,A)\nH(A,X)\nH(B,X)\n",
}


def prepared(facts: str, tmp_path, text: str = PEOPLE, query: str = "S") -> Problem:
    """A problem of that evidence; F is open unless its evidence holds a `?`."""
    model: Model = ModelOfText.parse(text)
    path = tmp_path / "facts.db"
    path.write_text(facts)
    return pose(model, model.evidence(str(path)), query, open_=() if "?" in facts or text != PEOPLE else ("F", "H"))


def transpositions(problem: Problem) -> list[tuple[int, int]]:
    """All pairs of constants of one type, as numbers over all types."""
    found = []
    for type_name, offset in constant_offsets(problem).items():
        members = range(offset, offset + len(problem.domains[type_name]))
        found += list(combinations(members, 2))
    return found


def slow_image(problem: Problem, network: GroundNetwork, pairs: list[tuple[int, int]]) -> list[int]:
    """Where each open atom goes, by substituting names one atom at a time; atoms that may not change places stay."""
    offsets = constant_offsets(problem)
    image_of = {}
    for one, other in pairs:
        image_of[one], image_of[other] = other, one
    number = {}
    atoms = []
    for name in problem.atoms.predicates:
        types = problem.model.predicates[name].types
        for code in problem.atoms.codes(name):
            args = tuple(
                offsets[t] + int(c) for t, c in zip(types, decode(np.array([code]), problem.statuses[name].sizes)[0], strict=True)
            )
            number[name, args] = len(atoms)
            atoms.append((name, args))
    images = []
    for atom, (name, args) in enumerate(atoms):
        other = number.get((name, tuple(image_of.get(c, c) for c in args)))
        free = other is not None and np.isfinite(network.atom_bias[[atom, other]]).all()
        images.append(other if other is not None and free else atom)
    return images


class Kernel:
    """The proposal of one involution in all worlds at once, 64 of them a call."""

    def __init__(self, problem: Problem, network: GroundNetwork) -> None:
        self.table, self.net, self.network = atom_table(problem, network), surroundings(network), network

    def proposals(self, worlds: Worlds, pairs: list[tuple[int, int]]) -> tuple[npt.NDArray[np.int64], Floats]:
        """For every world the world that the involution makes of it, and the probability that it is accepted."""
        work = work_for(self.net, len(self.table.holder_start) - 1, len(pairs))
        n = len(worlds.world)
        target, chance = np.arange(n), np.zeros(n)
        power = 1 << np.arange(self.network.n_atoms)
        for begin in range(0, n, 64):
            part = worlds.world[begin : begin + 64]
            world = packed(part)
            work.twin[:] = world
            for at, (one, other) in enumerate(pairs):
                work.image[one], work.image[other] = other, one
                work.touched[2 * at : 2 * at + 2] = one, other
            counts = np.zeros(N_COUNTS, np.int64)
            n_changed, _, possible = propose(self.table, self.net, world, work, 2 * len(pairs), counts)
            made = unpacked(work.twin, len(part))
            target[begin : begin + 64] = made[:, : self.network.n_atoms] @ power
            np.testing.assert_array_equal(made, worlds.world[target[begin : begin + 64]])  # hidden atoms too
            allowed = unpacked(np.array([possible], np.uint64), len(part))[:, 0]
            chance[begin : begin + 64] = (
                np.where(allowed, np.exp(np.minimum(0.0, work.delta[: len(part)])), 0.0) if n_changed else 1.0
            )
            settle(world, work, n_changed, 2 * len(pairs), np.uint64(0))
            np.testing.assert_array_equal(world, packed(part))
            np.testing.assert_array_equal(work.twin, world)
            assert (work.image == np.arange(len(work.image))).all()
        return target, chance


def after_one_move(worlds: Worlds, target: npt.NDArray[np.int64], chance: Floats) -> Floats:
    """What one move makes of the target distribution."""
    p = worlds.probability
    after = p * (1 - chance)
    np.add.at(after, target, p * chance)
    return after
