from markovlogic.language.outline import CONSTANT, PREDICATE, TYPE, VARIABLE, Outline

TEXT = """\
// people
person = {Ann, Bob}
Smokes(person)
Friends(person, person)
Flag
1.5 Smokes(x) ^ Friends(x, y) => Smokes(y)
2 Smokes(x) v
    Flag
!Friends(x, Ann).
"""


def at(text: str, part: str, nth: int = 0) -> int:
    found = -1
    for _ in range(nth + 1):
        found = text.index(part, found + 1)
    return found


def test_each_name_is_what_it_is():
    kinds: dict[str, set[str]] = {}
    for symbol in Outline(TEXT).symbols:
        kinds.setdefault(symbol.kind, set()).add(symbol.name)
    assert kinds == {
        TYPE: {"person"}, CONSTANT: {"Ann", "Bob"}, PREDICATE: {"Smokes", "Friends", "Flag"}, VARIABLE: {"x", "y"}
    }  # fmt: skip


def test_variables_belong_to_their_statement_and_predicates_to_the_file():
    own = Outline(TEXT)
    variable = own.symbol_at(at(TEXT, "(x)") + 1)
    assert variable is not None and len(own.occurrences(variable)) == 2
    predicate = own.symbol_at(at(TEXT, "Smokes(y)"))
    assert predicate is not None and len(own.occurrences(predicate)) == 4
    running_on = own.symbol_at(at(TEXT, "    Flag") + 4)
    assert running_on is not None and running_on.statement == own.symbol_at(at(TEXT, "Smokes(x) v")).statement


def test_definitions_and_hovers():
    own = Outline(TEXT, "rules.mln")
    place = own.definition(own.symbol_at(at(TEXT, "Friends(x, y)")))
    assert (place.line, place.column) == (4, 1)
    assert own.definition(own.symbol_at(at(TEXT, "person)"))).line == 2
    assert "Friends(person, person)" in own.hover(at(TEXT, "Friends(x, y)")) and "named 2 times" in own.hover(
        at(TEXT, "Friends(x, y)")
    )
    assert "2 constants: Ann, Bob" in own.hover(at(TEXT, "person)"))
    rule = own.hover(at(TEXT, "1.5"))
    assert "4.48 times as probable" in rule and "|person| · |person| = 4 groundings" in rule
    assert "hard" in own.hover(at(TEXT, "!Friends(x, Ann)."))


def test_problems_have_ranges_and_faults_come_without_findings():
    own = Outline("P(thing)\n1 Q(x)\n2 P(x) ^ P(y\n")
    found = own.problems()
    assert all(one.is_error for one in found) and len(found) == 2
    assert own.source.text[found[0].start : found[0].end] in ("Q", "(")
    clean = Outline("P(thing)\nQ(thing)\n0 P(x)\n").problems()
    assert [(one.name, one.is_error) for one in clean] == [("unused-predicate", False), ("weight", False)]
    assert Outline("").problems() == Outline(TEXT).problems() == []


def test_predicates_are_known_although_another_line_is_wrong():
    own = Outline("P(thing)\n1 P(x) ^\n\n2 P(x)\n")
    assert own.symbol_at(at(own.source.text, "P(x)", 1)).kind == PREDICATE
    assert "P(thing)" in own.hover(at(own.source.text, "P(x)", 1))
