"""The command `mln`: subcommands, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from markovlogic._version import __version__
from markovlogic.cli import worker
from markovlogic.cli.outputs import show_message
from markovlogic.cli.quick_options import QuickCommand, QuickGroup
from markovlogic.errors import InputError, Interrupted, MarkovLogicError, nearest
from markovlogic.system import plugins
from markovlogic.system.cancellation import interrupted
from markovlogic.system.measures import collect_seldom, own_this_process

DONE, CONCERNS, BAD_INPUT, REFUSED, BUG, INTERRUPTED = 0, 1, 2, 3, 70, 130
DEBUG_VARIABLE = "MLN_DEBUG"
OTHER_NAMES = {
    **dict.fromkeys(("predict", "query", "marginals", "inference", "run", "sample"), "infer"),
    **dict.fromkeys(("train", "fit", "learnwts", "weights"), "learn"),
    **dict.fromkeys(("solve", "mpe", "maximize"), "map"),
    **dict.fromkeys(("score", "test", "eval"), "evaluate"),
    **dict.fromkeys(("dedupe", "match", "resolve"), "link"),
    **dict.fromkeys(("plan", "size"), "explain"),
    **dict.fromkeys(("lint", "validate"), "check"),
    **dict.fromkeys(("fmt", "pretty"), "format"),
    **dict.fromkeys(("compare",), "diff"),
    **dict.fromkeys(("serve", "ui", "gui"), "studio"),
}
_NO_COMMAND = re.compile(r"No such command '([^']*)'")
_FACTS_LEFT_OVER = re.compile(r"unexpected extra argument\S* \((\S+\.(?:db|csv|tsv|parquet|jsonl))\b")
REPEATED = ("infer", "map", "cluster")  # with a state, their results are kept for the same command on the same files
UNWRITTEN = {errno.EBADF, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}

app = typer.Typer(
    name="mln",
    cls=QuickGroup,
    add_completion=False,
    pretty_exceptions_enable=False,
    # panels cost the import of rich, so only eyes get them
    rich_markup_mode="rich" if sys.stdout is not None and sys.stdout.isatty() else None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _interruptible(name: str, command: Callable[..., int]) -> Callable[..., int]:
    """Let signals and limits end a command wherever it is; typer would swallow Ctrl-C without a word."""

    @functools.wraps(command)
    def call(**given: Any) -> int:
        try:
            if name in REPEATED and given.get("state"):
                from markovlogic.cli.again import remembering

                return worker.wait_for(lambda: remembering(name, command, given))
            return worker.wait_for(lambda: command(**given))
        except KeyboardInterrupt:
            raise interrupted() from None

    return call


OWN = {
    "infer": "markovlogic.cli.infer:infer",
    "map": "markovlogic.cli.map:map_",
    "explain": "markovlogic.cli.explain:explain",
    "symmetries": "markovlogic.cli.symmetries:symmetries",
    "compress": "markovlogic.cli.compress:compress",
    "learn": "markovlogic.cli.learn:learn",
    "link": "markovlogic.cli.link:link",
    "evaluate": "markovlogic.cli.evaluate:evaluate",
    "cluster": "markovlogic.cli.cluster:cluster",
    "why": "markovlogic.cli.why:why",
    "diff": "markovlogic.cli.diff:diff",
    "check": "markovlogic.cli.check:check",
    "format": "markovlogic.cli.check:format_",
    "lsp": "markovlogic.cli.lsp:lsp",
    "state": "markovlogic.cli.state:state",
    "watch": "markovlogic.cli.watch:watch",
    "studio": "markovlogic.cli.studio:studio",
    "generate": "markovlogic.cli.generate:generate",
    "warm-up": "markovlogic.cli.warm_up:warm_up",
}


def add_commands(arguments: Sequence[str] = ()) -> typer.Typer:
    """The app with the command that the arguments name; with all commands, those of installed packages too, if they name none.

    A command of theirs that cannot be loaded is left out with a message.
    """
    table = plugins.with_plugins(plugins.COMMANDS, OWN)
    first = next((word for word in arguments if not word.startswith("-")), "")
    there = {command.name for command in app.registered_commands}
    for name in (first,) if first in table else table:
        if name in there:
            continue
        try:
            command = plugins.load(table[name])
        except InputError as error:
            show_message(f"warning: mln {name} is left out: {error.faults[0].one_line()}")
            continue
        app.command(name, cls=QuickCommand)(_interruptible(name, command))
    return app


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mln {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def mln(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help=f"Show the traceback of an internal error (also: {DEBUG_VARIABLE}=1).")
    ] = False,
) -> None:
    """Markov logic: weighted first-order rules and relational data in, probabilities out."""
    if debug:
        os.environ[DEBUG_VARIABLE] = "1"
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code."""
    _open_closed_streams()
    collect_seldom()
    if arguments is None:
        own_this_process()
    code = _guarded(arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon_output()
    except OSError as error:
        _abandon_output()
        if code in (DONE, CONCERNS):
            code = _unwritten(error)
    return code


def _open_closed_streams() -> None:
    """Fill the places of standard streams that the caller closed (`>&-`), so that no file of ours gets their numbers.

    What is written to standard output then fails, as it does in other programs; messages go nowhere.
    """
    while (opened := os.open(os.devnull, os.O_RDONLY)) <= 2:
        if opened == 2:  # a stream without a reader, but one that takes what it is given
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)
    os.close(opened)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def _guarded(arguments: Sequence[str] | None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = add_commands(given)(args=given, prog_name="mln", standalone_mode=False)
        return code if isinstance(code, int) else DONE
    except BrokenPipeError:
        _abandon_output()  # `mln ... | head` has seen enough
        return DONE
    except SystemExit as stop:
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        _abandon_output()  # the same, where the option parser saw it first and would make it an error
        return DONE
    except MarkovLogicError as error:
        _show_error(error)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        show_message("interrupted")
        return INTERRUPTED
    except MemoryError:
        show_message("error: out of memory (try a smaller problem, or --memory-limit to be refused before the start)")
        return REFUSED
    except OSError as error:
        if error.filename is not None or error.errno not in UNWRITTEN:
            return _report_bug(error)
        _abandon_output()  # errors of our own files are handled there; this was what the option parser writes
        return _unwritten(error)
    except Exception as error:
        show, code = getattr(error, "show", None), getattr(error, "exit_code", None)
        if callable(show) and isinstance(code, int):  # a usage error of the option parser
            show()
            _hint_at_usage(str(error))
            return code
        return _report_bug(error)


def _hint_at_usage(message: str) -> None:
    """Where facts belong, and the command that a word of other systems, such as "predict", means here."""
    if left_over := _FACTS_LEFT_OVER.search(message):
        show_message(f"hint: facts come after -e: -e {left_over.group(1)}")
    found = _NO_COMMAND.search(message)
    if found:
        names = plugins.with_plugins(plugins.COMMANDS, OWN)
        if found.group(1) in plugins.PAPERS_NAMES:
            show_message(f"hint: mln {found.group(1)} is a command of the papers' package; {plugins.INSTALL_PAPERS}")
            return
        meant = OTHER_NAMES.get(found.group(1).lower())
        hint = f"did you mean mln {meant}?" if meant else nearest(found.group(1), names)
        show_message(f"hint: {hint or 'mln --help lists the commands'}")


def _show_error(error: MarkovLogicError) -> None:
    """All faults, one after the other: with the source under each on a terminal, else one line each, which is never wrapped."""
    if isinstance(error, InputError):
        for fault in error.faults:
            text = fault.show() if sys.stderr.isatty() else fault.one_line()
            show_message(text if fault.place else f"error: {text}")
    else:
        show_message(str(error) if isinstance(error, Interrupted) else f"error: {error}")


def _report_bug(error: Exception) -> int:
    if os.environ.get(DEBUG_VARIABLE):
        import traceback

        show_message("".join(traceback.format_exception(error)).rstrip())
    what = " ".join(str(error).split())[:300]
    show_message(f"internal error: {type(error).__name__}: {what}")
    show_message(
        f"This is a bug of markovlogic {__version__}. Please report it with the command and what `mln --debug ...` prints."
    )
    return BUG


def _unwritten(error: OSError) -> int:
    show_message(f"error: cannot write standard output: {error.strerror or error}")
    return BAD_INPUT


def _abandon_output() -> None:
    """Let the interpreter's last flush go nowhere."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
