"""`mln symmetries`: which constants are interchangeable, what broke it, and the orbits of atoms."""

from __future__ import annotations

import json as json_format
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from markovlogic.cli import options

if TYPE_CHECKING:
    from markovlogic.api.symmetries import SymmetryReport

CLASSES_SHOWN = 8
NAMES_SHOWN = 5
ROWS_AT_ONCE = 1 << 20

OptionalQuery = Annotated[list[str] | None, options.query_option("What would be inferred: queried predicates are open.")]


def symmetries(
    model: options.Model,
    evidence: options.EvidenceFiles = None,
    query: OptionalQuery = None,
    open_: options.Open = None,
    closed: options.Closed = None,
    closed_types: options.ClosedTypes = False,
    clause_weights: options.ClauseWeights = "formula",
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            metavar="twins|refined|automorphisms|auto",
            help="twins: exchanges of two constants. refined: all renamings that keep "
            "the evidence. automorphisms: all symmetries of the "
            "ground network.",
            rich_help_panel=options.METHOD,
        ),
    ] = "twins",
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget", metavar="SECONDS", help="Time for the search beyond twins; default 10.", rich_help_panel=options.METHOD
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.", rich_help_panel=options.OUTPUT)] = False,
    orbits: Annotated[
        str | None,
        typer.Option("--orbits", metavar="FILE.csv", help="Write the orbit of every open atom.", rich_help_panel=options.OUTPUT),
    ] = None,
    quiet: options.Quiet = False,
) -> int:
    """Show which constants are interchangeable, which facts break symmetry, and the orbits of the open atoms."""
    options.positive(budget, "--budget")

    from markovlogic.api import symmetries as api
    from markovlogic.report.files import check_writable
    from markovlogic.report.progress import shown_progress
    from markovlogic.symmetry.find import DEFAULT_BUDGET

    if orbits is not None:
        check_writable(orbits)
    with shown_progress(quiet=quiet) as progress:
        found = api.symmetries(
            model,
            evidence or (),
            query or (),
            kind=kind,
            open_=options.names(open_),
            closed=options.names(closed),
            closed_types=closed_types,
            clause_weights=clause_weights,
            budget_seconds=DEFAULT_BUDGET if budget is None else budget,
            progress=progress,
        )
        if orbits is not None:
            _write_orbits(found, orbits)
    if json:
        sys.stdout.write(json_format.dumps(found.as_dict(), indent=2, allow_nan=False, ensure_ascii=False) + "\n")
        return 0
    from rich.console import Console

    Console(width=None if sys.stdout.isatty() else 120, highlight=False).print(symmetries_view(found))
    return 0


def _write_orbits(found: SymmetryReport, path: str) -> None:
    """`atom,orbit`, quoted as RFC 4180 has it."""
    import csv
    import io

    from markovlogic.report.files import atomic_file

    table = found.table()
    with atomic_file(path) as file:
        file.write(b"atom,orbit\n")
        for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
            file.write(text.getvalue().encode())


def symmetries_view(found: SymmetryReport) -> Any:
    """Classes, what broke them, and orbits, as tables that can be scanned."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from markovlogic.language.syntax import show_constant
    from markovlogic.report.terminal import shown_on

    classes = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name, justify in (("type", "left"), ("constants", "right"), ("classes", "right"), ("largest classes", "left")):
        classes.add_column(name, justify=justify)  # type: ignore[arg-type]
    for type_name, parts in found.constants().items():
        shown = [
            f"{len(part):,}: {', '.join(show_constant(name) for name in part[:NAMES_SHOWN])}{', …' * (len(part) > NAMES_SHOWN)}"
            for part in parts[:CLASSES_SHOWN]
            if len(part) > 1
        ]
        alone = sum(len(part) == 1 for part in parts)
        hidden = sum(len(part) > 1 for part in parts) - len(shown)
        if hidden:
            shown.append(f"… {hidden:,} more with several members")
        if alone:
            shown.append(f"{alone:,} alone")
        classes.add_row(type_name, f"{sum(map(len, parts)):,}", f"{len(parts):,}", Text(shown_on(sys.stdout, "\n".join(shown))))
    blocks: list[Any] = [classes, Text()]
    if found.breaks:
        broken = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
        for name, justify in (("type", "left"), ("broken by", "left"), ("into", "right"), ("for example", "left")):
            broken.add_column(name, justify=justify)  # type: ignore[arg-type]
        for item in found.breaks:
            what = "constants in formulas, or +" if not item.predicate else _source_of(item.predicate)
            example = f"{item.example}; {item.counterpart}" if item.example else ""
            broken.add_row(item.type_name, what, f"{item.n_classes:,}", Text(shown_on(sys.stdout, example)))
        blocks += [broken, Text()]
    word = "orbits" if found.orbits != 1 else "orbit"
    blocks.append(
        Text.assemble(
            (f"{found.atoms:,}", "bold"),
            " open atoms in ",
            (f"{found.orbits:,}", "bold"),
            f" {word}; the largest has {found.largest_orbit:,}",
        )
    )
    blocks += [Text(shown_on(sys.stdout, f"note: {note}"), style="dim") for note in found.notes]
    return Group(*blocks)


def _source_of(predicate: str) -> str:
    """What distinguishes constants: a relation of integers is no predicate, and has spaces."""
    return f"numbers, {predicate}" if " " in predicate else f"evidence of {predicate}"
