"""[001] Fig. 2: errors over time (E4, E5), mixing (E6, E7) and seconds of 100 iterations (E8, E9)."""

from __future__ import annotations

from markovlogic_papers.experiments import accuracy, iterations, mixing
from markovlogic_papers.experiments.accuracy import LBG_BETTER, LBP, AccuracyScale, run_family
from markovlogic_papers.experiments.contest import LBG
from markovlogic_papers.experiments.hub_sums import asthma_truth, rst_truth
from markovlogic_papers.experiments.iterations import IterationScale, run_iterations
from markovlogic_papers.experiments.mixing import MixingScale, run_mixing
from markovlogic_papers.experiments.outcome import by_id, panel

EXPERIMENTS = by_id(
    # M1: R(x) v S(x,y), S(x,y) v T(y,z); the paper gives no weights.
    panel(
        id="E4",
        title="E4: M1, 10 % evidence",
        source="[001] Fig. 2(a)",
        claim="With 10 % evidence lifted blocked Gibbs is much more exact than blocked Gibbs and MC-SAT at equal time; "
        "lifted belief propagation is more exact still.",
        quick=AccuracyScale(size=20, small=10, seconds=1.0, burn_in=20, gold_draws=600, weights=(0.1, 1.0)),
        full=AccuracyScale(size=50, small=14, seconds=1.5, gold_draws=500, weights=(0.05, 0.1, 0.3, 1.0)),
        run=lambda scale, seed, progress: run_family("rst", rst_truth, (*LBG_BETTER, (LBP, LBG)), scale, (seed, progress)),
        chart=accuracy.chart,
    ),
    # M2: smoking, asthma and cancer; all weights 1, the paper gives none.
    panel(
        id="E5",
        title="E5: M2, 10 % evidence",
        source="[001] Fig. 2(b)",
        claim="With 10 % evidence lifted blocked Gibbs is the most exact at equal time, more so than lifted belief propagation, "
        "blocked Gibbs and MC-SAT.",
        quick=AccuracyScale(size=20, small=10, seconds=1.5, burn_in=20, gold_draws=600),
        full=AccuracyScale(size=50, small=16, seconds=3),
        run=lambda scale, seed, progress: run_family("asthma", asthma_truth, (*LBG_BETTER, (LBG, LBP)), scale, (seed, progress)),
        chart=accuracy.chart,
    ),
    # R(x,y) v S(y,z), S(y,z) v T(z,u); the paper gives no weights.
    panel(
        id="E6",
        title="E6: M3, log R over time",
        source="[001] Fig. 2(c)",
        claim="Lifted blocked Gibbs mixes much faster than blocked Gibbs: the Gelman-Rubin statistic comes down sooner.",
        quick=MixingScale(size=12, seconds=1, burn_in=20, weights=(mixing.ONE, mixing.MODES_OF_Y, mixing.MODES_OF_Z)),
        full=MixingScale(size=25, seconds=3, level=2e-3, weights=(mixing.ONE, mixing.MODES_OF_Y, mixing.MODES_OF_Z)),
        run=lambda scale, seed, progress: run_mixing("m3", "", scale, seed, progress),
        chart=mixing.chart,
    ),
    # WebKB with classes, words and links all open, as many words as pages; five classes, a predicate each.
    panel(
        id="E7",
        title="E7: M4, log R over time",
        source="[001] Fig. 2(d)",
        claim="Lifted blocked Gibbs mixes much faster than blocked Gibbs: the Gelman-Rubin statistic comes down sooner.",
        quick=MixingScale(size=10, seconds=1, burn_in=20, weights=(mixing.GENERATED, mixing.STRONG)),
        full=MixingScale(size=25, seconds=3, level=2e-3, weights=(mixing.GENERATED, mixing.STRONG)),
        run=lambda scale, seed, progress: run_mixing("webkb", "open", scale, seed, progress),
        chart=mixing.chart,
    ),
    # R(x,y) v S(y,z), S(y,z) v T(z,u); weights 1, the paper gives none.
    panel(
        id="E8",
        title="E8: M3, seconds of 100 iterations",
        source="[001] Fig. 2(e)",
        claim="Lifted blocked Gibbs scales better with the number of objects than blocked Gibbs.",
        quick=IterationScale(sizes=(5, 10, 20, 30, 40, 50, 60), seconds=2),
        full=IterationScale(sizes=(5, 10, 20, 50, 100, 150, 200)),
        run=lambda scale, seed, progress: run_iterations("m3", "", scale, seed, progress),
        chart=iterations.chart,
    ),
    # WebKB with classes, words and links all open, as many words as pages; five classes, a predicate each.
    panel(
        id="E9",
        title="E9: M4, seconds of 100 iterations",
        source="[001] Fig. 2(f)",
        claim="Lifted blocked Gibbs scales better with the number of objects than blocked Gibbs.",
        quick=IterationScale(sizes=(5, 10, 15, 20, 25, 30), seconds=1, from_size=10),
        full=IterationScale(sizes=(5, 10, 20, 50, 100, 150, 200)),
        run=lambda scale, seed, progress: run_iterations("webkb", "open", scale, seed, progress),
        chart=iterations.chart,
    ),
)
