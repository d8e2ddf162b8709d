"""From a problem and its lowered rules to a counting network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from markovlogic.arrays import frozen
from markovlogic.errors import Fault, UnsupportedError
from markovlogic.kernels.counting.layout import LOOPED, Definitions, Relations
from markovlogic.language.templates import LoweredModel
from markovlogic.networks.counting.assembling import Assembler, numbers, pairs_of
from markovlogic.networks.counting.compiling import (
    Rated,
    false_terms,
    hits,
    rated_as_weight,
    target_terms,
    universe_of,
    whole_terms,
)
from markovlogic.networks.counting.network import CHANNELS, CountingNetwork, evidence_bits, groups_of, open_atoms
from markovlogic.networks.counting.terms import Universe
from markovlogic.networks.counting.views import Views
from markovlogic.problem.values import Problem


def counting_network(
    problem: Problem, lowered: LoweredModel, rated: Rated = rated_as_weight, channels: int = CHANNELS
) -> CountingNetwork:
    """Plan all counts of a problem, and lay out its relations; takes milliseconds and the memory of its atoms' bits.

    rated: to which of the channels of a sum each clause belongs, and with which weight.
    """
    if lowered.has_numbers:
        rule = next(rule for rule in problem.model.rules if rule.factor is not None)
        message = f"a weight that a number multiplies is not counted: {rule.text}"
        raise UnsupportedError(Fault(message, rule.place, hint="take a method on the ground network"))
    universe = universe_of(problem, lowered)
    views = Views(universe)
    assembler = Assembler(universe, views)
    predicates = (*problem.model.predicates, *(d.predicate for d in lowered.definitions))
    targets = []
    for name in predicates:
        has_atoms = name not in problem.statuses or problem.statuses[name].n_open > 0
        begin = assembler.n_terms
        if has_atoms:
            views.main(name)
            for channel, terms in target_terms(lowered, universe, name, rated).items():
                assembler.terms(terms, channel, universe.predicates[name])
        targets.append((begin, assembler.n_terms))
    begin = assembler.n_terms
    for channel, terms in false_terms(lowered, universe, rated).items():
        assembler.terms(terms, channel, ())
    false = begin, assembler.n_terms
    definitions, n_hidden = _definitions(lowered, universe, predicates, assembler)
    is_open = open_atoms(problem, predicates, views)
    relations = relations_of(universe, predicates, views)
    n_words = views.begins()[-1]
    widest = max((view.words for view in views.found), default=1)
    n_slots = max(assembler.most_slots, max(map(len, universe.predicates.values()), default=0), 1)
    group_start, group_atom = groups_of(problem)
    made = CountingNetwork(
        problem,
        lowered,
        predicates,
        assembler.code(),
        relations,
        definitions,
        pairs_of(targets),
        numbers(false),
        channels,
        is_open,
        evidence_bits(problem, predicates, relations, n_words, n_slots),
        group_start,
        group_atom,
        n_hidden,
        assembler.deepest,
        max(widest, _widest_type(universe)),
        n_slots,
    )
    return frozen(made)


def _widest_type(universe: Universe) -> int:
    return max((-(-size // 64) for size in universe.sizes.values()), default=1) or 1


def relations_of(universe: Universe, predicates: Sequence[str], views: Views) -> Relations:
    """Views and sizes as kernels read them."""
    arrays = views.arrays(predicates)
    size = np.ones((len(predicates), arrays.stride.shape[1]), np.int64)
    for at, name in enumerate(predicates):
        kinds = universe.predicates[name]
        size[at, : len(kinds)] = [universe.sizes[kind] for kind in kinds]
    return frozen(Relations(*arrays, size))


def _definitions(
    lowered: LoweredModel, universe: Universe, predicates: Sequence[str], assembler: Assembler
) -> tuple[Definitions, int]:
    """What flips do to hidden atoms, and how these are counted anew; and how many hidden atoms there are."""
    number_of = {name: at for at, name in enumerate(predicates)}
    hit_of, hit_term, hit_hidden, base = [0], [], [], []
    parameters: list[tuple[int, int]] = []
    sources: list[int] = []
    for name in predicates:
        own = universe.predicates[name]
        for hit in hits(lowered, universe, name):
            kinds = universe.predicates[hit.hidden]
            hit_term.append(assembler.term(hit.term, hit.sign, 0, (*own, *kinds)))
            hit_hidden.append(number_of[hit.hidden])
            begin = len(sources)
            sources += [
                LOOPED if source is None else assembler.argument(source, kind)
                for source, kind in zip(hit.sources, kinds, strict=True)
            ]
            parameters.append((begin, len(sources)))
            base.append(len(own))
        hit_of.append(len(hit_term))
    first, whole, n_hidden = [-1] * len(predicates), [(0, 0)] * len(predicates), 0
    for definition in lowered.definitions:
        at = number_of[definition.predicate]
        kinds = universe.predicates[definition.predicate]
        first[at] = n_hidden
        n_hidden += int(np.prod([universe.sizes[kind] for kind in kinds], dtype=np.int64))
        whole[at] = assembler.terms(whole_terms(definition, universe), 0, kinds)
    made = Definitions(
        numbers(hit_of),
        numbers(hit_term),
        numbers(hit_hidden),
        pairs_of(parameters),
        numbers(sources),
        numbers(base),
        numbers(first),
        pairs_of(whole),
    )
    return frozen(made), n_hidden
