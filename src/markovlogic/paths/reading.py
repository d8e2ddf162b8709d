"""Rules of a file as paths along facts, where they have that form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from markovlogic.kernels.paths import CONSTANT, MEMBER, NOTHING
from markovlogic.language.syntax import And, Atom, Constant, Exists, Formula, Implies, Not, Rule, Variable, known_of
from markovlogic.paths.graph import Graph, Relation
from markovlogic.paths.rules import FIRST, PAIRS, SECOND, PathRule, Target
from markovlogic.paths.scores import WeightedHead


@dataclass
class Reading:
    """What the rules of a model say of some heads, and the rules that are not of the form of a path."""

    heads: list[WeightedHead]
    others: list[Rule] = field(default_factory=list)
    places: dict[tuple[int, PathRule], tuple[int, float]] = field(default_factory=dict)  # rule and its sign, by head and body


def read_rules(graph: Graph, rules: Sequence[Rule], targets: Sequence[Target]) -> Reading:
    """Read all rules that speak of the targets; rules about nothing of them are left out. Weights that are missing are 0."""
    modelled = frozenset(target.head.predicate for target in targets)
    base = [0.0] * len(targets)
    found: list[dict[PathRule, float]] = [{} for _ in targets]
    made = Reading([])
    for number, rule in enumerate(rules):
        weight = 0.0 if rule.weight is None else rule.weight
        read = None if rule.is_hard or rule.factor is not None else _read(graph, rule, targets, modelled)
        if read is None:
            if any(name in modelled for name in _open_names(rule.formula)):
                made.others.append(rule)
            continue
        for at, path, sign in read:
            made.places.setdefault((at, path), (number, sign))
            if path.is_base and path.head_constant == NOTHING:
                base[at] += sign * weight
            else:
                found[at][path] = found[at].get(path, 0.0) + sign * weight
    for target, own, rules_of in zip(targets, base, found, strict=True):
        made.heads.append(WeightedHead(target, own, tuple(rules_of), tuple(rules_of.values())))
    return made


def _open_names(formula: Formula) -> Iterator[str]:
    from markovlogic.language.syntax import atoms_of

    return (atom.predicate for atom in atoms_of(formula) if known_of(atom.predicate) is None)


def _read(
    graph: Graph, rule: Rule, targets: Sequence[Target], modelled: frozenset[str]
) -> list[tuple[int, PathRule, float]] | None:
    """Heads that the rule speaks of, its body, and whether it speaks for (1) or against (-1) them; None: no such rule."""
    literals: list[Atom] | None = []
    bound: frozenset[str] = frozenset()
    formula, sign = rule.formula, 1.0
    if isinstance(formula, Implies):
        literals, bound = _literals(formula.left)
        formula = formula.right
    if isinstance(formula, Not):
        formula, sign = formula.body, -1.0
    if not isinstance(formula, Atom):
        return None
    head = formula
    if literals is None or head.predicate not in modelled:
        return None
    if any(atom.star or (atom.predicate in modelled) for atom in literals):
        return None
    terms = [term for atom in (head, *literals) for term in atom.args]
    if any(isinstance(term, Variable) and term.plus for term in terms):
        return None
    made = []
    for at, target in enumerate(targets):
        fit = _fit(target, head)
        if fit is None:
            continue
        if isinstance(fit, str):
            return None
        path = _path(graph, literals, bound, fit.x, fit.y) if literals else PathRule(SECOND if fit.side == 0 else FIRST, ())
        if path is None:
            return None
        made.append((at, replace(path, head_constant=fit.label), sign))
    return made or None


def _literals(body: Formula) -> tuple[list[Atom] | None, frozenset[str]]:
    bound: frozenset[str] = frozenset()
    if isinstance(body, Exists):
        bound, body = frozenset(body.variables), body.body
    parts = body.parts if isinstance(body, And) else (body,)
    atoms = [part for part in parts if isinstance(part, Atom)]
    return (atoms if len(atoms) == len(parts) else None), bound


@dataclass(frozen=True)
class _Fit:
    """How an atom is a head: variables of its free arguments, and the one that is a constant."""

    x: str | None
    y: str | None = None
    side: int = NOTHING  # of the constant
    label: int = NOTHING


def _fit(target: Target, head: Atom) -> _Fit | str | None:
    """How the atom is this head; a text where it has another form, None where it is another head."""
    relation, label_of = target.head, target.graph.label_of
    if relation.predicate != head.predicate:
        return None
    terms = []
    for own, term in zip(relation.args, head.args, strict=True):
        if own is None:
            terms.append(term)
        elif isinstance(term, Constant) and term.name != own:
            return None
    free = [term.name if isinstance(term, Variable) else None for term in terms]
    labels = [
        label_of.get((type_name, term.name), NOTHING) if isinstance(term, Constant) else NOTHING
        for type_name, term in zip(relation.types, terms, strict=True)
    ]
    if not target.is_pair:  # the second argument, where there is one, stands for one constant alone
        if len(terms) == 2 and free[1] is None and labels[1] != target.constant:
            return None
        return "a constant" if free[0] is None else _Fit(free[0])
    if free[0] == free[1]:
        return "a repeated variable" if free[0] is not None else "constants alone"
    if None not in free:
        return _Fit(free[0], free[1])
    side = free.index(None)
    return "an unknown constant" if labels[side] == NOTHING else _Fit(free[0], free[1], side, labels[side])


def _path(graph: Graph, literals: Sequence[Atom], bound: frozenset[str], x: str | None, y: str | None) -> PathRule | None:
    """The literals as one path from x (or y), each used once."""
    names = {term.name for atom in literals for term in atom.args if isinstance(term, Variable)}
    inner = names - {x, y}
    if inner and bound not in (frozenset(inner), frozenset()):
        return None
    each = bool(inner) and not bound
    has_x, has_y = x in names, y in names
    start = x if has_x else y
    if start is None or not (has_x or has_y):
        return None
    goal = y if has_x and has_y else None
    shape = PAIRS if goal is not None else FIRST if has_x else SECOND
    steps: list[int] = []
    rest = list(literals)
    at, seen = start, {start}
    while rest:
        nexts = [atom for atom in rest if any(isinstance(t, Variable) and t.name == at for t in atom.args)]
        if len(nexts) != 1:
            return None
        atom = nexts[0]
        rest.remove(atom)
        last = not rest
        edge = _edge(graph, atom, at)
        if edge is None:
            return None
        kind, number, to = edge
        if kind == "set":
            return PathRule(shape, tuple(steps), MEMBER, number, each=each) if last and goal is None else None
        steps.append(number)
        if isinstance(to, Constant):
            type_name = graph.relations[number >> 1].types[1 - (number & 1)]
            label = graph.label_of.get((type_name, to.name))
            if not last or goal is not None or label is None:
                return None
            return PathRule(shape, tuple(steps), CONSTANT, label, each=each)
        if to.name in seen:
            return None
        seen.add(to.name)
        at = to.name
    if goal is not None:
        return PathRule(PAIRS, tuple(steps), each=each) if at == goal else None
    return PathRule(shape, tuple(steps), each=each)


def _edge(graph: Graph, atom: Atom, at: str) -> tuple[str, int, Variable | Constant] | None:
    """The relation of a literal, in its direction from a variable, and where it leads; or the set."""
    name = known_of(atom.predicate) or atom.predicate
    for kind, views in (("set", graph.sets), ("relation", graph.relations)):
        for number, view in enumerate(views):
            if view.predicate != name:
                continue
            free = _free_terms(view, atom)
            if free is None:
                continue
            if kind == "set":
                return ("set", number, Variable(at)) if isinstance(free[0], Variable) and free[0].name == at else None
            one, other = free
            if isinstance(one, Variable) and one.name == at:
                return "relation", 2 * number, other
            return "relation", 2 * number + 1, one
    return None


def _free_terms(view: Relation, atom: Atom) -> list[Variable | Constant] | None:
    made: list[Variable | Constant] = []
    for own, term in zip(view.args, atom.args, strict=True):
        if own is None:
            made.append(term)
        elif not isinstance(term, Constant) or term.name != own:
            return None
    return made
