"""Relations that are tied so tightly that blocks of one cannot change alone: chains beside sums over all partitions."""

from __future__ import annotations

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.methods.partition import block_sums, exact

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
