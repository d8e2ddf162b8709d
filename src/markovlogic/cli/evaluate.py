"""`mln evaluate`: how good probabilities are."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from markovlogic.cli import options
from markovlogic.cli.outputs import check_outputs, show_message


def evaluate(
    results: Annotated[
        str, typer.Argument(metavar="RESULTS", help="A file that `mln infer`, `mln link` or `mln cluster` wrote.")
    ],
    truth: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TRUTH...",
            help="The truth: .db files, or Predicate=FILE. Atoms that are not listed are false. Of clusters: a table id,cluster.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the scores (.json, .csv) or the calibration chart (.html, .png, .svg).",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option("--pairs", metavar="FILE", help="Candidate pairs of clusters, as `mln link --pairs FILE` writes them."),
    ] = None,
    ranking: Annotated[
        bool,
        typer.Option(
            "--ranking",
            help="Rank each true fact among all candidates: MRR and Hits@k. RESULTS may be a rule file then, with -e.",
        ),
    ] = False,
    known: Annotated[
        list[str] | None,
        typer.Option("--known", metavar="FILE", help="With --ranking: further true facts, which are no mistakes. Repeatable."),
    ] = None,
    evidence: Annotated[
        list[str] | None,
        typer.Option("-e", "--evidence", metavar="FILE", help="With --ranking of a rule file: the facts that its rules read."),
    ] = None,
    quiet: options.Quiet = False,
) -> int:
    """Compare probabilities with the truth: log loss, Brier score, AUC, F1 and calibration, by predicate.

    Of clusters: precision, recall and F1 of pairs, B-cubed and exact clusters; with --pairs also what the model expects of them.
    """
    from markovlogic.errors import InputError
    from markovlogic.evaluation import evaluate as evaluation
    from markovlogic.evaluation import view
    from markovlogic.evaluation.clusters import has_clusters

    truth = truth or []
    if ranking:
        return _ranking(results, truth, known or [], evidence, output, quiet)
    if known or evidence:
        raise InputError(f"{'--known' if known else '-e'} goes with --ranking")
    if has_clusters(results):
        return _clusters(results, truth, pairs, output, quiet)
    if pairs is not None:
        raise InputError(f"--pairs goes with clusters, and {results} has no column cluster")
    if not truth:
        raise InputError("missing truth", hint="give a .db file, or Predicate=FILE for a table")
    if output is not None:
        view.check_ending(output)
        check_outputs((output,), (results, *truth))
    found = evaluation.evaluate(results, truth)
    if output is not None:
        view.write(found, output)
        if not quiet:
            show_message(f"wrote {output}: {found!r}")
    else:
        from rich.console import Console

        Console(width=None if sys.stdout.isatty() else 140, highlight=False).print(view.evaluation_table(found))
    if not quiet:
        for note in found.notes:
            show_message(f"note: {note}")
    return 0


def _ranking(
    results: str, truth: list[str], known: list[str], evidence: list[str] | None, output: str | None, quiet: bool
) -> int:
    """Mean reciprocal rank and Hits@k of the true facts."""
    from rich.console import Console

    from markovlogic.errors import InputError
    from markovlogic.evaluation.ranking import rank, ranking_table
    from markovlogic.report.progress import shown_progress

    if not truth:
        raise InputError("missing truth", hint="give a .db file, or Predicate=FILE for a table")
    if output is not None:
        check_outputs((output,), (results, *truth, *known, *(evidence or ())))
    with shown_progress(quiet=quiet) as progress:
        found = rank(results, truth, known=known, evidence=evidence, progress=progress)
    if output is not None:
        found.write(output)
    else:
        Console(width=None if sys.stdout.isatty() else 140, highlight=False).print(ranking_table(found))
    if not quiet:
        if output is not None:
            show_message(f"wrote {output}: {found!r}")
        for note in found.notes:
            show_message(f"note: {note}")
    return 0


def _clusters(results: str, truth: list[str], pairs: str | None, output: str | None, quiet: bool) -> int:
    """Scores of clusters, against the truth, by the probabilities of pairs, or both."""
    from markovlogic.errors import InputError
    from markovlogic.evaluation import view
    from markovlogic.evaluation.clusters import evaluate_clusters, read_clusters

    if len(truth) > 1 or not (truth or pairs):
        raise InputError(
            f"{results} has clusters: give one table of the truth, id,cluster, or --pairs FILE for what the model expects"
        )
    if output is not None:
        view.check_ending(output, view.CLUSTER_ENDINGS)
        check_outputs((output,), (results, *truth, *((pairs,) if pairs else ())))
    known = read_clusters(truth[0]) if truth else None
    found = evaluate_clusters(read_clusters(results), known, pairs)
    if output is not None:
        view.write_clusters(found, output)
        if not quiet:
            show_message(f"wrote {output}: {found!r}")
    else:
        from rich.console import Console

        Console(width=None if sys.stdout.isatty() else 140, highlight=False).print(view.clusters_table(found))
    if not quiet:
        for note in found.notes:
            show_message(f"note: {note}")
    return 0
