from pathlib import Path
from typing import NamedTuple

import pytest

from markovlogic.cli.main import main

SMOKERS = """\
// people who smoke
person = {Ann, Bob, Cid}
Smokes(person)
Cancer(person)
Friends(person, person)

1.5 Smokes(x) => Cancer(x)
1.1 Friends(x,y) ^ Smokes(x) => Smokes(y)
"""

FACTS = "Friends(Ann,Bob)\nFriends(Bob,Ann)\nSmokes(Ann)\n"


class Ran(NamedTuple):
    """What a call of the command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def mln(capsys):
    """Call the command in this process."""

    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Ran(code, out, err)

    return call


@pytest.fixture
def smokers(tmp_path) -> tuple[Path, Path]:
    """A rule file and its evidence."""
    model, facts = tmp_path / "smokers.mln", tmp_path / "smokers.db"
    model.write_text(SMOKERS)
    facts.write_text(FACTS)
    return model, facts
