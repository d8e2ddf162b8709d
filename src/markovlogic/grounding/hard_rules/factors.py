"""Clauses that a clause holds as special cases with fewer literals: where two of its literals are one and the same atom.

`!R(x,y) v !R(y,x)` says of x = y that `!R(x,x)`, a unit that no other literal has to decide.
"""

from __future__ import annotations

from dataclasses import replace

from markovlogic.language.syntax import Term, Variable
from markovlogic.language.templates import ClauseTemplate, EqualityLiteral, Literal

MOST_LITERALS = 8  # of a clause whose pairs are looked at


def factors(clause: ClauseTemplate) -> list[ClauseTemplate]:
    """The clause with two literals of one sign made equal, for each pair that can be; and so on."""
    if len(clause.literals) > MOST_LITERALS:
        return []
    found: dict[tuple[object, ...], ClauseTemplate] = {}
    waiting = [clause]
    while waiting:
        whole = waiting.pop()
        for at, one in enumerate(whole.literals):
            for other in whole.literals[at + 1 :]:
                if (one.predicate, one.positive) == (other.predicate, other.positive) and one != other:
                    made = _unified(whole, one, other)
                    if made is not None and (key := (made.literals, made.equalities)) not in found:
                        found[key] = made
                        waiting.append(made)
    return list(found.values())


def _unified(clause: ClauseTemplate, one: Literal, other: Literal) -> ClauseTemplate | None:
    value: dict[str, Term] = {name: Variable(name) for name, _ in clause.variables}

    def of(term: Term) -> Term:
        return value[term.name] if isinstance(term, Variable) else term

    for left, right in zip(map(of, one.args), map(of, other.args), strict=True):
        left, right = of(left), of(right)
        if left == right:
            continue
        if not isinstance(left, Variable):
            left, right = right, left
        if not isinstance(left, Variable):
            return None
        value = {name: right if term == left else term for name, term in value.items()}
    literals = dict.fromkeys(Literal(x.predicate, tuple(map(of, x.args)), x.positive) for x in clause.literals)
    equalities = tuple(EqualityLiteral(of(x.left), of(x.right), x.positive) for x in clause.equalities)
    used = {term.name for x in literals for term in x.args if isinstance(term, Variable)}
    used |= {term.name for x in equalities for term in (x.left, x.right) if isinstance(term, Variable)}
    variables = tuple((name, type_name) for name, type_name in clause.variables if name in used)
    return replace(clause, literals=tuple(literals), equalities=equalities, variables=variables)
