"""The run: chains in batches on cores, until the draws are made, the target or the time is reached, or the user stops it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError
from markovlogic.estimation.early import EarlyLooks
from markovlogic.estimation.estimator import NAMED, Estimator
from markovlogic.estimation.orbit_pools import OrbitPools, PoolObserver
from markovlogic.estimation.tallies import Counting, Cubes, Events
from markovlogic.guarantee import Guarantee
from markovlogic.methods.sampling.base import CHAINS_PER_BATCH, Sampler, Settings, Units, total_counts
from markovlogic.networks.base import Network
from markovlogic.networks.ground import GroundNetwork
from markovlogic.networks.hard_part import hard_part
from markovlogic.networks.starts import climbing_visits
from markovlogic.running.batch import Batch, KeepDraws, Observer
from markovlogic.running.checkpoint import Checkpoint, Loaded
from markovlogic.running.loop import Interrupts, Limits, Loop, Recording, Saving, warm_up
from markovlogic.running.run_result import Estimating, RunResult
from markovlogic.running.sampling import Schedule
from markovlogic.running.warm import Ended, WarmStart
from markovlogic.running.worker_pool import WorkerPool, cores
from markovlogic.system.arrays import Int32, Pickled, frozen, offsets
from markovlogic.system.cancellation import SURE, Deadline, current, interrupted
from markovlogic.system.progress import SILENT, Progress

if TYPE_CHECKING:
    from markovlogic.running.worlds import WorldsSink

THREADS_A_BATCH = 2  # that may share one
MOST_SCOUTING = 20_000_000  # literals and atoms that scouts visit, a word of them at once, and their starts: some 0.3 s
SCOUTS = 1 << 20  # in the place of a batch's number where generators are seeded


@dataclass(frozen=True, eq=False)
class Task(Pickled):
    """What is to be estimated, and by which chains.

    events: each as conjunctions of literals (2·atom + sign) that exclude each other. pools: orbits of these query atoms and
    events, for estimators that pool. fingerprint: of the problem that the network comes from.
    """

    settings: Settings
    network: Network
    query_atoms: Int32
    events: Sequence[Cubes] = ()
    estimator: Estimator = NAMED["sample"]
    pools: OrbitPools | None = None
    fingerprint: str = ""
    warm: Ended | None = None  # what an earlier run ended with, for chains on the ground network to begin with

    @property
    def event_rows(self) -> Events:
        """The events in compressed rows."""
        return Events.of(self.events)

    def counting(self, recording: Recording, chains: int, units: Units | None = None, *, in_bytes: bool = False) -> Counting:
        """What is tallied: query atoms, or their whole orbits where conditionals are pooled; units have sums of their own."""
        n_rows, conditional = self.network.n_all, self.estimator.conditional
        atoms = np.ascontiguousarray(self.query_atoms, np.int32)
        if units is not None:
            n_rows, atoms, conditional = 0, atoms[:0], False
        elif conditional and self.estimator.pooled and self.pools is not None:
            atoms = self.pools.counted_atoms
        burn_in = recording.recorded_burn_in
        return Counting(n_rows, atoms, self.event_rows, recording.draws, chains, conditional, burn_in=burn_in, in_bytes=in_bytes)

    def check(self) -> None:
        """Refuse atoms that the network does not have, and pools that are wanting."""
        n_all = self.network.n_all
        for name, numbers in (("query atom", self.query_atoms), ("event literal", self.event_rows.literal >> 1)):
            if len(numbers) and not (numbers.min() >= 0 and numbers.max() < n_all):
                raise ValueError(f"{name} outside of the network's {n_all} atoms")
        if self.estimator.pooled and self.pools is None:
            raise InputError(f"the estimator {self.estimator.name} needs the orbits of the query (`pools`)")

    def digest(self) -> str:
        """A digest of the network's arrays and of the query.

        Where there is a fingerprint of the problem, weights are left to it: summing them in another order may change a last bit.
        """
        digest = hashlib.blake2b(self.network.digest(floats=not self.fingerprint).encode(), digest_size=16)
        rows = self.event_rows
        for array in (np.ascontiguousarray(self.query_atoms, np.int32), *rows):
            digest.update(f"{array.shape}".encode())
            digest.update(array.view(np.uint8).data)
        return digest.hexdigest()


def run(
    task: Task,
    schedule: Schedule,
    *,
    worlds: WorldsSink | None = None,
    observers: Sequence[Observer] = (),
    threads: int | None = None,
    only: int | None = None,
    progress: Progress = SILENT,
) -> RunResult:
    """Sample a network and estimate query atoms and events. only: one batch of the chains, when others run elsewhere.

    The result depends on task and schedule, and never on threads, speed, checkpoints or resumption; a time limit or an interrupt
    only cut it short. The time limit is that of the deadline that goes on (see `infer`), or counts from here; it counts the
    seconds before a resumption too, and not those in which kernels are compiled for the first time. With a limit, burn-in adapts
    to the sweeps that were made. A run that is stopped before its first draw raises.
    """
    if threads is not None and threads < 1:
        raise InputError(f"threads is {threads}, it must be 1 or more")
    outer = current()
    deadline = outer if outer.seconds is not None else Deadline(schedule.time_limit, outer)
    task.check()
    samplers = _build(task.settings, task.network, schedule.chains)
    with ExitStack() as stack:
        stack.enter_context(deadline.of_this_run())
        deadline.allowance = SURE
        store = _opened(schedule, stack)
        loaded = store.load() if store is not None and schedule.resume and store.exists() else None
        recording = _recording(schedule, store, loaded)
        pooling = _pooling(task, schedule, recording)
        keeper = _keeper(task, schedule, recording)
        if worlds is not None:
            there = Path(schedule.checkpoint) if schedule.checkpoint is not None else None
            worlds.begin(task.query_atoms, thin=schedule.thin, checkpoint=there)
            stack.callback(worlds.close)
        watching = [*observers, *(o for o in (keeper, worlds, pooling) if o is not None)]
        n_threads = min(threads or cores(), THREADS_A_BATCH * len(samplers))
        pool = stack.enter_context(WorkerPool(n_threads))
        if n_threads == THREADS_A_BATCH * len(samplers):  # with fewer, each has a batch of its own to do
            samplers = _shared(samplers, pool)
        batches = _batches(task, schedule, recording, samplers, watching)
        if only is not None:
            batches = batches[only : only + 1]
        saving = None if store is None else Saving(store, _identity(task, schedule, recording, watching), recording)
        decided = task.network.decided(task.query_atoms)
        estimating = Estimating(batches, task.query_atoms, decided, task.estimator, pooling)
        stack.enter_context(Interrupts(deadline))
        with deadline.paused():  # a time limit is for sampling, not for what happens once on a machine
            warm_up(samplers[0], progress)
        total = recording.burn_in + schedule.draws
        deadline.listener = _Waiting(progress).report
        estimating = replace(estimating, scouts=_scouted(task, schedule, batches))
        loop = Loop(batches, pool, saving, Limits(deadline, schedule.target_stderr, schedule.judged_at), estimating, progress)
        pool.each(Batch.start, batches)
        progress.stage("sample", total)
        resumed_at = None if loaded is None else loop.resume(loaded)
        if resumed_at is not None and resumed_at > schedule.draws:
            raise InputError(
                f"checkpoint {schedule.checkpoint} holds {resumed_at} draws already, more than --draws {schedule.draws}",
                hint="give at least as many draws",
            )
        loop.go(total)
        seconds = loop.seconds()
        if not batches[0].draws:  # no results: the results of an earlier run stay
            raise interrupted() if loop.stopped == "interrupt" else deadline.out_of_time()
        if worlds is not None:
            worlds.finish(batches[0].dropped)
        kept = keeper.worlds(batches[0].dropped) if keeper is not None else None
    return _result(task, schedule, loop, estimating, _Ending(seconds, resumed_at, kept))


class _Waiting:
    """Shows why there is nothing to sample yet."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._begun = False

    def report(self, why: str) -> None:
        """Show the progress of the search for a world."""
        if not self._begun:
            self._begun = True
            self._progress.stage("search")
        self._progress.advance(0, why)


def _recording(schedule: Schedule, store: Checkpoint | None, loaded: Loaded | None) -> Recording:
    """What is recorded: as the run that is continued began, or as this one says."""
    if store is None or loaded is None:
        return Recording.planned(schedule)
    try:
        return Recording.continued(loaded.facts)
    except (KeyError, ValueError, TypeError) as error:
        raise store.damaged(f"its contents do not fit this run: {error}") from error


@dataclass(frozen=True, eq=False)
class _Ending:
    """What is known once the loop has ended."""

    seconds: float
    resumed_at: int | None
    kept: npt.NDArray[np.bool_] | None


def _result(task: Task, schedule: Schedule, loop: Loop, estimating: Estimating, ending: _Ending) -> RunResult:
    batches = estimating.batches
    counts = total_counts([batch.counts for batch in batches])
    distinct = list({id(batch.sampler): batch.sampler for batch in batches}.values())
    guarantee = Guarantee.EXACT
    for sampler in distinct:
        guarantee = guarantee | sampler.guarantee(counts)
    atoms, events, taken = estimating()
    return RunResult(
        method=task.settings.method,
        estimator=task.estimator,
        taken=taken,
        query_atoms=task.query_atoms,
        atoms=atoms,
        events=events,
        chains=schedule.chains,
        draws=batches[0].draws,
        burn_in=batches[0].sweeps - batches[0].draws,
        updates=sum(batch.updates for batch in batches),
        resumed_at=ending.resumed_at,
        stopped=loop.stopped,
        target_stderr=schedule.target_stderr,
        guarantee=guarantee,
        counts=counts,
        seconds=ending.seconds,
        sampler_concerns=tuple(dict.fromkeys(c for s in distinct for c in s.concerns(counts))),
        kept=ending.kept,
        thin=schedule.thin,
        tallies=tuple(batch.tallies for batch in batches),
        looks=tuple(estimating.looks),
        pooling=estimating.pooling,
        starts=tuple(word for batch in batches for word in batch.starts),
        began_true=None if distinct[0].units else np.sum([batch.began_true(task.query_atoms) for batch in batches], axis=0),
        log_z=distinct[0].log_z([batch.state for batch in batches]) if batches[0].draws else None,
        ended=_ended(task, batches),
    )


def _ended(task: Task, batches: Sequence[Batch]) -> Ended | None:
    """The last worlds of all chains, where chains have worlds of a ground network."""
    if not isinstance(task.network, GroundNetwork):
        return None
    n_atoms, first = task.network.n_atoms, offsets([batch.sampler.n_chains for batch in batches])
    words = np.zeros((n_atoms, -(-int(first[-1]) // 64)), np.uint64)
    for batch, begin in zip(batches, first[:-1].tolist(), strict=True):
        world = batch.state.world[:n_atoms]
        words[:, begin // 64] |= world << np.uint64(begin % 64)
        if begin % 64 and begin // 64 + 1 < words.shape[1]:
            words[:, begin // 64 + 1] |= world >> np.uint64(64 - begin % 64)
    learned = batches[0].sampler.learned([batch.state for batch in batches])
    return frozen(Ended(np.arange(n_atoms), words, int(first[-1]), learned))


def _scouted(task: Task, schedule: Schedule, batches: Sequence[Batch]) -> EarlyLooks | None:
    """Burn-in of as many more chains as there is room for in the words of the only batch, where that takes a moment.

    They start in other worlds than the chains do, and may find modes that few chains miss. No draw of the chains depends on them.
    A run that a limit may end has no time for them.
    """
    network, own = task.network, batches[0].early
    n_chains = CHAINS_PER_BATCH - schedule.chains
    if own is None or schedule.is_limited or not n_chains > 0 or len(batches) > 1 or not isinstance(network, GroundNetwork):
        return None
    visits = own.burn_in * (network.n_literals + network.n_all) + climbing_visits(network, n_chains)
    if not task.settings.may_scout or visits > MOST_SCOUTING or not hard_part(network).is_empty:
        return None
    looks = EarlyLooks(own.atoms, own.events, n_chains, own.burn_in, scouts=True)
    sampler = task.settings.build(network, n_chains)
    state = sampler.init(np.random.SeedSequence(schedule.entropy, spawn_key=(SCOUTS,)), schedule.chains)
    while looks.sweeps < own.burn_in:
        sampler.step(state, looks.next_look(looks.sweeps) - looks.sweeps, burn_in=True)
        looks.see(state.world)
    return looks


def _opened(schedule: Schedule, stack: ExitStack) -> Checkpoint | None:
    """The checkpoint's directory, held by this run; refuses one that holds another run."""
    if schedule.checkpoint is None:
        return None
    store = Checkpoint(Path(schedule.checkpoint))
    stack.callback(store.close)
    if store.exists() and not schedule.resume:
        raise InputError(
            f"{schedule.checkpoint} holds a checkpoint already", hint="add --resume to continue it, or remove the directory"
        )
    return store


def _keeper(task: Task, schedule: Schedule, recording: Recording) -> KeepDraws | None:
    if not schedule.keep_draws:
        return None
    draws = schedule.draws + recording.recorded_burn_in
    return KeepDraws(task.query_atoms, chains=schedule.chains, draws=draws, thin=schedule.thin)


def _pooling(task: Task, schedule: Schedule, recording: Recording) -> PoolObserver | None:
    if task.pools is None or not task.estimator.pooled:
        return None
    burn_in = recording.recorded_burn_in
    return task.pools.watch(draws=recording.draws, chains=schedule.chains, seed=schedule.seed, burn_in=burn_in)


def _identity(
    task: Task, schedule: Schedule, recording: Recording, watching: Sequence[Observer | PoolObserver]
) -> dict[str, Any]:
    """What distinguishes this run from others; a checkpoint of another run is refused. More draws are no other run."""
    return {
        "method": task.settings.method,
        "settings": repr(task.settings),
        "chains": schedule.chains,
        "burn_in": schedule.burn_in if schedule.burn_in_given else recording.burn_in,
        "seed": schedule.seed,
        "estimator": task.estimator.name,
        "either": task.estimator.either,
        "orbits": "none" if task.pools is None else task.pools.words,
        "symmetries": task.settings.symmetries or "none",
        "target_stderr": schedule.target_stderr,
        "keep_draws": schedule.keep_draws,
        "thin": schedule.thin,
        "observers": [o.name for o in watching],
        "fingerprint": task.fingerprint,
        "problem": task.digest(),
        **({"stream": schedule.stream} if schedule.stream else {}),
    }


def number_of_batches(settings: Settings, chains: int) -> int:
    """How many batches the chains of a run come in."""
    return -(-chains // min(settings.chains_per_batch, CHAINS_PER_BATCH))


def _build(settings: Settings, network: Network, chains: int) -> list[Sampler]:
    """One sampler a batch; batches of the same size share one, since a sampler never changes.

    Sizes differ by one at most and depend on nothing but the number of chains and on how many a batch takes.
    """
    n_batches = number_of_batches(settings, chains)
    sizes = [chains // n_batches + (at < chains % n_batches) for at in range(n_batches)]
    made = {size: settings.build(network, size) for size in sorted(set(sizes), reverse=True)}
    return [made[size] for size in sizes]


def _shared(samplers: Sequence[Sampler], pool: WorkerPool) -> list[Sampler]:
    """Samplers whose steps may use free threads of the pool; batches that share one go on doing so."""
    made = {id(sampler): sampler.shared(pool.together) for sampler in {id(sampler): sampler for sampler in samplers}.values()}
    return [made[id(sampler)] for sampler in samplers]


def _narrowed(samplers: Sequence[Sampler], counting: Counting) -> tuple[Sequence[Sampler], Counting]:
    """Samplers that count from the first tallied atom to the last alone, where they can."""
    if not counting.n_rows:
        return samplers, counting
    atoms = counting.atoms
    tallied = range(int(atoms.min()), int(atoms.max()) + 1) if len(atoms) else range(0)
    made = {id(sampler): sampler.tallying(tallied) for sampler in samplers}
    found = [own for sampler in samplers if (own := made[id(sampler)]) is not None]
    if len(found) < len(samplers):
        return samplers, counting
    return found, replace(counting, n_rows=len(tallied), first=tallied.start)


def _batches(
    task: Task, schedule: Schedule, recording: Recording, samplers: Sequence[Sampler], observers: Sequence[Observer]
) -> list[Batch]:
    seeds = np.random.SeedSequence(schedule.entropy).spawn(len(samplers))
    in_bytes = samplers[0].counts_in_bytes
    counting = task.counting(recording, schedule.chains, samplers[0].units, in_bytes=in_bytes)
    samplers, counting = _narrowed(samplers, counting)
    first = offsets([sampler.n_chains for sampler in samplers])
    network, warm = task.network, None
    if task.warm is not None and isinstance(network, GroundNetwork):
        warm = WarmStart(network, task.warm)
    return [
        Batch(number, sampler, own_seed, recording.burn_in, counting, observers, int(first[number]), warm)
        for number, (sampler, own_seed) in enumerate(zip(samplers, seeds, strict=True))
    ]
