"""Counts of groundings by object against plain enumeration of all groundings."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from tests.strategies import problems

import markovlogic as mln
from markovlogic.compression import contraction
from markovlogic.compression.bounded_joins import joined_counts
from markovlogic.compression.contraction import Contraction, Operand
from markovlogic.compression.features import object_counts, object_features, standardised
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, codes
from markovlogic.language.syntax import Variable
from markovlogic.problem.prepare import prepare_problem


def counted(problem, template, name):
    """(sat, fals, unk) of every object in the place of a variable, grounding by grounding."""
    variables = [*template.variables, *template.idle]
    sizes = [len(problem.domains[of]) for _, of in variables]
    found = np.zeros((3, sizes[[v for v, _ in variables].index(name)]))
    for numbers in itertools.product(*map(range, sizes)):
        value = dict(zip((v for v, _ in variables), numbers, strict=True))
        types = dict(variables)

        def number(term, of, value=value):
            return value[term.name] if isinstance(term, Variable) else problem.domains[of].number(term.name)

        truths = []
        for equality in template.equalities:
            of = next(types[side.name] for side in (equality.left, equality.right) if isinstance(side, Variable))
            truths.append((number(equality.left, of) == number(equality.right, of)) == equality.positive)
        for literal in template.literals:
            statuses = problem.statuses.get(literal.predicate)
            if statuses is None:
                truths.append(None)
                continue
            args = [number(t, of) for t, of in zip(literal.args, problem.model.predicates[literal.predicate].types, strict=True)]
            status = int(statuses.lookup(codes(np.array([args]).reshape(1, len(args)), statuses.sizes))[0])
            truths.append({UNKNOWN: None, TRUE: literal.positive, FALSE: not literal.positive}[status])
        kind = 0 if True in truths else 2 if None in truths else 1
        found[kind, value[name]] += 1
    return found


@settings(max_examples=40, deadline=None, derandomize=True)
@given(problems(max_atoms=16))
def test_counts_are_those_of_all_groundings(random_problem):
    model = mln.Model.parse(random_problem.mln)
    try:
        prepared = prepare_problem(model, evidence_of(model, random_problem.db), random_problem.query)
        lowered = prepared.lowered
    except mln.InputError:
        return
    for of in prepared.problem.domains:
        counts = object_counts(prepared.problem, lowered, of)
        column = 0
        for template in lowered.templates:
            for name, type_name in (*template.variables, *template.idle):
                if type_name == of:
                    expected = counted(prepared.problem, template, name)
                    for array, own in zip((counts.satisfied, counts.falsified, counts.unknown), expected, strict=True):
                        np.testing.assert_array_equal(array[:, column], own)
                    column += 1
        assert counts.exact and column == counts.satisfied.shape[1]


def evidence_of(model, text):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "facts.db"
        path.write_text(text)
        return model.evidence(path)


def random_operands(rng, sizes, scopes):
    made = []
    for scope in scopes:
        shape = tuple(sizes[name] for name in scope)
        array = (rng.random(shape) < 0.4).astype(float)
        base = float(rng.integers(2))
        index = np.argwhere(array != base).astype(np.int32)
        made.append(Operand.of(tuple(scope), shape, base, index, array[array != base] - base))
    return made


@pytest.mark.parametrize(
    "scopes", ["xy yz z", "xy yz zx", "xy yx x", "xyz zu u", "xy yz zu ux", "yz z", "x x xy xy"], ids=lambda text: text
)
def test_every_shape_of_query(scopes):
    rng = np.random.default_rng(3)
    sizes = {"x": 3, "y": 4, "z": 2, "u": 5, "idle": 3}
    shape = {"".join(sorted(s)) for s in scopes.split()}
    same = {"x": 3, "y": 3, "z": 3, "u": 3, "idle": 2} if len(shape) < len(scopes.split()) else sizes
    operands = random_operands(rng, same, scopes.split())
    names = list(same)
    whole = np.ones([same[name] for name in names])
    for operand in operands:
        array = np.full(operand.sizes, operand.base)
        if operand.variables:
            array[tuple(operand.index.T)] += operand.value
        order = np.argsort([names.index(name) for name in operand.variables])
        view = [same[name] if name in operand.variables else 1 for name in names]
        whole = whole * np.transpose(array, order).reshape(view)
    found, exact = Contraction().counts(operands, "x", same)
    assert exact
    np.testing.assert_allclose(found, whole.sum(axis=(1, 2, 3, 4)))


def summed(operands, sizes, target="x"):
    """The sum over all variables but one, from the whole array."""
    names = list(sizes)
    whole = np.ones([sizes[name] for name in names])
    for operand in operands:
        array = np.full(operand.sizes, operand.base)
        array[tuple(operand.index.T)] += operand.value
        order = np.argsort([names.index(name) for name in operand.variables])
        view = [sizes[name] if name in operand.variables else 1 for name in names]
        whole = whole * np.transpose(array, order).reshape(view)
    return whole.sum(axis=tuple(at for at, name in enumerate(names) if name != target))


@pytest.mark.parametrize("scopes", ["xyz", "xyz zyx", "xy yzu", "xyz zu", "yzx xuz", "yz zuy", "yz", "xyz yu zu"])
@pytest.mark.parametrize("seed", range(5))
def test_bounded_joins_count_a_piece_exactly(scopes, seed):
    sizes = dict(zip("xyzu", (4, 3, 5, 2), strict=True))
    operands = random_operands(np.random.default_rng(seed), sizes, scopes.split())
    used = {"x": sizes["x"]} | {name: size for name, size in sizes.items() if name in scopes}
    np.testing.assert_allclose(joined_counts(operands, "x", sizes), summed(operands, used), atol=1e-9)


def test_wide_queries_are_counted_in_pieces_and_say_so(monkeypatch):
    monkeypatch.setattr(contraction, "MOST_CELLS", 8)
    rng = np.random.default_rng(1)
    sizes = dict.fromkeys("xyz", 6)
    operands = random_operands(rng, sizes, ["xy", "yz", "zx"])
    found, exact = Contraction().counts(operands, "x", sizes)
    assert not exact
    # x-y and z-x are one piece, whose count is that of two independent rows; y-z has a share of all pairs
    rows = [summed([operands[at]], {"x": 6, name: 6}) for at, name in ((0, "y"), (2, "z"))]
    share = float(summed([operands[1]], {"x": 1, "y": 6, "z": 6})[0]) / 36
    np.testing.assert_allclose(found, rows[0] * rows[1] * share)
    # independent of each other, the pieces give the very count
    whole = [Operand.of(("x", "y"), (6, 6), 1.0, np.zeros((0, 2), np.int32), np.zeros(0))]
    assert Contraction().counts(whole, "x", sizes)[0].tolist() == [36.0] * 6


def test_a_wide_rule_has_features_and_a_note(monkeypatch):
    """Triangles over more objects than a dense square allows: counted by joins, and reported."""
    monkeypatch.setattr(contraction, "MOST_CELLS", 50)
    names = [f"P{i}" for i in range(12)]
    model = mln.Model.parse("p={" + ",".join(names) + "}\nL(p,p)\nC(p)\n1 L(x,y) ^ L(y,z) ^ L(z,x) ^ C(x)\n")
    facts = "".join(f"L(P{i},P{(i + step) % 12})\n" for i in range(6) for step in (1, 3))
    prepared = prepare_problem(model, evidence_of(model, facts), "C")
    for compressor in (mln.KMeans(ratio=0.3), mln.DPMeans(ratio=0.3)):
        made = compressor.partition(prepared.problem)
        assert made.merges and any("counted in pieces of 2 joined tables" in note for note in made.notes)
    assert not any("pieces" in note for note in mln.RandomGroups().partition(prepared.problem).notes)


def test_features_are_standardised_and_equal_columns_count_once():
    rng = np.random.default_rng(0)
    one, other = rng.random((30, 1)), rng.random((30, 1))
    made = standardised(np.concatenate([one, np.full((30, 1), 7.0), 3 * one, other], axis=1))
    assert made.shape == (30, 2)
    np.testing.assert_allclose(made.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(made.std(axis=0), [np.sqrt(2), 1])


def test_the_paper_s_own_features_are_a_part(tmp_path):
    model = mln.Model.parse("R(x)\n1 R(x)\n")
    (tmp_path / "e.db").write_text("R(A)\n!R(B)\n?R(C)\n")
    prepared = prepare_problem(model, str(tmp_path / "e.db"), "R")
    kinds = object_features(prepared.problem, prepared.lowered, "x")
    assert len(np.unique(kinds, axis=0)) == 3
    assert len(np.unique(object_features(prepared.problem, prepared.lowered, "x", "sat"), axis=0)) == 2
