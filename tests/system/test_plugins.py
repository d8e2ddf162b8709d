"""A package from outside adds a method, a compressor, a command and a variant of settings; the tables are open to all alike."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

ENTRIES = """\
[markovlogic.methods]
halves = outside_package.method:METHOD

[markovlogic.compressors]
forget = outside_package.compressor:Forget

[markovlogic.commands]
greet = outside_package.compressor:greet

[markovlogic.variants]
gibbs = outside_package.method:Patient
broken = outside_package.nowhere:Nothing
"""
METHOD = '''
from dataclasses import dataclass, replace

from markovlogic.methods.samplers import GIBBS
from markovlogic.methods.sampling.gibbs import Gibbs

METHOD = replace(GIBBS, name="halves", summary="Gibbs under another name")


@dataclass(frozen=True)
class Patient(Gibbs):
    """Gibbs with a setting more; mood: changes nothing."""

    mood: str = "calm"
'''
COMPRESSOR = '''
import sys
from dataclasses import dataclass, replace

from markovlogic.compression.base import Compression, Compressor, projection
from markovlogic.guarantee import Guarantee
from markovlogic.symmetry.twins import twin_classes


@dataclass(frozen=True)
class Forget(Compressor):
    """Changes nothing; note: what it says."""

    note: str = "nothing is forgotten"
    name = "forget"
    source = "forget"

    def compress(self, posed, *, needs_problem=False):
        return Compression(posed, projection(posed.problem, posed.problem), Guarantee.EXACT, self.note)

    def classes(self, problem):
        return twin_classes(problem)


def greet() -> int:
    """Say hello."""
    sys.stdout.write("hello from outside\\n")
    return 0
'''


@pytest.fixture
def outside(tmp_path):
    """A folder as an installer leaves it, and the command with that folder on its path."""
    site = tmp_path / "site"
    for name, text in {
        "outside_package/__init__.py": "",
        "outside_package/method.py": METHOD,
        "outside_package/compressor.py": COMPRESSOR,
        "outside_package-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: outside-package\nVersion: 1.0\n",
        "outside_package-1.0.dist-info/entry_points.txt": ENTRIES,
    }.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(textwrap.dedent(text))
    model = tmp_path / "m.mln"
    model.write_text("p = {A, B, C}\nS(p)\nF(p, p)\n0.7 S(x)\n0.5 F(x,y) ^ S(x) => S(y)\n")
    command = "import sys; from markovlogic.cli.main import main; sys.exit(main())"

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        words = [str(model) if word == "MODEL" else str(word) for word in words]
        environment = {**os.environ, "PYTHONPATH": str(site)}
        return subprocess.run(
            [sys.executable, "-c", command, *words], capture_output=True, text=True, check=False, env=environment
        )

    return run


def test_an_outside_package_adds_to_the_tables(outside, tmp_path):
    stats = tmp_path / "s.json"
    call = ("infer", "MODEL", "-q", "S", "--draws", "50", "--chains", "4", "--stats", stats)
    plain = outside(*call, "--method", "gibbs", "--quiet")
    own = outside(*call, "--method", "halves", "--quiet")
    assert own.returncode in (0, 1) and own.stdout == plain.stdout, own.stderr
    assert json.loads(stats.read_text())["method"] == "halves"
    ran = outside(*call, "--method", "exact", "--compress", "forget", "--set", "note=all is kept")
    assert ran.returncode == 0 and "all is kept" in ran.stderr
    assert json.loads(stats.read_text())["guarantee"] == "exact"
    assert outside(*call, "--method", "gibbs", "--set", "mood=calm", "--quiet").stdout == plain.stdout
    refused = outside(*call, "--method", "gibbs", "--set", "mod=calm")
    assert refused.returncode == 2 and "mod" in refused.stderr
    assert outside("greet").stdout == "hello from outside\n"
    listed = outside("infer", "--help").stdout
    assert "forget" in listed
    assert "halves" in json.loads(_explained(outside)) and "greet" in outside("--help").stdout


def _explained(outside) -> str:
    found = json.loads(outside("explain", "MODEL", "-q", "S", "--json").stdout)
    return json.dumps([one["method"] for one in found["candidates"]])
