"""What stages make of random ground networks: plans with predicted costs, searches with their steps, sizes of parts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.oracle.worlds import random_network

from markovlogic.map_inference.integer_program import Program
from markovlogic.map_inference.restricting import decided_by_hard_rules, restricted
from markovlogic.map_inference.roof import is_pairwise, roof
from markovlogic.map_inference.search import search, search_network
from markovlogic.map_inference.settings import SearchSettings, map_method_named
from markovlogic.map_inference.solve import Work, maximize_network
from markovlogic.map_inference.weighing import with_hidden
from markovlogic.methods.exact.planning import plan_exact
from markovlogic.methods.exact.solve import solve
from markovlogic.methods.messages.schedules import ground_graph
from markovlogic.methods.sampling.blocked import Blocked
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.irreducible import single_site_reach
from markovlogic.methods.sampling.mcsat import MCSAT
from markovlogic.methods.sampling.tempered import Tempered
from markovlogic.networks.components import components
from markovlogic.networks.ground import GroundNetwork
from markovlogic.symmetry.refinement import refine_network

FILE = Path(__file__).with_name("recorded_numbers.json")


@cache
def networks() -> dict[str, GroundNetwork]:
    rng = np.random.default_rng(8)
    return {
        "pairs": random_network(rng, 40, 60, longest=2),
        "sparse": random_network(rng, 90, 70, longest=3, hard=9, groups=5, hidden=5, decided=4),
        "long": random_network(rng, 18, 24, longest=9, groups=3, hidden=5),
        "hard": random_network(rng, 40, 30, longest=3, hard=50, groups=2),
        "dense": random_network(rng, 17, 110, longest=3),
        "strong": random_network(rng, 30, 50, longest=4, hard=3, groups=3, hidden=3, scale=30.0),
    }


NAMES = ("pairs", "sparse", "long", "hard", "dense", "strong")


def _arrays(value: Any) -> Iterator[np.ndarray]:
    """All arrays of a value, in the order of its fields."""
    if isinstance(value, np.ndarray):
        yield value
    elif is_dataclass(value):
        yield from (array for one in fields(value) for array in _arrays(getattr(value, one.name)))
    elif isinstance(value, tuple | list):
        yield from (array for one in value for array in _arrays(one))


def digest(value: Any) -> str:
    """Of a value's whole numbers; it is the same on every processor."""
    found = hashlib.blake2b(digest_size=6)
    for array in _arrays(value):
        if array.dtype.kind in "biu":
            found.update(repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def start_of_groups(network: GroundNetwork) -> np.ndarray:
    """Nothing true but the first value of every group."""
    world = np.zeros(network.n_atoms, np.bool_)
    world[network.group_atom[network.group_start[:-1]]] = True
    return world


def _exact(network: GroundNetwork) -> dict[str, Any]:
    plan = plan_exact(network, components(network))
    solved = solve(network, plan=plan)
    numbers = [plan.width, plan.entries, plan.largest, plan.seconds, plan.memory_bytes, plan.effort]
    return {
        "plan": numbers,
        "independent_atoms": plan.independent_atoms,
        "shapes": len(plan.shapes),
        "log_z": solved.log_z,
        "marginal": solved.marginal[:5],
    }


def _most_probable(network: GroundNetwork) -> dict[str, Any]:
    auto, found = map_method_named("auto"), {}
    ways = {"auto": auto, "flow": replace(auto, eliminates=False, colours=False), "program": map_method_named("ilp"),
            "walks": map_method_named("maxwalksat")}  # fmt: skip
    for name, way in ways.items():
        best = maximize_network(network, Work(way, SearchSettings(tries=3, flips=400, seed=5), threads=1))
        found[name] = [best.log_weight, best.bound, best.is_proved, best.flips, best.tries, best.hardest, dict(best.used)]
    program = Program(ground_graph(network))
    program.solve_linear()
    found["linear bound"] = program.bound
    left = restricted(network, decided_by_hard_rules(network)).network
    found["left"] = [left.n_atoms, left.n_clauses, left.n_hidden, left.n_groups, left.log_constant]
    net = search_network(left)
    found["search"] = [net.n_all, net.n_clauses, net.sizes, digest(net)]
    begin = with_hidden(left, start_of_groups(left)).astype(np.uint8)
    walked = search(left, [begin, begin], SearchSettings(tries=2, flips=150, seed=1, noise=0.3), threads=1)
    found["walked"] = [walked.flips, walked.tries, walked.is_whole, digest(walked)]
    if is_pairwise(left) and (over := roof(left)) is not None:
        found["roof"] = [over.bound, digest(over)]
    return found


def _samplers(network: GroundNetwork) -> dict[str, Any]:
    found: dict[str, Any] = {"reach": single_site_reach(network)}
    for settings in (Gibbs(), Blocked(), Blocked(width=2, divisions=2), MCSAT(), Tempered(rungs=5)):
        sampler = settings.build(network, 6)
        state = sampler.init(np.random.SeedSequence(3))
        found[str(settings)] = [digest(tuple(state)), sum(array.nbytes for array in _arrays(tuple(state)))]
    return found


def record(name: str) -> dict[str, Any]:
    """Plans, worlds and starts of one network."""
    network = networks()[name]
    parts = components(network)
    colours = refine_network(network)
    shape = [network.n_atoms, network.n_hidden, network.n_soft, network.n_clauses, network.n_literals, network.nbytes]
    made: dict[str, Any] = {"network": shape, "parts": [parts.n_components, digest(parts)], "colours": digest(colours)}
    return made | {"exact": _exact(network), "most probable": _most_probable(network), "samplers": _samplers(network)}
