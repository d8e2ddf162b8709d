"""`mln diff`: which probabilities differ between two results."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from markovlogic.cli import options
from markovlogic.cli.outputs import check_outputs, show_message


def diff(
    first: Annotated[str, typer.Argument(metavar="RESULTS", help="A file that mln infer wrote.")],
    second: Annotated[str, typer.Argument(metavar="RESULTS", help="Another one, of the same or of another run.")],
    at_least: Annotated[
        float, typer.Option("--at-least", metavar="X", help="Leave out differences below X, whatever their errors.")
    ] = 0.0,
    top: Annotated[int, typer.Option("--top", metavar="K", help="Rows of the table on the terminal.")] = 20,
    output: Annotated[
        str | None, options.output_option("Write .json or .csv for programs, or .html, .png or .svg with the chart.")
    ] = None,
    quiet: options.Quiet = False,
) -> int:
    """Show atoms whose probabilities differ beyond their errors, by predicate."""
    from markovlogic.evaluation import difference, difference_view, view

    options.at_least(top, 0, "--top")
    options.share(at_least, "--at-least")
    if output is not None:
        view.check_ending(output)
        check_outputs((output,), (first, second))
    found = difference.diff(first, second, at_least=at_least)
    if output is not None:
        difference_view.write(found, output)
    else:
        from rich.console import Console

        Console(width=None if sys.stdout.isatty() else 140, highlight=False).print(difference_view.difference_table(found, top))
    if not quiet:
        for note in found.notes:
            show_message(f"note: {note}")
        show_message(
            f"{f'wrote {output}: ' if output else ''}{len(found):,} of {len(found.atom):,} atoms differ beyond their errors"
        )
    return 0
