"""Sampled worlds as a Parquet file.

Rows are ordered by draw, then chain: `chain` (int32, from 0), `draw` (int64, from 1), then

- up to 1000 query atoms: one boolean column for each atom, named as the atom is written;
- more: one column `true_atoms`, the list of the names of the true ones.

While the run goes on, worlds are appended as raw bits to spool files; the Parquet file is written from them when it ends and
appears under its name
only when it is complete. With a checkpoint the spool files live inside its directory and are cut back to the checkpoint's
draws when the run is
resumed, so that a resumed run writes the very file of an uninterrupted one. Without a checkpoint they live beside the file,
and go with the run.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from markovlogic.data.evidence import TRUE, UNKNOWN
from markovlogic.errors import InputError, ResourceError
from markovlogic.estimation.tallies import Saved
from markovlogic.running.batch import Watcher
from markovlogic.system.arrays import Int8, Int32, Words
from markovlogic.system.checkpoint_validation import Restored
from markovlogic.system.temporary import TemporaryFolder

MOST_COLUMNS = 1000
BYTES_AT_ONCE = 1 << 24  # read back from a spool file
CELLS_A_GROUP = 1 << 23  # truth values in one row group


class SpoolBatch:
    """The raw words of one batch: one row of query atoms for every kept draw."""

    def __init__(self, path: Path, atoms: Int32, n_chains: int, thin: int) -> None:
        self._atoms, self._thin, self._path = atoms, thin, path
        self.n_chains = n_chains
        self.n_kept = 0
        self._checksum = 0  # of all rows, so that a resumed run knows them again
        with _translate_worlds_errors(path):
            self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")
        self._at_end = False
        self._row = np.empty(len(atoms), np.uint64)

    def see(self, draw: int, world: Words) -> None:
        """Append it if its turn has come."""
        if draw % self._thin:
            return
        with _translate_worlds_errors(self._path):
            if not self._at_end:  # what lies beyond was drawn after the checkpoint, and will be drawn again
                self._file.truncate(self.n_kept * self._row.nbytes)
                self._file.seek(self.n_kept * self._row.nbytes)
                self._at_end = True
            np.take(world, self._atoms, out=self._row)
            self._file.write(self._row.data)
        self._checksum = zlib.crc32(self._row.view(np.uint8).data, self._checksum)
        self.n_kept += 1

    def saved(self) -> Iterator[Saved]:
        """How many rows there are, and their checksum; the rows themselves are on the disk when this returns."""
        with _translate_worlds_errors(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
        yield Saved("kept", np.array([self.n_kept, self._checksum], np.int64), self.n_kept)

    def restore(self, arrays: Restored, draws: int) -> None:
        """Continue after the rows that the checkpoint knows, if they are what they were."""
        kept, checksum = arrays.numbers("kept", 2)
        self.n_kept = draws // self._thin
        if kept != self.n_kept:
            raise ValueError(f"{kept} worlds were kept of {draws} draws")
        step = max(1, BYTES_AT_ONCE // max(1, self._row.nbytes))
        for begin in range(0, self.n_kept, step):
            rows = self.rows(begin, min(begin + step, self.n_kept))
            self._checksum = zlib.crc32(rows.reshape(-1).view(np.uint8).data, self._checksum)
        if self._checksum != checksum:
            raise ValueError(f"{self._path} was changed")

    def rows(self, begin: int, end: int) -> Words:
        """(end - begin, n_atoms) words."""
        found = np.empty((end - begin, len(self._row)), np.uint64)
        with _translate_worlds_errors(self._path):
            self._file.flush()
            self._file.seek(begin * self._row.nbytes)
            self._at_end = False
            if self._file.readinto(found.reshape(-1).view(np.uint8).data if found.size else bytearray()) != found.nbytes:
                raise ValueError(f"{self._path} is cut short")
        return found

    def close(self) -> None:
        """Let the file go; what could not be written does not matter any longer."""
        with contextlib.suppress(OSError):
            self._file.close()


@contextlib.contextmanager
def _translate_worlds_errors(path: Path) -> Iterator[None]:
    """Say what was being done when the system failed us."""
    try:
        yield
    except OSError as error:
        raise ResourceError(f"worlds could not be written to {path}: {error.strerror or error}") from error


class WorldsSink:
    """Writes every `thin`-th world of the query atoms to a Parquet file.

    names: of all of them; truth: what is known of each (default: nothing). Those that are unknown are drawn, in this order.
    """

    name = "worlds"

    def __init__(self, path: Path | str, names: Sequence[str], truth: Int8 | None = None) -> None:
        self.path = Path(path)
        self._names = names
        self._truth = np.full(len(names), UNKNOWN, np.int8) if truth is None else truth
        self._batches: list[SpoolBatch] = []
        self._own_spool: TemporaryFolder | None = None  # without a checkpoint, which would keep it
        self._begun = False

    def begin(self, atoms: Int32, *, thin: int, checkpoint: Path | None) -> None:
        """The run shows what it will draw, and where spool files may stay."""
        if np.count_nonzero(self._truth == UNKNOWN) != len(atoms):
            raise ValueError(f"{len(self._names)} names for {len(atoms)} query atoms")
        if self._begun:
            raise ValueError("a sink serves one run")
        self._begun = True
        self._atoms, self._thin = atoms, thin
        try:
            if not self.path.parent.is_dir():
                raise FileNotFoundError(2, "its directory does not exist")
            if checkpoint is not None:
                self._spool = checkpoint / "worlds"
                self._spool.mkdir(parents=True, exist_ok=True)
            else:
                self._own_spool = TemporaryFolder(f"{self.path.name}.spool-", self.path.parent)
                self._spool = self._own_spool.path
        except OSError as error:
            raise InputError(f"worlds cannot be written to {self.path}: {error.strerror}") from error

    def watch(self, batch: int, n_chains: int) -> Watcher:
        """A spool for one batch."""
        self._batches.append(SpoolBatch(self._spool / f"batch-{batch}.bin", self._atoms, n_chains, self._thin))
        return self._batches[-1]

    def finish(self, dropped: int = 0) -> None:
        """Write the Parquet file, without the first `dropped` draws; the rename at the end makes it visible all at once."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        wide = len(self._names) > MOST_COLUMNS
        fields = [pa.field("chain", pa.int32()), pa.field("draw", pa.int64())]
        names = pa.array(list(self._names), pa.string()) if wide else None
        if wide:
            fields.append(pa.field("true_atoms", pa.list_(pa.dictionary(pa.int32(), pa.string()))))
        else:
            fields += [pa.field(name, pa.bool_()) for name in self._names]
        schema = pa.schema(fields, metadata={"thin": str(self._thin)})
        n_chains = sum(batch.n_chains for batch in self._batches)
        n_kept = min((batch.n_kept for batch in self._batches), default=0)
        first = dropped // self._thin
        step = max(1, CELLS_A_GROUP // max(1, n_chains * len(self._names)))
        temporary = self.path.with_name(self.path.name + ".tmp")
        try:
            with pq.ParquetWriter(temporary, schema) as writer:
                for begin in range(first, n_kept, step):
                    end = min(begin + step, n_kept)
                    writer.write_table(pa.table(self._columns(begin, end, first, names), schema=schema))
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise ResourceError(f"worlds could not be written to {self.path}: {error.strerror or error}") from error

    def _columns(self, begin: int, end: int, dropped: int, names: Any) -> list[Any]:
        import pyarrow as pa

        chains = sum(batch.n_chains for batch in self._batches)
        truth = np.empty((end - begin, chains, len(self._names)), np.bool_)
        truth[:] = self._truth == TRUE
        drawn = self._truth == UNKNOWN
        first = 0
        for batch in self._batches:
            rows = batch.rows(begin, end)
            for chain in range(batch.n_chains):
                truth[:, first + chain, drawn] = (rows >> np.uint64(chain)) & np.uint64(1)
            first += batch.n_chains
        table = truth.reshape((end - begin) * chains, len(self._names))
        columns = [
            pa.array(np.tile(np.arange(chains, dtype=np.int32), end - begin)),
            pa.array(np.repeat((np.arange(begin, end, dtype=np.int64) - dropped + 1) * self._thin, chains)),
        ]
        if names is None:
            return columns + [pa.array(np.ascontiguousarray(table[:, at])) for at in range(table.shape[1])]
        offsets = np.zeros(len(table) + 1, np.int32)
        np.cumsum(table.sum(axis=1), out=offsets[1:])
        members = pa.DictionaryArray.from_arrays(pa.array(np.nonzero(table)[1].astype(np.int32)), names)
        return [*columns, pa.ListArray.from_arrays(pa.array(offsets), members)]

    def close(self) -> None:
        """Let all files go; without a checkpoint the spool files are removed."""
        for batch in self._batches:
            batch.close()
        if self._own_spool is not None:
            self._own_spool.close()
