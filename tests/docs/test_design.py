"""The page on the design shows the code as it is: the tree, and every function that a walk names."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
PAGE = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(\w+)`\s+in\s+`([\w/]+\.py)`")
TREE = PAGE.split("```")[1]


def packages_of_the_tree() -> set[str]:
    """Folders of the tree on the page, below src."""
    found, above = set(), [""]
    for line in TREE.splitlines():
        name = line.split()[0] if line.strip() else ""
        if name.endswith("/"):
            depth = (len(line) - len(line.lstrip())) // 2
            above[depth:] = [name.removeprefix("src/").rstrip("/")]
            found.add("/".join(above))
    return found


def test_the_tree_is_that_of_the_sources():
    packages = {path.parent.relative_to(SRC).as_posix() for path in SRC.rglob("__init__.py")}
    shown = packages_of_the_tree()
    assert shown <= packages
    assert {path for path in packages if path.count("/") == 1} <= shown


def test_functions_that_are_named_are_in_their_files():
    named = NAMED.findall(PAGE)
    assert len(named) > 30
    missing = []
    for name, path in named:
        text = (SRC / "markovlogic" / path).read_text(encoding="utf-8")
        if not re.search(rf"^(?:    )?(?:def|class) {name}\b|^{name} = ", text, re.MULTILINE):
            missing.append(f"{name} in {path}")
    assert not missing


def test_lines_are_short():
    long = [
        f"{name}:{number}"
        for name in ("design.md", "decisions.md")
        for number, line in enumerate((ROOT / "docs" / name).read_text(encoding="utf-8").splitlines(), 1)
        if len(line) >= 100
    ]
    assert not long
