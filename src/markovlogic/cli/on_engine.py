"""What commands do with `--engine`: datasets that the engine writes, worlds, clusters and plans component by component."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markovlogic.cli import options
from markovlogic.cli.outputs import check_outputs, show_message

if TYPE_CHECKING:
    from markovlogic.api.explain import Explanation
    from markovlogic.api.link_on import LinkedDataset
    from markovlogic.api.scaled import OnEngine
    from markovlogic.scale_out.options import EngineOptions
    from markovlogic.scale_out.stages import Summary
    from markovlogic.system.progress import Progress


def engine_of(engine: str, spark_remote: str | None, spark_folder: str | None, cut: float | None) -> OnEngine:
    """The engine that the options name."""
    from markovlogic.api.scaled import OnEngine

    options.check_engine(engine, spark_remote, spark_folder, cut)
    return OnEngine(engine, spark_remote, spark_folder, cut=cut or 0.0)


def dataset_at(engine: str | None, output: str | None) -> str | None:
    """The folder that the engine writes, where the output is one."""
    return output if engine == "spark" and output is not None and output.endswith(".parquet") else None


def write_dataset(
    on: OnEngine,
    model: str,
    evidence: Sequence[str],
    query: Any,
    choices: EngineOptions,
    elsewhere: dict[str, Any],
    path: str,
    stats: str | None,
    *,
    memory_limit: int | None,
    quiet: bool,
) -> int:
    """`mln infer` whose rows the engine writes."""
    from markovlogic.api.scaled import Dataset, infer_on
    from markovlogic.report.progress import shown_progress

    check_outputs((stats,), (model, *evidence))
    with shown_progress(quiet=quiet) as progress:
        made = infer_on(on, model, evidence, query, choices, elsewhere, path=path, memory_limit=memory_limit, progress=progress)
    assert isinstance(made, Dataset)
    _write_stats(made.stats(), stats)
    return _end(f"wrote {path}: {made.line}", made.concerns(), made.summary, quiet=quiet)


def write_world(
    on: OnEngine,
    model: str,
    evidence: Sequence[str],
    query: Any,
    output: str | None,
    stats: str | None,
    *,
    memory_limit: int | None,
    quiet: bool,
    **more: Any,
) -> int:
    """`mln map`."""
    from markovlogic.api.scaled import maximize_on
    from markovlogic.report.files import STANDARD_OUTPUT, atomic_file
    from markovlogic.report.progress import shown_progress

    path = dataset_at("spark", output) if not on.is_local else None
    check_outputs((None if path else output, stats), (model, *evidence))
    with shown_progress(quiet=quiet) as progress:
        world = maximize_on(on, model, evidence, query, path=path, memory_limit=memory_limit, progress=progress, **more)
    _write_stats(world.stats(), stats)
    if path is None:
        with atomic_file(STANDARD_OUTPUT if output is None else output) as file:
            file.write("".join(f"{name}\n" for name in world.atoms).encode())
    return _end(("" if output is None else f"wrote {output}: ") + world.line, (), world.summary, quiet=quiet)


def write_clusters(
    on: OnEngine, model: str, evidence: Sequence[str], predicate: str, output: str, *, quiet: bool, **more: Any
) -> int:
    """`mln cluster`."""
    from markovlogic.api.scaled import cluster_on
    from markovlogic.cli.cluster import write_table
    from markovlogic.report.progress import shown_progress

    path = dataset_at("spark", output) if not on.is_local else None
    check_outputs((None if path else output,), (model, *evidence))
    with shown_progress(quiet=quiet) as progress:
        found, summary = cluster_on(on, model, evidence, predicate, path=path, progress=progress, **more)
    if path is None:
        write_table(found, output)
    line = f"{summary.components:,} components of candidate pairs; how likely a cluster is right is left out on an engine"
    return _end(("" if output == "-" else f"wrote {output}: ") + line, summary.concerns, summary, quiet=quiet)


def linked_dataset(
    on: OnEngine, tables: Sequence[str], path: str, pairs_path: str | None, *, progress: Progress, **more: Any
) -> LinkedDataset:
    """`mln link` whose clusters the engine writes."""
    from markovlogic.api.link_on import LinkedDataset, link_on

    made = link_on(on, tables, path=path, pairs_path=pairs_path, progress=progress, **more)
    assert isinstance(made, LinkedDataset)
    return made


def explained(
    on: OnEngine,
    model: str,
    evidence: Sequence[str],
    query: Any,
    choices: EngineOptions,
    elsewhere: dict[str, Any],
    *,
    memory_limit: int | None,
    quiet: bool,
) -> Explanation:
    """`mln explain`."""
    from markovlogic.api.scaled import explain_on
    from markovlogic.report.progress import shown_progress

    with shown_progress(quiet=quiet) as progress:
        return explain_on(on, model, evidence, query, choices, elsewhere, memory_limit=memory_limit, progress=progress)


def _write_stats(record: dict[str, Any], path: str | None) -> None:
    from markovlogic.report.files import atomic_file

    if path is not None:
        with atomic_file(path) as file:
            file.write(json.dumps(record, indent=2, allow_nan=False).encode() + b"\n")


def _end(line: str, concerns: Sequence[str], summary: Summary, *, quiet: bool) -> int:
    if not quiet:
        show_message(line)
        for cut in summary.cuts:
            show_message(f"note: {cut.text}")
    for concern in concerns:
        show_message(f"concern: {concern}")
    return 1 if concerns else 0
