"""`mln check`: what in rules, and in rules and evidence together, may be a mistake; `mln format`: one way to write rules."""

from __future__ import annotations

import json as json_format
import sys
from typing import Annotated

import typer

from markovlogic.cli import options
from markovlogic.cli.outputs import show_message


def check(
    model: options.Model,
    evidence: options.EvidenceFiles = None,
    query: Annotated[
        list[str] | None, options.query_option("What would be inferred: rules that evidence decides depend on it.")
    ] = None,
    open_: options.Open = None,
    closed: options.Closed = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.", rich_help_panel=options.OUTPUT)] = False,
    quiet: options.Quiet = False,
) -> int:
    """Find likely mistakes in a rule file: unused predicates, stray variables, odd weights, rules without effect.

    With evidence: also rules that it decides, facts that no rule uses, types that share constants.
    Exit code 0: nothing found; 1: something was found; 2: the files have errors.
    """
    from markovlogic.api.check import check as find

    found = find(model, evidence, query or (), open_=options.names(open_), closed=options.names(closed))
    if json:
        rows = [
            {
                "name": one.name,
                "message": one.fault.message,
                "hint": one.fault.hint,
                "file": one.fault.place.file if one.fault.place else None,
                "line": one.fault.place.line if one.fault.place else None,
                "column": one.fault.place.column if one.fault.place else None,
                "text": one.fault.text,
            }
            for one in found
        ]
        sys.stdout.write(json_format.dumps(rows, indent=2, ensure_ascii=False) + "\n")
        return int(bool(found))
    for one in found:
        sys.stdout.write(f"{one.fault.one_line()} [{one.name}]\n")
    if not quiet:
        show_message(f"{len(found):,} finding{'s' * (len(found) != 1)}" if found else "no findings")
    return int(bool(found))


def format_(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Rule file (.mln); - reads standard input and writes to output.")],
    output: Annotated[str | None, options.output_option("Write there, not to MODEL itself; - is standard output.")] = None,
    only_check: Annotated[bool, typer.Option("--check", help="Change nothing; exit code 1 where the file would change.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Change nothing; print what would change.")] = False,
    quiet: options.Quiet = False,
) -> int:
    """Write a rule file with even spacing, in place. Comments, the order of lines and the meaning stay."""
    from markovlogic.language.formatting import format_text
    from markovlogic.language.tokens import Source, read_source
    from markovlogic.report.files import STANDARD_OUTPUT, atomic_file

    source = Source("<standard input>", sys.stdin.read()) if model == STANDARD_OUTPUT else read_source(model)
    formatted = format_text(source.text, source.name)
    changed = formatted != source.text
    if diff:
        import difflib

        lines = (source.text.splitlines(keepends=True), formatted.splitlines(keepends=True))
        sys.stdout.writelines(difflib.unified_diff(*lines, source.name, f"{source.name} (formatted)"))
    if only_check or diff:
        if changed and not quiet:
            show_message(f"{source.name} would change")
        return int(changed)
    target = output if output is not None else model
    if changed or output is not None or model == STANDARD_OUTPUT:
        with atomic_file(target) as file:
            file.write(formatted.encode())
    if not quiet and target != STANDARD_OUTPUT:
        show_message(f"wrote {target}" if changed or output is not None else f"{model} is formatted already")
    return 0
