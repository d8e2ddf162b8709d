"""Checkpoints that were changed by hand or torn: refused, or the very result of the run; never a crash, never another number.

A thousand tamperings, in slices. *Careless* ones leave the seal as it was, whatever else they mend: all of them are refused.
*Careful* ones write a new seal and matching checksums, as somebody who knows the format would. Where they change how the
checkpoint is built (types, shapes, places, names, how far it is) the result is that of the untouched one or a refusal; where
they change what a world or a count could have been (a bit of it), nothing can tell, and the run ends as runs do.
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.running.made import assert_same, run

import markovlogic as mln
from markovlogic.errors import InputError
from markovlogic.estimate.tallies import Saved
from markovlogic.networks.ground import GroundNetwork, network_of
from markovlogic.running import checkpoint as checkpoint_module
from markovlogic.running import loop as loop_module
from markovlogic.running.checkpoint import Checkpoint, sealed
from markovlogic.running.result import RunResult
from markovlogic.running.worlds import WorldsSink
from markovlogic.samplers.blocked import Blocked
from markovlogic.samplers.gibbs import Gibbs
from markovlogic.samplers.lifted_mh import LiftedMH, Proposals
from markovlogic.samplers.mcsat import MCSAT
from markovlogic.samplers.orbital import Orbital
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
    from markovlogic.posing import Posed
    from markovlogic.problem import pose

    model = mln.Model.parse("p = {A, B, C, D, E}\nS(p)\nF(p, p)\n0.5 S(x) ^ F(x, y) => S(y)\n0.3 F(x, y)\nS(A) v S(B).\n")
    posed = Posed(pose(model, model.evidence(), "S"))
    classes = ConstantClasses({"p": np.array([0, 0, 1, 1, 1], np.int32)}, False, "made")
    return LiftedMH(proposals=Proposals(posed.problem, (classes,))), ground(posed.problem, posed.lowered)


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


# ---- what is done to a checkpoint: each changes files in a directory, and gives whether the run could still be another one

Tamper = Callable[[Path, random.Random], bool]
TYPES = [
    "<u8",
    "<i8",
    "<i4",
    "<u2",
    "<u4",
    "<f8",
    "<f4",
    "|u1",
    "|b1",
    ">u8",
    ">f8",
    "<c16",
    "O",
    "V8",
    "<M8[s]",
    "x",
    "",
    7,
    None,
]
NUMBERS = [
    0,
    1,
    -1,
    2,
    7,
    255,
    1 << 31,
    1 << 40,
    (1 << 63) - 1,
    1 << 70,
    10**30,
    0.5,
    1e308,
    float("nan"),
    "1",
    None,
    [],
    {},
    True,
]


def read(directory: Path) -> dict[str, Any]:
    return json.loads((directory / "manifest.json").read_text())  # type: ignore[no-any-return]


def write(directory: Path, manifest: dict[str, Any], *, seal: bool = True) -> None:
    (directory / "manifest.json").write_text(json.dumps(sealed(manifest) if seal else manifest))


def contents(directory: Path, row: list[Any]) -> bytes:
    size = int(np.prod(row[3], dtype=object)) * np.dtype(row[2]).itemsize
    with open(directory / row[0], "rb") as file:
        file.seek(row[1])
        return file.read(size)


def mended(directory: Path, row: list[Any]) -> None:
    """The checksum that belongs to what a row names, if it names anything."""
    with contextlib.suppress(ValueError, TypeError, OSError, OverflowError, MemoryError):
        row[4] = zlib.crc32(contents(directory, row))


def another_shape(directory: Path, chance: random.Random) -> bool:
    manifest = read(directory)
    row = chance.choice(list(manifest["arrays"].values()))
    shape = list(row[3])
    at = chance.randrange(len(shape)) if shape else 0
    changes: list[Callable[[], list[Any]]] = [
        lambda: [*shape[:at], max(0, shape[at] - 1), *shape[at + 1 :]],
        lambda: [*shape[:at], shape[at] + chance.choice([1, 7, 1 << 20, 1 << 50]), *shape[at + 1 :]],
        lambda: [*shape[:at], chance.choice([0, -1, 0.5, None, "1", True, 1 << 70]), *shape[at + 1 :]],
        lambda: shape[::-1],
        lambda: [1, *shape],
        list,
        lambda: [int(np.prod(shape))],
    ]
    row[3] = chance.choice(changes)()
    mended(directory, row)
    write(directory, manifest)
    return False


def another_type(directory: Path, chance: random.Random) -> bool:
    manifest = read(directory)
    row = chance.choice(list(manifest["arrays"].values()))
    row[2] = chance.choice(TYPES)
    mended(directory, row)
    write(directory, manifest)
    return False


def another_place(directory: Path, chance: random.Random) -> bool:
    manifest = read(directory)
    rows = list(manifest["arrays"].values())
    row = chance.choice(rows)
    if chance.random() < 0.3:
        row[0] = chance.choice([other[0] for other in rows] + ["part-000099.bin", "../part-000001.bin", "lock", 3, None])
    else:
        row[1] = chance.choice([row[1] + 8, max(0, row[1] - 8), chance.choice(rows)[1], *NUMBERS])
    mended(directory, row)
    write(directory, manifest)
    return True  # other bytes of the right type may be a world or a count that could have been


def another_name(directory: Path, chance: random.Random) -> bool:
    manifest = read(directory)
    arrays = manifest["arrays"]
    name, other = chance.sample(sorted(arrays), 2)
    kind = chance.randrange(4)
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[chance.choice([name + "0", name.rsplit(".", 1)[0] + ".9", "0.state." + name, "", "\ud800"])] = arrays.pop(name)
    elif kind == 2:
        arrays[name], arrays[other] = arrays[other], arrays[name]
    else:
        arrays[name] = arrays[other]
    write(directory, manifest)
    return kind >= 2


def another_fact(directory: Path, chance: random.Random) -> bool:
    manifest = read(directory)
    facts = manifest["facts"]
    batch = chance.choice(facts["batches"])
    where, name = chance.choice(
        [(facts, "seconds"), (facts, "stopped"), (facts, "batches"), (batch, "sweeps"), (batch, "updates"), (batch, "counts")]
        + [(batch["counts"], name) for name in batch["counts"]]
        + [(manifest, name) for name in ("run", "facts", "arrays", "number", "format")]
        + [(manifest["run"], name) for name in manifest["run"]]
    )
    where[name] = chance.choice([*NUMBERS, "target", "draws"])
    write(directory, manifest)
    return name in ("updates", "counts") or where is batch["counts"]


def another_number(directory: Path, chance: random.Random) -> bool:
    """A clock, or how many draws were kept: whole numbers in arrays."""
    manifest = read(directory)
    name = chance.choice(
        [name for name in manifest["arrays"] if name.endswith((".clock", ".kept", ".done", ".tried", ".chosen"))]
    )
    row = manifest["arrays"][name]
    values = np.frombuffer(contents(directory, row), row[2]).copy()
    if not len(values):
        return False
    values[chance.randrange(len(values))] += chance.choice([1, -1, 2, -7, 64, 1 << 40, -(1 << 40)])
    overwrite(directory, row, values.tobytes())
    write(directory, manifest)
    return name.endswith((".clock", ".done", ".tried", ".chosen"))


def overwrite(directory: Path, row: list[Any], raw: bytes) -> None:
    with open(directory / row[0], "r+b") as file:
        file.seek(row[1])
        file.write(raw)
    row[4] = zlib.crc32(raw)


def flipped(directory: Path, chance: random.Random) -> bool:
    """Bytes of an array, with a checksum that fits."""
    manifest = read(directory)
    row = chance.choice([row for row in manifest["arrays"].values() if contents(directory, row)])
    raw = bytearray(contents(directory, row))
    for _ in range(chance.choice([1, 1, 3, 50])):
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    overwrite(directory, row, bytes(raw))
    write(directory, manifest)
    return True


CAREFUL: list[Tamper] = [another_shape, another_type, another_place, another_name, another_fact, another_number, flipped]


def careless(directory: Path, chance: random.Random) -> None:
    """Bytes of any file, or its end; or an array's bytes with a matching checksum and the old seal."""
    manifest = read(directory)
    if chance.random() < 0.4:
        chance.choice(CAREFUL)(directory, chance)
        write(directory, {**read(directory), "seal": manifest["seal"]}, seal=False)
        return
    live = {row[0] for row in manifest["arrays"].values() if contents(directory, row)}
    path = chance.choice([directory / "manifest.json", *(directory / part for part in live), *directory.glob("worlds/*")])
    raw = bytearray(path.read_bytes())
    at = chance.randrange(len(raw))
    kind = chance.randrange(4)
    if kind == 0:
        del raw[at:]
    elif kind == 1:
        del raw[at : at + chance.randint(1, 9)]
    elif kind == 2:
        raw[at:at] = chance.randbytes(chance.randint(1, 9))
    else:
        raw[at] ^= 1 << chance.randrange(8)
    path.write_bytes(raw)


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
