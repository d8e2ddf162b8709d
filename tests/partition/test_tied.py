"""Relations that are tied so tightly that blocks of one cannot change alone: chains beside sums over all partitions."""

from __future__ import annotations

import numpy as np
import pytest
from tests.partition.test_invariance import TWO, network_of

import markovlogic as mln
from markovlogic.methods.partition import block_sums, exact
from markovlogic.methods.sampling import coupling

N = 4
AXIOMS = "".join(f"{p}(x, x).\n{p}(x, y) => {p}(y, x).\n{p}(x, y) ^ {p}(y, z) => {p}(x, z).\n" for p in ("Bib", "Title"))
RULES = (
    f"bib = {{{', '.join(f'B{at}' for at in range(N))}}}\ntitle = {{{', '.join(f'T{at}' for at in range(N))}}}\n"
    "Of(bib, title)\nBib(bib, bib)\nTitle(title, title)\n"
    + AXIOMS
    + "8 Of(b, t) ^ Of(d, u) ^ Bib(b, d) => Title(t, u)\n8 Of(b, t) ^ Of(d, u) ^ Title(t, u) => Bib(b, d)\n"
    + "0.1 Bib(x, y)\n-0.05 Title(x, y)\n"
)
LARGEST_Z = 6.0  # of 24 pairs: a false alarm in one of 10^7 runs, were means normal


def test_blocks_that_carry_others_along_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    given = (mln.Model.parse(RULES), {"Of": {"b": [f"B{at}" for at in range(N)], "t": [f"T{at}" for at in range(N)]}})
    true = mln.infer(*given, ["Bib", "Title"], method="partition", progress=False)
    assert true.guarantee == "exact" and np.max(true.stderr) == 0
    for module, name in ((exact, "MOST_NODES"), (block_sums, "MOST_NODES"), (block_sums, "SURE_NODES")):
        monkeypatch.setattr(module, name, 0)

    def drawn(carried: float) -> mln.Marginals:
        method = mln.Partition(carried=carried)
        return mln.infer(*given, ["Bib", "Title"], method=method, chains=8, draws=2000, seed=1, progress=False)

    found = drawn(0.2)
    z = np.abs(found.probability - true.probability) / np.maximum(found.stderr, 1e-3)
    assert z.max() < LARGEST_Z and np.nanmax(found.rhat) < 1.05
    with pytest.warns(mln.InferenceWarning):
        assert not np.nanmax(drawn(0.0).rhat) < 1.05  # one relation at a time, chains stay where they began


def ladders(wrong: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[float, float]:
    """Largest z and R-hat of ladders beside sums, where blocks carry nothing along; wrong: exchanges that forget energies."""
    given = (mln.Model.parse(RULES), {"Of": {"b": [f"B{at}" for at in range(N)], "t": [f"T{at}" for at in range(N)]}})
    true = mln.infer(*given, ["Bib", "Title"], method="partition", progress=False)
    with monkeypatch.context() as patch:
        for module, name in ((exact, "MOST_NODES"), (block_sums, "MOST_NODES"), (block_sums, "SURE_NODES")):
            patch.setattr(module, name, 0)
        if wrong:
            patch.setattr(coupling, "acceptance", lambda step, low, high: np.ones(len(low)))
        method = mln.Partition(carried=0.0, several=0.0, rungs=6)
        found = mln.infer(*given, ["Bib", "Title"], method=method, chains=8, draws=400, seed=1, progress=False)
    z = np.abs(found.probability - true.probability) / np.maximum(found.stderr, 1e-3)
    return float(z.max()), float(np.nanmax(found.rhat))


def test_ladders_over_the_coupling_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    z, rhat = ladders(False, monkeypatch)
    assert z < LARGEST_Z and rhat < 1.05
    assert ladders(True, monkeypatch)[0] > LARGEST_Z


def test_a_ladder_needs_a_coupling() -> None:
    alone = mln.Model.parse(RULES.replace("8 Of(b, t)", "// 8 Of(b, t)"))
    with pytest.raises(mln.InputError, match="no soft rule ties"):
        mln.infer(alone, {"Of": {"b": ["B0"], "t": ["T0"]}}, ["Bib"], method=mln.Partition(rungs=3), draws=10, keep_draws=True)


def test_steps_of_ladders_go_on_where_they_ended() -> None:
    network = network_of(TWO)
    sampler = mln.Partition(rungs=4).build(network, 3)
    whole, parts = (sampler.init(np.random.SeedSequence(2)) for _ in range(2))
    sampler.step(whole, 40, burn_in=True)
    for sweeps in (3, 27, 10):
        sampler.step(parts, sweeps, burn_in=True)
    sampler.check(whole)
    assert all((one == other).all() for one, other in zip(whole, parts, strict=True))
    assert 0 < whole.share[1] < whole.share[2] < 1 and whole.share[1] != 1 / 3  # rungs were placed
    whole.worlds[-1] ^= whole.worlds[0] ^ np.uint64(1)
    with pytest.raises(ValueError, match=r"world|blocks|relation"):
        sampler.check(whole)
