"""A search among random models of strong weights for runs that are off in silence: slow transients, modes that no chain found."""

from tests.rare_modes import silently_off


def test_few_runs_are_off_in_silence(benchmark):
    """16 short chains: 23 of 3,000 models when this was written, nearly all of them modes of weight 0.01 or less."""
    found = benchmark.pedantic(
        lambda: [message for seed in range(3000) if (message := silently_off(seed, chains=16, draws=300, burn_in=75))], rounds=1
    )
    benchmark.extra_info["off"] = found
    print(f"{len(found)} of 3,000 are off in silence:", *found, sep="\n  ")
    assert len(found) <= 40
