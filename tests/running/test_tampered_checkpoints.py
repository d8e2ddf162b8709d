"""Checkpoints that were changed by hand or torn: refused, or the very result of the run; never a crash, never another number.

A thousand tamperings, in slices. *Careless* ones leave the seal as it was, whatever else they mend: all of them are refused.
*Careful* ones write a new seal and matching checksums, as somebody who knows the format would. Where they change how the
checkpoint is built (types, shapes, places, names, how far it is) the result is that of the untouched one or a refusal; where
they change what a world or a count could have been (a bit of it), nothing can tell, and the run ends as runs do.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.running.made import assert_same, run
from tests.running.tampering import CAREFUL, careless

import markovlogic as mln
from markovlogic.errors import InputError
from markovlogic.estimation.tallies import Saved
from markovlogic.methods.sampling.blocked import Blocked
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.lifted_mh import LiftedMH, Proposals
from markovlogic.methods.sampling.mcsat import MCSAT
from markovlogic.methods.sampling.orbital import Orbital
from markovlogic.networks.ground import GroundNetwork, network_of
from markovlogic.running import checkpoint as checkpoint_module
from markovlogic.running import loop as loop_module
from markovlogic.running.checkpoint import Checkpoint
from markovlogic.running.run_result import RunResult
from markovlogic.running.worlds import WorldsSink
from markovlogic.symmetry.base import ConstantClasses
from markovlogic.symmetry.groups import GeneratedGroup

PER_SLICE, SLICES = 50, 4  # for each of five samplers: a thousand in all

# atoms 0 and 1 are alike, as are 2 and 3; 4, 5 and 6 are a group; 7 is decided; 8 is hidden
NETWORK = network_of(
    8,
    [(0.7, [1, 5]), (0.7, [3, 7]), (0.4, [1, 9]), (0.4, [3, 9]), (np.inf, [0, 4]), (np.inf, [2, 6]), (0.6, [0, 17])],
    bias={0: 0.2, 1: 0.2, 5: -0.3, 7: np.inf},
    groups=[[4, 5, 6]],
    definitions=[[1, 3]],
)


def _swap(*pairs: tuple[int, int]) -> np.ndarray:
    image = np.arange(NETWORK.n_atoms, dtype=np.int32)
    for a, b in pairs:
        image[[a, b]] = image[[b, a]]
    return image


def _lifted() -> tuple[Any, GroundNetwork]:
    from markovlogic.grounding.ground import ground
    from markovlogic.problem import pose
    from markovlogic.problem.prepare import PreparedProblem

    model = mln.Model.parse("p = {A, B, C, D, E}\nS(p)\nF(p, p)\n0.5 S(x) ^ F(x, y) => S(y)\n0.3 F(x, y)\nS(A) v S(B).\n")
    prepared = PreparedProblem(pose(model, model.evidence(), "S"))
    classes = ConstantClasses({"p": np.array([0, 0, 1, 1, 1], np.int32)}, False, "made")
    return LiftedMH(proposals=Proposals(prepared.problem, (classes,))), ground(prepared.problem, prepared.lowered)


CASES: dict[str, Callable[[], tuple[Any, GroundNetwork]]] = {
    "gibbs": lambda: (Gibbs(), NETWORK),
    "blocked": lambda: (Blocked(), NETWORK),
    "mcsat": lambda: (MCSAT(), NETWORK),
    "orbital": lambda: (Orbital(group=GeneratedGroup([_swap((0, 1), (2, 3))], NETWORK.n_atoms)), NETWORK),
    "lifted-mh": _lifted,
}
OPTIONS = {"chains": 10, "draws": 70, "burn_in": 20, "keep_draws": True, "seed": 3, "events": [np.array([1, 5], np.int32)]}


class Stop:
    """An observer that ends a run after some draws, once."""

    name = "stop"

    def __init__(self, after: int) -> None:
        self.after = after

    def watch(self, batch: int, n_chains: int) -> Stop:
        return self

    def see(self, draw: int, world: np.ndarray) -> None:
        if draw == self.after:
            raise KeyboardInterrupt

    def saved(self) -> Iterator[Saved]:
        return iter(())

    def restore(self, arrays: Any, draws: int) -> None:
        pass


class Made:
    """A sampler's checkpoint in the middle of a run, and what the run gives when it is let alone."""

    def __init__(self, name: str, folder: Path) -> None:
        self.settings, self.network = CASES[name]()
        self.folder = folder
        self.whole = self.resume(folder / "whole", observers=[Stop(-1)])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loop_module, "CHECKPOINT_SECONDS", 0.0)
            patch.setattr(loop_module, "WRITE_SPACING", 0)
            patch.setattr(loop_module.Pace, "within", lambda self, seconds: 3)
            patch.setattr(Checkpoint, "busy", False)
            with pytest.raises(KeyboardInterrupt):
                self.resume(folder / "made", observers=[Stop(50)])

    def resume(self, directory: Path, observers: list[Stop]) -> RunResult:
        worlds = WorldsSink(directory.with_suffix(".parquet"), [f"a{at}" for at in range(self.network.n_atoms)])
        atoms = np.arange(self.network.n_atoms, dtype=np.int32)
        return run(
            self.settings,
            self.network,
            query_atoms=atoms,
            checkpoint=directory,
            resume=True,
            worlds=worlds,
            observers=observers,
            threads=1,
            **OPTIONS,
        )

    def copy(self) -> Path:
        directory = self.folder / "copy"
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(self.folder / "made", directory)
        return directory

    def same(self, result: RunResult, directory: Path) -> None:
        assert_same(self.whole, result)
        assert directory.with_suffix(".parquet").read_bytes() == (self.folder / "whole.parquet").read_bytes()


@pytest.fixture(scope="module", params=list(CASES))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(request.param, tmp_path_factory.mktemp("tampered"))


@pytest.fixture(autouse=True)
def disks_that_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """No power cut is tested here, and a thousand runs would wait for the disk most of the time."""
    monkeypatch.setattr(checkpoint_module.os, "fsync", lambda descriptor: None)


def check_sane(result: RunResult) -> None:
    for part in (result.atoms, result.events):
        assert ((part.mean >= 0) & (part.mean <= 1)).all()


def test_the_untouched_checkpoint_continues(made: Made) -> None:
    directory = made.copy()
    result = made.resume(directory, [Stop(-1)])
    assert result.resumed_at is not None and 40 <= result.resumed_at < 70
    made.same(result, directory)


@pytest.mark.parametrize("number", range(SLICES))
def test_tampered_checkpoints(made: Made, number: int) -> None:
    chance = random.Random(number)
    refused = 0
    for attempt in range(PER_SLICE):
        directory = made.copy()
        before = {path: path.read_bytes() for path in sorted(directory.rglob("*.*"))}
        tamper = None if attempt % 3 == 0 else chance.choice(CAREFUL)
        if tamper is None:
            careless(directory, chance)
            may_differ = False
        else:
            may_differ = tamper(directory, chance)
        unchanged = before == {path: path.read_bytes() for path in sorted(directory.rglob("*.*"))}
        try:
            result = made.resume(directory, [Stop(-1)])
        except InputError as error:
            assert not unchanged, error
            refused += 1
            continue
        if may_differ:
            check_sane(result)
        else:
            made.same(result, directory)
    assert refused > PER_SLICE // 2


def test_a_torn_spool_of_worlds_is_refused(made: Made) -> None:
    for change in (lambda raw: raw[:-1], lambda raw: raw[:8] + bytes([raw[8] ^ 1]) + raw[9:], lambda raw: b""):
        directory = made.copy()
        spool = directory / "worlds" / "batch-0.bin"
        kept = 8 * made.network.n_atoms * 40  # rows beyond were drawn after the checkpoint
        spool.write_bytes(change(spool.read_bytes()[:kept]))
        with pytest.raises(InputError, match="cannot be resumed"):
            made.resume(directory, [Stop(-1)])
