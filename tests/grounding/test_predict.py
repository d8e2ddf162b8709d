"""Predicted sizes of problems so small that every number can be counted by hand."""

from __future__ import annotations

import pytest
from tests.grounding.from_text import prepared

from markovlogic.grounding import predict as module
from markovlogic.grounding import surviving
from markovlogic.grounding.predict import Sizes, groundings_of, predict


def sizes_of(mln: str, db: str = "", open_: tuple[str, ...] = ()) -> Sizes:
    return predict(*prepared(mln, db, open_=open_))


def bytes_by_hand(*, clauses: int, literals: int, atoms: int, hidden: int = 0, hidden_literals: int = 0, facts: int = 0) -> int:
    """What the constants of the module say of so many clauses, literals, atoms, literals of definitions, and facts."""
    return 80 * clauses + 28 * literals + 64 * (atoms + hidden) + 2 * 28 * hidden_literals + 96 * facts


def seconds_by_hand(*, rows: int, literals: int, joined: int, rules: int, definitions: int = 0) -> float:
    """Rules take a grid each, or a query where no pattern counts as small; definitions always take a query."""
    a_rule = 0.00005 if surviving.MOST_SUBSTITUTIONS > 0 else 0.003
    return (rows + literals // 3) / 2e6 + joined / 5e7 + 0.05 + a_rule * rules + 0.003 * definitions


PEOPLE = "person = {A, B, C}\nFriends(person, person)\nSmokes(person)\nRich(person)\n"


def test_open_predicates() -> None:
    found = sizes_of(PEOPLE + "1.5 Friends(x, y) ^ Smokes(x) => Smokes(y)\n0.3 Rich(x)\n", open_=("Friends", "Smokes", "Rich"))
    assert (found.groundings, found.atoms, found.rows) == (9 + 3, 9 + 3 + 3, (9, 3))
    assert (found.clauses_at_most, found.literals_at_most, found.largest_rule) == (9, 27, 0)
    # unit clauses pass through too, so that rows take the room of clauses
    assert found.memory_bytes == bytes_by_hand(clauses=12, literals=27, atoms=15)
    assert found.seconds == pytest.approx(seconds_by_hand(rows=12, literals=27, joined=12, rules=2), rel=1e-9)


def test_known_predicates_leave_the_rows_of_their_facts() -> None:
    rules = PEOPLE + "1.5 Friends(x, y) ^ Smokes(x) => Smokes(y)\n"
    found = sizes_of(rules, "Friends(A, B)\nFriends(B, C)\n", open_=("Smokes",))
    assert (found.groundings, found.atoms, found.rows) == (9, 3 + 3, (2,))
    assert (found.clauses_at_most, found.literals_at_most) == (2, 4)
    assert found.memory_bytes == bytes_by_hand(clauses=2, literals=4, atoms=6, facts=2)
    assert found.seconds == pytest.approx(seconds_by_hand(rows=2, literals=4, joined=2, rules=1), rel=1e-9)


def test_the_largest_rule_is_the_first_of_the_largest() -> None:
    rules = PEOPLE + "0.5 Smokes(x) => Rich(x)\n0.5 Friends(x, y) => Rich(x)\n0.5 Friends(x, y) => Smokes(x)\n"
    assert sizes_of(rules, open_=("Friends", "Smokes", "Rich")).largest_rule == 1
    # a rule's templates are added up: (a ^ b) gives two clauses
    rules = PEOPLE + "0.5 Friends(x, y) => Rich(x)\n0.5 Friends(x, y) => Smokes(x) ^ Rich(x)\n"
    assert sizes_of(rules, open_=("Friends", "Smokes", "Rich")).largest_rule == 1
    assert sizes_of(PEOPLE).largest_rule is None


def test_disjunctions_that_are_inlined() -> None:
    found = sizes_of(PEOPLE + "1.0 Smokes(x) => EXIST y Friends(x, y)\n", open_=("Friends", "Smokes"))
    # three disjunctions of three literals; each clause holds one, and beside it the two literals it came from
    assert (found.atoms, found.rows, found.clauses_at_most) == (15, (3,), 3)
    assert found.literals_at_most == 2 * 3 + 3 * 3
    assert found.memory_bytes == bytes_by_hand(clauses=3, literals=15, atoms=15, hidden=9, hidden_literals=9)
    assert found.seconds == pytest.approx(seconds_by_hand(rows=3, literals=15 + 9, joined=3, rules=1, definitions=1), rel=1e-9)


def test_disjunctions_of_conjunctions() -> None:
    found = sizes_of(PEOPLE + "1.0 Smokes(x) => EXIST y (Friends(x, y) ^ Rich(y))\n", open_=("Friends", "Smokes", "Rich"))
    # nine conjunctions of two literals are hidden atoms of their own
    assert (found.rows, found.clauses_at_most, found.literals_at_most) == ((3,), 3, 2 * 3 + 3 * (3 * 2))
    hidden_literals = 9 * 2 + 2 * 9
    assert found.memory_bytes == bytes_by_hand(clauses=3, literals=24, atoms=15, hidden=9 + 18, hidden_literals=hidden_literals)
    assert found.seconds == pytest.approx(
        seconds_by_hand(rows=3, literals=24 + hidden_literals, joined=3, rules=1, definitions=1), rel=1e-9
    )


def test_hard_clauses_may_be_split_into_as_many_as_a_disjunction_has_literals() -> None:
    found = sizes_of(PEOPLE + "Smokes(x) => EXIST y Friends(x, y).\n", open_=("Friends", "Smokes"))
    assert (found.clauses_at_most, found.literals_at_most) == (3 * 3, 9 * (2 + 3))


def test_groundings_are_products_of_domains() -> None:
    problem, _ = prepared("a = {A, B}\nb = {C, D, E}\nR(a, b)\nS(b)\n1 R(x, y) v S(y)\n1 S(y)\n1 S(C)\n", open_=("R", "S"))
    assert groundings_of(problem.model, problem.domains) == (6, 3, 1)


PATHS = "person = {A, B, C, D, E, F}\nFriends(person, person)\nS(person)\n1.5 Friends(x, y) ^ Friends(y, z) ^ S(x) => S(z)\n"
RING = "Friends(A, B)\nFriends(B, C)\nFriends(C, D)\nFriends(D, A)\n"


def test_a_join_has_no_more_rows_than_a_cover_of_its_variables() -> None:
    """Two tables share a variable: at most the product of their rows, and of what is shown of them, two persons."""
    assert sizes_of(PATHS, RING, ("S",)).rows == (4 * 4,)
    assert sizes_of(PATHS, RING + "Friends(A, C)\n", ("S",)).rows == (5 * 5,)
    assert sizes_of(PATHS, RING + "Friends(A, C)\nFriends(A, D)\nFriends(A, E)\n", ("S",)).rows == (6 * 6,)
    shown = PATHS.replace("=> S(z)", "=> T(x, y, z)") + "T(person, person, person)\n"
    seven = RING + "Friends(A, C)\nFriends(A, D)\nFriends(A, E)\n"
    assert sizes_of(shown, seven, ("S", "T")).rows == (7 * 6,)  # one table, and whom the other's rows may lead to


def test_joins_worth_it_are_counted_while_time_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, lowered = prepared(PATHS, RING, open_=("S",))
    monkeypatch.setattr(module, "_WORTH_COUNTING", 160)
    assert predict(problem, lowered).rows == (4,)  # the ring's paths of length two
    monkeypatch.setattr(module, "_WORTH_COUNTING", 170)
    assert predict(problem, lowered).rows == (16,)
    monkeypatch.setattr(module, "_WORTH_COUNTING", 160)
    assert predict(problem, lowered, budget_seconds=-1.0).rows == (16,)
