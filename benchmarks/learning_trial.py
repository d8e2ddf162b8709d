"""Cross-validated learning on the public data sets, beside logistic regression on the same local features.

    python benchmarks/learning_trial.py webkb words --method auto        # one row group of the table in docs/learning.md
    python benchmarks/learning_trial.py webkb regression

Prints AUC-PR, AUC-ROC and conditional log-likelihood an atom of each target, over all folds together, and the seconds that
learning took a fold. The data are looked for in ../shared/data, or where MLN_DATA says.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import markovlogic as mln
from markovlogic.evaluation.scores import Scores, scores_of
from markovlogic.learning.databases import database_of, read_databases, targets_of
from markovlogic.learning.folds import cross_validate
from markovlogic.learning.priors import BASE, Prior

DATA = Path(os.environ.get("MLN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
CLASSES = ("Course", "Department", "Person", "Faculty", "ResearchProject", "Staff", "Student")
WEBKB = "".join(f"{name}(page)\n" for name in CLASSES) + "HasWord(word, page)\nLinked(page, page)\n"
WORDS = "".join(f"({name}(p))\nHasWord(+w, p) ^ {name}(p)\n" for name in CLASSES)
LINKS = "".join(f"Linked(p, q) ^ {one}(p) ^ {two}(q)\n" for one in CLASSES for two in CLASSES)
PAIRS = "".join(f"{one}(p) ^ {two}(p)\n" for at, one in enumerate(CLASSES) for two in CLASSES[at + 1 :])
YEAST = """Interaction(protein, protein)
Function(protein, function)
Location(protein, location)
Complex(protein, complex)
Enzyme(protein, enzyme)
Phenotype(protein, phenotype)
Protein_class(protein, pclass)
(Function(x, f))
Function(x, +f)
Location(x, +l) ^ Function(x, +f)
Complex(x, +c) ^ Function(x, +f)
Enzyme(x, +e) ^ Function(x, +f)
Phenotype(x, +h) ^ Function(x, +f)
Protein_class(x, +k) ^ Function(x, +f)
"""
NEIGHBOURS = "Interaction(x, y) ^ Function(x, +f) ^ Function(y, +f)\n"

PROBLEMS: Mapping[str, tuple[Mapping[str, str], tuple[str, ...], list[str]]] = {
    "webkb": (
        {"words": WEBKB + WORDS, "links": WEBKB + WORDS + LINKS, "pairs": WEBKB + WORDS + LINKS + PAIRS},
        CLASSES,
        [f"webkb/{name}.db" for name in ("cornell", "texas", "washington", "wisconsin")],
    ),
    "yeast": (
        {"local": YEAST, "neighbours": YEAST + NEIGHBOURS},
        ("Function",),
        [f"protein/yeast-fold{number}.db" for number in (1, 2, 3, 4)],
    ),
}


def ours(problem: str, rules: str, options: dict[str, Any]) -> tuple[dict[str, Scores], float, str]:
    """Scores of all folds together, seconds of learning a fold, and a line on how."""
    texts, targets, files = PROBLEMS[problem]
    model = mln.Model.parse(texts[rules])
    found = cross_validate(model, [str(DATA / file) for file in files], list(targets), **options)
    seconds = float(np.mean([fold.learned.stats["seconds"]["total"] for fold in found.folds]))
    first = found.folds[0]
    how = f"{first.learned.method}; {first.learned.prior}; inference: {', '.join(fold.inference for fold in found.folds)}"
    concerns = [concern for fold in found.folds for concern in fold.learned.concerns()]
    return found.pooled.rows(), seconds, "; ".join([how, *dict.fromkeys(concerns)])


def regression(problem: str, rules: str, scale: float) -> tuple[dict[str, Scores], float, str]:
    """Logistic regression (scikit-learn, l2) on the features of the rules without couplings, a classifier for each target.

    The features are changes of counts, which for these rules are indicators of words or of facts about the object.
    """
    from sklearn.linear_model import LogisticRegression

    texts, targets, files = PROBLEMS[problem]
    model = mln.Model.parse(texts[rules])
    given = read_databases(model, [str(DATA / file) for file in files])
    names = targets_of(model, given, list(targets))
    said: dict[str, list[tuple[Any, Any]]] = {}
    begun = time.perf_counter()
    tables = [list(_tables(database_of(model, one, names, "fold"))) for one in given]
    for at in range(len(given)):
        others = [part for number, parts in enumerate(tables) if number != at for part in parts]
        for target, label, features, truth in tables[at]:
            own = [part for part in others if part[:2] == (target, label)]
            if not own:  # a value that no training fold shows
                said.setdefault(target, []).append((truth, np.zeros(len(truth))))
                continue
            known = np.concatenate([part[3] for part in own])
            width = max([features.shape[1], *(part[2].shape[1] for part in own)])
            rows = _stacked([part[2] for part in own], width)
            if known.all() or not known.any():
                said.setdefault(target, []).append((truth, np.full(len(truth), float(known.mean()))))
                continue
            fitted = LogisticRegression(C=scale**2, max_iter=2000).fit(rows, known)
            said.setdefault(target, []).append((truth, fitted.predict_proba(_stacked([features], width))[:, 1]))
    seconds = (time.perf_counter() - begun) / len(given)
    pairs = {name: tuple(np.concatenate(part) for part in zip(*parts, strict=True)) for name, parts in said.items()}
    scores = {name: scores_of(truth.astype(bool), p) for name, (truth, p) in pairs.items()}
    if len(scores) > 1:
        every = [np.concatenate(part) for part in zip(*pairs.values(), strict=True)]
        scores["all"] = scores_of(every[0].astype(bool), every[1])
    return scores, seconds, f"scikit-learn, standard deviation {scale:g}"


_COLUMN: dict[tuple[str, str], int] = {}


def _tables(database: Any) -> Iterator[tuple[str, str, Any, Any]]:
    """For each target and value: (target, value, sparse facts about each object, truth of each object)."""
    from scipy import sparse

    problem = database.problem
    for target in dict.fromkeys(group for group in problem.atoms.predicates if len(problem.atoms.range_of(group))):
        predicate = problem.model.predicates[target]
        objects = problem.domains[predicate.types[0]]
        rows, columns = [], []
        for name, facts in problem.evidence.facts.items():
            types = problem.model.predicates[name].types
            if predicate.types[0] not in types or types.count(predicate.types[0]) > 1:
                continue
            own = types.index(predicate.types[0])
            for args in facts.args.tolist():
                others = [problem.domains[t].names[a] for at, (t, a) in enumerate(zip(types, args, strict=True)) if at != own]
                rows.append(args[own])
                columns.append(_COLUMN.setdefault((name, ",".join(others)), len(_COLUMN)))
        features = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(objects), len(_COLUMN)))
        span = problem.atoms.range_of(target)
        truth = database.truth[span.start : span.stop].reshape(len(objects), -1)
        values = [""] if predicate.arity == 1 else list(problem.domains[predicate.types[1]].names)
        for at, value in enumerate(values):
            yield target, value, features, truth[:, at]


def _stacked(parts: list[Any], width: int) -> Any:
    from scipy import sparse

    return sparse.csr_array(sparse.vstack([_wide(part, width) for part in parts]))


def _wide(part: Any, width: int) -> Any:
    from scipy import sparse

    return sparse.csr_array((part.data, part.indices, part.indptr), shape=(part.shape[0], width))


def main() -> None:
    """Print one row group of the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem", choices=PROBLEMS)
    parser.add_argument("rules", help="a set of rules, or regression")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--prior", default="auto")
    parser.add_argument("--scale", type=float, default=0.2, help="of regression")
    parser.add_argument("--time-limit", type=float)
    said = parser.parse_args()
    if said.rules == "regression":
        rows, seconds, how = regression(said.problem, next(iter(PROBLEMS[said.problem][0])), said.scale)
    else:
        prior = said.prior if said.prior == "auto" else Prior("l2", float(said.prior), BASE)
        options = {"method": said.method, "prior": prior, "time_limit": said.time_limit}
        rows, seconds, how = ours(said.problem, said.rules, options)
    for name, scores in rows.items():
        print(
            f"| {said.problem} | {said.rules} | {said.method} | {name} | {scores.auc_pr:.3f} |"
            f" {scores.auc_roc:.3f} | {scores.cll:.4f} | {seconds:.1f} |",
            flush=True,
        )
    print("//", how, flush=True)


if __name__ == "__main__":
    main()
