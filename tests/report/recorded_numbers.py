"""What notebooks, terminals and files show of small results, as text."""

from __future__ import annotations

import io
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from tests.methods.problems import inputs
from tests.methods.recorded_numbers import TEXTS

import markovlogic as mln
from markovlogic.evaluation.scores import scores_of
from markovlogic.report.files import write_result
from markovlogic.report.tables import agreement, bar, effective, marginals_table, number, probability, summary

FILE = Path(__file__).with_name("recorded_numbers.json")
RUN: dict[str, Any] = {"method": "gibbs", "chains": 4, "draws": 30, "seed": 2}
MANY = "p = {1, ..., 60}\nS(p)\nR(p, p)\n" + "".join(f"0.{at} S(x) ^ R(x, {at})\n" for at in range(1, 60))
EQUAL = "Same(x, x).\nSame(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) => Same(x, z).\n"


def _shown(value: Any) -> str:
    """As a notebook shows it, without what a clock says."""
    return re.sub(r"[\d.,]+ (s|ms)\b", "some s", value._repr_html_())


def _model() -> Any:
    return [_shown(mln.Model.parse(text)) for text in (MANY, MANY.rsplit("\n", 10)[0] + "\n", TEXTS["mixed"][0])]


def _marginals() -> Any:
    model, evidence, query = inputs("soft")
    wide = mln.infer(mln.Model.parse(MANY), None, "S", closed=["R"])
    drawn = [_shown(mln.infer(model, evidence, query, **RUN | {"chains": chains})) for chains in (1, 4)]
    return [_shown(mln.infer(model, evidence, query)), *drawn, _shown(wide)]


def _frames() -> Any:
    result = mln.infer(*inputs("exclusive"), **RUN)
    found = [result.predicate("K").to_dict("list"), result.most_likely("K").to_dict("list"), len(result), repr(result)]
    return [*found, result.to_pandas().to_dict("list"), [str(concern) for concern in result.concerns(rhat_below=1.0)]]


def _files() -> Any:
    result, found = mln.infer(*inputs("exclusive"), **RUN), {}
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("csv", "json"):
            result_file = Path(folder) / f"out.{ending}"
            write_result(result, result_file)
            text = re.sub(r"\d+\.\d{6,}", lambda one: f"{float(one[0]):.6g}", result_file.read_text())
            found[ending] = re.sub(r'"(seconds|peak_memory_bytes|version)": ([^,{}]+|\{[^}]*\})', "", text)
    return found


def _clusters() -> Any:
    model = mln.Model.parse(
        f"r = {{1, ..., 6}}\nSame(r, r)\n{EQUAL}-0.4 Same(x, y)\n3 Same(1, 2)\n2 Same(2, 5)\n0.5 Same(3, 4)\n"
    )
    exact = mln.infer(model, None, "Same").clusters("Same")
    drawn = mln.infer(model, None, "Same", method="gibbs", chains=4, draws=50, seed=1, keep_draws=True).clusters("Same")
    found = [table.to_pydict() for table in (exact, drawn)]
    refused = []
    for text, query in (("p = {1, 2}\nS(p)\n1 S(x)\n", "S"), ("p = {1, 2}\nq = {A}\nQ(p, q)\n1 Q(x, y)\n", "Q")):
        try:
            mln.infer(mln.Model.parse(text), None, query).clusters(query)
        except mln.InputError as refusal:
            refused.append(str(refusal))
    return [*found, refused]


def _others() -> Any:
    text, query = TEXTS["several parts"]
    model = mln.Model.parse(text)
    world = mln.maximize(model, None, "S")
    return [
        _shown(mln.symmetries(model, None, query)),
        _shown(model.evidence()),
        [world.description, repr(world), world.table().to_pydict(), world.gap, world.relative_gap],
    ]


def _terminal() -> Any:
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=90, color_system=None)
    for options in (RUN, {}):
        result = mln.infer(*inputs("exclusive"), **options)
        console.print(marginals_table(result, limit=4))
        console.print(summary(result), agreement(result))
    console.print(
        [bar(share) for share in (0.0, 0.03, 0.5, 0.93, 1.0)], [probability(p) for p in (0.0, 1e-7, 0.04, 0.5, 0.9999999, 1.0)]
    )
    console.print([effective(ess, least=least) for ess, least in ((3.14, False), (1234.5, True))], number(0.0012345, 2))
    return re.sub(r"[\d.,]+ s\b", "some s", out.getvalue()).splitlines()


def _scored() -> Any:
    truth = np.array([1, 0, 1, 1, 0, 0, 1, 0, 0, 1], bool)
    likely = np.array([0.9, 0.9, 0.8, 0.3, 0.3, 0.1, 0.5, 0.5, 0.0, 1.0])
    found = [vars(scores_of(truth, likely)), vars(scores_of(truth[:2], likely[:2])), vars(scores_of(~truth, likely))]
    return [{key: str(value) for key, value in one.items()} for one in found]


PARTS = {
    "model": _model,
    "marginals": _marginals,
    "frames": _frames,
    "files": _files,
    "clusters": _clusters,
    "others": _others,
    "terminal": _terminal,
    "scores": _scored,
}
NAMES = tuple(PARTS)


def record(name: str) -> Any:
    """One of the views."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mln.InferenceWarning)
        return PARTS[name]()
