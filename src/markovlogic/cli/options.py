"""Options that several commands share, and how their text becomes values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from markovlogic.compression import table
from markovlogic.compression.table import NONE, compressor_named, compressor_of, others_with
from markovlogic.compression.table import TABLE as COMPRESSORS
from markovlogic.errors import InputError
from markovlogic.methods.table import AUTO, TABLE, proposing

if TYPE_CHECKING:
    from markovlogic.compression.base import Compressor
    from markovlogic.methods.base import MethodSettings


PROBLEM = "The problem"
METHOD = "The method"
SAMPLING = "Sampling"
OUTPUT = "Output"
ENGINE = "Engine"

Model = Annotated[str, typer.Argument(metavar="MODEL", help="Rule file (.mln).")]
EvidenceFiles = Annotated[
    list[str] | None,
    typer.Option(
        "-e",
        "--evidence",
        metavar="FILE",
        help="Evidence: a .db file, or Predicate=FILE for a table (.csv, .tsv, .jsonl, .parquet, a DuckDB or SQLite file). "
        "Repeat the option, or separate files by commas.",
        rich_help_panel=PROBLEM,
    ),
]
Query = Annotated[
    list[str],
    typer.Option(
        "-q",
        "--query",
        metavar="ATOMS",
        help="What to infer, separated by commas: predicates, atoms, patterns such as Same(A1,_), and ground formulas such as "
        "Smokes(Ann)^!Cancer(Bob).",
        rich_help_panel=PROBLEM,
    ),
]
Open = Annotated[
    list[str] | None,
    typer.Option("--open", metavar="PREDICATES", help="Predicates whose unlisted facts are unknown.", rich_help_panel=PROBLEM),
]
Closed = Annotated[
    list[str] | None,
    typer.Option("--closed", metavar="PREDICATES", help="Predicates whose unlisted facts are false.", rich_help_panel=PROBLEM),
]
ClosedTypes = Annotated[
    bool,
    typer.Option("--closed-types", help="Refuse constants that a declared type does not list.", rich_help_panel=PROBLEM),
]
ClauseWeights = Annotated[
    str,
    typer.Option(
        "--clause-weights",
        metavar="formula|alchemy",
        help="A weight belongs to the whole formula, or is divided among its clauses as Alchemy does.",
        rich_help_panel=PROBLEM,
    ),
]
IncludeEvidence = Annotated[
    bool, typer.Option("--include-evidence", help="Also write the facts that are known from evidence.", rich_help_panel=OUTPUT)
]
Stats = Annotated[
    str | None, typer.Option("--stats", metavar="FILE", help="Write a record of the run as JSON.", rich_help_panel=OUTPUT)
]
METHODS = "|".join((AUTO, *TABLE))
Method = Annotated[
    str, typer.Option("--method", metavar=METHODS, help="Inference method; auto chooses one.", rich_help_panel=METHOD)
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a setting of the method or of the compression: --method bp --set damping=0.9. Repeat for more.",
        rich_help_panel=METHOD,
    ),
]
Network = Annotated[
    str,
    typer.Option(
        "--network",
        metavar="auto|ground|counting",
        help="What the method works on: ground clauses, or counts of groundings with nothing grounded.",
        rich_help_panel=METHOD,
    ),
]
COMPRESSIONS = "|".join((NONE, *COMPRESSORS))
Compress = Annotated[
    str,
    typer.Option(
        "--compress",
        metavar=COMPRESSIONS,
        help="Solve a smaller problem in place of the given one. This changes the result; the guarantee shows how.",
        rich_help_panel=METHOD,
    ),
]
CompressAs = Annotated[
    str,
    typer.Option(
        "--compress-as",
        metavar="auto|counts|blocks|problem",
        help="What --compress puts in place of the problem; auto takes the most accurate one that the rules allow.",
        rich_help_panel=METHOD,
    ),
]
Proposals = Annotated[
    str,
    typer.Option(
        "--proposals",
        metavar=COMPRESSIONS,
        help="Source of the proposals of --method lifted-mh. The result still converges to the true one.",
        rich_help_panel=METHOD,
    ),
]
Rank = Annotated[
    int | None,
    typer.Option(
        "--rank", metavar="R", help="Number of factors of bmf (default: by description length) or nimfa.", rich_help_panel=METHOD
    ),
]
Ratio = Annotated[
    float | None,
    typer.Option(
        "--ratio",
        metavar="R",
        help="Number of groups over number of objects, for each type; for drop, the share of facts to keep. Default 0.1.",
        rich_help_panel=METHOD,
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        "--memory-limit",
        metavar="SIZE",
        help="Refuse a plan that needs more, such as 4GB or 500MB. Default: a share of the memory of the machine.",
        rich_help_panel=METHOD,
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="local|spark",
        help="Solve component by component: spark keeps evidence, grounding and results on a Spark session, local works on this "
        "machine with the same draws. Default: whatever suits the problem, on this machine.",
        rich_help_panel=ENGINE,
    ),
]
SparkRemote = Annotated[
    str | None,
    typer.Option(
        "--spark-remote",
        metavar="ADDRESS",
        help="Session of --engine spark: sc://host:port, or sail for a local Sail server. Default: SPARK_REMOTE, the session of "
        "spark-submit, or a local one with Java.",
        rich_help_panel=ENGINE,
    ),
]
SparkFolder = Annotated[
    str | None,
    typer.Option(
        "--spark-folder",
        metavar="FOLDER",
        help="Where the engine writes its tables, on storage that all executors share. Default: a temporary folder here.",
        rich_help_panel=ENGINE,
    ),
]
Cut = Annotated[
    float | None,
    typer.Option(
        "--cut",
        metavar="P",
        help="With --engine: pairs of an equivalence relation that are less probable by themselves are false where no other pair "
        "ties their groups. The result says how many, and about how far answers are off.",
        rich_help_panel=ENGINE,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress and no notes.", rich_help_panel=OUTPUT)]


def taken(texts: Sequence[str], name: str, default: str) -> tuple[str, list[str]]:
    """The value of one setting of `--set` that is neither the method's nor the compression's; and the texts of all others."""
    found, rest = default, []
    for text in texts:
        own, equals, value = text.partition("=")
        if equals and own.strip() == name:
            found = value.strip()
        else:
            rest.append(text)
    return found, rest


_UNITS = {"": 1, "B": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([KMGT]?I?)B?\s*", re.IGNORECASE)


def memory_size(text: str | None, option: str = "--memory-limit") -> int | None:
    """Bytes of `4GB`, `1.5GiB`, `500MB` or a bare number of bytes."""
    if text is None:
        return None
    found = _SIZE.fullmatch(text)
    size = float(found[1]) * _UNITS[found[2].upper()] if found and found[2].upper() in _UNITS else 0.0
    if size < 1:
        raise InputError(f"{option} {text} is not a size of memory", hint="write 4GB, 500MB or a number of bytes")
    return int(size)


def names(values: Iterable[str] | None) -> tuple[str, ...]:
    """Names from repeated options and comma-separated lists."""
    return tuple(name.strip() for value in values or () for name in value.split(",") if name.strip())


def positive(value: float | None, option: str) -> float | None:
    """A number above zero, or None when it was not given."""
    if value is not None and not (value > 0 and math.isfinite(value)):
        raise InputError(f"{option} must be a number above 0, not {value:g}")
    return value


def share(value: float | None, option: str) -> float | None:
    """A number from 0 to 1, or None when it was not given."""
    if value is not None and not 0.0 <= value <= 1.0:
        raise InputError(f"{option} must be a share from 0 to 1, not {value:g}")
    return value


def at_least(value: int | None, least: int, option: str) -> int | None:
    """A whole number of some size, or None when it was not given."""
    if value is not None and value < least:
        raise InputError(f"{option} must be at least {least}, not {value}")
    return value


def seed_option(panel: str, what: str) -> Any:
    """`--seed N`: the same seed gives the same draws, or the same world."""
    return typer.Option("--seed", metavar="N", help=f"The same seed gives the same {what}; default 0.", rich_help_panel=panel)


def time_limit_option(panel: str, what: str) -> Any:
    """`--time-limit SECONDS`."""
    return typer.Option("--time-limit", metavar="SECONDS", help=what, rich_help_panel=panel)


def output_option(what: str) -> Any:
    """`-o FILE`."""
    return typer.Option("-o", "--output", metavar="FILE", help=what, rich_help_panel=OUTPUT)


def query_option(what: str) -> Any:
    """`-q ATOMS`, where it may be left out."""
    return typer.Option("-q", "--query", metavar="ATOMS", help=what, rich_help_panel=PROBLEM)


def check_engine(engine: str | None, spark_remote: str | None, spark_folder: str | None, cut: float | None) -> None:
    """Refuse what belongs to another engine than the one that is named."""
    if engine not in (None, "local", "spark"):
        raise InputError(f"--engine {engine}: unknown", hint="choose local or spark; Sail is --engine spark --spark-remote sail")
    for option, value in (("--spark-remote", spark_remote), ("--spark-folder", spark_folder)):
        if value is not None and engine != "spark":
            raise InputError(f"{option} works only with --engine spark", hint="add --engine spark, or leave it out")
    if cut is not None and engine is None:
        raise InputError("--cut works only with --engine", hint="add --engine local or --engine spark, or leave it out")


def check_sampling(
    chains: int | None,
    draws: int | None,
    burn_in: int | None,
    seed: int | None,
    thin: int | None,
    time_limit: float | None,
    target_stderr: float | None,
) -> None:
    """Refuse numbers that no run can have, under the names of their options."""
    at_least(chains, 1, "--chains")
    at_least(draws, 1, "--draws")
    at_least(burn_in, 0, "--burn-in")
    at_least(seed, 0, "--seed")
    at_least(thin, 1, "--thin")
    positive(time_limit, "--time-limit")
    positive(target_stderr, "--target-stderr")


Estimator = Annotated[
    str,
    typer.Option(
        metavar="auto|sample|conditional|orbit|orbit-conditional",
        help="What is averaged over the draws: truth values (sample) or probabilities (conditional), and with orbit also over "
        "interchangeable atoms.",
        rich_help_panel=SAMPLING,
    ),
]
Chains = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Number of independent chains. Default: 8 to 64, by method; `mln explain` shows it.",
        rich_help_panel=SAMPLING,
    ),
]
Draws = Annotated[
    int | None,
    typer.Option(metavar="N", help="Sweeps that each chain keeps; default 1000.", rich_help_panel=SAMPLING),
]
BurnIn = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Sweeps that each chain throws away first; default a quarter of the draws.", rich_help_panel=SAMPLING
    ),
]
Seed = Annotated[int | None, seed_option(SAMPLING, "draws")]
TimeLimit = Annotated[
    float | None, time_limit_option(SAMPLING, "Stop after this time with the draws made so far. Reading and grounding count too.")
]
TargetStderr = Annotated[
    float | None,
    typer.Option(metavar="X", help="Stop once every standard error is below X.", rich_help_panel=SAMPLING),
]
Worlds = Annotated[
    str | None,
    typer.Option(metavar="FILE.parquet", help="Write the sampled worlds of the query atoms.", rich_help_panel=SAMPLING),
]
Thin = Annotated[
    int | None, typer.Option(metavar="K", help="With --worlds: write every K-th world; default 1.", rich_help_panel=SAMPLING)
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Save the run in this directory from time to time, so that --resume can continue it.",
        rich_help_panel=SAMPLING,
    ),
]


State = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Keep answers and worlds in this directory. A later run with other facts, rules or weights runs only the components "
        "that changed.",
        rich_help_panel=SAMPLING,
    ),
]
StateLimit = Annotated[
    str | None,
    typer.Option(
        "--state-limit",
        metavar="SIZE",
        help="Most that --state may take, for example 500MB. Worlds are left out first.",
        rich_help_panel=SAMPLING,
    ),
]


def read_settings(
    method: str, words: Sequence[str], compress: str, rank: int | None, ratio: float | None, proposals: str = NONE
) -> tuple[str | MethodSettings, Compressor | None, Compressor | None, str]:
    """The method with its settings, the compressor and the source of proposals with theirs, and the kind of orbits.

    words: what `--set` gives. These, rank and ratio are about the compression, or else about the proposals.
    """
    from markovlogic.methods.options import methods_with, owner_of
    from markovlogic.system.settings_parser import parsed_settings

    orbits, rest = taken(words, "orbits", "auto")
    if method == AUTO and proposals != NONE:
        method = proposing()[0].name  # what `auto` takes then
    replaces = compress != NONE or proposals == NONE
    named = compress if replaces else proposals
    if named == NONE:
        compressor_of(NONE, rank, ratio)  # refuses a rank or ratio of nothing

    def elsewhere(name: str) -> str:
        methods = f"; {name} is one of {', '.join(having)}" if (having := methods_with(name)) else ""
        whose = f"for a setting of a method, name the method with --method{methods}" if method == AUTO else ""
        return others_with(name) or whose

    owners = [] if named == NONE else [table.owner_of(named, rank, ratio)]
    *made, settings = parsed_settings(rest, [*owners, owner_of(method)], elsewhere)
    if proposals != NONE and any(text.partition("=")[0].strip().removeprefix(f"{method}.") == "source" for text in rest):
        from markovlogic.methods.sampler_method import two_sources

        raise two_sources(method)
    found: Compressor | None = made[0] if made else None
    chosen: str | MethodSettings = settings if settings is not None and rest else method
    if not replaces:
        return chosen, None, found, orbits
    return chosen, found, None if proposals == NONE else compressor_named(proposals), orbits
