"""`mln warm-up` runs every method that has kernels on every kind of network that the method can do."""

import pytest

from markovlogic.cli.warm_up import (
    MODELS,
    compile_compressions,
    compile_counting,
    compile_for,
    compile_for_clusters,
    compile_for_learning,
    compile_for_map,
    compile_variants,
)
from markovlogic.compression.table import TABLE
from markovlogic.methods.table import all_methods

COMPILED = [method.name for method in all_methods() if method.samples or method.plain_settings() is not None]


@pytest.mark.parametrize("method", COMPILED)
def test_every_network_that_a_method_can_do_is_run(method, monkeypatch):
    monkeypatch.setattr("markovlogic.cli.warm_up.CHAINS", (2,))
    assert compile_for(method) == len(MODELS)


def test_what_counts_groundings_is_run() -> None:
    assert compile_counting() == len(MODELS) * sum("counting" in method.networks for method in all_methods())


def test_every_compression_is_run():
    assert compile_compressions() > len(TABLE)


def test_every_way_to_the_most_probable_world_is_run():
    assert compile_for_map() == 3 * len(MODELS)


def test_clusters_are_found():
    assert 1 <= compile_for_clusters() <= 14


def test_counts_for_learning_are_made():
    assert compile_for_learning() == 12 + 144 + 36 + 12


def test_every_estimator_of_every_sampler_is_compiled_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `--estimator` and settings need beyond a method's default; it was compiled in the first run that requested."""
    requested: list[tuple[str, object]] = []

    def infer(*_: object, method: object, estimator: str = "auto", **__: object) -> None:
        requested.append((estimator, method))

    monkeypatch.setattr("markovlogic.api.infer.infer", infer)
    n_samplers = sum(method.samples for method in all_methods())
    assert compile_variants() == len(requested) == 3 * n_samplers + 6
