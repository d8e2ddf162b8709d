"""Which experiments there are, by id; each one's module is loaded when it is run."""

from __future__ import annotations

import importlib

from markovlogic.errors import InputError, nearest
from markovlogic_papers.experiments.outcome import Experiment

PANELS: dict[str, str] = {  # id -> what a listing shows
    "E1": "blocks of atoms: selection probabilities that follow the evidence ([000] Fig. 2)",
    "E2": "clustered Gibbs on parts of WebKB, Protein and ER: errors ([000] Fig. 3)",
    "E3": "Gibbs and clustered Gibbs on WebKB, Protein and ER: mixing ([000] Fig. 4)",
    "E4": "lifted blocked Gibbs: error over time on M1, R, S and T ([001] Fig. 2a)",
    "E5": "lifted blocked Gibbs: error over time on M2, asthma ([001] Fig. 2b)",
    "E6": "lifted blocked Gibbs: mixing on M3 ([001] Fig. 2c)",
    "E7": "lifted blocked Gibbs: mixing on M4, WebKB with all predicates open ([001] Fig. 2d)",
    "E8": "lifted blocked Gibbs: seconds of 100 iterations on M3, 5 to 200 objects ([001] Fig. 2e)",
    "E9": "lifted blocked Gibbs: seconds of 100 iterations on M4, 5 to 200 objects ([001] Fig. 2f)",
    "E10": "MC-SAT after pre-processing: errors of marginals over the compression ratio ([002] Fig. 1a-c)",
    "E11": "MaxWalkSAT after pre-processing: F1 of the most probable world ([002] Fig. 1d-f)",
    "E12": "Gibbs that counts after pre-processing: errors of marginals ([002] Fig. 1g-i)",
    "E13": "pre-processing on the synthetic R v S_i v T_i: errors over the compression ratio ([002] Fig. 2a)",
    "E14": "pre-processing on the synthetic model with more and more rules ([002] Fig. 2b)",
    "E15": "the most probable world after pre-processing, over the size of the embedding ([002] Fig. 2c)",
    "E16": "seconds of pre-processing and of inference after it ([002] Table 1)",
    "E17a": "orbit estimator: asthma, 10 % evidence ([003] Fig. 2a)",
    "E17b": "orbit estimator: Friends & Smokers, 10 % evidence ([003] Fig. 2b)",
    "E17c": "orbit estimator: with transitivity, no evidence ([003] Fig. 2c)",
    "E17d": "orbit estimator: with transitivity, 10 % evidence ([003] Fig. 2d)",
    "E17e": "orbit estimator: soft 2-colouring grid ([003] Fig. 2e)",
    "E17f": "orbit estimator: hard 2-colouring grid ([003] Fig. 2f)",
    "E17g": "time to a KL divergence below 1e-4 over the number of people ([003] Fig. 3a)",
    "E17h": "sample points to a KL divergence below 1e-4 ([003] Fig. 3b)",
    "E17i": "time to it with transitivity ([003] Fig. 3c)",
    "E17j": "sample points to it with transitivity and without ([003] Fig. 3d)",
    "E18a": "lifted MCMC on WebKB under evidence of rank 1 to 150 ([004])",
    "E18b": "lifted Metropolis-Hastings against Gibbs on WebKB ([004])",
    "E18c": "lifted Metropolis-Hastings against Gibbs on an Ising grid ([004])",
    "E18d": "lifted Metropolis-Hastings against Gibbs on a Chimera graph ([004])",
    "E18e": "lifted inference under evidence of low Boolean rank: time against rank ([004])",
}
TOGETHER = {  # modules that hold several panels; the others are named by their panel
    "blocked_gibbs_panels": ("E4", "E5", "E6", "E7", "E8", "E9"),
    "orbit_curves": ("E17a", "E17b", "E17c", "E17d", "E17e", "E17f"),
    "orbit_sizes": ("E17g", "E17h", "E17i", "E17j"),
    "spin_panels": ("E18c", "E18d"),
}
FIGURES: dict[str, str] = {  # several panels together
    "E17": "all panels of E17 in one table and picture",
    "E18": "all panels of E18 in one table and picture",
}


def panels_of(figure: str) -> list[str]:
    """The panels of a figure."""
    return [name for name in PANELS if name[: len(figure)] == figure and name[len(figure) :].isalpha()]


def chosen(name: str) -> tuple[list[str], list[str]]:
    """Panels and figures that an id stands for: a panel, a figure with all its panels, or `all`."""
    by_lower = {known.lower(): known for known in (*PANELS, *FIGURES, "all")}
    known = by_lower.get(name.strip().lower())
    if known is None:
        everything = ", ".join((*PANELS, *FIGURES, "all"))
        raise InputError(f"there is no experiment {name}; known are {everything}", hint=nearest(name, by_lower.values()))
    if known == "all":
        return list(PANELS), list(FIGURES)
    return ([known], []) if known in PANELS else (panels_of(known), [known])


def experiment(name: str) -> Experiment:
    """The experiment itself."""
    home = next((module for module, ids in TOGETHER.items() if name in ids), name.lower())
    module = importlib.import_module(f"markovlogic_papers.experiments.{home}")
    found: Experiment = module.EXPERIMENTS[name] if home in TOGETHER else module.EXPERIMENT
    return found
