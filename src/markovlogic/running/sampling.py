"""What a user chose about sampling, and the schedule that it comes to: checked once, handed down whole."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from operator import index

from markovlogic.errors import InputError
from markovlogic.system.cancellation import SHORT_SECONDS, time_limit_of

DRAWS = 1000  # a chain, by default
BURN_IN_SHARE = 4  # of so many draws one more is made before
SHARE_OF_LIMIT = 0.25  # of a time limit, for what is solved exactly beside chains
LONGEST_EXACT_SECONDS = 20.0  # that `auto` gives to a method that makes no draws
ABOUT_WORLDS = ("--worlds", "--thin")
ORBITS = ("auto", "twin", "refined", "automorphism")  # what chains and estimators may be set to use (papers.md 3.15)
ORBITS_OPTION = "--set orbits"  # has no option of its own
ABOUT_DRAWS = (*ABOUT_WORLDS, "--checkpoint", "--resume", "--keep-draws", "--estimator", ORBITS_OPTION)

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Sampling:
    """What a user chose about sampling; None and False mean that nothing was given."""

    chains: int | None = None
    draws: int | None = None
    burn_in: int | None = None
    seed: int | None = None
    time_limit: float | None = None
    target_stderr: float | None = None
    worlds: Path | None = None
    thin: int | None = None
    checkpoint: Path | None = None
    resume: bool = False
    keep_draws: bool = False
    estimator: str = "auto"
    orbits: str = "auto"

    def given(self) -> list[str]:
        """Names of what was given, as the command line spells them."""
        names = [name for name, value in vars(self).items() if value is not None and value is not False and value != "auto"]
        return [ORBITS_OPTION if name == "orbits" else f"--{name.replace('_', '-')}" for name in names]

    def about_draws(self) -> list[str]:
        """Names of what was given that is about the draws themselves, so that exact inference could not do it."""
        return [name for name in self.given() if name in ABOUT_DRAWS]

    @property
    def needs_draws(self) -> bool:
        """Whether only a sampler can do what is wanted."""
        return bool(self.about_draws())

    @property
    def seconds(self) -> float | None:
        """The time limit; None where the run may take as long as it likes."""
        return time_limit_of(self.time_limit)

    @property
    def exact_seconds(self) -> float:
        """Predicted seconds up to which `auto` takes a method that makes no draws."""
        limit = self.seconds
        return LONGEST_EXACT_SECONDS if limit is None else min(LONGEST_EXACT_SECONDS, max(limit, SHORT_SECONDS))

    @property
    def share_seconds(self) -> float:
        """Predicted seconds for components that `auto` solves exactly beside chains, which need time too.

        A run that may be resumed must not choose them by a limit, which may be another one then.
        """
        limited = self.seconds is not None and self.checkpoint is None
        return self.exact_seconds * SHARE_OF_LIMIT if limited else LONGEST_EXACT_SECONDS

    @property
    def needs_all_draws(self) -> bool:
        """Whether draws of all atoms are wanted, so that none can be solved exactly; a checkpoint holds those that are made."""
        return not set(self.about_draws()) <= {"--checkpoint", "--resume"}

    def check(self) -> None:
        """Refuse what makes no sense, whatever the method."""
        if self.resume and self.checkpoint is None:
            raise InputError("--resume needs --checkpoint DIR: the place where the run was saved")
        if self.checkpoint is not None and not os.fspath(self.checkpoint).strip():
            raise InputError("--checkpoint is an empty name", hint="expected a directory, which is made if it does not exist")
        if self.worlds is not None and not os.fspath(self.worlds).lower().endswith(".parquet"):
            raise InputError(
                f"--worlds {os.fspath(self.worlds)!r}: worlds are written as Parquet only", hint="expected FILE.parquet"
            )
        if self.thin is not None and self.worlds is None and not self.keep_draws:
            raise InputError("--thin works only with --worlds FILE.parquet: it says which worlds to write")
        least = {"chains": 1, "draws": 1, "burn_in": 0, "seed": 0, "thin": 1}
        for name, at_least in least.items():
            value = vars(self)[name]
            if value is not None and index(value) < at_least:
                raise InputError(f"{name.replace('_', '-')} is {value}, it must be {at_least} or more")
        for name, limit in (("time limit", self.time_limit), ("target standard error", self.target_stderr)):
            if limit is not None and not limit > 0:
                raise InputError(f"the {name} is {limit}, it must be above 0")

    def schedule(self, default_chains: int) -> Schedule:
        """The schedule of a run, with defaults where nothing was given."""
        self.check()
        draws = _or(self.draws, DRAWS)
        return Schedule(
            chains=_or(self.chains, default_chains),
            draws=draws,
            burn_in=_or(self.burn_in, draws // BURN_IN_SHARE),
            burn_in_given=self.burn_in is not None,
            seed=_or(self.seed, 0),
            time_limit=self.seconds,
            target_stderr=None if self.target_stderr is None else float(self.target_stderr),
            thin=_or(self.thin, 1),
            worlds=None if self.worlds is None else os.fspath(self.worlds),
            checkpoint=None if self.checkpoint is None else os.fspath(self.checkpoint),
            resume=self.resume,
            keep_draws=self.keep_draws,
        )


@dataclass(frozen=True)
class Schedule:
    """How long chains run and what is kept of them; draws and burn-in count sweeps a chain."""

    chains: int
    draws: int
    burn_in: int
    seed: int = 0
    time_limit: float | None = None  # seconds; an interrupted run's count too, compiling does not
    target_stderr: float | None = None
    thin: int = 1
    worlds: str | None = None
    checkpoint: str | None = None
    resume: bool = False
    keep_draws: bool = False
    gives_up: bool = False  # end the run early where chains disagree after burn-in, since something else will go on
    stream: str = ""  # names the part of a problem whose draws these are, so that parts draw independently
    burn_in_given: bool = True  # else it follows from the draws, and a run that is continued keeps its own

    @property
    def entropy(self) -> int | list[int]:
        """What generators are seeded with."""
        if not self.stream:
            return self.seed
        return [self.seed, int.from_bytes(hashlib.blake2b(self.stream.encode(), digest_size=8).digest())]

    @property
    def is_limited(self) -> bool:
        """Whether time or precision may end a run before its draws are made."""
        return self.time_limit is not None or self.target_stderr is not None

    @property
    def judged_at(self) -> int | None:
        """Sweeps after which chains are checked for agreement; a function of the plan alone, so resumption keeps to it."""
        return min(self.burn_in + max(100, self.draws // 8), self.sweeps) if self.gives_up else None

    @property
    def sweeps(self) -> int:
        """Sweeps a chain, burn-in included."""
        return self.burn_in + self.draws


def _or(value: int | None, default: int) -> int:
    return default if value is None else index(value)  # whole numbers of Python: a checkpoint writes them as JSON
