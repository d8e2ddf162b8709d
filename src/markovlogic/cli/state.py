"""`mln state`: what a kept state holds."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

import typer


def state(
    directory: Annotated[str, typer.Argument(metavar="DIR", help="The directory that --state was given.")],
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> int:
    """Show what a kept state holds: its age and size, components and atoms by method."""
    import os

    from markovlogic.errors import InputError
    from markovlogic.state.saved import StateFolder

    if not os.path.isdir(directory):
        raise InputError(f"there is no directory {directory}", hint="mln infer … --state DIR makes one")
    with StateFolder(directory) as folder:
        kept = folder.load()
        if kept is None:
            raise InputError(f"{directory} holds no state", hint="mln infer … --state DIR makes one")
        facts = folder.facts
    found: dict[str, Any] = {
        "version": facts["version"],
        "saved_at": facts["saved_at"],
        "bytes": facts["bytes"],
        "components": len(kept.digest),
        "atoms": len(kept.key),
        "answers": int(kept.answered.sum()),
        "formulas": len(kept.events),
        "atoms_with_worlds": int((kept.world_row >= 0).sum()),
        "methods": kept.atoms_by_method(),
        "predicates": sorted(kept.predicates),
    }
    typer.echo(json.dumps(found, indent=1) if as_json else "\n".join(_lines(found)))
    return 0


def _lines(found: dict[str, Any]) -> list[str]:
    from markovlogic.system.measures import show_bytes

    age = max(time.time() - found["saved_at"], 0.0)
    unit, seconds = next(
        (one for one in (("days", 86400), ("hours", 3600), ("minutes", 60)) if age >= 2 * one[1]), ("seconds", 1)
    )
    methods = {name: atoms for name, atoms in found["methods"].items() if name != "none"}
    by_method = ", ".join(f"{name} {atoms:,}" for name, atoms in methods.items())
    if "none" in found["methods"]:
        by_method += f"; {found['methods']['none']:,} that no query reached"
    return [
        f"written       {age / seconds:.0f} {unit} ago by markovlogic {found['version']}",
        f"size          {show_bytes(found['bytes'])}",
        f"components    {found['components']:,}",
        f"open atoms    {found['atoms']:,}: {by_method}",
        f"answers       {found['answers']:,} atoms, {found['formulas']:,} formulas",
        f"last worlds   of {found['atoms_with_worlds']:,} sampled atoms, from which chains go on",
        f"predicates    {', '.join(found['predicates'])}",
    ]
