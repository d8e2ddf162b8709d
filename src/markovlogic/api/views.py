"""What values offer as methods and only `api` can do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markovlogic.errors import InputError
from markovlogic.system.views import register

COMPARED = {"first": "other result", "second": "this result"}

if TYPE_CHECKING:
    from markovlogic.reasons.values import Reasons
    from markovlogic.results.marginals import Marginals


@register
def why(result: Marginals, atom: str, **options: Any) -> Reasons:
    """Explain an atom of a result with the problem that it was inferred from."""
    from markovlogic.api.why import why_of
    from markovlogic.reasons.relation import Pairs

    if result.prepared is None:
        raise InputError("this result does not hold its problem", hint="use mln.why(model, evidence, atom)")
    if result.run.compression is not None:
        raise InputError("this result is of a compressed problem", hint="mln.why(model, evidence, atom) explains the model")
    known = (float(result[atom]), result[atom].stderr) if atom in result else None

    def pairs(name: str) -> Pairs | None:
        """What the result says of a relation."""
        if name not in result.predicates:
            return None
        own = result.predicate_of == result.predicates.index(name)
        return Pairs(result.code[own], result.probability[own], bool(result.run.chains))

    return why_of(result.prepared, atom, known=known, pairs=pairs, **options)


@register
def report_result(result: Marginals, path: str | Path, wanted: int | Sequence[str], truth: Any, other: Any) -> None:
    """Write a result; explanations, scores and a comparison are for pages."""
    from markovlogic.report.files import check_ending, is_page, write_page, write_result

    if not is_page(path):
        if wanted or truth is not None or other is not None:
            check_ending(path)
            raise InputError(f"{path}: explanations, truth and comparisons are parts of a page", hint="give a name with .html")
        write_result(result, path)
        return
    write_page(page_data(result, wanted, truth, other), path)


@register
def explore_result(result: Marginals, wanted: int | Sequence[str], truth: Any, other: Any) -> Any:
    """The live view of a result in a notebook."""
    from markovlogic.report.widget import widget

    live = result.prepared is not None and result.run.compression is None

    def explained(atom: str, changes: Sequence[str]) -> dict[str, Any]:
        return dict(why(result, atom, changes=changes).as_dict())

    return widget(page_data(result, wanted, truth, other), explained if live else None)


def page_data(result: Marginals, wanted: int | Sequence[str] = 0, truth: Any = None, other: Any = None) -> dict[str, Any]:
    """What the view draws of a result."""
    from markovlogic.evaluation.difference import diff
    from markovlogic.evaluation.difference_view import comparison_data
    from markovlogic.evaluation.evaluate import evaluate
    from markovlogic.evaluation.view import calibration_data
    from markovlogic.report.view_data import result_data

    atoms = to_explain(result, wanted) if isinstance(wanted, int) else list(wanted)
    return result_data(
        result,
        reasons=[why(result, atom).as_dict() for atom in atoms],
        calibration=None if truth is None else calibration_data(evaluate(result, truth)),
        comparison=None if other is None else {**comparison_data(diff(other, result)), **COMPARED},
    )


def to_explain(result: Marginals, count: int) -> list[str]:
    """So many atoms: those that the query names one by one, then the most uncertain."""
    from markovlogic.problem.values import WantedAtoms
    from markovlogic.report.charts import most_uncertain

    if count < 0:
        raise InputError(f"the number of explanations must be 0 or more, not {count}")
    named = []
    if result.prepared is not None:
        for item in result.prepared.problem.query:
            constants = item.wanted.constants if isinstance(item.wanted, WantedAtoms) else None
            if constants is not None and None not in constants and item.text in result:
                named.append(item.text)
    uncertain = [int(row) for row in most_uncertain(result, count + len(named) + int((result.predicate_of < 0).sum()))]
    names = [result.atom[row].as_py() for row in uncertain if result.predicate_of[row] >= 0]
    return list(dict.fromkeys([*named, *names]))[:count]
