"""Problems made by hand: predicates with statuses, templates and definitions, and their meaning by brute force."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Domain, Evidence, codes
from markovlogic.language.syntax import Atom, Constant, Model, Predicate, Rule, Term, Variable
from markovlogic.language.templates import ClauseTemplate, Cube, Definition, EqualityLiteral, Literal, LoweredModel
from markovlogic.problem import AtomIndex, ExclusiveGroups, Problem, Statuses

Facts = Mapping[str, Mapping[tuple[int, ...], int]]


def problem_of(
    sizes: Mapping[str, int],
    predicates: Mapping[str, tuple[str, ...]],
    *,
    closed: Sequence[str] = (),
    facts: Facts | None = None,
    rules: Sequence[Rule] = (),
    groups: tuple[ExclusiveGroups, ...] = (),
) -> Problem:
    """A problem whose constants of type t are T0, T1, …; predicates that are not closed are open."""
    facts = facts or {}
    domains = {t: Domain(t, tuple(f"{t.upper()}{i}" for i in range(n))) for t, n in sizes.items()}
    statuses = {}
    for name, types in predicates.items():
        default = FALSE if name in closed else UNKNOWN
        of = tuple(sizes[t] for t in types)
        known = {args: status for args, status in facts.get(name, {}).items() if status != default}
        args = np.array(sorted(known), np.int64).reshape(len(known), len(types))
        code = codes(args, of)
        status = np.array([known[a] for a in sorted(known)], np.int8)
        order = np.argsort(code)
        statuses[name] = Statuses(name, of, default, code[order], status[order])
    start = np.concatenate([[0], np.cumsum([s.n_open for s in statuses.values()])]).astype(np.int64)
    model = Model(
        {n: Predicate(n, t, (False,) * len(t)) for n, t in predicates.items()},
        tuple(rules),
        {t: d.names for t, d in domains.items()},
    )
    atoms = AtomIndex(tuple(predicates), start, statuses)
    return Problem(model, Evidence(domains, {}), (), statuses, atoms, groups)


def rule(free: Mapping[str, str], weight: float, text: str = "", line: int = 1) -> Rule:
    from markovlogic.errors import Place

    return Rule(Atom("unused"), weight, tuple(free), tuple(free.items()), text, Place("made.mln", line, 1))


class Oracle:
    """Meaning of a lowered model by substitution, one ground literal at a time."""

    def __init__(self, problem: Problem, lowered: LoweredModel) -> None:
        self.problem, self.lowered = problem, lowered
        self.definitions = {d.predicate: d for d in lowered.definitions}

    def log_weight(self, open_truth: Sequence[bool]) -> float:
        total = 0.0
        sizes = self._sizes
        for r, constant in zip(self.problem.model.rules, self.lowered.constant_per_grounding, strict=True):
            total += constant * math.prod(sizes(t) for _, t in r.types)
        for template in self.lowered.templates:
            for binding in self._bindings(template.variables):
                true = any(self._holds(x, binding, open_truth) for x in (*template.literals, *template.equalities))
                if math.isinf(template.weight):
                    if not true and math.prod(sizes(t) for _, t in template.idle):
                        return -math.inf
                elif true:
                    total += template.weight * math.prod(sizes(t) for _, t in template.idle)
        return total

    def _sizes(self, type_name: str) -> int:
        return len(self.problem.domains[type_name])

    def _bindings(self, variables: Sequence[tuple[str, str]]) -> list[dict[str, int]]:
        names = [n for n, _ in variables]
        return [dict(zip(names, c, strict=True)) for c in itertools.product(*(range(self._sizes(t)) for _, t in variables))]

    def _holds(self, x: Literal | EqualityLiteral, binding: dict[str, int], truth: Sequence[bool]) -> bool:
        def value(term: Term) -> int:
            return binding[term.name] if isinstance(term, Variable) else int(term.name[1:])

        if isinstance(x, EqualityLiteral):
            return (value(x.left) == value(x.right)) == x.positive
        args = [value(a) for a in x.args]
        return self._atom(x.predicate, args, truth) == x.positive

    def _atom(self, predicate: str, args: list[int], truth: Sequence[bool]) -> bool:
        if predicate in self.definitions:
            d = self.definitions[predicate]
            given = dict(zip([n for n, _ in d.parameters], args, strict=True))
            return any(
                all(self._holds(x, given | local, truth) for x in (*cube.literals, *cube.equalities))
                for local in self._bindings(d.locals_)
                for cube in d.cubes
            )
        statuses = self.problem.statuses[predicate]
        code = codes(np.array([args]).reshape(1, len(args)), statuses.sizes)
        status = int(statuses.lookup(code)[0])
        return truth[int(self.problem.atoms.numbers(predicate, code)[0])] if status == UNKNOWN else status == TRUE


class Maker:
    """Random problems over two types, with every kind of literal, from one generator."""

    def __init__(self, seed: int, *, hidden: bool, hard: bool) -> None:
        self.rng = np.random.default_rng(seed)
        self.hidden, self.hard = hidden, hard

    def draw(self) -> tuple[Problem, LoweredModel]:
        rng = self.rng
        while True:
            sizes = {"s": int(rng.integers(1, 4)), "t": int(rng.integers(1, 3))}
            shapes = [(), ("s",), ("t",), ("s", "s"), ("s", "t"), ("t", "s", "s")]
            predicates = {f"P{i}": shapes[int(rng.integers(len(shapes)))] for i in range(int(rng.integers(1, 5)))}
            closed = [p for p in predicates if rng.random() < 0.35]
            facts = {}
            for name, types in predicates.items():
                every = itertools.product(*(range(sizes[t]) for t in types))
                share = rng.choice([0.0, 0.0, 0.3, 0.6, 0.95])
                facts[name] = {
                    args: int(rng.choice([FALSE, TRUE, UNKNOWN], p=[0.45, 0.45, 0.1])) for args in every if rng.random() < share
                }
            problem = problem_of(sizes, predicates, closed=closed, facts=facts)
            if 3 <= len(problem.atoms) <= 14:
                break
        self.types = dict(predicates)
        definitions = []
        for number in range(int(rng.integers(1, 4)) if self.hidden else 0):
            parameters = self._variables("p", 2)
            locals_ = self._variables("q", 2)
            cubes = tuple(Cube(*self._literals(dict(parameters + locals_), 3)) for _ in range(int(rng.integers(1, 3))))
            definitions.append(Definition(f"H{number}", parameters, locals_, cubes, 0))
            self.types[f"H{number}"] = tuple(t for _, t in parameters)
        templates, rules, constants = [], [], []
        for number in range(int(rng.integers(1, 4))):
            free = self._variables("x", 3)
            literals, equalities = self._literals(dict(free), 4)
            used = {a.name for x in literals for a in x.args if isinstance(a, Variable)}
            used |= {a.name for x in equalities for a in (x.left, x.right) if isinstance(a, Variable)}
            weight = math.inf if self.hard and rng.random() < 0.4 else float(rng.integers(1, 40)) / 8
            variables = tuple(v for v in free if v[0] in used)
            idle = tuple(v for v in free if v[0] not in used)
            templates.append(ClauseTemplate(literals, equalities, weight, variables, idle, number))
            rules.append(rule(dict(free), weight, f"rule {number}", number + 1))
            constants.append(0.0 if math.isinf(weight) else float(rng.integers(-3, 3)))
        model = Model(problem.model.predicates, tuple(rules), problem.model.constants)
        problem = Problem(model, problem.evidence, (), problem.statuses, problem.atoms, ())
        return problem, LoweredModel(tuple(templates), tuple(definitions), tuple(constants))

    def _variables(self, letter: str, most: int) -> tuple[tuple[str, str], ...]:
        n = int(self.rng.integers(0, most + 1))
        return tuple((f"{letter}{i}", str(self.rng.choice(["s", "t"]))) for i in range(n))

    def _literals(self, scope: dict[str, str], most: int) -> tuple[tuple[Literal, ...], tuple[EqualityLiteral, ...]]:
        literals, equalities = [], []
        for _ in range(int(self.rng.integers(1, most + 1))):
            if scope and self.rng.random() < 0.2:
                name = str(self.rng.choice(list(scope)))
                equalities.append(EqualityLiteral(Variable(name), self._term(scope, scope[name]), bool(self.rng.random() < 0.5)))
            else:
                predicate = str(self.rng.choice(list(self.types)))
                args = tuple(self._term(scope, t) for t in self.types[predicate])
                literals.append(Literal(predicate, args, bool(self.rng.random() < 0.5)))
        return tuple(literals), tuple(equalities)

    def _term(self, scope: dict[str, str], type_name: str) -> Term:
        fitting = [n for n, t in scope.items() if t == type_name]
        if not fitting or self.rng.random() < 0.15:
            return Constant(f"{type_name.upper()}0")
        return Variable(str(self.rng.choice(fitting)))
