"""What values offer as methods and only `api` can do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markovlogic.errors import InputError
from markovlogic.system.views import register

COMPARED = {"first": "other result", "second": "this result"}

if TYPE_CHECKING:
    from markovlogic.linking.linked import Linked
    from markovlogic.reasons.values import Reasons
    from markovlogic.results.marginals import Marginals


@register
def why(result: Marginals, atom: str, **options: Any) -> Reasons:
    """Explain an atom of a result with the problem that it was inferred from."""
    from markovlogic.api.why import why_of
    from markovlogic.reasons.relation import LikelyPairs

    if result.prepared is None:
        raise InputError(
            "this result was made without its model and evidence, which explanations need",
            hint="use mln.why(model, evidence, atom)",
        )
    if result.run.compression is not None:
        raise InputError("this result is of a compressed problem", hint="mln.why(model, evidence, atom) explains the model")
    known = (float(result[atom]), result[atom].stderr) if atom in result else None

    def pairs(name: str) -> LikelyPairs | None:
        """What the result says of a relation."""
        if name not in result.predicates:
            return None
        own = result.predicate_of == result.predicates.index(name)
        return LikelyPairs(result.code[own], result.probability[own], result.stderr[own])

    return why_of(result.prepared, atom, known=known, pairs=pairs, **options)


@register
def why_linked(linked: Linked, a: str, b: str, **options: Any) -> Reasons:
    """Explain a pair of records by the columns of the records that may be together with them."""
    import numpy as np

    from markovlogic.api.why import why_of
    from markovlogic.language.load import parse
    from markovlogic.language.syntax import show_constant
    from markovlogic.linking.model import LinkModel
    from markovlogic.problem.prepare import prepare_problem
    from markovlogic.reasons.relation import LikelyPairs, part_note, records_of_part

    compared, n = linked.compared, linked.compared.records.n
    names = [key.as_py() for key in compared.keys]
    unknown = [name for name in (a, b) if name not in names]
    if unknown or a == b:
        what = f"there is no record {unknown[0]}" if unknown else f"{a} is one record"
        raise InputError(what, hint=f"give two ids, such as {names[0]}")
    code = compared.one.astype(np.int64) * n + compared.other
    pairs = LikelyPairs(code, linked.pair_probability, linked.pair_stderr)
    keep, left_out = records_of_part(n, pairs, np.zeros(0, np.int64), [names.index(a), names.index(b)])
    part = compared.among(keep)
    inside = LikelyPairs(part.one.astype(np.int64) * len(keep) + part.other, np.ones(len(part.one)), np.zeros(len(part.one)))
    atom = f"Same({show_constant(a)},{show_constant(b)})"
    model = LinkModel(part, linked.model.one_to_one, "")
    prepared = prepare_problem(parse(model.text, "model.mln"), model.tables, atom)
    found = why_of(prepared, atom, pairs=lambda _: inside, **options)
    return replace(found, notes=(*found.notes, part_note(len(keep), left_out)))


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
    from markovlogic.language.equivalence import equivalences
    from markovlogic.problem.values import WantedAtoms
    from markovlogic.report.charts import most_uncertain

    if count < 0:
        raise InputError(f"the number of explanations must be 0 or more, not {count}")
    named, symmetric = [], set[str]()
    if result.prepared is not None:
        found = equivalences(result.prepared.problem.model, result.prepared.lowered)
        symmetric = {relation.predicate for relation in found.relations}
        for item in result.prepared.problem.query:
            constants = item.wanted.constants if isinstance(item.wanted, WantedAtoms) else None
            if constants is not None and None not in constants and item.text in result:
                named.append(item.text)
    uncertain = [int(row) for row in most_uncertain(result, 2 * (count + len(named)) + int((result.predicate_of < 0).sum()))]
    chosen, pairs = dict.fromkeys(named), set[tuple[int, int, int]]()
    for row in uncertain:
        number = int(result.predicate_of[row])
        if number >= 0 and result.predicates[number] in symmetric:  # one order of a pair says it all
            one, other = divmod(int(result.code[row]), len(result.domains[number][0]))
            pair = number, min(one, other), max(one, other)
            if pair in pairs:
                continue
            pairs.add(pair)
        if number >= 0:
            chosen[result.atom[row].as_py()] = None
    return list(chosen)[:count]
