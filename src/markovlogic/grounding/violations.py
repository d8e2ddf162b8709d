"""What to tell where hard rules cannot hold: the rule, and the grounding or the atom it fails at."""

from __future__ import annotations

from markovlogic.errors import Fault
from markovlogic.grounding.engine import Engine
from markovlogic.grounding.plan import Pattern, Plan
from markovlogic.grounding.sql import violation_query
from markovlogic.language.syntax import Rule, show_constant
from markovlogic.language.templates import ClauseTemplate
from markovlogic.problem import Problem


def broken_by_evidence(
    template: ClauseTemplate, pattern: Pattern, found: Plan, database: Engine, problem: Problem
) -> Fault | None:
    """The fault of a hard rule that evidence falsifies, with a grounding; None where no substitution falsifies all literals."""
    values: dict[str, int] = {}
    if found.fixed:
        return None
    if found.parts:
        database.load(found)
        sql, names = violation_query(found)
        row = database.row(sql)
        if row is None:
            return None
        values = dict(zip(names, row, strict=False))
    assert found.value is not None
    shown = []
    for name, type_name in pattern.variables:
        value = found.value[name]
        number = value if isinstance(value, int) else values.get(value, 0)
        shown.append(f"{name} = {show_constant(problem.domains[type_name].names[number])}")
    rule = problem.model.rules[template.rule]
    grounding = f" for {', '.join(shown)}" if shown else ""
    return Fault(
        f"the evidence makes this hard rule false{grounding}: {rule.text}",
        rule.place,
        rule.text,
        hint="correct the evidence, or give the rule a weight",
    )


def needs_the_opposite(rule: Rule, atom: str, truth: bool, other: str) -> Fault:
    """The fault of a hard rule that needs an atom to be what something else, told in words, does not allow."""
    return Fault(
        f"no world satisfies the hard rules and the evidence: this one needs {atom} to be {'true' if truth else 'false'}, "
        f"{other} needs the opposite",
        rule.place,
        rule.text,
        hint="give one of them a weight, or correct the evidence",
    )
