"""Twenty models with several modes, every sampler, five seeds: right within the error that it states, or a concern."""

import pytest
from tests.multimodal import MODELS
from tests.test_multimodal import SAMPLED, silent_miss


@pytest.mark.parametrize("name", MODELS)
def test_no_silent_miss(benchmark, name):
    def everything():
        return [miss for method in SAMPLED for seed in range(5) if (miss := silent_miss(MODELS[name], method, seed))]

    missed = benchmark.pedantic(everything, rounds=1)
    print(f"{name}: {missed or 'nothing missed in silence'}")
    benchmark.extra_info["missed"] = missed
    assert not missed
