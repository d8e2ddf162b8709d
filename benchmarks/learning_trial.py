"""Cross-validated learning on the public data sets, beside logistic regression on the same local features.

    python benchmarks/learning_trial.py fold webkb links 0 --method auto -o DIR    # learn from the others, predict the first
    python benchmarks/learning_trial.py fold webkb regression 0 -o DIR
    python benchmarks/learning_trial.py table DIR                                  # the table of docs/learning.md

A fold is learned from all databases but one; what is chosen (the prior) is chosen on those alone. The table has AUC-PR, AUC-ROC
and conditional log-likelihood an atom of each target over all folds together, and the CPU seconds that learning took a fold. The
data are looked for in ../shared/data, or where MLN_DATA says.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import markovlogic as mln
from learning_problems import NAMES, Trial, trial_of
from markovlogic.cli.warm_up import compile_for
from markovlogic.evaluation.scores import scores_of
from markovlogic.learning.databases import read_databases
from markovlogic.learning.folds import left_out
from markovlogic.learning.priors import BASE, Prior

REGRESSION = "regression"
Said = dict[str, tuple[np.ndarray, np.ndarray]]  # by target: truth and probability of each atom


def ours(trial: Trial, rules: str, at: int, method: str, prior: str, time_limit: float | None) -> tuple[Said, dict[str, Any]]:
    """What is said of the left-out database, and how."""
    model = mln.Model.parse(trial.rules[rules])
    given = read_databases(model, [str(file) for file in trial.files])
    chosen = prior if not prior.replace(".", "").isdigit() else Prior("l2", float(prior), BASE)
    options = {"method": method, "prior": chosen, "time_limit": time_limit}
    compile_for("gibbs")
    begun = time.process_time()
    fold, result = left_out(model, given, trial.targets, at, **options)
    total = time.process_time() - begun
    stats = fold.learned.stats
    share = stats["seconds"]["total"] / max(stats["seconds"]["total"] + result.run.seconds["total"], 1e-9)
    probability = np.asarray(result.probability)
    predicate = np.array(result.predicates)[result.predicate_of]
    keep, truth = np.ones(len(probability), bool), np.zeros(len(probability), bool)
    for number, name in enumerate(result.predicates):
        facts, sizes = given[at].facts[name], [len(domain) for domain in result.domains[number]]
        rows = np.flatnonzero(result.predicate_of == number)
        true = np.ravel_multi_index(facts.args[facts.truth == 1].T, sizes)
        truth[rows] = np.isin(result.code[rows], true)
        if trial.listed_pairs:
            listed = facts.args[facts.args[:, 0] != facts.args[:, 1]]
            keep[rows] = np.isin(result.code[rows], np.ravel_multi_index(listed.T, sizes))
    said = {name: (truth[keep & (predicate == name)], probability[keep & (predicate == name)]) for name in trial.targets}
    how = {
        "cpu_seconds": total * share,  # of learning; inference has the rest
        "cpu_seconds_inference": total * (1 - share),
        "learned_by": fold.learned.method,
        "prior": fold.learned.prior,
        "weights": len(fold.learned.weights),
        "inference": fold.inference,
        "notes": [*fold.learned.notes],
        "concerns": [*fold.learned.concerns(), *(f"inference: {one}" for one in result.concerns())],
    }
    return said, how


def fold(said: argparse.Namespace) -> None:
    """Learn and predict one fold, and keep what was said."""
    trial = trial_of(said.problem)
    if said.rules == REGRESSION:
        from learning_regression import regressed

        begun = time.process_time()
        found, line = regressed(trial, said.at)
        how: dict[str, Any] = {"cpu_seconds": time.process_time() - begun, "learned_by": line}
        method = REGRESSION
    else:
        found, how = ours(trial, said.rules, said.at, said.method, said.prior, said.time_limit)
        method = said.method
    out = Path(said.output)
    out.mkdir(parents=True, exist_ok=True)
    name = f"{said.problem}-{said.rules}-{method}-{said.at}"
    arrays = {f"{kind}_{target}": values[at] for target, values in found.items() for at, kind in ((0, "truth"), (1, "p"))}
    np.savez_compressed(out / f"{name}.npz", **arrays)
    scores = {target: scores_of(truth.astype(bool), p).as_dict() for target, (truth, p) in found.items()}
    for own in scores.values():
        own.pop("calibration")
    record = {"problem": said.problem, "rules": said.rules, "method": method, "fold": said.at, **how, "scores": scores}
    (out / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps({key: value for key, value in record.items() if key != "scores"}), flush=True)
    for target, own in scores.items():
        print(
            target, own["rows"], own["true"], f"{own['auc_pr'] or 0:.3f} {own['auc_roc'] or 0:.3f} {own['cll']:.4f}", flush=True
        )


def table(said: argparse.Namespace) -> None:
    """All folds that were kept, together: a table for each data set, a column for each set of rules and method."""
    records = [json.loads(path.read_text()) for path in sorted(Path(said.output).glob("*-[0-9].json"))]
    for problem in dict.fromkeys(one["problem"] for one in records):
        columns = dict.fromkeys((one["rules"], one["method"]) for one in records if one["problem"] == problem)
        cells: dict[tuple[str, str], dict[str, str]] = {}
        for rules, method in columns:
            own = [one for one in records if (one["problem"], one["rules"], one["method"]) == (problem, rules, method)]
            parts: dict[str, list[Any]] = {}
            for one in own:
                kept = np.load(Path(said.output) / f"{problem}-{rules}-{method}-{one['fold']}.npz")
                for target in one["scores"]:
                    parts.setdefault(target, []).append((kept[f"truth_{target}"], kept[f"p_{target}"]))
            if len(parts) > 1:
                parts["all"] = [pair for pairs in list(parts.values()) for pair in pairs]
            cells[rules, method] = {name: _scores(pairs) for name, pairs in parts.items()}
            cells[rules, method]["CPU seconds to learn a fold"] = f"{np.mean([one['cpu_seconds'] for one in own]):.0f}"
            cells[rules, method]["folds"] = str(len(own))
        print(f"\n| {problem} |" + "".join(f" {rules}, {method} |" for rules, method in columns))
        print("|---|" + "---|" * len(columns))
        for name in next(iter(cells.values())):
            print(f"| {name} |" + "".join(f" {cells[column][name]} |" for column in columns))


def _scores(pairs: list[tuple[np.ndarray, np.ndarray]]) -> str:
    """AUC-PR, AUC-ROC and log-likelihood an atom."""
    found = scores_of(np.concatenate([t for t, _ in pairs]).astype(bool), np.concatenate([p for _, p in pairs]))
    return f"{found.auc_pr:.3f} / {found.auc_roc:.3f} / {found.cll:.3f}"


def main() -> None:
    """One fold, or the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("fold")
    one.add_argument("problem", choices=NAMES)
    one.add_argument("rules", help="a set of rules, or regression")
    one.add_argument("at", type=int, help="which database is left out")
    one.add_argument("--method", default="auto")
    one.add_argument("--prior", default="auto")
    one.add_argument("--time-limit", type=float)
    one.add_argument("-o", "--output", required=True)
    one.set_defaults(run=fold)
    all_folds = commands.add_parser("table")
    all_folds.add_argument("output")
    all_folds.set_defaults(run=table)
    said = parser.parse_args()
    said.run(said)


if __name__ == "__main__":
    main()
