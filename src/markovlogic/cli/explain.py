"""`mln explain`: how big a problem is, what would be done and what it would cost."""

from __future__ import annotations

import io
import json as json_format
import sys
from typing import Annotated

import typer

from markovlogic.cli import options
from markovlogic.cli.messages import show_message


def explain(
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
    estimator: options.Estimator = "auto",
    chains: options.Chains = None,
    draws: options.Draws = None,
    burn_in: options.BurnIn = None,
    seed: options.Seed = None,
    time_limit: options.TimeLimit = None,
    target_stderr: options.TargetStderr = None,
    worlds: options.Worlds = None,
    thin: options.Thin = None,
    checkpoint: options.Checkpoint = None,
    include_evidence: options.IncludeEvidence = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.", rich_help_panel=options.OUTPUT)] = False,
    quiet: options.Quiet = False,
) -> int:
    """Show how big a problem is, which plan `infer` would execute, and what it would cost. Runs nothing long."""
    limit = options.memory_size(memory_limit)
    options.check_sampling(chains, draws, burn_in, seed, thin, time_limit, target_stderr)

    from markovlogic.api import explain as api
    from markovlogic.cli.method_settings import read_settings
    from markovlogic.report.progress import shown_progress

    chosen, compressor, source, orbits = read_settings(method, set_ or (), compress, rank, ratio, proposals)
    with shown_progress(quiet=quiet) as progress:
        found = api.explain(
            model,
            evidence or (),
            query,
            method=chosen,
            network=network,
            compress=compressor,
            compress_as=compress_as,  # type: ignore[arg-type]
            proposals=source,
            orbits=orbits,
            estimator=estimator,
            chains=chains,
            draws=draws,
            burn_in=burn_in,
            seed=seed,
            time_limit=time_limit,
            target_stderr=target_stderr,
            worlds=worlds,
            thin=thin,
            checkpoint=checkpoint,
            include_evidence=include_evidence,
            open_=options.names(open_),
            closed=options.names(closed),
            closed_types=closed_types,
            clause_weights=clause_weights,
            memory_limit=limit,
            progress=progress,
        )
    from markovlogic.report.atomic import STANDARD_OUTPUT, atomic_file

    if json:
        text = json_format.dumps(found.as_dict(), indent=2, allow_nan=False) + "\n"
    else:
        from rich.console import Console

        from markovlogic.cli.explanation import explanation_view

        terminal, view = sys.stdout.isatty(), io.StringIO()
        Console(file=view, force_terminal=terminal, width=None if terminal else 120, highlight=False).print(
            explanation_view(found)
        )
        text = view.getvalue()
    with atomic_file(STANDARD_OUTPUT) as file:
        file.write(text.encode())
    if not quiet:
        for note in found.notes:
            show_message(f"note: {note}")
    return 0
