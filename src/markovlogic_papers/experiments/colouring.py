"""The 2-colouring grids of [003] Fig. 2(e, f)."""

from __future__ import annotations

from markovlogic.errors import ResourceError
from markovlogic.system.progress import SILENT, Progress
from markovlogic_papers.experiments.follow import ORBIT
from markovlogic_papers.experiments.stage import Orbits, Stage, network_orbits


def grid_orbits(stage: Stage, progress: Progress = SILENT) -> dict[str, Orbits]:
    """Orbits of the sites under the rotations and reflections of the square, found by a search on the ground network as in [003].

    The exchange of the two colours is left out, because the paper left it out: with it every estimate is 1/2 at once.
    """
    progress.stage("symmetry")
    found = network_orbits(stage, budget_seconds=120)
    if found is None:
        raise ResourceError("the search for the grid's symmetries did not end within two minutes; try a smaller grid")
    return {ORBIT: found}
