"""What README and documentation show is what the program does.

Every `$ mln …` of a console block is run in this process, page by page in order, in a directory that holds `examples/`; what
it prints must be what the page shows. `pycon` blocks are doctests in the same place. Other commands (make, pip) are not run here.
"""

from __future__ import annotations

import doctest
import io
import re
import shlex
import shutil
import sys
import types
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from tests.docs.snippets import ROOT, Block, blocks, commands, matches

import markovlogic as mln
from markovlogic.generate import FAMILIES
from markovlogic.methods.table import all_methods
from markovlogic.networks.ground import network_of
from markovlogic.problem.prepare import prepare_problem
from markovlogic.report.progress import LogLines

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


class Stream(io.TextIOWrapper):
    """Text and bytes in one buffer, as a pipe has them."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def text(self) -> str:
        self.flush()
        raw = self.buffer
        assert isinstance(raw, io.BytesIO)
        return raw.getvalue().decode()


def run(command: str) -> tuple[str, int]:
    """Run `mln …` or `cat FILE`; give what a terminal would show, without progress, and the exit code."""
    program, *arguments = shlex.split(command)
    if program == "cat":
        return "".join(Path(name).read_text() for name in arguments), 0
    from markovlogic.cli.main import main

    stream = Stream()
    with redirect_stdout(stream), redirect_stderr(stream):
        code = main(arguments)
    return stream.text(), code


def page_id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    # progress lines tell how slow the machine is, not what the program does
    monkeypatch.setitem(LogLines.__init__.__kwdefaults__, "first", 1e9)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_a_page_tells_the_truth(page: Path, workplace: Path) -> None:
    names: dict[str, object] = {"__name__": "__page__"}
    faults: list[str] = []
    for block in blocks(page):
        if block.language == "console":
            faults += run_console(page, block)
        elif block.language == "pycon":
            faults += run_doctest(page, block, names)
    assert not faults, "\n".join(faults)


def run_console(page: Path, block: Block) -> list[str]:
    """What the commands of a block do that the page does not say."""
    last_code, faults = 0, []
    for command in commands(block):
        if command.text == "echo $?":
            if command.output.strip() != str(last_code):
                faults.append(f"{page_id(page)}:{command.line}: the exit code is {last_code}")
        elif command.text.split()[0] in {"mln", "cat"}:
            printed, last_code = run(command.text)
            where = f"{page_id(page)}:{command.line}: $ {command.text}\n"
            if not command.output and last_code not in {0, 1}:
                faults.append(f"{where}exit code {last_code}\n{printed}")
            elif command.output and not matches(command.output, printed):
                faults.append(f"{where}shown:\n{command.output}\nprinted:\n{printed}")
    return faults


def run_doctest(page: Path, block: Block, names: dict[str, object]) -> list[str]:
    """What the statements of a block print that the page does not say."""
    test = doctest.DocTestParser().get_doctest(block.body, names, page_id(page), str(page), block.line)
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
    runner.run(test, out=report.write, clear_globs=False)
    names.update(test.globs)
    return [report.getvalue()] if runner.failures else []


def error_of_the_skeleton(sampled_weight: float) -> float:
    """Largest error of the skeleton's marginals against enumeration with weight 1.5, in 64 chains of 100 sweeps."""
    (skeleton,) = (block for block in blocks(ROOT / "CONTRIBUTING.md") if block.language == "python")
    module = types.ModuleType("skeleton")
    sys.modules["skeleton"] = module  # data classes look for it
    exec(compile(skeleton.body, "CONTRIBUTING.md", "exec", dont_inherit=True), module.__dict__)
    settings = module.__dict__["PlainGibbs"]
    assert callable(settings)
    sampler = settings().build(network_of(2, [(sampled_weight, [0, 3])], bias={0: 0.4}), 64)
    state = sampler.init(np.random.SeedSequence(1))
    planes, conditionals = np.zeros((2, 8), np.uint64), np.zeros((2, 64), np.float32)
    sampler.step(state, 10, burn_in=True)
    sampler.step(state, 100, planes, conditionals)
    assert (planes != 0).any()
    worlds = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    weight = np.exp(0.4 * worlds[:, 0] + 1.5 * ((worlds[:, 0] == 0) | (worlds[:, 1] == 1)))
    return float(np.abs(conditionals.mean(axis=1) / 100 - weight @ worlds / weight.sum()).max())


# Five standard errors: a conditional varies by less than 0.2 around its mean, 6400 draws with little autocorrelation.
TOLERANCE = 0.013


def test_the_skeleton_of_a_sampler_is_a_right_sampler() -> None:
    assert error_of_the_skeleton(1.5) < TOLERANCE


def test_the_check_above_catches_a_wrong_weight() -> None:
    assert error_of_the_skeleton(1.2) > TOLERANCE


def test_the_skeleton_of_a_compressor_groups_objects(workplace: Path) -> None:
    (skeleton,) = (block for block in blocks(ROOT / "CONTRIBUTING.md") if block.language == "py")
    module = types.ModuleType("compressor")
    sys.modules["compressor"] = module  # data classes look for it
    exec(compile(skeleton.body, "CONTRIBUTING.md", "exec", dont_inherit=True), module.__dict__)
    alphabet = module.__dict__["Alphabet"]()
    model = mln.Model.parse("Likes(person, person)\n1 Likes(x, y) => Likes(y, x)\n")
    facts = model.evidence(Likes={"who": ["Ann", "Bob"], "whom": ["Amy", "Ann"]})
    problem = prepare_problem(model, facts, "Likes").problem
    names, groups = problem.domains["person"].names, alphabet.partition(problem).class_of["person"]
    assert {name: groups[names.index("Ann")] == group for name, group in zip(names, groups, strict=True)} == {
        "Amy": True,
        "Ann": True,
        "Bob": False,
    }
    result = mln.infer(model, facts, "Likes(Bob,Amy)", compress=alphabet)
    assert 0 < result["Likes(Bob,Amy)"] < 1 and "alphabet: 2 groups for 3" in result.run.compression.summary


def test_every_problem_is_in_the_documentation() -> None:
    page = (ROOT / "docs" / "problems.md").read_text()
    for name, family in FAMILIES.items():
        variants = ", ".join(f"`{variant}`" for variant in family.variants)
        row = re.sub(" +", " ", f"| `{name}` | {family.size_means} | {family.default_size} | {variants} |")
        assert row in page
        assert f"**{name}**" in page


def test_the_readme_s_table_of_methods_is_the_table() -> None:
    rows = [f"| `{m.name}` | {m.summary} | `{m.promise}`{', and sampling error' if m.samples else ''} |" for m in all_methods()]
    assert "\n".join(rows) in (ROOT / "README.md").read_text()


def test_every_method_is_on_the_page_of_methods_and_has_a_page() -> None:
    row = r"^\| \[?`([a-z-]+)`(?:\]\(\S+\))? \|.*\| `?(exact|corrected|bounded|unbounded|that of the choice)`?"
    promised = re.findall(row, (ROOT / "docs" / "methods.md").read_text(), re.MULTILINE)
    assert promised == [*((m.name, str(m.promise)) for m in all_methods()), ("auto", "that of the choice")]
    for method in all_methods():
        page = (ROOT / "docs" / "methods" / f"{method.name}.md").read_text()
        assert re.search(rf"\*\*What it promises\.\*\*[^.]*`{method.promise}`", page), method.name


def test_expected_output_is_compared_and_not_waved_through() -> None:
    assert matches("a 1\n...\nc 3\n", "a 1\nb 2\nc 3\n")
    assert not matches("a 1\n...\nc 3\n", "a 1\nb 2\nc 4\n")
    assert not matches("a 1\n", "a 10\n")
    assert matches("P(A) 0.25\n... s\n", "P(A) 0.2500000000001  \n0.31 s\n")
    assert not matches("P(A) 0.25\n", "P(A) 0.2501\n")
    assert not matches("P(A) 0.25\n", "P(A) -0.25\n")


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page_id(page)} links to {target}"
