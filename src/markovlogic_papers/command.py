"""`mln reproduce`: the papers' experiments."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from markovlogic.cli import options

if TYPE_CHECKING:
    from markovlogic_papers.experiments.reproduce import Done


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="[ID|all]", help="Which experiment; without it, or with `list`, all are listed.")
    ] = "list",
    output: Annotated[str, typer.Option("-o", "--output", metavar="DIR", help="Directory for ID.csv, ID.png and ID.json.")] = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller problems and shorter runs: seconds instead of minutes.")
    ] = False,
    seed: Annotated[int, typer.Option(metavar="S", help="Seed of problems and chains.")] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep experiments that the directory already holds with the same settings.")
    ] = False,
    data: Annotated[
        str,
        typer.Option(metavar="DIR", help="Folder with the public benchmarks webkb, protein and er; without it they are made."),
    ] = "",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of the scale, for those that have it: runs=20, 'kl=true||est'; repeat it for more.",
        ),
    ] = None,
    quiet: options.Quiet = False,
) -> int:
    """Run experiments of the papers: data, chart, and a verdict on what the paper claims."""
    from markovlogic.errors import InputError
    from markovlogic_papers.experiments import catalogue

    options.at_least(seed, 0, "--seed")
    if name == "list" and set_:
        raise InputError(f"--set {set_[0]}: of which experiment?", hint="name it, or `all`")
    if name == "list":
        for known, about in (catalogue.PANELS | catalogue.FIGURES | {"all": "everything"}).items():
            sys.stdout.write(f"{known:6} {about}\n")
        return 0
    catalogue.chosen(name)
    if not output:
        raise InputError("reproduce needs -o DIR, where the files go")
    settings = {"data": data} if data else {}
    for text in set_ or ():
        setting, equals, value = text.partition("=")
        if not equals or not setting.strip() or not value.strip():
            raise InputError(f"--set {text}: no {'value' if setting.strip() else 'name'}", hint="write NAME=VALUE")
        if setting.strip() == "data":
            raise InputError(f"--set {text}: the benchmarks have an option of their own", hint="write --data DIR")
        settings[setting.strip()] = value.strip().replace("‖", "||")
    from markovlogic.report.progress import shown_progress
    from markovlogic_papers.experiments.reproduce import reproduce as run_all

    def report(done: Done) -> None:
        if quiet:
            return
        again = ", kept from before" if done.kept else ""
        small = ", too small to judge" if quick else ""
        sys.stdout.write(f"{done.id}: {done.verdict.word}{small} ({done.seconds:.0f} s{again})\n")
        sys.stdout.writelines(f"  {reason}\n" for reason in done.verdict.reasons)
        sys.stdout.flush()

    with shown_progress(quiet=quiet) as progress:
        run_all(name, output, quick=quick, seed=seed, resume=resume, settings=settings, progress=progress, report=report)
    return 0
