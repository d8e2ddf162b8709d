"""What to show where hard rules and evidence leave no world: the rules, and the atom or the constants they meet in."""

from __future__ import annotations

from collections.abc import Sequence

from markovlogic.data.evidence import TRUE
from markovlogic.errors import Fault
from markovlogic.grounding.backends import Engine
from markovlogic.grounding.hard_rules.known import falsified
from markovlogic.grounding.hard_rules.settled import Clash, Decider, Settled
from markovlogic.grounding.plan import Pattern, plan
from markovlogic.grounding.surviving import broken_by_evidence, needs_the_opposite
from markovlogic.language.templates import ClauseTemplate, Literal
from markovlogic.problem import Problem
from markovlogic.problem.names import name_of

_HINT = "give one of them a weight, or correct the evidence"


def contradiction(clash: Clash, settled: Settled, hard: Sequence[ClauseTemplate], database: Engine) -> list[Fault]:
    """One or two faults: a rule that the evidence alone breaks, else the two that need an atom true and false."""
    problem = settled.problem
    for template in hard:
        broken = _broken(template, problem, database)
        if broken is not None:
            return [broken]
    name = name_of(problem, clash.predicate, clash.code)
    other = settled.decider_of(clash.predicate, clash.code, 1 - clash.wanted)
    sides = [(clash.by, clash.wanted), (other, 1 - clash.wanted)]
    if clash.wanted != TRUE:
        sides.reverse()
    faults = []
    for (side, wanted), (against, _) in zip(sides, reversed(sides), strict=True):
        if side is not None and side.rule is not None:
            rule = problem.model.rules[side.rule]
            faults.append(needs_the_opposite(rule, name, wanted == TRUE, _words(against, problem)))
    if not faults:
        clash_text = f"the exclusive argument of {clash.predicate} cannot hold at {name}"
        faults.append(Fault(f"no world satisfies the hard rules and the evidence: {clash_text}", hint=_HINT))
    return faults


def _words(decider: Decider | None, problem: Problem) -> str:
    if decider is None:
        return "the evidence"
    if decider.rule is None:
        return f"the exclusive argument of {decider.predicate}"
    return f"the rule at {problem.model.rules[decider.rule].place}"


def _broken(template: ClauseTemplate, problem: Problem, database: Engine) -> Fault | None:
    """The fault of a template that the evidence alone makes false."""
    relations, literals = {}, []
    for at, literal in enumerate(template.literals):
        types = problem.model.predicates[literal.predicate].types
        statuses = problem.statuses[literal.predicate]
        relations[str(at)] = falsified(f"evidence_{at}", statuses, types, positive=literal.positive)
        literals.append(Literal(str(at), literal.args, literal.positive))
    pattern = Pattern(tuple(literals), template.equalities, template.variables)
    found = plan(pattern, relations, problem.domains)
    try:
        return None if found.nothing_left else broken_by_evidence(template, pattern, found, database, problem)
    finally:
        database.drop([relation.table for relation in relations.values()])
