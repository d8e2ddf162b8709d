"""Random small models against direct enumeration: `make attack ATTACK='--count 2000 --family map --seed 3'`.

A model is made as plain tuples, written as text for the engine, and judged here by all its worlds, grounding by grounding. The
judge shares no code with the engine, neither parser nor grounding. Models that fail are written to a folder, with what was wrong.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import markovlogic as mln
from markovlogic.errors import InputError, ResourceError, UnsupportedError

Atom = tuple[str, tuple[str, ...]]
PREDICATES = {"P": 1, "Q": 1, "R": 2, "F": 0}
NUMBERS = {"Num": 1, "Pair": 2}
EXACT = ("enumerate", "eliminate", "lifted")
WAYS = ("auto", "auto", "ilp", "maxwalksat")  # to the most probable world
SAMPLERS = ("gibbs", "mcsat", "blocked", "tempered", "orbital", "lifted-mh")
MOST_OPEN = 10
TOLERANCE = 1e-7
WIDEST_Z = 6.5


@dataclass
class Rule:
    """A formula with a weight (None: hard), and the number that multiplies it."""

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


@dataclass
class Case:
    """A random model with its evidence."""

    constants: list[str]
    rules: list[Rule]
    facts: dict[Atom, bool] = field(default_factory=dict)
    soft: dict[Atom, float] = field(default_factory=dict)  # log-odds
    numbers: dict[Atom, float] = field(default_factory=dict)
    opened: set[Atom] = field(default_factory=set)

    @property
    def model_text(self) -> str:
        """The rules as the engine reads them."""
        lines = [f"thing = {{{', '.join(self.constants)}}}"]
        lines += [name + _arguments(["thing"] * n) for name, n in PREDICATES.items()]
        lines += [f"{name}{_arguments(['thing'] * n)}: real" for name, n in NUMBERS.items()]
        for rule in self.rules:
            body = _text(rule.formula)
            if rule.weight is None:
                lines.append(f"{body}.")
            elif rule.factor is None:
                lines.append(f"{rule.weight} {body}")
            else:
                lines.append(f"{rule.weight} * {_shown(rule.factor)} {body}")
        return "\n".join(lines) + "\n"

    @property
    def evidence_text(self) -> str:
        """The evidence as the engine reads it."""
        lines = [f"{'' if true else '!'}{_shown(atom)}" for atom, true in self.facts.items()]
        lines += [f"{1 / (1 + math.exp(-odds))!r} {_shown(atom)}" for atom, odds in self.soft.items()]
        lines += [f"{number} {_shown(atom)}" for atom, number in self.numbers.items()]
        lines += [f"?{_shown(atom)}" for atom in sorted(self.opened)]
        return "\n".join(lines) + "\n"

    def open_atoms(self, query: str) -> list[Atom]:
        """Atoms that the evidence leaves: a predicate with evidence that is not queried is closed."""
        closed = {name for name, _ in [*self.facts, *self.soft, *self.opened]} - {query}
        every = [(name, args) for name, n in PREDICATES.items() for args in itertools.product(self.constants, repeat=n)]
        told = self.opened | set(self.soft)
        return [atom for atom in every if atom not in self.facts and (atom[0] not in closed or atom in told)]


@dataclass
class Judged:
    """What all worlds say."""

    log_z: float
    marginal: dict[Atom, float]
    best: float


def judge(case: Case, query: str) -> Judged | None:
    """Go through all worlds; None where there is none."""
    atoms = case.open_atoms(query)
    known = {atom for atom, true in case.facts.items() if true}
    weights, worlds = [], []
    grounded = [
        (rule, dict(zip(rule.free, choice, strict=True)))
        for rule in case.rules
        for choice in itertools.product(case.constants, repeat=len(rule.free))
    ]
    for values in itertools.product((False, True), repeat=len(atoms)):
        world = known | {atom for atom, value in zip(atoms, values, strict=True) if value}
        total = sum(odds for atom, odds in case.soft.items() if atom in world)
        for rule, binding in grounded:
            times = 1.0
            if rule.factor is not None:
                times = case.numbers.get((rule.factor[0], tuple(binding.get(t, t) for t in rule.factor[1])), 0.0)
            true = _holds(rule.formula, binding, case.constants, world)
            if rule.weight is None and not true:
                break
            total += (rule.weight or 0.0) * times * true
        else:
            weights.append(total)
            worlds.append(world)
    if not weights:
        return None
    top = max(weights)
    share = [math.exp(weight - top) for weight in weights]
    z = sum(share)
    marginal = {atom: sum(s for s, w in zip(share, worlds, strict=True) if atom in w) / z for atom in atoms}
    return Judged(top + math.log(z), marginal, top)


def _holds(formula: Any, binding: dict[str, str], constants: list[str], world: set[Atom]) -> bool:
    kind, *parts = formula
    if kind == "atom":
        return (parts[0], tuple(binding.get(term, term) for term in parts[1])) in world
    if kind == "!=":
        return bool(binding.get(parts[0], parts[0]) != binding.get(parts[1], parts[1]))
    if kind in ("EXIST", "FORALL"):
        truths = [_holds(parts[1], {**binding, parts[0]: name}, constants, world) for name in constants]
        return any(truths) if kind == "EXIST" else all(truths)
    truths = [_holds(part, binding, constants, world) for part in parts]
    if kind == "!":
        return not truths[0]
    left, right = truths
    return bool({"^": left and right, "v": left or right, "=>": not left or right, "<=>": left == right}[kind])


def _free(formula: Any) -> list[str]:
    kind, *parts = formula
    if kind == "atom":
        return [term for term in parts[1] if term.islower()]
    if kind == "!=":
        return [term for term in parts if term.islower()]
    if kind in ("EXIST", "FORALL"):
        return [name for name in _free(parts[1]) if name != parts[0]]
    return [name for part in parts for name in _free(part)]


def _text(formula: Any) -> str:
    kind, *parts = formula
    if kind == "atom":
        return f"({_shown((parts[0], parts[1]))})"
    if kind == "!=":
        return f"({parts[0]} != {parts[1]})"
    if kind in ("EXIST", "FORALL"):
        return f"({kind} {parts[0]} {_text(parts[1])})"
    if kind == "!":
        return f"!{_text(parts[0])}"
    return f"({_text(parts[0])} {kind} {_text(parts[1])})"


def _shown(atom: Atom) -> str:
    return atom[0] + _arguments(atom[1])


def _arguments(args: Any) -> str:
    return f"({','.join(args)})" if args else ""


def _has_types(case: Case) -> bool:
    """Whether every variable stands in an atom: the language refuses a variable that is only compared or quantified."""
    try:
        mln.Model.parse(case.model_text)
    except InputError as refusal:
        if "the type of variable" in str(refusal):
            return False
        raise
    return True


class Maker:
    """Makes random cases; a family says what they hold."""

    def __init__(self, rng: random.Random, family: str) -> None:
        self.rng, self.family = rng, family
        # compressions refuse numbers and soft evidence: most of their cases have none
        often = family != "compress" or rng.random() < 0.1
        self.has_numbers = family in ("numbers", "map", "samplers", "compress") and often
        self.has_soft = family in ("soft", "map", "samplers", "compress") and often

    def case(self, query: str) -> Case:
        """One case with few enough open atoms."""
        while True:
            made = self._case()
            if 0 < len(made.open_atoms(query)) <= MOST_OPEN and _has_types(made):
                return made

    def _case(self) -> Case:
        rng, family = self.rng, self.family
        constants = ["A", "B", "C", "D"][: rng.choice((1, 2, 2, 3, 3, 4))]
        made = Case(constants, [self._rule(constants) for _ in range(rng.randint(1, 3))])
        if self.has_numbers:
            for name, n in NUMBERS.items():
                for args in itertools.product(constants, repeat=n):
                    if rng.random() < 0.7:
                        made.numbers[name, args] = rng.choice((2.0, -1.0, 0.5, 1.0, -0.25))
        if family == "hard" or (family != "plain" and rng.random() < 0.2):
            made.rules.append(Rule(None, self._formula(constants, 2, ["x", "y"])))
        for name in rng.sample(list(PREDICATES), k=rng.randint(1, 3)):
            for args in itertools.product(constants, repeat=PREDICATES[name]):
                drawn = rng.random()
                if drawn < 0.3:
                    made.facts[name, args] = rng.random() < 0.5
                elif drawn < 0.4:
                    made.opened.add((name, args))
                elif drawn < 0.55 and self.has_soft:
                    made.soft[name, args] = rng.choice((1.0, -0.5, 2.0))
        return made

    def _rule(self, constants: list[str]) -> Rule:
        rng, factor = self.rng, None
        variables = ["x", "y"][: rng.choice((1, 2, 2))]
        if self.has_numbers and rng.random() < 0.7:
            name = rng.choice(list(NUMBERS))
            terms = [*variables, *variables, "z", rng.choice(constants), rng.choice(constants)]
            factor = (name, tuple(rng.choice(terms) for _ in range(NUMBERS[name])))
        weight = rng.choice((1.5, -0.8, 0.6, -0.16, 1.1))
        return Rule(weight, self._formula(constants, rng.choice((0, 1, 1, 2)), variables), factor)

    def _formula(self, constants: list[str], depth: int, variables: list[str]) -> Any:
        rng = self.rng
        drawn = rng.random()
        if depth == 0 or drawn < 0.1:
            name = rng.choice(list(PREDICATES))
            terms = [*variables, *variables, rng.choice(constants)]
            atom = ("atom", name, tuple(rng.choice(terms) for _ in range(PREDICATES[name])))
            return ("!", atom) if rng.random() < 0.3 else atom
        if drawn < 0.3:
            name = f"q{depth}"
            return (rng.choice(("EXIST", "FORALL")), name, self._formula(constants, depth - 1, [*variables, name, name]))
        if drawn < 0.36 and len(set(variables)) > 1:
            left, right = rng.sample(sorted(set(variables)), 2)
            return ("v", ("!", ("!=", left, right)), self._formula(constants, depth - 1, variables))
        kind = rng.choice(("^", "v", "=>", "<=>"))
        return (kind, self._formula(constants, depth - 1, variables), self._formula(constants, depth - 1, variables))


FAMILIES = ("plain", "numbers", "soft", "hard", "map", "samplers", "compress")


def faults_of(case: Case, query: str, family: str, seed: int, folder: Path) -> Iterator[str]:
    """What is wrong with the engine's answers; 'refused: …' where it refuses."""
    expected = judge(case, query)
    model = mln.Model.parse(case.model_text)
    file = folder / f"case-{os.getpid()}.db"  # runs may share the folder
    file.write_text(case.evidence_text)
    if family == "map":
        way = random.Random(seed).choice(WAYS)
        yield from _check(lambda: mln.maximize(model, str(file), query, method=way, tries=2), expected, _map_fault, way)
        return
    if family == "samplers":
        chosen = random.Random(seed).choice(SAMPLERS)
        yield from _check(
            lambda: mln.infer(model, str(file), query, method=chosen, chains=16, draws=400, seed=seed), expected, _z_fault, chosen
        )
        return
    if family == "compress":
        yield from _check(lambda: mln.infer(model, str(file), query, compress="twins"), expected, _marginal_fault, "twins")
        return
    for method in EXACT:
        yield from _check(partial(mln.infer, model, str(file), query, method=method), expected, _marginal_fault, method)


def _check(run: Callable[[], Any], expected: Judged | None, compare: Callable[..., str], label: str = "") -> Iterator[str]:
    try:
        result = run()
    except (UnsupportedError, ResourceError):
        yield "refused"
        return
    except InputError as refusal:
        yield "refused" if expected is None else f"{label}: {refusal}"
        return
    except Exception as error:  # whatever goes wrong is what is looked for
        yield f"{label}: {type(error).__name__}: {error}"
        return
    fault = f"answers though no world exists: {result.guarantee}" if expected is None else compare(result, expected)
    if fault:
        yield f"{label}: {fault}"


def _marginal_fault(result: Any, expected: Judged) -> str:
    table = {row["atom"]: row for row in result.table().to_pylist()}
    for atom, probability in expected.marginal.items():
        row = table.get(_shown(atom))
        if row is not None and result.guarantee == "exact" and abs(row["probability"] - probability) > TOLERANCE:
            return f"{_shown(atom)} is {probability}, got {row['probability']}"
    log_z = result.run.log_z
    if log_z is not None and result.guarantee == "exact" and abs(log_z - expected.log_z) > TOLERANCE:
        return f"log_z is {expected.log_z}, got {log_z}"
    return ""


def _z_fault(result: Any, expected: Judged) -> str:
    table = {row["atom"]: row for row in result.table().to_pylist()}
    for atom, probability in expected.marginal.items():
        row = table.get(_shown(atom))
        if row is None or result.guarantee == "unbounded" or result.concerns():
            continue
        error = abs(row["probability"] - probability)
        if error > WIDEST_Z * (row["stderr"] or 0.0) + 1e-6:
            return f"{_shown(atom)} is {probability}, got {row['probability']} with an error of {row['stderr']}"
    return ""


def _map_fault(result: Any, expected: Judged) -> str:
    if abs(result.log_weight - expected.best) > TOLERANCE and (result.is_optimal or result.log_weight > expected.best):
        return f"log weight is {expected.best}, got {result.log_weight}"
    if result.bound is not None and result.bound < expected.best - TOLERANCE:
        return f"log weight is {expected.best}, bound {result.bound}"
    return ""


def main() -> int:
    """Run families of random models and print the table of cases, refusals and faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="models a family")
    parser.add_argument("--family", choices=FAMILIES, action="append", help="default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=math.inf, help="seconds a family")
    parser.add_argument("-o", "--output", type=Path, default=Path(".attack"), help="folder of failing models")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    print(f"{'family':10} {'cases':>7} {'answers refused':>16} {'faults':>7} {'seconds':>8}")
    n_faults = 0
    for family in args.family or FAMILIES:
        started, cases, refused, faults = time.perf_counter(), 0, 0, 0
        for number in range(args.count):
            if time.perf_counter() - started > args.time_limit:
                break
            rng = random.Random(f"{args.seed} {family} {number}")
            query = rng.choice(["P", "Q", "R"])
            case = Maker(rng, family).case(query)
            cases += 1
            found = list(faults_of(case, query, family, number, args.output))
            refused += found.count("refused")
            wrong = [fault for fault in found if fault != "refused"]
            if wrong:
                faults += 1
                path = args.output / f"{family}-{args.seed}-{number}"
                path.with_suffix(".db").write_text(case.evidence_text)
                comment = "".join(f"// -q {query}: {fault}\n".replace("\n//", " ") for fault in wrong)
                path.with_suffix(".mln").write_text(comment + case.model_text)
        n_faults += faults
        print(f"{family:10} {cases:7,} {refused:16,} {faults:7,} {time.perf_counter() - started:8.1f}", flush=True)
    return 1 if n_faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
