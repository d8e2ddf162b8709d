"""The 2-colouring grids of [003] Fig. 2(e, f): their symmetries are those of the square."""

from __future__ import annotations

import time

import numpy as np

from markovlogic.experiments.stage import Orbits, Stage


def square_orbits(stage: Stage) -> Orbits:
    """Orbits of the sites under rotations and reflections; the names of the sites tell their rows and columns."""
    begun = time.perf_counter()
    names = stage.problem.domains["site"].names
    place = np.array([[int(number) for number in name[1:].split("_")] for name in names])
    last = int(place.max())
    row, column = place.T
    images = []
    for r, c in ((row, column), (column, row)):
        images += [(r, c), (last - r, c), (r, last - c), (last - r, last - c)]
    smallest = np.min([r * (last + 1) + c for r, c in images], axis=0)
    label = smallest[stage.problem.atoms.codes("Red")]
    return Orbits(
        np.unique(label, return_inverse=True)[1].astype(np.int32), time.perf_counter() - begun, "rotations, reflections"
    )
