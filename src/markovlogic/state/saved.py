"""What a state holds: answers by atom, digests by component, and the last worlds of chains; and the folder that it lies in."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from markovlogic._version import __version__
from markovlogic.errors import Fault, InputError, Place
from markovlogic.estimation.tallies import Saved
from markovlogic.language.syntax import Model
from markovlogic.results.answers import Values
from markovlogic.running.checkpoint import Checkpoint
from markovlogic.running.warm import Ended
from markovlogic.state import LAST_RUN
from markovlogic.state.keys import mixed
from markovlogic.state.snapshot import Snapshot
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, UInt64, Words, frozen
from markovlogic.system.checkpoint_validation import Restored

FORMAT = 3  # to be raised when states are written differently
NOWHERE = -1


@dataclass(frozen=True)
class SavedRun:
    """The run that gave the answers of some components."""

    method: str
    guarantee: str
    network: str
    estimator: str
    options: str  # what else its answers depend on; nothing where they are exact
    chains: int = 0
    draws: int = 0
    burn_in: int = 0
    seed: int | None = None
    converged: bool | None = None
    concerns: tuple[str, ...] = ()  # that are not about single atoms
    gap: float = 0.0  # of most probable worlds: by how much others may be heavier
    made_at: float = 0.0  # seconds since 1970


@dataclass(frozen=True)
class SavedEvent:
    """The answer to a formula of the query; digest: of the components that it is about, added up."""

    digest: tuple[int, int]
    probability: float
    stderr: float
    rhat: float | None
    ess: float | None


@dataclass(frozen=True, eq=False)
class SavedState:
    """Everything that a later run may use. Atoms are sorted by the first half of their keys."""

    key: UInt64  # (n, 2)
    component: Int32  # (n,) into the columns below
    value: Float64  # (n, 4) probability, stderr, R-hat, ESS; nan where nobody asked
    answered: Bool  # (n,)
    doubt: np.ndarray  # (n,) uint8, see `estimation.concerns.DOUBTS`
    digest: UInt64  # (n_components, 2)
    run_of: Int32  # (n_components,)
    log_z: Float64  # (n_components,) nan where it is not known
    world_row: Int32  # (n,) row of `worlds`, NOWHERE where there is none
    worlds: Words  # (n_rows, n_words)
    drawn: Float64  # (n_rows, 3) probability, stderr and bias when they were drawn
    weighed: Int32  # (k,) components whose worlds can be weighed anew
    shape: UInt64  # (k, 2) their digests without weights
    clause_key: UInt64  # (n_clauses,) of these components, increasing
    clause_weight: Float64  # (n_clauses,) when the worlds were drawn
    clause_part: Int32  # (n_clauses,) row of `weighed`
    chains: int  # of these worlds
    learned: Mapping[str, np.ndarray] = field(default_factory=dict)  # in burn-in; of clusters, how likely they are right
    runs: tuple[SavedRun, ...] = ()
    events: Mapping[str, SavedEvent] = field(default_factory=dict)
    predicates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # name to types, of the model that it is of
    snapshot: Snapshot | None = None  # what was known, where the components are all of it
    log_constant: float = np.nan  # of log Z, beside that of the components; nan where it is not known

    @staticmethod
    def nothing() -> SavedState:
        """Of a state that is new."""
        none, keys, no_numbers = np.zeros(0, np.int32), np.zeros((0, 2), np.uint64), np.zeros(0)
        return SavedState(
            key=keys,
            component=none,
            value=np.zeros((0, 4)),
            answered=np.zeros(0, np.bool_),
            doubt=np.zeros(0, np.uint8),
            digest=keys,
            run_of=none,
            log_z=no_numbers,
            world_row=none,
            worlds=np.zeros((0, 1), np.uint64),
            drawn=np.zeros((0, 3)),
            weighed=none,
            shape=keys,
            clause_key=np.zeros(0, np.uint64),
            clause_weight=no_numbers,
            clause_part=none,
            chains=0,
        )

    def find(self, key: UInt64) -> Int64:
        """(n,) the row of each key, NOWHERE where it is not there."""
        if not len(self.key):
            return np.full(len(key), NOWHERE, np.int64)
        order, at = np.argsort(key[:, 0]), np.empty(len(key), np.int64)
        at[order] = np.searchsorted(self.key[:, 0], key[order, 0])  # far quicker in order, as memory is near
        at = np.minimum(at, len(self.key) - 1)
        return np.where((self.key[at] == key).all(axis=1), at, NOWHERE)

    def find_component(self, digest: UInt64) -> Int64:
        """(n,) the component of each digest, NOWHERE where it is not there."""
        return _found(self.digest, digest)

    def find_shape(self, shape: UInt64) -> Int64:
        """(n,) the row of `weighed` of each shape, NOWHERE where there is none."""
        return _found(self.shape, shape)

    def values(self, row: Int64) -> Values:
        """The answers of some rows."""
        return Values(*np.ascontiguousarray(self.value[row].T))

    def ended(self, key: UInt64) -> Ended | None:
        """Worlds of these atoms that chains ended with, as far as there are any; None where there are none."""
        row = self.find(key)
        place = np.where(row == NOWHERE, NOWHERE, self.world_row[row] if len(self.world_row) else NOWHERE)
        atom = np.flatnonzero(place != NOWHERE)
        if not len(atom):
            return None
        return frozen(Ended(atom, self.worlds[place[atom]], self.chains, dict(self.learned)))

    def atoms_by_method(self) -> dict[str, int]:
        """Number of open atoms by the method that gave their answers."""
        size = np.bincount(self.component, minlength=len(self.digest))
        found: dict[str, int] = {}
        for number, run in enumerate(self.runs):
            atoms = int(size[self.run_of == number].sum())
            if atoms:
                found[run.method] = found.get(run.method, 0) + atoms
        return found

    def require_fits(self, model: Model, place: str) -> None:
        """Refuse the state of another model: one that declares none of its predicates as this one does."""
        own = {name: tuple(one.types) for name, one in model.predicates.items()}
        if self.predicates and not any(own.get(name) == types for name, types in self.predicates.items()):
            raise InputError(
                Fault("the state is of another model: they have no predicate in common", Place(place), hint="give another folder")
            )

    @property
    def nbytes(self) -> int:
        """Of all arrays."""
        return sum(array.nbytes for array in (*_arrays(self).values(), *self.learned.values()))

    def without_worlds(self) -> SavedState:
        """The same without worlds to start from."""
        nothing = SavedState.nothing()
        return replace(
            self,
            world_row=np.full(len(self.key), NOWHERE, np.int32),
            worlds=nothing.worlds,
            drawn=nothing.drawn,
            weighed=nothing.weighed,
            shape=nothing.shape,
            clause_key=nothing.clause_key,
            clause_weight=nothing.clause_weight,
            clause_part=nothing.clause_part,
            chains=0,
            learned={},
        )


def _found(digests: UInt64, wanted: UInt64) -> Int64:
    """(n,) the row of each digest, NOWHERE where it is not there."""
    if not len(digests):
        return np.full(len(wanted), NOWHERE, np.int64)
    order = np.argsort(digests[:, 0], kind="stable")
    at = order[np.minimum(np.searchsorted(digests[order, 0], wanted[:, 0]), len(order) - 1)]
    return np.where((digests[at] == wanted).all(axis=1), at, NOWHERE)


_COLUMNS = (
    *("key", "component", "value", "answered", "doubt", "digest", "run_of", "log_z", "world_row", "worlds"),
    *("drawn", "weighed", "shape", "clause_key", "clause_weight", "clause_part"),
)


def _arrays(kept: SavedState) -> dict[str, np.ndarray]:
    return {name: getattr(kept, name) for name in _COLUMNS}


class StateInMemory:
    """A state that ends with its process."""

    directory = "memory"

    def __init__(self) -> None:
        self._kept: SavedState | None = None

    def __enter__(self) -> StateInMemory:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def load(self) -> SavedState | None:
        """What it holds."""
        return self._kept

    def save(self, kept: SavedState, limit: int | None = None) -> str:
        """Take it in place of what was there."""
        self._kept = kept
        return ""


class StateFolder:
    """A folder that holds a state; one process uses it at a time, and it is written whole or not at all."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self._store = Checkpoint(self.directory, "state")

    def close(self) -> None:
        """Let others use it."""
        self._store.close()

    def __enter__(self) -> StateFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def load(self) -> SavedState | None:
        """What it holds; None where it is new. A damaged one, or one of another version, is an InputError."""
        if not self._store.exists():
            return None
        loaded = self._store.load()
        version = loaded.run.get("version")
        if loaded.run.get("state") != FORMAT or version != __version__:
            raise InputError(
                Fault(
                    f"the state was written by markovlogic {version}, this is {__version__}",
                    Place(str(self.directory)),
                    hint="remove the folder, or give another one: the next run makes it anew",
                )
            )
        try:
            return _restored(loaded.facts, Restored(loaded.arrays))
        except (ValueError, KeyError, TypeError) as error:
            raise self._store.damaged(str(error)) from error

    def save(self, kept: SavedState, limit: int | None = None) -> str:
        """Write it in place of what was there; a note on what was left out to keep to a limit of bytes, or nothing."""
        note = ""
        if limit is not None and kept.nbytes > limit:
            kept, note = kept.without_worlds(), "worlds to start from were left out of the state, to keep to --state-limit"
        if limit is not None and kept.nbytes > limit:
            kept, note = SavedState.nothing(), "nothing was kept in the state, as the answers alone are beyond --state-limit"
        facts = {
            "chains": kept.chains,
            "runs": [vars(run) for run in kept.runs],
            "events": {text: vars(event) for text, event in kept.events.items()},
            "predicates": kept.predicates,
            "learned": {name: array.dtype.str for name, array in kept.learned.items()},
            "log_constant": None if np.isnan(kept.log_constant) else kept.log_constant,
            "snapshot": None if kept.snapshot is None else kept.snapshot.facts(),
            "saved_at": time.time(),
        }
        arrays = _arrays(kept) | {f"learned.{name}": array for name, array in kept.learned.items()}
        if kept.snapshot is not None:
            arrays |= {f"snapshot.{name}": array for name, array in kept.snapshot.arrays().items()}
        saved = [Saved(name, array, 0) for name, array in arrays.items()]
        run = {"state": FORMAT, "version": __version__}
        (self.directory / LAST_RUN).unlink(missing_ok=True)  # it belongs to the state that is replaced
        self._store.write(run, json.loads(json.dumps(facts)), saved, background=False)
        return note

    @property
    def facts(self) -> dict[str, Any]:
        """What the folder says of itself: version, time, size on disk."""
        loaded = self._store.load()
        size = sum(path.stat().st_size for path in self.directory.iterdir() if path.is_file())
        return {"version": loaded.run.get("version"), "saved_at": loaded.facts.get("saved_at"), "bytes": size}


def _restored(facts: Mapping[str, Any], arrays: Restored) -> SavedState:
    n, m = (arrays.shape(name)[0] for name in ("component", "run_of"))
    n_worlds, n_words = arrays.shape("worlds")
    n_weighed, n_clauses = (arrays.shape(name)[0] for name in ("weighed", "clause_key"))
    runs = tuple(SavedRun(**{**row, "concerns": tuple(row["concerns"])}) for row in facts["runs"])
    events = {text: SavedEvent(**{**row, "digest": tuple(row["digest"])}) for text, row in facts["events"].items()}
    kept = SavedState(
        key=arrays.take("key", np.uint64, (n, 2)),
        component=arrays.take("component", np.int32, (n,), low=0, high=max(m - 1, 0)),
        value=arrays.take("value", np.float64, (n, 4)),
        answered=arrays.take("answered", np.bool_, (n,)),
        doubt=arrays.take("doubt", np.uint8, (n,)),
        digest=arrays.take("digest", np.uint64, (m, 2)),
        run_of=arrays.take("run_of", np.int32, (m,), low=0, high=max(len(runs) - 1, 0)),
        log_z=arrays.take("log_z", np.float64, (m,)),
        world_row=arrays.take("world_row", np.int32, (n,), low=NOWHERE, high=n_worlds - 1),
        worlds=arrays.take("worlds", np.uint64, (n_worlds, n_words)),
        drawn=arrays.take("drawn", np.float64, (n_worlds, 3)),
        weighed=arrays.take("weighed", np.int32, (n_weighed,), low=0, high=max(m - 1, 0)),
        shape=arrays.take("shape", np.uint64, (n_weighed, 2)),
        clause_key=arrays.take("clause_key", np.uint64, (n_clauses,)),
        clause_weight=arrays.take("clause_weight", np.float64, (n_clauses,)),
        clause_part=arrays.take("clause_part", np.int32, (n_clauses,), low=0, high=max(n_weighed - 1, 0)),
        chains=int(facts["chains"]),
        learned={n: arrays.take(f"learned.{n}", np.dtype(d), arrays.shape(f"learned.{n}")) for n, d in facts["learned"].items()},
        runs=runs,
        events=events,
        predicates={name: tuple(types) for name, types in facts["predicates"].items()},
        snapshot=None if facts["snapshot"] is None else Snapshot.restored(facts["snapshot"], arrays.under("snapshot")),
        log_constant=np.nan if facts["log_constant"] is None else float(facts["log_constant"]),
    )
    if (kept.key[1:, 0] < kept.key[:-1, 0]).any() or kept.chains > 64 * n_words:
        raise ValueError("keys are out of order, or worlds have too few chains")
    if (kept.clause_key[1:] < kept.clause_key[:-1]).any():
        raise ValueError("keys of clauses are out of order")
    return kept


def digest_of_all(digests: UInt64) -> tuple[int, int]:
    """One digest of several components."""
    first, second = (int(x) for x in mixed(digests.sum(axis=0, dtype=np.uint64)))
    return first, second


def concerns_about_kept(doubts: Sequence[tuple[str, int, str]]) -> tuple[str, ...]:
    """Sentences on answers that are kept from earlier runs and were doubtful there: what, how many, an example."""
    return tuple(
        f"answers kept from an earlier run are doubtful: {what} for {count:,} query atoms, for example {example};"
        " run again with more draws and another --state, or none"
        for what, count, example in doubts
    )
