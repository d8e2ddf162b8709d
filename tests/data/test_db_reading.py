"""`.db` files: the fast path and the exact one together say what the slow reader says."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.data.made import SMOKERS, facts_of, model_of
from tests.data.slow_reader import read_slowly

from markovlogic.data import db_files
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, codes
from markovlogic.data.readers import read_evidence
from markovlogic.errors import InputError
from markovlogic.language.load import parse

CONSTANTS = {"person": ("Ann", "Zoe"), "town": ()}
MODEL = model_of(
    "Smokes(person)", "Friends(person, person)", "Lives(person, town)", "Flag", constants=CONSTANTS, declared=("person",)
)

bare = st.sampled_from(["Ann", "Bob", "Zoe", "P1", "7", "A_b-c", "X-", "Ann2"])
quoted = st.sampled_from(
    ['"ann"', '"a b"', '"Ann"', '"say \\"hi\\""', '"back\\\\slash"', '"tab\\t"', '"//no"', '"/* no */"', '"é, (ü)"', '""']
)
space = st.sampled_from(["", "", "", " ", "  ", "\t"])
sign = st.sampled_from(["", "", "", "!", "?", "! ", " ?"])


@st.composite
def facts(draw):
    name, arity = draw(st.sampled_from([("Smokes", 1), ("Friends", 2), ("Lives", 2), ("Flag", 0)]))
    args = [draw(st.one_of(bare, bare, quoted)) for _ in range(arity)]
    text = draw(space) + draw(sign) + name + draw(space)
    if args:
        text += "(" + ",".join(draw(space) + arg + draw(space) for arg in args) + ")"
    return text + draw(st.sampled_from(["", "", "", " ", "\t", " // why", "//", " /* why */", "\r"]))


blank = st.sampled_from(["", " ", "\t", "// comment", "/* one line */", "/* two\nlines */", "/* Smokes(Ann) */", "\r"])
plain = st.builds("Friends({}, {})".format, bare, bare)
# what random characters make of a line is mostly wrong, sometimes not
messy = st.text("Smokes(An,)!? \t\"\\/*'=-9é{", max_size=14)


@st.composite
def broken(draw):
    """A fact with one character too many or too few."""
    text = draw(st.one_of(plain, plain, facts()))
    at = draw(st.integers(0, max(0, len(text) - 1)))
    return (
        text[:at]
        + draw(st.sampled_from(["", " ", "(", ")", ",", "!", "?", "x", '"', "\t"]))
        + text[at + draw(st.integers(0, 1)) :]
    )


sure = st.lists(st.one_of(plain, plain, facts(), blank), max_size=12)
risky = st.lists(st.one_of(plain, facts(), blank, broken(), broken(), messy), max_size=6)


def write(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("db", numbered=True)
    paths = []
    for number, text in enumerate(texts):
        paths.append(str(folder / f"{number}.db"))
        with open(paths[-1], "wb") as file:
            file.write(text.encode())
    return paths


def check_against_slow_reader(tmp_path_factory, texts, closed_types=False):
    expected = read_slowly(MODEL, texts, closed_types=closed_types)
    contrary = any(len({truth for truth, _ in stated}) > 1 for stated in expected.facts.values())
    paths = write(tmp_path_factory, texts)
    if expected.wrong_lines or contrary:
        with pytest.raises(InputError) as caught:
            read_evidence(MODEL, paths, closed_types=closed_types)
        lines = {fault.place.line for fault in caught.value.faults if not fault.message.startswith("contradicting")}
        assert lines == set(expected.wrong_lines)
        assert contrary == ("contradicting" in str(caught.value))
        return
    evidence = read_evidence(MODEL, paths, closed_types=closed_types)
    assert {name: list(domain.names) for name, domain in evidence.domains.items()} == expected.constants
    assert facts_of(evidence, MODEL) == {atom: stated[0][0] for atom, stated in expected.facts.items()}
    for name, found in evidence.facts.items():
        sizes = tuple(len(evidence.domains[type_name]) for type_name in MODEL.predicates[name].types)
        assert np.all(np.diff(codes(found.args, sizes)) > 0)
        assert not found.args.flags.writeable
        assert not found.truth.flags.writeable


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.lists(sure, min_size=1, max_size=3), st.sampled_from(["\n", "\n", "\r\n"]), st.booleans(), st.sampled_from(["", "\ufeff"])
)
def test_reads_what_the_slow_reader_reads(tmp_path_factory, files, newline, final, mark):
    texts = [mark + newline.join(lines) + (newline if final else "") for lines in files]
    check_against_slow_reader(tmp_path_factory, texts)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(risky, st.booleans())
@example(["Friends(Ann(Bob)", "Friends,Ann)", "Friends(Ann, Bob)"], False)
@example(["Friends(ann, Bob)", "Friends(_A, Bob)", "Friends(-A, Bob)", "Smokes(9)"], False)
@example(["9Smokes(Ann)", "Smokes(Ann)!", "!", "Smokes!(Ann)", "Flag", "Flag()"], True)
def test_finds_the_wrong_lines_that_the_slow_reader_finds(tmp_path_factory, lines, closed_types):
    check_against_slow_reader(tmp_path_factory, ["\n".join(lines)], closed_types)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(
        st.one_of(plain, plain, plain, facts().filter(lambda text: "!" not in text and "?" not in text)), min_size=4, max_size=40
    )
)
@example(["Friends(A2, A3) // slow", "Friends(A2, A9)", *["Smokes(A2)"] * 20])  # one name in both paths of a piece
def test_pieces_do_not_show(tmp_path_factory, lines):
    before = db_files.PIECE
    db_files.PIECE = 90  # longer than every line, shorter than the file
    try:
        check_against_slow_reader(tmp_path_factory, ["\n".join(lines)])
    finally:
        db_files.PIECE = before


def test_signs(tmp_path):
    path = tmp_path / "a.db"
    path.write_text('Smokes(Ann)\n!Smokes(Bob)\n ? Smokes("Carl")\nFlag\nSmokes(Ann)\n')
    evidence = read_evidence(SMOKERS, [str(path)])
    assert facts_of(evidence, SMOKERS) == {
        ("Smokes", ("Ann",)): TRUE,
        ("Smokes", ("Bob",)): FALSE,
        ("Smokes", ("Carl",)): UNKNOWN,
        ("Flag", ()): TRUE,
    }
    assert evidence.facts["Flag"].args.shape == (1, 0)


def test_constants_are_numbered_where_they_first_occur(tmp_path):
    path = tmp_path / "a.db"
    path.write_text('Lives(Ann, "x y")\nFriends(Cid, Bob)\nLives("Bob", Rome)\nSmokes("z")\nLives(Rome, Ann)\n')
    evidence = read_evidence(MODEL, [path])
    assert evidence.domains["person"].names == ("Ann", "Zoe", "Cid", "Bob", "z", "Rome")
    assert evidence.domains["town"].names == ("x y", "Rome", "Ann")


def test_empty_and_blank_files(tmp_path):
    for number, content in enumerate([b"", b"\n", b"\n\n  \n", b"// nothing", b"\xef\xbb\xbf", b"\r\r", b"/**/"]):
        path = tmp_path / f"{number}.db"
        path.write_bytes(content)
        assert not read_evidence(SMOKERS, [path]).facts


def test_old_line_ends(tmp_path):
    path = tmp_path / "a.db"
    path.write_bytes(b"Smokes(Ann)\rSmokes(Bob)\r")
    assert len(read_evidence(SMOKERS, [path]).facts["Smokes"]) == 2


def test_no_source_gives_the_models_constants():
    evidence = read_evidence(MODEL, [])
    assert evidence.domains["person"].names == ("Ann", "Zoe")
    assert len(evidence.domains["town"]) == 0
    assert not evidence.facts


def test_progress_reaches_the_end(tmp_path):
    stated = []

    class Noted:
        def stage(self, name, total=None):
            stated.append((name, total))

        def advance(self, done, note=""):
            stated.append(done)

    path = tmp_path / "a.db"
    path.write_text("Smokes(Ann)\n" * 10)
    read_evidence(SMOKERS, [path, ("Smokes", {"x": ["Bob"]})], progress=Noted())
    assert stated == [(f"read {path}", 120), 120, ("read Smokes=builtins dict", None), 1, ("sort facts", 1), 0]


def test_memory_is_a_few_times_the_file(tmp_path):
    rng = np.random.default_rng(3)
    path = tmp_path / "big.db"
    path.write_text("".join(f"Friends(P{a}, P{b})\n" for a, b in rng.integers(0, 5000, (400_000, 2)).tolist()))
    tracemalloc.start()
    try:
        read_evidence(SMOKERS, [path])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6 * path.stat().st_size + 40_000_000


def read_all(path, model):
    """Facts with their numbers, or what is wrong; without the order in which constants were met."""
    try:
        evidence = read_evidence(model, [str(path)])
    except InputError as error:
        return str(error)
    found = {}
    for name, own in evidence.facts.items():
        domains = [evidence.domains[kind].names for kind in model.predicates[name].types]
        for row in range(len(own)):
            key = name, *(domain[number] for domain, number in zip(domains, own.args[row].tolist(), strict=True))
            numbers = [None if column is None else float(column[row]) for column in (own.log_odds, own.number)]
            found[key] = int(own.truth[row]), (numbers[0] or 0.0), numbers[1]
    return found


def test_numbers_before_facts_are_read_alike_by_both_paths(tmp_path, monkeypatch):
    """Well and badly written ones: array operations against line by line."""
    model = parse("Smokes(person)\nFriends(person, person)\nAge(person): real\n")
    rng, path = np.random.default_rng(26), tmp_path / "e.db"
    numbers = ["0.3 ", ".25\t", "1 ", "0 ", "0.0 ", "1e-3 ", "+0.5 ", "", "", " 0.75  "]
    wrong = ['0.5 "', "0.7", "1.5 ", "-0.5 ", "nan ", "inf ", "0.5 !", "0.5 ?", "0.5,", "0.5 7", "1 = "]
    errors = 0
    for turn in range(60):
        given = numbers + (wrong if turn % 3 == 0 else [])
        lines = []
        for at in range(12):
            number = given[rng.integers(len(given))]
            fact = [f"Smokes(P{at})", f"Friends(P{at}, Ann)", f"Age(P{at})", f'Friends("a b", P{at}) // 0.3 Smokes(Ann)']
            kind = 2 if rng.random() < 0.2 else rng.choice([0, 1, 3])
            lines.append((number or ("3 " if kind == 2 else "")) + fact[kind])
        path.write_text("\n".join(lines))
        quick = read_all(path, model)
        with monkeypatch.context() as patch:
            patch.setattr(db_files, "NUMBER_FIRST", db_files.re.compile(rb"(?!)(x)"))
            assert read_all(path, model) == quick
        errors += isinstance(quick, str)
    assert 15 <= errors <= 30
