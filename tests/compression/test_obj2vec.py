"""Contexts against plain enumeration, embeddings by what they must tell apart, and balanced groups."""

import itertools

import numpy as np
import pytest
from tests.compression.test_features import evidence_of

import markovlogic as mln
from markovlogic.compression import obj2vec
from markovlogic.compression.contexts import contexts_of, sentences_of
from markovlogic.compression.obj2vec import balanced, directions, factorised
from markovlogic.language.syntax import atoms_of
from markovlogic.problem.prepare import prepare_problem
from markovlogic.symmetry.twins import twin_classes
from markovlogic_papers import readings

EXAMPLE = "x={X1,X2,X3}\ny={Y1,Y2}\nR(x)\nS(x,y)\nT(y)\n1 R(a) ^ S(a,b) ^ T(b)\n"
FACTS = "R(X1)\nR(X2)\nR(X3)\nS(X1,Y1)\nS(X2,Y1)\nS(X3,Y2)\n"


def problem_of(text, facts, query="T"):
    model = mln.Model.parse(text)
    return prepare_problem(model, evidence_of(model, facts), query).problem


def pairs(contexts):
    return {(int(a), int(b)): int(n) for a, b, n in zip(contexts.object, contexts.context, contexts.count, strict=True)}


def test_the_paper_s_example_and_both_directions():
    """[002] Example 1; T is unknown, so the formula is satisfied in part."""
    found = contexts_of(problem_of(EXAMPLE, FACTS))
    # objects: X1 X2 X3 Y1 Y2; all of them are contexts, numbered alike
    assert pairs(found) == {(0, 3): 1, (1, 3): 1, (2, 4): 1, (3, 0): 1, (3, 1): 1, (4, 2): 1}


def test_joins_count_groundings():
    text = "p={A,B,C,D}\nF(p,p)\nG(p)\n1 F(x,y) ^ F(y,z) ^ G(B) => G(z)\n"
    facts = "F(A,B)\nF(B,C)\nF(B,D)\nF(C,D)\nF(A,C)\nG(B)\nG(D)\n"
    problem = problem_of(text, facts, "F(A,B)")
    true = {("A", "B"), ("B", "C"), ("B", "D"), ("C", "D"), ("A", "C")}
    expected = {}
    names = "ABCD"
    for x, y, z in itertools.product(names, repeat=3):
        if (x, y) in true and (y, z) in true and z in "BD":
            for a, b in itertools.permutations((x, y, z), 2):
                if a != b:
                    key = (names.index(a), names.index(b))
                    expected[key] = expected.get(key, 0) + 1
    found = contexts_of(problem)
    used = sorted({b for _, b in expected})
    assert pairs(found) == {(a, used.index(b)): n for (a, b), n in expected.items()}
    # a window of one position leaves out x beside z
    near = contexts_of(problem, window=1)
    assert near.count.sum() < found.count.sum()


def test_clauses_make_all_contexts_alike():
    problem = problem_of("x={X1,X2,X3}\ny={Y1,Y2}\nR(x)\nS(x,y)\n1 R(a) v S(a,b)\n", "R(X1)\nS(X1,Y1)\nS(X2,Y1)\n", "R")
    found = contexts_of(problem, reading="clause")
    # satisfied: R(X1) with both, S(X2,Y1)
    assert pairs(found) == {(0, 1): 1, (0, 2): 1, (1, 1): 1, (3, 0): 1} or found.count.sum() == 2 * 3
    conjunctive = contexts_of(problem)
    assert conjunctive.count.sum() == 2


@pytest.mark.parametrize(
    "wrong", [{"dim": 0}, {"window": -1}, {"epochs": 0}, {"negatives": 0}, {"p_random": 1.5}, {"p_random": -0.1}]
)
def test_each_setting_is_checked(wrong):
    with pytest.raises(mln.InputError, match=r"obj2vec: (dim, epochs and negatives are|window is) at least"):
        readings.Obj2Vec(**wrong)


def test_roles_and_colours():
    text = "p={A,B,C,D}\nF(p,p)\nG(p)\n1 F(x,y) ^ G(x)\n"
    problem = problem_of(text, "F(A,B)\nF(C,D)\nG(A)\nG(C)\n", "F(A,D)")
    plain = contexts_of(problem)
    role = contexts_of(problem, tokens="role")
    refined = contexts_of(problem, tokens="refined")

    # A and C are symmetric and share no neighbour (papers.md 2.10g): only colours see that they are alike
    def cosine(contexts):
        one, other = contexts.matrix.toarray()[[0, 2]]
        return one @ other / np.sqrt(one @ one * (other @ other))

    assert cosine(plain) == 0.0
    assert 0.0 < cosine(role) < cosine(refined)


def test_objects_with_common_contexts_lie_together():
    rng = np.random.default_rng(1)
    facts = [f"S(X{i},Y{j})" for i in range(20) for j in range(20) if (i < 10) == (j < 10) and rng.random() < 0.6]
    text = "x={" + ",".join(f"X{i}" for i in range(20)) + "}\ny={" + ",".join(f"Y{i}" for i in range(20)) + "}\n"
    problem = problem_of(text + "R(x)\nS(x,y)\n1 R(a) ^ S(a,b)\n", "\n".join(facts) + "\n", "R")
    halves = [(0, 10), (10, 20)]
    for settings, name in ((mln.Obj2Vec(dim=4), "SVD"), (mln.Obj2Vec(dim=4, embedding="skipgram"), "skip-gram")):
        partition = settings.partition(problem)
        assert name in partition.source
        own = partition.class_of["x"]
        assert partition.n_groups("x") == 2 and [len(set(own[a:b].tolist())) for a, b in halves] == [1, 1]
        np.testing.assert_array_equal(own, settings.partition(problem).class_of["x"])  # a function of the seed
        chosen = partition.representative["x"]
        assert own[chosen].tolist() == [0, 1]


def test_the_paper_s_example_is_learnt_by_skip_gram_at_default_settings():
    """[002] Example 1: X1 and X2 share their context, X3 has another one; in 10 of 10 seeds."""
    problem = problem_of(EXAMPLE, FACTS)
    for seed in range(10):
        settings = mln.Obj2Vec(embedding="skipgram", ratio=0.7, seed=seed)
        made = settings.embedded(problem, contexts_of(problem))
        assert not made.notes and "epochs" in made.name
        one, two, three = directions(made.vectors)[:3]
        assert one @ two > max(one @ three, two @ three)
        assert settings.partition(problem).class_of["x"].tolist() == [0, 0, 1]


def communities(n, degree, seed):
    """Two halves of n objects; facts tie objects of one half alone."""
    rng, half = np.random.default_rng(seed), n // 2
    names = [f"O{i}" for i in range(n)]
    facts = "".join(
        f"S(O{i},O{half * (i // half) + int(j)})\n" for i in range(n) for j in rng.choice(half, degree, replace=False)
    )
    return problem_of("x={" + ",".join(names) + "}\nR(x)\nS(x,x)\n1 R(a) ^ S(a,b)\n", facts, "R")


def test_disjoint_communities_are_told_apart_by_both_embeddings():
    problem = communities(400, 2, seed=0)
    half = np.arange(400) // 200
    for embedding in ("svd", "skipgram"):
        own = mln.Obj2Vec(embedding=embedding).partition(problem).class_of["x"]
        share = np.array([[np.count_nonzero(half[own == group] == side) for side in (0, 1)] for group in range(40)])
        assert share.max(axis=1).sum() / 400 >= 0.94


def test_sentences_are_the_objects_of_satisfied_groundings():
    problem = problem_of(
        "p={A,B,C,D}\nq={T,U}\nF(p,p)\nG(p,q)\nH(q)\n1 F(x,y) ^ G(y,z) ^ H(z)\n", "F(A,B)\nF(B,B)\nF(C,D)\nG(B,T)\nG(B,U)\n", "H"
    )
    (found,) = sentences_of(problem, 100, seed=0)
    assert found == [[0, 1, 4], [0, 1, 5], [1, 4], [1, 5]]  # H is unknown; F(B,B) names B once
    (few,) = sentences_of(problem, 2, seed=0)
    assert len(few) == 2 and all(sentence in found for sentence in few)
    made = contexts_of(problem)
    counted = {}
    for a, b in (pair for sentence in found for pair in itertools.permutations(sentence, 2)):
        counted[a, b] = counted.get((a, b), 0) + 1
    used = sorted({b for _, b in counted})
    reported = {(a, used[b]): n for (a, b), n in pairs(made).items()}
    assert reported.keys() == counted.keys()
    assert all(reported[key] == n for key, n in counted.items() if 1 not in key)


def test_training_that_was_cut_short_says_so(monkeypatch):
    monkeypatch.setattr(obj2vec, "MOST_TRAINED", 1)
    problem = problem_of(EXAMPLE, FACTS)
    made = mln.Obj2Vec(embedding="skipgram", ratio=0.5).partition(problem)
    assert any("had not settled" in note for note in made.notes)
    assert "7 epochs" in mln.Obj2Vec(embedding="skipgram", ratio=0.5, epochs=7).partition(problem).source


def differences(model, problem, of, one, other):
    """m of [002] Definition 3: ground formulas whose truth changes when two objects change places, by going through all."""
    names = {kind: list(domain.names) for kind, domain in problem.domains.items()}
    status = {name: own.lookup(np.arange(own.n_ground)) for name, own in problem.statuses.items()}

    def truth(rule, values):
        reported = []
        for atom in atoms_of(rule.formula):
            code = 0
            for term, kind in zip(atom.args, model.predicates[atom.predicate].types, strict=True):
                code = code * len(names[kind]) + values[term.name]
            reported.append(int(status[atom.predicate][code]))
        return tuple(reported)

    changed = 0
    for rule in model.rules:
        kinds = rule.type_of
        for values in itertools.product(*(range(len(names[kinds[name]])) for name in kinds)):
            here = dict(zip(kinds, values, strict=True))
            there = {
                name: {one: other, other: one}.get(value, value) if kinds[name] == of else value for name, value in here.items()
            }
            changed += truth(rule, here) != truth(rule, there)
    return changed


def test_exchangeable_objects_have_no_differences_and_groups_have_few():
    """[002] Definitions 1 to 3: X ~ Y where no grounding changes; the objective is the sum of δ over groups (papers.md 2.12)."""
    text = "x={" + ",".join(f"X{i}" for i in range(12)) + "}\ny={" + ",".join(f"Y{i}" for i in range(6)) + "}\n"
    rng = np.random.default_rng(3)
    facts = [f"S(X{i},Y{j})" for i in range(12) for j in range(6) if (i < 6) == (j < 3) and rng.random() < 0.8]
    model = mln.Model.parse(text + "R(x)\nS(x,y)\n1 R(a) ^ S(a,b)\n")
    problem = prepare_problem(model, evidence_of(model, "\n".join(facts) + "\n"), "R").problem
    m = np.array([[differences(model, problem, "x", a, b) for b in range(12)] for a in range(12)])
    twins = twin_classes(problem).class_of["x"]
    np.testing.assert_array_equal(m == 0, twins[:, None] == twins[None, :])
    delta = np.tanh(0.25 * m)

    def objective(partition):
        own, chosen = partition.class_of["x"], partition.representative["x"]
        return sum(delta[chosen[own[i]], i] for i in range(12))

    at_random = [objective(mln.RandomGroups(ratio=1 / 3, seed=seed).partition(problem)) for seed in range(10)]
    for embedding in ("svd", "skipgram"):
        assert objective(mln.Obj2Vec(ratio=1 / 3, embedding=embedding).partition(problem)) < min(at_random)


def test_without_gensim_the_matrix_is_factorised(monkeypatch):
    import builtins

    problem = problem_of(EXAMPLE, FACTS)
    found = contexts_of(problem)
    monkeypatch.setattr(obj2vec, "SMALL_VOCABULARY", 0)
    real = builtins.__import__

    def without(name, *args, **more):
        if name.startswith("gensim"):
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    made = mln.Obj2Vec().embedded(problem, found)
    np.testing.assert_array_equal(made.vectors, factorised(found, 2, 5))
    assert made.name == "SVD"
    with pytest.raises(mln.InputError, match="install markovlogic"):
        mln.Obj2Vec(embedding="skipgram").embedded(problem, found)


@pytest.mark.parametrize("p_random", [0.01, 0.99])
@pytest.mark.parametrize("one_less", [False, True])
def test_groups_are_balanced_and_hold_every_object_once(p_random, one_less):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 3))
    for wanted in (1, 4, 7, 15, 20, 24, 29, 30):
        groups = balanced(points, wanted, np.random.default_rng(2), p_random=p_random, one_less=one_less)
        assert sorted(np.concatenate([group.members for group in groups]).tolist()) == list(range(30))
        assert all(group.chosen in group.members for group in groups)
        if one_less:  # as many groups as were requested, of two sizes at the most
            assert len(groups) == wanted
            assert {len(group.members) for group in groups} <= {30 // wanted, -(-30 // wanted)}
        # the paper's K takes one object more at every step, so that fewer groups are left
        assert len(groups) <= wanted
    literal = balanced(points, 15, np.random.default_rng(2), p_random=p_random, one_less=False)
    assert len(literal) < 15 == len(balanced(points, 15, np.random.default_rng(2), p_random=p_random))


def test_the_tightest_neighbourhood_is_taken_first():
    points = np.array([[0.0], [0.1], [0.2], [5.0], [5.5], [6.0], [20.0], [30.0], [40.0]])
    groups = balanced(points, 3, np.random.default_rng(0), p_random=0.0)
    assert [group.members.tolist() for group in groups] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert groups[0].chosen == 1 and groups[-1].diameter >= 10


def test_objects_of_which_different_things_are_known_stay_apart():
    problem = problem_of(
        "x={A,B,C,D}\ny={T,U}\nR(x)\nS(x,y)\n1 R(a) ^ S(a,b)\n", "R(A)\n!R(B)\nS(A,T)\nS(B,T)\nS(C,T)\nS(D,T)\n", "R"
    )
    assert mln.Obj2Vec(ratio=0.25).partition(problem).class_of["x"].tolist() == [0, 1, 2, 2]
    assert readings.Obj2Vec(ratio=0.25, unary="any").partition(problem).n_groups("x") == 1


def test_a_group_is_as_wide_as_its_farthest_member_is_from_the_one_that_was_chosen() -> None:
    points = np.array([[0.0], [1.0], [1.5], [10.0], [10.5], [12.0]])
    first, second = obj2vec.balanced(points, 2, np.random.default_rng(0), p_random=0.0)
    assert (first.chosen, first.members.tolist(), first.diameter) == (1, [0, 1, 2], 1.0)
    wide = {3: 2.0, 4: 1.5, 5: 2.0}
    assert second.members.tolist() == [3, 4, 5] and second.diameter == wide[second.chosen]


def test_objects_without_contexts_have_no_vectors_whatever_makes_them():
    """Rules about one object put nobody beside anybody."""
    problem = problem_of("x={A,B,C,D}\nR(x)\nS(x)\n1 R(a) => S(a)\n", "R(A)\n", "S")
    for embedding in ("svd", "skipgram"):
        settings = mln.Obj2Vec(ratio=0.5, embedding=embedding)
        assert not settings.embedded(problem, contexts_of(problem)).vectors.any()
        assert settings.partition(problem).n_groups("x") < 4


def test_what_is_too_much_to_count_is_reported(monkeypatch):
    from markovlogic.compression import contexts

    monkeypatch.setattr(contexts, "MOST_PAIRS", 4)
    problem = problem_of(EXAMPLE, FACTS + "S(X1,Y2)\n")
    made = mln.Obj2Vec(ratio=0.5).partition(problem)
    assert any("the first 4 pairs of objects were counted" in note for note in made.notes)
    wide = readings.Obj2Vec(ratio=0.5, context="clause").partition(problem)
    assert any("too many groundings to be read as a clause" in note for note in wide.notes)


def test_epochs_are_refused_where_there_are_none():
    with pytest.raises(mln.InputError, match="epochs are a setting of embedding=skipgram"):
        mln.Obj2Vec(embedding="svd", epochs=9)
    assert mln.Obj2Vec(embedding="skipgram", epochs=9).epochs == 9
