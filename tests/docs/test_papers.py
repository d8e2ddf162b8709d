"""Every key that the sources cite is on the page of the papers, and every file that the page names exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
KEYS = set(re.findall(r"^(\d\.\d+a?) ", PAGE, re.MULTILINE))
CITED = re.compile(r"papers\.md\s+((?:\d\.\d+[a-z]?(?: \([iv]+\))?(?:, | and )?)+)")


def citations() -> dict[str, set[str]]:
    """Key cited to files that cite it."""
    found: dict[str, set[str]] = {}
    for folder in ("src", "tests"):
        for path in (ROOT / folder).rglob("*.py"):
            for keys in CITED.findall(path.read_text(encoding="utf-8")):
                for key in re.findall(r"\d\.\d+[a-z]?", keys):
                    found.setdefault(key, set()).add(path.name)
    return found


def test_keys_that_are_cited_are_on_the_page():
    cited = citations()
    assert len(cited) > 25
    missing = {key: files for key, files in cited.items() if key not in KEYS and key.rstrip("abcdefg") not in KEYS}
    assert not missing


def test_files_that_the_page_names_exist():
    names = {path.name for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py")}
    assert set(re.findall(r"(\w+\.py)\b", PAGE)) <= names


def test_paths_of_the_table_exist():
    below = {"src": ROOT / "src" / "markovlogic", "tests": ROOT / "tests"}
    rows = [row.split("|") for row in PAGE.splitlines() if row.startswith("| ") and row.count("|") == 6]
    assert len(rows) > 40
    for row in rows:
        for path in re.findall(r"`(\w+/[\w/]+\.py)`", row[2]):
            assert (below["src"] / path).exists(), path
        for path in re.findall(r"`papers:([\w/]+\.py)`", row[2]):
            assert (ROOT / "src" / "markovlogic_papers" / path).exists(), path
        for path in re.findall(r"`([\w/]+\.py)`", row[4]):
            assert (below["tests"] / path).exists(), path
