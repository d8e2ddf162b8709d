"""`mln warm-up` runs every method that has kernels on every kind of network that the method can do."""

import pytest

from markovlogic.cli.warm_up import MODELS, compile_for
from markovlogic.errors import MarkovLogicError
from markovlogic.inference import infer
from markovlogic.methods.table import all_methods
from markovlogic.model import Model

COMPILED = [method.name for method in all_methods() if method.samples or method.plain_settings() is not None]


@pytest.mark.parametrize("method", COMPILED)
def test_no_method_is_in_the_way(method, monkeypatch):
    monkeypatch.setattr("markovlogic.cli.warm_up.CHAINS", (2,))
    compile_for(method)


def test_at_least_one_network_is_for_everybody():
    text, query = MODELS["soft rules"]
    for method in COMPILED:
        try:
            infer(Model.parse(text), None, query, method=method, chains=2, draws=2, burn_in=1)
        except MarkovLogicError as refusal:
            pytest.fail(f"{method}: {refusal}")
