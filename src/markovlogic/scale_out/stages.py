"""From evidence to a table of answers, on one database: the stages of a run whose rows never come to this program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isinf

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Evidence
from markovlogic.data.sources import Source
from markovlogic.errors import ResourceError
from markovlogic.grounding.backends import Engine
from markovlogic.grounding.hard_rules.relevance import rules_that_matter, used_definitions
from markovlogic.guarantee import Guarantee
from markovlogic.language.equivalence import equivalences
from markovlogic.language.lower import lower
from markovlogic.language.propositional import Node, renamed
from markovlogic.language.syntax import BARE_CONSTANT, Model
from markovlogic.language.templates import LoweredModel
from markovlogic.problem.query import queried_predicates, resolve_query
from markovlogic.problem.values import QueryItem, WantedAtoms, WantedFormula
from markovlogic.results.queries import QueryEvent
from markovlogic.scale_out.answers import ATOM, COMPONENT, CONCERN, EVENT, SCHEMA, SOLVED, STORED
from markovlogic.scale_out.clauses import SOFT_ROW, Grounded, ground_stored
from markovlogic.scale_out.components import Bundled, bundled
from markovlogic.scale_out.cut import Cut, cut_stored, offered_cuts
from markovlogic.scale_out.executor import CONCERNS_SHOWN as CONCERNS_OF_ONE
from markovlogic.scale_out.executor import Executor, Task
from markovlogic.scale_out.facts import read_facts
from markovlogic.scale_out.hard_rules import decide_stored
from markovlogic.scale_out.large import COUNTED, CountChains, MergeChains
from markovlogic.scale_out.options import EngineOptions
from markovlogic.scale_out.statuses import StoredProblem, pose_stored
from markovlogic.scale_out.stored import text
from markovlogic.system.measures import Stopwatch
from markovlogic.system.progress import SILENT, Progress

MOST_ROWS = 20_000_000  # of a component, which one executor has to hold: some 4 GB
MOST_LISTED = 1_000_000  # atoms that are false by hard rules and listed all the same
CONCERNS_SHOWN = 20


@dataclass(frozen=True, eq=False)
class Prepared:
    """Components in bundles, before any is solved."""

    posed: StoredProblem  # before hard rules have decided
    problem: StoredProblem
    lowered: LoweredModel
    items: tuple[QueryItem, ...]
    events: tuple[QueryEvent, ...]  # of the query, over numbers of `event_atoms`
    event_atoms: tuple[int, ...]  # codes
    grounded: Grounded
    bundled: Bundled
    watch: Stopwatch
    cuts: tuple[Cut, ...] = ()


@dataclass(frozen=True)
class Summary:
    """What is known of a run without its rows."""

    rows: int
    methods: dict[str, int]  # atoms by method
    guarantee: Guarantee
    converged: bool | None
    worst_rhat: float | None
    components: int
    largest: int
    bundles: int
    clauses: int
    concerns: tuple[str, ...]
    seconds: dict[str, float]
    work_seconds: float | None = None  # of one executor, predicted, where only a plan was wanted
    cuts: tuple[Cut, ...] = ()
    gap: float = 0.0  # by how much another world may weigh more, where a world was wanted


def prepare_stored(
    engine: Engine,
    model: Model,
    sources: Sequence[Source] | Evidence,
    query: str | Sequence[str] | None,
    options: EngineOptions,
    progress: Progress = SILENT,
    watch: Stopwatch | None = None,
) -> Prepared:
    """Everything up to the bundles."""
    watch = watch or Stopwatch()
    lowered = lower(model, options.assumed.clause_weights)
    with watch("read"):
        progress.stage("read")
        facts = read_facts(engine, model, sources, closed_types=options.assumed.closed_types)
        items = resolve_query(model, facts.domains, query)  # type: ignore[arg-type]
        queried = queried_predicates(items)
        posed = pose_stored(engine, model, facts, queried, open_=options.assumed.open_, closed=options.assumed.closed)
    with watch("ground"):
        progress.stage("decide")
        problem = decide_stored(posed, lowered)
        cuts: tuple[Cut, ...] = ()
        if options.cut:
            progress.stage("cut")
            problem, cuts = cut_stored(problem, lowered, options.cut)
        progress.stage("ground")
        matter = set(rules_that_matter(problem, lowered, queried).templates)  # type: ignore[arg-type]
        # hard rules about the rest are checked: they may leave no world
        stays = [template for template in lowered.templates if template in matter or isinf(template.weight)]
        lowered = replace(lowered, templates=tuple(stays), definitions=used_definitions(lowered, stays))
        grounded = ground_stored(problem, lowered)
        events, codes = _events(problem, items)
        grounded = _with_atoms(engine, grounded, codes)
    with watch("components"):
        progress.stage("find components")
        tied = [pair for event in events for pair in _pairs(event, codes)]
        ranges = [(own.first, own.first + own.n_ground) for own in (problem.relations[name] for name in queried)]
        hard = [at for at, template in enumerate(lowered.templates) if isinf(template.weight)]
        found = bundled(engine, grounded, tied, ranges, hard, options.bundle)
    if found.largest > MOST_ROWS:
        raise ResourceError(_too_large(problem, lowered, found, options.cut), needed=found.largest, limit=MOST_ROWS)
    return Prepared(posed, problem, lowered, items, events, codes, grounded, found, watch, cuts)


def _events(problem: StoredProblem, items: Sequence[QueryItem]) -> tuple[tuple[QueryEvent, ...], tuple[int, ...]]:
    """The formulas of the query, with what is known substituted, over numbers of the atoms that are open."""
    events: list[QueryEvent] = []
    number: dict[int, int] = {}
    for item in items:
        if isinstance(item.wanted, WantedFormula):
            names: dict[int, Node] = {}
            for at, atom in enumerate(item.wanted.atoms, 1):
                relation = problem.relations[atom.predicate]
                status, _ = relation.at(atom.code)
                code = relation.first + atom.code
                names[at] = status == TRUE if status != UNKNOWN else number.setdefault(code, len(number)) + 1
            events.append(QueryEvent.of(item.text, renamed(item.wanted.node, names)))
    return tuple(events), tuple(number)


def _pairs(event: QueryEvent, codes: tuple[int, ...]) -> list[tuple[int, int]]:
    atoms = sorted({codes[literal >> 1] for cube in event.cubes for literal in cube.tolist()})
    return list(pairwise(atoms))


def _with_atoms(engine: Engine, grounded: Grounded, codes: tuple[int, ...]) -> Grounded:
    """A row that says nothing for each atom of a formula, so that it is in a bundle even where no rule names it."""
    if not codes:
        return grounded
    empty = ", ".join(f"CAST(NULL AS BIGINT) AS l{at}" for at in range(1, grounded.width))
    rows = [
        f"SELECT CAST({SOFT_ROW} AS INT) AS kind, CAST(1 AS BIGINT) AS n, CAST(0 AS DOUBLE) AS num, CAST(0 AS BIGINT) AS key,"
        f" CAST({2 * code + 1} AS BIGINT) AS l0, {empty}"
        for code in codes
    ]
    engine.run("ground_rows_asked", " UNION ALL ".join([f"SELECT * FROM {grounded.table}", *rows]))
    return Grounded("ground_rows_asked", grounded.width, grounded.weights, grounded.relations)


def _too_large(problem: StoredProblem, lowered: LoweredModel, found: Bundled, cut: float) -> str:
    """Why a component does not fit an executor, and what cuts it."""
    kinds = problem.engine.rows(
        f"SELECT kind, COUNT(*) AS n FROM {found.table} WHERE comp = {found.largest_at} AND kind >= 0 AND l1 IS NOT NULL"
        " GROUP BY kind ORDER BY n DESC, kind LIMIT 1"
    )
    tied = ""
    if kinds:
        rule = problem.model.rules[lowered.templates[int(kinds[0][0])].rule]
        tied = f". Most of it comes from {rule.place}: {rule.text} ({kinds[0][1]:,} ground clauses)"
    offers = "".join(
        f"; --cut {own.below:g} leaves groups of at most {own.group:,} and errors of about {own.bias:.2g}"
        for own in (offered_cuts(problem, lowered) if not cut else ())
    )
    return (
        f"one component has {found.largest:,} ground clauses and facts, more than an executor holds ({MOST_ROWS:,});"
        f" {problem.name_of(found.largest_at)} is in it{tied}. Close one of the rule's predicates with --closed, give evidence"
        f" for it, or write Known(…) in the rule{offers}"
    )


def solve_stored(prepared: Prepared, options: EngineOptions, progress: Progress = SILENT) -> Summary:
    """Solve all bundles, give names to the answers (table `result`), and add up how it went."""
    engine, problem, grounded = prepared.problem.engine, prepared.problem, prepared.grounded
    hidden = [grounded.relations[own.predicate] for own in prepared.lowered.definitions]
    wide = {
        at: tuple(2 * prepared.event_atoms[q >> 1] + (q & 1) for q in cube.tolist())
        for at, cube in enumerate(c for event in prepared.events for c in event.cubes)
    }
    events, begin = [], 0
    for number, event in enumerate(prepared.events):
        events.append((number, tuple(wide[begin + at] for at in range(len(event.cubes)))))
        begin += len(event.cubes)
    work = Executor(
        grounded.width,
        grounded.weights,
        tuple(template.rule for template in prepared.lowered.templates),
        sum(relation.n_ground for relation in problem.relations.values()),
        tuple((own.first, own.n_ground, of.rule) for own, of in zip(hidden, prepared.lowered.definitions, strict=True)),
        options.sampling,
        options.method_name,
        None if isinstance(options.method, str) else options.method,
        tuple(events),
        options.task,
        tuple(
            (problem.relations[own.predicate].first, problem.relations[own.predicate].sizes[0])
            for own in equivalences(problem.model, prepared.lowered).relations
            if own.reflexive
        ),
        engine.folder,
        options.large,
    )
    with prepared.watch("sample"):
        progress.stage("solve components")
        engine.apply("answers", f"SELECT * FROM {prepared.bundled.table}", "bundle", work, SCHEMA)
        _check_whole(engine, "answers", prepared.bundled.rows)
        stored = engine.rows(f"SELECT word, ess, stderr FROM answers WHERE kind = {STORED} ORDER BY atom")
        if stored:
            progress.stage("sample large components")
            _share_out(engine, [(str(path), int(batches), int(ranges)) for path, batches, ranges in stored])
    if options.task is not Task.PLAN:
        with prepared.watch("name"):
            progress.stage("name")
            engine.run("result", _named(prepared, options))
    return _summary(prepared, options)


def _check_whole(engine: Engine, answers: str, rows: int) -> None:
    """Refuse to go on where files were lost on the way: what tasks were given must be all that there was."""
    found = engine.row(f"SELECT CAST(COALESCE(SUM(ess), 0) AS BIGINT) FROM {answers} WHERE kind = {SOLVED}")
    if found is None or int(found[0]) != rows:
        raise ResourceError(f"the engine lost rows: {found[0] if found else 0:,} of {rows:,} were solved; start the run again")


def _share_out(engine: Engine, stored: list[tuple[str, int, int]]) -> None:
    """Sample stored components by batches of chains, a task each, and add what they give to the answers."""
    import pyarrow as pa

    for table, at in (("batches_of_chains", 1), ("ranges_of_atoms", 2)):
        rows = [(own[0], part) for own in stored for part in range(int(own[at]))]
        columns = {"piece": pa.array(range(len(rows)), pa.int32()), "path": [row[0] for row in rows]}
        engine.put(table, pa.table({**columns, "part": pa.array([row[1] for row in rows], pa.int32())}))
    engine.apply("counted", "SELECT * FROM batches_of_chains", "piece", CountChains(), COUNTED)
    engine.apply("merged", "SELECT * FROM ranges_of_atoms", "piece", MergeChains(CONCERNS_OF_ONE), SCHEMA)
    _check_whole(engine, "merged", sum(ranges for _, _, ranges in stored))
    engine.run("answers", f"SELECT * FROM answers WHERE kind <> {STORED} UNION ALL SELECT * FROM merged")


def _named(prepared: Prepared, options: EngineOptions) -> str:
    """The result as a query: rows of atoms by predicate, then formulas."""
    wanted: dict[str, list[WantedAtoms]] = {}
    for item in prepared.items:
        if isinstance(item.wanted, WantedAtoms):
            wanted.setdefault(item.wanted.predicate, []).append(item.wanted)
    if options.task is Task.MAP and not wanted:
        wanted = {name: [WantedAtoms(name)] for name in prepared.problem.model.declared if prepared.posed.relations[name].n_open}
    arity = max([0, *(len(prepared.problem.relations[name].sizes) for name in wanted)])
    parts = [_rows_of(prepared, name, own, arity, options) for name, own in wanted.items()]
    parts += [_event_row(prepared, number, event, arity) for number, event in enumerate(prepared.events)]
    sql = " UNION ALL ".join(parts)
    if options.task is Task.MAP:
        true = "SELECT 'x' AS atom, CAST(0 AS DOUBLE) AS probability WHERE 1 = 0" if not parts else sql
        return f"SELECT * FROM ({true}) AS world WHERE probability = 1"
    return sql


def _rows_of(prepared: Prepared, name: str, wanted: Sequence[WantedAtoms], arity: int, options: EngineOptions) -> str:
    relation, before, engine = prepared.problem.relations[name], prepared.posed.relations[name], prepared.problem.engine
    rows = before.every() if options.include_evidence else before.opened()
    if not options.include_evidence and before.is_open and not relation.is_open:
        few = relation.n_exceptions
        if before.n_open > MOST_LISTED and 2 * few < before.n_open:  # what hard rules make false is too much to list
            known = " AND ".join(f"b.{c} = o.{c}" for c in before.columns)
            rows = f"SELECT o.* FROM {relation.table} AS o LEFT JOIN {before.table} AS b ON {known} WHERE b.status IS NULL"
    anything = "CAST(0 AS DOUBLE)" if options.task is Task.MAP else "CAST(0.5 AS DOUBLE)"  # of what no rule is about
    conditions = []
    for item in wanted:
        fixed = [f"o.a{at} = {number}" for at, number in enumerate(item.constants or ()) if number is not None]
        conditions.append(" AND ".join(fixed) or "1 = 1")
    names = [f"n{at}.name" for at in range(len(relation.sizes))]
    joins = "".join(
        f" JOIN {prepared.problem.domains[of].table} AS n{at} ON n{at}.id = o.a{at}" for at, of in enumerate(relation.types)
    )
    status = f"COALESCE(t.status, {relation.default})"
    known = f"WHEN {status} = {TRUE} THEN CAST(1 AS DOUBLE) WHEN {status} = {FALSE} THEN CAST(0 AS DOUBLE)"
    columns = [
        f"{_shown(engine, name, names)} AS atom",
        f"CAST(CASE {known} WHEN x.atom IS NULL THEN {anything} ELSE x.probability END AS DOUBLE) AS probability",
        f"CAST(CASE WHEN {status} <> {UNKNOWN} OR x.atom IS NULL THEN CAST(0 AS DOUBLE) ELSE x.stderr END AS DOUBLE) AS stderr",
        f"CASE WHEN {status} = {UNKNOWN} THEN x.rhat END AS rhat",
        f"CASE WHEN {status} = {UNKNOWN} THEN x.ess END AS ess",
        f"{text(name)} AS predicate",
        *(f"{names[at] if at < len(names) else 'CAST(NULL AS STRING)'} AS arg{at + 1}" for at in range(arity)),
    ]
    answers = f"(SELECT atom, probability, stderr, rhat, ess FROM answers WHERE kind = {ATOM}) AS x"
    sql = (
        f"SELECT {', '.join(columns)} FROM ({rows}) AS o {relation.left_join('o')} LEFT JOIN {answers}"
        f" ON x.atom = {relation.code('o')}{joins} WHERE ({') OR ('.join(conditions)})"
    )
    if options.top is None:
        return sql
    tops = []
    for condition in conditions:
        one = sql.rpartition(" WHERE ")[0] + f" WHERE {condition}"
        order = f"ORDER BY probability DESC, atom LIMIT {options.top}"
        tops.append(f"SELECT * FROM (SELECT * FROM ({one}) AS every_row {order}) AS best")
    return tops[0] if len(tops) == 1 else f"SELECT DISTINCT * FROM ({' UNION ALL '.join(tops)}) AS best"


def _shown(engine: Engine, name: str, names: Sequence[str]) -> str:
    """An atom as it is written; what is no bare constant is quoted."""
    if not names:
        return text(name)
    slash, quote = "chr(92)", "chr(34)"
    texts = []
    for column in names:
        bare = engine.dialect.like.format(text=column, pattern=BARE_CONSTANT.pattern.removesuffix(r"\Z"))
        escaped = f"replace({column}, {slash}, concat({slash}, {slash}))"
        for code, letter in ((34, quote), (10, "'n'"), (9, "'t'"), (13, "'r'")):
            escaped = f"replace({escaped}, chr({code}), concat({slash}, {letter}))"
        texts.append(f"CASE WHEN {bare} THEN {column} ELSE concat({quote}, {escaped}, {quote}) END")
    return f"concat({text(name)}, '(', " + ", ',', ".join(texts) + ", ')')"


def _event_row(prepared: Prepared, number: int, event: QueryEvent, arity: int) -> str:
    empty = "".join(f", CAST(NULL AS STRING) AS arg{at + 1}" for at in range(arity))
    name = f"{text(event.text)} AS atom"
    if event.known is not None:
        null = "CAST(NULL AS DOUBLE)"
        values = (
            f"CAST({float(event.known)} AS DOUBLE) AS probability, CAST(0 AS DOUBLE) AS stderr, {null} AS rhat, {null} AS ess"
        )
        source = f"{prepared.problem.engine.dialect.integers(1)} AS d"
    else:
        probability = "CAST(1 AS DOUBLE) - x.probability" if event.negated else "x.probability"
        values = f"CAST({probability} AS DOUBLE) AS probability, x.stderr, x.rhat, x.ess"
        source = f"(SELECT * FROM answers WHERE kind = {EVENT} AND atom = {number}) AS x"
    return f"SELECT {name}, {values}, CAST(NULL AS STRING) AS predicate{empty} FROM {source}"


def _summary(prepared: Prepared, options: EngineOptions) -> Summary:
    engine, problem = prepared.problem.engine, prepared.problem
    methods: dict[str, int] = {}
    guarantee, converged, worst = Guarantee.EXACT, None, None
    if any(cut.pairs for cut in prepared.cuts):
        guarantee = Guarantee.UNBOUNDED
    total = 0.0
    ask = "SELECT word, CAST(SUM(ess) AS BIGINT), MIN(probability), MAX(rhat), SUM(stderr) FROM answers"
    for word, atoms, agreed, rhat, amount in engine.rows(f"{ask} WHERE kind = {COMPONENT} GROUP BY word"):
        total += amount or 0.0
        name, _, own = str(word).partition(", ")
        methods[name] = methods.get(name, 0) + int(atoms)
        guarantee |= Guarantee(own or "exact")
        if own:
            converged = (agreed is None or bool(agreed)) and converged is not False
            worst = rhat if worst is None or (rhat is not None and rhat > worst) else worst
    order = f"FROM answers WHERE kind = {CONCERN}"
    n_concerns = int(engine.rows(f"SELECT COUNT(*) {order}")[0][0])
    concerns = [
        _with_names(problem, row[0]) for row in engine.rows(f"SELECT word {order} ORDER BY atom, word LIMIT {CONCERNS_SHOWN}")
    ]
    if n_concerns > CONCERNS_SHOWN:
        concerns.append(f"and {n_concerns - CONCERNS_SHOWN:,} more concerns about other components")
    rows = 0 if options.task is Task.PLAN else int(engine.rows("SELECT COUNT(*) FROM result")[0][0])
    clauses = int(engine.rows(f"SELECT COUNT(*) FROM {prepared.grounded.table} WHERE kind >= 0 AND l1 IS NOT NULL")[0][0])
    found = prepared.bundled
    return Summary(
        rows,
        methods,
        guarantee,
        converged,
        worst,
        found.components,
        found.largest,
        found.bundles,
        clauses,
        tuple(concerns),
        prepared.watch.stop(),
        total if options.task is Task.PLAN else None,
        prepared.cuts,
        total if options.task is Task.MAP else 0.0,
    )


def _with_names(problem: StoredProblem, concern: str) -> str:
    """A concern in which codes stand for atoms, in the user's names."""
    return re.sub(r"atom\((\d+)\)", lambda found: problem.name_of(int(found[1])), concern)
