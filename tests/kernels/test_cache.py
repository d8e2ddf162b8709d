"""Compiled kernels are dropped when a source that they depend on changes, because Numba looks at the caller's file only."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import markovlogic
from markovlogic.kernels import are_cold, drop_stale_kernels, sources_digest
from markovlogic.methods.sampling.blocked import Blocked
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.mcsat import MCSAT
from markovlogic.networks.ground import network_of


def test_the_digest_changes_with_any_source(tmp_path):
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "b.py").write_text("y = 1")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "c.py").write_text("z = 1")
    digests = {sources_digest(tmp_path)}
    (tmp_path / "b.py").write_text("y = 2")
    digests.add(sources_digest(tmp_path))
    (tmp_path / "inner" / "c.py").write_text("z = 2")
    digests.add(sources_digest(tmp_path))
    (tmp_path / "inner" / "c.py").rename(tmp_path / "c.py")
    digests.add(sources_digest(tmp_path))
    assert len(digests) == 4


SOURCES = {
    "__init__.py": "",
    "low.py": "from numba import njit\n",
    "middle.py": "from markovlogic.kernels.low import f\n",
    "inner/__init__.py": "",
    "inner/high.py": "def late():\n    from markovlogic.kernels import middle\n",
    "inner/other.py": "import numpy as np\n",
}


def test_what_imports_a_changed_source_is_dropped_and_nothing_else(tmp_path):
    for path, text in SOURCES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)

    def drop() -> set[str]:
        return set(drop_stale_kernels(tmp_path, lambda folder: folder / "cache"))

    def compiled(path: str) -> Path:
        return tmp_path / Path(path).parent / "cache" / f"{Path(path).stem}.f-1.py311.nbi"

    assert drop() == set(SOURCES)
    assert drop() == set()
    users = {
        "low.py": {"low.py", "middle.py", "inner/high.py"},
        "middle.py": {"middle.py", "inner/high.py"},
        "inner/high.py": {"inner/high.py"},
        "inner/other.py": {"inner/other.py"},
    }
    for changed, stale in users.items():
        for path in SOURCES:
            compiled(path).parent.mkdir(exist_ok=True)
            compiled(path).write_bytes(b"")
        (tmp_path / changed).write_text(SOURCES[changed] + "# changed\n")
        assert drop() == stale
        assert {path for path in SOURCES if not compiled(path).exists()} == stale
    (tmp_path / "cache" / "kernels.digest").write_text("of another version")
    assert drop() == set(SOURCES)


IN_A_COPY = """
import sys
sys.path.insert(0, sys.argv[1])
import markovlogic
assert markovlogic.__file__.startswith(sys.argv[1])
from markovlogic.kernels import are_cold
if sys.argv[2] == "compile":
    import numpy as np
    from markovlogic.kernels.gibbs.layout import LongClauses
    from markovlogic.kernels.gibbs.long import count_words
    words, none = np.zeros(2, np.uint64), np.zeros(0, np.int64)
    count_words(LongClauses(none, none, none, none, 0), none, none, words, words)
print(are_cold(("gibbs.long",)))
"""


def test_a_change_of_a_called_kernel_drops_what_sub_packages_compiled(tmp_path):
    package = Path(markovlogic.__file__).parent
    shutil.copytree(package, tmp_path / "markovlogic", ignore=shutil.ignore_patterns("__pycache__"))

    def is_cold(what: str) -> bool:
        command = [sys.executable, "-c", IN_A_COPY, str(tmp_path), what]
        environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip() == "True"

    assert is_cold("look")
    assert not is_cold("compile")
    assert not is_cold("look")
    for changed, cold in (("mcsat.py", False), ("vectors.py", True)):  # gibbs.long calls functions of the second
        source = tmp_path / "markovlogic" / "kernels" / changed
        source.write_text(source.read_text() + "\n")
        assert is_cold("look") is cold


def test_a_cache_that_cannot_be_made_is_left_alone(tmp_path):
    (tmp_path / "file").write_text("")
    assert not drop_stale_kernels(tmp_path, lambda folder: folder / "file" / "cache")


def test_an_unknown_module_is_cold():
    assert are_cold(("no_such_kernel",))
    assert are_cold(("gibbs.no_such_kernel",))
    assert not are_cold(())


@pytest.mark.parametrize("settings", [Gibbs(), MCSAT(), Blocked()], ids=lambda settings: settings.method)
@pytest.mark.parametrize("chains", [1, 8])
def test_after_a_step_the_kernels_that_a_sampler_names_are_warm(settings, chains):
    sampler = settings.build(network_of(3, [(1.0, [1, 3]), (0.5, [0, 5])]), chains)
    assert sampler.kernel_modules
    sampler.step(sampler.init(np.random.SeedSequence(1)), 1)
    assert not are_cold(sampler.kernel_modules)


@pytest.mark.parametrize("groups", [[], [[0, 1]]])
def test_a_shared_batch_has_kernels_of_its_own(groups):
    whole = Gibbs().build(network_of(3, [(1.0, [1, 5]), (0.5, [0, 5])], groups=groups), 40)
    halves = replace(whole, together=lambda calls: [call() for call in calls])
    assert set(whole.kernel_modules).isdisjoint(halves.kernel_modules)
    halves.step(halves.init(np.random.SeedSequence(1)), 1)
    assert not are_cold(halves.kernel_modules)
