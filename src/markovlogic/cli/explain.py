"""`mln explain`: how big a problem is, what would be done and what it would cost."""

from __future__ import annotations

import io
import json as json_format
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from markovlogic.cli import on_engine, options
from markovlogic.cli.inference_options import InferenceOptions, with_inference_options
from markovlogic.cli.outputs import show_message
from markovlogic.system.measures import show_bytes

if TYPE_CHECKING:
    from rich.console import RenderableType

    from markovlogic.api.explain import Explanation
    from markovlogic.methods.reduction import Rest


@with_inference_options()
def explain(
    *,
    model: options.Model,
    query: options.Query,
    evidence: options.EvidenceFiles = None,
    given: InferenceOptions,
    include_evidence: options.IncludeEvidence = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.", rich_help_panel=options.OUTPUT)] = False,
    engine: options.Engine = None,
    spark_remote: options.SparkRemote = None,
    spark_folder: options.SparkFolder = None,
    cut: options.Cut = None,
    quiet: options.Quiet = False,
) -> int:
    """Show how big a problem is, which plan `infer` would execute, and what it would cost. Runs nothing long."""
    given.check()

    from markovlogic.api import explain as api
    from markovlogic.report.progress import shown_progress

    chosen = given.values()
    options.check_engine(engine, spark_remote, spark_folder, cut)
    if engine is not None:
        choices, elsewhere = given.for_engine(include_evidence), given.not_on_engine()
        on, limit = on_engine.engine_of(engine, spark_remote, spark_folder, cut), chosen["memory_limit"]
        found = on_engine.explained(on, model, evidence or (), query, choices, elsewhere, memory_limit=limit, quiet=quiet)
    else:
        with shown_progress(quiet=quiet) as progress:
            found = api.explain(model, evidence or (), query, **chosen, include_evidence=include_evidence, progress=progress)
    from markovlogic.report.files import STANDARD_OUTPUT, atomic_file

    if json:
        text = json_format.dumps(found.as_dict(), indent=2, allow_nan=False) + "\n"
    else:
        from rich.console import Console

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


def explanation_view(found: Explanation) -> RenderableType:
    """Three blocks that can be scanned."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from markovlogic.networks.base import NetworkKind

    sizes = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    sizes.add_column(style="bold")
    sizes.add_column(justify="right")
    sizes.add_column(style="dim")
    clauses = _count(found.clauses) if found.clauses is not None else f"≤ {_count(found.clauses_at_most)}"
    rows = (
        ("groundings", _count(found.groundings), "of all formulas, before the evidence prunes them"),
        ("atoms", _count(found.atoms), "that the evidence leaves open"),
        *([("decided", _count(sum(one.atoms for one in found.decided)), "of them, by hard rules")] if found.decided else []),
        (
            "clauses",
            clauses,
            "after pruning and merging" if found.clauses is not None else "at most: not grounded for this",
        ),
        ("literals", _count(found.literals), ""),
        ("components", _count(found.components), "that share nothing"),
        ("largest", _count(found.largest_component), "atoms in one component"),
        ("exclusive", _count(found.exclusive_groups), "groups with exactly one true atom"),
        ("memory", show_bytes(found.memory_bytes), "that the plan needs"),
    )
    for row in rows:
        sizes.add_row(*row)
    plan = Text.assemble(
        ("plan: ", "bold"), f"{found.plan.method} on {_what(found.plan.network)}, estimator {found.plan.estimator}"
    )
    methods = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    columns = (
        ("method", "left"),
        ("network", "left"),
        ("guarantee", "left"),
        ("time", "right"),
        ("memory", "right"),
        ("", "left"),
    )
    for name, justify in columns:
        methods.add_column(name, justify=justify)  # type: ignore[arg-type]
    for candidate in found.candidates:
        style = "" if candidate.possible else "dim"
        memory = show_bytes(candidate.memory_bytes) if candidate.memory_bytes is not None else "-"
        reason = candidate.reason if candidate.possible else f"not possible: {candidate.reason}"
        network = "-" if candidate.network == NetworkKind.NONE else candidate.network
        seconds = _seconds(candidate.seconds)
        methods.add_row(candidate.method, network, candidate.guarantee, seconds, memory, reason, style=style)
    decided = (Text(f"decides {_count(one.atoms)} atoms: {one.rule} ({one.place})") for one in found.decided)
    rest = [Text(_left_out(found.left_out))] if found.left_out is not None else []
    details = (Text(line) for line in found.details)
    return Group(sizes, *decided, *rest, Text(), plan, Text(f"because {found.plan.reason}"), *details, Text(), methods)


def _left_out(rest: Rest) -> str:
    """What nothing is done for, in a line."""
    parts = [f"nothing is grounded for {', '.join(rest.predicates)} ({_count(rest.rules)} rules)"] if rest.predicates else []
    if rest.components:
        parts.append(f"{_count(rest.components)} components are left alone")
    unchecked = f"; hard ones that go unchecked: {_count(rest.hard_rules)}" if rest.hard_rules else ""
    return f"the query does not depend on {_count(rest.atoms)} atoms: {', '.join(parts)}{unchecked}"


def _what(network: str) -> str:
    from markovlogic.networks.base import NetworkKind

    return "the problem itself" if network == NetworkKind.NONE else f"the {network} network"


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"~{seconds:,.0f} s" if seconds >= 1 else "< 1 s"
