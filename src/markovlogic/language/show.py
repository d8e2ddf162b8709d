"""The printer: text that parses to the same model, with no more parentheses than needed."""

from __future__ import annotations

import math

from markovlogic.language.integers import is_built_in, shown_relation
from markovlogic.language.syntax import (
    KNOWN,
    And,
    Atom,
    Constant,
    Equal,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Model,
    Not,
    Or,
    Predicate,
    Rule,
    Term,
    Variable,
    known_of,
    show_constant,
)

# how tight the outermost connective of a formula binds; a quantifier is loosest
_QUANTIFIER, _IFF, _IMPLIES, _OR, _AND, _NOT = range(6)


def show_term(term: Term) -> str:
    """`x`, `+x`, `Ann`, `"Ann Smith"`."""
    if isinstance(term, Constant):
        return show_constant(term.name)
    return f"+{term.name}" if term.plus else term.name


def show_formula(formula: Formula) -> str:
    """The formula in the language of rule files."""
    return _show(formula, _QUANTIFIER, True)


def _show(formula: Formula, tightest: int, last: bool) -> str:
    """Text of a formula where only connectives at least as tight as `tightest` may stand bare.

    A quantifier reaches as far right as it can, so it stands bare where nothing follows it (`last`) inside its parentheses.
    """
    match formula:
        case Atom() if is_built_in(formula.predicate):
            return shown_relation(formula, False, show_term)
        case Not(body=Atom() as relation) if is_built_in(relation.predicate):
            return shown_relation(relation, True, show_term)
        case Atom() if (known := known_of(formula.predicate)) is not None:
            args = f"({', '.join(map(show_term, formula.args))})" if formula.args else ""
            return f"{'*' * formula.star}{KNOWN}({known}{args})"
        case Atom():
            name = f"*{formula.predicate}" if formula.star else formula.predicate
            return f"{name}({', '.join(map(show_term, formula.args))})" if formula.args else name
        case Equal():
            return f"{show_term(formula.left)} = {show_term(formula.right)}"
        case Not(body=Equal() as equal):
            return f"{show_term(equal.left)} != {show_term(equal.right)}"
        case Not():
            return "!" + _show(formula.body, _NOT, last)
    own = _tightness(formula)
    bare = last if own == _QUANTIFIER else own >= tightest
    if not bare:
        return f"({_show(formula, _QUANTIFIER, True)})"
    match formula:
        case Exists() | Forall():
            word = "EXIST" if isinstance(formula, Exists) else "FORALL"
            return f"{word} {','.join(formula.variables)} {_show(formula.body, _QUANTIFIER, last)}"
        case And() | Or():
            parts = [_show(part, own + 1, False) for part in formula.parts[:-1]]
            parts.append(_show(formula.parts[-1], own + 1, last))
            return (" ^ " if own == _AND else " v ").join(parts)
        case Implies():
            return f"{_show(formula.left, _OR, False)} => {_show(formula.right, _IMPLIES, last)}"
        case Iff():
            return f"{_show(formula.left, _IFF, False)} <=> {_show(formula.right, _IMPLIES, last)}"
    raise AssertionError(formula)


def _tightness(formula: Formula) -> int:
    match formula:
        case Exists() | Forall():
            return _QUANTIFIER
        case Iff():
            return _IFF
        case Implies():
            return _IMPLIES
        case Or():
            return _OR
        case And():
            return _AND
    return _NOT


def show_weight(weight: float) -> str:
    """The shortest text that reads back as the same number."""
    if math.isinf(weight):
        return "inf" if weight > 0 else "-inf"
    return str(int(weight)) if weight.is_integer() and abs(weight) < 1e16 else repr(weight)


def show_rule(rule: Rule) -> str:
    """A rule as one line: `1.5 f`, `f.` where it is hard, `f` where the weight is to be learned."""
    formula = show_formula(rule.formula)
    if rule.factor is not None:
        weight = "" if rule.weight is None else f"{show_weight(rule.weight)} "
        return f"{weight}* {show_formula(rule.factor)}  {formula}"
    if rule.weight is None:
        # a lone atom with lower-case arguments would be a declaration, and a number first a weight
        return f"({formula})" if _could_declare(rule.formula) or formula[0].isdigit() else formula
    if rule.weight == math.inf:
        return f"({formula})." if formula[0].isdigit() else f"{formula}."
    return f"{show_weight(rule.weight)} {formula}"


def _could_declare(formula: Formula) -> bool:
    if not isinstance(formula, Atom) or formula.star:
        return False
    return all(isinstance(term, Variable) and not term.plus for term in formula.args)


def show_predicate(predicate: Predicate) -> str:
    """The declaration of a predicate."""
    args = [name + "!" * mark for name, mark in zip(predicate.types, predicate.exclusive, strict=True)]
    name = f"*{predicate.name}" if predicate.closed else predicate.name
    shown = f"{name}({', '.join(args)})" if args else name
    return f"{shown}: real" if predicate.is_real else shown


def show_type(name: str, constants: tuple[str, ...]) -> str:
    """The declaration of a type."""
    return f"{name} = {{{', '.join(map(show_constant, constants))}}}"


def show_model(model: Model) -> str:
    """A whole rule file: types, predicates, rules.

    Parsing it gives an equal model; constants that only formulas name are declared nowhere, so that they stay open types.
    """
    types = [show_type(name, constants) for name, constants in model.constants.items() if name in model.declared_types]
    predicates = [show_predicate(predicate) for predicate in model.declared.values()]
    rules = [show_rule(rule) for rule in model.rules]
    return "\n\n".join("\n".join(part) for part in (types, predicates, rules) if part) + "\n"
