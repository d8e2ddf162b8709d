"""Which rules are grounded for learning, and which are counted."""

from __future__ import annotations

from enum import Enum

from markovlogic.errors import UnsupportedError
from markovlogic.grounding.predict import Sizes
from markovlogic.learning.counted import plan_of
from markovlogic.learning.databases import Database
from markovlogic.learning.features import LearningRules, parted
from markovlogic.networks.counting.building import SECONDS_A_WORD

FEW_ROWS = 100_000  # that are grounded without a second thought
SECONDS_A_ROW = 1.0e-6  # to ground a clause and to find out which of its literals it hinges on


class Wanted(Enum):
    """What will be done with the counts."""

    CLAUSES = "clauses"  # chains run on them: all rules are grounded
    CLAUSES_IF_THEY_FIT = "clauses if they fit"  # chains would run, but weights can be told without
    CHANGES = "changes"  # changes of counts are enough, from wherever they come at the least cost


def counted_numbers(rules: LearningRules, database: Database, sizes: Sizes, wanted: Wanted, *, fits: bool) -> frozenset[int]:
    """Numbers of the rules to be counted. fits: whether all of them could be grounded."""
    if wanted is Wanted.CLAUSES or (wanted is Wanted.CLAUSES_IF_THEY_FIT and fits):
        return frozenset()
    rows: dict[int, int] = {}
    for template, n_rows in zip(rules.lowered.templates, sizes.rows, strict=True):
        rows[template.rule] = rows.get(template.rule, 0) + n_rows
    by_constant = {rule.number for rule in rules.rules if rule.plus}  # a channel for each constant would be too many
    many = [number for number, n_rows in rows.items() if n_rows > FEW_ROWS and number not in by_constant]
    return frozenset(number for number in many if _is_counted(rules, number, database, rows[number] if fits else None))


def _is_counted(rules: LearningRules, number: int, database: Database, rows: int | None) -> bool:
    """Whether a rule can be counted, and sooner than so many rows are grounded; None: they are too many."""
    try:
        plan = plan_of(parted(rules, {number})[0], database)
    except UnsupportedError:
        return False
    return rows is None or plan.words * SECONDS_A_WORD < rows * SECONDS_A_ROW
