"""What is known, open and requested: against the definitions, applied to one atom after another."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.made import model_of

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Domain, Evidence, Facts, codes
from markovlogic.errors import InputError, Place, ResourceError
from markovlogic.language.syntax import Atom, Model, Rule, Variable
from markovlogic.problem import GroundAtom, WantedAtoms, WantedFormula, pose, query_atoms

MODEL = model_of("P(a)", "Q(a, b)", "C(a, b!)", "D(a!, b, c!)", "E(b!, a)", "N(b!)", "Flag")
SIZES = {"a": 3, "b": 2, "c": 2}


def evidence_of(facts, sizes=SIZES, model=MODEL, observed=()):
    """Evidence with constants A0, A1, … from {predicate: {args: truth}}."""
    domains = {name: Domain(name, tuple(f"{name.upper()}{n}" for n in range(size))) for name, size in sizes.items()}
    made = {}
    for name, listed in facts.items():
        if not listed:
            continue
        shape = tuple(sizes[t] for t in model.predicates[name].types)
        args = np.array(list(listed), np.int32).reshape(len(listed), len(shape))
        order = np.argsort(codes(args, shape))
        made[name] = Facts(args[order], np.array(list(listed.values()), np.int8)[order])
    return Evidence(domains, made, (), frozenset(observed))


def groups_of(name, sizes=SIZES, model=MODEL):
    """The exclusive groups of a predicate, as lists of argument tuples."""
    predicate = model.predicates[name]
    groups = {}
    for args in itertools.product(*(range(sizes[t]) for t in predicate.types)):
        key = tuple(number for number, marked in zip(args, predicate.exclusive, strict=True) if not marked)
        groups.setdefault(key, []).append(args)
    return list(groups.values())


def contradicts(facts):
    """Whether exclusive arguments make the facts impossible, by definition."""
    for name, listed in facts.items():
        if any(MODEL.predicates[name].exclusive):
            for group in groups_of(name):
                message = [listed.get(args) for args in group]
                if message.count(TRUE) > 1 or (TRUE in message and UNKNOWN in message) or message.count(FALSE) == len(group):
                    return True
    return False


def status_by_definition(name, args, facts, is_open):
    listed = facts.get(name, {})
    if any(MODEL.predicates[name].exclusive):
        group = next(group for group in groups_of(name) if args in group)
        if any(listed.get(other) == TRUE for other in group):
            return TRUE if listed.get(args) == TRUE else FALSE
        return FALSE if listed.get(args) == FALSE else UNKNOWN
    return listed.get(args, UNKNOWN if is_open else FALSE)


@st.composite
def made_facts(draw):
    facts = {}
    for name, predicate in MODEL.predicates.items():
        if draw(st.booleans()):
            args = st.tuples(*(st.integers(0, SIZES[t] - 1) for t in predicate.types))
            truths = st.sampled_from([TRUE, FALSE, FALSE, UNKNOWN])
            facts[name] = draw(st.dictionaries(args, truths, max_size=5))
    return facts


names = st.lists(st.sampled_from(list(MODEL.predicates)), max_size=3, unique=True)


@settings(max_examples=250, deadline=None, derandomize=True)
@given(made_facts(), names, names, names)
def test_statuses_by_definition(facts, queried, opened, closed):
    closed = [name for name in closed if name not in queried and name not in opened]
    if contradicts(facts):
        with pytest.raises(InputError, match="contradicting facts"):
            pose(MODEL, evidence_of(facts), queried, open_=opened, closed=closed)
        return
    problem = pose(MODEL, evidence_of(facts), queried, open_=opened, closed=closed)
    number = 0
    for name, predicate in MODEL.predicates.items():
        statuses = problem.statuses[name]
        is_open = name in queried or name in opened or (not facts.get(name) and name not in closed)
        every = list(itertools.product(*(range(SIZES[t]) for t in predicate.types)))
        expected = [status_by_definition(name, args, facts, is_open) for args in every]
        code = np.arange(len(every), dtype=np.int64)
        assert statuses.n_ground == len(every)
        assert statuses.lookup(code).tolist() == expected
        assert np.all(np.diff(statuses.code) > 0)
        assert not np.any(statuses.status == statuses.default)
        unknown = [at for at, status in enumerate(expected) if status == UNKNOWN]
        assert statuses.n_open == len(unknown)
        assert problem.atoms.codes(name).tolist() == unknown
        assert problem.atoms.numbers(name, np.array(unknown, np.int64)).tolist() == list(range(number, number + len(unknown)))
        number += len(unknown)
        check_groups(problem, name, unknown, every)
    assert len(problem.atoms) == number


def check_groups(problem, name, unknown, every):
    found = [groups for groups in problem.groups if groups.predicate == name]
    if not any(MODEL.predicates[name].exclusive):
        assert not found
        return
    expected = [[every.index(args) for args in group] for group in groups_of(name)]
    expected = [[code for code in group if code in unknown] for group in expected]
    expected = [group for group in expected if group]
    if not expected:
        assert not found
        return
    (groups,) = found
    first = problem.atoms.range_of(name).start
    codes_of = problem.atoms.codes(name)[groups.atom - first]
    split = [part.tolist() for part in np.split(codes_of, groups.start[1:-1])]
    assert split == sorted(expected, key=lambda group: groups_of_order(name, every, group))
    assert groups.start[-1] == len(groups.atom)
    assert groups.atom.dtype == np.int32


def groups_of_order(name, every, group):
    """The unmarked arguments of a group: groups are in their order."""
    return [n for n, marked in zip(every[group[0]], MODEL.predicates[name].exclusive, strict=True) if not marked]


def test_worlds():
    facts = {"P": {(0,): TRUE}, "Q": {(0, 0): TRUE, (1, 1): UNKNOWN}}
    count = lambda **options: {  # noqa: E731
        name: status.n_open for name, status in pose(MODEL, evidence_of(facts), **options).statuses.items() if name in "PQ"
    }
    assert count() == {"P": 0, "Q": 1}
    assert count(query="P") == {"P": 2, "Q": 1}
    assert count(query="P(A1)") == {"P": 2, "Q": 1}  # one ground atom opens the whole predicate
    assert count(query=["P(A1) ^ !Q(A0,B1)"]) == {"P": 2, "Q": 5}
    assert count(open_=["P"]) == {"P": 2, "Q": 1}
    assert count(open_="P,Q") == {"P": 2, "Q": 5}
    closed = pose(MODEL, evidence_of({}), closed=["P"])
    assert closed.statuses["P"].n_open == 0
    assert closed.statuses["Q"].n_open == 6


def test_an_empty_table_closes_its_predicate():
    problem = pose(MODEL, evidence_of({}, observed=["P"]))
    assert problem.statuses["P"].n_open == 0
    assert pose(MODEL, evidence_of({}, observed=["P"]), "P").statuses["P"].n_open == 3


def test_without_evidence():
    model = model_of("P(a)", constants={"a": ("X", "Y")})
    assert len(pose(model, None, "P").atoms) == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"query": "R"}, "undeclared predicate R in the query"),
        ({"query": "Flg"}, r"undeclared predicate Flg in the query \(did you mean Flag\?\)"),
        ({"query": "P(A9)"}, r"unknown constant A9 of type a in the query \(known are A0, A1, A2\)"),
        ({"query": "P(A0,A1)"}, r"P takes 1 argument, the query gives 2 \(it is declared as P\(a\)\)"),
        ({"query": "Flag(A0)"}, "Flag takes 0 arguments"),
        ({"open_": ["R"]}, "undeclared predicate R in --open"),
        ({"closed": ["Fla"]}, r"undeclared predicate Fla in --closed \(did you mean Flag\?\)"),
        ({"query": "P", "closed": ["P"]}, "P is queried, so it cannot be closed"),
        ({"query": "P(A0)", "closed": "P"}, "P is queried, so it cannot be closed"),
        ({"open_": ["P"], "closed": ["P"]}, "P is named as open and as closed"),
    ],
)
def test_wrong_requests(options, says):
    with pytest.raises(InputError, match=says):
        pose(MODEL, evidence_of({}), **options)


def test_all_that_is_wrong_at_once():
    with pytest.raises(InputError) as caught:
        pose(MODEL, evidence_of({}), "R,P(A9)", open_=["S"], closed=["T"])
    assert len(caught.value.faults) == 4


def with_rule(*sizes):
    rule = Rule(Atom("P", (Variable("x"),)), 1.0, ("x",), (("x", "a"),), "1.0 P(x)", Place("m.mln", 3, 1))
    return Model(MODEL.predicates, (rule,), {}, source="m.mln"), evidence_of({}, dict(zip("abc", sizes, strict=True)))


def test_empty_domains():
    model, evidence = with_rule(0, 2, 2)
    with pytest.raises(InputError, match=r"m\.mln:3:1: type a has no constants, so x of this formula .*declare its constants"):
        pose(model, evidence)
    model, evidence = with_rule(2, 0, 2)
    assert len(pose(model, evidence).atoms) == 3  # P and Flag; no rule, query or option needs type b
    for options in ({"query": "Q"}, {"open_": ["Q"]}):
        with pytest.raises(InputError, match="type b has no constants, so Q has no ground atoms"):
            pose(model, evidence, **options)


def test_query_atoms():
    facts = {"P": {(0,): TRUE}, "C": {(1, 0): TRUE, (2, 1): FALSE}}
    problem = pose(MODEL, evidence_of(facts), ["C", "P(A0),P(A2)", "P(A1)^Flag", "!P(A1)", "C(A0,B1)"])
    first_p, first_c = (problem.atoms.range_of(name).start for name in "PC")
    p, c = query_atoms(problem)
    assert (p.predicate, p.code.tolist(), p.number.tolist(), p.truth.tolist()) == ("P", [2], [first_p + 1], [UNKNOWN])
    assert (c.predicate, c.code.tolist(), c.number.tolist()) == ("C", [0, 1, 4], [first_c, first_c + 1, first_c + 2])
    p, c = query_atoms(problem, include_evidence=True)
    assert (p.code.tolist(), p.truth.tolist(), p.number.tolist()) == ([0, 2], [TRUE, UNKNOWN], [-1, first_p + 1])
    assert c.truth.tolist() == [UNKNOWN, UNKNOWN, TRUE, FALSE, UNKNOWN, FALSE]
    assert c.number.tolist() == [first_c, first_c + 1, -1, -1, first_c + 2, -1]


def test_ground_atoms_of_a_query():
    """Single positive literals are atoms, each once and in order; the rest are formulas."""
    evidence = evidence_of({"P": {(1,): TRUE}, "Q": {(0, 1): FALSE}})
    query = ["Q(A1,B0)", "P(A2)", "P(A1)", "P(A0)", "P(A2)", "!P(A1)", "P(A0) ^ Q(A2,B1)"]
    problem = pose(MODEL, evidence, query, open_=["Q"])
    p, q = query_atoms(problem)
    assert (p.predicate, p.code.tolist()) == ("P", [0, 2]) and (q.predicate, q.code.tolist()) == ("Q", [2])
    assert p.number.tolist() == problem.atoms.numbers("P", np.array([0, 2])).tolist() and (p.truth == UNKNOWN).all()
    p, q = query_atoms(problem, include_evidence=True)
    assert p.code.tolist() == [0, 1, 2] and p.truth.tolist() == [UNKNOWN, TRUE, UNKNOWN] and p.number[1] == -1
    assert [item.joins_atoms for item in problem.query] == [False] * 6 + [True]
    everything, _ = query_atoms(pose(MODEL, evidence, ["P", "P(A1)", "Q(A0,B0)"]))
    assert everything.code.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("size", "reported"), [(0, "the type has no constants"), (5, "known are A0, A1, A2, A3, A4)"), (6, "A3, A4, …)")]
)
def test_constants_that_are_known_are_named_up_to_five(size, reported):
    with pytest.raises(InputError) as caught:
        pose(model_of("P(a)"), evidence_of({}, {"a": size}, model_of("P(a)")), "P(Zebra)")
    assert reported in str(caught.value)


@pytest.mark.parametrize(("n", "reported"), [(8, "P6, P7)"), (9, "P6, P7, …)")])
def test_predicates_that_are_declared_are_named_up_to_eight(n, reported):
    model = model_of(*(f"P{number}" for number in range(n)))
    with pytest.raises(InputError) as caught:
        pose(model, evidence_of({}, {}, model), "Zebra")
    assert reported in str(caught.value)


def test_query_items_keep_codes_and_text():
    problem = pose(MODEL, evidence_of({}), "Flag, Q(A1, B1) ^ !P(A2)")
    whole, both = problem.query
    assert (whole.text, whole.wanted) == ("Flag", WantedAtoms("Flag"))
    assert both.text == "Q(A1,B1)^!P(A2)"
    assert both.wanted == WantedFormula((GroundAtom("Q", 3), GroundAtom("P", 2)), ("and", (1, -2)))


@pytest.mark.parametrize(
    ("query", "codes"),
    [("Q(A1,_)", [2, 3]), ("Q(_, B1)", [1, 3, 5]), ("Q(_,_)", [0, 1, 2, 3, 4, 5]), ("Q(A1,_),Q(_,B1),Q(A0,B0)", [0, 1, 2, 3, 5])],
)
def test_patterns_ask_for_all_atoms_that_fit(query, codes):
    evidence = evidence_of({"Q": {(1, 1): TRUE}})
    (everything,) = query_atoms(pose(MODEL, evidence, query), include_evidence=True)
    (left,) = query_atoms(pose(MODEL, evidence, query))
    assert everything.code.tolist() == codes and left.code.tolist() == [code for code in codes if code != 3]
    few = evidence_of({"Q": {(a, b): TRUE for a in range(3) for b in range(2) if (a, b) != (1, 0)}})
    (left,) = query_atoms(pose(MODEL, few, query))  # fewer open atoms than the pattern has: these are looked through
    assert left.code.tolist() == [code for code in codes if code == 2]


def test_twenty_million_open_atoms_are_not_listed():
    sizes = {"a": 4168, "b": 774, "c": 1}
    rng = np.random.default_rng(1)
    args = np.unique(np.stack([rng.integers(0, 4168, 270_000), rng.integers(0, 774, 270_000)], 1), axis=0).astype(np.int32)
    made = evidence_of({}, sizes)
    evidence = Evidence(made.domains, {"Q": Facts(args, np.ones(len(args), np.int8))})
    model = Model({name: MODEL.predicates[name] for name in ("P", "Q")}, (), {})
    problem = pose(model, evidence, open_=["P", "Q"])
    assert len(problem.atoms) == 4168 + 4168 * 774 - len(args)
    listed = problem.statuses["Q"]
    assert listed.code.nbytes + listed.status.nbytes <= 9 * len(args)


def test_too_many_ground_atoms():
    model = model_of("Wide(a, a, a, a, a, a, a)")
    with pytest.raises(ResourceError, match="predicate Wide has"):
        pose(model, evidence_of({}, {"a": 1000}, model))


def test_inputs_are_left_alone_and_results_read_only():
    evidence = evidence_of({"C": {(0, 0): TRUE}, "Q": {(0, 1): FALSE}})
    problem = pose(MODEL, evidence, "Q")
    for statuses in problem.statuses.values():
        assert not statuses.code.flags.writeable
        assert not statuses.status.flags.writeable
    assert problem.evidence is evidence
