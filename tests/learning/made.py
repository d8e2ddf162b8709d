"""Training worlds of small models, and the obviously right counts and likelihoods of them."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.exact.test_end_to_end import facts_of, names_of
from tests.oracle.evaluation import GroundAtom, domains_of, holds, is_exclusive
from tests.strategies import RandomProblem

from markovlogic.data.readers import read_evidence
from markovlogic.language.load import parse
from markovlogic.language.syntax import Model, Rule, show_constant
from markovlogic.learning.chains import WeightedNetwork, weighted_network
from markovlogic.learning.counted import Wanted
from markovlogic.learning.counts import CountingRows, count_rows
from markovlogic.learning.databases import Database, database_of
from markovlogic.learning.features import FeatureIndex, LearningRules, plus_variables, prepare


@dataclass(frozen=True, eq=False)
class Training:
    """A model with one training database, prepared, and its atoms by name."""

    model: Model
    rules: LearningRules
    database: Database
    counting: CountingRows
    network: WeightedNetwork
    index: FeatureIndex
    names: list[GroundAtom]  # of the open atoms
    known: frozenset[GroundAtom]  # true facts about the others
    domains: dict[str, list[str]]

    def world(self, truth: np.ndarray) -> frozenset[GroundAtom]:
        return self.known | {name for name, true in zip(self.names, truth, strict=True) if true}

    def counts(self, truth: np.ndarray) -> np.ndarray:
        """N of every feature, grounding by grounding."""
        world = self.world(truth)
        return np.array([self._count(self.model.rules[rule], constants, world) for rule, constants in self.index.keys])

    def _count(self, rule: Rule, constants: tuple[str, ...], world: frozenset[GroundAtom]) -> int:
        fixed = dict(zip(plus_variables(rule), constants, strict=True))
        types = rule.type_of
        choices = itertools.product(*([fixed[n]] if n in fixed else self.domains[types[n]] for n in rule.free))
        return sum(
            holds(rule.formula, dict(zip(rule.free, choice, strict=True)), types, self.domains, world) for choice in choices
        )

    def is_possible(self, truth: np.ndarray) -> bool:
        """Whether exclusive arguments and hard rules are obeyed."""
        world = self.world(truth)
        if not is_exclusive(self.model, self.domains, world):
            return False
        for rule in self.model.rules:
            if rule.is_hard:
                wanted = math.prod(len(self.domains[rule.type_of[n]]) for n in rule.free) if rule.weight > 0 else 0
                if self._count(rule, (), world) != wanted:
                    return False
        return True

    def units(self) -> list[list[int]]:
        """Atoms that are drawn together: single ones, and exclusive groups."""
        found: dict[object, list[int]] = {}
        for at, (name, args) in enumerate(self.names):
            marks = self.model.predicates[name].exclusive
            key = (name, tuple(a for a, m in zip(args, marks, strict=True) if not m)) if any(marks) else at
            found.setdefault(key, []).append(at)
        return list(found.values())

    def log_pseudolikelihood(self, weights: np.ndarray) -> float:
        """World by world."""
        total = 0.0
        truth = np.array(self.database.truth)
        for unit in self.units():
            exclusive = any(self.model.predicates[self.names[unit[0]][0]].exclusive)
            options = [[at] for at in unit] if exclusive else [[], unit]
            values, own = [], 0.0
            for true in options:
                other = truth.copy()
                other[unit] = False
                other[true] = True
                if not self.is_possible(other):
                    continue
                values.append(float(weights @ self.counts(other)))
                if (other == truth).all():
                    own = values[-1]
            top = max(values)
            total += own - top - math.log(math.fsum(math.exp(v - top) for v in values))
        return total


def training(model: Model, facts: str, targets: list[str], folder: Path, wanted: Wanted = Wanted.CLAUSES) -> Training:
    file = folder / "train.db"
    file.write_text(facts)
    rules, index = prepare(model), FeatureIndex()
    evidence = read_evidence(model, [file])
    database = database_of(model, evidence, targets, "train.db")
    counting = count_rows(rules, database, index, wanted=wanted)
    database = counting.database
    names = names_of(database.problem)
    known = frozenset(atom for atom, sign in facts_of(facts).items() if sign == "" and atom not in set(names))
    domains = {t: list(database.problem.domains[t].names) for t in domains_of(model)}
    domains |= {t: list(d.names) for t, d in database.problem.domains.items()}
    network = weighted_network(counting, len(index))
    return Training(model, rules, database, counting, network, index, names, known, domains)


def training_facts(drawn: RandomProblem, model: Model, rng: np.random.Generator) -> tuple[str, list[str]]:
    """Facts of a random problem in which every predicate is known: evidence as drawn, a random world for the rest."""
    lines = [line for line in drawn.db.splitlines() if not line.startswith("?")]
    listed = {re.match(r"!?(\w+)", line).group(1) for line in lines}
    targets = [n for n, p in model.predicates.items() if n in drawn.query or n not in listed or any(p.exclusive)]
    lines = [line for line in lines if re.match(r"!?(\w+)", line).group(1) not in targets]
    domains = domains_of(model)
    for name in targets:
        predicate = model.predicates[name]
        groups: dict[object, list[str]] = {}
        for number, args in enumerate(itertools.product(*(domains[t] for t in predicate.types))):
            key = (
                tuple(a for a, m in zip(args, predicate.exclusive, strict=True) if not m) if any(predicate.exclusive) else number
            )
            text = f"{name}({','.join(map(show_constant, args))})" if args else name
            groups.setdefault(key, []).append(text)
        for atoms in groups.values():
            if any(predicate.exclusive):
                lines.append(atoms[int(rng.integers(len(atoms)))])
            elif rng.random() < 0.5:
                lines.append(atoms[0])
            else:
                lines.append("!" + atoms[0])
    return "\n".join(lines) + "\n", targets


def random_training(drawn: RandomProblem, folder: Path, seed: int, wanted: Wanted = Wanted.CLAUSES) -> Training:
    model = parse(drawn.mln)
    facts, targets = training_facts(drawn, model, np.random.default_rng(seed))
    return training(model, facts, targets, folder, wanted)
