"""`infer` and its like on an engine: which options can go there, and results as marginals or as a dataset."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from markovlogic._version import __version__
from markovlogic.data.arrow import numpy_numbers
from markovlogic.data.evidence import Domain, Evidence, codes
from markovlogic.data.sources import NAMED, Source, evidence_sources, is_postgres, source_name
from markovlogic.errors import InputError, ResourceError, UnsupportedError, known_name
from markovlogic.guarantee import Guarantee
from markovlogic.language.load import load
from markovlogic.language.syntax import Model
from markovlogic.problem.prepare import Assumptions
from markovlogic.results.marginals import EVENT, Marginals, RunRecord
from markovlogic.running.sampling import Sampling
from markovlogic.scale_out.executor import Task
from markovlogic.scale_out.options import EngineOptions
from markovlogic.scale_out.stages import Prepared, Summary, prepare_stored, solve_stored
from markovlogic.system.arrays import frozen
from markovlogic.system.measures import default_limit, peak_memory, show_bytes
from markovlogic.system.progress import SILENT, Progress

if TYPE_CHECKING:
    from markovlogic.api.explain import Explanation
    from markovlogic.grounding.backends import Engine

LOCAL, SPARK = "local", "spark"
METHODS = ("auto", "exact", "enumerate", "eliminate", "gibbs", "blocked", "mcsat", "tempered")
MOST_ROWS = 2_000_000  # of a result that this program holds; more become a dataset
CATALOG = re.compile(r"[A-Za-z_]\w*(\.(?!(csv|tsv|jsonl?|parquet|db)\b)[A-Za-z_]\w*){1,2}")  # a table of a catalog
BYTES_A_ROW = 600  # of a bundle in an executor, with its network and its answers; measured
ABOUT_DRAWS = ("worlds", "thin", "checkpoint", "resume", "keep_draws")


@dataclass(frozen=True)
class OnEngine:
    """Which engine, and where its session and its tables are."""

    engine: str | Any  # local, spark, or a Spark session
    remote: str | None = None
    folder: str | None = None
    partitions: int | None = None
    cut: float = 0.0  # pairs of equivalence relations below this probability tie no groups

    @property
    def is_local(self) -> bool:
        """Whether it is DuckDB in this process."""
        return isinstance(self.engine, str) and self.engine == LOCAL

    @contextmanager
    def opened(self, memory_limit: int | None, threads: int | None) -> Iterator[Engine]:
        """The engine, for as long as the block lasts."""
        if self.is_local:
            from markovlogic.grounding.backends.duckdb import open_duckdb

            with closing(open_duckdb(memory_limit, threads)) as engine:
                yield engine
            return
        from markovlogic.grounding.backends.sessions import spark_engine

        session = None if isinstance(self.engine, str) else self.engine
        with spark_engine(self.remote, session=session, folder=self.folder, partitions=self.partitions) as engine:
            yield engine


@dataclass(frozen=True)
class Dataset:
    """A result that was written by the engine; this program has its summary only."""

    path: str
    summary: Summary

    def concerns(self) -> list[str]:
        """Reasons not to trust the numbers; empty when none was found."""
        return list(self.summary.concerns)

    @property
    def line(self) -> str:
        """The summary in a line."""
        own = self.summary
        methods = " and ".join(f"{name} for {atoms:,} atoms" for name, atoms in own.methods.items()) or "all known"
        worst = "" if own.worst_rhat is None else f", worst R-hat {own.worst_rhat:.3f}"
        return f"{own.rows:,} rows in {own.components:,} components, {methods}{worst}; guarantee: {own.guarantee}"

    def stats(self) -> dict[str, Any]:
        """What `--stats` writes."""
        return record_of(self.summary, (), (), "auto", None).stats(self.summary.guarantee) | _cuts(self.summary)


def check_engine(engine: str | Any) -> None:
    """Refuse a name that is no engine's."""
    if isinstance(engine, str) and engine not in (LOCAL, SPARK):
        raise InputError(f"unknown engine {engine!r}", hint=f"choose {LOCAL} or {SPARK}, or give a Spark session")


def refusal(options: EngineOptions, elsewhere: Mapping[str, Any]) -> str:
    """What of the options cannot be done component by component, as a sentence; empty where all can."""
    sampling = options.sampling
    if options.method_name not in METHODS:
        return f"--method {options.method_name} does not work component by component; it can be {', '.join(METHODS)}"
    given = [f"--{name.replace('_', '-')}" for name in ABOUT_DRAWS if getattr(sampling, name) not in (None, False)]
    given += [f"--{name.replace('_', '-')}" for name, value in elsewhere.items() if value not in (None, "auto", "none")]
    if sampling.time_limit is not None:
        given.append("--time-limit")
    if sampling.estimator.startswith("orbit") or sampling.orbits != "auto":
        given.append("orbits of symmetries")
    return f"{', '.join(given)}: not supported component by component" if given else ""


def infer_on(
    on: OnEngine,
    model: Any,
    evidence: Any,
    query: Any,
    options: EngineOptions,
    elsewhere: Mapping[str, Any],
    *,
    path: str | None = None,
    memory_limit: int | None = None,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> Marginals | Dataset | None:
    """All stages. None where the options need the whole problem at once, and this machine can do that.

    path: a folder that does not exist yet, for a dataset in place of marginals. elsewhere: options that do not belong here.
    """
    check_engine(on.engine)
    options.sampling.check()
    if wrong := refusal(options, elsewhere):
        if on.is_local and path is None and not on.cut:
            return None
        raise UnsupportedError(f"--engine: {wrong}", hint="without --engine it can be done on this machine")
    with _prepared(on, model, evidence, query, options, path, memory_limit, progress, threads) as prepared:
        summary = solve_stored(prepared, options, progress)
        if path is not None:
            prepared.problem.engine.write("SELECT * FROM result", path)
            return Dataset(path, summary)
        _refuse_many(summary)
        if isinstance(evidence, Evidence):
            files: tuple[str, ...] = evidence.sources
        else:
            files = tuple(source_name(source) for source in (evidence_sources if on.is_local else _sources)(evidence))
        return _marginals(prepared, summary, files, options)


@contextmanager
def _prepared(
    on: OnEngine,
    model: Any,
    evidence: Any,
    query: Any,
    options: EngineOptions,
    path: str | None,
    memory_limit: int | None,
    progress: Progress,
    threads: int | None = None,
) -> Iterator[Prepared]:
    """Bundles of components, for as long as the engine is open; path: where a dataset is to be written."""
    checked = model if isinstance(model, Model) else load(model)
    sources = engine_sources(on, evidence)
    if path is not None and "://" not in path and os.path.lexists(path):
        raise InputError(f"{path} exists already", hint="a dataset is written to a new folder")
    if not 0 <= on.cut < 1:
        raise InputError(f"--cut {on.cut:g}: expected a probability below 1")
    limit = default_limit() if memory_limit is None else memory_limit
    with on.opened(limit, threads) as engine:
        yield prepare_stored(engine, checked, sources, query, replace(options, cut=on.cut), progress)


def engine_sources(on: OnEngine, evidence: Any) -> Evidence | list[Source]:
    """What an engine is to read."""
    if isinstance(evidence, Evidence):
        return evidence
    return evidence_sources(evidence) if on.is_local else _sources(evidence)


def _sources(evidence: Any) -> list[Source]:
    """Sources as the readers take them; what this machine has no file of is for the engine: paths, tables, `sql:` queries."""
    if isinstance(evidence, str):
        named = NAMED.match(evidence)
        if named is not None and is_for_engine(named.group(2)) and not os.path.exists(evidence):
            return [(named.group(1), named.group(2))]
    elif isinstance(evidence, list | tuple) and all(isinstance(item, str | os.PathLike) for item in evidence):
        return [source for item in evidence for source in _sources(item)]
    return evidence_sources(evidence)


def is_for_engine(table: Any) -> bool:
    """Whether an engine reads a table by itself: its frames, `sql:` queries, addresses, patterns, names of a catalog."""
    if not isinstance(table, str):
        return type(table).__module__.startswith("pyspark.")
    there = table.startswith("sql:") or "://" in table or "*" in table or CATALOG.fullmatch(table) is not None
    return there and not is_postgres(table) and not os.path.exists(table)


def _refuse_many(summary: Summary) -> None:
    """Refuse rows that this program does not hold."""
    if summary.rows > MOST_ROWS:
        raise ResourceError(
            f"the result has {summary.rows:,} rows, more than this program holds ({MOST_ROWS:,});"
            " with --engine spark -o NAME.parquet the engine writes a dataset",
            needed=summary.rows,
            limit=MOST_ROWS,
        )


MAP_METHODS = ("auto", "maxwalksat", "ilp")


@dataclass(frozen=True)
class StoredWorld:
    """The most probable world that was found: its true atoms, or the folder that has them."""

    atoms: tuple[str, ...]
    path: str | None
    summary: Summary

    @property
    def is_proved(self) -> bool:
        """Whether no other world is more probable."""
        return self.summary.guarantee is Guarantee.EXACT

    @property
    def line(self) -> str:
        """The summary in a line."""
        own = self.summary
        proof = "proved" if self.is_proved else f"not proved: another world may weigh up to {own.gap:.6g} more"
        return f"{own.rows:,} true atoms, {own.components:,} components, {proof}"

    def stats(self) -> dict[str, Any]:
        """What `--stats` writes."""
        return (
            record_of(self.summary, (), (), "none", None).stats(self.summary.guarantee)
            | {"proved": self.is_proved}
            | _cuts(self.summary)
        )


def maximize_on(
    on: OnEngine,
    model: Any,
    evidence: Any,
    query: Any,
    *,
    method: str = "auto",
    seed: int | None = None,
    assumed: Assumptions | None = None,
    include_evidence: bool = False,
    path: str | None = None,
    memory_limit: int | None = None,
    progress: Progress = SILENT,
) -> StoredWorld:
    """The most probable world, component by component; path: a new folder for its true atoms."""
    check_engine(on.engine)
    known_name(method, "method", MAP_METHODS)
    options = EngineOptions(
        Sampling(seed=seed), method, assumed or Assumptions(), include_evidence=include_evidence, task=Task.MAP
    )
    with _prepared(on, model, evidence, query, options, path, memory_limit, progress) as prepared:
        summary = solve_stored(prepared, options, progress)
        engine = prepared.problem.engine
        if path is not None:
            engine.write("SELECT atom FROM result", path)
            return StoredWorld((), path, summary)
        _refuse_many(summary)
        return StoredWorld(tuple(row[0] for row in engine.rows("SELECT atom FROM result ORDER BY atom")), None, summary)


def explain_on(
    on: OnEngine,
    model: Any,
    evidence: Any,
    query: Any,
    options: EngineOptions,
    elsewhere: Mapping[str, Any],
    *,
    memory_limit: int | None = None,
    progress: Progress = SILENT,
) -> Explanation:
    """Sizes, components and predicted seconds; grounds and finds components, solves none."""
    from markovlogic.api.explain import Candidate, Explanation, PlanView
    from markovlogic.grounding.predict import groundings_of

    check_engine(on.engine)
    if wrong := refusal(options, elsewhere):
        raise UnsupportedError(f"--engine: {wrong}", hint="without --engine it can be done on this machine")
    options = replace(options, task=Task.PLAN)
    with _prepared(on, model, evidence, query, options, None, memory_limit, progress) as prepared:
        summary = solve_stored(prepared, options, progress)
        problem, found = prepared.problem, prepared.bundled
        size = "SELECT comp, COUNT(*) AS n FROM label GROUP BY comp"
        most = problem.engine.row(f"SELECT COALESCE(MAX(n), 1) FROM ({size}) AS sizes")
        methods = dict(sorted(summary.methods.items(), key=lambda own: -own[1])) or {"exact": 0}
        seconds = summary.work_seconds or 0.0
        reason = f"{found.components:,} components in {found.bundles:,} bundles, each by the method that suits it"
        bundle_bytes = BYTES_A_ROW * max(found.largest, options.bundle)
        return Explanation(
            groundings=sum(groundings_of(problem.model, problem.domains)),  # type: ignore[arg-type]
            atoms=sum(own.n_open for own in prepared.posed.relations.values()),
            clauses=None,
            clauses_at_most=summary.clauses,
            literals=None,
            components=found.components,
            largest_component=int(most[0]) if most else 0,
            exclusive_groups=0,
            memory_bytes=bundle_bytes,
            plan=PlanView(next(iter(methods)), "ground", options.sampling.estimator, reason, None, methods),
            candidates=tuple(
                Candidate(name, "ground", True, str(summary.guarantee), None, None, f"{atoms:,} atoms")
                for name, atoms in methods.items()
            ),
            details=(
                f"executors: about {seconds:,.1f} s of work in all, {show_bytes(bundle_bytes)} for a bundle",
                f"largest component: {found.largest:,} ground clauses and facts, {problem.name_of(found.largest_at)} is in it",
                f"{found.rounds} rounds to find the components",
            ),
            notes=(*problem.facts.notes, *(cut.text for cut in summary.cuts)),
        )


def cluster_on(
    on: OnEngine,
    model: Any,
    evidence: Any,
    predicate: str,
    *,
    sampling: Sampling,
    assumed: Assumptions | None = None,
    path: str | None = None,
    memory_limit: int | None = None,
    progress: Progress = SILENT,
) -> tuple[Any, Summary]:
    """Clusters of an equivalence relation as an Arrow table, or a new folder; and how the run went."""
    from markovlogic.scale_out.clusters import cluster_stored

    check_engine(on.engine)
    options = EngineOptions(sampling, "auto", assumed or Assumptions())
    if wrong := refusal(options, {}):
        raise UnsupportedError(f"--engine: {wrong}", hint="without --engine it can be done on this machine")
    with _prepared(on, model, evidence, predicate, options, path, memory_limit, progress) as prepared:
        summary = solve_stored(prepared, options, progress)
        cluster_stored(prepared, predicate)
        engine = prepared.problem.engine
        if path is not None:
            engine.write("SELECT * FROM clusters", path)
            return path, summary
        _refuse_many(summary)
        found = engine.arrow("SELECT * FROM clusters")
        return (found if hasattr(found, "sort_by") else found.read_all()).sort_by("constant"), summary


def infer_dataset(
    model: Any,
    evidence: Any = None,
    query: Any = (),
    path: str | os.PathLike[str] = "",
    *,
    engine: Any = SPARK,
    spark_remote: str | None = None,
    spark_folder: str | None = None,
    cut: float = 0.0,
    method: Any = "auto",
    estimator: str = "auto",
    chains: int | None = None,
    draws: int | None = None,
    burn_in: int | None = None,
    seed: int | None = None,
    target_stderr: float | None = None,
    open_: Sequence[str] = (),
    closed: Sequence[str] = (),
    closed_types: bool = False,
    clause_weights: str = "formula",
    include_evidence: bool = False,
    top: int | None = None,
    memory_limit: int | None = None,
    progress: Progress | bool | None = None,
) -> Dataset:
    """As `infer` on an engine, with the rows as Parquet files in a new folder; none of them comes to this program.

    cut: pairs of equivalence relations that are less probable by themselves tie no groups; the result says what that costs.
    """
    from markovlogic.report.progress import progress_of

    sampling = Sampling(chains, draws, burn_in, seed, None, target_stderr, estimator=estimator)
    assumed = Assumptions(open_, closed, closed_types, clause_weights)
    options = EngineOptions(sampling, method, assumed, include_evidence, top)
    on = OnEngine(engine, spark_remote, spark_folder, cut=cut)
    with progress_of(progress) as shown:
        made = infer_on(on, model, evidence, query, options, {}, path=os.fspath(path), memory_limit=memory_limit, progress=shown)
    assert isinstance(made, Dataset)
    return made


def record_of(
    summary: Summary, sources: Sequence[str], query: Sequence[str], estimator: str, sampling: Sampling | None
) -> RunRecord:
    """The run's record from its summary."""
    methods = dict(sorted(summary.methods.items(), key=lambda own: -own[1])) or {"exact": 0}
    sampled = sampling is not None and any(name != "exact" for name in methods)
    draws = 0 if sampling is None or not sampled else sampling.schedule(1).draws
    return RunRecord(
        chains=0 if sampling is None or not sampled else sampling.chains or 0,
        draws=draws,
        burn_in=0 if sampling is None or not sampled else sampling.schedule(1).burn_in,
        seed=None if sampling is None else sampling.seed or 0,
        converged=summary.converged,
        method=next(iter(methods)),
        network="ground",
        estimator=estimator,
        atoms=sum(methods.values()),
        clauses=summary.clauses,
        seconds=summary.seconds,
        peak_memory_bytes=peak_memory(),
        sources=tuple(sources),
        query=tuple(query),
        version=__version__,
        methods=methods if len(methods) > 1 else None,
    )


def _marginals(prepared: Prepared, summary: Summary, sources: Sequence[str], options: EngineOptions) -> Marginals:
    """The rows of a result that is small enough, sorted by name."""
    import pyarrow as pa
    import pyarrow.compute as pc

    engine = prepared.problem.engine
    found = engine.arrow("SELECT * FROM result")
    table = found if isinstance(found, pa.Table) else found.read_all()
    names = table["atom"].combine_chunks().cast(pa.large_string())
    order = pc.sort_indices(names)
    table, names = table.take(order), names.take(order)
    model = prepared.problem.model
    predicate = table["predicate"].to_pylist()
    predicates = tuple(name for name in model.predicates if name in set(predicate))
    number = {name: at for at, name in enumerate(predicates)}
    predicate_of = np.array([EVENT if name is None else number[name] for name in predicate], np.int32)
    code = np.full(len(predicate), -1, np.int64)
    rows_of = [np.flatnonzero(predicate_of == at) for at in range(len(predicates))]
    columns: dict[str, list[Any]] = {}  # by type: one domain for all places that take it
    for name, rows in zip(predicates, rows_of, strict=True):
        for position, type_name in enumerate(model.predicates[name].types):
            columns.setdefault(type_name, []).append(table[f"arg{position + 1}"].take(pa.array(rows)).combine_chunks())
    values = {type_name: pc.unique(pa.chunked_array(own)).sort() for type_name, own in columns.items()}
    domain = {type_name: Domain(type_name, tuple(own.to_pylist())) for type_name, own in values.items()}
    domains = tuple(tuple(domain[of] for of in model.predicates[name].types) for name in predicates)
    for name, rows, own in zip(predicates, rows_of, domains, strict=True):
        args = [
            numpy_numbers(pc.index_in(table[f"arg{position + 1}"].take(pa.array(rows)).combine_chunks(), values[type_name]))
            for position, type_name in enumerate(model.predicates[name].types)
        ]
        code[rows] = codes(np.stack(args, axis=1) if args else np.zeros((len(rows), 0), np.int64), tuple(map(len, own)))
    numbers: dict[str, Any] = {
        name: np.asarray(table[name].cast(pa.float64()).fill_null(np.nan).to_numpy(), np.float64)
        for name in ("probability", "stderr", "rhat", "ess")
    }
    texts = tuple(item.text for item in prepared.items)
    files = (model.source, *sources)
    return frozen(
        Marginals(
            atom=names,
            predicate_of=predicate_of,
            code=code,
            guarantee=summary.guarantee,
            run=record_of(summary, files, texts, options.sampling.estimator, options.sampling),
            predicates=predicates,
            domains=domains,
            exclusive=tuple(model.predicates[name].exclusive for name in predicates),
            whole=tuple(False for _ in predicates),
            notes=summary.concerns,
            remarks=(*prepared.problem.facts.notes, _course(summary), *(cut.text for cut in summary.cuts)),
            **numbers,
        )
    )


def _cuts(summary: Summary) -> dict[str, Any]:
    return {"cuts": [vars(cut) for cut in summary.cuts]} if summary.cuts else {}


def _course(summary: Summary) -> str:
    """One line on how the run went."""
    largest = f"the largest with {summary.largest:,} ground clauses and facts"
    return f"{summary.components:,} components in {summary.bundles:,} bundles, {largest}; log_z is left out on an engine"
