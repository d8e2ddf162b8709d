"""Boolean matrix factorisation: from below, exact at the end, near the true rank; the slides' example; masks; WebKB's links."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from markovlogic.compression import bmf
from markovlogic.compression.bmf import BooleanMatrix, Factors, asso, description_length, factorise, grecond
from markovlogic.errors import InputError, ResourceError

SLIDES = np.array([[1, 1, 0, 0], [1, 1, 0, 1], [0, 0, 1, 0], [1, 0, 0, 1]])  # [004], rows and columns a, b, c, d

matrices = hnp.arrays(np.bool_, st.tuples(st.integers(0, 9), st.integers(0, 9)))
patterns = st.tuples(st.integers(1, 12), st.integers(1, 70), st.integers(1, 4), st.integers(0, 10**6))


def product(factors: Factors) -> np.ndarray:
    """The Boolean product by its definition, cell by cell."""
    made = np.zeros((factors.left.shape[0], factors.right.shape[0]), bool)
    for i, j, k in itertools.product(*map(range, (*made.shape, factors.rank))):
        made[i, j] |= bool(factors.left[i, k] and factors.right[j, k])
    return made


def boolean_rank(dense: np.ndarray) -> int:
    """The smallest number of rectangles of ones that cover all ones, by trying all sets of maximal rectangles."""
    ones = int(dense.sum())
    if not ones:
        return 0
    rectangles = set()
    for rows in itertools.chain.from_iterable(itertools.combinations(range(len(dense)), n) for n in range(1, len(dense) + 1)):
        columns = dense[list(rows)].all(axis=0)
        closed = dense[:, columns].all(axis=1)
        rectangles.add(tuple(map(tuple, np.outer(closed, columns).astype(int).tolist())))
    cover = [np.array(rectangle, bool) for rectangle in rectangles]
    for rank in itertools.count(1):
        for chosen in itertools.combinations(cover, rank):
            if np.logical_or.reduce(chosen).sum() == ones:
                return rank
    raise AssertionError


def low_rank(n_rows: int, n_columns: int, rank: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return ((rng.random((n_rows, rank)) < 0.4).astype(int) @ (rng.random((rank, n_columns)) < 0.4)) > 0


def test_small_matrices_get_as_many_factors_as_their_boolean_rank():
    """GreConD needs one more for some of them, which is why it is called a heuristic."""
    rng, heuristic = np.random.default_rng(4), 0
    for _ in range(40):
        dense = rng.random((5, 5)) < rng.uniform(0.3, 0.8)
        matrix = BooleanMatrix.of_dense(dense)
        factors = factorise(matrix, error=0.0)
        assert factors.rank == boolean_rank(dense) and factors.is_minimal and not factors.error[-1]
        np.testing.assert_array_equal(product(factors), dense)
        assert factors.missed.tolist() == [int((dense & ~product(factors.prefix(k))).sum()) for k in range(factors.rank + 1)]
        heuristic += grecond(matrix).rank > factors.rank
        for k in range(factors.rank + 1):
            assert factorise(matrix, k).error[-1] <= grecond(matrix, k).error[-1]
            assert factorise(matrix, k).is_minimal == (k >= factors.rank)
    assert heuristic > 0


@settings(max_examples=60, deadline=None, derandomize=True)
@given(hnp.arrays(np.int8, st.tuples(st.integers(0, 6), st.integers(0, 6)), elements=st.integers(0, 2)))
def test_fewest_factors_cover_what_is_free_or_not_as_they_like(status):
    ones, free = (BooleanMatrix.of_dense(status == value) for value in (2, 1))
    found = bmf.smallest_cover(ones, unknown=free)
    made = product(found)
    assert made[status == 2].all() and not made[status == 0].any()
    masked = [((status == 2) | (fill & (status == 1))) for fill in (True, False)]
    assert found.rank <= min(boolean_rank(dense) for dense in masked) and found.rank <= grecond(ones, unknown=free).rank


def test_large_matrices_are_left_to_the_heuristic(monkeypatch):
    dense = low_rank(9, 9, 4, 1)
    for name, value in (("MOST_CONCEPTS", 2), ("MOST_CELLS", 3), ("MOST_LISTED", 1)):
        with monkeypatch.context() as patch:
            patch.setattr(bmf, name, value)
            assert bmf.smallest_cover(BooleanMatrix.of_dense(dense)) is None
            assert not factorise(BooleanMatrix.of_dense(dense), error=0.0).is_minimal


def test_the_slides_example_has_rank_three_and_loses_only_c_c_at_rank_two():
    for method in (grecond, asso):
        factors = method(BooleanMatrix.of_dense(SLIDES))
        assert factors.rank == 3 == boolean_rank(SLIDES == 1)
        assert (factors.product().dense() == (SLIDES == 1)).all()
        two = factors.prefix(2)
        assert np.argwhere(two.product().dense() != (SLIDES == 1)).tolist() == [[2, 2]]
        assert factors.error.tolist() == [8, 4, 1, 0]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(matrices)
def test_grecond_covers_from_below_and_ends_exact(dense):
    factors = grecond(BooleanMatrix.of_dense(dense))
    assert (product(factors) == dense).all()
    assert (factors.product().dense() == dense).all()
    previous = np.zeros_like(dense)
    for rank in range(factors.rank + 1):
        made = product(factors.prefix(rank))
        assert not (made & ~dense).any()
        assert (previous <= made).all() and factors.missed[rank] == (dense & ~made).sum()
        assert rank == 0 or (made != previous).any()
        previous = made
    assert not factors.wrong.any()


@settings(max_examples=30, deadline=None, derandomize=True)
@given(hnp.arrays(np.bool_, (4, 4)))
def test_ranks_against_brute_force(dense):
    rank = boolean_rank(dense)
    found = grecond(BooleanMatrix.of_dense(dense)).rank
    assert rank <= found <= rank + 1  # greedy: one more now and then at this size


@settings(max_examples=40, deadline=None, derandomize=True)
@given(patterns)
def test_wide_matrices_of_low_rank_fill_more_than_one_word(pattern):
    dense = low_rank(*pattern)
    factors = grecond(BooleanMatrix.of_dense(dense))
    assert (factors.product().dense() == dense).all()
    shuffled = np.random.default_rng(pattern[3]).permutation(dense.shape[1])
    assert grecond(BooleanMatrix.of_dense(dense[:, shuffled])).missed[-1] == 0


@settings(max_examples=40, deadline=None, derandomize=True)
@given(matrices, st.sampled_from([0.3, 0.7, 1.0]))
def test_asso_counts_its_errors_rightly_and_never_gets_worse(dense, threshold):
    factors = asso(BooleanMatrix.of_dense(dense), threshold=threshold)
    for rank in range(factors.rank + 1):
        made = product(factors.prefix(rank))
        assert factors.missed[rank] == (dense & ~made).sum()
        assert factors.wrong[rank] == (made & ~dense).sum()
    assert (np.diff(factors.error) < 0).all()


def test_asso_covers_a_hole_that_grecond_must_leave():
    dense = np.ones((8, 8), bool)
    dense[3, 4] = False
    noisy = BooleanMatrix.of_dense(dense)
    assert asso(noisy, 1).error[-1] == 1
    assert grecond(noisy, 1).error[-1] > 1
    assert asso(noisy, 1, loss_zero=1000.0).wrong[-1] == 0


@settings(max_examples=60, deadline=None, derandomize=True)
@given(hnp.arrays(np.int8, st.tuples(st.integers(1, 8), st.integers(1, 8)), elements=st.integers(0, 2)))
def test_masked_cells_may_be_covered_and_known_zeros_never_are(status):
    ones, unknown = BooleanMatrix.of_dense(status == 1), BooleanMatrix.of_dense(status == 2)
    factors = grecond(ones, unknown=unknown)
    made = product(factors)
    assert made[status == 1].all() and not made[status == 0].any()
    assert factors.missed[-1] == 0
    assert factors.rank <= grecond(ones).rank + 1
    other = asso(ones, threshold=0.5, unknown=unknown)
    made = product(other)
    assert other.wrong[-1] == (made & (status == 0)).sum()
    assert other.missed[-1] == (~made & (status == 1)).sum()


def test_the_masked_rank_of_two_by_two_with_an_unknown_diagonal_is_one():
    """papers.md 2.15: [[1, ?], [?, 1]] is where a mask asserts what is unknown."""
    ones, unknown = BooleanMatrix.of_dense(np.eye(2)), BooleanMatrix.of_dense(1 - np.eye(2))
    assert grecond(ones, unknown=unknown).rank == 1
    assert grecond(ones).rank == 2


def test_rank_by_error_by_description_length_and_given():
    dense = low_rank(60, 50, 3, 4)
    noisy = dense ^ (np.random.default_rng(0).random(dense.shape) < 0.005)
    matrix = BooleanMatrix.of_dense(noisy)
    assert factorise(matrix, 2).rank == 2
    exact = factorise(matrix, error=0.0)
    assert exact.missed[-1] == 0
    loose = factorise(matrix, error=0.1)
    assert loose.error[-1] <= 0.1 * matrix.n_ones < loose.error[-2]
    by_length = factorise(matrix)
    for other in (exact, grecond(matrix)):
        assert description_length(by_length)[-1] <= description_length(other).min()
    assert by_length.rank < exact.rank
    assert factorise(BooleanMatrix.of_dense(dense)).rank == 3
    nothing = BooleanMatrix.of_dense(np.zeros((30, 30)))
    assert factorise(nothing).rank == 0 and factorise(nothing).product().n_ones == 0


def test_noise_has_no_structure_worth_describing():
    rng = np.random.default_rng(5)
    matrix = BooleanMatrix.of((200, 200), rng.integers(0, 200, 120), rng.integers(0, 200, 120))
    assert factorise(matrix).rank <= 1


def test_refusals(monkeypatch):
    matrix = BooleanMatrix.of_dense(SLIDES)
    with pytest.raises(InputError, match="rank"):
        factorise(matrix, -1)
    with pytest.raises(InputError, match="known are grecond, asso"):
        factorise(matrix, algorithm="svd")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="threshold"):
        asso(matrix, threshold=0.0)
    with pytest.raises(ValueError, match="outside"):
        BooleanMatrix.of((2, 2), [2], [0])
    monkeypatch.setattr(bmf, "MOST_BYTES", 8)
    with pytest.raises(ResourceError, match="rows and columns in use"):
        grecond(matrix)


def test_empty_rows_and_columns_cost_nothing():
    big = BooleanMatrix.of((10**9, 10), [5, 999_999_999], [1, 2])
    assert bmf._Packed(big, None).ones.shape == (2, 1)


@pytest.fixture(scope="module")
def links():
    folder = Path(__file__).parents[2] / "../shared/data/webkb"
    if not folder.exists():
        pytest.skip("the WebKB benchmark is not at ../shared/data/webkb")
    number: dict[str, int] = {}
    cells = []
    for file in sorted(folder.glob("*.db")):
        for line in file.read_text().splitlines():
            if line.startswith("Linked("):
                cells.append([number.setdefault(name.strip(), len(number)) for name in line[7:].rstrip(") ").split(",")])
    row, column = np.array(cells).T
    return BooleanMatrix.of((4168, 4168), row, column)


def test_the_links_of_webkb_factorise_to_rank_150_and_to_the_end(links):
    assert links.n_ones == 10_019
    factors = grecond(links)
    assert factors.error[150] < 0.6 * links.n_ones
    whole = factors.product()
    assert (whole.row == links.row).all() and (whole.column == links.column).all()
    some = factors.prefix(150).product()
    assert np.isin(some.row * 4168 + some.column, links.row * 4168 + links.column).all()
    assert some.n_ones == links.n_ones - factors.missed[150]
