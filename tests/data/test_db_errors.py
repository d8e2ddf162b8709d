"""Bad `.db` files: every fault at once, each with its place, what was found, what to do."""

import os

import pytest
from tests.data.made import SMOKERS, model_of

from markovlogic.data.readers import read_evidence
from markovlogic.data.vocabulary import MOST_SHOWN
from markovlogic.errors import InputError, ResourceError

CLOSED = model_of(
    "Smokes(person)",
    "Friends(person, person)",
    "Lives(person, town)",
    "Class(page, class!)",
    constants={"person": ("Ann", "Bob")},
    declared=("person",),
)


def faults_of(tmp_path, content, model=SMOKERS, **options):
    path = tmp_path / "bad.db"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_evidence(model, [str(path)], **options)
    assert all(line.startswith((str(path), "    ")) for line in str(caught.value).splitlines())
    return caught.value.faults


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("Smokes(Ann)\nSmoke(Bob)", 2, 1, "undeclared predicate Smoke (did you mean Smokes?)"),
        ("  !Xyzzy(Bob)", 1, 4, "undeclared predicate Xyzzy"),
        ("Smokes(Ann, Bob)", 1, 1, "Smokes takes 1 argument, found 2 (it is declared as Smokes(person))"),
        ("Smokes", 1, 1, "Smokes takes 1 argument, found 0"),
        ("Flag(Ann)", 1, 1, "Flag takes no arguments, found 1"),
        ("Smokes()", 1, 8, "expected a constant, found )"),
        ("Smokes(ann)", 1, 8, 'ann is a variable, but facts are about constants (write Ann or "ann")'),
        ("Friends(Ann, -5)", 1, 14, '-5 is not a constant that can be written bare (write "-5")'),
        ("Friends(Ann, 1.5)", 1, 14, '(write "1.5")'),
        ("Friends(Änn, Bob)", 1, 9, '(write "Änn")'),
        ('Friends("ä", bob)', 1, 14, "bob is a variable"),
        ("Friends(Ann, Bob", 1, 8, "this parenthesis is not closed on its line"),
        ("Friends(Ann, // Bob)", 1, 8, "this parenthesis is not closed on its line"),
        ("/*/ Smokes(Ann)", 1, 1, "this comment is not closed"),
        ("Friends(Ann, Bob))", 1, 18, "this closing parenthesis was never opened"),
        ("Friends(Ann,, Bob)", 1, 13, "expected a constant, found ,"),
        ("Friends(Ann Bob)", 1, 13, "expected , or ) after Ann, found Bob"),
        ("Friends((Ann), Bob)", 1, 9, "expected a constant, found ("),
        ("Friends Ann", 1, 9, "expected the end of the line, found Ann"),
        ("Smokes(Ann) Smokes(Bob)", 1, 13, "expected the end of the line, found Smokes (write one fact a line)"),
        ('Smokes("Ann)', 1, 8, "this quoted constant is not closed on its line"),
        ("!!Smokes(Ann)", 1, 2, "expected a predicate, found !"),
        ("1.8 Smokes(Ann)", 1, 1, "expected a probability from 0 to 1, found 1.8 (soft evidence"),
        ("# comment", 1, 1, "(comments begin with //)"),
        ("Smokes(Ann) {1}", 1, 13, "not supported: several values in braces"),
        ("Age(Ann) = 7", 1, 1, "undeclared predicate Age"),
        ("Smokes(Ann) = 7", 1, 1, "Smokes takes 1 argument, found 2"),
        ("Smokes(Ann) =", 1, 13, "expected a value after ="),
        ("persons = {Ann, Bob}", 1, 1, "unknown type persons (did you mean person?)"),
        ("Smokes(Ann)\n/* Smokes(Bob)\n", 2, 1, "this comment is not closed"),
        ("/* é */ Smokes(bob)", 1, 16, "bob is a variable"),
        ("Smokes(Ann) and\r\n", 1, 13, "expected the end of the line, found and"),
    ],
)
def test_one_fault(tmp_path, text, line, column, says):
    (fault,) = faults_of(tmp_path, text)
    assert (fault.place.line, fault.place.column) == (line, column)
    assert says in fault.show().splitlines()[0]


def test_all_faults_at_once_in_order(tmp_path):
    faults = faults_of(tmp_path, "Smoke(Ann)\nSmokes(Ann)\nFriends(Ann)\n\nSmokes(x)\n")
    assert [fault.place.line for fault in faults] == [1, 3, 5]
    faults = faults_of(tmp_path, "Friends(Ann,\nBob)\n")
    assert [(fault.place.line, fault.place.column) for fault in faults] == [(1, 8), (2, 4)]


def test_faults_of_all_files_at_once(tmp_path):
    (tmp_path / "one.db").write_text("Smoke(Ann)\n")
    (tmp_path / "two.db").write_text("Smokes(ann)\n")
    with pytest.raises(InputError) as caught:
        read_evidence(SMOKERS, [str(tmp_path / "one.db"), str(tmp_path / "none.db"), str(tmp_path / "two.db")])
    assert [os.path.basename(fault.place.file) for fault in caught.value.faults] == ["one.db", "none.db", "two.db"]
    assert "no such file (did you mean one.db?)" in str(caught.value)


def test_many_faults_are_counted(tmp_path):
    faults = faults_of(tmp_path, "Smoke(Ann)\n" * 250)
    assert len(faults) == MOST_SHOWN + 1
    assert faults[-1].message == "and 150 more"


def test_a_hopeless_file_ends_early(tmp_path):
    faults = faults_of(tmp_path, "Smoke(Ann)\n" * 1_000_000)
    assert faults[-1].message.startswith("and at least ")


def test_closed_types(tmp_path):
    text = 'Smokes(Ann)\nFriends(Bob, Anne)\nLives(Cid, Rome)\nSmokes("Ann")\nSmokes("bob")\n'
    faults = faults_of(tmp_path, text, CLOSED, closed_types=True)
    assert [(fault.place.line, fault.place.column) for fault in faults] == [(2, 14), (3, 7), (5, 8)]
    assert "unknown constant Anne: the declared type person does not list it (did you mean Ann?)" in faults[0].show()
    path = tmp_path / "bad.db"
    path.write_text("Lives(Ann, Rome)\n")
    assert read_evidence(CLOSED, [path], closed_types=True).domains["town"].names == ("Rome",)
    path.write_text(text)
    assert len(read_evidence(CLOSED, [path]).domains["person"]) == 5


@pytest.mark.parametrize(
    ("text", "places", "says"),
    [
        ("Smokes(Ann)\n\n!Smokes(Ann)\n", (3, 1), "Smokes(Ann) is false here, and true at"),
        ("!Smokes(Ann)\nSmokes(Ann)\nSmokes(Ann)", (2, 1), "Smokes(Ann) is true here, and false at"),
        ("?Smokes(Ann)\nSmokes(Ann)", (2, 1), "true here, and unknown at"),
        ("!Smokes(Ann)\n?Smokes(Ann)", (2, 1), "unknown here, and false at"),
        ('Class(P1, "a b")\nClass(P1, B)', (2, 1), 'Class(P1,B) is true here, and Class(P1,"a b") is true at'),
        ("Class(P1, A)\nClass(P2, A)\n?Class(P1, B)", (3, 1), "Class(P1,B) is unknown here, and Class(P1,A) is true at"),
    ],
)
def test_contradictions_name_both_places(tmp_path, text, places, says):
    (fault,) = faults_of(tmp_path, text, CLOSED)
    assert (fault.place.line, fault.place.column) == places
    assert says in fault.message
    assert f"bad.db:{1}:1" in fault.message


def test_contradictions_across_files(tmp_path):
    (tmp_path / "one.db").write_text("Smokes(Bob)\nSmokes(Ann)\n")
    (tmp_path / "two.db").write_text("!Smokes(Ann)\n!Smokes(Bob)\n")
    with pytest.raises(InputError) as caught:
        read_evidence(SMOKERS, [str(tmp_path / "one.db"), str(tmp_path / "two.db")])
    assert len(caught.value.faults) == 2
    assert "one.db:2:1" in str(caught.value)
    assert "two.db:1:1" in str(caught.value)


def test_many_contradictions_are_counted(tmp_path):
    text = "".join(f"Smokes(P{n})\n!Smokes(P{n})\n" for n in range(300))
    assert faults_of(tmp_path, text)[-1].message == "and 200 more"


def test_exclusive_facts_that_agree(tmp_path):
    path = tmp_path / "a.db"
    path.write_text("Class(P1, A)\nClass(P1, A)\n!Class(P1, B)\n?Class(P2, A)\n!Class(P2, B)\n")
    assert len(read_evidence(CLOSED, [path]).facts["Class"]) == 4


@pytest.mark.parametrize("content", [b"Smokes(Ann)\n\0\1\2", "Smokes(Ann)\n".encode("utf-16"), os.urandom(20_000) + b"\0"])
def test_binary_files(tmp_path, content):
    (fault,) = faults_of(tmp_path, content)
    assert "not a text file: it holds a NUL byte" in fault.message
    assert fault.place.line >= 1


def test_not_utf8(tmp_path):
    (fault,) = faults_of(tmp_path, 'Smokes(Ann)\nSmokes("Jürgen")\nSmokes("é")\n'.encode("latin-1"))
    assert (fault.place.line, fault.place.column) == (2, 10)
    assert fault.message == "not UTF-8 text"


@pytest.mark.parametrize(
    ("head", "length"),
    [("Smokes(", 10**8), ("/* ", 10**8), ("Smokes(A) ", 10**7), ('"', 10**7), ("x", 10**7), ("Smokes(", 1_500_000)],
)
def test_a_line_of_100_megabytes(tmp_path, head, length):
    (fault,) = faults_of(tmp_path, "Smokes(Ann)\n" + head + "A" * length)
    assert fault.place.line == 2 and (fault.place.column == 1 or "bytes long" not in fault.message)
    assert len(fault.show()) < 1000


def test_a_long_comment_is_no_fault(tmp_path):
    path = tmp_path / "a.db"
    path.write_text("//" + "-" * 5_000_000 + "\nSmokes(Ann)\n/*" + "-" * 5_000_000 + "*/\nSmokes(ann)")
    with pytest.raises(InputError) as caught:
        read_evidence(SMOKERS, [path])
    assert [fault.place.line for fault in caught.value.faults] == [4]


def test_a_folder(tmp_path):
    with pytest.raises(InputError, match=r"this is a folder, expected a \.db file"):
        read_evidence(SMOKERS, [tmp_path])


def test_an_unreadable_file(tmp_path, monkeypatch):
    def refuse(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError, match=r"x\.db: cannot be read: permission denied"):
        read_evidence(SMOKERS, ["x.db"])


def test_a_missing_folder():
    with pytest.raises(InputError, match="no such file"):
        read_evidence(SMOKERS, ["/nowhere/at/all.db"])


def test_too_many_ground_atoms(tmp_path):
    model = model_of("Wide(t, t, t, t, t, t, t, t)")
    path = tmp_path / "a.db"
    path.write_text("".join(f"Wide({', '.join(f'C{8 * row + n}' for n in range(8))})\n" for row in range(30)))
    with pytest.raises(ResourceError, match="predicate Wide has"):
        read_evidence(model, [path])
