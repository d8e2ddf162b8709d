"""What grounding refuses, in which words, and what it leaves behind."""

from __future__ import annotations

import math
import os
import signal
import tempfile
import threading
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.grounding.made import problem_of, rule

from markovlogic.data.evidence import FALSE, TRUE
from markovlogic.errors import InputError, ResourceError
from markovlogic.grounding import ground as ground_module
from markovlogic.grounding.backends import Engine, engine
from markovlogic.grounding.ground import ground
from markovlogic.grounding.predict import predict
from markovlogic.language.syntax import Variable
from markovlogic.language.templates import ClauseTemplate, Literal, LoweredModel
from markovlogic.problem import Problem
from markovlogic.system.measures import show_bytes

x, y, z = (Variable(name) for name in "xyz")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def lowered(*clauses: tuple[float, list[Literal]]) -> LoweredModel:
    templates = []
    for number, (weight, literals) in enumerate(clauses):
        names = dict.fromkeys(a.name for q in literals for a in q.args)
        templates.append(ClauseTemplate(tuple(literals), (), weight, tuple((n, "s") for n in names), (), number))
    return LoweredModel(tuple(templates), (), (0.0,) * len(templates))


def transitivity(n: int) -> tuple[Problem, LoweredModel]:
    problem = problem_of(
        {"s": n}, {"F": ("s", "s")}, rules=[rule({"x": "s", "y": "s", "z": "s"}, 1, "F(x,y) ^ F(y,z) => F(x,z)")]
    )
    return problem, lowered((1.0, [Literal("F", (x, y), False), Literal("F", (y, z), False), Literal("F", (x, z), True)]))


def test_a_hard_rule_that_evidence_breaks_is_named_with_a_grounding(temporary: Path) -> None:
    facts = {"A": {(1,): TRUE, (2,): TRUE}, "B": {(2,): FALSE, (3,): FALSE}}
    problem = problem_of(
        {"s": 4}, {"A": ("s",), "B": ("s",)}, facts=facts, rules=[rule({"x": "s"}, math.inf, "A(x) => B(x).", 7)]
    )
    with pytest.raises(InputError) as caught:
        ground(problem, lowered((math.inf, [Literal("A", (x,), False), Literal("B", (x,), True)])))
    assert "the evidence makes this hard rule false for x = S2: A(x) => B(x)." in str(caught.value)
    assert str(caught.value).startswith("made.mln:7:1: ")
    assert not list(temporary.iterdir())


def test_hard_rules_that_contradict_each_other_are_both_named() -> None:
    rules = [rule({"x": "s"}, math.inf, "A(x).", 1), rule({"x": "s"}, math.inf, "!A(x).", 2)]
    problem = problem_of({"s": 2}, {"A": ("s",)}, rules=rules)
    with pytest.raises(InputError) as caught:
        ground(problem, lowered((math.inf, [Literal("A", (x,), True)]), (math.inf, [Literal("A", (x,), False)])))
    assert [fault.place.line for fault in caught.value.faults if fault.place] == [1, 2]
    assert "needs A(S0) to be true" in caught.value.faults[0].message


def test_hard_units_absorb_soft_ones() -> None:
    rules = [rule({"x": "s"}, math.inf), rule({"x": "s"}, 2.0), rule({"x": "s"}, 3.0)]
    problem = problem_of({"s": 2}, {"A": ("s",)}, rules=rules)
    positive, negative = Literal("A", (x,), True), Literal("A", (x,), False)
    network = ground(problem, lowered((math.inf, [positive]), (2.0, [positive]), (3.0, [negative])))
    assert network.atom_bias.tolist() == [math.inf, math.inf]
    assert network.log_constant == 4.0


@pytest.mark.ways("grid", "database")
def test_a_problem_that_does_not_fit_is_refused_with_its_largest_rule_and_what_would_fit(temporary: Path) -> None:
    problem, templates = transitivity(1295)
    assert predict(problem, templates).groundings == 1295**3
    with pytest.raises(ResourceError) as caught:
        ground(problem, templates, memory_limit=2_000_000_000)
    message = str(caught.value)
    assert "2,171,747,375 clauses at most" in message
    assert "the limit is 2 GB" in message
    assert "made.mln:1:1: F(x,y) ^ F(y,z) => F(x,z)" in message
    assert "--closed" in message and "--memory-limit" in message and "would fit" in message
    assert caught.value.limit == 2e9 and caught.value.needed is not None and caught.value.needed > 1e11
    assert not list(temporary.iterdir())


@pytest.mark.ways("grid", "database")
def test_evidence_that_a_finer_count_sees_lets_a_problem_through() -> None:
    # 300³ groundings, but nearly all of F is known to be false
    n = 300
    facts = {"F": {(a, b): FALSE for a in range(n) for b in range(n) if (a * b) % 2}}
    problem = problem_of({"s": n}, {"F": ("s", "s")}, facts=facts, rules=[rule({"x": "s", "y": "s", "z": "s"}, 1)])
    _, templates = transitivity(2)
    sizes = predict(problem, templates, budget_seconds=5)
    open_pairs = {(a, b) for a in range(2) for b in range(2) if not (a * b) % 2}
    share = sum((a, b) in open_pairs and (b, c) in open_pairs for a in range(2) for b in range(2) for c in range(2))
    assert sizes.rows == ((n // 2) ** 3 * share,)


@pytest.mark.ways("grid", "database")
def test_the_default_limit_is_a_share_of_this_machine() -> None:
    problem, templates = transitivity(20_000)
    with pytest.raises(ResourceError, match="would need about"):
        ground(problem, templates)


@pytest.mark.ways("grid", "database")
def test_more_atoms_than_literals_can_number_are_refused() -> None:
    problem, templates = transitivity(40_000)
    with pytest.raises(ResourceError, match="F alone has 1,600,000,000"):
        ground(problem, templates)


@pytest.mark.ways("grid", "database")
@pytest.mark.parametrize("what", ["rows", "one"])
def test_an_interrupt_is_passed_on_and_leaves_no_file(temporary: Path, what: str) -> None:
    pairs = "FROM range(3000000) AS a CROSS JOIN range(100000) AS b"
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt), engine(1 << 28, threads=1) as database:
        assert database.count("SELECT 1", 10) == 1  # opened before the interrupt comes
        timer.start()
        if what == "rows":
            for _ in database.batches(f"SELECT a.range * b.range AS p {pairs}"):
                pass
        else:
            database.count(f"SELECT COUNT(*) {pairs} WHERE (a.range * b.range) % 7 = 3", 60)
    timer.join()
    assert not list(temporary.iterdir())


@pytest.mark.ways("grid", "database")
def test_counting_stops_at_its_budget() -> None:
    with engine(1 << 28, threads=1) as database:
        sql = "SELECT COUNT(*) FROM range(3000000) AS a CROSS JOIN range(100000) AS b WHERE (a.range * b.range) % 7 = 3"
        assert database.count(sql, 0.2) is None
        assert database.count("SELECT COUNT(*) FROM range(5)", 10) == 5


@pytest.mark.ways("grid", "database")
def test_a_database_without_room_is_a_refusal(temporary: Path) -> None:
    with engine(64 << 20, threads=1) as database:
        database._connection.execute("SET max_temp_directory_size = '1MB'")
        with pytest.raises(ResourceError, match="memory-limit"):
            list(database.batches("SELECT a.range AS k, COUNT(*) AS n FROM range(20000000) AS a GROUP BY 1"))
    assert not list(temporary.iterdir())


@pytest.mark.ways("grid", "database")
@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 bytes"), (999, "999 bytes"), (2e9, "2 GB"), (1.5e13, "15 TB"), (4e16, "4e+04 TB")]
)
def test_sizes_are_written_for_people(n: float, text: str) -> None:
    assert show_bytes(n) == text


def test_progress_goes_forward_to_its_total() -> None:
    class Seen:
        def __init__(self) -> None:
            self.stages: list[tuple[str, float | None]] = []
            self.done: list[float] = []

        def stage(self, name: str, total: float | None = None) -> None:
            self.stages.append((name, total))

        def advance(self, done: float, note: str = "") -> None:
            self.done.append(done)

    seen = Seen()
    problem, templates = transitivity(20)
    ground(problem, templates, progress=seen)
    assert [name for name, _ in seen.stages] == ["predict", "ground", "assemble"]
    assert seen.done == sorted(seen.done)
    assert seen.done[-1] == seen.stages[1][1] == 8000


@pytest.mark.ways("grid", "database")
def test_the_database_gets_its_share_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []

    def opened(limit: int, threads: int | None = None) -> AbstractContextManager[Engine]:
        given.append(limit)
        return engine(limit, threads)

    monkeypatch.setattr(ground_module, "engine", opened)
    ground(*transitivity(2), memory_limit=2_000_000_000)
    assert given == [int(ground_module._DATABASE_SHARE * 2_000_000_000)] and 0 < given[0] < 2_000_000_000
