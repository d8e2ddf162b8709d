"""`check`: findings about rules, and about rules together with evidence. Nothing is inferred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from markovlogic.errors import InputError
from markovlogic.grounding.ground import Grounding, database_for
from markovlogic.grounding.predict import groundings_of
from markovlogic.language.lint import Finding, decided_rules, in_order, lint, shared_types, unused_evidence
from markovlogic.language.load import load
from markovlogic.language.lower import lower
from markovlogic.language.syntax import Model
from markovlogic.problem.prepare import Assumptions, Evidences, Models, Queries, prepare_problem
from markovlogic.system.measures import default_limit

FEW_ROWS = 20_000  # of a rule whose groundings are made to see whether any is open; larger ones are judged by bounds
FEW_RULES = 200


def check(
    model: Models, evidence: Evidences = None, query: Queries = (), *, open_: Sequence[str] = (), closed: Sequence[str] = ()
) -> tuple[Finding, ...]:
    """Find what is well formed and may still be a mistake, in the order of places; raises InputError for what is wrong.

    With evidence, rules are found that it decides, facts that no rule uses, and types that share constants. query, open_
    and closed mean what they mean in `infer`: without them a predicate with evidence is closed.
    """
    source = model if isinstance(model, Model) else load(model)
    found = list(lint(source))
    if evidence is None or (isinstance(evidence, tuple | list) and not evidence):
        return tuple(found)
    rules = tuple(rule if rule.weight is not None else replace(rule, weight=1.0) for rule in source.rules)
    weighted = replace(source, rules=rules)
    problem = prepare_problem(weighted, evidence, query, Assumptions(open_, closed)).problem
    lowered = lower(weighted, "formula")
    hard = replace(problem, soft={})  # soft evidence is no rule's effect
    with database_for(default_limit()) as database:
        sizes = Grounding(problem, lowered, database, default_limit()).sizes
        rows: dict[int, int] = {}
        for template, n_rows in zip(lowered.templates, sizes.rows, strict=True):
            rows[template.rule] = rows.get(template.rule, 0) + n_rows
        for number in [rule for rule, n_rows in rows.items() if 0 < n_rows <= FEW_ROWS][:FEW_RULES]:
            try:
                network = Grounding(hard, lowered.of_rule(number), database, default_limit()).network()
            except InputError as error:  # the evidence breaks it
                found += [Finding("broken-rule", fault) for fault in error.faults]
            else:
                rows[number] = network.n_clauses + int(network.atom_bias.any())
    given = frozenset(name for name, facts in problem.evidence.given.items() if len(facts.args))
    found += decided_rules(source, rows, groundings_of(weighted, problem.domains))
    found += unused_evidence(source, given)
    found += shared_types(source, {name: tuple(domain.names) for name, domain in problem.domains.items()})
    return in_order(found)
