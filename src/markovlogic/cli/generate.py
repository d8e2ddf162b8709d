"""`mln generate`: benchmark problems."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from markovlogic.cli.outputs import show_message


def generate(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the problem; `mln generate list` shows all.")],
    output: Annotated[str, typer.Option("-o", "--output", metavar="DIR", help="Directory for NAME.mln and NAME.db.")] = "",
    size: Annotated[int | None, typer.Option(metavar="N", help="Size; what it counts depends on the problem.")] = None,
    evidence: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the hidden atoms to give as evidence, 0 to 1.")
    ] = 0.1,
    seed: Annotated[int, typer.Option(metavar="S", help="The same seed gives the same files.")] = 0,
    variant: Annotated[str, typer.Option(metavar="NAME", help="Variant of the problem, if it has any.")] = "",
    quiet: Annotated[bool, typer.Option("--quiet", help="Show nothing.")] = False,
) -> int:
    """Write a benchmark problem: a rule file and its evidence."""
    from markovlogic.errors import InputError
    from markovlogic.generate import FAMILIES, make, write

    if name == "list":
        for family, about in FAMILIES.items():
            variants = f" (variants: {', '.join(about.variants)})" if about.variants else ""
            sys.stdout.write(
                f"{family:13} {about.summary}; --size counts {about.size_means}, default {about.default_size}{variants}\n"
            )
        return 0
    if not output:
        raise InputError("generate needs -o DIR, where the files go")
    made = make(name, size, evidence, seed, variant=variant)
    rules, facts = write(made, output)
    if not quiet:
        show_message(f"wrote {rules} and {facts} ({made.n_facts:,} facts)")
        show_message(f"try: mln infer {rules} -e {facts} -q {made.query}")
    return 0
