"""`mln why`: what raises or lowers the probability of an atom."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from markovlogic.cli import options
from markovlogic.cli.outputs import check_outputs, show_message


def why(
    model: options.Model,
    atom: Annotated[str, typer.Argument(metavar="ATOM", help="A ground atom, such as 'Smokes(Bob)'.")],
    evidence: options.EvidenceFiles = None,
    query: Annotated[list[str] | None, options.query_option("What else would be inferred: queried predicates are open.")] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--if",
            metavar="FACT",
            help="Assume a fact in place of what is known: 'P(A)', '!P(A)', or '?P(A)' for unknown; repeat it for more.",
            rich_help_panel=options.PROBLEM,
        ),
    ] = None,
    open_: options.Open = None,
    closed: options.Closed = None,
    closed_types: options.ClosedTypes = False,
    clause_weights: options.ClauseWeights = "formula",
    method: options.Method = "auto",
    set_: options.Set = None,
    network: options.Network = "auto",
    rank: options.Rank = None,
    ratio: options.Ratio = None,
    proposals: options.Proposals = "none",
    memory_limit: options.MemoryLimit = None,
    estimator: options.Estimator = "auto",
    chains: options.Chains = None,
    draws: options.Draws = None,
    burn_in: options.BurnIn = None,
    seed: options.Seed = None,
    time_limit: options.TimeLimit = None,
    target_stderr: options.TargetStderr = None,
    state: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Begin with what `mln infer --state` left in this directory, which is read and not written.",
            rich_help_panel=options.SAMPLING,
        ),
    ] = None,
    compress: Annotated[str | None, typer.Option(hidden=True)] = None,
    engine: Annotated[str | None, typer.Option(hidden=True)] = None,
    checkpoint: Annotated[str | None, typer.Option(hidden=True)] = None,
    worlds: Annotated[str | None, typer.Option(hidden=True)] = None,
    top: Annotated[
        int, typer.Option("--top", metavar="K", help="Ground instances shown of each rule.", rich_help_panel=options.OUTPUT)
    ] = 3,
    output: Annotated[
        str | None, options.output_option("Write .json or .csv for programs, or .html, .png or .svg with a chart.")
    ] = None,
    quiet: options.Quiet = False,
) -> int:
    """Explain a probability: contributions of rules and facts that add up to its log-odds."""
    limit = options.memory_size(memory_limit)
    options.check_sampling(chains, draws, burn_in, seed, None, time_limit, target_stderr)
    options.at_least(top, 0, "--top")

    from markovlogic.api import why as api
    from markovlogic.cli.options import read_settings
    from markovlogic.evaluation import view as files
    from markovlogic.reasons.view import reasons_table, write

    if output is not None:
        files.check_ending(output)
        check_outputs((output,), (model, *(evidence or ())))
    if compress in (None, "none"):
        chosen, _, source, orbits = read_settings(method, set_ or (), "none", rank, ratio, proposals)
    else:
        chosen, source, orbits = method, None, "auto"  # why refuses the compression, whatever its settings are
    found = api.why(
        model,
        evidence or (),
        atom,
        query=query or (),
        changes=changes or (),
        groundings=top,
        method=chosen,
        network=network,
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
        state=state,
        memory_limit=limit,
        compress=compress,
        engine=engine,
        checkpoint=checkpoint,
        worlds=worlds,
    )
    if output is not None:
        write(found, output)
        if not quiet:
            show_message(f"wrote {output}: {found.atom} {found.probability:.4g}, {len(found.contributions)} contributions")
    else:
        from rich.console import Console

        Console(width=None if sys.stdout.isatty() else 140, highlight=False).print(reasons_table(found, top))
    if not quiet:
        for note in found.notes:
            show_message(f"note: {note}")
    for concern in found.concerns:
        show_message(f"concern: {concern}")
    return 1 if found.concerns else 0
