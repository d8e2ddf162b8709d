"""`mln cluster`: clusters of an equivalence relation."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from markovlogic.cli import on_engine, options
from markovlogic.cli.outputs import check_outputs, show_message

if TYPE_CHECKING:
    from markovlogic.api.cluster import Clustering

ROWS_AT_ONCE = 1 << 18


def cluster(
    model: options.Model,
    evidence: options.EvidenceFiles = None,
    predicate: Annotated[
        str,
        typer.Option(
            "--predicate",
            metavar="P",
            help="Predicate that hard rules make an equivalence relation.",
            rich_help_panel=options.PROBLEM,
        ),
    ] = "",
    open_: options.Open = None,
    closed: options.Closed = None,
    closed_types: options.ClosedTypes = False,
    chains: Annotated[
        int | None, typer.Option(metavar="N", help="Number of independent chains.", rich_help_panel=options.SAMPLING)
    ] = None,
    draws: Annotated[
        int | None, typer.Option(metavar="N", help="Sweeps that each chain keeps.", rich_help_panel=options.SAMPLING)
    ] = None,
    burn_in: Annotated[
        int | None,
        typer.Option(
            "--burn-in", metavar="N", help="Sweeps that each chain throws away first.", rich_help_panel=options.SAMPLING
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", help="The same seed gives the same clusters; default 0.", rich_help_panel=options.SAMPLING),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            help="Stop after this time with the draws made so far.",
            rich_help_panel=options.SAMPLING,
        ),
    ] = None,
    target_stderr: Annotated[
        float | None,
        typer.Option(
            "--target-stderr",
            metavar="E",
            help="End chains at this standard error. Default 0.02 where --draws is not given.",
            rich_help_panel=options.SAMPLING,
        ),
    ] = None,
    apart: Annotated[
        bool,
        typer.Option(
            "--apart",
            help="Take records that no candidate pairs connect apart, also where the bound on what that changes is large.",
            rich_help_panel=options.SAMPLING,
        ),
    ] = False,
    state: options.State = None,
    state_limit: options.StateLimit = None,
    memory_limit: options.MemoryLimit = None,
    pairs: Annotated[
        str,
        typer.Option("--pairs", metavar="FILE", help="CSV file of candidate pairs too.", rich_help_panel=options.OUTPUT),
    ] = "",
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="FILE", help="CSV file. Default: standard output.", rich_help_panel=options.OUTPUT
        ),
    ] = "-",
    engine: options.Engine = None,
    spark_remote: options.SparkRemote = None,
    spark_folder: options.SparkFolder = None,
    cut: options.Cut = None,
    quiet: options.Quiet = False,
) -> int:
    """Write the clusters of an equivalence relation, with the probability that each is exactly right."""
    from markovlogic.api.cluster import cluster as find_clusters
    from markovlogic.errors import InputError
    from markovlogic.report.progress import shown_progress

    if not predicate.strip():
        raise InputError("cluster needs --predicate P, the equivalence relation whose clusters are wanted")
    options.check_engine(engine, spark_remote, spark_folder, cut)
    if engine is not None:
        from markovlogic.problem.prepare import Assumptions
        from markovlogic.running.sampling import Sampling

        if pairs:
            raise InputError("--pairs: not supported with --engine", hint=f"mln infer -q {predicate} --engine {engine} has them")
        given = [name for name, on in (("--state", state), ("--state-limit", state_limit), ("--apart", apart)) if on]
        if given:
            raise InputError(f"{', '.join(given)}: not supported with --engine", hint="leave it out, or leave out --engine")
        return on_engine.write_clusters(
            on_engine.engine_of(engine, spark_remote, spark_folder, cut),
            model,
            evidence or (),
            predicate.strip(),
            output,
            quiet=quiet,
            sampling=Sampling(chains, draws, burn_in, seed, time_limit, target_stderr),
            assumed=Assumptions(options.names(open_), options.names(closed), closed_types),
            memory_limit=options.memory_size(memory_limit),
        )
    check_outputs((output, pairs) if pairs else (output,), (model, *(evidence or ())))
    with shown_progress(quiet=quiet) as progress:
        found = find_clusters(
            model,
            evidence or (),
            predicate,
            chains=chains,
            draws=draws,
            burn_in=burn_in,
            seed=seed,
            time_limit=time_limit,
            state=state,
            state_limit=options.memory_size(state_limit, "--state-limit"),
            target_stderr=target_stderr,
            open_=options.names(open_),
            closed=options.names(closed),
            closed_types=closed_types,
            apart=apart,
            memory_limit=options.memory_size(memory_limit),
            progress=progress,
        )
        write_table(found.table(), output)
        if pairs:
            write_table(found.pairs_table(), pairs)
    if not quiet:
        show_message(_summary(found, output))
        for note in found.notes:
            show_message(f"note: {note}")
    for concern in found.concerns:
        show_message(f"concern: {concern}")
    return 1 if found.concerns else 0


def _summary(found: Clustering, output: str) -> str:
    label = found.clusters.label
    n = int(label.max(initial=-1)) + 1
    where = "" if output == "-" else f"wrote {output}: "
    return f"{where}{len(label):,} constants in {n:,} clusters"


def write_table(table: Any, path: str) -> None:
    """CSV, quoted as RFC 4180 has it; what is undefined is empty."""
    import csv
    import io

    from markovlogic.report.files import atomic_file

    sys.stdout.flush()
    with atomic_file(path) as file:
        file.write(",".join(table.column_names).encode() + b"\n")
        for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
            file.write(text.getvalue().encode())
