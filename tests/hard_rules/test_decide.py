"""What hard rules decide before grounding, held against the worlds of the whole ground network."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from tests.lifted.liftable import prepared
from tests.oracle.worlds import Worlds, all_worlds
from tests.strategies import RandomProblem, problems

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.errors import InputError
from markovlogic.grounding import surviving
from markovlogic.grounding.backends import engine
from markovlogic.grounding.ground import ground
from markovlogic.grounding.hard_rules import Decided, Decider, decide, propagate
from markovlogic.problem import Statuses
from markovlogic.problem.prepare import PreparedProblem


def decided(of: PreparedProblem) -> Decided:
    with engine(1 << 28) as database:
        return decide(of.problem, of.lowered, database)


def worlds_of(of: PreparedProblem, known: Decided | None = None) -> Worlds | None:
    """All worlds; None where grounding finds a contradiction."""
    try:
        return all_worlds(ground(of.problem if known is None else known.problem, of.lowered))
    except InputError:
        return None


def check(made: RandomProblem) -> None:
    """What is decided is implied; log Z and all marginals are the same with it as facts."""
    try:
        of = prepared(made.mln, made.db, ",".join(made.query))
    except InputError:
        return
    true = worlds_of(of)
    impossible = true is None or true.log_z == -math.inf
    try:
        known = decided(of)
    except InputError:
        assert impossible, "a contradiction was found where there is none"
        return
    after = worlds_of(of, known)
    if impossible:
        assert after is None or after.log_z == -math.inf
        return
    assert true is not None and after is not None
    assert after.log_z == pytest.approx(true.log_z, rel=1e-9, abs=1e-9)
    assert sum(known.by.values()) == known.atoms == len(of.problem.atoms) - len(known.problem.atoms)
    for name, before in of.problem.statuses.items():
        now, code = known.problem.statuses[name], np.arange(before.n_ground)
        was, is_ = before.lookup(code), now.lookup(code)
        np.testing.assert_array_equal(is_[was != UNKNOWN], was[was != UNKNOWN])
        assert (np.diff(now.code) > 0).all() and (now.status != now.default).all()
        code, is_ = code[was == UNKNOWN], is_[was == UNKNOWN]
        found = np.where(is_ == TRUE, 1.0, 0.0)
        found[is_ == UNKNOWN] = after.marginal[known.problem.atoms.numbers(name, code[is_ == UNKNOWN])]
        np.testing.assert_allclose(found, true.marginal[of.problem.atoms.numbers(name, code)], atol=1e-9)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problems(max_rules=6, mostly_hard=True, soft=True))
def test_what_is_decided_is_implied(made: RandomProblem) -> None:
    check(made)


@pytest.fixture
def by_database(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Joins by queries, however small."""
    monkeypatch.setattr(surviving, "MOST_SUBSTITUTIONS", 0)
    yield


def test_what_the_database_decides_is_implied(by_database: None) -> None:
    @settings(max_examples=12, deadline=None, derandomize=True)
    @given(problems(max_rules=5, mostly_hard=True, quantifiers=False))
    def sweep(made: RandomProblem) -> None:
        check(made)

    sweep()


@pytest.mark.parametrize(("effort", "listed"), [(60_000, 1 << 40), (1 << 40, 2)])
def test_what_is_decided_within_any_bounds_is_implied(monkeypatch: pytest.MonkeyPatch, effort: int, listed: int) -> None:
    monkeypatch.setattr(propagate, "MOST_EFFORT", effort)
    monkeypatch.setattr(propagate, "MOST_LISTED", listed)

    @settings(max_examples=25, deadline=None, derandomize=True)
    @given(problems(max_rules=6, mostly_hard=True))
    def sweep(made: RandomProblem) -> None:
        check(made)

    sweep()


def test_the_check_catches_a_literal_that_is_taken_for_false(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: what is unknown counts as known to be false."""

    def wrong(table: str, statuses: Statuses, types: tuple[str, ...], *, positive: bool):
        code = np.arange(statuses.n_ground)
        known = statuses.lookup(code) != (TRUE if positive else FALSE)
        return propagate.falsified_at(table, statuses, types, code[known], positive=positive)

    monkeypatch.setattr(propagate, "falsified", wrong)
    monkeypatch.setattr(propagate, "is_ever_falsified", lambda statuses, positive: True)
    with pytest.raises(AssertionError):
        check(RandomProblem("s = {A, B}\nP(s)\nQ(s)\nP(x) v Q(x).\n0.5 P(x)\n", "", ("P",)))


def statuses_after(mln: str, db: str, query: str, **worlds: str) -> tuple[Decided, dict[str, Statuses]]:
    known = decided(prepared(mln, db, query, **worlds))
    return known, dict(known.problem.statuses)


BLOCKING = "Cand(rec,rec)\nSame(rec,rec)\n-1 Same(x,y)\n!Cand(x,y) ^ x != y => !Same(x,y).\n"


def test_rules_that_block_pairs_leave_the_candidates_and_nothing_is_listed_that_they_block() -> None:
    n = 3000  # 9 million pairs
    db = "".join(f"Cand(R{i},R{i + 1})\n" for i in range(n - 1))
    known, statuses = statuses_after(BLOCKING, db, "Same")
    assert known.complete and known.by == {Decider(1): n * n - n - (n - 1)}
    assert statuses["Same"].default == FALSE and len(statuses["Same"].code) == n + (n - 1)
    chained, statuses = statuses_after(f"{BLOCKING}Linked(rec,rec)\nLinked(x,y) => Same(x,y).\n", db, "Same")
    assert chained.by == {Decider(1): known.atoms, Decider(2): known.atoms}
    assert statuses["Linked"].default == FALSE and len(statuses["Linked"].code) == n + (n - 1)


def test_whole_predicates_are_decided_at_once() -> None:
    mln = "p = {1,...,100000}\nF(p,p)\nG(p,p)\n!F(x,y).\nG(x,y) => F(x,y).\n"
    known, statuses = statuses_after(mln, "", "F,G")
    assert known.atoms == 2 * 10**10
    assert all(statuses[name].default == FALSE and not len(statuses[name].code) for name in "FG")


def test_huge_predicates_are_not_listed() -> None:
    mln = "p = {1,...,100000}\nF(p,p)\nS(p)\nS(1).\nF(x,y).\nS(x) ^ S(y) ^ x != y => F(x,y).\n!F(x,x) v S(x).\n"
    known, statuses = statuses_after(mln, "", "F,S")
    assert not known.complete
    assert len(statuses["F"].code) <= 100_000


def test_chains_of_rules_are_followed() -> None:
    """Reachability on a path: one step a round."""
    n = 40
    db = "".join(f"Edge({i},{i + 1})\n" for i in range(n - 1))
    mln = f"v = {{0,...,{n - 1}}}\nEdge(v,v)\nReach(v)\nReach(0).\nReach(x) ^ Edge(x,y) => Reach(y).\n0.1 Reach(x)\n"
    known, statuses = statuses_after(mln, db, "Reach")
    assert known.by == {Decider(0): 1, Decider(1): n - 1}
    assert statuses["Reach"].n_open == 0


def test_two_literals_that_meet_in_one_atom_are_a_unit() -> None:
    known, _ = statuses_after("p = {A, B, C}\nR(p,p)\n!R(x,y) v !R(y,x).\n", "", "R")
    assert known.by == {Decider(0): 3}


def test_exclusive_groups_decide() -> None:
    mln = "page = {P, Q, R}\nclass = {X, Y, Z}\nHas(page, class!)\nBad(page)\nBad(p) => !Has(p,X).\n"
    known, statuses = statuses_after(mln, "!Has(P,Y)\nBad(P)\n", "Has")
    assert known.by == {Decider(0): 1, Decider(None, "Has"): 1}
    assert statuses["Has"].lookup(np.arange(3)).tolist() == [FALSE, FALSE, TRUE]
    known, statuses = statuses_after(mln + "Has(Q,Y).\n", "!Has(P,Y)\n", "Has")
    assert statuses["Has"].lookup(np.arange(3, 6)).tolist() == [FALSE, TRUE, FALSE]
    assert [len(group.start) - 1 for group in known.problem.groups] == [2]


CONTRADICTIONS = [
    # evidence alone: in the words of grounding
    ("A(x) => B(x).\n", "A(S1)\n!B(S1)\n", ["the evidence makes this hard rule false for x = S1"]),
    # two rules
    ("A(x).\nA(S1) => B(S1).\n!B(S1).\n", "", ["needs B(S1) to be true, the rule at", "needs B(S1) to be false, the rule at"]),
    # a chain against a fact
    ("A(x).\nA(x) => B(x).\n", "!B(S1)\n", ["needs A(S1) to be true, the rule at", "needs A(S1) to be false, the rule at"]),
    ("!C(x,X) => A(x).\nA(x) => B(x).\n", "!B(S1)\nC(S1,Y)\n", ["needs A(S1) to be true", "needs A(S1) to be false"]),
    # all values of a group
    ("!C(x,X).\n!C(x,Y).\n", "", ["this one needs C(S0,"]),
    ("A(x) => C(x,X).\nA(x) => C(x,Y).\nA(S1).\n", "", ["to be true, the exclusive argument of C needs the opposite"]),
]


@pytest.mark.parametrize(("rules", "db", "reported"), CONTRADICTIONS)
def test_contradictions_name_rules_and_constants(rules: str, db: str, reported: list[str]) -> None:
    declared = "s = {S0, S1, S2}\nclass = {X, Y}\nA(s)\nB(s)\nC(s,class!)\n"
    with pytest.raises(InputError) as caught:
        decided(prepared(declared + rules, db, "A,B,C"))
    for text in reported:
        assert any(text in fault.message for fault in caught.value.faults), caught.value
    assert all(fault.place is not None for fault in caught.value.faults)
