"""Verdicts from tables that are made up: a word only where the numbers of all runs and all open readings carry it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from markovlogic_papers.experiments import e3, e15
from markovlogic_papers.experiments.comparison import over_range
from markovlogic_papers.experiments.outcome import Table, Verdict
from markovlogic_papers.experiments.racing import agreement


@pytest.mark.parametrize(
    ("words", "word"), [(("agrees", "agrees"), "agrees"), (("agrees", "differs"), "unclear"), (("agrees", "unclear"), "unclear")]
)
def test_what_a_paper_leaves_open_is_judged_together(words, word):
    verdict = over_range({str(number): Verdict(own, ("why",)) for number, own in enumerate(words)}, "number")
    assert verdict.word == word
    assert verdict.reasons == (f"by number, 0: {words[0]}, 1: {words[1]}", "0: why", "1: why")


@pytest.mark.parametrize(
    ("protein", "visited", "word"),
    [
        ((8.0, 5.0, 9.0), 0.3, "agrees"),
        ((1.01, 1.02, 1.01), 20.0, "differs"),
        ((8.0, 5.0, 9.0), 20.0, "unclear"),
        ((1.0, 1.2, 2.0), 0.3, "unclear"),
    ],
)
def test_gibbs_at_full_size(protein, visited, word):
    """The paper: it has not mixed on Protein, and has not visited the atoms of ER; the first look of a run judges nothing."""
    ends = [("protein", 0.5, run, rhat, 20.0) for run, rhat in enumerate(protein)]
    ends += [("er", 0.5, run, 1.0, visited) for run in range(3)]
    found = [
        e3.Look(name, share, e3.GIBBS, run, draws, 1.0, rhat if draws > 5 else 1.5, 0.0, atoms)
        for name, share, run, rhat, atoms in ends
        for draws in (5, 50)
    ]
    verdict = e3._verdict(found, [])
    assert verdict.word == word
    assert f"mean R from 1.500 after 5 draws to {math.exp(np.log(protein).mean()):.3g}" in verdict.reasons[1]


@pytest.mark.parametrize(
    ("moves", "er", "word"), [(0.01, 0.5, "agrees"), (0.3, 0.5, "differs"), (0.01, 0.01, "differs"), (0.15, 0.5, "unclear")]
)
def test_sizes_of_the_embedding(moves, er, word):
    """WebKB and Protein must stay where they are, in every run, and ER must move."""
    noise = {0.15: (-0.2, 0.1, 0.0)}.get(moves, (-0.001, 0.001, 0.0))
    rows = [(name, e15.FLOOR, None, run, 0.9, 0.0) for name in ("webkb", "protein", "er") for run in range(3)]
    rows += [
        (name, setting, size, run, 0.3 + (size > 5) * (move + noise[run] if name != "er" else move + 0.001 * run), 1.0)
        for setting in (e15.LITERAL, e15.CORRECTED, e15.BY_SVD)
        for name, move in (("webkb", moves), ("protein", 0.0), ("er", er))
        for size in (5, 20)
        for run in range(3)
    ]
    assert e15._verdict(Table(e15.COLUMNS, rows)).word == word


def test_atoms_frozen_at_different_values_count():
    """Dropping them made chains that never met look mixed; those on which all chains agree say nothing."""
    draws, moving = 100, [50, 52, 48, 51]
    mixed = agreement(np.array([moving, [0, 0, 0, 0]]), draws)
    assert mixed.rhat < 1.01 and mixed.apart == 0
    apart = agreement(np.array([moving, [0, 0, 100, 100]]), draws)
    assert apart.rhat > 3 and apart.apart == 0.5
