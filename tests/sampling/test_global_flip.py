"""The global flip against all worlds: its ratios, the target that it leaves alone to 1e-12, and a sampler that has it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracle.worlds import all_worlds, random_network
from tests.sampling.exchange_checks import EVIDENCE, prepared
from tests.sampling.gibbs_checks import limit
from tests.sampling.test_lifted_mh import FALSE_ALARM, bound, worst_z

from markovlogic.errors import InputError
from markovlogic.methods.sampling import lifted_mh
from markovlogic.methods.sampling.lifted_mh import flip_log_ratios


def moved(probability, chance):
    """What becomes of a distribution over all worlds, in order of their bits: the last world is the negation of the first."""
    leaves = probability * chance
    return probability - leaves + leaves[::-1]


@pytest.mark.parametrize("hard", [0, 2])
@pytest.mark.parametrize("seed", range(5))
def test_the_target_stays_as_it_is(hard, seed):
    network = random_network(np.random.default_rng(seed), 7, 12, hard=hard)
    worlds = all_worlds(network)
    possible = worlds.probability > 0
    ratio = np.full(len(possible), -np.inf)
    ratio[possible] = flip_log_ratios(network, worlds.world[possible, :7].astype(bool))
    with np.errstate(divide="ignore"):
        expected = np.log(worlds.probability[::-1][possible]) - np.log(worlds.probability[possible])
    np.testing.assert_allclose(ratio[possible], expected, atol=1e-9)
    chance = np.exp(np.minimum(ratio, 0.0))
    np.testing.assert_allclose(moved(worlds.probability, chance), worlds.probability, atol=1e-12)
    if not hard:  # the planted error
        wrong = moved(worlds.probability, np.exp(np.minimum(-ratio, 0.0)))
        assert np.abs(wrong - worlds.probability).max() > 1e-3


def test_draws_with_the_flip_stay_at_the_target(tmp_path, monkeypatch):
    problem = prepared(EVIDENCE["scattered"], tmp_path)
    network = random_network(np.random.default_rng(4), len(problem.atoms), 14, hard=1)
    settings = bound(problem, flip=True)
    assert worst_z(problem, network, settings, 4, seed=1) < limit(network.n_all**2, FALSE_ALARM)
    real = flip_log_ratios
    monkeypatch.setattr(lifted_mh, "flip_log_ratios", lambda net, worlds: np.where(np.isinf(real(net, worlds)), -np.inf, 0.0))
    assert worst_z(problem, network, settings, 4, seed=1) > limit(network.n_all**2, FALSE_ALARM)


def test_groups_and_quantifiers_are_refused(tmp_path):
    problem = prepared(EVIDENCE["scattered"], tmp_path)
    network = random_network(np.random.default_rng(4), len(problem.atoms), 14, groups=1)
    with pytest.raises(InputError, match="is not a world"):
        bound(problem, flip=True).build(network, 4)
    with pytest.raises(InputError, match="works only with propose=exchange"):
        lifted_mh.LiftedMH(flip=True, propose="counts")
