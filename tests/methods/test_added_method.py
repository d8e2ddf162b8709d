"""Adding a method is one file and one line: done here exactly as CONTRIBUTING says, in a copy of the package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.snippets import ROOT, blocks

PACKAGE = ROOT / "src" / "markovlogic"
OFFERING = """from markovlogic.methods.base import Offer


@dataclass(frozen=True)
class Offering(SamplingMethod):
    def offer(self, case, cost, wish):
        return Offer(True, "it offered itself", alone=True)


"""
LINE = '    "exact": "markovlogic.methods.exact_method:METHOD",\n'
OWN_LINE = '    "plain-gibbs": "markovlogic.methods.plain_gibbs:METHOD",\n'
BEFORE = '    "lifted-mh": "markovlogic.methods.samplers:LIFTED_MH",\n'


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the skeleton of CONTRIBUTING in it; compiled kernels come along."""
    folder = tmp_path_factory.mktemp("grown")
    shutil.copytree(PACKAGE, folder / "markovlogic")
    (skeleton,) = (block for block in blocks(ROOT / "CONTRIBUTING.md") if block.language == "python")
    (folder / "markovlogic" / "methods" / "plain_gibbs.py").write_text(skeleton.body)
    table = folder / "markovlogic" / "methods" / "table.py"
    text = table.read_text()
    assert text.count(BEFORE) == 1
    table.write_text(text.replace(BEFORE, BEFORE + OWN_LINE))
    return folder


def mln(grown: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "import sys; from markovlogic.cli.main import main; sys.exit(main())", *arguments]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": str(grown)}, capture_output=True, text=True, timeout=300)


def smokers(*more: str) -> tuple[str, ...]:
    folder = ROOT / "examples"
    return (str(folder / "smokers.mln"), "-e", str(folder / "smokers.db"), "-q", "Smokes,Cancer", *more)


def test_the_command_line_knows_it_and_it_answers(grown: Path, tmp_path: Path) -> None:
    assert "plain-gibbs" in mln(grown, "infer", "--help").stdout.replace("\n", "")
    stats = tmp_path / "stats.json"
    ran = mln(grown, "infer", *smokers("--method", "plain-gibbs", "--draws", "300", "--stats", str(stats)))
    assert ran.returncode in (0, 1), ran.stderr
    found = dict(line.split() for line in ran.stdout.splitlines())
    exact = dict(line.split() for line in mln(grown, "infer", *smokers("--method", "exact")).stdout.splitlines())
    assert found.keys() == exact.keys()
    # the largest standard error of 8 chains of 300 draws is about 0.02
    assert max(abs(float(found[atom]) - float(exact[atom])) for atom in exact) < 0.1
    reported = json.loads(stats.read_text())
    assert (reported["method"], reported["network"], reported["chains"], reported["guarantee"]) == (
        "plain-gibbs",
        "ground",
        8,
        "exact",
    )


def test_explain_plans_it_and_auto_goes_on_as_before(grown: Path) -> None:
    reported = json.loads(mln(grown, "explain", *smokers("--method", "plain-gibbs", "--json")).stdout)
    assert reported["plan"]["method"] == "plain-gibbs" and reported["plan"]["estimator"].endswith("conditional")
    reported = json.loads(mln(grown, "explain", *smokers("--json")).stdout)
    assert reported["plan"]["method"] == "exact"
    assert "plain-gibbs" in [candidate["method"] for candidate in reported["candidates"]]


def test_auto_takes_what_offers_itself(grown: Path, tmp_path: Path) -> None:
    """With an `offer` and a place at the head of the table."""
    folder = tmp_path / "offering"
    shutil.copytree(grown, folder)
    methods = folder / "markovlogic" / "methods"
    skeleton = (methods / "plain_gibbs.py").read_text()
    offering = skeleton.replace("METHOD = SamplingMethod(", f"{OFFERING}METHOD = Offering(")
    (methods / "plain_gibbs.py").write_text(offering)
    table = methods / "table.py"
    text = table.read_text().replace(OWN_LINE, "")
    table.write_text(text.replace(LINE, OWN_LINE + LINE))
    reported = json.loads(mln(folder, "explain", *smokers("--json")).stdout)
    assert reported["plan"]["method"] == "plain-gibbs" and reported["plan"]["reason"].startswith("it offered itself")


def test_an_unknown_name_lists_it(grown: Path) -> None:
    ran = mln(grown, "infer", *smokers("--method", "plain-gibs"))
    assert ran.returncode == 2 and "did you mean plain-gibbs?" in ran.stderr
