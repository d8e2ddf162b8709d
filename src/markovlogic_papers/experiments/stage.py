"""A generated problem, prepared and grounded: every experiment starts from one."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from markovlogic.generate import make, write
from markovlogic.language.syntax import Rule
from markovlogic.methods.sampling.base import Target
from markovlogic.networks.ground import GroundNetwork
from markovlogic.problem import Problem
from markovlogic.problem.prepare import PreparedProblem, prepare_problem
from markovlogic.symmetry.find import SymmetryFinder
from markovlogic.system.arrays import Int8
from markovlogic.system.progress import SILENT, Progress
from markovlogic.system.temporary import TemporaryFolder


@dataclass(frozen=True, eq=False)
class Stage:
    """A problem and its network."""

    prepared: PreparedProblem
    network: GroundNetwork

    @property
    def problem(self) -> Problem:
        """The model, the evidence and the query."""
        return self.prepared.problem

    @property
    def target(self) -> Target:
        """What chains are to sample."""
        return Target(self.problem, self.network, SymmetryFinder(self.problem, self.network))

    def statuses(self, predicate: str) -> Int8:
        """What is known about all ground atoms of a predicate, shaped by its arguments; only for small domains."""
        statuses = self.problem.statuses[predicate]
        return statuses.lookup(np.arange(statuses.n_ground, dtype=np.int64)).reshape(statuses.sizes)

    def open_values(self, values: dict[str, npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        """One probability for every open atom, picked from arrays over all ground atoms of each predicate."""
        found = np.empty(len(self.problem.atoms))
        for name in self.problem.atoms.predicates:
            numbers = self.problem.atoms.range_of(name)
            if len(numbers):
                found[numbers.start : numbers.stop] = values[name].ravel()[self.problem.atoms.codes(name)]
        return np.clip(found, 0.0, 1.0)  # sums of shares may round to beyond


def set_stage(name: str, size: int, evidence: float, seed: int, *, variant: str = "", progress: Progress = SILENT) -> Stage:
    """Generate a problem of a family, pose its suggested query and ground it."""
    from markovlogic.grounding.ground import ground

    made = make(name, size, evidence, seed, variant=variant)
    with TemporaryFolder("markovlogic-") as folder:
        rules, facts = write(made, folder)
        prepared = prepare_problem(rules, [facts], made.query, progress=progress)
    return Stage(prepared, ground(prepared.problem, prepared.lowered, progress=progress))


def with_problem(stage: Stage, problem: Problem, *, progress: Progress = SILENT) -> Stage:
    """The same model under other evidence."""
    from markovlogic.grounding.ground import ground

    prepared = replace(stage.prepared, problem=problem)
    return Stage(prepared, ground(problem, prepared.lowered, progress=progress))


def with_rules(stage: Stage, rules: tuple[Rule, ...]) -> Stage:
    """The same evidence under other rules."""
    from markovlogic.grounding.ground import ground

    problem = stage.problem
    prepared = PreparedProblem(replace(problem, model=replace(problem.model, rules=rules)))
    return Stage(prepared, ground(prepared.problem, prepared.lowered))


def learned_stage(pages: int, data: str, seed: int, *, progress: Progress = SILENT) -> Stage:
    """Page classes of a part of the WebKB benchmark under all its words and links, with weights learned on another part."""
    from markovlogic.grounding.ground import ground
    from markovlogic_papers.experiments.preprocessing import TaskScale, task_of

    task = task_of("webkb", TaskScale((pages, 0, 0), (pages, 0, 0), 1, data=data), seed)
    return Stage(task.prepared, ground(task.prepared.problem, task.prepared.lowered, progress=progress))


@dataclass(frozen=True, eq=False)
class Orbits:
    """A partition of the open atoms into atoms of equal marginal, and the seconds that finding it took."""

    orbit_of: npt.NDArray[np.int32]
    seconds: float
    how: str

    @property
    def size(self) -> npt.NDArray[np.int64]:
        """Atoms in each orbit."""
        return np.bincount(self.orbit_of).astype(np.int64)

    def average(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Each atom's value replaced by the mean over its orbit ([003] Eq. 2 for single variables); values: (n_atoms, ...)."""
        flat = values.reshape(len(values), -1)
        size = self.size
        means = np.stack([np.bincount(self.orbit_of, column) / size for column in flat.T], axis=1)
        return np.clip(means, 0.0, 1.0)[self.orbit_of].reshape(values.shape)  # a mean of ones may round to above 1


def renaming_orbits(problem: Problem) -> Orbits:
    """Orbits under renamings of interchangeable constants, found from model and evidence alone."""
    begun = time.process_time()
    partition = SymmetryFinder(problem).twins.orbits
    return Orbits(partition.orbit_of, time.process_time() - begun, "renamings")


def network_orbits(stage: Stage, *, budget_seconds: float = 30.0) -> Orbits | None:
    """Orbits under all automorphisms of the ground network, exchanges of values left out; None where the search did not end."""
    from markovlogic.networks.ground import network_of
    from markovlogic.symmetry.automorphisms import network_automorphisms

    network_automorphisms(network_of(3, [(1.0, [1, 2]), (1.0, [1, 4])]))  # compiles what the search needs
    begun = time.process_time()
    found = SymmetryFinder(stage.problem, stage.network, budget_seconds=budget_seconds).found("automorphisms")
    if found.notes:
        return None
    return Orbits(found.orbits.orbit_of, time.process_time() - begun, "automorphisms of the ground network")
