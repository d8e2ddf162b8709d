"""`mln explain`: how big a problem is, what would be done and what it would cost."""

from __future__ import annotations

import io
import json as json_format
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from markovlogic.cli import on_engine, options
from markovlogic.cli.outputs import show_message
from markovlogic.system.measures import show_bytes

if TYPE_CHECKING:
    from rich.console import RenderableType

    from markovlogic.api.explain import Explanation
    from markovlogic.methods.reduction import Rest


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
    engine: options.Engine = None,
    spark_remote: options.SparkRemote = None,
    spark_folder: options.SparkFolder = None,
    cut: options.Cut = None,
    quiet: options.Quiet = False,
) -> int:
    """Show how big a problem is, which plan `infer` would execute, and what it would cost. Runs nothing long."""
    limit = options.memory_size(memory_limit)
    options.check_sampling(chains, draws, burn_in, seed, thin, time_limit, target_stderr)

    from markovlogic.api import explain as api
    from markovlogic.cli.options import read_settings
    from markovlogic.report.progress import shown_progress

    chosen, compressor, source, orbits = read_settings(method, set_ or (), compress, rank, ratio, proposals)
    options.check_engine(engine, spark_remote, spark_folder, cut)
    if engine is not None:
        from markovlogic.problem.prepare import Assumptions
        from markovlogic.running.sampling import Sampling
        from markovlogic.scale_out.options import EngineOptions

        limits = (time_limit, target_stderr)
        choices = EngineOptions(
            Sampling(chains, draws, burn_in, seed, *limits, worlds, thin, checkpoint, False, False, estimator, orbits),
            chosen,
            Assumptions(options.names(open_), options.names(closed), closed_types, clause_weights),
            include_evidence,
        )
        elsewhere = {"network": network, "compress": compressor, "proposals": source}
        on = on_engine.engine_of(engine, spark_remote, spark_folder, cut)
        found = on_engine.explained(on, model, evidence or (), query, choices, elsewhere, memory_limit=limit, quiet=quiet)
    else:
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
