"""Learning where the data are: an engine counts the observations of the pseudo-likelihood, and weights are found from the counts.

The program that starts it sees kinds of observations, of which there are few where rules say the same of many atoms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isinf, nan, prod
from typing import Any

import numpy as np

from markovlogic.api.scaled import OnEngine, engine_sources
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, group_sizes
from markovlogic.errors import Fault, InputError, ResourceError, UnsupportedError
from markovlogic.grounding.backends import Engine
from markovlogic.language import syntax
from markovlogic.language.load import load
from markovlogic.language.syntax import atoms_of
from markovlogic.learning.counted_units import SCHEMA, CountUnits, design_of_signatures
from markovlogic.learning.features import FeatureIndex, LearningRule, LearningRules, prepare
from markovlogic.learning.learn import PSEUDO, STAGES, learned_weights, weight_errors
from markovlogic.learning.learned import Learned, Weights
from markovlogic.learning.messages import undecided
from markovlogic.learning.optimise import cross_validated, maximise
from markovlogic.learning.preparing import Prepared, Task
from markovlogic.learning.priors import Prior, penalty_of, prior_choice
from markovlogic.learning.pseudolikelihood import BREAKS
from markovlogic.methods.resources import resources_of
from markovlogic.problem.prepare import Models, Queries
from markovlogic.problem.query import queried_predicates, resolve_query
from markovlogic.scale_out.clauses import Grounded, ground_stored
from markovlogic.scale_out.facts import StoredFacts, read_facts
from markovlogic.scale_out.hard_rules import decide_stored
from markovlogic.scale_out.options import BUNDLE
from markovlogic.scale_out.statuses import StoredProblem, pose_stored
from markovlogic.system.measures import Stopwatch, peak_memory
from markovlogic.system.progress import Progress

MOST_KINDS = 1_000_000  # of observations, which this program holds
MOST_WEIGHTS = 100_000
PIECES = 10  # in which observations of one kind are left out, to choose a prior
NAMED_AT_ONCE = 5000


def learn_on(
    on: OnEngine,
    model: Models,
    evidence: Any,
    query: Queries = None,
    *,
    prior: str | float | Prior | None = None,
    keep_weights: bool = False,
    seed: int = 0,
    memory_limit: int | None = None,
    closed_types: bool = False,
    bundle: int = BUNDLE,
    progress: Progress | bool | None = None,
) -> Learned:
    """Weights by pseudo-likelihood from one training database, whatever the engine reads. Other arguments are those of `learn`.

    bundle: ground clauses that an executor counts at once, about.
    """
    choice = prior_choice(prior)
    watch = Stopwatch(STAGES)
    source = model if isinstance(model, syntax.Model) else load(model)
    rules = prepare(source, keep_weights=keep_weights)
    keys = _keys(rules)
    with resources_of(memory_limit=memory_limit, progress=progress) as resources, on.opened(resources.limit, None) as engine:
        shown = resources.progress
        with watch("read"):
            shown.stage("read")
            facts = read_facts(engine, source, engine_sources(on, evidence), closed_types=closed_types)
            targets = _targets(source, facts, query)
            if read := [name for name in targets if syntax.known_name(name) in source.predicates]:
                raise UnsupportedError(f"Known({read[0]}(…)) of a modelled predicate: not supported on an engine")
            posed = _posed(engine, source, facts, targets)
            _note_truth(posed, facts, targets)
        with watch("ground"):
            shown.stage("ground")
            problem = decide_stored(posed, rules.lowered)
            _refuse_broken(problem, facts, targets)
            lowered = replace(
                rules.lowered, templates=tuple(t if isinf(t.weight) else replace(t, weight=1.0) for t in rules.lowered.templates)
            )
            grounded = ground_stored(problem, lowered, keys=keys, signed=True)
            counted = _counted(problem, grounded, rules, bundle)
            met = {rules.lowered.templates[int(row[0])].rule for row in engine.rows(_kinds(grounded))}
        index, number = _index(problem, rules, grounded)
    with watch("learn"):
        shown.stage("pseudo-likelihood")
        design = design_of_signatures(counted, number, PIECES if choice.fixed is None else 1, seed)
        ready = Prepared(rules, (), (), index, ())
        notes = [f"{sum(n for _, n in counted):,} observations of {len(counted):,} kinds were counted"]
        chosen = choice.fixed
        start = None
        if chosen is None:
            found = cross_validated(design, choice, ready.is_base, seed, shown)
            chosen, start = found.prior, found.start
            notes.append(f"the prior, {chosen}, was chosen by {found.how}")
        penalty = penalty_of(chosen, ready.is_base, _couplings(index, rules, problem))
        weights, ended = maximise(design, penalty, start)
        errors, _ = weight_errors(design.information(weights), penalty)
    messages = undecided(Task(source, (), targets, keep_weights), ready, design, weights, errors, chosen, frozenset(met))
    coupled = any(_ties(rules, rule, problem) for rule in rules.rules)
    if coupled:
        notes.append("couplings were learned with all neighbours known; where they are not, cd on a part of the data may help")
    worries = () if ended else ("the search for the best weights ended early: allow more time",)
    return Learned(
        source,
        Weights(learned_weights(ready, weights, errors, design)),
        PSEUDO,
        str(chosen),
        ("the data of the engine",),
        targets,
        (*facts.notes, *notes, *messages.notes),
        (*worries, *messages.worries),
        {
            "network": "ground",
            "estimator": "none",
            "guarantee": "unbounded" if coupled else "exact",
            "atoms": sum(n for _, n in counted),
            "clauses": None,
            "chains": 0,
            "draws": 0,
            "burn_in": 0,
            "updates": 0,
            "steps": None,
            "converged": ended,
            "seconds": dict(watch.stop()),
            "peak_memory_bytes": peak_memory(),
        },
    )


def _keys(rules: LearningRules) -> dict[int, tuple[str, ...]]:
    """The `+` variables of each template; refuses what is not counted on an engine."""
    if rules.lowered.definitions:
        hidden = {definition.predicate for definition in rules.lowered.definitions}
        number = next(t.rule for t in rules.lowered.templates if hidden.intersection(x.predicate for x in t.literals))
        one = rules.model.rules[number]
        message = f"a quantified part of this rule is not counted on an engine: {one.text}"
        raise UnsupportedError(Fault(message, one.place, hint="define a predicate for this part, or learn without --engine"))
    found = {}
    for rule in rules.rules:
        for at in rule.templates:
            missing = set(rule.plus) - {name for name, _ in rules.lowered.templates[at].variables}
            if missing:
                message = f"a clause of this rule does not mention its + variable {min(missing)}: {rule.rule.text}"
                raise UnsupportedError(Fault(message, rule.rule.place, hint="learn without --engine"))
            if rule.plus:
                found[at] = rule.plus
    return found


def _targets(model: syntax.Model, facts: StoredFacts, query: Queries) -> tuple[str, ...]:
    """The predicates that are modelled given the others; without a query all that the data show."""
    if not query:
        found = tuple(name for name in model.declared if name in facts.observed and not model.predicates[name].is_real)
        if not found:
            raise InputError("no training facts", hint="give training data by -e FILE")
        return found
    items = resolve_query(model, facts.domains, query)  # type: ignore[arg-type]
    found = tuple(queried_predicates(items))
    if any(item.text not in found for item in items):
        raise InputError("learning models all atoms of a predicate", hint=f"name the predicate: -q {','.join(found)}")
    silent = [name for name in found if name not in facts.tables]
    if silent:
        raise InputError(f"no training facts about {', '.join(silent)}: weights cannot be learned")
    return found


def _posed(engine: Engine, model: syntax.Model, facts: StoredFacts, targets: tuple[str, ...]) -> StoredProblem:
    """The world of the others, with the targets open."""
    in_rules = {atom.predicate for rule in model.rules for atom in atoms_of(rule.formula)}
    idle = [of for of in model.predicates if of not in in_rules and of not in targets and of in model.declared]
    others = {name: table for name, table in facts.tables.items() if name not in targets}
    given = replace(facts, tables=others, observed=facts.observed - set(targets))
    problem = pose_stored(engine, model, given, list(targets), closed=idle)
    for name, relation in problem.relations.items():
        if name in targets:
            table = facts.tables.get(name)
            unknown = f"SELECT 1 AS one FROM {table} AS f WHERE f.truth = {UNKNOWN} LIMIT 1"
            if table is not None and engine.row(unknown) is not None:
                _refuse_hidden(name)
        elif relation.n_open:
            _refuse_hidden(name)
    return problem


def _refuse_hidden(name: str) -> None:
    hint = "learning on an engine needs all facts: give them, leave the predicate out, or learn without --engine"
    raise UnsupportedError(f"some atoms of {name} are neither known nor modelled", hint=hint)


def _note_truth(problem: StoredProblem, facts: StoredFacts, targets: tuple[str, ...]) -> None:
    """`world`: codes of the targets' true atoms; each exclusive group has one."""
    engine = problem.engine
    parts = [f"SELECT CAST(0 AS BIGINT) AS code FROM {engine.dialect.integers(1)} AS d WHERE 1 = 0"]
    for name in targets:
        relation, table = problem.relations[name], facts.tables.get(name)
        if table is not None:
            parts.append(f"SELECT {relation.code('f')} AS code FROM {table} AS f WHERE f.truth = {TRUE}")
        exclusive = problem.model.predicates[name].exclusive
        if any(exclusive):
            groups = prod(group_sizes(relation.sizes, exclusive))
            keys = ", ".join(c for c, marked in zip(relation.columns, exclusive, strict=True) if not marked)
            counted = f"SELECT {keys or '1 AS one'} FROM {table} AS f WHERE f.truth = {TRUE}" + (
                f" GROUP BY {keys}" if keys else ""
            )
            row = engine.row(f"SELECT COUNT(*) FROM ({counted}) AS g") if table is not None else None
            if row is None or int(row[0]) != groups:
                _refuse_hidden(name)
    engine.run("world", " UNION ALL ".join(parts))


def _refuse_broken(problem: StoredProblem, facts: StoredFacts, targets: tuple[str, ...]) -> None:
    """Refuse data that break what hard rules decide."""
    for name in targets:
        relation, table = problem.relations[name], facts.tables.get(name)
        if table is None or not relation.sizes:
            continue
        true = f"(SELECT * FROM {table} AS own WHERE own.truth = {TRUE})"
        match = " AND ".join(f"t.{c} = f.{c}" for c in relation.columns)
        lost = f"SELECT 1 AS one FROM {true} AS f LEFT JOIN {relation.table} AS t ON {match}"
        lost += f" WHERE COALESCE(t.status, {relation.default}) = {FALSE} LIMIT 1"
        made = f"SELECT 1 AS one FROM {relation.table} AS t LEFT JOIN {true} AS f ON {match}"
        made += f" WHERE t.status = {TRUE} AND f.{relation.columns[0]} IS NULL LIMIT 1"
        if problem.engine.row(lost) is not None or problem.engine.row(made) is not None:
            raise InputError(Fault(f"the data break a hard rule of the model, about {name}", hint=BREAKS))


def _counted(problem: StoredProblem, grounded: Grounded, rules: LearningRules, bundle: int) -> list[tuple[str, int]]:
    """Kinds of observations, and how often each is met."""
    engine, width = problem.engine, grounded.width
    div = engine.dialect.divided
    groups = [
        (relation.first, relation.first + relation.n_ground, relation.sizes, predicate.exclusive)
        for name, predicate in problem.model.predicates.items()
        if any(predicate.exclusive) and (relation := problem.relations[name]).n_open
    ]
    row = engine.row(f"SELECT COUNT(*) FROM {grounded.table}")
    assert row is not None
    n_bundles = max(1, int(row[0]) // bundle)
    atom = [div.format(a=f"r.l{at}", b=2) for at in range(width)]
    pieces = [f"({_unit_sql(code, groups, div)}) % {n_bundles}" for code in atom]
    joins = " ".join(f"LEFT JOIN world AS w{at} ON w{at}.code = {atom[at]}" for at in range(width))
    truth = ", ".join(f"CASE WHEN w{at}.code IS NULL THEN 0 ELSE 1 END AS t{at}" for at in range(width))
    places = ", ".join(f"CASE WHEN r.l{at} IS NOT NULL THEN {pieces[at]} END AS b{at}" for at in range(width))
    engine.run("judged", f"SELECT r.*, {truth}, {places} FROM {grounded.table} AS r {joins}")
    sent = []
    for at in range(width):  # each row once to every piece that one of its units belongs to
        earlier = "".join(f" AND (j.b{before} IS NULL OR j.b{before} <> j.b{at})" for before in range(at))
        sent.append(f"SELECT j.b{at} AS bundle, j.* FROM judged AS j WHERE j.b{at} IS NOT NULL{earlier}")
    templates = rules.lowered.templates
    soft: Mapping[int, LearningRule] = {at: rule for rule in rules.rules for at in rule.templates}
    work = CountUnits(
        width,
        n_bundles,
        tuple(groups),
        tuple(soft[at].number if at in soft else -1 for at in range(len(templates))),
        tuple(nan if (own := soft.get(at)) is None or own.kept is None else own.kept for at in range(len(templates))),
        tuple(soft[at].sign * grounded.weights[at] if at in soft else 1.0 for at in range(len(templates))),
    )
    engine.apply("counted", " UNION ALL ".join(sent), "bundle", work, SCHEMA)
    engine.run("kinds", "SELECT signature, CAST(SUM(n) AS BIGINT) AS n FROM counted GROUP BY signature")
    row = engine.row("SELECT COUNT(*) FROM kinds")
    assert row is not None
    if row[0] > MOST_KINDS:
        message = f"the data show {row[0]:,} kinds of observations, more than this program holds ({MOST_KINDS:,});"
        message += " rules with fewer + variables and fewer numbers make fewer kinds"
        raise ResourceError(message, needed=int(row[0]), limit=MOST_KINDS)
    return [(str(signature), int(n)) for signature, n in engine.rows("SELECT signature, n FROM kinds ORDER BY signature")]


def _unit_sql(code: str, groups: list[tuple[int, int, tuple[int, ...], tuple[bool, ...]]], div: str) -> str:
    """The number of an atom's unit: of its group where it is in one, as `CountUnits.units_of` has it."""
    cases = ""
    for first, last, sizes, exclusive in groups:
        number, stride = "0", 1
        strides = []
        for size in reversed(sizes):
            strides.append(stride)
            stride *= size
        for own, size, marked in zip(reversed(strides), sizes, exclusive, strict=True):
            if not marked:
                number = f"({number}) * {size} + {div.format(a=f'({code} - {first})', b=own)} % {size}"
        cases += f" WHEN {code} >= {first} AND {code} < {last} THEN {first} + {number}"
    return f"CASE{cases} ELSE {code} END" if cases else code


def _kinds(grounded: Grounded) -> str:
    return f"SELECT DISTINCT kind FROM {grounded.table} WHERE kind >= 0"


def _index(problem: StoredProblem, rules: LearningRules, grounded: Grounded) -> tuple[FeatureIndex, dict[tuple[int, int], int]]:
    """Numbers of weights, and where (rule, constants as one number) stands among them."""
    engine = problem.engine
    rule_of = {rule.number: rule for rule in rules.rules}
    found: set[tuple[int, int]] = set()
    rows = engine.rows(f"SELECT DISTINCT kind, key FROM {grounded.table} WHERE kind >= 0 LIMIT {MOST_WEIGHTS + 1}")
    if len(rows) > MOST_WEIGHTS:
        raise ResourceError(f"more than {MOST_WEIGHTS:,} weights are to be learned", limit=MOST_WEIGHTS, needed=len(rows))
    for kind, key in rows:
        template = rules.lowered.templates[int(kind)]
        if template.rule in rule_of and rule_of[template.rule].kept is None:
            found.add((template.rule, int(key)))
    wanted: dict[str, set[int]] = {}
    digits: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for number, key in found:
        rule, rest, own = rule_of[number], key, []
        for name in reversed(rule.plus):
            of = rule.rule.type_of[name]
            rest, digit = divmod(rest, len(problem.domains[of]))
            own.append((of, digit))
            wanted.setdefault(of, set()).add(digit)
        digits[number, key] = own[::-1]
    names: dict[tuple[str, int], str] = {}
    for of, numbers in wanted.items():
        every = sorted(numbers)
        for at in range(0, len(every), NAMED_AT_ONCE):
            some = ", ".join(map(str, every[at : at + NAMED_AT_ONCE]))
            for digit, name in engine.rows(f"SELECT id, name FROM {problem.domains[of].table} WHERE id IN ({some})"):
                names[of, int(digit)] = str(name)
    index = FeatureIndex()
    at_of = {one: index.number(one[0], tuple(names[own] for own in digits[one])) for one in sorted(found)}
    return index, at_of


def _ties(rules: LearningRules, rule: LearningRule, problem: StoredProblem) -> bool:
    """Whether a rule may tie two modelled atoms together."""
    templates = (rules.lowered.templates[at] for at in rule.templates)
    return any(sum(bool(problem.relations[x.predicate].n_open) for x in t.literals) > 1 for t in templates)


def _couplings(index: FeatureIndex, rules: LearningRules, problem: StoredProblem) -> Any:
    tied = {rule.number for rule in rules.rules if _ties(rules, rule, problem)}
    return np.array([number in tied for number, _ in index.keys], np.bool_)
