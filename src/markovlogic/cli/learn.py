"""`mln learn`: weights from data."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from markovlogic.cli import options
from markovlogic.cli.outputs import check_outputs, show_message

if TYPE_CHECKING:
    from markovlogic.learning.folds import CrossValidation
    from markovlogic.learning.learned import Learned

DATA, LEARNING = "The data", "Learning"
WEIGHTS_SHOWN = 40
FOLDS_SHARE, LEAST_SECONDS = 0.7, 0.05  # of a time limit, where the weights are learned from all data after the folds


def learn(
    model: options.Model,
    evidence: Annotated[
        list[str],
        typer.Option(
            "-e",
            "--evidence",
            metavar="FILE",
            help="A training database: a .db file, Predicate=FILE for a table, or "
            "several joined by commas. Repeat for more databases.",
            rich_help_panel=DATA,
        ),
    ],
    query: Annotated[
        list[str] | None,
        typer.Option(
            "-q",
            "--query",
            metavar="PREDICATES",
            help="Predicates to predict from the others. Default: all predicates in the data.",
            rich_help_panel=DATA,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="OUT.mln", help="File for the rules with their weights.", rich_help_panel=options.OUTPUT
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="auto|pseudolikelihood|cd|newton|perceptron",
            help="auto: pseudo-likelihood, then the conditional likelihood by chains where the two differ.",
            rich_help_panel=LEARNING,
        ),
    ] = "auto",
    prior: Annotated[
        str,
        typer.Option(
            "--prior",
            metavar="auto|none|SD|l2:SD|l1:SCALE",
            help="Expected size of the weights. auto, l2 and l1 choose it by cross-validation.",
            rich_help_panel=LEARNING,
        ),
    ] = "auto",
    folds: Annotated[
        bool,
        typer.Option(
            "--folds", help="Cross-validate: leave out one database at a time and evaluate on it.", rich_help_panel=LEARNING
        ),
    ] = False,
    hold_out: Annotated[
        int | None,
        typer.Option(
            "--hold-out",
            metavar="K",
            help="Hide a K-th of the query facts of each database at a time and evaluate on it; choose couplings that way too.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    structure: Annotated[
        bool,
        typer.Option(
            "--structure", help="Find rules about the query predicates too, with their weights.", rich_help_panel=LEARNING
        ),
    ] = False,
    refine: Annotated[
        bool,
        typer.Option(
            "--refine",
            help="Drop or add literals of the rules where held-out likelihood gains, and name rules that data contradict.",
            rich_help_panel=LEARNING,
        ),
    ] = False,
    length: Annotated[
        int | None,
        typer.Option(
            "--length",
            metavar="K",
            help="With --structure or --refine: literals of a body at most. Default: 3.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    rules: Annotated[
        int | None,
        typer.Option(
            "--rules",
            metavar="N",
            help="With --structure: found rules at most. Default: held-out facts decide.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    negatives: Annotated[
        str | None,
        typer.Option(
            "--negatives",
            metavar="WHICH",
            help="With --structure or --refine: what is no fact is false (all), or a sample is and the rest unknown (sampled)."
            " Default: all.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    keep_weights: Annotated[
        bool, typer.Option("--keep-weights", help="Leave weights as they are where a rule has one.", rich_help_panel=LEARNING)
    ] = False,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            help="Stop after this time with the weights found so far.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of chains and folds.", rich_help_panel=LEARNING)] = 0,
    closed_types: options.ClosedTypes = False,
    memory_limit: options.MemoryLimit = None,
    stats: Annotated[
        str | None,
        typer.Option(
            "--stats",
            metavar="FILE.json",
            help="Write the weights and a record of the run as JSON.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    engine: options.Engine = None,
    spark_remote: options.SparkRemote = None,
    spark_folder: options.SparkFolder = None,
    quiet: options.Quiet = False,
) -> int:
    """Learn the weights of rules from training databases; with --structure, find the rules too; with --refine, change them."""
    from markovlogic.errors import InputError
    from markovlogic.learning import folds as cross_validation
    from markovlogic.learning import learn as learning
    from markovlogic.report.files import atomic_file
    from markovlogic.report.progress import shown_progress
    from markovlogic.system.cancellation import Deadline

    options.positive(time_limit, "--time-limit")
    options.at_least(seed, 0, "--seed")
    if hold_out is not None:
        options.at_least(hold_out, 2, "--hold-out")
        if folds:
            raise InputError("--folds and --hold-out together", hint="leave out databases, or parts of their facts; take one")
    for name, given in (("--length", length), ("--rules", rules)):
        if given is not None:
            options.at_least(given, 1, name)
            if not (structure or (refine and name == "--length")):
                raise InputError(f"{name} goes with --structure" + " or --refine" * (name == "--length"))
    if negatives is not None and not (structure or refine):
        raise InputError("--negatives goes with --structure or --refine")
    if (structure or refine) and (folds or hold_out is not None):
        raise InputError(
            f"{'--structure' if structure else '--refine'} chooses rules by held-out facts of its own",
            hint="leave out --folds and --hold-out",
        )
    if output is None and not folds and hold_out is None:
        raise InputError("missing output: give -o OUT.mln, or --folds or --hold-out K")
    options.check_engine(engine, spark_remote, spark_folder, None)
    if engine is not None and (folds or hold_out is not None):
        raise InputError("--folds and --hold-out: not supported with --engine", hint="leave them out, or leave out --engine")
    on: dict[str, Any] = {} if engine is None else {"engine": engine, "spark_remote": spark_remote, "spark_folder": spark_folder}
    check_outputs((output, stats), (model, *evidence))
    if output is not None and not output.endswith(".mln"):
        raise InputError(f"{output} does not end in .mln", hint="learn writes a rule file: give -o OUT.mln")
    if not quiet and _are_parts(evidence):
        joined = ",".join(evidence)
        show_message(f"note: each -e is a database of its own; tables of one database are joined by commas: -e {joined}")
    arguments: dict[str, Any] = {
        "method": method,
        "prior": prior,
        "keep_weights": keep_weights,
        "time_limit": time_limit,
        "seed": seed,
        "memory_limit": options.memory_size(memory_limit),
        "closed_types": closed_types,
    }
    limit = Deadline(time_limit)
    for_folds = time_limit if time_limit is None or output is None else FOLDS_SHARE * time_limit
    record: dict[str, Any] = {}
    concerns: list[str] = []
    with shown_progress(quiet=quiet) as progress:
        validated: CrossValidation | None = None
        if folds or hold_out is not None:
            validated = cross_validation.cross_validate(
                model, list(evidence), query, hold_out=hold_out, progress=progress, **arguments | {"time_limit": for_folds}
            )
            record |= validated.as_dict()
            concerns += validated.concerns()
        if output is not None:
            left = limit.left if limit.left is None else max(limit.left, LEAST_SECONDS)
            arguments["time_limit"] = left if validated is not None else time_limit
            how: dict[str, Any] = {"structure": structure, "refine": refine, "length": length, "rules": rules}
            how["negatives"] = negatives
            learned = learning.learn(model, list(evidence), query, hold_out=hold_out, progress=progress, **how, **arguments, **on)
            learned.save(output)
            record = learned.as_dict() | record
            concerns += learned.concerns()
    if stats is not None:
        import json

        with atomic_file(stats) as file:
            file.write((json.dumps(record, indent=2, allow_nan=False) + "\n").encode())
    if validated is not None:
        _show_folds(validated)
    if output is not None and not quiet:
        _show(learned, output)
    for concern in concerns:
        show_message(f"concern: {concern}")
    return 1 if concerns else 0


def _are_parts(evidence: list[str]) -> bool:
    """Whether several databases look like the tables of one: each is one table, of a predicate that no other has."""
    names = [text.partition("=")[0] for text in evidence if "=" in text and "," not in text]
    return 1 < len(evidence) == len(set(names))


def _show(learned: Learned, output: str) -> None:
    """The largest weights on a terminal, and what should be known about them."""
    if sys.stdout.isatty():
        from rich.console import Console

        Console().print(_weights_table(learned))
    n_weights = f"{len(learned.weights):,} weight{'s' * (len(learned.weights) != 1)}"
    show_message(f"wrote {output}: {n_weights} by {learned.method}, prior: {learned.prior}")
    for note in learned.notes:
        show_message(f"note: {note}")


def _weights_table(learned: Learned) -> Any:
    from rich.table import Table
    from rich.text import Text

    from markovlogic.report.terminal import visible

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title, justify in (("weight", "right"), ("± stderr", "right"), ("formula", "left")):
        table.add_column(title, justify=justify)  # type: ignore[arg-type]
    largest = sorted(learned.weights, key=lambda one: -abs(one.weight))[:WEIGHTS_SHOWN]
    for one in largest:
        error = "-" if one.stderr != one.stderr else f"{one.stderr:.3g}"
        table.add_row(f"{one.weight:.4f}", error, Text(visible(one.formula)))
    if len(learned.weights) > WEIGHTS_SHOWN:
        table.add_row("", "", Text(f"and {len(learned.weights) - WEIGHTS_SHOWN:,} smaller ones", style="dim"))
    return table


def _show_folds(found: CrossValidation) -> None:
    from rich.console import Console
    from rich.table import Table

    from markovlogic.evaluation.view import cell

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    columns = {"rows": "atoms", "true": "true", "cll": "CLL", "auc_pr": "AUC-PR", "auc_roc": "AUC-ROC", "f1": "F1"}
    if found.pooled.overall.groups:
        columns["accuracy"] = "accuracy"
    for title in ("left out", "predicate"):
        table.add_column(title)
    for title in (*columns.values(), "seconds"):
        table.add_column(title, justify="right", no_wrap=True)
    for fold in found.folds:
        seconds = f"{fold.learned.stats['seconds']['total']:.1f}"
        for name, scores in fold.evaluation.rows().items():
            table.add_row(fold.left_out, name, *(cell(scores, column) for column in columns), seconds)
    for name, scores in found.pooled.rows().items():
        table.add_row("together", name, *(cell(scores, column) for column in columns), "")
    Console(width=None if sys.stdout.isatty() else 140, highlight=False).print(table)
