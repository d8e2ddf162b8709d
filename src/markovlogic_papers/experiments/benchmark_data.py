"""The papers' three benchmarks as worlds: rules, and what is true of every atom.

From a folder with `webkb`, `protein` and `er` in Alchemy's form, or, without one, made with the same rules: objects have hidden
topics, and what is true of them goes by these. What is not listed is false. A part of a benchmark is made of neighbours: objects
drawn at random would have hardly a link among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from markovlogic.data.evidence import TRUE, UNKNOWN, Domain, Evidence, Facts, codes, decode
from markovlogic.errors import InputError
from markovlogic.generate.draws import weights
from markovlogic.language.load import load, parse
from markovlogic.language.syntax import Model, atoms_of
from markovlogic.problem import AtomIndex, Problem, Statuses
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.system.arrays import Bool, Int64, each_once, frozen
from markovlogic_papers.experiments.full_size import DENSITY, OTHER_DENSITY, SIZES, rules_of

TOPICS = 6  # hidden ones of made objects of each type


@dataclass(frozen=True)
class Form:
    """What is particular about a benchmark: the type that parts are made of, what ties its objects, and what is requested."""

    main: str
    tie: str
    given: tuple[str, ...]  # predicates that are evidence where the rest is requested


FORMS = {
    "webkb": Form("page", "Linked", ("HasWord", "Linked")),
    "protein": Form("protein", "Interaction", ("Interaction", "Location")),
    "er": Form("bib", "SameBib", ("Author", "Title", "Venue")),
}


@dataclass(frozen=True, eq=False)
class World:
    """A benchmark or a part of it: rules, constants and true facts."""

    name: str
    model: Model
    domains: Mapping[str, Domain]
    facts: Mapping[str, Int64]  # predicate -> (n, arity) arguments of what is true
    source: str

    @property
    def form(self) -> Form:
        """What is particular about it."""
        return FORMS[self.name]

    @property
    def queried(self) -> tuple[str, ...]:
        """Predicates that are no evidence."""
        return tuple(name for name in self.model.predicates if name not in self.form.given)

    def sizes(self, predicate: str) -> tuple[int, ...]:
        """Of the arguments' types."""
        return tuple(len(self.domains[of]) for of in self.model.predicates[predicate].types)

    def objects(self) -> dict[str, int]:
        """How many of each type."""
        return {of: len(domain) for of, domain in self.domains.items()}


def world_of(name: str, data: str, seed: int, *, scale: float = 1.0) -> World:
    """A benchmark from a folder; or made, with domains of `scale` times the benchmark's size, where no folder is given."""
    return _read(name, Path(data)) if data else _made(name, scale, seed)


def _read(name: str, data: Path) -> World:
    folder = data / name
    rules, tables = folder / f"{name}.mln", sorted(folder.glob("*.db"))
    if name == "protein":
        tables = [folder / "protein.db"]
    if not rules.is_file() or not all(path.is_file() for path in tables) or not tables:
        hint = "--data names the folder that has webkb, protein and er"
        raise InputError(f"{folder} holds no {name}.mln with .db files", hint=hint)
    model = load(rules)
    from markovlogic.data.readers import read_evidence

    found = read_evidence(model, [str(path) for path in tables])
    used = _used(model)
    facts = {
        predicate: own.args[own.truth == TRUE].astype(np.int64) for predicate, own in found.facts.items() if predicate in used
    }
    kinds = {of for predicate in used for of in model.predicates[predicate].types}
    domains = {of: domain for of, domain in found.domains.items() if of in kinds}
    return World(name, _only(model, used), domains, facts, f"{name} of {data.name}")


def _used(model: Model) -> set[str]:
    return {atom.predicate for rule in model.rules for atom in atoms_of(rule.formula)}


def _only(model: Model, used: set[str]) -> Model:
    return replace(model, predicates={name: own for name, own in model.predicates.items() if name in used})


def _made(name: str, scale: float, seed: int) -> World:
    """Topics of objects decide what is true: a share of pairs of topics is likely, the others are not."""
    rng = np.random.default_rng([seed, *name.encode()])
    declared, forms = rules_of(name)
    model = parse(declared + "\n" + "\n".join(f"0 {form}" for form in forms) + "\n", f"<{name}>")
    sizes = {kind: max(4, round(scale * size)) for kind, size in SIZES[name].items()}
    topic = {kind: rng.integers(0, TOPICS, size) for kind, size in sizes.items()}
    facts = {}
    for predicate in model.predicates.values():
        shape = tuple(sizes[kind] for kind in predicate.types)
        density = max(DENSITY.get(predicate.name, OTHER_DENSITY), 2.0 / max(shape)) if len(shape) > 1 else OTHER_DENSITY
        likely = rng.random((TOPICS,) * len(shape)) < 1 / 3
        chance = np.where(likely, min(0.9, 2.5 * density), 0.2 * density)
        grid = np.ix_(*(topic[kind] for kind in predicate.types))
        facts[predicate.name] = np.argwhere(rng.random(shape) < chance[grid]).astype(np.int64)
    domains = {kind: Domain(kind, tuple(f"{kind[0].upper()}{n}" for n in range(size))) for kind, size in sizes.items()}
    return World(name, model, domains, facts, f"{name}, made")


def parts_of(world: World, counts: tuple[int, ...], seed: int, *, others: float = 1.0, grown: bool = True) -> list[World]:
    """Disjoint parts with so many objects of the main type, each grown along what ties them from objects drawn at random.

    others: the share of all other objects that is kept, drawn at random among those that a fact ties to a part. grown: whether
    parts grow, or all their objects are drawn at random.
    """
    rng = np.random.default_rng([seed, 17])
    n = len(world.domains[world.form.main])
    if sum(counts) > n:
        raise InputError(f"{world.source} has {n} objects of {world.form.main}; {sum(counts)} are requested")
    free = np.ones(n, np.bool_)
    found = []
    for count in counts:
        ties = world.facts.get(world.form.tie) if grown else None
        chosen = _grown(np.zeros((0, 2), np.int64) if ties is None else ties, free, count, rng)
        free[chosen] = False
        found.append(_cut(world, chosen, others, rng))
    return found


def _grown(ties: Int64, free: Bool, count: int, rng: np.random.Generator) -> Int64:
    """Whole neighbourhoods at a time, breadth first; where nobody is left near, from another object drawn at random."""
    taken, left = np.zeros(len(free), np.bool_), free.copy()
    fringe = np.zeros(0, np.int64)
    missing = count
    while missing:
        if not len(fringe):
            fringe = rng.choice(np.flatnonzero(left), 1)
        fringe = fringe[:missing]
        taken[fringe] = True
        left[fringe] = False
        missing -= len(fringe)
        inside = np.isin(ties, fringe)
        near = each_once(np.concatenate([ties[inside[:, 0], 1], ties[inside[:, 1], 0]]))
        fringe = rng.permutation(near[left[near]])
    return np.flatnonzero(taken)


def _cut(world: World, chosen: Int64, others: float, rng: np.random.Generator) -> World:
    """Chosen objects of the main type, and those of other types that a fact ties to one of them."""
    main = world.form.main
    kept = {of: np.zeros(len(domain), np.bool_) for of, domain in world.domains.items()}
    kept[main][chosen] = True
    for name, args in world.facts.items():
        own = world.model.predicates[name].types
        if main in own:
            rows = np.all([kept[main][args[:, at]] for at, of in enumerate(own) if of == main], axis=0)
            for at, of in enumerate(own):
                kept[of][args[rows, at]] = True
    for of, domain in world.domains.items():
        most = max(2, round(others * len(domain)))
        if of != main and others < 1.0 and np.count_nonzero(kept[of]) > most:
            kept[of][rng.permutation(np.flatnonzero(kept[of]))[most:]] = False
        if not kept[of].any():  # a type without objects would leave rules without groundings
            kept[of][:1] = True
    facts = {}
    for name, args in world.facts.items():
        own = world.model.predicates[name].types
        rows = args[np.all([kept[of][args[:, at]] for at, of in enumerate(own)], axis=0)]
        number = {of: np.cumsum(kept[of]) - 1 for of in own}
        facts[name] = np.stack([number[of][rows[:, at]] for at, of in enumerate(own)], axis=1)
    domains = {
        of: Domain(of, tuple(name for name, keep in zip(domain.names, kept[of].tolist(), strict=True) if keep))
        for of, domain in world.domains.items()
    }
    return replace(world, domains=domains, facts=facts)


def with_weights(model: Model, rng: np.random.Generator) -> Model:
    """Weights drawn from [0, 1], as [000] section 5 has them."""
    drawn = weights(rng, len(model.rules))
    return replace(model, rules=tuple(replace(rule, weight=float(w)) for rule, w in zip(model.rules, drawn, strict=True)))


def partly_known(world: World, share: float, seed: int) -> PreparedProblem:
    """Everything open but a share of all atoms, whose truth is the world's; weights drawn from [0, 1]."""
    rng = np.random.default_rng([seed, 23])
    model = with_weights(world.model, rng)
    statuses = {}
    for name in model.predicates:
        sizes = world.sizes(name)
        true = np.zeros(int(np.prod(sizes)), np.int8)
        true[codes(world.facts.get(name, np.zeros((0, len(sizes)), np.int64)), sizes)] = TRUE
        code = np.flatnonzero(rng.random(len(true), np.float32) < share).astype(np.int64)
        statuses[name] = Statuses(name, sizes, UNKNOWN, *frozen((code, true[code])))
    start = np.concatenate([[0], np.cumsum([own.n_open for own in statuses.values()])]).astype(np.int64)
    evidence = Evidence(world.domains, {name: _facts(own) for name, own in statuses.items() if len(own.code)})
    return PreparedProblem(Problem(model, evidence, (), statuses, AtomIndex(tuple(statuses), start, statuses), ()))


def _facts(statuses: Statuses) -> Facts:
    return frozen(Facts(decode(statuses.code, statuses.sizes), statuses.status))


def evidence_of(world: World, predicates: tuple[str, ...]) -> Evidence:
    """What is true of these predicates, as a database; a predicate of which nothing is true was observed all the same."""
    facts = {}
    for name in predicates:
        args = world.facts.get(name, np.zeros((0, len(world.sizes(name))), np.int64))
        code = each_once(codes(args, world.sizes(name)))
        if len(code):
            facts[name] = frozen(Facts(decode(code, world.sizes(name)), np.full(len(code), TRUE, np.int8)))
    return Evidence(world.domains, facts, observed=frozenset(predicates))
