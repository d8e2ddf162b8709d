"""How good clusters are: Cora in five folds, and generated records, beside connected components of thresholded pair scores.

    python benchmarks/entity_trial.py cora --learn pieces --folds 1,2,3,4,5     # rows of the tables in docs/cora.md
    python benchmarks/entity_trial.py records --size 3000 --variant hard

Prints pairwise precision, recall and F1 of clusters over all folds together, and the log loss of the candidate pairs. The data of
Cora are looked for in ../shared/data, or where MLN_DATA says.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import markovlogic as mln
from markovlogic.generate import make, write
from markovlogic.networks.components import connected_parts

DATA = Path(os.environ.get("MLN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "er"
FIELDS = ("Author", "Title", "Venue")
KINDS = ("Bib", *FIELDS)
TARGETS = tuple(f"Same{kind}" for kind in KINDS)
HARD = "".join(
    f"Cand{kind}({kind.lower()}, {kind.lower()})\n!Cand{kind}(x, y) => !Same{kind}(x, y).\nSame{kind}(x, x).\n" for kind in KINDS
)
AXIOMS = "".join(f"{name}(x, y) => {name}(y, x).\n{name}(x, y) ^ {name}(y, z) => {name}(x, z).\n" for name in TARGETS)
# what to think of a word that training data do not show
PLAIN = "".join(f"HasWord{k}(a, w) ^ {no}HasWord{k}(b, w) => Same{k}(a, b)\n" for k in FIELDS for no in ("", "!"))

Pair = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold: facts, pairs that share words, and who is the same."""

    facts: Mapping[str, list[Pair]]
    same: Mapping[str, set[Pair]]  # by kind, as told
    candidates: Mapping[str, set[Pair]]  # by kind, both orders, and everything with itself

    @staticmethod
    def read(path: Path) -> Fold:
        """Bibs are candidates where their authors and their titles are; those where they share a word."""
        facts: dict[str, list[Pair]] = defaultdict(list)
        same: dict[str, set[Pair]] = defaultdict(set)
        for no, name, one, other in re.findall(r"^(!?)(\w+)\((\S+), (\S+)\)$", path.read_text(), re.MULTILINE):
            if not name.startswith("Same"):
                facts[name].append((one, other))
            elif not no:
                same[name[4:]].add((one, other))
        candidates = {}
        for kind in FIELDS:
            words = defaultdict(set)
            for item, word in facts[f"HasWord{kind}"]:
                words[item].add(word)
            items = sorted({item for _, item in facts[kind]})
            candidates[kind] = {(a, b) for a in items for b in items if a == b or words[a] & words[b]}
        title, author = dict(facts["Title"]), dict(facts["Author"])
        candidates["Bib"] = {
            (a, b)
            for a in title
            for b in title
            if a == b or ((title[a], title[b]) in candidates["Title"] and (author.get(a), author.get(b)) in candidates["Author"])
        }
        return Fold(facts, same, candidates)

    def closed_same(self, kind: str) -> set[Pair]:
        """All pairs of true clusters."""
        members: dict[int, list[str]] = defaultdict(list)
        for name, label in self.truth(kind).items():
            members[label].append(name)
        return {(a, b) for own in members.values() for a in own for b in own}

    def tables(self, *, training: bool, closed_same: bool = False) -> dict[str, Any]:
        """Evidence: facts and candidates; for training also who is the same, as far as candidates go, or as a partition."""
        given: dict[str, Iterable[Pair]] = dict(self.facts)
        same = {kind: self.closed_same(kind) for kind in KINDS} if closed_same else dict(self.same)
        for kind, pairs in self.candidates.items():
            given[f"Cand{kind}"] = sorted(pairs | same[kind] if training and closed_same else pairs)
            if training:
                given[f"Same{kind}"] = sorted(same[kind] if closed_same else same[kind] & pairs)
        return {name: {"a": [a for a, _ in pairs], "b": [b for _, b in pairs]} for name, pairs in given.items() if pairs}

    def truth(self, kind: str) -> dict[str, int]:
        """The true cluster of each object."""
        names = sorted({name for pair in self.candidates[kind] for name in pair})
        return closed(names, self.same[kind])


def closed(names: list[str], pairs: Iterable[Pair]) -> dict[str, int]:
    """Connected components."""
    number = {name: at for at, name in enumerate(names)}
    ends = np.array([(number[a], number[b]) for a, b in pairs if a in number and b in number], np.int32).reshape(-1, 2)
    _, label = connected_parts(len(names), ends[:, 0], ends[:, 1])
    return dict(zip(names, label.tolist(), strict=True))


@dataclass
class Tally:
    """Pairs over all folds."""

    both: int = 0
    said: int = 0
    true: int = 0
    loss: list[float] = field(default_factory=list)

    def add(self, label: Mapping[str, int], truth: Mapping[str, int]) -> None:
        """Count pairs of clusters."""
        names = list(truth)
        one, other = np.array([label[name] for name in names]), np.array([truth[name] for name in names])
        self.both += _pairs(one * (other.max() + 1) + other)
        self.said += _pairs(one)
        self.true += _pairs(other)

    def add_loss(self, likely: Mapping[Pair, float], truth: Mapping[str, int]) -> None:
        """Log loss of candidate pairs, each once; probabilities are kept a millionth away from 0 and 1."""
        for (a, b), p in likely.items():
            if a < b:
                own = p if truth[a] == truth[b] else 1 - p
                self.loss.append(-float(np.log(np.clip(own, 1e-6, 1))))

    def row(self) -> str:
        """Cells of a table."""
        precision, recall = self.both / max(self.said, 1), self.both / max(self.true, 1)
        loss = f"{np.mean(self.loss):.3f}" if self.loss else ""
        return f"{precision:.3f} | {recall:.3f} | {2 * self.both / max(self.said + self.true, 1):.3f} | {loss}"


def _pairs(label: np.ndarray) -> int:
    size = np.unique(label, return_counts=True)[1]
    return int((size * (size - 1) // 2).sum())


def learned(folds: list[Fold], how: str, prior: str) -> str:
    """The rules of er-words.mln with weights, transitivity left out but for `partitions`.

    partitions: by the conditional likelihood over partitions, transitivity being hard. joint: all at once, by the
    pseudo-likelihood. pieces: words first, then who shares a bib given who shares its fields, so that neighbours that inference
    does not know explain nothing away.
    """
    text = (DATA / "er-words.mln").read_text()
    lines = [line for line in text.splitlines() if not re.match(r"Same(\w+)\(.*\) \^ Same\1\(", line)]
    training = [fold.tables(training=True) for fold in folds]
    wanted: Any = prior if prior == "auto" else float(prior)
    if how == "joint":
        model = mln.Model.parse("\n".join(lines) + "\n" + HARD)
        return mln.learn(model, training, list(TARGETS), method="pseudolikelihood", prior=wanted).text()
    if how == "partitions":
        model = mln.Model.parse("\n".join(lines) + "\n" + PLAIN + HARD + AXIOMS)
        whole = [fold.tables(training=True, closed_same=True) for fold in folds]
        return mln.learn(model, whole, list(TARGETS), method="cd", prior=wanted).text()
    couples = [line for line in lines if "SameBib(b1, b2)" in line]
    model = mln.Model.parse("\n".join(line for line in lines if line not in couples) + "\n" + PLAIN + HARD)
    words = mln.learn(model, training, list(TARGETS[1:]), method="pseudolikelihood", prior=wanted)
    model = mln.Model.parse(words.text() + "\n" + "\n".join(couples) + "\n")
    return mln.learn(model, training, "SameBib", method="pseudolikelihood", prior=wanted, keep_weights=True).text()


def halved(text: str) -> str:
    """Weights were learned from ordered pairs; with hard symmetry both orders of a pair speak at once."""
    return re.sub(r"^(-?\d[\d.e-]*) ", lambda found: f"{float(found[1]) / 2!r} ", text, flags=re.MULTILINE)


def likely_pairs(result: Any, predicate: str) -> dict[Pair, float]:
    """Probabilities by pair."""
    rows = result.to_pandas()
    rows = rows[rows["predicate"] == predicate]
    return dict(zip(zip(rows["arg1"], rows["arg2"], strict=True), rows["probability"], strict=True))


def cora(how: str, prior: str, numbers: list[int], draws: int, rungs: int) -> None:
    """Learn on four folds, resolve the fifth."""
    folds = {number: Fold.read(DATA / f"cora-fold{number}.db") for number in range(1, 6)}
    tally: dict[tuple[str, str], Tally] = defaultdict(Tally)
    for number in numbers:
        took = [time.process_time()]
        text = learned([fold for other, fold in folds.items() if other != number], how, prior)
        print(f"// fold {number}: learning took {time.process_time() - took[0]:.0f} s of processor", flush=True)
        took.append(time.process_time())
        fold, given = folds[number], folds[number].tables(training=False)
        if how != "partitions":  # else the rules have transitivity in them
            scores = mln.infer(mln.Model.parse(text), given, list(TARGETS), method="gibbs", threads=1, draws=draws)
            for kind in KINDS:
                _tally_scores(tally, kind, likely_pairs(scores, f"Same{kind}"), fold)
            text = halved(text) + "\n" + AXIOMS
        model = mln.Model.parse(text)
        took.append(time.process_time())
        best = mln.maximize(model, given, list(TARGETS), include_evidence=True)
        took.append(time.process_time())
        table = best.to_pandas()
        for kind in KINDS:
            truth, rows = fold.truth(kind), table[table["predicate"] == f"Same{kind}"]
            tally[kind, "`mln map`"].add(closed(list(truth), zip(rows["arg1"], rows["arg2"], strict=True)), truth)
        print(f"// map {best.description}, citations {tally['Bib', '`mln map`'].row()}", flush=True)
        chains = mln.infer(model, given, list(TARGETS), method=mln.Partition(rungs=rungs), threads=1, draws=draws)
        took.append(time.process_time())
        for kind in KINDS:
            truth, own = fold.truth(kind), tally[kind, "`mln cluster`"]
            found = chains.clusters(f"Same{kind}").to_pydict()
            own.add(dict(zip(found["constant"], found["cluster"], strict=True)), truth)
            own.add_loss({p: v for p, v in likely_pairs(chains, f"Same{kind}").items() if p in fold.candidates[kind]}, truth)
        steps = ", ".join(f"{b - a:.0f} s" for a, b in itertools.pairwise(took))
        print(f"// learning, scores, map, chains took {steps} of processor; worst R-hat {np.nanmax(chains.rhat):.3f}", flush=True)
        print(f"// {[part.split(';')[0] for part in chains.concerns()][:1]}", flush=True)
    for (kind, what), own in tally.items():
        print(f"| {how} | {kind} | {what} | {own.row()} |", flush=True)


def _tally_scores(tally: dict[tuple[str, str], Tally], kind: str, likely: Mapping[Pair, float], fold: Fold) -> None:
    """Connected components of candidate pairs with high scores."""
    truth = fold.truth(kind)
    among = {pair: p for pair, p in likely.items() if pair in fold.candidates[kind]}
    for least in (0.5, 0.9):
        own = tally[kind, f"connected components of scores above {least}"]
        own.add(closed(list(truth), [pair for pair, p in among.items() if p > least]), truth)
        own.add_loss(among, truth)


def records(size: int, variant: str, seed: int, draws: int) -> None:
    """Generated records: the scores are soft evidence."""
    with tempfile.TemporaryDirectory() as folder:
        rules, facts = write(make("records", size, 0.0, seed, variant=variant), Path(folder))
        text = Path(facts).read_text()
        scores = {(a, b): float(p) for p, a, b in re.findall(r"^(0\.\d+) Same\((\w+),(\w+)\)$", text, re.MULTILINE)}
        names = sorted(set(re.findall(r"R\d+_\d+", Path(rules).read_text())))
        truth = {name: int(name[1:].split("_")[0]) for name in names}
        tally: dict[str, Tally] = defaultdict(Tally)
        for least in (0.5, 0.9):
            own = tally[f"connected components of scores above {least}"]
            own.add(closed(names, [pair for pair, p in scores.items() if p > least]), truth)
            own.add_loss({tuple(sorted(pair)): p for pair, p in scores.items()}, truth)  # type: ignore[misc]
        begun = time.process_time()
        best = mln.maximize(rules, [facts], "Same").to_pandas()
        tally["`mln map`"].add(closed(names, zip(best["arg1"], best["arg2"], strict=True)), truth)
        middle = time.process_time()
        chains = mln.infer(rules, [facts], "Same", method="partition", threads=1, draws=draws, keep_draws=True)
        own, found = tally["`mln cluster`"], chains.clusters("Same").to_pydict()
        label = dict(zip(found["constant"], found["cluster"], strict=True))
        own.add(label, truth)
        likely = likely_pairs(chains, "Same")
        own.add_loss({pair: p for pair, p in likely.items() if pair in scores or pair[::-1] in scores}, truth)
        print(f"// map {middle - begun:.1f} s, chains {time.process_time() - middle:.1f} s of processor", flush=True)
        print(f"// worst R-hat {np.nanmax(chains.rhat):.4f}; {chains.concerns()[:1]}", flush=True)
        sure = {label[name]: p for name, p in zip(found["constant"], found["probability"], strict=True)}
        members: dict[int, list[str]] = defaultdict(list)
        for name, at in label.items():
            members[at].append(name)
        families = defaultdict(set)
        for name, at in truth.items():
            families[at].add(name)
        right = [set(own) == families[truth[own[0]]] for own in members.values()]
        print(f"// clusters: said to be right {np.mean(list(sure.values())):.3f}, are right {np.mean(right):.3f}", flush=True)
    for what, own in tally.items():
        print(f"| {size:,} {variant} | {what} | {own.row()} |", flush=True)


def main() -> None:
    """Print rows of the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=("cora", "records"))
    parser.add_argument("--learn", choices=("partitions", "joint", "pieces"), default="partitions")
    parser.add_argument("--prior", default="0.5")
    parser.add_argument("--folds", default="1,2,3,4,5")
    parser.add_argument("--size", type=int, default=3000)
    parser.add_argument("--variant", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--rungs", type=int, default=1)
    said = parser.parse_args()
    warnings.simplefilter("ignore")
    if said.data == "cora":
        cora(said.learn, said.prior, [int(number) for number in said.folds.split(",")], said.draws, said.rungs)
    else:
        records(said.size, said.variant, said.seed, said.draws)


if __name__ == "__main__":
    main()
