"""Every kind of bad input: a clear message, exit code 2, no traceback, and no output file half written."""

import os

import pytest

GOOD_MODEL = "Smokes(person)\nFriends(person,person)\nAge(person,number)\n1.5 Friends(x,y) ^ Smokes(x) => Smokes(y)\n"
GOOD_FACTS = "Smokes(Ann)\nFriends(Ann,Bob)\n"


@pytest.fixture
def refused(mln, tmp_path):
    """Run inference on some texts; check that it is refused as it should be, and give what was stated."""

    def call(model=GOOD_MODEL, facts=GOOD_FACTS, *more, query="Smokes", code=2):
        for name, content in (("m.mln", model), ("f.db", facts)):
            if content is not None:
                (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        before = sorted(os.listdir(tmp_path))
        ran = mln(
            "infer",
            tmp_path / "m.mln",
            "-e",
            tmp_path / "f.db",
            "-q",
            query,
            "-o",
            tmp_path / "out.csv",
            "--stats",
            tmp_path / "s.json",
            *more,
        )
        assert ran.code == code, ran
        assert ran.out == ""
        assert sorted(os.listdir(tmp_path)) == before  # neither output nor a part of it
        return ran.err.replace(str(tmp_path) + os.sep, "")

    return call


def test_the_good_input_is_good(mln, tmp_path):
    (tmp_path / "m.mln").write_text(GOOD_MODEL)
    (tmp_path / "f.db").write_text(GOOD_FACTS + "Age(Ann,7)\n")
    assert mln("infer", tmp_path / "m.mln", "-e", tmp_path / "f.db", "-q", "Smokes").code == 0


def test_undeclared_predicate_in_the_model(refused):
    message = refused(GOOD_MODEL + "2 Smoke(x) => Smokes(x)\n")
    assert message.startswith("m.mln:5:3: ") and "Smoke" in message and "Smokes?" in message


def test_undeclared_predicate_in_the_evidence(refused):
    message = refused(facts=GOOD_FACTS + "Friend(Ann,Bob)\n")
    assert message.startswith("f.db:3:1: ") and "did you mean Friends?" in message


def test_undeclared_predicate_in_the_query(refused):
    message = refused(query="Smoke")
    assert "Smoke" in message and "did you mean Smokes?" in message


def test_wrong_arity(refused):
    assert refused(GOOD_MODEL + "2 Smokes(x,y)\n").startswith("m.mln:5:3: ")
    assert refused(facts="Smokes(Ann,Bob)\n").startswith("f.db:1:1: ")
    assert "1 argument" in refused(query="Smokes(Ann,Bob)")


def test_unknown_constant_of_a_closed_type(refused):
    message = refused("person = {Ann, Bob}\n" + GOOD_MODEL, "Smokes(Bop)\n", "--closed-types")
    assert message.startswith("f.db:1:") and "Bop" in message and "did you mean Bob?" in message


def test_unknown_constant_in_the_query(refused):
    assert "did you mean Ann?" in refused(query="Smokes(Anne)")


def test_type_clash(refused):
    message = refused(GOOD_MODEL + "2 Age(x,y) ^ Smokes(y)\n")
    assert message.startswith("m.mln:5:") and "number" in message and "person" in message


def test_unbalanced_parenthesis_is_reported_where_it_opens(refused):
    message = refused(GOOD_MODEL + "2 (Smokes(x) => Smokes(y)\n")
    assert message.startswith("m.mln:5:3: ") and "parenthes" in message


def test_all_errors_of_a_file_are_reported_at_once(refused):
    message = refused(GOOD_MODEL + "2 Smoke(x)\n\n1 Smokes(x,y)\n\n3 (Smokes(x)\n")
    places = [line.split(" ")[0] for line in message.splitlines()]
    assert [place.split(":")[:2] for place in places] == [["m.mln", "5"], ["m.mln", "7"], ["m.mln", "9"]]


def test_the_text_stands_on_the_line_of_its_error_or_under_it_on_a_terminal(refused, monkeypatch):
    assert (
        refused(GOOD_MODEL + "2  Smoke(x)\n") == "m.mln:5:4: undeclared predicate Smoke (did you mean Smokes?) in: 2 Smoke(x)\n"
    )
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert refused(GOOD_MODEL + "2 Smoke(x)\n", GOOD_FACTS, "--quiet").splitlines()[1:] == ["    2 Smoke(x)", "      ^"]


def test_a_model_without_predicates(refused):
    assert "m.mln declares no predicate)" in refused("", "")


def test_a_missing_weight_is_named(refused):
    message = refused(GOOD_MODEL + "Smokes(x) => Smokes(y)\n")
    assert message.startswith("m.mln:5:") and "weight" in message


def test_contradicting_evidence(refused):
    message = refused(facts="Smokes(Ann)\nSmokes(Bob)\n!Smokes(Ann)\n")
    assert message.startswith("f.db:") and "Ann" in message


def test_repeated_evidence_is_fine(mln, tmp_path):
    (tmp_path / "m.mln").write_text(GOOD_MODEL)
    (tmp_path / "f.db").write_text("Smokes(Ann)\nSmokes(Ann)\nAge(Ann,7)\nFriends(Ann,Ann)\n")
    assert mln("infer", tmp_path / "m.mln", "-e", tmp_path / "f.db", "-q", "Smokes").code == 0


def test_empty_domain(refused):
    message = refused(facts="")
    assert "person" in message and "constant" in message


def test_binary_files(refused):
    noise = bytes(range(256)) * 40
    assert refused(model=noise).startswith("m.mln:")
    assert refused(facts=noise).startswith("f.db:")


def test_a_line_of_100_megabytes(refused):
    message = refused(facts=b"Smokes(" + b"A" * 100_000_000 + b"\n")
    assert message.startswith("f.db:1:") and len(message) < 2000
    message = refused(model=b"1.5 Smokes(" + b"x" * 100_000_000 + b"\n")
    assert message.startswith("m.mln:1:") and len(message) < 2000


def test_missing_files(refused, mln, tmp_path):
    message = refused(facts=None)
    assert message.startswith("f.db: ") and "no such file" in message.lower()
    ran = mln("infer", tmp_path / "nothing.mln", "-q", "Smokes")
    assert ran.code == 2 and "nothing.mln" in ran.err


def test_a_directory_is_no_file(mln, tmp_path):
    assert mln("infer", tmp_path, "-q", "Smokes").code == 2


@pytest.mark.parametrize("option", ["-o", "--stats", "--worlds"])
def test_an_unwritable_output_is_refused_before_anything_is_read(mln, smokers, tmp_path, option):
    ran = mln("infer", smokers[0], "-q", "Smokes", option, tmp_path / "missing" / "out.csv")
    assert ran.code == 2 and "does not exist" in ran.err
    ran = mln("infer", tmp_path / "not-there.mln", "-q", "Smokes", option, tmp_path)
    assert ran.code == 2 and "is a directory" in ran.err


def test_an_input_is_never_overwritten(mln, smokers):
    model, facts = smokers
    before = model.read_text(), facts.read_text()
    assert "overwritten" in mln("infer", model, "-e", facts, "-q", "Smokes", "-o", facts).err
    assert "overwritten" in mln("infer", model, "-e", facts, "-q", "Smokes", "--stats", model).err
    assert "two outputs" in mln("infer", model, "-q", "Smokes", "-o", facts.parent / "x", "--stats", facts.parent / "x").err
    assert (model.read_text(), facts.read_text()) == before


def test_no_world_is_possible(refused):
    message = refused(GOOD_MODEL + "!Smokes(x).\n")
    assert "m.mln:5:" in message and "evidence" in message  # on a slow machine a line of progress may come first


def test_closing_a_queried_predicate(refused):
    assert "closed" in refused(GOOD_MODEL, GOOD_FACTS, "--closed", "Smokes")


def test_a_table_must_name_its_predicate(mln, smokers, tmp_path):
    (tmp_path / "friends.csv").write_text("a,b\nAnn,Bob\n")
    ran = mln("infer", smokers[0], "-e", tmp_path / "friends.csv", "-q", "Smokes")
    assert ran.code == 2 and "predicate" in ran.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "gibs"], "unknown method gibs"),
        (["--network", "counted"], "unknown network"),
        (["--estimator", "orbits"], "unknown estimator orbits; available: auto, sample, conditional, orbit, orbit-conditional"),
        (["--clause-weights", "halves"], "unknown clause weights"),
        (["--memory-limit", "lots"], "not a size of memory"),
        (["--memory-limit", "0"], "not a size of memory"),
        (["--draws", "0"], "--draws must be at least 1"),
        (["--chains", "0"], "--chains must be at least 1"),
        (["--burn-in", "-1"], "--burn-in must be at least 0"),
        (["--seed", "-1"], "--seed must be at least 0"),
        (["--time-limit", "nan"], "--time-limit must be a number above 0"),
        (["--target-stderr", "-0.1"], "--target-stderr must be a number above 0"),
        (["--resume"], "--resume needs --checkpoint"),
        (["--thin", "2"], "--thin works only with --worlds"),
        (["--draws", "many"], "invalid value for '--draws'"),
        (["--nonsense"], "No such option"),
        (["--method", "exact", "--seed", "1", "--checkpoint", "c"], "--checkpoint: only for sampling methods, not for exact"),
        (["--method", "enumerate", "--worlds", "w.parquet"], "only for sampling methods"),
    ],
)
def test_bad_usage(mln, smokers, options, message, monkeypatch):
    monkeypatch.chdir(smokers[0].parent)
    ran = mln("infer", smokers[0], "-e", smokers[1], "-q", "Smokes", *options)
    assert ran.code == 2, ran
    assert message.lower() in ran.err.lower()
    assert ran.out == ""


def test_a_refusal_for_memory_has_code_3_and_the_estimate(mln, smokers, tmp_path):
    people = ", ".join(f"P{i}" for i in range(300))
    (tmp_path / "big.mln").write_text(f"person = {{{people}}}\nF(person,person)\n1 F(x,y) ^ F(y,z) => F(x,z)\n")
    ran = mln("infer", tmp_path / "big.mln", "-q", "F", "--memory-limit", "10MB")
    assert ran.code == 3
    assert "limit is 10 MB" in ran.err and "would fit" in ran.err


def test_atoms_without_end_are_refused_before_the_query_lists_them(mln, tmp_path):
    (tmp_path / "big.mln").write_text("p = {1, ..., 200000}\nF(p,p)\n1 F(x,y) ^ F(y,z) => F(x,z)\n")
    ran = mln("infer", tmp_path / "big.mln", "-q", "F", "--memory-limit", "50MB")
    assert ran.code == 3
    assert "40,000,000,000" in ran.err and "out of memory" not in ran.err


def test_no_command_writes_over_its_inputs(mln, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {"model.mln": GOOD_MODEL, "evidence.db": GOOD_FACTS, "r.csv": "atom,probability\nSmokes(Ann),0.5\n"}
    for name, content in texts.items():
        (tmp_path / name).write_text(content)
    given = ("model.mln", "-e", "evidence.db")
    for call in (
        ("learn", *given, "-o", "evidence.db"),
        ("learn", *given, "-o", "out.mln", "--stats", "model.mln"),
        ("cluster", *given, "--predicate", "Friends", "-o", "evidence.db"),
        ("cluster", *given, "--predicate", "Friends", "-o", "./model.mln"),
        ("evaluate", "r.csv", "evidence.db", "-o", "r.csv"),
        ("compress", *given, "-o", "."),
    ):
        ran = mln(*call)
        assert ran.code == 2 and "is an input file and would be overwritten" in ran.err, (call, ran)
    ran = mln("learn", *given, "-o", "out.mln", "--stats", "out.mln")
    assert ran.code == 2 and "out.mln is given for two outputs" in ran.err
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == texts
