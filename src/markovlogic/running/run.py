"""The run: chains in batches on cores, until the draws are made, the target or the time is reached, or the user stops it."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from math import inf
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.arrays import Int32, offsets
from markovlogic.errors import InputError
from markovlogic.estimate.concerns import worst_rhat, worst_stderr
from markovlogic.estimate.orbit_pools import OrbitPools
from markovlogic.estimate.slots import slots_for
from markovlogic.estimate.tallies import SUM_SLOTS_UP_TO, Events, Saved
from markovlogic.progress import SILENT, Progress, Silent
from markovlogic.running.batch import Batch
from markovlogic.running.checkpoint import Checkpoint, damaged, require_same_run
from markovlogic.running.crew import Crew, cores
from markovlogic.running.estimating import Estimating, choose_estimator
from markovlogic.running.interrupts import Interrupts
from markovlogic.running.observers import KeepDraws, Observer
from markovlogic.running.pace import Pace, next_check
from markovlogic.running.result import RunResult
from markovlogic.running.warm_up import warm_up
from markovlogic.running.worlds import WorldsSink
from markovlogic.samplers.base import CHAINS_PER_BATCH, Sampler, Settings

CHECKPOINT_SECONDS = 0.6  # with a round of 0.15 s before it, at least one a second
WRITE_SPACING = 2  # what is too large to be written in the background may take half of the time, not more
LOOK_SHARE = 20  # progress looks at R-hat so rarely that it takes a twentieth of the time at most


def run(
    settings: Settings,
    network: Any,
    *,
    query_atoms: Int32,
    events: Sequence[Int32] = (),
    chains: int = 64,
    draws: int = 1000,
    burn_in: int | None = None,
    seed: int = 0,
    estimator: str = "auto",
    pools: OrbitPools | None = None,
    time_limit: float | None = None,
    target_stderr: float | None = None,
    checkpoint: Path | str | None = None,
    resume: bool = False,
    fingerprint: str = "",
    keep_draws: bool = False,
    worlds: WorldsSink | None = None,
    thin: int = 1,
    threads: int | None = None,
    observers: Sequence[Observer] = (),
    progress: Progress = SILENT,
) -> RunResult:
    """Sample `network` with `settings` and estimate query atoms and events (conjunctions of literals 2·atom + sign).

    draws and burn_in count sweeps a chain; burn-in is a quarter of the draws unless given. The result depends on network,
    settings, query, events, chains, draws, burn_in, seed and estimator, and never on threads, speed, checkpoints or resumption;
    a time limit or an interrupt only cut it short. The time limit counts the seconds before a resumption too, and not those in
    which kernels are compiled for the first time.
    pools: orbits of these query atoms and events, for the estimators "orbit" and "orbit-conditional"; "auto" uses them.
    """
    chains, draws, seed, thin = (index(value) for value in (chains, draws, seed, thin))  # a checkpoint writes them as JSON
    burn_in = draws // 4 if burn_in is None else index(burn_in)
    time_limit = None if time_limit is None or time_limit == inf else float(time_limit)
    target_stderr = None if target_stderr is None else float(target_stderr)
    if resume and checkpoint is None:
        raise InputError("--resume needs a checkpoint to continue", hint="add --checkpoint DIR")
    _check_numbers(chains, draws, burn_in, seed, thin, time_limit, target_stderr, threads)
    atoms = np.ascontiguousarray(query_atoms, np.int32)
    rows = _event_rows(events)
    begun = time.perf_counter()
    samplers = _build(settings, network, chains)
    n_all = int(network.n_all)
    _check_atoms(atoms, rows, n_all)
    estimator = choose_estimator(estimator, samplers, n_all * chains, pools)
    conditional = estimator in ("conditional", "orbit-conditional", "orbit-auto")
    pooling = pools.watch(draws=draws, chains=chains, seed=seed) if pools is not None and estimator.startswith("orbit") else None
    counted = pooling.pools.counted_atoms if pooling is not None and conditional else atoms
    directory = Path(checkpoint) if checkpoint is not None else None
    with ExitStack() as stack:
        store = None
        if directory is not None:
            store = Checkpoint(directory)
            stack.callback(store.close)
            if store.exists() and not resume:
                raise InputError(
                    f"{directory} holds a checkpoint already", hint="add --resume to continue it, or remove the directory"
                )
        keeper = KeepDraws(atoms, chains=chains, draws=draws, thin=thin) if keep_draws else None
        if worlds is not None:
            worlds.begin(atoms, thin=thin, checkpoint=directory)
            stack.callback(worlds.close)
        watching = [*observers, *(o for o in (keeper, worlds, pooling) if o is not None)]
        batches = _batches(
            samplers, seed, n_all=n_all, burn_in=burn_in, draws=draws, atoms=counted, events=rows, chains=chains,
            conditional=conditional, observers=watching,
        )  # fmt: skip
        identity: dict[str, Any] = {}
        if store is not None:
            identity = {
                "method": settings.method, "settings": repr(settings), "chains": chains, "draws": draws, "burn_in": burn_in,
                "seed": seed, "estimator": estimator, "target_stderr": target_stderr, "keep_draws": keep_draws, "thin": thin,
                "observers": [o.name for o in watching], "fingerprint": fingerprint,
                "problem": _digest(network, atoms, rows, floats=not fingerprint),
            }  # fmt: skip
        estimating = Estimating(batches, _decided(network, atoms), estimator, pooling)
        crew = stack.enter_context(Crew(min(threads or cores(), len(batches))))
        interrupts = stack.enter_context(Interrupts())
        begun += warm_up(samplers[0], progress)  # a time limit is for sampling, not for what happens once on a machine
        progress.stage("sample", burn_in + draws)
        loop = _Loop(batches, crew, interrupts, store, identity, begun, time_limit, target_stderr, estimating, progress)
        crew.each(Batch.start, batches)
        resumed_at = loop.resume() if store is not None and resume and store.exists() else None
        loop.go(burn_in + draws)
        seconds = loop.seconds()
        if worlds is not None:
            worlds.finish()
        kept = keeper.worlds() if keeper is not None else None
    counts = _total([batch.counts for batch in batches])
    distinct = list({id(s): s for s in samplers}.values())
    guarantee = distinct[0].guarantee(counts)
    for sampler in distinct[1:]:
        guarantee = guarantee | sampler.guarantee(counts)
    atom_values, event_values, estimator = estimating()
    return RunResult(
        method=settings.method,
        estimator=estimator,
        query_atoms=atoms,
        atoms=atom_values,
        events=event_values,
        chains=chains,
        draws=batches[0].draws,
        burn_in=burn_in,
        updates=sum(batch.updates for batch in batches),
        resumed_at=resumed_at,
        stopped=loop.stopped,
        target_stderr=target_stderr,
        guarantee=guarantee,
        counts=counts,
        seconds=seconds,
        sampler_concerns=tuple(dict.fromkeys(c for s in distinct for c in s.concerns(counts))),
        kept=kept,
        thin=thin,
        tallies=tuple(batch.tallies for batch in batches),
        pooling=pooling,
    )


class _Loop:
    """Rounds of sweeps, and between them everything that is not sampling."""

    def __init__(
        self,
        batches: Sequence[Batch],
        crew: Crew,
        interrupts: Interrupts,
        store: Checkpoint | None,
        identity: dict[str, Any],
        begun: float,
        time_limit: float | None,
        target_stderr: float | None,
        estimating: Estimating,
        progress: Progress,
    ) -> None:
        self._batches, self._crew, self._interrupts, self._store = batches, crew, interrupts, store
        self._identity, self._begun, self._time_limit, self._target = identity, begun, time_limit, target_stderr
        self._estimating, self._progress = estimating, progress
        self._seconds_before = 0.0
        self._next_write = 0.0
        self._next_look = begun + 1.0
        self._note = ""
        self.stopped = ""

    def seconds(self) -> float:
        """Seconds of this run, those before a resumption included."""
        return self._seconds_before + time.perf_counter() - self._begun

    def resume(self) -> int:
        """Continue a checkpoint; gives the draws that it holds."""
        assert self._store is not None
        loaded = self._store.load()
        require_same_run(self._store.directory, loaded.run, self._identity)
        try:
            self._seconds_before = float(loaded.facts["seconds"])
            self.stopped = "target" if loaded.facts["stopped"] == "target" else ""
            for number, (batch, facts) in enumerate(zip(self._batches, loaded.facts["batches"], strict=True)):
                head = f"{number}."
                batch.restore(facts, {n[len(head) :]: a for n, a in loaded.arrays.items() if n.startswith(head)})
        except (KeyError, ValueError, TypeError) as error:
            raise damaged(self._store.directory, f"its contents do not fit this run: {error}") from error
        return self._batches[0].draws

    def go(self, total: int) -> None:
        """Make rounds until something ends the run; `stopped` says what."""
        pace = Pace()
        burn_in = self._batches[0].burn_in
        if self._store is not None:
            self._write(background=False)  # a directory that cannot be written is found out before anything is drawn
        while not self.stopped:
            done = self._batches[0].sweeps
            left = None if self._time_limit is None else self._time_limit - self.seconds()
            if done >= total:
                self.stopped = "draws"
            elif self._interrupts.asked:
                self.stopped = "interrupt"
            elif left is not None and left <= 0:
                self.stopped = "time"
            else:
                until = min(done + pace.within(left), total)
                if self._target is not None:
                    until = min(until, burn_in + next_check(self._batches[0].draws))
                before = time.perf_counter()
                self._crew.each(lambda batch: batch.advance(until), self._batches)  # noqa: B023 - ended when this returns
                pace.learn(until - done, time.perf_counter() - before)
                self._between(until, total)
        if self._store is not None:
            self._write(background=False)

    def _between(self, done: int, total: int) -> None:
        draws = done - self._batches[0].burn_in
        if self._target is not None and draws > 0 and draws == next_check(draws - 1) and self._target_reached():
            self.stopped = "target"
        if self._store is not None:
            self._store.check()
            if time.perf_counter() >= self._next_write and not self._store.busy:
                self._write(background=True)
        if not isinstance(self._progress, Silent):
            self._look(draws)
            rate = self.seconds() / done
            left = (total - done) * rate
            if self._time_limit is not None:
                left = min(left, self._time_limit - self.seconds())
            self._progress.advance(done, f"{self._note}{max(left, 0.0):.0f} s left")

    def _target_reached(self) -> bool:
        worst = worst_stderr(*self._estimating()[:2])
        return worst is not None and self._target is not None and worst <= self._target

    def _look(self, draws: int) -> None:
        now = time.perf_counter()
        if draws <= 0 or now < self._next_look:
            return
        found = self._estimating()[:2]
        rhat, stderr = worst_rhat(*found), worst_stderr(*found)
        self._note = f"worst R-hat {rhat:.4g}, " if rhat is not None else ""
        if stderr is not None:
            self._note += f"stderr {stderr:.2g}, "
        cost = time.perf_counter() - now
        self._next_look = now + max(1.0, LOOK_SHARE * cost)

    def _write(self, *, background: bool) -> None:
        assert self._store is not None
        begun = time.perf_counter()
        facts = {
            "seconds": self.seconds(),
            "stopped": self.stopped,
            "batches": [batch.facts() for batch in self._batches],
        }
        self._store.write(self._identity, facts, self._saved(), background=background)
        self._next_write = begun + max(CHECKPOINT_SECONDS, WRITE_SPACING * (time.perf_counter() - begun))

    def _saved(self) -> Iterator[Saved]:
        for batch in self._batches:
            for item in batch.saved():
                yield item._replace(name=f"{batch.number}.{item.name}")


def _build(settings: Settings, network: Any, chains: int) -> list[Sampler]:
    """One sampler a batch; batches of the same size share one, since a sampler never changes.

    Sizes differ by one at most and depend on nothing but the number of chains. Settings may ask for smaller batches
    (`chains_per_batch`) when their kernel gains nothing from words, so that cores share the chains.
    """
    most = min(int(getattr(settings, "chains_per_batch", CHAINS_PER_BATCH)), CHAINS_PER_BATCH)
    n_batches = -(-chains // most)
    sizes = [chains // n_batches + (at < chains % n_batches) for at in range(n_batches)]
    made = {size: settings.build(network, size) for size in sorted(set(sizes), reverse=True)}
    return [made[size] for size in sizes]


def _batches(
    samplers: Sequence[Sampler],
    seed: int,
    *,
    n_all: int,
    burn_in: int,
    draws: int,
    atoms: Int32,
    events: Events,
    chains: int,
    conditional: bool,
    observers: Sequence[Observer],
) -> list[Batch]:
    seeds = np.random.SeedSequence(seed).spawn(len(samplers))
    return [
        Batch(
            number,
            sampler,
            own_seed,
            n_all=n_all,
            burn_in=burn_in,
            draws=draws,
            atoms=atoms,
            events=events,
            n_slots=slots_for(len(atoms) + events.n_events, chains),
            conditional=conditional,
            sum_slots=chains <= SUM_SLOTS_UP_TO,
            observers=observers,
        )
        for number, (sampler, own_seed) in enumerate(zip(samplers, seeds, strict=True))
    ]


def _event_rows(events: Sequence[Int32]) -> Events:
    literals = np.concatenate([np.asarray(event, np.int32) for event in events]) if events else np.zeros(0, np.int32)
    return Events(offsets([len(event) for event in events]), literals.astype(np.int32))


def _check_atoms(atoms: Int32, events: Events, n_all: int) -> None:
    for name, numbers in (("query atom", atoms), ("event literal", events.literal >> 1)):
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < n_all):
            raise ValueError(f"{name} outside of the network's {n_all} atoms")


def _check_numbers(
    chains: int,
    draws: int,
    burn_in: int,
    seed: int,
    thin: int,
    time_limit: float | None,
    target_stderr: float | None,
    threads: int | None,
) -> None:
    least = {"chains": (chains, 1), "draws": (draws, 1), "burn-in": (burn_in, 0), "seed": (seed, 0), "thin": (thin, 1)}
    if threads is not None:
        least["threads"] = (threads, 1)
    for name, (value, at_least) in least.items():
        if value < at_least:
            raise InputError(f"{name} is {value}, it must be {at_least} or more")
    for name, limit in (("time limit", time_limit), ("target standard error", target_stderr)):
        if limit is not None and not limit > 0:
            raise InputError(f"the {name} is {limit}, it must be above 0")


def _decided(network: Any, atoms: Int32) -> npt.NDArray[np.bool_] | None:
    """Which query atoms hard unit clauses fix; networks without biases fix none."""
    bias = getattr(network, "atom_bias", None)
    return None if bias is None else np.asarray(np.isinf(bias[atoms]), np.bool_)


def _total(parts: Sequence[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, 0) + value
    return total


def _digest(network: Any, atoms: Int32, events: Events, *, floats: bool) -> str:
    """A digest of the network's arrays and of the query.

    Where the caller has a fingerprint of the problem, weights are left to it: summing them in another order may change a
    last bit.
    """
    digest = hashlib.blake2b(digest_size=16)
    fields = {f.name: getattr(network, f.name) for f in dataclasses.fields(network)} if dataclasses.is_dataclass(network) else {}
    for name, value in [*sorted(fields.items()), ("query", atoms), ("event_start", events.start), ("event", events.literal)]:
        if isinstance(value, np.ndarray) and (floats or value.dtype.kind != "f"):
            digest.update(f"{name} {value.dtype} {value.shape}".encode())
            digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
