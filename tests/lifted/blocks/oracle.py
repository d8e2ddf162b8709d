"""Enumeration: all worlds of a tensor network, and the exact transition of drawing a cluster."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import comb
from tests.lifted.blocks.schedule import Schedule

from markovlogic.kernels.tensor_code import run_code
from markovlogic.methods.lifted.blocks.tensor_code import ClusterWriter, CodeWriter
from markovlogic.methods.lifted.blocks.tensor_network import TensorNetwork
from markovlogic.methods.lifted.blocks.tensor_program import Count, Each, IndependentAtoms, Parts, Rest
from markovlogic.methods.lifted.blocks.tensors import Tensor
from markovlogic.system.arrays import packed, unpacked


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


class ClusterUnit:
    """A cluster, drawn by code, and the slow evaluation of its program."""

    def __init__(self, network, names, messages, program):
        self.network, self.names, self.messages, self.program = network, names, messages, program
        arguments = {name: network.problem.statuses[name].sizes for name in names}
        self.slow = Schedule(program, {name: network.known[name] for name in names}, arguments)
        self.writer = CodeWriter(network)
        ClusterWriter(self.writer, messages, program).write()
        self.code = self.writer.finished(names)
        self.inside = [i for name in network.changing if name in names for i in network.problem.atoms.range_of(name)]

    def coefficients(self, bits):
        values = self.network.values(bits)
        of = self.program.axis_of
        return {i: m.coefficient(values, self.network.changing, of[i]) for i, m in enumerate(self.messages)}

    def draw(self, bits, rng):
        """Worlds after a draw, and the chances of all atoms of the cluster; (n_chains, ...)."""
        worlds, chances = [], []
        memory = self.code.memory.copy()
        for own in np.split(bits, range(64, len(bits), 64)):
            world, chance = packed(own), np.zeros((len(own.T), len(own)), np.float32)
            generators = rng.integers(1, 1 << 63, (len(own), 4), np.uint64)
            run_code(self.code, memory, np.zeros(64, np.int64), world, generators, 1, np.zeros((0, 8), np.uint64), chance)
            worlds.append(unpacked(world, len(own)))
            chances.append(chance.T)
        return np.concatenate(worlds), np.concatenate(chances)[:, self.inside]

    def after(self, bits):
        """Memory after a draw in one world: (n_atoms,)."""
        memory = self.code.memory.copy()
        generator, nothing = np.ones((1, 4), np.uint64), np.zeros((0, 8), np.uint64)
        chance = np.zeros((len(bits), 1), np.float32)
        run_code(self.code, memory, np.zeros(64, np.int64), packed(bits[None]), generator, 1, nothing, chance)
        return memory

    def chances(self, memory):
        return memory[self.code.home[self.inside] + self.code.n_ground]

    def terms(self, memory):
        """What each node has to choose from, as tensors."""
        found = {}
        for name, place in self.writer.terms.items():
            strides = [8 * step for step in place.steps]
            array = np.lib.stride_tricks.as_strided(memory[place.begin :], place.sizes, strides)
            found[name] = Tensor(place.axes, array)
        return found

    def slow_terms(self, bits):
        found = {}
        self.slow.log_sum(self.coefficients(bits[None]), found)
        return found

    def slow_chances(self, bits):
        found = self.slow.probabilities(self.coefficients(bits), len(bits))
        own = [name for name in self.network.changing if name in self.names]
        return np.concatenate([self.network.of_open(name, found[name]) for name in own], axis=1)


def log_density(unit, bits, drawn) -> float:
    """Log probability that a cluster's draw gives `drawn` ({predicate: array}), from the node terms alone; one chain."""
    return _density(unit.slow, unit.program.root, unit.terms(unit.after(bits)), drawn, {}, {})


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
