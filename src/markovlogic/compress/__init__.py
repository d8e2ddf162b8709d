"""Compression of domains and evidence.

The package has the name of the function that users call, `mln.compress(model, evidence, …)`, and Python gives the name to
whichever was loaded last. So the package can be called, and calling it is calling `markovlogic.compression.compress`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Called(ModuleType):
    """A package that is a function too."""

    def __call__(self, *args: Any, **more: Any) -> Any:
        from markovlogic.compression import compress

        return compress(*args, **more)

    @property
    def compress(self) -> _Called:
        """Itself, under the name by which users know it."""
        return self


sys.modules[__name__].__class__ = _Called
