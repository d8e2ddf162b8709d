"""What a compression puts in place of a problem, and the way back to the original query."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from markovlogic.methods.analysis import Analysis, analysis_of
from markovlogic.methods.base import InferOptions
from markovlogic.methods.partition_analysis import with_few_listed
from markovlogic.methods.reduction import Reduction
from markovlogic.methods.resources import Resources
from markovlogic.results.answers import Replacement
from markovlogic.results.queries import distinct, projected, resolved_query

if TYPE_CHECKING:
    from markovlogic.problem.prepare import PreparedProblem
    from markovlogic.system.measures import Stopwatch


def replaced(prepared: PreparedProblem, options: InferOptions, resources: Resources, *, include_evidence: bool) -> Replacement:
    """Compress a problem; refuses what is too large for that, and a problem that has no world."""
    from markovlogic.compression.base import refuse_large, refuse_numbers
    from markovlogic.compression.into import compressed_into
    from markovlogic.methods.has_world import require_world

    assert options.compressor is not None
    resources.progress.stage("compress")
    refuse_numbers(prepared)
    refuse_large(options.compressor, prepared.problem, resources.limit)
    unchecked = require_world(prepared, resources)
    made = compressed_into(options.compressor, prepared, options.compress_as)
    if made.blocks is not None:
        return Replacement(made, notes=unchecked)
    moved = projected(resolved_query(prepared.problem, include_evidence=include_evidence), made.projection)
    return Replacement(made, moved, distinct(moved, made.prepared.problem), unchecked)


@contextmanager
def analysis_with(
    prepared: PreparedProblem, options: InferOptions, resources: Resources, watch: Stopwatch, *, include_evidence: bool = False
) -> Iterator[Analysis]:
    """The analysis of the problem to solve: the original one, or what a compression puts in its place."""
    replacement = None
    if options.compressor is not None:
        with watch("compress"):
            replacement = replaced(prepared, options, resources, include_evidence=include_evidence)
    solved = prepared if replacement is None else replacement.made.prepared
    has_counts = replacement is not None and replacement.made.blocks is not None
    with analysis_of(
        solved,
        resources,
        watch,
        include_evidence=include_evidence,
        reduction=Reduction.NONE if has_counts else Reduction.BY_QUERY,  # counts are of all atoms
        orbits=options.sampling.orbits,
        replacement=replacement,
    ) as analysis:
        may_list_few = replacement is None and (options.method is None or options.method.name == "partition")
        yield with_few_listed(analysis) if may_list_few else analysis
