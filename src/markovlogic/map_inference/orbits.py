"""The linear program by kinds of atoms and clauses: of a ground network by its colours, or of a problem that is never ground.

Where its solution is a world, that world treats atoms of a kind alike, and none weighs more; elsewhere it is a bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from markovlogic.errors import UnsupportedError
from markovlogic.map_inference.integer_program import Program, ProgramResult
from markovlogic.methods.messages.lifting import Lifted, lift, quotient
from markovlogic.methods.messages.orbits import TooManyError
from markovlogic.networks.ground import GroundNetwork
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.symmetry.refinement import refine_network
from markovlogic.system.arrays import Bool, Int32, Int64

WORTH_IT = 4  # so many atoms for a colour, or constants for a class, at least


@dataclass(frozen=True, eq=False)
class NetworkKinds:
    """What the linear program by colours says of a network."""

    world: Bool | None  # (n_all,)
    bound: float
    is_optimal: bool


def solve_by_colours(network: GroundNetwork) -> NetworkKinds | None:
    """The program of a network's colours; None where they are too many to be of use."""
    colours = refine_network(network)
    n_colours = int(colours.atom.max(initial=-1)) + 1
    if n_colours * WORTH_IT > network.n_all:
        return None
    program = Program(quotient(network, colours.atom, colours.clause))
    if not program.solve_linear():
        return NetworkKinds(None, -np.inf, True)
    found = program.result()
    world = None if found.world is None else found.world[colours.atom]
    return NetworkKinds(world, found.bound, found.is_optimal)


@dataclass(frozen=True, eq=False)
class ProblemKinds:
    """What the program by classes of constants says of a problem of which nothing is ground."""

    result: ProgramResult
    lifted: Lifted

    def truth(self, number: Int64) -> Bool:
        """Values of open atoms, given by their numbers in the problem."""
        assert self.result.world is not None
        return self.result.world[self.lifted.nodes(number)]


def solve_by_classes(prepared: PreparedProblem, class_of: Mapping[str, Int32]) -> ProblemKinds | str:
    """Solve a problem by classes of constants that the evidence does not distinguish; or why that cannot be."""
    sizes, n_classes = sum(map(len, class_of.values())), sum(int(own.max(initial=-1)) + 1 for own in class_of.values())
    if n_classes * WORTH_IT > sizes:
        return f"{sizes:,} constants fall into {n_classes:,} classes"
    try:
        rules = prepared.written_as_rules
        lifted = lift(rules.problem, rules.lowered, class_of)
    except TooManyError as refusal:
        return str(refusal)
    except UnsupportedError as refusal:
        return refusal.faults[0].message
    return ProblemKinds(Program(lifted.graph).solve_lifted(), lifted)
