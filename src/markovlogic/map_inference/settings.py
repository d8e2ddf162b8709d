"""What a user may choose of the search for a world."""

from __future__ import annotations

from dataclasses import dataclass

from markovlogic.errors import InputError

NOISE = 0.5


@dataclass(frozen=True)
class SearchSettings:
    """Of MaxWalkSAT."""

    tries: int = 10  # walks from different worlds
    flips: int | None = None  # of a try, over all components; None: by their atoms
    noise: float = NOISE  # share of random moves at the beginning of a try; it falls to nothing
    seed: int = 0

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise InputError(f"tries must be at least 1, not {self.tries}")
        if self.flips is not None and self.flips < 1:
            raise InputError(f"flips must be at least 1, not {self.flips}")
        if not 0.0 <= self.noise <= 1.0:
            raise InputError(f"noise must be a share from 0 to 1, not {self.noise}")
        if self.seed < 0:
            raise InputError(f"seed must be at least 0, not {self.seed}")
