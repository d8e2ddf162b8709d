"""`mln map`: the most probable world."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from markovlogic.cli import on_engine, options
from markovlogic.cli.outputs import check_outputs, show_message
from markovlogic.compression.table import NONE

if TYPE_CHECKING:
    from markovlogic.map_inference.world import World

SEARCH = "Search"
Queried = Annotated[
    list[str] | None,
    options.query_option("Predicates and ground atoms whose true atoms to write, separated by commas. Default: all open atoms."),
]


def map_(
    model: options.Model,
    query: Queried = None,
    evidence: options.EvidenceFiles = None,
    open_: options.Open = None,
    closed: options.Closed = None,
    closed_types: options.ClosedTypes = False,
    clause_weights: options.ClauseWeights = "formula",
    method: Annotated[
        str,
        typer.Option(
            metavar="auto|maxwalksat|ilp",
            help="auto: proofs where they are cheap, then search, then integer programs. Or only search, or search and programs.",
            rich_help_panel=options.METHOD,
        ),
    ] = "auto",
    compress: options.Compress = NONE,
    rank: options.Rank = None,
    ratio: options.Ratio = None,
    set_: options.Set = None,
    polish: Annotated[
        bool,
        typer.Option(
            "--polish/--no-polish",
            help="With --compress: improve the world of the smaller problem by one walk on the original problem.",
            rich_help_panel=options.METHOD,
        ),
    ] = True,
    memory_limit: options.MemoryLimit = None,
    tries: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of walks; default 4, for maxwalksat 10.", rich_help_panel=SEARCH),
    ] = None,
    flips: Annotated[
        int | None,
        typer.Option(metavar="N", help="Flips in each walk; default 100 for each atom, at least 500.", rich_help_panel=SEARCH),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of random moves at the start of a walk; it falls to 0. Default 0.5.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    seed: Annotated[int | None, options.seed_option(SEARCH, "world")] = None,
    state: options.State = None,
    state_limit: options.StateLimit = None,
    time_limit: Annotated[
        float | None, options.time_limit_option(SEARCH, "Stop after this time with the best world so far.")
    ] = None,
    include_evidence: options.IncludeEvidence = False,
    output: Annotated[
        str | None, options.output_option("File for the true atoms, one in each line. `-`: standard output.")
    ] = None,
    stats: options.Stats = None,
    engine: options.Engine = None,
    spark_remote: options.SparkRemote = None,
    spark_folder: options.SparkFolder = None,
    cut: options.Cut = None,
    quiet: options.Quiet = False,
) -> int:
    """Find the most probable world: its true atoms, its weight, and a bound on the weight of any other world."""
    limit = options.memory_size(memory_limit)
    options.at_least(tries, 1, "--tries")
    options.at_least(flips, 1, "--flips")
    options.at_least(seed, 0, "--seed")
    options.share(noise, "--noise")
    options.positive(time_limit, "--time-limit")

    from markovlogic.api import maximize as api
    from markovlogic.compression.table import compressor_from
    from markovlogic.errors import InputError
    from markovlogic.report.progress import shown_progress

    compressor = compressor_from(compress, rank, ratio, set_ or ())
    if compressor is None and not polish:
        raise InputError("--no-polish belongs to --compress, which is missing", hint="add --compress NAME, or remove --no-polish")
    options.check_engine(engine, spark_remote, spark_folder, cut)
    if engine is not None:
        from markovlogic.problem.prepare import Assumptions

        alone = (tries, flips, noise, time_limit, compressor, state, state_limit)
        names = ("--tries", "--flips", "--noise", "--time-limit", "--compress", "--state", "--state-limit")
        if given := [name for name, value in zip(names, alone, strict=True) if value is not None]:
            raise InputError(f"{', '.join(given)}: not supported with --engine", hint="leave it out, or leave out --engine")
        return on_engine.write_world(
            on_engine.engine_of(engine, spark_remote, spark_folder, cut),
            model,
            evidence or (),
            query,
            output,
            stats,
            memory_limit=limit,
            quiet=quiet,
            method=method,
            seed=seed,
            assumed=Assumptions(options.names(open_), options.names(closed), closed_types, clause_weights),
            include_evidence=include_evidence,
        )
    check_outputs((output, stats), (model, *(evidence or ())))
    with shown_progress(quiet=quiet) as progress:
        world = api.maximize(
            model,
            evidence or (),
            query,
            method=method,
            compress=compressor,
            polish=polish,
            tries=tries,
            flips=flips,
            noise=noise,
            seed=seed,
            time_limit=time_limit,
            state=state,
            state_limit=options.memory_size(state_limit, "--state-limit"),
            open_=options.names(open_),
            closed=options.names(closed),
            closed_types=closed_types,
            clause_weights=clause_weights,
            memory_limit=limit,
            include_evidence=include_evidence,
            progress=progress,
        )
    return _deliver(world, output, stats, quiet=quiet)


def _deliver(world: World, output: str | None, stats: str | None, *, quiet: bool) -> int:
    """Write the atoms and show what is proved."""
    from markovlogic.report.files import STANDARD_OUTPUT, atomic_file

    if stats is not None:
        with atomic_file(stats) as file:
            file.write(json.dumps(world.stats(), indent=2, allow_nan=False).encode() + b"\n")
    with atomic_file(STANDARD_OUTPUT if output is None else output) as file:
        for batch in range(0, len(world.atom), 65_536):
            file.write("".join(f"{name}\n" for name in world.atom[batch : batch + 65_536].to_pylist()).encode())
    if not quiet:
        where = "" if output is None else f"wrote {output}: "
        show_message(
            f"{where}{len(world):,} true atom{'s' * (len(world) != 1)}, {world.description}, {world.run.seconds['total']:.2f} s"
        )
        for remark in world.remarks:
            show_message(f"note: {remark}")
    concerns = world.concerns()
    for concern in concerns:
        show_message(f"concern: {concern}")
    if world.run.interrupted:
        show_message("interrupted: this is the best world so far")
        return 130
    return 1 if concerns else 0
