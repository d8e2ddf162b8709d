"""The first use of a method's kernels on a machine: they are compiled, with a line that says so."""

import time

import numpy as np

from markovlogic.kernels import are_cold
from markovlogic.methods.sampling.base import Sampler
from markovlogic.system.gc_control import without_collection
from markovlogic.system.progress import Progress, Silent


def warm_up(sampler: Sampler, progress: Progress | Silent) -> float:
    """Compile what the sampler needs, if it has not been yet; returns the seconds that this took.

    The compiler makes millions of objects that live until it is done; looking for garbage among them, again and again, takes a
    tenth of the time.
    """
    begun = time.perf_counter()
    if not are_cold(sampler.kernel_modules):
        return 0.0
    progress.stage("compile kernels (once on this machine, some 5 to 25 s)")
    with without_collection():
        sampler.step(sampler.init(np.random.SeedSequence(0)), 1)
    return time.perf_counter() - begun
