"""What `mln learn` refuses, with exit codes and what to do instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from markovlogic.cli.main import main


def files(folder: Path, rules: str, *facts: str) -> list[str]:
    """A model and training databases as the command line takes them."""
    (folder / "m.mln").write_text(rules)
    given = [str(folder / "m.mln")]
    for at, text in enumerate(facts):
        (folder / f"{at}.db").write_text(text)
        given += ["-e", str(folder / f"{at}.db")]
    return given


def test_too_little_memory_where_all_rules_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = "".join(f"{'' if at % 3 else '!'}P(A{at})\n" for at in range(400))
    given = files(tmp_path, "P(t)\nP(x) ^ P(y)\n", facts)
    assert main(["learn", *given, "-q", "P", "--memory-limit", "1KB", "-o", f"{tmp_path}/o.mln"]) == 3
    told = capsys.readouterr().err
    assert "would need about" in told and "the limit is 1 kB; model fewer predicates with -q" in told


def test_a_negative_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = files(tmp_path, "P(t)\nP(x)\n", "P(A)\n!P(B)\n")
    assert main(["learn", *given, "--seed", "-3", "-o", f"{tmp_path}/o.mln"]) == 2
    assert "--seed must be at least 0, not -3" in capsys.readouterr().err
