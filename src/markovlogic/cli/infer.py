"""`mln infer`: marginal probabilities."""

from __future__ import annotations

import shlex
import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from markovlogic.cli import on_engine, options
from markovlogic.cli.inference_options import InferenceOptions, with_inference_options
from markovlogic.cli.outputs import check_outputs, show_message

if TYPE_CHECKING:
    from markovlogic.results.marginals import Marginals


@with_inference_options()
def infer(
    *,
    model: options.Model,
    query: options.Query,
    evidence: options.EvidenceFiles = None,
    given: InferenceOptions,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue the run that --checkpoint saved, with the same draws as without the interruption.",
            rich_help_panel=options.SAMPLING,
        ),
    ] = False,
    state: options.State = None,
    state_limit: options.StateLimit = None,
    include_evidence: options.IncludeEvidence = False,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            metavar="K",
            help="Rows with the K largest probabilities of each predicate or pattern of the query.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    output: Annotated[
        str | None,
        options.output_option(
            "By its ending: .csv, .parquet, .json or .html; without one, .result or "
            ".txt: lines `Atom probability`. `-`: standard output."
        ),
    ] = None,
    explained: Annotated[
        int,
        typer.Option(
            "--why",
            metavar="N",
            help="Explain N atoms in the .html page: those that -q names, then the most uncertain.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = 0,
    stats: options.Stats = None,
    engine: options.Engine = None,
    spark_remote: options.SparkRemote = None,
    spark_folder: options.SparkFolder = None,
    cut: options.Cut = None,
    quiet: options.Quiet = False,
) -> int:
    """Infer the probability of every query atom that the evidence leaves open."""
    given.check()
    options.at_least(top, 1, "--top")
    options.at_least(explained, 0, "--why")

    from markovlogic.api import infer as api
    from markovlogic.data.sources import without_passwords
    from markovlogic.errors import InferenceWarning, InputError
    from markovlogic.report.files import check_ending, is_page
    from markovlogic.report.progress import shown_progress

    chosen = given.values()
    options.check_engine(engine, spark_remote, spark_folder, cut)
    dataset = on_engine.dataset_at(engine, output)
    check_outputs((None if dataset else output, stats, given.worlds), (model, *(evidence or ())))
    if output is not None:
        check_ending(output)
    if explained and (output is None or not is_page(output)):
        raise InputError("--why puts explanations on a page", hint="add -o FILE.html, or explain one atom with mln why")
    if dataset is not None:
        choices = given.for_engine(include_evidence, resume, top)
        elsewhere = {**given.not_on_engine(), "state": state}
        on = on_engine.engine_of("spark", spark_remote, spark_folder, cut)
        limit, files = chosen["memory_limit"], evidence or ()
        return on_engine.write_dataset(
            on, model, files, query, choices, elsewhere, dataset, stats, memory_limit=limit, quiet=quiet
        )
    with shown_progress(quiet=quiet) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)  # concerns are printed below
        result = api.infer(
            model,
            evidence or (),
            query,
            **chosen,
            resume=resume,
            state=state,
            state_limit=options.memory_size(state_limit, "--state-limit"),
            include_evidence=include_evidence,
            top=top,
            engine=engine,
            spark_remote=spark_remote,
            spark_folder=spark_folder,
            cut=cut or 0.0,
            progress=progress,
        )
    result = replace(result, run=replace(result.run, command=without_passwords(shlex.join(["mln", *sys.argv[1:]]))))
    return _deliver(result, output, stats, explained, quiet=quiet)


def _deliver(result: Marginals, output: str | None, stats: str | None, explained: int, *, quiet: bool) -> int:
    """Write the files, or show the table; say how the numbers came about and whether to trust them."""
    from markovlogic.report.files import STANDARD_OUTPUT, atomic_file, write_lines, write_stats

    if stats is not None:
        write_stats(result, stats)
    if output is not None:
        result.report(output, why=explained)
        if not quiet:
            from markovlogic.report.tables import summary

            show_message(f"wrote {output}: {summary(result)}")
    elif sys.stdout.isatty():
        from rich.console import Console

        from markovlogic.report.tables import marginals_table

        Console().print(marginals_table(result))
    else:
        with atomic_file(STANDARD_OUTPUT) as file:
            write_lines(result, file)
    if not quiet:
        if not len(result) and (output is not None or not sys.stdout.isatty()):  # the table on a terminal says so itself
            from markovlogic.report.tables import NO_ROWS

            show_message(f"note: {NO_ROWS}")
        for remark in result.remarks:
            show_message(f"note: {remark}")
    concerns = result.concerns()
    for concern in concerns:
        show_message(f"concern: {concern}")
    if result.run.interrupted:
        show_message("interrupted: the results cover the draws made so far")
        return 130
    return 1 if concerns else 0
