"""`mln why`: what raises or lowers the probability of an atom."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import typer

from markovlogic.cli import options
from markovlogic.cli.inference_options import InferenceOptions, with_inference_options
from markovlogic.cli.outputs import check_outputs, show_message


@with_inference_options(without=("compress_as", "thin"), hidden=("compress", "checkpoint", "worlds"))
def why(
    *,
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
    given: InferenceOptions,
    state: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Begin with what `mln infer --state` left in this directory, which is read and not written.",
            rich_help_panel=options.SAMPLING,
        ),
    ] = None,
    engine: Annotated[str | None, typer.Option(hidden=True)] = None,
    top: Annotated[
        int, typer.Option("--top", metavar="K", help="Ground instances shown of each rule.", rich_help_panel=options.OUTPUT)
    ] = 3,
    output: Annotated[
        str | None, options.output_option("Write .json or .csv for programs, or .html, .png or .svg with a chart.")
    ] = None,
    quiet: options.Quiet = False,
) -> int:
    """Explain a probability: contributions of rules and facts that add up to its log-odds."""
    given.check()
    options.at_least(top, 0, "--top")

    from markovlogic.api import why as api
    from markovlogic.evaluation import view as files
    from markovlogic.reasons.view import reasons_table, write

    if output is not None:
        files.check_ending(output)
        check_outputs((output,), (model, *(evidence or ())))
    if given.compress in (None, "none"):
        chosen = replace(given, compress="none").values()
    else:
        chosen = {"compress": given.compress}  # is refused, whatever its settings are
    found = api.why(
        model,
        evidence or (),
        atom,
        query=query or (),
        changes=changes or (),
        groundings=top,
        state=state,
        engine=engine,
        **{name: value for name, value in chosen.items() if name not in ("compress_as", "thin")},
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
