"""Enumeration: all worlds of a tensor network, and the exact transition of drawing a cluster."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import comb

from markovlogic.methods.lifted.blocks.tensor_network import TensorNetwork
from markovlogic.methods.lifted.blocks.tensor_program import Count, Each, IndependentAtoms, Parts, Rest


def all_bits(n):
    return np.array(list(itertools.product((False, True), repeat=n)), bool).reshape(-1, n)


def log_weight(network: TensorNetwork, bits) -> float:
    """Straight from the definition of the terms."""
    values = {name: (v[0] if name in network.changing else v) for name, v in network.values(bits[None]).items()}
    lost = 0.0
    for term in network.terms:
        names = list(term.sizes)
        for constants in itertools.product(*(range(term.sizes[name]) for name in names)):
            at = dict(zip(names, constants, strict=True))
            held = all(at[i.variable] == (at[i.other] if isinstance(i.other, str) else i.other) for i in term.indicators)
            if held and all(values[f.predicate][tuple(at[v] for v in f.variables)] != f.positive for f in term.factors):
                lost += term.weight
    return -lost


def log_density(unit, values, drawn) -> float:
    """Log probability that a cluster's draw gives `drawn` ({predicate: array}), from the node terms alone; one chain."""
    terms = {}
    schedule = unit.schedule
    schedule.log_sum(unit.coefficients(values), terms)
    return _density(schedule, schedule.program.root, terms, drawn, {}, {})


def _density(schedule, node, terms, drawn, constants, branches):
    match node:
        case Parts(children=children):
            return sum(_density(schedule, child, terms, drawn, constants, branches) for child in children)
        case Each(axis=axis, child=child):
            sizes = range(schedule.sizes[axis])
            return sum(_density(schedule, child, terms, drawn, constants | {axis: c}, branches) for c in sizes)
        case Count(axis=axis, places=places, predicate=predicate, child=child):
            own = drawn[predicate][tuple(constants[p] if p is not None else slice(None) for p in places)]
            number = int(np.sum(own))
            term = _at(terms[axis], constants | branches, axis)
            share = np.exp(term - term.max()) / np.exp(term - term.max()).sum()
            true, unknown = (int(_at(t, constants)) for t in schedule._open[axis])
            ways = comb(unknown, number - true, exact=True)
            here = np.log(share[number] / ways) if share[number] > 0 else -np.inf
            return here + _density(schedule, child, terms, drawn, constants, branches | {axis: number})
        case IndependentAtoms(predicate=predicate, places=places, own=own_axes):
            total = 0.0
            known = schedule._evidence.get(predicate)
            for free in itertools.product(*(range(schedule.sizes[axis]) for axis in own_axes)):
                at = constants | dict(zip(own_axes, free, strict=True))
                index = tuple(at[p] for p in places)
                odds = float(_at(terms[predicate], at | branches))
                value = bool(drawn[predicate][index])
                if known is not None and not known[1][index]:
                    total += 0.0 if value == bool(known[0][index]) else -np.inf
                else:
                    total += -np.logaddexp(0.0, -odds if value else odds)
            return total
        case Rest(axis=axis, places=places, ground=ground):
            table = _at(terms[axis], constants | branches, axis)
            atoms = np.empty(ground.n_atoms, int)
            for predicate, at in places.items():
                own = drawn[predicate][tuple(constants[p] if p is not None else slice(None) for p in at)].ravel()
                atoms[ground.first[predicate] : ground.first[predicate] + len(own)] = own
            total, buckets = 0.0, ground.buckets
            for k, atom in enumerate(buckets.atom):
                scope = buckets.scope[buckets.scope_start[k] : buckets.scope_start[k + 1]]
                entry = sum(atoms[buckets.atom[other]] << (j + 1) for j, other in enumerate(scope))
                no, yes = table[buckets.table_start[k] + entry], table[buckets.table_start[k] + entry + 1]
                total += (yes if atoms[atom] else no) - np.logaddexp(no, yes)
            return total


def _at(tensor, place, leave=None):
    """The tensor at one place (chain 0), along `leave` whole."""
    index = tuple(0 if axis == 0 else slice(None) if axis == leave else place[axis] for axis in tensor.axes)
    return tensor.array[index]
