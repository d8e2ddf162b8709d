"""The SQL of some plans, word by word: what is joined, in which order, and what is left out."""

from __future__ import annotations

import numpy as np
import pytest
from tests.grounding.made import problem_of

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.grounding.backends.base import Dialect
from markovlogic.grounding.backends.duckdb import DUCKDB
from markovlogic.grounding.backends.spark import SPARK
from markovlogic.grounding.plan import Pattern, Plan, plan
from markovlogic.grounding.predict import problem_relations
from markovlogic.grounding.sql import query
from markovlogic.language.syntax import Constant, Variable
from markovlogic.language.templates import EqualityLiteral, Literal

PROBLEM = problem_of(
    {"page": 3, "word": 5},
    {"Course": ("page",), "Linked": ("page", "page"), "Word": ("word", "page"), "Topic": ("page",), "Seen": ("page",)},
    closed=["Linked", "Word", "Seen"],
    facts={
        "Linked": {(0, 1): TRUE, (1, 2): TRUE, (2, 2): UNKNOWN},
        "Course": {(0,): TRUE, (1,): FALSE},
        "Word": {(0, 0): TRUE},
    },
)
TYPES = {"x": "page", "y": "page", "z": "page", "w": "word"}
x, y, z, w = (Variable(name) for name in "xyzw")


def planned(*literals: Literal | EqualityLiteral) -> Plan:
    names = dict.fromkeys(
        a.name for q in literals for a in (q.args if isinstance(q, Literal) else (q.left, q.right)) if isinstance(a, Variable)
    )
    pattern = Pattern(
        tuple(q for q in literals if isinstance(q, Literal)),
        tuple(q for q in literals if isinstance(q, EqualityLiteral)),
        tuple((name, TYPES[name]) for name in names),
    )
    return plan(pattern, problem_relations(PROBLEM), PROBLEM.domains)


def written(*literals: Literal | EqualityLiteral, dialect: Dialect = DUCKDB) -> str:
    return query(planned(*literals), dialect)


def test_a_closed_predicate_in_a_negative_literal_is_an_inner_join() -> None:
    sql = written(Literal("Topic", (x,), False), Literal("Linked", (x, y), False), Literal("Topic", (y,), True))
    assert sql == (
        "WITH part0 AS (\n"
        "  SELECT CAST(2 * (CAST(l1.a0 AS BIGINT) + 2) + 1 AS INTEGER) AS o0, l1.literal AS o1, "
        "CAST(2 * (CAST(l1.a1 AS BIGINT) + 2) + 1 AS INTEGER) AS o2\n"
        "  FROM linked_1 AS l1\n"
        ")\n"
        "SELECT part0.o0, part0.o1, part0.o2\n"
        "FROM part0"
    )


def test_rows_that_differ_in_a_closed_variable_only_are_counted() -> None:
    assert written(Literal("Word", (w, x), False), Literal("Topic", (x,), True)) == (
        "WITH part0 AS (\n"
        "  SELECT CAST(2 * (CAST(l0.a1 AS BIGINT) + 2) + 1 AS INTEGER) AS o1, COUNT(*) AS n\n"
        "  FROM word_2 AS l0\n"
        "  GROUP BY 1\n"
        ")\n"
        "SELECT part0.o1, part0.n AS n\n"
        "FROM part0"
    )


def test_evidence_on_an_open_predicate_is_a_left_join_where_its_variables_are_bound() -> None:
    sql = written(Literal("Linked", (x, y), False), Literal("Course", (x,), False), Literal("Topic", (y,), True))
    assert sql == (
        "WITH part0 AS (\n"
        "  SELECT l0.literal AS o0, CASE WHEN l1.status IS NULL THEN CAST(l0.a0 AS BIGINT) ELSE -1 END AS o1, "
        "CAST(2 * (CAST(l0.a1 AS BIGINT) + 2) + 1 AS INTEGER) AS o2\n"
        "  FROM linked_1 AS l0\n"
        "  LEFT JOIN course_0 AS l1 ON l1.a0 = l0.a0\n"
        "  WHERE (l1.status IS NULL OR l1.status <> 0)\n"
        ")\n"
        "SELECT part0.o0, part0.o1, part0.o2\n"
        "FROM part0"
    )


def test_else_what_evidence_leaves_is_listed_and_equality_is_a_condition() -> None:
    sql = written(
        Literal("Course", (x,), False), Literal("Linked", (x, y), True), Literal("Topic", (y,), True), EqualityLiteral(x, y, True)
    )
    assert sql == (
        "WITH part0 AS (\n"
        "  SELECT l0.literal AS o0, COALESCE(l1.literal, -1) AS o1, CAST(2 * (CAST(d0.v AS BIGINT) + 2) + 1 AS INTEGER) AS o2\n"
        "  FROM course_0_not_false AS l0\n"
        "  CROSS JOIN (SELECT CAST(range AS INTEGER) AS v FROM range(3)) AS d0\n"
        "  LEFT JOIN linked_1 AS l1 ON l1.a0 = l0.a0 AND l1.a1 = d0.v\n"
        "  WHERE (l1.status IS NULL OR l1.status <> 1) AND l0.a0 <> d0.v\n"
        ")\n"
        "SELECT part0.o0, part0.o1, part0.o2\n"
        "FROM part0"
    )


def test_evidence_is_joined_from_the_smallest_table_on() -> None:
    sql = written(
        Literal("Linked", (x, y), False),
        Literal("Linked", (y, z), False),
        Literal("Word", (w, x), False),
        Literal("Topic", (z,), True),
    )
    assert [line.strip() for line in sql.splitlines() if "JOIN" in line or "FROM" in line] == [
        "FROM word_2 AS l2",
        "JOIN linked_1 AS l0 ON l0.a0 = l2.a1",
        "JOIN linked_1 AS l1 ON l1.a0 = l0.a1",
        "FROM part0",
    ]


def test_parts_that_share_no_variable_are_steps_of_their_own() -> None:
    found = planned(
        Literal("Linked", (x, y), True),
        Literal("Word", (w, Constant("PAGE0")), True),
        Literal("Topic", (z,), True),
        Literal("Topic", (Constant("PAGE1"),), True),
        EqualityLiteral(x, y, False),
    )
    assert found.fixed == (2 * 3 + 3 - 2,)  # Topic(PAGE1) is open atom 3
    assert query(found, SPARK) == (
        "WITH part0 AS (\n"
        "  SELECT COALESCE(l0.literal, -1) AS o0\n"
        "  FROM (SELECT CAST(id AS INT) AS v FROM range(3)) AS d0\n"
        "  LEFT JOIN linked_1 AS l0 ON l0.a0 = d0.v AND l0.a1 = d0.v\n"
        "  WHERE (l0.status IS NULL OR l0.status <> 1)\n"
        "), part1 AS (\n"
        "  SELECT COUNT(*) AS n\n"
        "  FROM (SELECT CAST(id AS INT) AS v FROM range(5)) AS d0\n"
        "  LEFT JOIN word_2 AS l1 ON l1.a0 = d0.v AND l1.a1 = 0\n"
        "  WHERE l1.status IS NULL\n"
        "  HAVING COUNT(*) > 0\n"
        "), part2 AS (\n"
        "  SELECT CAST(2 * (CAST(d0.v AS BIGINT) + 2) + 1 AS INTEGER) AS o2\n"
        "  FROM (SELECT CAST(id AS INT) AS v FROM range(3)) AS d0\n"
        ")\n"
        "SELECT part0.o0, part2.o2, part1.n AS n\n"
        "FROM part0 CROSS JOIN part1 CROSS JOIN part2"
    )


def test_what_nothing_is_known_of_is_not_asked() -> None:
    assert planned(Literal("Seen", (x,), False), Literal("Topic", (y,), True)).nothing_left  # closed and without facts: satisfied
    found = planned(Literal("Seen", (x,), True), Literal("Topic", (y,), True))  # falsified: x only multiplies
    assert found.factor == 3
    assert [a.relation.table for a in found.outputs] == ["topic_3"]


@pytest.mark.parametrize("positive", [True, False])
def test_an_equality_of_constants_is_decided(positive: bool) -> None:
    same = EqualityLiteral(Constant("PAGE0"), Constant("PAGE0"), positive)
    other = EqualityLiteral(Constant("PAGE0"), Constant("PAGE1"), positive)
    assert planned(same, Literal("Topic", (x,), True)).nothing_left == positive
    assert planned(other, Literal("Topic", (x,), True)).nothing_left != positive


def test_an_open_predicate_of_which_little_is_unknown_is_listed() -> None:
    known = {(a, b): FALSE for a in range(10) for b in range(10) if (a, b) not in {(1, 2), (3, 4)}}
    problem = problem_of({"s": 10}, {"R": ("s", "s"), "T": ("s",)}, facts={"R": known})
    pattern = Pattern((Literal("R", (x, y), False), Literal("T", (y,), True)), (), (("x", "s"), ("y", "s")))
    relations = problem_relations(problem)
    found = plan(pattern, relations, problem.domains)
    assert [(a.way, a.table, a.rows) for a in found.parts[0].joins] == [("inner", "r_0_not_false", 2)]
    columns = relations["R"].surviving_columns(positive=False)
    assert np.array_equal(columns["a0"], [1, 3]) and np.array_equal(columns["a1"], [2, 4])
    assert np.array_equal(columns["literal"], [1, 3])
