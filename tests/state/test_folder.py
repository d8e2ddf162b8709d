"""The folder of a state: whole or as it was, one run at a time, of one version and one model."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.cli.main import main
from markovlogic.running import checkpoint
from markovlogic.state.saved import SavedState, StateFolder

MODEL = mln.Model.parse("P(thing)\nR(thing, thing)\n0.7 P(x)\n1.1 R(x, y) ^ P(x) => P(y)\n")
FACTS, MORE = "R(A,B)\nR(C,D)\n", "R(A,B)\nR(C,D)\nR(D,E)\n"


def run(path: Path, facts: str, **options):
    file = path.parent / "facts.db"
    file.write_text(facts)
    return mln.infer(MODEL, str(file), "P", state=path, **options)


def arrays(path: Path) -> dict[str, bytes]:
    with StateFolder(path) as folder:
        kept = folder.load()
    assert kept is not None
    return {"key": kept.key.tobytes(), "value": kept.value.tobytes(), "digests": np.sort(kept.digest, axis=0).tobytes()}


class Killed(BaseException):
    pass


def test_a_run_that_is_killed_leaves_the_old_state_or_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at each call to the system while it writes, in turn."""
    path = tmp_path / "state"
    run(path, FACTS)
    old = arrays(path)
    run(tmp_path / "other", MORE)
    new = arrays(tmp_path / "other")
    assert old != new
    seen = []
    for moment in range(50):
        left = [moment]

        def dying(real, left=left):
            def call(*args, **more):
                if not left[0]:
                    raise Killed
                left[0] -= 1
                return real(*args, **more)

            return call

        for name in ("fsync", "replace"):
            monkeypatch.setattr(checkpoint.os, name, dying(getattr(os, name)))
        monkeypatch.setattr(checkpoint, "open", dying(open), raising=False)
        monkeypatch.setattr(checkpoint.json, "dump", dying(json.dump))
        try:
            run(path, MORE)
            survived = True
        except Killed:
            survived = False
        finally:
            monkeypatch.undo()
        found = arrays(path)
        seen.append(found == new)
        assert found in (old, new)
        if survived:
            break
    assert survived and seen[0] is False and seen[-1] is True
    assert sum(not is_new for is_new in seen) > 3


def test_two_runs_on_one_state_are_refused(tmp_path: Path) -> None:
    run(tmp_path / "state", FACTS)
    with StateFolder(tmp_path / "state"), pytest.raises(mln.InputError, match=r"state .* is in use by another process"):
        run(tmp_path / "state", FACTS)


def test_states_of_other_versions_and_models_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "state", FACTS)
    monkeypatch.setattr("markovlogic.state.saved.__version__", "99.0")
    with pytest.raises(mln.InputError, match=r"the state was written by markovlogic .*, this is 99\.0"):
        run(tmp_path / "state", FACTS)
    monkeypatch.undo()
    other = mln.Model.parse("thing = {A}\nQ(thing)\n1 Q(x)\n")
    with pytest.raises(mln.InputError, match="the state is of another model"):
        mln.infer(other, None, "Q", state=tmp_path / "state")


def test_damaged_states_are_refused_and_never_half_used(tmp_path: Path) -> None:
    run(tmp_path / "state", FACTS)
    part = next((tmp_path / "state").glob("part-*.bin"))
    whole = part.read_bytes()
    for damage in (whole[:-7], bytes([whole[0] ^ 1]) + whole[1:], b""):
        part.write_bytes(damage)
        with pytest.raises(mln.InputError, match="state cannot be used"):
            run(tmp_path / "state", FACTS)
    part.write_bytes(whole)
    manifest = tmp_path / "state" / "manifest.json"
    text = manifest.read_text()
    manifest.write_text(text.replace('"chains": ', '"chains": 1'))
    with pytest.raises(mln.InputError, match="it was changed after it was written"):
        run(tmp_path / "state", FACTS)
    manifest.write_text(text)
    assert run(tmp_path / "state", FACTS).remarks


def test_a_limit_leaves_out_worlds_first(tmp_path: Path) -> None:
    options = {"method": "gibbs", "chains": 64, "draws": 100}
    run(tmp_path / "state", FACTS, **options)
    with StateFolder(tmp_path / "state") as folder:
        kept = folder.load()
    assert kept is not None and len(kept.worlds)
    limited = run(tmp_path / "small", FACTS, state_limit=kept.nbytes - 1, **options)
    assert "worlds to start from were left out" in limited.remarks[-1]
    again = run(tmp_path / "small", FACTS, **options)
    np.testing.assert_array_equal(again.probability, limited.probability)
    nothing = run(tmp_path / "none", FACTS, state_limit=10, **options)
    assert "nothing was kept" in nothing.remarks[-1]


def test_what_a_state_cannot_do_is_refused(tmp_path: Path) -> None:
    for options in ({"checkpoint": tmp_path / "c"}, {"keep_draws": True}, {"compress": "twins"}, {"worlds": "w.parquet"}):
        with pytest.raises(mln.InputError, match="--state cannot be used with"):
            run(tmp_path / "state", FACTS, **options)
    with pytest.raises(mln.InputError, match="state cannot be used with compress"):
        mln.maximize(MODEL, str(tmp_path / "facts.db"), "P", state=tmp_path / "state", compress="twins")


def test_a_method_that_works_as_a_whole_says_that_nothing_is_kept(tmp_path: Path) -> None:
    result = run(tmp_path / "state", FACTS, method="lifted")
    assert "nothing is kept in the state" in result.remarks[0]
    again = run(tmp_path / "state", FACTS)
    assert again.guarantee == "exact"
    np.testing.assert_allclose(again.probability, result.probability, atol=1e-12)


def test_an_interrupted_run_leaves_the_state_alone(tmp_path: Path) -> None:
    from markovlogic.system.cancellation import Deadline

    options = {"method": "gibbs", "chains": 64, "draws": 200_000}
    run(tmp_path / "state", FACTS, method="gibbs", chains=64, draws=100)
    before = arrays(tmp_path / "state")
    deadline = Deadline()
    with deadline.of_this_run():
        deadline.cancel()
        try:
            result = run(tmp_path / "state", MORE, **options)
            assert "so the state in" in result.remarks[-1]
        except mln.Interrupted:
            pass
    assert arrays(tmp_path / "state") == before


def test_the_command_shows_what_a_state_holds(tmp_path: Path, capsys) -> None:
    run(tmp_path / "state", FACTS)
    assert main(["state", str(tmp_path / "state")]) == 0
    shown = capsys.readouterr().out
    assert "components" in shown and "exact" in shown
    assert main(["state", str(tmp_path / "state"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["answers"] == 4 and found["components"] == 2 and found["methods"] == {"exact": 4}
    assert main(["state", str(tmp_path / "nowhere")]) == 2
    (tmp_path / "empty").mkdir()
    assert main(["state", str(tmp_path / "empty")]) == 2
    assert SavedState.nothing().find(np.zeros((3, 2), np.uint64)).tolist() == [-1, -1, -1]
