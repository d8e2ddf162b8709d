"""Literal and corrected settings side by side: what each experiment runs, and that it is what it says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.papers.tiny import drawn_by, outcome_of, tiny

from markovlogic.compression.groupings import RandomGroups
from markovlogic.data.evidence import TRUE
from markovlogic.errors import ResourceError
from markovlogic.system.progress import Silent
from markovlogic_papers.experiments import after_preprocessing, e1
from markovlogic_papers.experiments.catalogue import experiment
from markovlogic_papers.experiments.long_runs import block_means
from markovlogic_papers.experiments.preprocessing import NE, NE_SVD, VG, grouping_of, task_of
from markovlogic_papers.experiments.synthetic_rules import LITERAL, OTHER, TOPICS, drawn, groupings, statuses, translated

# ---- E1


def adapted(w1=3.0, w2=-2.0):
    scale = replace(tiny("E1").quick, objects=300)
    prepared, status = e1._prepared(scale, w1, w2, np.random.default_rng(5))
    truth = e1._truth(status, w1, w2)
    return prepared, np.concatenate([truth[name][prepared.problem.atoms.codes(name)] for name in ("R", "S")])


def test_e1_runs_the_corrected_setting_and_draws_it_with_the_groups_by_evidence():
    table = outcome_of("E1").table
    ways = {(r["setting"], r["sampler"]) for r in table.records()}
    assert ways == {("literal", name) for name in e1.SAMPLERS} | {("corrected", "cgibbs"), (e1.BY_EVIDENCE, "cgibbs")}
    panels = [{value["setting"] for value in panel} for panel in drawn_by(e1.draw(table))]
    assert len(panels) == 2 and all(shown == {"literal", "corrected", e1.BY_EVIDENCE} for shown in panels)
    assert any("corrected (counts and shares) over literal" in reason for reason in outcome_of("E1").verdict.reasons)


def test_counts_of_what_objects_are_have_no_error_on_random_groups():
    """What `--compress random` does by default there: groups are distinguished by evidence about single objects."""
    prepared, truth = adapted()
    grouping = RandomGroups(ratio=0.02, seed=1)
    network, what = grouping.network(prepared, grouping.partition(prepared.problem))
    ((_, values),) = block_means(network, "none", 1, (1,), 0)
    assert what.startswith("counts of what objects are")
    np.testing.assert_allclose(values, truth, atol=1e-12)


# ---- E2


def test_parts_of_the_data_are_as_small_as_those_of_what_is_made():
    """`--quick --data` took half of the benchmarks once, since what is made is small before it is cut."""
    made = experiment("E2")
    assert made.full.cut("") == made.full.cut("somewhere") == made.full.share
    assert made.quick.cut("somewhere") == made.quick.share * made.quick.made
    assert replace(made.quick, data="somewhere").sources == ("somewhere", "")


# ---- E10 to E15


def test_e15_has_both_settings_and_the_noise_floor():
    outcome = outcome_of("E15")
    assert set(outcome.table.column("setting")) == {"literal", "literal, NE (SVD)", "corrected", "noise floor"}
    reported = " ".join(outcome.verdict.reasons)
    assert "webkb, literal" in reported and "webkb, corrected" in reported and "by search with all evidence" in reported
    assert set(outcome.measured["f1"]) == {"literal", "literal, NE (SVD)", "corrected"}
    chart = tiny("E15").draw(outcome.table).to_json()
    assert "noise floor: by search with all evidence" in chart


def test_reasons_tell_in_one_sentence_what_does_not_fit(monkeypatch):
    def refuse(task, one, scale, seed):
        raise ResourceError("a rule has 53,000,000 instances. Use a smaller --ratio.", needed=1, limit=1)

    made = tiny("E12")
    assert not any("does not fit" in reason for reason in outcome_of("E12").verdict.reasons)
    monkeypatch.setattr(after_preprocessing, "by_blocks", refuse)
    outcome = made.run(replace(made.quick, benchmarks=("er",)), 0, Silent())
    (message,) = [reason for reason in outcome.verdict.reasons if "does not fit" in reason]
    assert "er, NE (skip-gram), ratio 0.5, in 2 runs" in message and "53,000,000 instances" in message
    assert all(cells["corrected_does_not_fit"] for cells in outcome.measured["tasks"].values())


@pytest.mark.parametrize(("name", "rule"), [(NE, "representatives"), (NE_SVD, "representatives"), (VG, "majority")])
def test_each_paper_has_its_own_rule_of_evidence(name, rule):
    task = task_of("webkb", tiny("E10").quick, 0)
    grouping = grouping_of(name, 0.5, 0)
    assert grouping.shrinking(task.prepared, grouping.partition(task.prepared.problem)).vote == rule


def test_ne_keeps_what_is_known_of_one_member_of_each_group():
    """[002]: evidence about objects that stand for no group is removed; worked out from the world itself."""
    world = drawn(2, (6, 9, 8), TOPICS, 4)
    prepared = world.prepared()
    for name, paper, other in (("NE (skip-gram)", True, False), ("NE (SVD)", True, False), ("VG (k-means)", False, True)):
        grouping = groupings(0.4, 0)[name]
        partition = grouping.partition(prepared.problem)
        made, stands = translated(grouping, prepared, partition), partition.representative
        for setting, same in ((LITERAL, paper), (OTHER, other)):
            kept = [
                np.array_equal(
                    statuses(made[setting].prepared, f"{letter}{i + 1}") == TRUE, own[i][np.ix_(stands["item"], stands[of])]
                )
                for i in range(2)
                for letter, own, of in (("S", world.s, "left"), ("T", world.t, "right"))
            ]
            assert all(kept) == same
