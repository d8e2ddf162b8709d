"""An explanation for people: sizes, the plan, and the methods that were considered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from markovlogic.grounding.memory import show_bytes
from markovlogic.networks.kinds import NetworkKind

if TYPE_CHECKING:
    from markovlogic.api.explain import Explanation
    from markovlogic.methods.reduction import Rest


def explanation_view(found: Explanation) -> RenderableType:
    """Three blocks that can be scanned."""
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
            "after pruning and merging" if found.clauses is not None else "too many to ground for an explanation",
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
    return "the problem itself" if network == NetworkKind.NONE else f"the {network} network"


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"~{seconds:,.0f} s" if seconds >= 1 else "< 1 s"
