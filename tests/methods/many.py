"""Random problems that hold a bit of everything, answered in every way: a few numbers of each answer are kept.

What is right is tested elsewhere, on smaller ones; here it is seen that nothing changes where features meet.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import markovlogic as mln

FILE = Path(__file__).with_name("many.json")
NUMBERS_ONLY = True
NAMES = ("0", "1", "3", "4", "5", "6", "7", "8")  # 2 has no world
RUN: dict[str, Any] = {"chains": 3, "draws": 14, "burn_in": 5, "seed": 1}
WAYS: dict[str, dict[str, Any]] = {
    "gibbs": RUN | {"method": "gibbs", "network": "ground"},
    "gibbs, random scan": RUN | {"method": mln.Gibbs(scan="random"), "estimator": "sample"},
    "gibbs, counting": RUN | {"method": "gibbs", "network": "counting"},
    "blocked": RUN | {"method": "blocked"},
    "mcsat": RUN | {"method": "mcsat"},
    "mcsat, sweeps": RUN | {"method": mln.MCSAT(exact_atoms=2, exact_tied=3, large="sweep"), "chains": 2},
    "tempered": RUN | {"method": mln.Tempered(rungs=4)},
    "orbital": RUN | {"method": "orbital", "estimator": "orbit"},
    "lifted-mh": RUN | {"method": "lifted-mh"},
    "lifted-blocked": RUN | {"method": "lifted-blocked"},
    "partition": RUN | {"method": "partition"},
    "bp": {"method": "bp"},
    "lifted-bp": {"method": "lifted-bp"},
    "exact": {"method": "exact"},
    "lifted": {"method": "lifted"},
    "kmeans": RUN | {"compress": "kmeans", "ratio": 0.6},
    "bmf": RUN | {"compress": "bmf", "rank": 2},
}
PREDICATES = ("S(p)", "T(p)", "R(p, p)", "Q(p, o)", "K(p, k!)", "M(k!, o)", "W(o)", "Z")
RULES = (
    "{w} S(x)",
    "{w} R(x, y) ^ S(x) => S(y)",
    "{w} S(x) ^ T(x)",
    "{w} Q(x, o) v W(o)",
    "{w} R(x, y) ^ R(y, z) => R(x, z)",
    "{w} K(x, A) => S(x)",
    "{w} K(x, c) ^ R(x, y) => K(y, c)",
    "{w} M(B, o) ^ Q(x, o)",
    "{w} S(x) => EXIST y (R(x, y) ^ T(y))",
    "{w} EXIST o (Q(x, o) ^ !W(o))",
    "{w} Z => S(x)",
    "{w} Z v W(o)",
    "{w} S(x) ^ S(y) => x = y",
    "{w} R(x, x)",
    "{w} T(P1) <=> T(x)",
    "{w} Q(x, O1) ^ Q(y, O2)",
    "{w} FORALL o (Q(x, o) => W(o))",
    "{w} M(c, o) ^ M(c, q) ^ W(o)",
    "S(x) v T(x).",
    "R(x, y) => R(y, x).",
    "!R(x, x).",
    "K(x, B) => T(x).",
    "W(o) => EXIST x Q(x, o).",
)


def made(number: int) -> tuple[str, str, str]:
    """Rules, facts and query."""
    rng = np.random.default_rng([number, 77])
    people = [f"P{i}" for i in range(1, int(rng.integers(3, 7)))]
    things = [f"O{i}" for i in range(1, int(rng.integers(3, 5)))]
    # every second one is soft, and without the predicates and quantifiers that some methods have no place for
    left_out = ("K(", "M(", "EXIST", "FORALL", ").") if number % 2 else ("\n",)
    fitting = [rule for rule in RULES if not any(word in rule for word in left_out)]
    chosen = rng.choice(len(fitting), size=int(rng.integers(5, 10)), replace=False)
    rules = [fitting[at].format(w=f"{rng.normal(0, 1.1):.3f}") for at in sorted(chosen)]
    predicates = [predicate for predicate in PREDICATES if not any(word in predicate for word in left_out)]
    text = f"p = {{{', '.join(people)}}}\no = {{{', '.join(things)}}}\nk = {{A, B, C}}\n"
    text += "\n".join([*predicates, *rules]) + "\n"
    facts = []
    for name, first, second in (("R", people, people), ("Q", people, things)):
        share = rng.choice([0.0, 0.3, 0.6])
        pairs = [(a, b) for a in first for b in second if a != b and rng.random() < share]
        facts += [f"{rng.choice(['', '', '!', '?'])}{name}({a},{b})" for a, b in pairs]
    facts += [f"{rng.choice(['', '!', '0.8 ', '?'])}S({a})" for a in people if rng.random() < 0.3]
    if number % 2 == 0:
        facts += [f"K({a},{rng.choice(['A', 'B'])})" for a in people if rng.random() < 0.25]
    query = ["S", "W", "T(P1) v S(P2)", *(["K", "M"] if number % 2 == 0 else [])]
    query += [*(["R"] if rng.random() < 0.5 else []), *(["Q(P1,_)"] if rng.random() < 0.5 else [])]
    return text, "\n".join(facts) + "\n", ",".join(query)


def _moments(values: Any) -> list[float]:
    """Two sums in which every value counts for another number."""
    array = np.nan_to_num(np.asarray(values, np.float64), nan=-1.0, posinf=-2.0)
    return [float(array @ np.arange(1, len(array) + 1)), float(array @ np.cos(np.arange(len(array))))]


def _answer(result: mln.Marginals) -> list[Any]:
    table = result.table()
    columns = [_moments(table[name].to_numpy(zero_copy_only=False)) for name in ("probability", "stderr", "rhat", "ess")]
    run = result.run
    account = [
        run.method,
        run.network,
        run.estimator,
        result.guarantee.value,
        run.updates,
        run.log_z,
        run.log_z_stderr,
        run.log_z_bethe,
    ]
    return [*columns, *account, run.acceptance, run.iterations, run.converged, run.clauses, len(result.concerns())]


def record(name: str) -> dict[str, Any]:
    """Of each way the numbers or the refusal; of the plan its choice; the most probable world's weight. Costs are in `stated`."""
    text, facts, query = made(int(name))
    model = mln.Model.parse(text)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", mln.InferenceWarning)
        (Path(folder) / "facts.db").write_text(facts)
        evidence = [Path(folder) / "facts.db"]
        for way, options in WAYS.items():
            try:
                requested = "S,W" if "compress" in options else query  # blocks know no formulas
                found[way] = _answer(mln.infer(model, evidence, requested, **options))
            except mln.MarkovLogicError as refusal:
                found[way] = str(refusal).splitlines()[0].replace(folder, "")
        reported = mln.explain(model, evidence, query, memory_limit=1 << 30)
        found["plan"] = [reported.plan.method, reported.plan.network, reported.plan.estimator, reported.atoms, reported.clauses]
        for method, options in (("auto", {}), ("maxwalksat", {"flips": 200, "tries": 2}), ("ilp", {"flips": 50, "tries": 1})):
            try:
                world = mln.maximize(model, evidence, "S,W", method=method, threads=1, **options)
                found[f"map {method}"] = [world.log_weight, world.bound, world.run.method, world.flips]
            except mln.MarkovLogicError as refusal:
                found[f"map {method}"] = str(refusal).splitlines()[0]
        report = mln.symmetries(model, evidence, query, kind="auto")
        found["symmetries"] = [report.atoms, report.orbits, report.largest_orbit, len(report.breaks)]
    return found
