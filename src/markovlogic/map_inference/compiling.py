"""The first use of the kernels on a machine: they are compiled, with a line that says so."""

from __future__ import annotations

import numpy as np

from markovlogic.map_inference.roof import roof
from markovlogic.map_inference.search import search
from markovlogic.map_inference.settings import SearchSettings
from markovlogic.networks.ground import network_of
from markovlogic.system.cancellation import current
from markovlogic.system.gc_control import without_collection
from markovlogic.system.progress import Progress

KERNELS = (
    "maxwalksat:max_walk",
    "flow:augment",
    "flow:reached",
    "flow:strong_components",
    "hidden:compute_hidden",
    "hidden:collect_reach",
)


def compile_kernels(progress: Progress) -> None:
    """Compile what was not yet; the time does not count."""
    from markovlogic.kernels import are_cold

    if not are_cold(KERNELS):
        return
    progress.stage("compile kernels (once on this machine, some 5 to 15 s)")
    with current().paused(), without_collection():
        # two atoms that the flow leaves undecided; an atom, a group and a hidden atom that depend on each other
        roof(network_of(2, [(1.0, [0, 2]), (1.0, [1, 3]), (1.0, [0, 3]), (1.0, [1, 2])]))
        small = network_of(4, [(1.0, [0, 8]), (2.0, [1, 3])], bias={2: 0.5}, groups=[[1, 2]], definitions=[[1, 3, 6]])
        search(small, [np.array([0, 1, 0, 0, 1], np.uint8)], SearchSettings(tries=1, flips=2))
