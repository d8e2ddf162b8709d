"""Random small models with evidence, and what all their worlds say.

A model is made as plain tuples, written as text for the engine, and judged here by all its worlds at once, one array of truth
values an atom. The judge shares no code with the engine, neither parser nor grounding.
"""

from __future__ import annotations

import copy
import itertools
import math
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Atom = tuple[str, tuple[str, ...]]
PAIR = ("thing", "thing")
PREDICATES = {
    "P": ("thing",),
    "Q": ("thing",),
    "R": PAIR,
    "F": (),
    "C": ("thing", "kind"),
    "Same": PAIR,
}
EXCLUSIVE = "C"  # its last argument
NUMBERS = {"Num": ("thing",), "Pair": PAIR, "Shade": ("kind",)}
MOST_WORLDS, MOST_OF_PAIRS = 4096, 1 << 16  # of an equivalence relation
BOUND = "v"  # names of quantified things begin with it, those of quantified kinds with "kv"


@dataclass
class Rule:
    """A formula with a weight (None: hard, -inf: never), and the number that multiplies it."""

    weight: float | None
    formula: Any
    factor: Atom | None = None

    @property
    def free(self) -> list[str]:
        """The free variables, those of the number too."""
        found = dict.fromkeys(_free(self.formula))
        if self.factor is not None:
            found |= dict.fromkeys(term for term in self.factor[1] if term.islower())
        return list(found)

    @property
    def is_hard(self) -> bool:
        """Whether every world obeys it."""
        return self.weight is None or math.isinf(self.weight)


@dataclass
class Case:
    """A random model with its evidence and query."""

    domains: dict[str, list[str]]
    query: list[str]  # predicates and ground atoms
    rules: list[Rule]
    facts: dict[Atom, bool] = field(default_factory=dict)
    soft: dict[Atom, float] = field(default_factory=dict)  # probabilities
    numbers: dict[Atom, float] = field(default_factory=dict)
    opened: set[Atom] = field(default_factory=set)
    event: Any = None  # a ground formula of the query

    @property
    def queried(self) -> set[str]:
        """Predicates that the query names."""
        return {item.partition("(")[0] for item in self.query}

    @property
    def names(self) -> list[str]:
        """The predicates in use."""
        used = self.queried | {name for rule in self.rules for name in _predicates(rule.formula)}
        used |= {atom[0] for atom in (*self.facts, *self.soft, *self.opened)}
        return [name for name in PREDICATES if name in used]

    @property
    def model_text(self) -> str:
        """The rules as the engine reads them."""
        used = {t for name in self.names for t in PREDICATES[name]} | {"thing"}
        used |= {"kind" for atom in self.numbers if atom[0] == "Shade"}
        used |= {"kind" for rule in self.rules if rule.factor is not None and rule.factor[0] == "Shade"}
        lines = [f"{name} = {{{', '.join(self.domains[name])}}}" for name in self.domains if name in used]
        for name in self.names:
            types = list(PREDICATES[name])
            if name == EXCLUSIVE:
                types[-1] += "!"
            lines.append(name + _arguments(types))
        lines += [f"{name}{_arguments(types)}: real" for name, types in NUMBERS.items() if name != "Shade" or "kind" in used]
        for rule in self.rules:
            body = text_of(rule.formula)
            if rule.weight is None:
                lines.append(f"{body}.")
            elif rule.factor is None:
                lines.append(f"{rule.weight} {body}")
            else:
                lines.append(f"{rule.weight} * {shown(rule.factor)} {body}")
        return "\n".join(lines) + "\n"

    @property
    def evidence_text(self) -> str:
        """The evidence as the engine reads it."""
        lines = [f"{'' if true else '!'}{shown(atom)}" for atom, true in self.facts.items()]
        lines += [f"{probability!r} {shown(atom)}" for atom, probability in self.soft.items()]
        lines += [f"{number} {shown(atom)}" for atom, number in self.numbers.items()]
        lines += [f"?{shown(atom)}" for atom in sorted(self.opened)]
        return "\n".join(lines) + "\n"

    @property
    def event_text(self) -> str:
        """The ground formula as the query names it and the result spells it."""
        return "" if self.event is None else text_of(self.event).replace(" ", "")

    @property
    def asked(self) -> list[str]:
        """The query as the engine takes it."""
        return [*self.query, *([self.event_text] if self.event is not None else [])]

    def choices(self) -> list[list[tuple[Atom | None, float]]]:
        """What the evidence leaves open: for each single atom, and each group, which atom may be true and its log-weight."""
        closed = {atom[0] for atom in (*self.facts, *self.soft, *self.opened)} - self.queried
        made: list[list[tuple[Atom | None, float]]] = []
        for name in self.names:
            domains = [self.domains[t] for t in PREDICATES[name]]
            if name == EXCLUSIVE:
                made += [self._group([(name, (one, value)) for value in domains[1]]) for one in domains[0]]
                continue
            for args in itertools.product(*domains):
                atom = (name, args)
                if atom in self.facts:
                    made += [[(atom, 0.0)]] if self.facts[atom] else []
                elif atom in self.soft:
                    made.append([(None, 0.0), (atom, math.log(self.soft[atom] / (1 - self.soft[atom])))])
                elif name not in closed or atom in self.opened:
                    made.append([(None, 0.0), (atom, 0.0)])
        return made

    def _group(self, atoms: list[Atom]) -> list[tuple[Atom | None, float]]:
        if true := [atom for atom in atoms if self.facts.get(atom)]:
            return [(true[0], 0.0)]
        left = [atom for atom in atoms if atom not in self.facts]
        listed = [atom for atom in left if atom in self.soft]
        rest = (1 - sum(self.soft[atom] for atom in listed)) / max(1, len(left) - len(listed))
        return [(atom, math.log(self.soft.get(atom, rest)) if listed else 0.0) for atom in left]

    @property
    def n_worlds(self) -> int:
        """Worlds that the evidence leaves."""
        return math.prod(len(choice) for choice in self.choices())


class Judged:
    """What all worlds say."""

    def __init__(self, case: Case) -> None:
        self.case = case
        choices = case.choices()
        shape = [len(choice) for choice in choices]
        n = math.prod(shape)
        self.truth: dict[Atom, Any] = {}
        weight = np.zeros(n)
        place = n
        self.open: set[Atom] = set()
        for choice in choices:
            place //= len(choice)
            taken = np.arange(n) // place % len(choice)
            for at, (atom, log_weight) in enumerate(choice):
                weight += (taken == at) * log_weight
                if atom is not None:
                    self.truth[atom] = taken == at
                    if atom not in case.facts:  # also the last value that a group has left
                        self.open.add(atom)
        possible = np.ones(n, bool)
        for rule in case.rules:
            sorts = [case.domains[sort_of(name)] for name in rule.free]
            for values in itertools.product(*sorts):
                binding = dict(zip(rule.free, values, strict=True))
                true = self.holds(rule.formula, binding)
                if rule.weight is None:
                    possible &= true
                elif math.isinf(rule.weight):
                    possible &= np.logical_not(true)
                else:
                    times = 1.0
                    if rule.factor is not None:
                        times = case.numbers.get((rule.factor[0], tuple(binding.get(t, t) for t in rule.factor[1])), 0.0)
                    weight += rule.weight * times * true
        self.possible, self.weight = possible, np.where(possible, weight, -np.inf)
        self.exists = bool(possible.any())
        self.best = float(self.weight.max())
        if self.exists:
            share = np.exp(self.weight - self.best)
            self.log_z = self.best + math.log(share.sum())
            self.share = share / share.sum()

    def rule_weights(self) -> Any:
        """(n_worlds, n_rules + 1) what each rule weighs in each world, soft evidence last; nothing for hard rules."""
        rows = []
        for rule in self.case.rules:
            total = np.zeros(len(self.weight))
            for values in itertools.product(*([self.case.domains[sort_of(name)] for name in rule.free])):
                binding = dict(zip(rule.free, values, strict=True))
                times = 0.0 if rule.is_hard else 1.0
                if rule.factor is not None:
                    times = self.case.numbers.get((rule.factor[0], tuple(binding.get(t, t) for t in rule.factor[1])), 0.0)
                total += (0.0 if rule.is_hard else rule.weight or 0.0) * times * self.holds(rule.formula, binding)
            rows.append(total)
        rows.append(np.where(self.possible, self.weight - sum(rows), 0.0))
        return np.array(rows).T

    def probability(self, formula: Any) -> float:
        """P of a ground formula."""
        return float((self.share * self.holds(formula, {})).sum())

    def holds(self, formula: Any, binding: dict[str, str]) -> Any:
        """In which worlds a formula is true."""
        kind, *parts = formula
        if kind == "atom":
            return self.truth.get((parts[0], tuple(binding.get(term, term) for term in parts[1])), np.False_)
        if kind == "known":
            return np.bool_(self.case.facts.get((parts[0], tuple(binding.get(term, term) for term in parts[1])), False))
        if kind in ("=", "!="):
            return np.bool_((binding.get(parts[0], parts[0]) == binding.get(parts[1], parts[1])) == (kind == "="))
        if kind in ("EXIST", "FORALL"):
            names = self.case.domains[sort_of(parts[0])]
            truths = [self.holds(parts[1], {**binding, parts[0]: name}) for name in names]
            made = truths[0]
            for truth in truths[1:]:
                made = made | truth if kind == "EXIST" else made & truth
            return made
        if kind == "!":
            return np.logical_not(self.holds(parts[0], binding))
        left, right = (self.holds(part, binding) for part in parts)
        return {"^": left & right, "v": left | right, "=>": np.logical_not(left) | right, "<=>": left == right}[kind]


def sort_of(variable: str) -> str:
    """The type of a variable, by its name."""
    return "kind" if variable[0] == "k" else "thing"


def _free(formula: Any) -> list[str]:
    kind, *parts = formula
    if kind in ("atom", "known"):
        return [term for term in parts[1] if term.islower()]
    if kind in ("=", "!="):
        return [term for term in parts if term.islower()]
    if kind in ("EXIST", "FORALL"):
        return [name for name in _free(parts[1]) if name != parts[0]]
    return [name for part in parts for name in _free(part)]


def _predicates(formula: Any) -> set[str]:
    kind, *parts = formula
    if kind in ("atom", "known"):
        return {parts[0]}
    if kind in ("=", "!="):
        return set()
    if kind in ("EXIST", "FORALL"):
        return _predicates(parts[1])
    return {name for part in parts for name in _predicates(part)}


def _typed(formula: Any) -> set[str]:
    """The variables that stand in an atom."""
    kind, *parts = formula
    if kind in ("atom", "known"):
        return {term for term in parts[1] if term.islower()}
    if kind in ("=", "!="):
        return set()
    if kind in ("EXIST", "FORALL"):
        return _typed(parts[1])
    return {name for part in parts for name in _typed(part)}


def _named(formula: Any) -> set[str]:
    """All variables: free, bound and compared."""
    kind, *parts = formula
    if kind in ("atom", "known", "=", "!="):
        return {term for term in (parts[1] if kind in ("atom", "known") else parts) if term.islower()}
    if kind in ("EXIST", "FORALL"):
        return {parts[0]} | _named(parts[1])
    return {name for part in parts for name in _named(part)}


def text_of(formula: Any) -> str:
    """A formula as the engine reads it."""
    kind, *parts = formula
    if kind == "atom":
        return f"({shown((parts[0], parts[1]))})"
    if kind == "known":
        return f"Known({shown((parts[0], parts[1]))})"
    if kind in ("=", "!="):
        return f"({parts[0]} {kind} {parts[1]})"
    if kind in ("EXIST", "FORALL"):
        return f"({kind} {parts[0]} {text_of(parts[1])})"
    if kind == "!":
        return f"!{text_of(parts[0])}"
    return f"({text_of(parts[0])} {kind} {text_of(parts[1])})"


def shown(atom: Atom) -> str:
    """An atom as results spell it."""
    return atom[0] + _arguments(atom[1])


def _arguments(args: Any) -> str:
    return f"({','.join(args)})" if args else ""


@dataclass(frozen=True)
class Features:
    """How often cases hold what; `Maker` rolls for each case."""

    numbers: float = 0.3
    soft: float = 0.3
    hard: float = 0.25
    exclusive: float = 0.3
    known: float = 0.1
    equivalence: float = 0.0
    strong: float = 0.15  # large weights
    many: float = 0.3  # more constants, no pairs


class Maker:
    """Makes random cases."""

    def __init__(self, rng: random.Random, features: Features) -> None:
        self.rng, self.features = rng, features

    def case(self) -> Case:
        """One case with something open, and few enough worlds."""
        while True:
            made = self._case()
            most = MOST_OF_PAIRS if "Same" in made.names else MOST_WORLDS
            if 1 < made.n_worlds <= most and all(_named(rule.formula) <= _typed(rule.formula) for rule in made.rules):
                return made

    def _case(self) -> Case:
        rng, features = self.rng, self.features
        self.has_numbers = rng.random() < features.numbers
        self.has_soft = rng.random() < features.soft
        self.has_known = rng.random() < features.known
        self.is_strong = rng.random() < features.strong
        has_hard, has_kinds = rng.random() < features.hard, rng.random() < features.exclusive
        has_equivalence, has_many = rng.random() < features.equivalence, rng.random() < features.many
        self.domains = {"thing": list("ABCDEF")[: rng.choice((4, 5, 6) if has_many else (1, 2, 2, 3, 3, 4))]}
        self.domains["kind"] = ["K1", "K2", "K3"][: rng.choice((1, 2, 3))]
        self.usable = ["P", "Q", "F"] if has_many else ["P", "Q", "R", "R", "F"]
        if has_kinds:
            self.usable += ["C", "C"]
        if has_equivalence:
            self.domains["thing"] = list("ABCD")[: rng.choice((2, 3, 3, 4))]
            few = len(self.domains["thing"]) < 4
            self.usable = ["Same", "Same", "Same", *(["P", "F"] if few else []), *(["C"] if few and has_kinds else [])]
        rules = [self._rule() for _ in range(rng.randint(1, 3))]
        if has_equivalence:
            rules += equivalence() + ([self._unlisted()] if rng.random() < 0.5 else [])
        if has_hard:
            rules += [self._rule(hard=True) for _ in range(rng.choice((1, 1, 2)))]
        made = Case(self.domains, ["P"], rules)
        made.query = self._query([n for n in made.names if n in self.usable] if rng.random() < 0.8 else sorted(set(self.usable)))
        if self.has_numbers:
            self._numbers(made)
        known = rng.sample(made.names, k=rng.randint(0, len(made.names)))
        for name in known:
            self._evidence(made, name)
        if has_equivalence and "R" in set(made.names) - set(known):  # all of its pairs open would be too many worlds
            self._evidence(made, "R")
        if rng.random() < 0.25:
            made.event = self._event(sorted(made.queried))
        return made

    def changed(self, case: Case) -> Case:
        """The same case after a change of facts, soft evidence, numbers, constants, rules or weights; still with few worlds."""
        while True:
            made = copy.deepcopy(case)
            self.domains = made.domains
            for _ in range(self.rng.choice((1, 1, 2, 4))):
                self._change(made)
            kept = all(_named(rule.formula) <= _typed(rule.formula) for rule in made.rules)
            if kept and 1 < made.n_worlds <= MOST_WORLDS and made.rules:
                return made

    def _change(self, made: Case) -> None:
        rng = self.rng
        kind = rng.choice(("fact", "fact", "fact", "weight", "rule", "drop rule", "constant", "drop constant", "number", "group"))
        if kind == "fact":
            name = rng.choice(made.names)
            atom = (name, tuple(rng.choice(self.domains[t]) for t in PREDICATES[name]))
            if name != EXCLUSIVE:
                known = atom in made.facts or atom in made.soft or atom in made.opened
                self._clear(made, [atom])
                drawn = rng.random()
                if drawn < 0.5 or not known:
                    made.facts[atom] = rng.random() < 0.6
                elif drawn < 0.65:
                    made.opened.add(atom)
                elif drawn < 0.8 and self.has_soft:
                    made.soft[atom] = rng.choice((0.75, 0.4, 0.9))
        elif kind == "group" and EXCLUSIVE in made.names:
            one = rng.choice(self.domains["thing"])
            atoms: list[Atom] = [(EXCLUSIVE, (one, value)) for value in self.domains["kind"]]
            self._clear(made, atoms)
            self._group(made, atoms)
        elif kind == "weight":
            soft = [rule for rule in made.rules if not rule.is_hard]
            if soft:
                rng.choice(soft).weight = rng.choice((0.7, -1.1, 1.6, 0.25))
        elif kind == "rule":
            made.rules.append(self._rule())
        elif kind == "drop rule" and len(made.rules) > 1:
            made.rules.pop(rng.randrange(len(made.rules)))
        elif kind == "constant":
            new = [name for name in "ABCDEFG" if name not in self.domains["thing"]]
            self.domains["thing"] += new[:1]
        elif kind == "drop constant" and len(self.domains["thing"]) > 1:
            self._forget(made, self.domains["thing"].pop())
        elif kind == "number" and made.numbers:
            made.numbers[rng.choice(sorted(made.numbers))] = rng.choice((2.0, -1.0, 0.5, 0.0))

    @staticmethod
    def _clear(made: Case, atoms: list[Atom]) -> None:
        for atom in atoms:
            made.facts.pop(atom, None)
            made.soft.pop(atom, None)
            made.opened.discard(atom)

    @staticmethod
    def _forget(made: Case, name: str) -> None:
        for atoms in (made.facts, made.soft, made.numbers):
            for atom in [atom for atom in atoms if name in atom[1]]:
                del atoms[atom]
        made.opened = {atom for atom in made.opened if name not in atom[1]}
        made.rules = [rule for rule in made.rules if name not in text_of(rule.formula)]
        made.rules = [rule for rule in made.rules if rule.factor is None or name not in rule.factor[1]]
        if made.event is not None and name in text_of(made.event):
            made.event = None
        kept = [item for item in made.query if name not in item.partition("(")[2]] or ["P"]
        if kept != made.query:  # the formula may name a predicate that nothing else of the query does
            made.query, made.event = kept, None

    def _query(self, names: list[str]) -> list[str]:
        rng = self.rng
        chosen = rng.sample(names, k=min(len(names), rng.choice((1, 1, 2))))
        made = []
        for name in chosen:
            args = [rng.choice(self.domains[t]) for t in PREDICATES[name]]
            made.append(shown((name, tuple(args))) if rng.random() < 0.2 else name)
        return made

    def _numbers(self, made: Case) -> None:
        for name, types in NUMBERS.items():
            if name == "Shade" and not any(rule.factor is not None and rule.factor[0] == name for rule in made.rules):
                continue
            share = self.rng.choice((0.3, 0.7, 1.0))
            for args in itertools.product(*(self.domains[t] for t in types)):
                if self.rng.random() < share:
                    made.numbers[name, args] = self.rng.choice((2.0, -1.0, 0.5, 1.0, 1.0, -0.25, 0.0))

    def _evidence(self, made: Case, name: str) -> None:
        rng = self.rng
        density = rng.choice((0.3, 0.3, 0.7))
        if name == EXCLUSIVE:
            for one in self.domains["thing"]:
                self._group(made, [(name, (one, value)) for value in self.domains["kind"]])
            return
        for args in itertools.product(*(self.domains[t] for t in PREDICATES[name])):
            drawn = rng.random()
            if drawn < density:
                made.facts[name, args] = rng.random() < 0.5
            elif drawn < density + 0.1:
                made.opened.add((name, args))
            elif drawn < density + 0.25 and self.has_soft:
                made.soft[name, args] = rng.choice((0.75, 0.4, 0.9))

    def _group(self, made: Case, atoms: list[Atom]) -> None:
        """Evidence of one exclusive group, which leaves it a value."""
        rng, drawn = self.rng, self.rng.random()
        if drawn < 0.2:
            made.facts[rng.choice(atoms)] = True
        elif drawn < 0.6:
            kept = rng.choice(atoms)
            for atom in atoms:
                if atom != kept and rng.random() < 0.4:
                    made.facts[atom] = False
                elif atom != kept and self.has_soft and rng.random() < 0.5:
                    made.soft[atom] = rng.choice((0.125, 0.25, 0.3125))
            if rng.random() < 0.2:
                made.opened.add(kept)

    def _rule(self, *, hard: bool = False) -> Rule:
        rng, factor = self.rng, None
        variables = ["x", "y"][: rng.choice((1, 2, 2))]
        formula = self._formula(rng.choice((1, 2, 2) if hard else (0, 1, 1, 2)), variables, ["k"] if "C" in self.usable else [])
        if hard:
            return Rule(rng.choice((None, None, None, -math.inf)), formula)
        if self.has_numbers and rng.random() < 0.7:
            name = rng.choice([name for name in NUMBERS if name != "Shade" or "C" in self.usable])
            things = [*variables, *variables, "z", rng.choice(self.domains["thing"]), rng.choice(self.domains["thing"])]
            terms = {"thing": things, "kind": ["k", "k", rng.choice(self.domains["kind"])]}
            factor = (name, tuple(rng.choice(terms[t]) for t in NUMBERS[name]))
        weight = rng.choice((4.0, -3.5, 2.5, -6.0) if self.is_strong else (1.5, -0.8, 0.6, -0.16, 1.1, 0.0))
        return Rule(weight, formula, factor)

    def _unlisted(self) -> Rule:
        """What pairs weigh that no R lists."""
        listed = ("v", ("atom", "R", ("x", "y")), ("atom", "R", ("y", "x")))
        apart = ("=>", _same("x", "y"), ("v", ("=", "x", "y"), listed))
        return Rule(self.rng.choice((0.4, 1.1, 2.0, -0.5)), apart)

    def _terms(self, sort: str, variables: list[str]) -> list[str]:
        return [*variables, *variables, self.rng.choice(self.domains[sort])]

    def _formula(self, depth: int, things: list[str], kinds: list[str]) -> Any:
        rng, drawn = self.rng, self.rng.random()
        if depth == 0 or drawn < 0.1:
            name = rng.choice(self.usable)
            variables = {"thing": things, "kind": kinds}
            args = tuple(rng.choice(self._terms(t, variables[t])) for t in PREDICATES[name])
            known = self.has_known and name != EXCLUSIVE and rng.random() < 0.3
            atom = ("known" if known else "atom", name, args)
            return ("!", atom) if rng.random() < 0.3 else atom
        if drawn < 0.3:
            name = f"{'k' if kinds and rng.random() < 0.3 else ''}{BOUND}{depth}"
            wider = ([*things, name, name], kinds) if name[0] == BOUND else (things, [*kinds, name, name])
            return (rng.choice(("EXIST", "FORALL")), name, self._formula(depth - 1, *wider))
        if drawn < 0.4:
            sort = "kind" if kinds and rng.random() < 0.3 else "thing"
            same_sort = kinds if sort == "kind" else things
            left, right = rng.choice(same_sort), rng.choice(self._terms(sort, same_sort))
            compared = (rng.choice(("=", "!=")), left, right)
            return (rng.choice(("v", "^", "=>", "<=>")), compared, self._formula(depth - 1, things, kinds))
        kind = rng.choice(("^", "v", "=>", "<=>"))
        return (kind, self._formula(depth - 1, things, kinds), self._formula(depth - 1, things, kinds))

    def _event(self, names: list[str]) -> Any:
        """A ground formula over queried predicates."""
        rng, made = self.rng, None
        for _ in range(rng.choice((2, 2, 3))):
            name = rng.choice(names)
            atom: Any = ("atom", name, tuple(rng.choice(self.domains[t]) for t in PREDICATES[name]))
            literal = ("!", atom) if rng.random() < 0.4 else atom
            made = literal if made is None else (rng.choice(("^", "v", "=>", "<=>")), made, literal)
        return made


def _same(left: str, right: str) -> Any:
    return ("atom", "Same", (left, right))


def equivalence() -> list[Rule]:
    """That Same is an equivalence relation."""
    return [
        Rule(None, _same("x", "x")),
        Rule(None, ("=>", _same("x", "y"), _same("y", "x"))),
        Rule(None, ("=>", ("^", _same("x", "y"), _same("y", "z")), _same("x", "z"))),
    ]
