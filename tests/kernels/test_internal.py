"""Kernels that count no references must not give arrays back: nobody would own them."""

import importlib
import pkgutil

import numba
import numpy as np
import pyarrow as pa
from numba.core import types
from numba.core.dispatcher import Dispatcher
from tests.oracle.worlds import random_network

import markovlogic as mln
from markovlogic import kernels
from markovlogic.methods.sampling.blocked import Blocked
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.mcsat import MCSAT

BORROWED = {"local_search.tally_of"}  # hands on arrays to kernels that count no references either


def gives_arrays(result: types.Type) -> bool:
    if isinstance(result, types.BaseTuple):
        return any(gives_arrays(part) for part in result)
    return isinstance(result, types.Array)


def unowned(dispatcher: Dispatcher) -> bool:
    """Whether a compiled kernel counts no references and yet gives arrays back."""
    counts = dispatcher.targetoptions.get("_nrt", True)
    return not counts and any(gives_arrays(overload.signature.return_type) for overload in dispatcher.overloads.values())


def test_no_kernel_gives_back_arrays_that_nobody_owns() -> None:
    network = random_network(np.random.default_rng(1), 12, 8, hard=1, groups=3, hidden=2)
    for method in (Gibbs(), Gibbs(scan="random"), MCSAT(), Blocked()):
        for n_chains in (1, 4):
            sampler = method.build(network, n_chains)
            sampler.step(sampler.init(np.random.SeedSequence(1)), 1)
    model = mln.Model.parse("person = {A, B, C, D}\nS(person)\nF(person, person)\n1.1 F(x, y) ^ S(x) => S(y)\n")
    evidence = pa.table({"a": ["A", "B"], "b": ["B", "C"]})
    options = {"query": ["S", "S(C) ^ !S(D)"], "chains": 4, "draws": 9}
    for method, more in (("orbital", {"estimator": "orbit"}), ("lifted-mh", {"proposals": "bmf"})):
        mln.infer(model, {"F": evidence}, method=method, **options, **more)
    seen, wrong = 0, []
    for module in pkgutil.walk_packages(kernels.__path__, "markovlogic.kernels."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, Dispatcher):
                seen += bool(value.overloads)
                wrong += [f"{module.name.removeprefix('markovlogic.kernels.')}.{name}"] * unowned(value)
    assert seen > 30
    assert set(wrong) <= BORROWED


def test_a_kernel_that_did_so_would_be_noticed() -> None:
    kernel = numba.njit(lambda values: (values[:2], values[2:]), _nrt=False)
    kernel.compile((types.float64[::1],))
    assert unowned(kernel)
