"""What can be done to a checkpoint by hand or by a torn disk, with and without knowledge of its format."""

from __future__ import annotations

import contextlib
import json
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from markovlogic.running.checkpoint import sealed

# Each changes files in a directory, and gives whether the run could still be another one.
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
