"""`evaluate`: probabilities beside what turned out to be true."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from markovlogic.data.evidence import Evidence
from markovlogic.errors import Fault, InputError, Place
from markovlogic.evaluation.groups import accuracy, exclusive_groups
from markovlogic.evaluation.reading import Predictions, Truth, read_result, read_truth
from markovlogic.evaluation.scores import SMALLEST, Scores, scores_of
from markovlogic.results.marginals import Marginals
from markovlogic.system.arrays import Bool, Float64, Int64

ALL = "all"


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of all rows and of each predicate, and what was left out of them."""

    predicates: tuple[str, ...]
    predicate: Int64  # (n,) of each row, as an index
    truth: Bool  # (n,)
    probability: Float64  # (n,)
    notes: tuple[str, ...]  # what was left out, and what was read in a way that may surprise
    group: Int64 | None = None  # (n,) the exclusive group of each row, -1 where it is in none; None: there are none

    @cached_property
    def by_predicate(self) -> Mapping[str, Scores]:
        """Scores of each predicate that has rows."""
        found = {}
        for number, name in enumerate(self.predicates):
            own = self.predicate == number
            found[name] = self._scores(own)
        return found

    @cached_property
    def overall(self) -> Scores:
        """Scores of all rows together (micro-averages)."""
        return self._scores(np.ones(len(self.truth), bool))

    def _scores(self, rows: Bool) -> Scores:
        truth, probability = self.truth[rows], self.probability[rows]
        found = scores_of(truth, probability)
        if self.group is None:
            return found
        share, n_groups = accuracy(self.group[rows], truth, probability)
        return replace(found, accuracy=share, groups=n_groups)

    def rows(self) -> dict[str, Scores]:
        """What a table shows: each predicate, and all together where there are several."""
        return dict(self.by_predicate) if len(self.predicates) == 1 else {**self.by_predicate, ALL: self.overall}

    def as_dict(self) -> dict[str, Any]:
        """Plain values for programs."""
        return {
            "overall": self.overall.as_dict(),
            "predicates": {name: scores.as_dict() for name, scores in self.by_predicate.items()},
            "notes": list(self.notes),
        }

    def chart(self) -> Any:
        """Altair chart of the calibration: predicted against true."""
        from markovlogic.evaluation.view import calibration_chart

        return calibration_chart(self)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file: .json, .csv, or .html, .png and .svg with the calibration chart."""
        from markovlogic.evaluation.view import write

        write(self, path)

    def to_pandas(self) -> Any:
        """A frame with the scores of each predicate, and of all together where there are several."""
        import pandas as pd

        from markovlogic.evaluation.view import COLUMNS

        rows = [{"predicate": name, **{column: vars(of)[column] for column in COLUMNS}} for name, of in self.rows().items()]
        return pd.DataFrame(rows)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from markovlogic.evaluation.view import html_table

        return html_table(self)

    def __repr__(self) -> str:
        of = self.overall
        return f"<evaluation of {of.rows:,} atoms: log loss {of.log_loss:.4g}, AUC-PR {of.auc_pr:.4g}, AUC-ROC {of.auc_roc:.4g}>"


def evaluate(result: Marginals | str | os.PathLike[str], truth: object) -> Evaluation:
    """Judge probabilities by what is true.

    result: what `infer` returned, or a file that it wrote. truth: `.db` files, tables by predicate, or an Evidence. An atom that
    the truth does not mention is false; one that it marks with `?` is left out.
    """
    predictions = read_result(result)
    return _judged(predictions, read_truth(truth, predictions))


def evaluate_left_out(result: Marginals, truth: Evidence) -> Evaluation:
    """As `evaluate`, where the truth is known to be about these atoms: all of them may be false."""
    predictions = read_result(result)
    return _judged(predictions, read_truth(truth, predictions), all_may_be_false=True)


def _judged(predictions: Predictions, known: Truth, *, all_may_be_false: bool = False) -> Evaluation:
    import pyarrow as pa
    import pyarrow.compute as pc

    large = pa.large_string()
    atom = predictions.atom.cast(large)
    is_true = pc.is_in(atom, value_set=known.true).to_numpy(zero_copy_only=False)
    is_unknown = pc.is_in(atom, value_set=known.unknown).to_numpy(zero_copy_only=False)
    # a single atom is a name, alone or with one pair of parentheses around its arguments; quotes may hold anything
    single = r'^([A-Za-z_][A-Za-z0-9_\'-]*)(?:\((?:"(?:[^"\\]|\\.)*"|[^"()])*\))?$'
    names = pc.struct_field(pc.extract_regex(atom, single.replace("([A", "(?P<name>[A", 1)), "name")
    encoded = names.dictionary_encode()
    index = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    predicates = encoded.dictionary.to_pylist()

    notes = []
    undefined, formulas = np.isnan(predictions.probability), index < 0
    kept = ~(undefined | formulas | is_unknown)
    for left, what in (
        (formulas, "are not single atoms"),
        (is_unknown, "are marked as unknown by the truth"),
        (undefined, "have no probability"),
    ):
        if left.any():
            notes.append(f"{int(left.sum()):,} rows were left out: they {what}, such as {_first(predictions, left)}")
    if not kept.any():
        raise InputError(Fault("no row is left to evaluate", Place(predictions.source), hint="; ".join(notes)))
    for name in predicates:
        if name not in known.predicates:
            notes.append(f"{known.source} says nothing about {name}: all its atoms were read as false")
    rows_of = {name: int(((index == number) & kept).sum()) for number, name in enumerate(predicates)}
    if not is_true[kept].any() and not all_may_be_false:  # a truth about other atoms, as it seems
        example = known.true[0].as_py() if len(known.true) else "none"
        raise InputError(
            Fault(
                f"no row of {predictions.source} is true by {known.source}:"
                f" a row is {_first(predictions, kept)}, a true fact is {example}",
                hint="atoms are matched by their text; is it the truth about these atoms?",
            )
        )
    there = [name for name in predicates if rows_of[name]]
    renumbered = np.full(len(predicates) + 1, -1)
    for number, name in enumerate(sorted(there)):
        renumbered[predicates.index(name)] = number
    group = exclusive_groups(atom, predictions.probability, index)[kept]
    made = Evaluation(tuple(sorted(there)), renumbered[index[kept]], is_true[kept], predictions.probability[kept], (), group)
    truths = np.bincount(group[group >= 0], is_true[kept][group >= 0])
    is_group = np.isin(np.arange(len(truths)), group)
    bare = int((is_group & (truths == 0)).sum())
    if bare and not all_may_be_false:
        notes.append(
            f"{bare:,} of {int(is_group.sum()):,} exclusive groups have no true value in {known.source}: their values count as"
            " false, in all scores but the accuracy; mark atoms that are not known with ?"
        )
    clipped = made.overall.clipped
    if clipped:
        notes.append(
            f"{clipped:,} rows were predicted impossible and are true, or certain and are false: their probability was taken"
            f" as {SMALLEST:g} in logarithms"
        )
    return replace(made, notes=tuple(notes))


def _first(predictions: Predictions, rows: Bool) -> str:
    return str(predictions.atom[int(np.flatnonzero(rows)[0])].as_py())
