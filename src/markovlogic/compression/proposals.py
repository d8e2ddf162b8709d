"""Where lifted Metropolis-Hastings gets its classes of constants from, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from markovlogic.compression.base import seeded
from markovlogic.compression.block_network import block_network
from markovlogic.compression.block_states import Reading
from markovlogic.compression.evidence_factors import BMF
from markovlogic.compression.osa import unary_classes
from markovlogic.compression.partition import partition_of
from markovlogic.compression.purposes import TO_PROPOSE, refuse_unused
from markovlogic.compression.table import compressor_named
from markovlogic.errors import InputError, nearest
from markovlogic.networks.counts import BlockNetwork
from markovlogic.problem import Problem
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.symmetry.base import ConstantClasses
from markovlogic.symmetry.find import SymmetryFinder

if TYPE_CHECKING:
    from markovlogic.compression.base import Compressor

TOLERANCE, ROUNDS = 1.0, 2  # of colours: counts that differ by less than a factor of two may have one colour


def proposal_classes(problem: Problem, source: str | Compressor) -> ConstantClasses:
    """Classes by name, or those of a compressor."""
    if not isinstance(source, str):
        refuse_unused(source, TO_PROPOSE)
        return source.classes(problem)
    sources: dict[str, Callable[[Problem], ConstantClasses]] = {
        "unary": unary_classes,
        "twins": lambda problem: SymmetryFinder(problem).classes,
        "bmf": BMF().classes,
        "kmeans": lambda problem: compressor_named("kmeans").classes(problem),
        "colours": colour_classes,
    }
    if source not in sources:
        raise InputError(
            f"unknown source of proposals {source!r}", hint=nearest(source, sources) or f"known are {', '.join(sources)}"
        )
    return sources[source](problem)


def seeded_source(source: Any, seed: int | None) -> Any:
    """The source with the seed of the run, where it is a compressor that draws, by name or by itself, and has none of its own."""
    if source == "kmeans" and seed is not None:
        source = compressor_named(source)
    return seeded(source, seed)


def summary_of(classes: ConstantClasses) -> str:
    """What proposes, in one sentence."""
    sizes = ((of, classes.n_classes(of), len(own)) for of, own in classes.class_of.items())
    shares = [f"{n:,} {'class' if n == 1 else 'classes'} for {every:,} of {of}" for of, n, every in sizes if n < every]
    found = ", ".join(shares) or "no two objects are in one class"
    return f"{classes.source}: {found}; classes only propose, the target is the original model"


def count_network(problem: Problem, classes: ConstantClasses) -> BlockNetwork:
    """Counts of true atoms in blocks of these classes, as a proposal: what it says of a world need not be right."""
    partition = partition_of(problem, classes.class_of, classes.source)
    return block_network(PreparedProblem(problem), partition, Reading("count", "split", split=True), proposes=True)


def colour_classes(problem: Problem, *, tolerance: float = TOLERANCE, rounds: int = ROUNDS) -> ConstantClasses:
    """Colours of the constants after a few rounds of refinement that compare counts roughly."""
    from markovlogic.symmetry.refinement import refine_evidence

    return refine_evidence(problem, tolerance=tolerance, most_rounds=rounds)
