"""Random small models against direct enumeration: `make attack ATTACK='--count 2000 --family map --seed 3'`.

Each family asks part of the engine for answers about models of `tools.random_models` and compares them with all worlds. Models
that fail are written to a folder, with what was wrong.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import markovlogic as mln
from markovlogic.api.scaled import OnEngine, maximize_on
from markovlogic.errors import InputError, ResourceError, UnsupportedError
from markovlogic.grounding.backends import Engine, sessions
from markovlogic.grounding.backends.duckdb import open_duckdb
from markovlogic.methods.base import Offer
from markovlogic.methods.exact import planning
from markovlogic.methods.exact_method import ExactMethod
from markovlogic.methods.lifted_method import LiftedMethod
from markovlogic.methods.partition import block_sums, exact
from markovlogic.running.sampling import Sampling
from markovlogic.scale_out.options import EngineOptions
from markovlogic.scale_out.stages import prepare_stored, solve_stored
from tools.random_models import Case, Features, Judged, Maker, equivalence, shown

EXACT = ("enumerate", "eliminate", "lifted", "auto")
MAP = ("auto", "auto", "ilp", "maxwalksat")
SAMPLERS: dict[str, Callable[[random.Random], Any]] = {
    "gibbs": lambda rng: mln.Gibbs(scan=rng.choice(("systematic", "random"))),
    "counting": lambda rng: "gibbs",
    "mcsat": lambda rng: mln.MCSAT(
        large=rng.choice(("auto", "sweep", "samplesat")), exact_atoms=rng.choice((0, 3, 12)), alternate=rng.random() < 0.7
    ),
    "blocked": lambda rng: mln.Blocked(width=rng.choice((1, 4))),
    "tempered": lambda rng: mln.Tempered(rungs=rng.choice((4, 16)), reweight=rng.random() < 0.3),
    "orbital": lambda rng: "orbital",
    "lifted-mh": lambda rng: mln.LiftedMH(
        source=rng.choice(("unary", "colours", "twins", "kmeans")),
        propose=rng.choice(("exchange", "counts", "independent")),
    ),
    "lifted-mh by groups": lambda rng: mln.LiftedMH(
        propose="group", fields=rng.random() < 0.5, low_rank=rng.choice((None, 1)), signed=rng.random() < 0.7
    ),
    "lifted-blocked": lambda rng: mln.LiftedBlocked(alpha=rng.choice((None, 10.0, 1e6)), beta=rng.choice((None, 1e6))),
    "partition": lambda rng: "partition",
}
ON_ENGINE = ("auto", "auto", "exact", "gibbs", "blocked", "mcsat", "tempered")
GROUPS = ("twins", "twins", "twins", "bmf", "kmeans", "dpmeans")
TOLERANCE = 1e-7
WIDEST_Z = 6.5
REFUSED = "refused"
PLAIN = Features(numbers=0.05, soft=0.05, hard=0.2, exclusive=0.15)


class Attack:
    """A case, what all its worlds say, and questions to the engine."""

    def __init__(self, case: Case, seed: int, folder: Path) -> None:
        self.case, self.seed = case, seed
        self.rng = random.Random(seed)
        self.judged = Judged(case)
        self.model = mln.Model.parse(case.model_text)
        path = folder / f"case-{os.getpid()}.db"  # runs may share the folder
        path.write_text(case.evidence_text)
        self.evidence = str(path)

    def infer(self, **options: Any) -> Any:
        """The engine's answer to the whole query."""
        return mln.infer(self.model, self.evidence, self.case.asked, **options)

    def check(self, label: str, run: Callable[[], Any], compare: Callable[[Any], str]) -> Iterator[str]:
        """What is wrong with one answer; 'refused' where there is none."""
        try:
            result = run()
        except (UnsupportedError, ResourceError):
            yield REFUSED
            return
        except InputError as refusal:
            yield f"{label}: {refusal}" if self.judged.exists else REFUSED
            return
        except Exception as error:  # whatever goes wrong is what is looked for
            yield f"{label}: {type(error).__name__}: {error}"
            return
        if not self.judged.exists:
            concerns = getattr(result, "concerns", ())  # propagation that proves no conflict says so
            doubted = concerns() if callable(concerns) else concerns
            if hasattr(result, "guarantee") and not doubted:  # a report has none
                yield f"{label}: answers though no world exists: {result.guarantee}"
            return
        if fault := compare(result):
            yield f"{label}: {fault}"

    def exact(self) -> Iterator[str]:
        """Every exact method."""
        for method in EXACT:
            yield from self.check(method, partial(self.infer, method=method), self.marginals)

    def maximum(self) -> Iterator[str]:
        """One way to the most probable world."""
        way = self.rng.choice(MAP)
        query = self.case.query
        yield from self.check(way, lambda: mln.maximize(self.model, self.evidence, query, method=way, tries=2), self.world)

    def sampled(self) -> Iterator[str]:
        """One sampler."""
        method = self.rng.choice(list(SAMPLERS))
        options = self.drawing | {"method": SAMPLERS[method](self.rng)}
        if method == "counting":
            options["network"] = "counting"
        yield from self.check(f"{options['method']}", partial(self.infer, **options), self.estimates)

    @property
    def drawing(self) -> dict[str, Any]:
        """Options of a run that draws."""
        return {"chains": self.rng.choice((16, 16, 64)), "draws": 400, "seed": self.seed}

    def mixed(self) -> Iterator[str]:
        """Some components exactly and the others by chains, as where only some are cheap."""
        plan_share = planning.plan_share

        def share(network: Any, parts: Any, may: Any, **limits: Any) -> Any:
            return plan_share(network, parts, may & (np.random.default_rng(self.seed).random(len(may)) < 0.5), **limits)

        refuses = patch.object(ExactMethod, "offer", lambda *given: Offer(False, ""))
        with refuses, patch.object(LiftedMethod, "offer", lambda *given: None), patch.object(planning, "plan_share", share):
            yield from self.check("auto", partial(self.infer, **self.drawing), self.estimates_or_exact)

    def on_engine(self) -> Iterator[str]:
        """Component by component on DuckDB: probabilities and the most probable world."""
        method = self.rng.choice(ON_ENGINE)
        options = {"engine": "local", "method": method} | (self.drawing if method not in ("auto", "exact") else {})
        yield from self.check(f"{method} on an engine", partial(self.infer, **options), self.estimates_or_exact)
        run = partial(maximize_on, OnEngine("local"), self.model, self.evidence, self.case.query)
        yield from self.check("map on an engine", run, self.stored_world)

    def on_sail(self) -> Iterator[str]:
        """The rows of DuckDB by Sail, with other partitions and bundles: sampled ones bit for bit, or the same refusal."""
        method = self.rng.choice(ON_ENGINE)
        sampling = Sampling(chains=4, draws=20, seed=self.seed)
        bundles = self.rng.sample((1, 3, 20_000), 2)
        with closing(open_duckdb(threads=1)) as engine:
            here = self.stored_rows(engine, EngineOptions(sampling, method, bundle=bundles[0]))
        with on_sail(self.rng.choice((2, 3))) as engine:
            there = self.stored_rows(engine, EngineOptions(sampling, method, bundle=bundles[1]))
        if isinstance(here, str) or isinstance(there, str):
            yield f"{method} on Sail: {there}, on DuckDB: {here}" if here != there else REFUSED
            return
        if here.keys() != there.keys():
            yield f"{method} on Sail has other rows: {sorted(here.keys() ^ there.keys())}"
        for name in here.keys() & there.keys():
            one, other = here[name], there[name]
            sampled = one[1] is not None and one[1] > 0
            same = one == other if sampled else np.allclose(_numbers(one), _numbers(other), rtol=0.0, atol=1e-12, equal_nan=True)
            if not same:
                yield f"{method} on Sail: {name} is {other}, on DuckDB: {one}"

    def stored_rows(self, engine: Engine, options: EngineOptions) -> dict[str, tuple[Any, ...]] | str:
        """Probability, standard error, R-hat and ESS by atom; or why there are none."""
        try:
            prepared = prepare_stored(engine, self.model, [self.evidence], self.case.asked, options)
            solve_stored(prepared, options)
        except (InputError, UnsupportedError, ResourceError) as error:
            # of several contradictions, the one that a task happens on first is named
            kind = next(own for own in (UnsupportedError, InputError, ResourceError) if isinstance(error, own))
            return f"{kind.__name__}: {str(error).partition(': ')[0]}"
        rows = engine.rows("SELECT atom, probability, stderr, rhat, ess FROM result")
        return {row[0]: tuple(None if value is None or value != value else value for value in row[1:]) for row in rows}

    def compressed(self) -> Iterator[str]:
        """One compression; few claim to be exact."""
        name = self.rng.choice(GROUPS)
        options: dict[str, Any] = {"compress": name, "seed": self.seed}
        if name == "bmf":
            options |= {"rank": 6}
        else:
            options["compress_as"] = self.rng.choice(("auto", "auto", "counts", "blocks", "problem"))
            if options["compress_as"] != "problem":  # blocks have no formulas
                self.case.event = None
        yield from self.check(name, partial(self.infer, **options), self.marginals)

    def messages(self) -> Iterator[str]:
        """Belief propagation, which is exact where there are no loops."""
        for method in ("bp", "lifted-bp"):
            yield from self.check(method, partial(self.infer, method=method), self.beliefs)

    def equivalences(self) -> Iterator[str]:
        """An equivalence relation: exact methods, partitions and the most probable world."""
        drawn = self.rng.random()
        if drawn < 0.2:
            method = self.rng.choice(EXACT)
            yield from self.check(method, partial(self.infer, method=method), self.estimates_or_exact)
        elif drawn < 0.5:
            most, by_blocks = self.rng.choice((0, exact.MOST_NODES)), self.rng.choice((0, block_sums.MOST_NODES))
            options: dict[str, Any] = {"method": "partition", "draws": 400, "seed": self.seed}
            with patch.object(exact, "MOST_NODES", most), patch.object(block_sums, "MOST_NODES", by_blocks):
                label, run = f"parts of up to {most} and {by_blocks}", partial(self.infer, **options)
                yield from self.check(label, run, self.estimates_or_exact)
                if self.case.query == ["Same"]:  # other queries may close what has evidence
                    run = partial(mln.cluster, self.model, self.evidence, "Same", draws=400, seed=self.seed)
                    yield from self.check(f"clusters, {label}", run, self.pairs)
        else:
            yield from self.maximum()

    def symmetries(self) -> Iterator[str]:
        """Atoms of one orbit have one probability; sizes that `explain` states are those that were counted here."""
        kind = self.rng.choice(("twins", "refined", "automorphisms"))
        evidence, query = self.evidence, self.case.query
        yield from self.check(kind, lambda: mln.symmetries(self.model, evidence, query, kind=kind), self.orbits)
        yield from self.check("explain", lambda: mln.explain(self.model, evidence, query=query), self.sizes)

    def explained(self, **options: Any) -> Iterator[str]:
        """Contributions to one atom, which the query may or may not name."""
        atoms = sorted(atom for atom in self.judged.open if atom[0] in self.case.queried)
        if atoms:
            atom = self.rng.choice(atoms)
            run = partial(mln.why, self.model, self.evidence, shown(atom), query=self.case.query, **options)
            yield from self.check(f"why {shown(atom)}", run, partial(self.contributions, atom))

    def remembered(self) -> Iterator[str]:
        """Runs with a state, after changes of the case and of options, with the facts in any order."""
        maker, folder = Maker(self.rng, Features()), tempfile.mkdtemp()
        maker.has_numbers = maker.has_known = maker.is_strong = True
        maker.has_soft = bool(self.case.soft)
        maker.usable = sorted({*self.case.names, "P", "Q"})
        options: dict[str, Any] = {}
        try:
            own = self
            for step in range(4):
                if not options or self.rng.random() < 0.4:
                    options = self.options_with_state()
                for fault in own.with_state(f"{options.get('method')}, step {step}", options, folder):
                    yield fault if fault == REFUSED else f"{fault}\n{own.case.model_text}{own.case.evidence_text}"
                own = Attack(maker.changed(own.case), self.seed + step, Path(folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def options_with_state(self) -> dict[str, Any]:
        """Options that answers of chains depend on, or none."""
        method = self.rng.choice(("auto", "auto", "auto", "exact", "gibbs", "mcsat", "tempered"))
        if method in ("auto", "exact"):
            return {"method": method}
        drawing = {"chains": self.rng.choice((16, 64)), "draws": self.rng.choice((300, 400)), "seed": self.rng.randrange(3)}
        return {"method": method, **drawing}

    def with_state(self, label: str, options: dict[str, Any], folder: str) -> Iterator[str]:
        """All that takes a state, on one folder a kind."""
        state = {kind: os.path.join(folder, kind) for kind in ("marginals", "map", "cluster")}
        lines = self.case.evidence_text.splitlines()
        self.rng.shuffle(lines)
        Path(self.evidence).write_text("\n".join(lines) + "\n")
        run = partial(self.infer, **options, state=state["marginals"])
        yield from self.check(label, run, partial(self.drawn_as_wanted, options))
        best = partial(mln.maximize, self.model, self.evidence, self.case.query, state=state["map"], tries=2)
        yield from self.check(f"map, {label}", best, self.world)
        if self.rng.random() < 0.3:
            few = self.rng.choice((1, 3))
            run = partial(self.infer, **options, state=state["marginals"], top=few)
            yield from self.check(f"the first {few}, {label}", run, partial(self.largest, few))
        if self.rng.random() < 0.3 and os.path.exists(os.path.join(state["marginals"], "manifest.json")):
            yield from self.explained(state=state["marginals"])
        rules = {repr(rule) for rule in self.case.rules}  # a change may have dropped some
        if self.case.query == ["Same"] and all(repr(rule) in rules for rule in equivalence()):
            run = partial(mln.cluster, self.model, self.evidence, "Same", draws=400, seed=self.seed, state=state["cluster"])
            yield from self.check(f"clusters, {label}", run, self.pairs)

    def drawn_as_wanted(self, options: dict[str, Any], result: Any) -> str:
        """Right marginals, which chains with other options did not draw."""
        drawn = result.run
        wanted = [(name, options.get(name)) for name in ("chains", "draws", "seed")]
        if drawn.draws and drawn.method == options["method"]:
            for name, value in wanted:
                if value is not None and getattr(drawn, name) != value:
                    return f"{name} is {getattr(drawn, name)}, wanted {value}"
        return self.estimates_or_exact(result)

    def largest(self, few: int, result: Any) -> str:
        """The rows that `top` leaves of each item: their probabilities, and that no exact one is larger."""
        if result.guarantee == "unbounded" or result.concerns():
            return ""
        known, found = dict(self.expected()), _by_name(result)
        for name, row in found.items():
            if not abs(row["probability"] - known[name]) <= WIDEST_Z * (row["stderr"] or 0.0) + 1e-6:
                return f"{name} is {known[name]}, got {row['probability']} with an error of {row['stderr']}"
        for item in self.case.query:
            own = [p for name, p in known.items() if item in (name, name.partition("(")[0])]
            left = [row["probability"] for name, row in found.items() if item in (name, name.partition("(")[0])]
            if not result.run.draws and not np.allclose(sorted(own)[-few:], sorted(left)[-few:], atol=1e-6):
                return f"the {few} largest of {item} are {sorted(own)[-few:]}, got {sorted(left)}"
        return ""

    def estimates_or_exact(self, result: Any) -> str:
        """Marginals, within their errors where they were sampled."""
        return self.estimates(result) if result.run.draws else self.marginals(result)

    # ---- comparisons: what is wrong, empty where nothing is

    def expected(self) -> Iterator[tuple[str, float]]:
        """The rows that a result should have, with their probabilities."""
        for item in self.case.query:
            for atom in self.judged.open:
                if item in (atom[0], shown(atom)):
                    yield shown(atom), self.judged.probability(("atom", *atom))
        if self.case.event is not None:
            yield self.case.event_text, self.judged.probability(self.case.event)

    def marginals(self, result: Any) -> str:
        """Exact probabilities, and log Z."""
        if result.guarantee != "exact":
            return ""
        if result.run.draws:
            return self.estimates(result)
        found = _by_name(result)
        for name, probability in self.expected():
            if name not in found:
                return f"{name} is missing"
            if not abs(found[name]["probability"] - probability) <= TOLERANCE:
                return f"{name} is {probability}, got {found[name]['probability']}"
        log_z = result.run.log_z
        if log_z is not None and not abs(log_z - self.judged.log_z) <= TOLERANCE:
            return f"log_z is {self.judged.log_z}, got {log_z}"
        return ""

    def estimates(self, result: Any) -> str:
        """Estimates within their errors, unless the result has concerns."""
        if result.guarantee == "unbounded" or result.concerns():
            return ""
        found = _by_name(result)
        for name, probability in self.expected():
            if name not in found:
                return f"{name} is missing"
            row = found[name]
            if not abs(row["probability"] - probability) <= WIDEST_Z * (row["stderr"] or 0.0) + 1e-6:
                return f"{name} is {probability}, got {row['probability']} with an error of {row['stderr']}"
        return ""

    def pairs(self, result: Any) -> str:
        """Pairs of constants within their errors, unless the result has concerns."""
        if result.guarantee != "exact" or result.concerns:
            return ""
        for row in result.pairs_table().to_pylist():
            one, other = row["first"], row["second"]
            probability = self.judged.probability(("atom", "Same", (one, other)))
            if not abs(row["probability"] - probability) <= WIDEST_Z * row["stderr"] + 1e-6:
                return f"Same({one},{other}) is {probability}, got {row['probability']} with an error of {row['stderr']}"
        return ""

    def beliefs(self, result: Any) -> str:
        """Exact where a remark says so."""
        if result.concerns() or not any("has no loops" in remark for remark in result.remarks):
            return ""
        found = _by_name(result)
        for name, probability in self.expected():
            if name not in found or not abs(found[name]["probability"] - probability) <= 1e-6:
                return f"{name} is {probability}, got {found.get(name)}"
        return ""

    def world(self, result: Any) -> str:
        """The weight of the best world, of the world that is written, and the bound."""
        best = self.judged.best
        if abs(result.log_weight - best) > TOLERANCE and (result.is_optimal or result.log_weight > best):
            return f"log weight is {best}, got {result.log_weight}"
        if result.bound < best - TOLERANCE:
            return f"log weight is {best}, bound {result.bound}"
        weight = self.weight_of(set(result))
        if weight < result.log_weight - TOLERANCE:
            return f"the written world weighs {weight}, not {result.log_weight}"
        return ""

    def stored_world(self, result: Any) -> str:
        """The weight of the world that an engine wrote, and how much more another may weigh."""
        weight, gap = self.weight_of(set(result.atoms)), 0.0 if result.is_proved else result.summary.gap
        return (
            "" if weight >= self.judged.best - gap - TOLERANCE else f"log weight is {self.judged.best}, got {weight} within {gap}"
        )

    def weight_of(self, true: set[str]) -> float:
        """The most that a world weighs whose true atoms of the query are these."""
        agrees = self.judged.possible.copy()
        for atom in self.judged.open:
            if any(item in (atom[0], shown(atom)) for item in self.case.query):
                agrees &= self.judged.truth[atom] == (shown(atom) in true)
        return float(max(self.judged.weight[agrees], default=-math.inf))

    def orbits(self, result: Any) -> str:
        """One probability an orbit."""
        table = result.table().to_pydict()
        known = {shown(atom): self.judged.probability(("atom", *atom)) for atom in self.judged.open}
        first: dict[int, str] = {}
        for name, orbit in zip(table["atom"], table["orbit"], strict=True):
            other = first.setdefault(orbit, name)
            if abs(known.get(name, 0.0) - known.get(other, 0.0)) > TOLERANCE:
                return f"{name} and {other} are in one orbit, with {known[name]} and {known[other]}"
        return ""

    def sizes(self, result: Any) -> str:
        """Groundings and open atoms."""
        told, case = result.as_dict(), self.case
        sorts = {"thing": len(case.domains["thing"]), "kind": len(case.domains["kind"])}
        groundings = sum(math.prod(sorts["kind" if name[0] == "k" else "thing"] for name in rule.free) for rule in case.rules)
        if told["groundings"] != groundings:
            return f"{groundings} groundings, explain says {told['groundings']}"
        if told["atoms"] != len(self.judged.open):
            return f"{len(self.judged.open)} open atoms, explain says {told['atoms']}"
        return ""

    def contributions(self, atom: Any, found: Any) -> str:
        """Each rule's part of the log-odds is the integral over all worlds, along weights that grow together."""
        judged, worlds = self.judged, self.judged.possible
        truth = np.broadcast_to(judged.holds(("atom", *atom), {}), worlds.shape)[worlds]
        if truth.all() or not truth.any():
            wanted = float(truth[0])
            return "" if found.probability == wanted else f"probability is {wanted}, got {found.probability}"
        weights = judged.rule_weights()[worlds]
        logit, base, parts = integral(weights, truth)
        header = len(self.case.model_text.splitlines()) - len(self.case.rules)
        got = {one.place: one for one in found.contributions}
        pairs = [("logit", logit, found.logit), ("base", base, found.base)]
        pairs.append(("sum", logit, found.base + math.fsum(one.log_odds for one in found.contributions)))
        for at, part in enumerate(parts):
            one = got.get("" if at == len(self.case.rules) else f"<text>:{header + 1 + at}:1")
            pairs.append((f"rule {at}", part, one.log_odds if one is not None else 0.0))
            if one is not None:
                rest = np.delete(weights, at, axis=1).sum(axis=1)
                share = np.exp(rest - rest.max())
                pairs.append((f"without {at}", share[truth].sum() / share.sum(), one.without))
                if one.n_groundings <= len(one.groundings):
                    pairs.append((f"groundings of {at}", part, math.fsum(ground.log_odds for ground in one.groundings)))
        for name, wanted, value in pairs:
            if not abs(value - wanted) <= 1e-8 * max(1.0, abs(wanted)):
                return f"{name} is {wanted}, got {value}"
        return ""


def integral(weights: Any, truth: Any) -> tuple[float, float, Any]:
    """Log-odds, their value without weights, and contributions; weights: (n_worlds, n_rules), truth: (n_worlds,)."""

    def logit(t: float) -> float:
        total = t * weights.sum(axis=1)
        share = np.exp(total - total.max())
        return math.log(share[truth].sum()) - math.log(share[~truth].sum())

    node, measure = np.polynomial.legendre.leggauss(24)
    found = np.zeros(weights.shape[1])
    for panel in range(16):
        for x, w in zip(node, measure, strict=True):
            total = (panel + (x + 1) / 2) / 16 * weights.sum(axis=1)
            for own, sign in ((truth, 1.0), (~truth, -1.0)):
                share = np.exp(total[own] - total[own].max())
                found += sign * w / 32 * (share @ weights[own]) / share.sum()
    return logit(1.0), logit(0.0), found


def _numbers(row: tuple[Any, ...]) -> list[float]:
    return [math.nan if value is None else float(value) for value in row]


SERVERS = ExitStack()  # of Sail; they end with the program


@cache
def sail_server(partitions: int) -> str:
    """The address of a server with so many partitions, which is started once."""
    return SERVERS.enter_context(sessions.sail_server(partitions))


def on_sail(partitions: int) -> AbstractContextManager[Engine]:
    """An engine on a Sail server."""
    return sessions.spark_engine(sail_server(partitions))


def _by_name(result: Any) -> dict[str, Any]:
    return {row["atom"]: row for row in result.table().to_pylist()}


@dataclass(frozen=True)
class Family:
    """What models hold, and what is asked about them."""

    features: Features
    faults: Callable[[Attack], Iterator[str]]


FAMILIES = {
    "plain": Family(Features(0.0, 0.0, 0.0, 0.0), Attack.exact),
    "numbers": Family(Features(numbers=1.0), Attack.exact),
    "soft": Family(Features(soft=1.0), Attack.exact),
    "hard": Family(Features(hard=1.0), Attack.exact),
    "exclusive": Family(Features(exclusive=1.0), Attack.exact),
    "map": Family(Features(), Attack.maximum),
    "samplers": Family(Features(strong=0.3), Attack.sampled),
    "compress": Family(PLAIN, Attack.compressed),
    "messages": Family(PLAIN, Attack.messages),
    "mixed": Family(Features(many=0.5), Attack.mixed),
    "engine": Family(Features(equivalence=0.1), Attack.on_engine),
    "sail": Family(Features(equivalence=0.1, known=0.15, exclusive=0.4, hard=0.4), Attack.on_sail),
    "equivalence": Family(Features(equivalence=1.0, many=0.0), Attack.equivalences),
    "symmetry": Family(Features(), Attack.symmetries),
    "known": Family(Features(known=1.0), Attack.exact),
    "why": Family(Features(equivalence=0.1), Attack.explained),
    "state": Family(Features(equivalence=0.15, known=0.3), Attack.remembered),
}


def faults_of(case: Case, family: str, seed: int, folder: Path) -> Iterator[str]:
    """What is wrong with the engine's answers; 'refused' where it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from FAMILIES[family].faults(Attack(case, seed, folder))


def main() -> int:
    """Run families of random models and print the table of cases, refusals and faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="models a family")
    parser.add_argument("--family", choices=FAMILIES, action="append", help="default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first model")
    parser.add_argument("--time-limit", type=float, default=math.inf, help="seconds a family")
    parser.add_argument("-o", "--output", type=Path, default=Path(".attack"), help="folder of failing models")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    print(f"{'family':12} {'cases':>7} {'answers refused':>16} {'faults':>7} {'seconds':>8}")
    n_faults = 0
    for family in args.family or [name for name in FAMILIES if name != "sail" or find_spec("pysail") is not None]:
        started, cases, refused, faults = time.process_time(), 0, 0, 0
        for number in range(args.first, args.first + args.count):
            if time.process_time() - started > args.time_limit:
                break
            case = Maker(random.Random(f"{args.seed} {family} {number}"), FAMILIES[family].features).case()
            cases += 1
            found = list(faults_of(case, family, number, args.output))
            refused += found.count(REFUSED)
            wrong = [fault for fault in found if fault != REFUSED]
            if wrong:
                faults += 1
                path = args.output / f"{family}-{args.seed}-{number}"
                path.with_suffix(".db").write_text(case.evidence_text)
                comment = "".join(f"// -q {','.join(case.asked)}: {fault}\n".replace("\n//", " ") for fault in wrong)
                path.with_suffix(".mln").write_text(comment + case.model_text)
        n_faults += faults
        print(f"{family:12} {cases:7,} {refused:16,} {faults:7,} {time.process_time() - started:8.1f}", flush=True)
    return 1 if n_faults else 0


if __name__ == "__main__":
    with SERVERS:
        raise SystemExit(main())
