"""`mln infer`: marginal probabilities."""

from __future__ import annotations

import shlex
import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from markovlogic.cli import options
from markovlogic.cli.outputs import check_outputs
from markovlogic.cli.telling import tell

if TYPE_CHECKING:
    from markovlogic.results.marginals import Marginals


def infer(
    model: options.Model,
    query: options.Query,
    evidence: options.EvidenceFiles = None,
    open_: options.Open = None,
    closed: options.Closed = None,
    closed_types: options.ClosedTypes = False,
    clause_weights: options.ClauseWeights = "formula",
    method: options.Method = "auto",
    set_: options.Set = None,
    network: options.Network = "auto",
    compress: options.Compress = "none",
    rank: options.Rank = None,
    ratio: options.Ratio = None,
    compress_as: options.CompressAs = "auto",
    proposals: options.Proposals = "none",
    memory_limit: options.MemoryLimit = None,
    estimator: Annotated[
        str,
        typer.Option(
            metavar="auto|sample|conditional|orbit|orbit-conditional",
            help="What is averaged over the draws, and whether over interchangeable atoms too.",
            rich_help_panel=options.SAMPLING,
        ),
    ] = "auto",
    chains: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Chains; by default as many as suit the method, 8 to 64: `mln explain` says how many.",
            rich_help_panel=options.SAMPLING,
        ),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(metavar="N", help="Sweeps a chain that are kept; default 1000.", rich_help_panel=options.SAMPLING),
    ] = None,
    burn_in: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Sweeps a chain that come before; default a quarter of draws.", rich_help_panel=options.SAMPLING
        ),
    ] = None,
    seed: Annotated[int | None, options.seed_option(options.SAMPLING, "draws")] = None,
    time_limit: Annotated[float | None, options.time_limit_option(options.SAMPLING, "Stop earlier, after this time.")] = None,
    target_stderr: Annotated[
        float | None,
        typer.Option(metavar="X", help="Stop earlier, once every standard error is below.", rich_help_panel=options.SAMPLING),
    ] = None,
    worlds: Annotated[
        str | None,
        typer.Option(metavar="FILE.parquet", help="Write sampled worlds of the query atoms.", rich_help_panel=options.SAMPLING),
    ] = None,
    thin: Annotated[
        int | None, typer.Option(metavar="K", help="Keep every K-th world; default 1.", rich_help_panel=options.SAMPLING)
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="DIR", help="Save the run there, again and again.", rich_help_panel=options.SAMPLING)
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run that --checkpoint saved.", rich_help_panel=options.SAMPLING)
    ] = False,
    include_evidence: options.IncludeEvidence = False,
    output: Annotated[
        str | None,
        options.output_option(
            ".csv, .parquet, .json or .html; no ending, .result or .txt: lines `Atom probability`; `-`: standard output."
        ),
    ] = None,
    stats: options.Stats = None,
    quiet: options.Quiet = False,
) -> int:
    """Infer the probability of every query atom that the evidence leaves open."""
    limit = options.memory_size(memory_limit)
    options.at_least(chains, 1, "--chains")
    options.at_least(draws, 1, "--draws")
    options.at_least(burn_in, 0, "--burn-in")
    options.at_least(seed, 0, "--seed")
    options.at_least(thin, 1, "--thin")
    options.positive(time_limit, "--time-limit")
    options.positive(target_stderr, "--target-stderr")

    from markovlogic.api import infer as api
    from markovlogic.compression.table import NONE, compressor_said, refuse_unknown
    from markovlogic.errors import InferenceWarning
    from markovlogic.methods.said import settings_of, settings_said
    from markovlogic.methods.sampler_method import two_sources
    from markovlogic.methods.table import AUTO, proposing
    from markovlogic.report.files import check_ending
    from markovlogic.report.progress import shown_progress

    orbits, said = options.taken(set_ or (), "orbits", "auto")
    if method == AUTO and proposals != NONE:
        method = proposing()[0].name  # what `auto` takes then
    if compress != NONE or proposals == NONE:  # --rank, --ratio and --set are about the compression, or else the proposals
        compressor, said = compressor_said(compress, rank, ratio, said, settings_of(method))
        source, _ = compressor_said(proposals, None, None, ())
        refuse_unknown(compressor, said, method, tuple(settings_of(method)))
    else:
        compressor = None
        source, said = compressor_said(proposals, rank, ratio, said, settings_of(method))
        refuse_unknown(source, said, method, tuple(settings_of(method)))
    chosen = settings_said(method, said)
    if source is not None and any(text.partition("=")[0].strip().removeprefix(f"{method}.") == "source" for text in said):
        raise two_sources(method)
    check_outputs((output, stats, worlds), (model, *(evidence or ())))
    if output is not None:
        check_ending(output)
    with shown_progress(quiet=quiet) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)  # concerns are told below
        result = api.infer(
            model,
            evidence or (),
            query,
            method=chosen,
            network=network,
            compress=compressor,
            compress_as=compress_as,  # type: ignore[arg-type]
            proposals=source,
            estimator=estimator,
            orbits=orbits,
            chains=chains,
            draws=draws,
            burn_in=burn_in,
            seed=seed,
            time_limit=time_limit,
            target_stderr=target_stderr,
            open_=options.names(open_),
            closed=options.names(closed),
            closed_types=closed_types,
            clause_weights=clause_weights,
            worlds=worlds,
            thin=thin,
            checkpoint=checkpoint,
            resume=resume,
            memory_limit=limit,
            include_evidence=include_evidence,
            progress=progress,
        )
    result = replace(result, run=replace(result.run, command=shlex.join(["mln", *sys.argv[1:]])))
    return _deliver(result, output, stats, quiet=quiet)


def _deliver(result: Marginals, output: str | None, stats: str | None, *, quiet: bool) -> int:
    """Write the files, or show the table; say how the numbers came about and whether to trust them."""
    from markovlogic.report.atomic import STANDARD_OUTPUT, atomic_file
    from markovlogic.report.files import write_lines, write_result, write_stats
    from markovlogic.report.tables import marginals_table, summary

    if stats is not None:
        write_stats(result, stats)
    if output is not None:
        write_result(result, output)
        if not quiet:
            tell(f"wrote {output}: {summary(result)}")
    elif sys.stdout.isatty():
        from rich.console import Console

        Console().print(marginals_table(result))
    else:
        with atomic_file(STANDARD_OUTPUT) as file:
            write_lines(result, file)
    if not quiet:
        for remark in result.remarks:
            tell(f"note: {remark}")
    concerns = result.concerns()
    for concern in concerns:
        tell(f"concern: {concern}")
    if result.run.interrupted:
        tell("interrupted: the results cover the draws made so far")
        return 130
    return 1 if concerns else 0
