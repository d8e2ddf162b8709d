"""What tells a kernel how many lanes it has, for tests that call operations on lanes by themselves."""

from typing import NamedTuple


class All(NamedTuple):
    """Sixty-four lanes."""

    nothing: int = 0

    @staticmethod
    def lanes() -> int:
        return 64


class Half(NamedTuple):
    """Thirty-two."""

    nothing: int = 0

    @staticmethod
    def lanes() -> int:
        return 32


ALL, HALF = All(), Half()
