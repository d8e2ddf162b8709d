"""World files and kept draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.running.made import plain_run, random_network

from markovlogic.errors import InputError
from markovlogic.estimation.export import to_arviz
from markovlogic.networks.ground import network_of
from markovlogic.running import worlds as worlds_module
from markovlogic.running.worlds import WorldsSink

NAMES = ["P(A)", "P(B)", 'P("c d")', "Q", "R(1,2)"]


@pytest.mark.parametrize(("chains", "thin"), [(1, 1), (65, 1), (65, 7), (8, 1000)])
def test_the_file_holds_the_draws(tmp_path: Path, chains: int, thin: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet as pq

    monkeypatch.setattr(worlds_module, "CELLS_A_GROUP", 500)
    path = tmp_path / "w.parquet"
    result = plain_run(random_network(2), chains=chains, draws=50, keep_draws=True, thin=thin, worlds=WorldsSink(path, NAMES))
    table = pq.read_table(path)
    kept = result.kept
    assert kept is not None and table.column_names == ["chain", "draw", *NAMES]
    draws_a_group = max(1, 500 // (5 * chains))  # so many cells are held at once
    assert pq.ParquetFile(path).num_row_groups == -(-(50 // thin) // draws_a_group)
    assert table.num_rows == chains * (50 // thin) and list(tmp_path.iterdir()) == [path]
    truth = np.column_stack([table[name].to_numpy() for name in NAMES])
    np.testing.assert_array_equal(truth, kept.transpose(1, 0, 2).reshape(-1, 5))
    np.testing.assert_array_equal(table["chain"], np.tile(np.arange(chains), 50 // thin))
    np.testing.assert_array_equal(table["draw"], np.repeat(np.arange(thin, 51, thin), chains))


def test_many_atoms_are_lists_of_the_true_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet as pq

    monkeypatch.setattr(worlds_module, "MOST_COLUMNS", 4)
    path = tmp_path / "w.parquet"
    kept = plain_run(random_network(2), chains=3, draws=20, keep_draws=True, worlds=WorldsSink(path, NAMES)).kept
    assert kept is not None
    rows = pq.read_table(path)["true_atoms"].to_pylist()
    expected = [[n for n, t in zip(NAMES, kept[c, d], strict=True) if t] for d in range(20) for c in range(3)]
    assert rows == expected


def test_no_atoms(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    plain_run(network_of(0), draws=3, worlds=WorldsSink(tmp_path / "w.parquet", []))
    assert pq.read_table(tmp_path / "w.parquet").num_rows == 24


def test_a_missing_directory_is_found_before_sampling(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        plain_run(random_network(2), worlds=WorldsSink(tmp_path / "no" / "w.parquet", NAMES))


def test_a_failed_run_leaves_no_files(tmp_path: Path) -> None:
    from tests.oracle.plain_gibbs import PlainGibbs

    with pytest.raises(RuntimeError):
        plain_run(random_network(2), PlainGibbs(fail_at=9), worlds=WorldsSink(tmp_path / "w.parquet", NAMES))
    assert list(tmp_path.iterdir()) == []


def test_arviz_reads_the_draws() -> None:
    pytest.importorskip("xarray", reason="xarray is not installed")
    result = plain_run(random_network(2), draws=40, keep_draws=True, thin=2)
    tree = to_arviz(result.kept, NAMES, thin=2)
    truth = tree["posterior"]["truth"]
    assert truth.dims == ("chain", "draw", "atom") and truth.shape == (8, 20, 5)
    assert truth.sel(atom="Q", chain=3, draw=8) == result.kept[3, 3, 3]
    stats = pytest.importorskip("arviz_stats.base", reason="arviz-stats is not installed").array_stats
    rhat = stats.rhat(truth.transpose("atom", "chain", "draw").values.astype(float), chain_axis=-2, draw_axis=-1)
    assert rhat.shape == (5,)


def test_arviz_without_draws_says_what_to_do() -> None:
    with pytest.raises(InputError, match="keep_draws"):
        to_arviz(plain_run(random_network(2)).kept, NAMES)
