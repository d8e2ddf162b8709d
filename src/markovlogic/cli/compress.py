"""`mln compress`: a smaller model, its evidence, and the way from objects to groups."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from markovlogic.cli import options
from markovlogic.cli.outputs import refuse_overwriting, show_message


def compress(
    model: options.Model,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="DIR", help="Directory for the files.", rich_help_panel=options.OUTPUT)
    ],
    method: Annotated[
        str, typer.Option("--method", metavar="|".join(options.COMPRESSORS), help="How to find the groups.")
    ] = "dpmeans",
    evidence: options.EvidenceFiles = None,
    query: Annotated[
        list[str] | None,
        options.query_option("Predicates that you will query: their unlisted facts are unknown."),
    ] = None,
    open_: options.Open = None,
    closed: options.Closed = None,
    closed_types: options.ClosedTypes = False,
    rank: options.Rank = None,
    ratio: options.Ratio = None,
    seed: Annotated[int | None, options.seed_option(options.METHOD, "groups")] = None,
    set_: options.Set = None,
    quiet: options.Quiet = False,
) -> int:
    """Write a smaller problem: model with unchanged weights, evidence, mapping and summary."""
    options.at_least(seed, 0, "--seed")

    from markovlogic.api import compress as api
    from markovlogic.compression.table import compressor_from
    from markovlogic.errors import InputError
    from markovlogic.report.progress import shown_progress

    compressor = compressor_from(method, rank, ratio, set_ or ())
    if compressor is None:
        raise InputError("compression none changes nothing", hint="name another method")
    refuse_overwriting((os.path.join(output, name) for name in api.FILES), (model, *(evidence or ())))
    with shown_progress(quiet=quiet) as progress:
        made = api.compress(
            model,
            evidence or (),
            compressor,
            query=query or (),
            seed=seed,
            open_=options.names(open_),
            closed=options.names(closed),
            closed_types=closed_types,
            progress=progress,
        )
    files = made.write(output)
    if not quiet:
        show_message(f"wrote {', '.join(map(str, files))}")
        show_message(made.description)
        for note in made.notes:
            show_message(f"note: {note}")
    return 0
