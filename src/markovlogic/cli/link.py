"""`mln link`: tables of records to clusters of those that describe the same thing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from markovlogic.cli import on_engine, options
from markovlogic.cli.outputs import check_outputs, show_message
from markovlogic.errors import InputError

if TYPE_CHECKING:
    from markovlogic.linking.linked import Linked

RECORDS = "The records"
RULES_SHOWN = 8


def link(
    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="TABLE...", help="Records: .csv, .tsv, .jsonl, .parquet, or a table of a database. Each is a source."
        ),
    ],
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="FILE", help="CSV file; else standard output.", rich_help_panel=options.OUTPUT),
    ] = "-",
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="What is known: pairs a,b,same, or id,cluster of some records.",
            rich_help_panel=RECORDS,
        ),
    ] = None,
    one_to_one: Annotated[
        bool, typer.Option("--one-to-one", help="No table has duplicates of its own.", rich_help_panel=RECORDS)
    ] = False,
    id_: Annotated[
        str,
        typer.Option(
            "--id", metavar="COLUMN", help="The column that names records; else found, or made.", rich_help_panel=RECORDS
        ),
    ] = "",
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="NAME=KIND",
            help="What a column holds: name, text, date, number, postcode, email, code, category, or ignore. Repeatable.",
            rich_help_panel=RECORDS,
        ),
    ] = None,
    block: Annotated[
        list[str] | None,
        typer.Option(
            "--block",
            metavar="COLUMNS",
            help='Compare records that agree on these columns: "surname, dob"; surname:3 is its first letters. Repeatable.',
            rich_help_panel=RECORDS,
        ),
    ] = None,
    save: Annotated[
        str | None,
        typer.Option("--save", metavar="DIR", help="Keep the rules and tables there.", rich_help_panel=options.OUTPUT),
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option("--pairs", metavar="FILE", help="Write candidate pairs with probabilities.", rich_help_panel=options.OUTPUT),
    ] = None,
    stats: options.Stats = None,
    seed: options.Seed = None,
    time_limit: options.TimeLimit = None,
    memory_limit: options.MemoryLimit = None,
    engine: options.Engine = None,
    spark_remote: options.SparkRemote = None,
    spark_folder: options.SparkFolder = None,
    quiet: options.Quiet = False,
) -> int:
    """Find records that describe the same thing: id,cluster,probability that the cluster is exactly right."""
    from markovlogic.api.link import link as link_records
    from markovlogic.report.progress import shown_progress

    options.check_engine(engine, spark_remote, spark_folder, None)
    folder, folder_of_pairs = on_engine.dataset_at(engine, output), on_engine.dataset_at(engine, pairs)
    if folder_of_pairs and not folder:
        raise InputError("--pairs names a dataset", hint="the clusters must be one too: -o NAME.parquet")
    read = (*tables, *((labels,) if labels else ()))
    check_outputs((None if folder else output, None if folder_of_pairs else pairs, stats), read)
    options.at_least(seed, 0, "--seed")
    options.positive(time_limit, "--time-limit")
    kinds = dict(_kind(text) for text in column or ())
    if folder is not None:
        given = [name for name, value in (("--save", save), ("--time-limit", time_limit)) if value is not None]
        given += ["--pairs FILE"] if pairs is not None and folder_of_pairs is None else []
        if given:
            raise InputError(
                f"{', '.join(given)}: not supported with a dataset", hint="with -o NAME.csv it is; pairs as NAME.parquet"
            )
        with shown_progress(quiet=quiet) as progress:
            dataset = on_engine.linked_dataset(
                on_engine.engine_of("spark", spark_remote, spark_folder, None),
                tables,
                folder,
                folder_of_pairs,
                id_column=id_,
                columns=kinds,
                block=tuple(block or ()),
                one_to_one=one_to_one,
                labels=labels,
                seed=seed,
                memory_limit=options.memory_size(memory_limit),
                progress=progress,
            )
        if stats is not None:
            _write_stats(dataset.linked, stats, dataset.summary())
        if not quiet:
            _show_blocking(dataset.linked)
            counts = f"{dataset.records:,} records in {dataset.clusters:,} clusters"
            show_message(f"wrote {folder}: {counts}, by {dataset.linked.compared.n_compared:,} compared pairs")
        return _end(dataset.linked)
    with shown_progress(quiet=quiet) as progress:
        found = link_records(
            *tables,
            id_column=id_,
            columns=kinds,
            block=tuple(block or ()),
            one_to_one=one_to_one,
            labels=labels,
            seed=seed,
            time_limit=time_limit,
            memory_limit=options.memory_size(memory_limit),
            progress=progress,
            engine=engine,
            spark_remote=spark_remote,
            spark_folder=spark_folder,
        )
    _write(found.clusters, output)
    if pairs is not None:
        _write(found.pairs, pairs)
    command = found.save(save) if save is not None else ""
    if stats is not None:
        _write_stats(found, stats)
    if not quiet:
        _show(found, output)
        if command:
            show_message(f"to run it again: {command}")
    return _end(found)


def _end(found: Linked) -> int:
    for concern in found.concerns():
        show_message(f"concern: {concern}")
    return 1 if found.concerns() else 0


def _kind(text: str) -> tuple[str, str]:
    name, equals, kind = text.rpartition("=")
    if not equals:
        raise InputError(f"--column {text}: the kind is missing", hint="write --column dob=date")
    return name.strip(), kind.strip().lower()


def _show(found: Linked, output: str) -> None:
    """What was done, on standard error."""
    _show_blocking(found)
    records, where = found.compared.records, "" if output == "-" else f"wrote {output}: "
    show_message(
        f"{where}{records.n:,} records in {found.n_clusters:,} clusters, by {found.compared.n_compared:,} compared pairs"
    )


def _show_blocking(found: Linked) -> None:
    """How records were compared, and which."""
    records = found.compared.records
    shown = ", ".join(f"{column.name} {column.kind}" for column in records.columns)
    show_message(f"columns: {shown}" + (f"; id: {records.id_column}" if records.id_column else "; records are numbered"))
    for line in _blocking(found):
        show_message(line)
    for note in found.notes:
        show_message(f"note: {note}")


def _blocking(found: Linked) -> list[str]:
    """The rules that chose pairs, those that find most first."""
    rows = sorted(found.blocking.to_pylist(), key=lambda row: -row["recall"])
    shown = rows[:RULES_SHOWN]
    width = max([len("pairs compared"), *(len(row["rule"]) for row in shown)])
    lines = [f"{'pairs compared':<{width}} {'pairs':>12}  recall, estimated"]
    lines += [f"{row['rule']:<{width}} {row['pairs']:>12,}  {row['recall']:.3f}" for row in shown]
    return lines + ([f"and {len(rows) - len(shown)} more rules, see --stats"] if len(rows) > len(shown) else [])


def _write(table: Any, path: str) -> None:
    """CSV, quoted as RFC 4180 has it."""
    from pyarrow import csv

    from markovlogic.report.files import atomic_file

    with atomic_file(path) as file:
        csv.write_csv(table, file, csv.WriteOptions(quoting_style="needed"))


def _write_stats(found: Linked, path: str, summary: dict[str, Any] | None = None) -> None:
    """What was done, as JSON."""
    import json

    from markovlogic.report.files import atomic_file
    from markovlogic.system.measures import peak_memory

    content = {
        **(summary or found.summary()),
        "columns": found.columns.to_pylist(),
        "blocking": found.blocking.to_pylist(),
        "weights": found.weights.to_pylist(),
        **({} if summary else {"expected": found.evaluation().as_dict()["expected"]}),
        "concerns": found.concerns(),
        "peak_memory_bytes": peak_memory(),
    }
    with atomic_file(path) as file:
        file.write(json.dumps(content, indent=1).encode() + b"\n")
