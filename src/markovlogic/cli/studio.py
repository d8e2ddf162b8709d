"""`mln studio`: a local page to edit rules, run them, explore and explain results."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Annotated

import typer

from markovlogic.cli import options
from markovlogic.cli.outputs import show_message

LOOK_SECONDS = 0.1


def studio(
    model: Annotated[str, typer.Argument(metavar="[MODEL]", help="Rule file (.mln); it may not exist yet.")] = "",
    evidence: options.EvidenceFiles = None,
    query: Annotated[list[str] | None, options.query_option("What to infer: the page begins with it.")] = None,
    port: Annotated[
        int, typer.Option("--port", metavar="N", help="Port on this machine; 0 takes a free one.", rich_help_panel=options.OUTPUT)
    ] = 0,
    browse: Annotated[
        bool, typer.Option("--browse", help="Open the page in your browser.", rich_help_panel=options.OUTPUT)
    ] = False,
) -> int:
    """Open a page on this machine: edit rules, run them, explore results, ask why. Ctrl-C ends it.

    Only this machine can reach it, with the token in the address. It writes inside of the current folder only.
    """
    from markovlogic.studio.server import Studio, served
    from markovlogic.system import cancellation

    folder = Path.cwd()
    if model:
        inside = (folder / model).resolve()
        if inside.is_relative_to(folder.resolve()):
            model = str(inside.relative_to(folder.resolve()))
    with served(Studio(folder, model, tuple(evidence or ()), tuple(query or ())), port) as found:
        serving = threading.Thread(target=found.run, daemon=True, name="studio")
        serving.start()
        show_message(f"open {found.url}")
        show_message("Ctrl-C ends it")
        if browse:
            import webbrowser

            webbrowser.open(found.url)
        while serving.is_alive() and not cancellation.current().over:
            serving.join(LOOK_SECONDS)
        found.server.should_exit = True
        serving.join(2.0)
    return 0
