"""Draws for the ecosystem's plots and diagnostics."""

from __future__ import annotations

import importlib.metadata
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError


def to_arviz(
    draws: npt.NDArray[np.bool_] | None, names: Sequence[str], *, thin: int = 1, attributes: Mapping[str, Any] | None = None
) -> Any:
    """An xarray DataTree as ArviZ reads it: group `posterior`, variable `truth` with dimensions chain, draw, atom.

    Where an ArviZ before 1.0 is installed (the last one for Python 3.11), which knows no DataTree, its InferenceData instead.

    draws: (n_chains, n_draws, n_atoms) truth values of a run that kept them.
    """
    if draws is None:
        raise InputError("the draws were not kept", hint="run with keep_draws=True")
    if draws.shape[2] != len(names):
        raise ValueError(f"{len(names)} names for {draws.shape[2]} atoms")
    try:
        import xarray
    except ImportError as error:
        raise InputError("ArviZ export needs xarray", hint="install markovlogic[arviz]") from error
    coordinates = {
        "chain": np.arange(draws.shape[0]),
        "draw": np.arange(1, draws.shape[1] + 1) * thin,
        "atom": np.array(list(names), dtype=object if not len(names) else None),
    }
    truth = xarray.DataArray(draws.astype(np.int8), coords=coordinates, dims=("chain", "draw", "atom"), name="truth")
    posterior = xarray.Dataset({"truth": truth}, attrs={"inference_library": "markovlogic", **(attributes or {})})
    if _knows_no_tree():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # about 1.0, on import
            import arviz
        return arviz.InferenceData(posterior=posterior)
    return xarray.DataTree.from_dict({"posterior": posterior})


def _knows_no_tree() -> bool:
    try:
        return importlib.metadata.version("arviz").startswith("0.")
    except importlib.metadata.PackageNotFoundError:
        return False
