"""Composed chains on generated problems after burn-in and draws: worlds, choices of burn-in, counts and what they say."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.methods.recorded import prepared as files_of
from tests.networks.recorded_numbers import digest
from tests.sampling.bound import arrays, target

import markovlogic as mln
from markovlogic.grounding.ground import ground
from markovlogic.methods.sampling.base import Settings
from markovlogic.problem.prepare import prepare_problem

FILE = Path(__file__).with_name("recorded_numbers.json")
NAMES = ("smokers", "asthma hard", "webkb", "er", "existential", "exclusive")
WAYS: dict[str, Settings] = {
    "lifted-mh": mln.LiftedMH(),
    "lifted-mh, exchanges alone": mln.LiftedMH(alpha=0.0, source="kmeans"),
    "lifted-mh, as said": mln.LiftedMH(alpha=0.3, source="colours", tune=False),
    "lifted-mh on mcsat": mln.LiftedMH(base=mln.MCSAT(), source="bmf"),
    "orbital": mln.Orbital(),
    "orbital on blocked": mln.Orbital(base=mln.Blocked(width=2)),
    "tempered on blocked": mln.Tempered(rungs=3, base=mln.Gibbs()),
}
CHAINS = 6


def _stepped(settings: Settings, problem: Any, network: Any) -> list[Any]:
    sampler = settings.bind(target(problem, network)).build(network, CHAINS)
    state = sampler.init(np.random.SeedSequence(9))
    found: list[Any] = []
    planes = np.zeros((network.n_all, 8), np.uint64)
    for sweeps, burn_in in ((12, True), (5, False)):
        info = sampler.step(state, sweeps, None if burn_in else planes, burn_in=burn_in)
        kept = {name: digest(array) for name, array in arrays(state) if array.dtype.kind in "biu"}
        small = {name: array for name, array in arrays(state) if array.dtype.kind == "f" and array.size < 20}
        found.append([info.updates, dict(info.counts), kept, small])
    return [*found, digest(planes), list(sampler.starts(3))]


def record(name: str) -> dict[str, Any]:
    """What each way comes to, or why not."""
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepare_problem(*files_of(name, Path(folder)))
    network = ground(prepared.problem, prepared.lowered)
    found: dict[str, Any] = {}
    for way, settings in WAYS.items():
        try:
            found[way] = _stepped(settings, prepared.problem, network)
        except mln.MarkovLogicError as refusal:
            found[way] = str(refusal).splitlines()[0]
    return found
