"""Pre-processors that are compared get the same budget: factors say as many facts about pairs as are kept by chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.papers.tiny import SCALES

from markovlogic.compression.evidence_factors import BMF, binary_predicates
from markovlogic.data.evidence import TRUE
from markovlogic_papers.experiments.preprocessing import GRECOND, NE, NIMFA_NAME, grouping_of, merged, prepared, task_of

SCALE = replace(SCALES["E10"], tested=(24, 24, 8), trained=(24, 24, 8), ratios=(0.3, 0.9), made=0.02)


def facts_about_pairs(problem):
    return sum(np.count_nonzero(problem.statuses[name].status == TRUE) for name in binary_predicates(problem))


def test_factors_have_the_least_rank_that_says_the_share_of_the_ratio():
    task = task_of("webkb", SCALE, 0)
    total = facts_about_pairs(task.prepared.problem)
    found = prepared("webkb", SCALE, 0)
    ranks = {ratio: {one.preprocessor: one.rank for one in found if one.ratio == ratio and one.rank} for ratio in SCALE.ratios}
    assert all(own == dict.fromkeys((NIMFA_NAME, GRECOND), own[GRECOND]) for own in ranks.values())
    assert 0 < ranks[0.3][GRECOND] < ranks[0.9][GRECOND]
    for one in found:
        if one.preprocessor == GRECOND:
            assert facts_about_pairs(one.compression.prepared.problem) >= one.ratio * total
            less = BMF(rank=1).compress(task.prepared, needs_problem=True)
            assert one.rank == 1 or facts_about_pairs(less.prepared.problem) < one.ratio * total


def test_an_embedding_made_once_gives_the_groups_of_one_made_anew():
    task = task_of("webkb", SCALE, 0)
    for one in prepared("webkb", SCALE, 0):
        if one.preprocessor == NE:
            anew = merged(task, NE, grouping_of(NE, one.ratio, 0, epochs=SCALE.epochs))
            for of, groups in anew.compression.partition.class_of.items():
                np.testing.assert_array_equal(groups, one.compression.partition.class_of[of])
            assert one.seconds > 0
