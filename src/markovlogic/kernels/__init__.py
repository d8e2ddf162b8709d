"""Numba kernels: flat arrays in, flat arrays out; no I/O, no objects, no globals.

Compiled kernels are kept beside this package (or in Numba's per-user directory where that is not writable). Numba notices a
change of a kernel's own file, not of the files whose functions it calls, so the cache is emptied here whenever any kernel's
source differs from the one that filled it: after an upgrade nobody runs half of the old version.
"""

import hashlib
import os
from pathlib import Path

import numba

from markovlogic.kernels.lean_start import load_array_functions

load_array_functions()


@numba.njit(cache=True)
def _probe():
    """Never called; it tells where Numba keeps what it compiles for this package."""
    return 0


def _cache_directory() -> Path:
    return Path(_probe._cache.cache_path)


def sources_digest(directory: Path) -> str:
    """A digest of all kernel sources and of the compiler's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(directory.glob("*.py")):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


def drop_stale_kernels(cache: Path, digest: str) -> bool:
    """Empty the cache unless `digest` filled it; returns whether it did. A cache that cannot be changed is left alone."""
    stamp = cache / "kernels.digest"
    try:
        if stamp.is_file() and stamp.read_text() == digest:
            return False
        cache.mkdir(parents=True, exist_ok=True)
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
    """Whether kernels of one of these modules still have to be compiled on this machine."""
    cache = _cache_directory()
    return any(next(cache.glob(f"{module}.*.nbi"), None) is None for module in modules)


drop_stale_kernels(_cache_directory(), sources_digest(Path(__file__).parent))
