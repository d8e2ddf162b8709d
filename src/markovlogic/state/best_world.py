"""The most probable world that remembers: components whose digests are known keep their part of it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.guarantee import Guarantee
from markovlogic.map_inference.solve import Optimum, Work, maximize_network
from markovlogic.map_inference.weighing import with_hidden
from markovlogic.networks.components import Components, part_of
from markovlogic.networks.ground import GroundNetwork
from markovlogic.state.keys import ConstantKeys, component_digests
from markovlogic.state.saved import NOWHERE, SavedRun, SavedState
from markovlogic.system.arrays import Bool, Float64, each_once

if TYPE_CHECKING:
    from markovlogic.methods.analysis import Analysis

MAP = "map"


def best_remembered(analysis: Analysis, work: Work, kept: SavedState) -> tuple[Optimum, SavedState]:
    """The best world of a grounded problem, where components that have not changed are not searched again."""
    network, parts = analysis.ground_network, analysis.parts
    n_atoms = network.n_atoms
    key = ConstantKeys(analysis.prepared.problem).of_open_atoms()
    digest, row = component_digests(network, parts, key), kept.find(key)
    known = kept.find_component(digest)
    options = repr((MAP, work.method.name, work.search))
    usable = np.array([run.options == options for run in kept.runs], np.bool_)
    stays = known != NOWHERE
    stays[stays] = usable[kept.run_of[known[stays]]] if len(usable) else False
    component = parts.component_of[:n_atoms]
    stays[component[row == NOWHERE]] = False
    world = np.zeros(n_atoms, np.bool_)
    old = stays[component]
    world[old] = kept.value[row[old], 0] > 0.5
    used = each_once(kept.run_of[known[stays]])
    runs = [kept.runs[number] for number in used.tolist()]
    run_of = np.full(parts.n_components, len(runs), np.int32)
    run_of[stays] = np.searchsorted(used, kept.run_of[known[stays]])
    gap, found = sum(run.gap for run in runs), None
    if not stays.all():
        rest = part_of(network, ~stays[parts.component_of], log_constant=0.0)
        found = maximize_network(rest, work)
        world[~old] = found.world
        gap += found.bound - found.log_weight
        made = SavedRun(
            MAP, Guarantee.EXACT.value, "ground", "world", options, gap=found.bound - found.log_weight, made_at=time.time()
        )
        runs.append(made)
    weight = component_weights(network, parts, world)
    total = float(weight.sum()) + network.log_constant
    best = Optimum(
        world=world,
        log_weight=total,
        bound=total + gap,
        is_proved=gap <= 0.0,
        flips=0 if found is None else found.flips,
        tries=0 if found is None else found.tries,
        used={} if found is None else found.used,
        interrupted=False if found is None else found.interrupted,
    )
    if kept.runs:
        count = (
            f"{np.count_nonzero(stays):,} of {parts.n_components:,} components ({np.count_nonzero(old):,} of {n_atoms:,} atoms)"
        )
        best = replace(best, remarks=(f"{count} have not changed and keep their part of the world",))
    order = np.argsort(key[:, 0], kind="stable")
    value = np.column_stack([world.astype(np.float64), *(np.zeros(n_atoms) for _ in range(3))])
    nothing = SavedState.nothing()
    left = replace(
        nothing,
        key=key[order],
        component=component[order].astype(np.int32),
        value=value[order],
        answered=np.ones(n_atoms, np.bool_),
        doubt=np.zeros(n_atoms, np.uint8),
        digest=digest,
        run_of=run_of,
        log_z=weight,
        world_row=np.full(n_atoms, NOWHERE, np.int32),
        runs=tuple(runs),
        predicates={name: tuple(own.types) for name, own in analysis.whole.problem.model.predicates.items()},
    )
    return best, left


def component_weights(network: GroundNetwork, parts: Components, world: Bool) -> Float64:
    """(n_components,) what the true clauses of each component weigh in a possible world, without the constant."""
    full = with_hidden(network, world)
    holds = np.zeros(network.n_clauses, np.bool_)
    true = full[network.clause_literal >> 1] == (network.clause_literal & 1).astype(np.bool_)
    if network.n_clauses:
        holds = np.logical_or.reduceat(true, network.clause_start[:-1])
    soft = np.isfinite(network.clause_weight)
    weight = np.where(soft & holds, np.where(soft, network.clause_weight, 0.0), 0.0)
    owner = parts.component_of[network.clause_literal[network.clause_start[:-1]] >> 1]
    bias = np.where(np.isfinite(network.atom_bias) & full, network.atom_bias, 0.0)
    by_clause = np.bincount(owner, weight, minlength=parts.n_components)
    return np.asarray(by_clause + np.bincount(parts.component_of, bias, minlength=parts.n_components), np.float64)
