"""Both exact methods against the list of all worlds, on random networks of every kind."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.worlds import all_worlds, random_network

from markovlogic.errors import InputError
from markovlogic.methods.exact import elimination, enumeration, widths
from markovlogic.methods.exact.solve import solve

METHODS = ["exact", "enumerate", "eliminate"]
TOLERANCE = 1e-10


def check(network, method, events=()):
    worlds = all_worlds(network)
    arrays = [np.array(event, np.int32) for event in events]
    if worlds.log_z == -math.inf:
        with pytest.raises(InputError, match="no world satisfies"):
            solve(network, method=method, events=arrays)
        return
    answer = solve(network, method=method, events=arrays)
    assert answer.log_z == pytest.approx(worlds.log_z, abs=TOLERANCE, rel=1e-13)
    np.testing.assert_allclose(answer.marginal, worlds.marginal[: network.n_atoms], atol=TOLERANCE, rtol=0)
    decided = np.isin(worlds.marginal[: network.n_atoms], [0.0, 1.0])
    np.testing.assert_array_equal(answer.marginal[decided], worlds.marginal[: network.n_atoms][decided])
    expected = [worlds.event(event) for event in events]
    np.testing.assert_allclose(answer.event_probability, expected, atol=TOLERANCE, rtol=0)


@st.composite
def networks(draw, most_atoms=9, satisfiable=True):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    network = random_network(
        rng,
        draw(st.integers(0, most_atoms)),
        draw(st.integers(0, 12)),
        longest=draw(st.sampled_from([2, 3, 9])),
        hard=draw(st.integers(0, 4)),
        groups=draw(st.integers(0, 3)),
        hidden=draw(st.integers(0, 4)),
        decided=draw(st.integers(0, 3)),
        scale=draw(st.sampled_from([0.3, 2.0, 30.0])),
        satisfiable=satisfiable,
    )
    if network.n_atoms == 0:
        return network, [[]]
    sizes = rng.integers(0, 5, size=4)
    events = [[2 * int(a) + int(rng.integers(2)) for a in rng.integers(network.n_atoms, size=n)] for n in sizes]
    return network, events


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(drawn=networks())
def test_random_networks(method, drawn):
    check(drawn[0], method, drawn[1])


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=30, deadline=None, derandomize=True)
@given(drawn=networks(most_atoms=5, satisfiable=False))
def test_random_networks_that_may_be_impossible(method, drawn):
    check(drawn[0], method, drawn[1])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(drawn=networks(most_atoms=8), tile=st.sampled_from([1, 7, 64]))
def test_enumeration_by_tiles(drawn, tile):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(enumeration, "FEW_WORLDS", 1)
        patch.setattr(enumeration, "TILE", tile)
        check(drawn[0], "enumerate", drawn[1])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(drawn=networks(most_atoms=8))
def test_elimination_with_every_row_split(drawn):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(widths, "_ROW_LENGTHS", (3,))
        patch.setattr(elimination, "CHUNK", 1)
        check(drawn[0], "eliminate", drawn[1])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(drawn=networks(most_atoms=8), seed=st.integers(0, 100))
def test_every_order_gives_the_same_answer(drawn, seed):
    def shuffled(neighbours, n_states, most_bits, effort):
        order = np.random.default_rng(seed).permutation(len(neighbours)).tolist()
        return widths.follow([set(near) for near in neighbours], n_states, 40.0, order)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(widths, "good_order", shuffled)
        check(drawn[0], "eliminate", drawn[1])
