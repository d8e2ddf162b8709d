"""A small project with a test that sees one fault and misses another: both are reported, and the project stays as it was."""

import shutil
from pathlib import Path

import pytest
from tools.copying import copy_project
from tools.faults import sites_of
from tools.mutants import Fault, Limits, Verdict, drawn, files_of_tests, judge, table, without_faults
from tools.part_tests import PartTests

SOURCE = """
def half(n):
    return n // 2


def sign(n):
    return n > 0


def low(n):
    while n > 9:
        n -= 1
    return n
"""
TEST = "from markovlogic.halves import half, low\n\n\ndef test_half():\n    assert half(4) == 2 and low(12) == 9\n"
LIMITS = Limits(test=3.0, all=30.0)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("small") / "project"
    files = {
        "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.', 'src']\naddopts = ['-p', 'no:benchmark']\n",
        "src/markovlogic/__init__.py": "",
        "src/markovlogic/halves.py": SOURCE,
        "src/markovlogic/kernels/__init__.py": "",
        "src/markovlogic/kernels/loops.py": "",
        "src/markovlogic/user.py": "import markovlogic.kernels.loops\n",
        "src/markovlogic/part/inner.py": "ONE = 1\n",
        "src/markovlogic/cli/main.py": "ONE = 1\n",
        "tests/made.py": "from markovlogic.part import inner\n",
        "tests/test_half.py": TEST,
        "tests/test_user.py": "import markovlogic.user\nfrom tests.made import inner\n",
        "tests/part/test_inner_things.py": "",
        "tests/part/test_other.py": "",
        "src/markovlogic/part/deep/low.py": "",
        "tests/part/deep/test_below.py": "",
        "src/markovlogic/kernels/deep/spin.py": "",
        "src/markovlogic/part/spinning.py": "import markovlogic.kernels.deep.spin\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    shutil.copytree(Path(__file__).parents[2] / "tools", root / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    return root


def test_tests_of_a_file_are_found_by_name_import_and_folder(project: Path) -> None:
    tests = PartTests(project)
    assert files_of_tests(tests, "halves.py", {}) == ["tests/test_half.py"]
    assert files_of_tests(tests, "kernels/loops.py", {}) == ["tests/test_user.py"]
    inner = ["tests/part/test_inner_things.py", "tests/test_user.py", "tests/part/test_other.py"]
    assert files_of_tests(tests, "part/inner.py", {}) == inner
    deep = {"tests/part/deep/test_below.py", "tests/part/test_inner_things.py", "tests/part/test_other.py"}
    assert set(files_of_tests(tests, "part/deep/low.py", {})) == deep
    spin = ["tests/part/deep/test_below.py", "tests/part/test_inner_things.py", "tests/part/test_other.py"]
    assert files_of_tests(tests, "kernels/deep/spin.py", {}) == spin  # of a folder of that name, then of the package that uses it
    assert tests.importers("markovlogic.kernels.loops") == {"markovlogic.kernels.loops", "markovlogic.user"}


def test_the_quick_ones_of_a_rank_come_first(project: Path) -> None:
    tests = PartTests(project)
    seconds = {"tests/part/test_inner_things.py": 0.5, "tests/part/test_other.py": 0.1}
    assert files_of_tests(tests, "part/unknown.py", seconds) == ["tests/part/test_other.py", "tests/part/test_inner_things.py"]


def test_a_draw_is_a_prefix_of_a_longer_one_and_leaves_parts_out(project: Path) -> None:
    faults = drawn(project, "", 3)
    assert faults == drawn(project, "", 3) and faults != drawn(project, "", 4)
    assert {fault.file for fault in faults} == {"halves.py", "part/inner.py"}
    assert [fault.file for fault in drawn(project, "src/markovlogic/part/", 3)] == ["part/inner.py"]


@pytest.mark.parametrize(
    ("line", "instead", "fate", "by"),
    [
        ("return n // 2", "*", "killed", "tests/test_half.py::test_half"),
        ("return n > 0", ">=", "survived", "1 of 1 files of tests"),
        ("n -= 1", "+=", "killed", "tests/test_half.py::test_half (ended by signal 14)"),
    ],
)
def test_faults_are_judged_in_a_copy(project: Path, tmp_path: Path, line: str, instead: str, fate: str, by: str) -> None:
    copy = copy_project(project, tmp_path)
    at = SOURCE.index(line)
    site = next(site for site in sites_of(SOURCE) if at < site.start and instead in site.instead)
    fault = Fault("halves.py", site, instead)
    verdict = judge(copy, fault, LIMITS, {})
    assert (verdict.fate, verdict.by) == (fate, by)
    for root in (project, copy.project):
        assert (root / "src/markovlogic/halves.py").read_text() == SOURCE
    assert f"    - {line}\n" in fault.shown(SOURCE) and instead in fault.shown(SOURCE).splitlines()[-1]
    assert table([verdict]).splitlines()[-1].split() == ["all", *(str(int(fate == name)) for name in ("killed", "survived")), "0"]


def test_a_test_that_fails_without_a_fault_judges_nothing(project: Path, tmp_path: Path) -> None:
    copy = copy_project(project, tmp_path)
    fault = drawn(project, "halves.py", 1)[0]
    verdicts = [Verdict(fault, "killed", "tests/test_half.py::test_half", 1.0), Verdict(fault, "survived", "", 1.0)]
    assert without_faults(copy, verdicts, LIMITS) == verdicts
    (copy.project / "tests/test_half.py").write_text("def test_half():\n    assert False\n")
    assert [verdict.fate for verdict in without_faults(copy, verdicts, LIMITS)] == ["unjudged", "survived"]
