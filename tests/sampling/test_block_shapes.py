"""Which blocks are grown, which are refused, and large ones against elimination."""

import numpy as np
import pytest
from tests.oracle.worlds import random_network
from tests.sampling.blocks import one_block
from tests.sampling.gibbs_checks import NETWORKS

from markovlogic.errors import InputError, ResourceError
from markovlogic.methods.sampling.blocked import MOST_BITS, Blocked
from markovlogic.networks.ground import GroundNetwork, network_of


def grid(side: int, weight: float = 1.0) -> GroundNetwork:
    """A square lattice whose neighbours like to be equal."""
    at = np.arange(side * side).reshape(side, side)
    pairs = [*zip(at[:, :-1].ravel(), at[:, 1:].ravel(), strict=True), *zip(at[:-1].ravel(), at[1:].ravel(), strict=True)]
    clauses = [(weight, [2 * int(a) + s, 2 * int(b) + 1 - s]) for a, b in pairs for s in (0, 1)]
    return network_of(side * side, clauses)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_grown_blocks_cover_every_site_once_within_the_width(width: int) -> None:
    from markovlogic.methods.sampling.block_plan import site_blocks

    sampler = Blocked(width=width, divisions=3).build(grid(12), 8)
    program = sampler.program
    assert program.bucket["table_bits"].max() <= width + 1
    assert len(sampler.plans) == 3
    for plan in sampler.plans:
        assert sorted(plan.bucket_variable.tolist()) == list(range(144))
        assert site_blocks(sampler.variables, plan).min() == 0
    # most neighbours that the first division cuts are together in one of the others
    together = []
    for plan in sampler.plans:
        block = site_blocks(sampler.variables, plan).reshape(12, 12)
        together.append(np.append(block[:, :-1] == block[:, 1:], block[:-1] == block[1:]))
    cut = ~together[0]
    assert cut.any() and (together[1] | together[2])[cut].mean() > 0.5


def test_a_chain_is_one_block() -> None:
    n = 1000
    clauses = [(2.0, [2 * a + s, 2 * a + 3 - s]) for a in range(n - 1) for s in (0, 1)]
    sampler = Blocked(width=1).build(network_of(n, clauses), 8)
    assert len(sampler.plans) == 1 and len(sampler.program.block_start) == 2


def test_the_strongest_couplings_are_inside_blocks() -> None:
    """A cycle must be cut somewhere: at its weak coupling."""
    weights = [3.0, 3.0, 0.1, 3.0, 3.0, 3.0]
    clauses = [(w, sorted([2 * a, 2 * ((a + 1) % 6) + 1])) for a, w in enumerate(weights)]
    sampler = Blocked(width=1, divisions=1).build(network_of(6, clauses), 8)
    from markovlogic.methods.sampling.block_plan import site_blocks

    block = site_blocks(sampler.variables, sampler.plans[0])
    assert len(np.unique(block)) == 2 and block[2] != block[3]


def test_large_groups_fit_alone() -> None:
    n = 300
    network = network_of(n + 2, [(1.0, [2 * a + 1, 2 * n + 1]) for a in range(n)], groups=[list(range(n))], bias={n: 0.3})
    sampler = Blocked(width=2).build(network, 8)
    state = sampler.init(np.random.SeedSequence(0))
    recorded = np.zeros((network.n_all, 8), np.float32)
    sampler.step(state, 200, None, recorded)
    assert np.abs(recorded[:n].sum(axis=0) - 200).max() < 1e-2
    assert np.allclose(recorded[n + 1], 100, atol=1e-2)


def test_blocks_that_cannot_be() -> None:
    network = NETWORKS["groups"]
    large = next(
        network.group_atom[a:b] for a, b in zip(network.group_start[:-1], network.group_start[1:], strict=True) if b - a > 1
    )
    with pytest.raises(InputError, match="exclusive group"):
        Blocked(blocks=[[int(large[0])]]).build(network, 8)
    with pytest.raises(InputError, match="the exclusive group of atoms 2, 3, 4 "):
        Blocked(blocks=[[0], [3, 1], [2, 4]]).build(network_of(6, groups=[[2, 3, 4]]), 8)
    with pytest.raises(InputError, match="atom 1 is in the blocks twice"):
        Blocked(blocks=[[0, 1], [1]])
    with pytest.raises(InputError, match="numbered 0 to 8"):
        Blocked(blocks=[[9]]).build(network, 8)
    with pytest.raises(InputError, match="no atom"):
        Blocked(blocks=[[-1]])
    with pytest.raises(InputError, match="list of atom"):
        Blocked(blocks=[[0.5]])
    with pytest.raises(InputError, match="list of atom"):
        Blocked(blocks=[3])
    with pytest.raises(InputError, match="expected"):
        Blocked(blocks="all")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected"):
        Blocked(blocks=3)  # type: ignore[arg-type]
    for wrong in ({"width": 0}, {"width": 40}, {"width": 2.5}, {"divisions": 0}, {"width": True}):
        with pytest.raises(InputError, match="whole number"):
            Blocked(**wrong)  # type: ignore[arg-type]
    for right in ({"width": 1}, {"width": MOST_BITS - 1}, {"divisions": 1}, {"divisions": 16}, {"blocks": [[0], [2**31 - 1]]}):
        Blocked(**right)  # type: ignore[arg-type]
    for wrong in ({"width": MOST_BITS}, {"divisions": 17}, {"blocks": [[2**31]]}):
        with pytest.raises(InputError):
            Blocked(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="64"):
        Blocked().build(network, 65)
    with pytest.raises(ValueError, match="255"):
        Blocked().build(network, 2).step(None, 256)  # type: ignore[arg-type]


def test_a_block_that_is_too_wide_is_refused() -> None:
    rng = np.random.default_rng(0)
    network = random_network(rng, 40, 800, longest=2)
    with pytest.raises(ResourceError, match="elimination width"):
        one_block(network).build(network, 8)
    Blocked(width=3).build(network, 8)


def test_blocks_are_known_by_what_they_hold() -> None:
    a, b = Blocked(blocks=[[0, 1], [2]]), Blocked(blocks=[np.array([0, 1]), np.array([2])])
    assert a == b and hash(a) == hash(b) and repr(a) == repr(b)
    assert a != Blocked(blocks=[[0, 2], [1]]) and repr(a) != repr(Blocked(blocks=[[0, 2], [1]]))
    assert "digest" in repr(a) and Blocked().method == "blocked"


def strip(height: int, length: int, weight: float) -> GroundNetwork:
    at = np.arange(height * length).reshape(length, height)
    pairs = [*zip(at[:-1].ravel(), at[1:].ravel(), strict=True), *zip(at[:, :-1].ravel(), at[:, 1:].ravel(), strict=True)]
    clauses = [(weight, [2 * int(a) + s, 2 * int(b) + 1 - s]) for a, b in pairs for s in (0, 1)]
    return network_of(height * length, clauses, bias={0: 1.0, height * length - 1: -1.5})


@pytest.mark.parametrize(("weight", "linear"), [(1.5, True), (300.0, False)])
def test_long_strips_agree_with_elimination(weight: float, linear: bool) -> None:
    """Small weights stay plain numbers however long the strip is, huge ones become logarithms; both give the marginals."""
    from markovlogic.methods.exact.solve import solve

    network = strip(3, 80, weight)
    sampler = one_block(network).build(network, 2)
    assert bool(sampler.program.bucket["linear"].all()) is linear
    recorded = np.zeros((network.n_all, 2), np.float32)
    sampler.step(sampler.init(np.random.SeedSequence(4)), 1, None, recorded)
    assert np.abs(recorded - solve(network, method="eliminate").marginal[:, None]).max() < 1e-6


@pytest.mark.parametrize("seed", range(8))
def test_one_block_of_a_larger_network_agrees_with_elimination(seed: int) -> None:
    from markovlogic.methods.exact.solve import solve

    rng = np.random.default_rng(seed)
    scale = 60.0 if seed % 2 else 1.5
    network = random_network(rng, 40, 30, longest=3, hard=6, groups=6, hidden=6, decided=3, scale=scale)
    sampler = one_block(network).build(network, 3)
    recorded = np.zeros((network.n_all, 3), np.float32)
    info = sampler.step(sampler.init(np.random.SeedSequence(seed)), 1, None, recorded)
    assert info.counts == {"impossible_blocks": 0}
    exact = solve(network, method="eliminate").marginal[: network.n_atoms]
    assert np.abs(recorded[: network.n_atoms] - exact[:, None]).max() < 1e-6


def test_a_hidden_atom_with_many_parents() -> None:
    """Some of 300 atoms must be true: each block holds a few of them and is drawn given whether another one is."""
    n = 300
    network = network_of(n, bias={**dict.fromkeys(range(n), -7.0), n: np.inf}, definitions=[[2 * a + 1 for a in range(n)]])
    sampler = Blocked(width=3).build(network, 8)
    state = sampler.init(np.random.SeedSequence(0))
    for _ in range(100):
        sampler.step(state, 5)
        assert (state.world[n] == 255) and np.bitwise_or.reduce(state.world[:n]) == 255


def test_ranges_of_messages_count_every_row_that_they_depend_on() -> None:
    """Two atoms and a clause of weight 3 between them: the second's table takes the first's message, which varies by that."""
    from markovlogic.kernels.block_program import bound_ranges
    from markovlogic.methods.sampling.block_program import Tables

    one, none = np.array([1, 1]), np.zeros(0, np.int64)
    tables = Tables(none, none, one, one, one, np.array([1, -1]), one, np.array([0, 1, 1]), np.array([1]), np.array([1]))
    span = np.zeros(2)
    bound_ranges(tables, np.array([0, 2, 3]), np.array([3, 1, 1]), np.array([3.0, 9.0, 5.0]), np.zeros((2, 3)), one * 0, span)
    assert span.tolist() == [12.0, 8.0]
