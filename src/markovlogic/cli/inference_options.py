"""Options that `infer`, `explain` and `why` share: one list, and one way from it to the Python functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import typer

from markovlogic.cli import options

if TYPE_CHECKING:
    from markovlogic.compression.base import Compressor
    from markovlogic.methods.base import MethodSettings
    from markovlogic.scale_out.options import EngineOptions


@dataclass(frozen=True)
class InferenceOptions:
    """What a user chose about the problem, the method and sampling, as text and numbers."""

    open_: options.Open = None
    closed: options.Closed = None
    closed_types: options.ClosedTypes = False
    clause_weights: options.ClauseWeights = "formula"
    method: options.Method = "auto"
    set_: options.Set = None
    network: options.Network = "auto"
    compress: options.Compress = "none"
    rank: options.Rank = None
    ratio: options.Ratio = None
    compress_as: options.CompressAs = "auto"
    proposals: options.Proposals = "none"
    memory_limit: options.MemoryLimit = None
    estimator: options.Estimator = "auto"
    chains: options.Chains = None
    draws: options.Draws = None
    burn_in: options.BurnIn = None
    seed: options.Seed = None
    time_limit: options.TimeLimit = None
    target_stderr: options.TargetStderr = None
    worlds: options.Worlds = None
    thin: options.Thin = None
    checkpoint: options.Checkpoint = None

    def check(self) -> None:
        """Refuse numbers that no run can have, before heavy modules are loaded."""
        options.memory_size(self.memory_limit)
        options.check_sampling(self.chains, self.draws, self.burn_in, self.seed, self.thin, self.time_limit, self.target_stderr)

    @cached_property
    def _settings(self) -> tuple[str | MethodSettings, Compressor | None, Compressor | None, str]:
        return options.read_settings(self.method, self.set_ or (), self.compress, self.rank, self.ratio, self.proposals)

    def values(self) -> dict[str, Any]:
        """By the names that the Python functions have for them; `--set`, rank and ratio are part of other values."""
        method, compressor, source, orbits = self._settings
        read = {
            "open_": options.names(self.open_), "closed": options.names(self.closed), "method": method, "compress": compressor,
            "proposals": source, "orbits": orbits, "memory_limit": options.memory_size(self.memory_limit),
        }  # fmt: skip
        merged = ("set_", "rank", "ratio")
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in merged} | read

    def for_engine(self, include_evidence: bool, resume: bool = False, top: int | None = None) -> EngineOptions:
        """As an engine takes them."""
        from markovlogic.problem.prepare import Assumptions
        from markovlogic.running.sampling import Sampling
        from markovlogic.scale_out.options import EngineOptions

        given = self.values()
        names = (field.name for field in fields(Sampling))
        sampling = Sampling(**{name: given[name] for name in names if name in given}, resume=resume)
        assumed = Assumptions(given["open_"], given["closed"], self.closed_types, self.clause_weights)
        return EngineOptions(sampling, given["method"], assumed, include_evidence, top)

    def not_on_engine(self) -> dict[str, Any]:
        """What an engine refuses where it was given."""
        given = self.values()
        return {name: given[name] for name in ("network", "compress", "proposals")}


def with_inference_options(
    *, without: Sequence[str] = (), hidden: Sequence[str] = ()
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """A command whose parameter `given` stands for all fields of `InferenceOptions`, each an option of its own.

    without: options that the command does not have. hidden: those that it takes only to say why it refuses them.
    """
    shared = inspect.signature(InferenceOptions, eval_str=True).parameters
    taken = [shared[name] for name in shared if name not in without]
    taken = [
        one.replace(annotation=Annotated[str | None, typer.Option(hidden=True)], default=None) if one.name in hidden else one
        for one in taken
    ]

    def expanded(command: Callable[..., int]) -> Callable[..., int]:
        def call(**parameters: Any) -> int:
            given = {one.name: parameters.pop(one.name) for one in taken}
            return command(given=InferenceOptions(**given), **parameters)

        own = inspect.signature(command, eval_str=True)
        listed: list[inspect.Parameter] = []
        for one in own.parameters.values():
            listed += taken if one.name == "given" else [one]
        keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in listed]
        call.__signature__ = own.replace(parameters=keyword)  # type: ignore[attr-defined]  # what typer reads
        call.__name__, call.__doc__, call.__module__ = command.__name__, command.__doc__, command.__module__
        call.__annotations__ = {one.name: one.annotation for one in keyword} | {"return": int}
        return call

    return expanded
