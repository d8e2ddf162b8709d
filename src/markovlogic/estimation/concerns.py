"""Reasons not to trust a run's numbers, as sentences that name the worst case and say what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.estimation.diagnostics import Estimates, student_quantile
from markovlogic.system.arrays import Bool, Int64

RHAT_BELOW = 1.01  # Vehtari et al. 2021, section 4
EXPECTED_MOVES = 5.0
DRIFT_ALARM = 1e-3  # chance that a run in equilibrium is reported to drift
ENOUGH_CHAINS = 8  # whose means say how large the standard error is
FINE = 0.01  # a standard error for which nobody makes more draws, however few of them are independent
STARTS_APART = 4  # chains: fewer may all have started in one part of the worlds, and their conditionals know of no other
STILL = "kept one value in every chain"
APART = 0.1  # means that are distinguished by how chains started
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
    began_true: Int64 | None = None  # of each query atom, the chains in which it was true at the start

    @property
    def conditional_draws(self) -> int | None:
        """Draws whose conditionals show whether a row was to move; None where none were averaged, or by too few chains."""
        return self.chains * self.draws if self.conditional and self.chains >= STARTS_APART else None


Name = Callable[[int], str]


def run_concerns(atoms: Estimates, events: Estimates, course: Course, atom_name: Name, event_name: Name) -> list[str]:
    """All reasons that were found; empty when there is none."""
    found = list(course.sampler_concerns)
    if course.stopped == "interrupt":
        found.append(f"the run was interrupted after {course.draws} draws a chain; the result covers these draws")
    if course.draws == 0:
        return [*found, "the run ended before any draw was made, in burn-in; allow more time or a shorter burn-in"]
    if len(atoms):
        found += estimate_concerns(atoms, atom_name, "query atoms", course, expected=_nearly_certain(atoms, course))
    if len(events):
        found += estimate_concerns(events, event_name, "formulas", course)
    worst = worst_stderr(atoms, events)
    target = course.target_stderr
    if target is not None and worst is not None and not worst <= target:
        found.append(f"the largest standard error is {worst:.2g}, above the target of {target:g}; allow more draws or more time")
    return found


def estimate_concerns(
    estimates: Estimates, name: Name, things: str, course: Course, *, expected: Bool | None = None
) -> list[str]:
    """Reasons that lie in the estimates themselves, and for which somebody should act.

    expected: rows that are no reason where they never moved. Few independent draws are none where the standard error is small.
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
            f"the run has not settled: for {int(drifts.sum())} of {len(rhat)} {things} the late half of the draws differs "
            f"from the early one in all chains alike, most for {name(row)} ({estimates.drift[row]:+.1f} standard errors); "
            "make more draws"
        )
    ess = np.nan_to_num(estimates.ess, nan=np.inf)
    few = _few(estimates, course)
    low = int(few.sum())
    if low:
        row = int(np.argmin(np.where(few, ess, np.inf)))
        found.append(
            f"too few independent draws: the effective sample size is below {ESS_ABOVE:g} for {low} of {len(ess)} {things}, "
            f"lowest {ess[row]:.3g} for {name(row)}; make more draws"
        )
    unmoved = _unmoved(estimates, expected)
    still = int(unmoved.sum())
    if still:
        row = int(np.argmax(unmoved))
        found.append(
            f"{still} of {len(rhat)} {things} ({still / len(rhat):.1%}) {STILL}, for example {name(row)}: "
            "either that value is nearly certain or the chains cannot move; compare the result of another method"
        )
    return found


DOUBTS = ("chains disagree", "chains have not settled", "there are few independent draws", "no chain ever moved")


def doubts_of(atoms: Estimates, course: Course) -> npt.NDArray[np.uint8]:
    """What is doubtful about each row, as `run_concerns` judges it: bit k stands for `DOUBTS[k]`."""
    if not len(atoms):
        return np.zeros(0, np.uint8)
    unmoved = _unmoved(atoms, _nearly_certain(atoms, course))
    found = (_disagree(atoms), _drifts(atoms, course.chains), _few(atoms, course), unmoved)
    total = np.zeros(len(atoms), np.uint8)
    for bit, bad in enumerate(found):
        total |= bad.astype(np.uint8) << np.uint8(bit)
    return total


def has_converged(atoms: Estimates, events: Estimates, course: Course) -> bool:
    """Whether chains agree, have moved and have stopped drifting; says nothing about how small the errors are."""
    if course.draws == 0:
        return False
    parts = ((atoms, _nearly_certain(atoms, course) if len(atoms) else None), (events, None))
    return not any(
        bad.any() for part, expected in parts for bad in (_disagree(part), _drifts(part, course.chains), _unmoved(part, expected))
    )


def _disagree(estimates: Estimates) -> Bool:
    return np.nan_to_num(estimates.rhat, nan=0.0, posinf=np.inf) >= RHAT_BELOW


def _drifts(estimates: Estimates, chains: int) -> Bool:
    """Rows whose mean moved from the early to the late half, beyond what chance does to so many rows."""
    if not len(estimates) or chains < 2:
        return np.zeros(len(estimates), np.bool_)
    limit = student_quantile(chains - 1, 1 - DRIFT_ALARM / (2 * len(estimates)))
    return np.abs(np.nan_to_num(estimates.drift, nan=0.0)) > limit


def _few(estimates: Estimates, course: Course) -> Bool:
    """Rows with few independent draws; those with a small standard error need no more."""
    few = np.nan_to_num(estimates.ess, nan=np.inf) < ESS_ABOVE
    return few & ~(estimates.stderr <= FINE) if course.chains >= ENOUGH_CHAINS else few


def _unmoved(estimates: Estimates, expected: Bool | None) -> Bool:
    """Rows that kept one value though they should have moved; chains that froze in different states are reported to disagree."""
    unmoved = estimates.never_moved & ~np.isinf(estimates.rhat)
    return unmoved if expected is None else unmoved & ~expected


def _nearly_certain(atoms: Estimates, course: Course) -> Bool:
    """Query atoms that may keep one value: conditionals expect it, or several chains came to it from the other value."""
    found = _arrived(atoms, course)
    draws = course.conditional_draws
    return found if draws is None else found | _hardly_to_move(atoms, draws)


def _arrived(atoms: Estimates, course: Course) -> Bool:
    """Atoms of which several chains began with the value that none of them kept: chains can move there, and all went one way."""
    began = course.began_true
    if began is None or len(began) != len(atoms):
        return np.zeros(len(atoms), bool)
    return np.where(atoms.mean < 0.5, began, course.chains - began) >= STARTS_APART


def _by_start(estimates: Estimates, row: int, starts: tuple[str, ...]) -> str:
    """The means of one row by how chains started, where that distinguishes phases."""
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
    return ", whose chains, or scouts, kept different values" if np.isinf(rhat) else ""


def still_remarks(atoms: Estimates, name: Name, things: str, course: Course) -> tuple[str, ...]:
    """What should be known of rows that never moved and are no concern.

    No average may hide such rows (papers.md 2.17): were the chains confined to a part of the worlds, it would look the same.
    """
    never = atoms.never_moved & ~np.isinf(atoms.rhat)
    found, draws = [], course.conditional_draws
    still = never & _hardly_to_move(atoms, draws) if draws else np.zeros(len(atoms), bool)
    if still.any():
        rarer = np.where(still, np.minimum(atoms.mean, 1 - atoms.mean), -1.0)
        row = int(np.argmax(rarer))
        found.append(
            f"{int(still.sum())} of {len(still)} {things} kept one value in every chain, as their conditionals lead one to"
            f" expect: these give the other value a probability of {rarer[row]:.1g} at most, for {name(row)};"
            " R-hat and ESS say nothing about them"
        )
    came = never & ~still & _arrived(atoms, course)
    if came.any():
        row = int(np.argmax(came))
        found.append(
            f"{int(came.sum())} of {len(came)} {things} kept one value in every chain, for example {name(row)}, though"
            " chains began with the other value too: it is nearly certain"
        )
    return tuple(found)


def worst_stderr(*parts: Estimates) -> float | None:
    """The largest standard error of all rows, nan when one is undefined; None when there are no rows."""
    stderr = np.concatenate([part.stderr for part in parts])
    return float(stderr.max()) if len(stderr) else None


def worst_rhat(*parts: Estimates) -> float | None:
    """The largest R-hat that is defined; None when none is."""
    rhat = np.concatenate([part.rhat for part in parts])
    rhat = rhat[~np.isnan(rhat)]
    return float(rhat.max()) if len(rhat) else None
