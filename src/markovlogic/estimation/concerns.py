"""Reasons not to trust a run's numbers, as sentences that name the worst case and say what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from markovlogic.estimation.diagnostics import Estimates
from markovlogic.estimation.quantiles import student_quantile
from markovlogic.system.arrays import Bool

RHAT_BELOW = 1.01  # Vehtari et al. 2021, section 4
EXPECTED_MOVES = 5.0
DRIFT_ALARM = 1e-3  # chance that a run in equilibrium is said to drift
STARTS_APART = 4  # chains: fewer may all have started in one part of the worlds, and their conditionals know of no other
APART = 0.1  # means that are told apart by how chains started
ESS_ABOVE = 400.0  # the same: below it, variances and R-hat itself are not reliable


@dataclass(frozen=True)
class Course:
    """How a run went, as far as it bears on trust."""

    stopped: str  # "draws", "target", "time" or "interrupt"
    chains: int
    draws: int  # a chain
    conditional: bool  # conditionals were averaged
    target_stderr: float | None
    sampler_concerns: tuple[str, ...]
    starts: tuple[str, ...] = ()  # how each chain started, by a word; empty words where all started alike

    @property
    def conditional_draws(self) -> int | None:
        """Draws whose conditionals tell whether a row was to move; None where none were averaged, or by too few chains."""
        return self.chains * self.draws if self.conditional and self.chains >= STARTS_APART else None


Name = Callable[[int], str]


def run_concerns(atoms: Estimates, events: Estimates, course: Course, atom_name: Name, event_name: Name) -> list[str]:
    """All reasons that were found; empty when there is none."""
    found = list(course.sampler_concerns)
    if course.stopped == "interrupt":
        found.append(f"the run was interrupted after {course.draws} draws a chain; what was found until then is given")
    if course.draws == 0:
        return [*found, "the run ended before any draw was made, in burn-in; allow more time or ask for a shorter burn-in"]
    if len(atoms):
        found += estimate_concerns(atoms, atom_name, "query atoms", course, conditional_draws=course.conditional_draws)
    if len(events):
        found += estimate_concerns(events, event_name, "formulas", course)
    worst = worst_stderr(atoms, events)
    target = course.target_stderr
    if target is not None and worst is not None and not worst <= target:
        found.append(f"the largest standard error is {worst:.2g}, above the target of {target:g}; allow more draws or more time")
    return found


def estimate_concerns(
    estimates: Estimates, name: Name, things: str, course: Course, *, conditional_draws: int | None = None
) -> list[str]:
    """Reasons that lie in the estimates themselves.

    A row that never moved is no reason when its conditionals say that a move was hardly to be expected in so many draws.
    """
    found = []
    rhat = np.nan_to_num(estimates.rhat, nan=0.0, posinf=np.inf)
    high = int(_disagree(estimates).sum())
    if high:
        row = int(np.argmax(rhat))
        found.append(
            f"chains have not mixed: R-hat is {RHAT_BELOW} or more for {high} of {len(rhat)} {things}, "
            f"worst {rhat[row]:.3g} for {name(row)}{_frozen(rhat[row])}{_by_start(estimates, row, course.starts)}; "
            "make more draws, or take another method"
        )
    drifts = _drifts(estimates, course.chains)
    if drifts.any():
        row = int(np.argmax(np.where(drifts, np.abs(estimates.drift), 0.0)))
        found.append(
            f"the run was still on its way: for {int(drifts.sum())} of {len(rhat)} {things} the late half of the draws differs "
            f"from the early one in all chains alike, most for {name(row)} ({estimates.drift[row]:+.1f} standard errors); "
            "make more draws"
        )
    ess = np.nan_to_num(estimates.ess, nan=np.inf)
    low = int((ess < ESS_ABOVE).sum())
    if low:
        row = int(np.argmin(ess))
        found.append(
            f"too few independent draws: the effective sample size is below {ESS_ABOVE:g} for {low} of {len(ess)} {things}, "
            f"lowest {ess[row]:.3g} for {name(row)}; make more draws"
        )
    unmoved = _unmoved(estimates, conditional_draws)
    still = int(unmoved.sum())
    if still:
        row = int(np.argmax(unmoved))
        found.append(
            f"{still} of {len(rhat)} {things} ({still / len(rhat):.1%}) kept one value in every chain, for example {name(row)}: "
            "either that value is nearly certain or the chains cannot move; R-hat and ESS say nothing about them"
        )
    return found


def has_converged(atoms: Estimates, events: Estimates, course: Course) -> bool:
    """Whether chains agree, have moved and have stopped drifting; says nothing about how small the errors are."""
    if course.draws == 0:
        return False
    parts = ((atoms, course.conditional_draws), (events, None))
    return not any(
        bad.any()
        for part, conditional_draws in parts
        for bad in (_disagree(part), _drifts(part, course.chains), _unmoved(part, conditional_draws))
    )


def _disagree(estimates: Estimates) -> Bool:
    return np.nan_to_num(estimates.rhat, nan=0.0, posinf=np.inf) >= RHAT_BELOW


def _drifts(estimates: Estimates, chains: int) -> Bool:
    """Rows whose mean moved from the early to the late half, beyond what chance does to so many rows."""
    if not len(estimates) or chains < 2:
        return np.zeros(len(estimates), np.bool_)
    limit = student_quantile(chains - 1, 1 - DRIFT_ALARM / (2 * len(estimates)))
    return np.abs(np.nan_to_num(estimates.drift, nan=0.0)) > limit


def _unmoved(estimates: Estimates, conditional_draws: int | None) -> Bool:
    """Rows that kept one value though they should have moved; chains that froze in different states are told to disagree."""
    unmoved = estimates.never_moved & ~np.isinf(estimates.rhat)
    return unmoved if conditional_draws is None else unmoved & ~_hardly_to_move(estimates, conditional_draws)


def _by_start(estimates: Estimates, row: int, starts: tuple[str, ...]) -> str:
    """The means of one row by how chains started, where that tells phases apart."""
    words = list(dict.fromkeys(word for word in starts if word))
    if estimates.chain_mean is None or len(words) < 2 or len(starts) != estimates.chain_mean.shape[1]:
        return ""
    of = np.array(starts)
    means = {word: float(estimates.chain_mean[row, of == word].mean()) for word in words}
    low, high = min(means, key=lambda word: means[word]), max(means, key=lambda word: means[word])
    if means[high] - means[low] < APART:
        return ""
    return f" ({means[high]:.2g} from starts {high!r}, {means[low]:.2g} from starts {low!r})"


def _hardly_to_move(estimates: Estimates, conditional_draws: int) -> Bool:
    """Rows whose conditionals say that a move was hardly to be expected in so many draws."""
    return np.minimum(estimates.mean, 1 - estimates.mean) * conditional_draws <= EXPECTED_MOVES


def _frozen(rhat: float) -> str:
    return ", whose chains kept different values" if np.isinf(rhat) else ""


def still_remarks(estimates: Estimates, name: Name, things: str, *, conditional_draws: int) -> tuple[str, ...]:
    """What should be known of rows that never moved and are no concern, since their conditionals say that they hardly would.

    No average may hide such rows (papers.md 2.17): were the chains confined to a part of the worlds, it would look the same.
    """
    still = estimates.never_moved & ~np.isinf(estimates.rhat) & _hardly_to_move(estimates, conditional_draws)
    if not still.any():
        return ()
    rarer = np.where(still, np.minimum(estimates.mean, 1 - estimates.mean), -1.0)
    row = int(np.argmax(rarer))
    return (
        f"{int(still.sum())} of {len(still)} {things} kept one value in every chain, as their conditionals lead one to expect: "
        f"these give the other value a probability of {rarer[row]:.1g} at most, for {name(row)}; "
        "R-hat and ESS say nothing about them",
    )


def worst_stderr(*parts: Estimates) -> float | None:
    """The largest standard error of all rows, nan when one is undefined; None when there are no rows."""
    stderr = np.concatenate([part.stderr for part in parts])
    return float(stderr.max()) if len(stderr) else None


def worst_rhat(*parts: Estimates) -> float | None:
    """The largest R-hat that is defined; None when none is."""
    rhat = np.concatenate([part.rhat for part in parts])
    rhat = rhat[~np.isnan(rhat)]
    return float(rhat.max()) if len(rhat) else None
