"""Numba kernels: flat arrays in, flat arrays out; no I/O, no objects, no globals.

Compiled kernels are kept beside their sources (or in Numba's per-user directory where that is not writable). Numba notices a
change of a kernel's own file, not of the files whose functions it calls, so the cache is emptied here whenever any kernel's
source differs from the one that filled it: after an upgrade nobody runs half of the old version.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numba

from markovlogic.kernels.lean_start import load_array_functions

load_array_functions()

_HERE = Path(__file__).parent


@numba.njit(cache=True)
def _probe():
    """Never called; it tells where Numba keeps what it compiles for this package."""
    return 0


def _cache_directory(folder: Path) -> Path:
    """Where Numba keeps what it compiles of the sources in a folder."""
    locator = type(_probe._cache._impl.locator)
    return Path(locator(_probe.py_func, str(folder / "__init__.py")).get_cache_path())


def _folders(directory: Path) -> list[Path]:
    """The package and its sub-packages."""
    return sorted(source.parent for source in directory.rglob("__init__.py"))


def sources_digest(directory: Path) -> str:
    """A digest of all kernel sources, those of sub-packages too, and of the compiler's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(directory.rglob("*.py")):
        digest.update(source.relative_to(directory).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


def drop_stale_kernels(caches: Sequence[Path], digest: str) -> bool:
    """Empty the caches unless `digest` filled them; returns whether it did. Caches that cannot be changed are left alone.

    The first of them holds the stamp.
    """
    stamp = caches[0] / "kernels.digest"
    try:
        if stamp.is_file() and stamp.read_text() == digest:
            return False
        caches[0].mkdir(parents=True, exist_ok=True)
        for cache in caches:
            for pattern in ("*.nbi", "*.nbc"):
                for compiled in cache.glob(pattern):
                    compiled.unlink(missing_ok=True)
        fresh = stamp.with_name(f"kernels.digest.{os.getpid()}")
        fresh.write_text(digest)
        fresh.replace(stamp)
    except OSError:
        return False
    return True


def are_cold(modules: tuple[str, ...]) -> bool:
    """Whether kernels of one of these modules still have to be compiled on this machine.

    A module is named like "mcsat" or "gibbs.sweep", and "gibbs.sweep:sweep_half" means this kernel of it.
    """
    for named in modules:
        module, _, kernel = named.partition(":")
        *packages, name = module.split(".")
        pattern = f"{name}.{kernel}-*.nbi" if kernel else f"{name}.*.nbi"
        if next(_cache_directory(_HERE.joinpath(*packages)).glob(pattern), None) is None:
            return True
    return False


drop_stale_kernels([_cache_directory(folder) for folder in _folders(_HERE)], sources_digest(_HERE))
