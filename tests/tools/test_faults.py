"""Faults are planted where an operator or a constant works, and nowhere else."""

import ast
import itertools
from pathlib import Path

import pytest
from tools.faults import plant, sites_of

import markovlogic


def mutants(source: str) -> list[str]:
    return [plant(source, site, instead) for site in sites_of(source) for instead in site.instead]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a < b", ["a <= b", "a >= b"]),
        ("a is not b", ["a is b"]),
        ("a not in b", ["a in b"]),
        ("a <= b != c", ["a < b != c", "a > b != c", "a <= b == c"]),
        ("(a + b) * c", ["(a - b) * c", "(a + b) + c"]),
        ("a // (  # two lines\n b)", ["a * (  # two lines\n b)"]),
        ("a and b and c", ["a or b and c", "a and b or c"]),
        ("a += b", ["a -= b"]),
        ("not a", ["a"]),
        ("not(a)", ["(a)"]),
        ("-a", ["a"]),
        ("a[1]", ["a[2]", "a[0]"]),
        ("a[0]", ["a[1]"]),
        ("a[-1]", ["a[1]", "a[-2]", "a[-0]"]),
        ("a * 1000", ["a + 1000"]),
        ("max(a)", ["min(a)"]),
        ("np.minimum(a)", ["np.maximum(a)"]),
        ("a.any()", ["a.all()"]),
        ('f(a, "left")', ['f(a, "right")']),
        ("g(True)", ["g(False)"]),
        ("'äöü', a < b", ["'äöü', a <= b", "'äöü', a >= b"]),
    ],
)
def test_each_kind_of_fault(line: str, expected: list[str]) -> None:
    assert sorted(mutants(line)) == sorted(expected)


def test_texts_types_and_decorators_are_left_alone() -> None:
    source = '''
@kernel(cache=True)
def f(a: "int | None", b: Literal[1] = x) -> A | B:
    """1 + 1 is not 2"""
    c: D | E = f"{a + 1}"
    if TYPE_CHECKING:
        a = 1
    zip(a, b, strict=True)
'''
    assert mutants(source) == []


@pytest.mark.parametrize("file", ["estimation/diagnostics.py", "kernels/bits.py"])
def test_every_fault_of_a_file_is_another_program(file: str) -> None:
    source = (Path(markovlogic.__file__).parent / file).read_text()
    sites = sites_of(source)
    assert len(sites) > 20 and all(before.end <= after.start for before, after in itertools.pairwise(sites))
    original = ast.dump(ast.parse(source))
    for mutant in mutants(source):
        assert ast.dump(ast.parse(mutant)) != original
