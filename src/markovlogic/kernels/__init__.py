"""Numba kernels: flat arrays in, flat arrays out; no I/O, no objects, no globals.

Compiled kernels are kept beside their sources (or in Numba's per-user directory where that is not writable). Numba notices a
change of a kernel's own file, not of the files whose functions it calls. So where a source differs from what filled the cache,
the kernels of each module that imports it, directly or not, are dropped here: after an upgrade nobody runs half of the old
version, and what did not change is not compiled again.
"""

import ast
import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import numba

from markovlogic.kernels.lean_start import load_array_functions

load_array_functions()

_HERE = Path(__file__).parent
ALL = "*"  # all sources together, in the stamp


@numba.njit(cache=True)
def _probe():
    """Never called; it tells where Numba keeps what it compiles for this package."""
    return 0


def _cache_directory(folder: Path) -> Path:
    """Where Numba keeps what it compiles of the sources in a folder."""
    locator = type(_probe._cache._impl.locator)
    return Path(locator(_probe.py_func, str(folder / "__init__.py")).get_cache_path())


def sources_digest(directory: Path) -> str:
    """A digest of all kernel sources, those of sub-packages too, and of the compiler's version."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(directory.rglob("*.py")):
        digest.update(source.relative_to(directory).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()


def module_digests(directory: Path) -> dict[str, str]:
    """For each kernel source, by its path in the package, a digest of it and of all sources of the package that it imports."""
    sources = {source.relative_to(directory).as_posix(): source.read_bytes() for source in sorted(directory.rglob("*.py"))}
    imported = {path: _imports(text, sources) for path, text in sources.items()}
    digests = {}
    for path in sources:
        reached, waiting = {path}, [path]
        while waiting:
            further = imported[waiting.pop()] - reached
            reached |= further
            waiting += further
        digest = hashlib.sha256(numba.__version__.encode())
        for one in sorted(reached):
            digest.update(one.encode() + b"\0" + sources[one] + b"\0")
        digests[path] = digest.hexdigest()
    return digests


def _imports(text: bytes, sources: Iterable[str]) -> set[str]:
    """Paths of the kernel sources that a source names in its imports; the package's own `__init__` compiles nothing."""
    named = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            assert not node.level and node.module is not None, "kernels name what they import in full"
            named |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
    inside = [name.removeprefix(f"{__name__}.").replace(".", "/") for name in named if name.startswith(f"{__name__}.")]
    return {path for name in inside for path in (f"{name}.py", f"{name}/__init__.py")}.intersection(sources)


def drop_stale_kernels(directory: Path, cache_of: Callable[[Path], Path]) -> list[str]:
    """Drop what was compiled from other sources than those in `directory`; returns the paths of the sources concerned.

    cache_of: where Numba keeps what it compiles of a folder. Caches that cannot be changed are left alone. A stamp in the first
    of them says from which sources they were filled.
    """
    stamp = cache_of(directory) / "kernels.digest"
    try:
        filled = _read_stamp(stamp)
        now = {ALL: sources_digest(directory)}
        if filled.get(ALL) == now[ALL]:
            return []
        now |= module_digests(directory)
        stale = [path for path, digest in now.items() if path != ALL and filled.get(path) != digest]
        for path in stale:
            source = directory / path
            for compiled in cache_of(source.parent).glob(f"{source.stem}.*.nb[ic]"):
                compiled.unlink(missing_ok=True)
        stamp.parent.mkdir(parents=True, exist_ok=True)
        fresh = stamp.with_name(f"kernels.digest.{os.getpid()}")
        fresh.write_text("".join(f"{path}\t{digest}\n" for path, digest in now.items()))
        fresh.replace(stamp)
    except OSError:
        return []
    return stale


def _read_stamp(stamp: Path) -> dict[str, str]:
    """From which sources the caches were filled; empty where there is no stamp, or one of another version."""
    try:
        return dict(line.split("\t") for line in stamp.read_text().splitlines())
    except (FileNotFoundError, ValueError):
        return {}


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


drop_stale_kernels(_HERE, _cache_directory)
