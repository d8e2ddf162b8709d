"""What `infer` and `maximize` answer on small problems: numbers with their errors and diagnostics, and the account of the run."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.methods.problems import PROBLEMS, inputs
from tests.methods.recorded import prepared
from tests.methods.recorded_numbers import TEXTS

import markovlogic as mln
from markovlogic_papers import readings

FILE = Path(__file__).with_name("answers.json")
NUMBERS_ONLY = True
FEW: dict[str, Any] = {"chains": 4, "draws": 40, "burn_in": 10, "seed": 3}
UNTOLD = ("seconds", "peak_memory_bytes", "version")
MOST_ROWS = 8

# more than small parts, so that chains run over partitions; one with blocking, others with atoms and relations tied to pairs
EQUAL = "Same(x, x).\nSame(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) => Same(x, z).\n"
RELATIONS = {
    "records": (
        f"r = {{1, ..., 14}}\nSame(r, r)\nGood(r)\nKind(r, k!)\nk = {{U, V, W}}\n{EQUAL}-0.7 Same(x, y)\n"
        "0.4 Same(x, y) ^ Good(x) => Good(y)\n"
        "0.3 Same(x, y) ^ Kind(x, U) => Kind(y, U)\n1.1 Same(1, 2)\n0.9 Same(2, 3) ^ Same(4, 5)\n-0.2 Good(x)\n",
        "Same(1,_),Good(1),Kind(2,_),Same(1,2) ^ Same(2,3)",
    ),
    "records in two": (
        f"r = {{1, ..., 13}}\nSame(r, r)\nAlike(s, s)\nOf(r, s)\nCand(r, r)\n{EQUAL}{EQUAL.replace('Same', 'Alike')}"
        "!Cand(x, y) => !Same(x, y).\n0.8 Of(x, u) ^ Of(y, v) ^ Same(x, y) => Alike(u, v)\n-0.5 Alike(u, v)\n-0.2 Same(x, y)\n",
        "Same(1,_),Alike(A,_)",
    ),
}
FACTS = {
    "records in two": {
        "Of": [(str(i), "ABCD"[i % 4]) for i in range(1, 14)],
        "Cand": [(str(i), str(j)) for i in range(1, 14) for j in range(1, 14) if abs(i - j) in (0, 1, 2, 5)],
    }
}

# problem and options; texts and files of all kinds, and every method on what it is for
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "gibbs": ("exclusive", FEW | {"method": "gibbs", "estimator": "sample"}),
    "gibbs, conditionals": ("hidden", FEW | {"method": "gibbs", "estimator": "conditional"}),
    "gibbs, orbits": ("two kinds", FEW | {"method": "gibbs", "estimator": "orbit", "network": "ground"}),
    "gibbs, auto": ("several parts", FEW | {"method": "gibbs", "chains": 70}),
    "gibbs, target": ("long", FEW | {"method": "gibbs", "draws": 400, "target_stderr": 0.02}),
    "gibbs, formulas": (
        "two kinds",
        FEW | {"method": "gibbs", "query": "S(1) ^ S(2), C(1) v !S(3) v C(4), S(5), F(1,2) ^ F(2,1)"},
    ),
    "counting": ("two kinds", FEW | {"method": "gibbs", "network": "counting"}),
    "counting, three variables": ("transitivity", FEW | {"method": "gibbs", "network": "counting"}),
    "counting, classes": ("long", FEW | {"method": "gibbs", "network": "counting", "draws": 10}),
    "blocked": ("webkb", FEW | {"method": "blocked"}),
    "blocked, hard": ("asthma hard", FEW | {"method": "blocked"}),
    "lifted-blocked": ("smokers", FEW | {"method": "lifted-blocked"}),
    "lifted-blocked, ising": ("ising", FEW | {"method": "lifted-blocked", "draws": 10}),
    "lifted-blocked, literal": (
        "soft",
        FEW | {"method": readings.LiftedBlocked(messages="literal", cost="count-cached"), "draws": 10},
    ),
    "mcsat": ("hard", FEW | {"method": "mcsat"}),
    "orbital": ("several parts", FEW | {"method": "orbital"}),
    "lifted-mh": ("webkb", FEW | {"method": "lifted-mh"}),
    "lifted-mh, kmeans": ("smokers", FEW | {"method": "lifted-mh", "proposals": "kmeans", "ratio": 0.5}),
    "tempered": ("exclusive", FEW | {"method": "tempered"}),
    "tempered, hard": ("hard", FEW | {"method": mln.Tempered(reweight=True)}),
    "partition": ("equivalence", FEW | {"method": "partition"}),
    "partition, auto": ("equivalence", FEW),
    "partition, chains": ("records", FEW | {"method": "partition"}),
    "partition, settings": ("records", FEW | {"method": mln.Partition(scans=1, proposals=0.5, several=0.4, start="greedy")}),
    "partition, two relations": ("records in two", FEW | {"method": "partition", "draws": 20}),
    "bp": ("exclusive", {"method": "bp"}),
    "bp, webkb": ("webkb", {"method": "bp"}),
    "lifted-bp": ("two kinds", {"method": "lifted-bp"}),
    "lifted-bp, hidden": ("hidden", {"method": "lifted-bp"}),
    "lifted": ("several parts", {"method": "lifted"}),
    "lifted, formulas": ("two kinds", {"method": "lifted", "query": "S(1) ^ S(2), C(1) v !S(3), F(1,2) ^ F(2,1) ^ C(1)"}),
    "exact": ("er", {"method": "exact"}),
    "exact, formulas": ("exclusive", {"method": "exact", "query": "K(P,U) ^ K(Q,V), K(P,U) v !K(Q,V) v K(R,W)"}),
    "auto": ("transitivity", {}),
    "gibbs, mixed": ("mixed", FEW | {"method": "gibbs"}),
    "gibbs, counting, mixed": ("mixed", FEW | {"method": "gibbs", "network": "counting"}),
    "blocked, mixed": ("mixed", FEW | {"method": "blocked"}),
    "mcsat, mixed": ("mixed", FEW | {"method": "mcsat"}),
    "tempered, mixed": ("mixed", FEW | {"method": "tempered"}),
    "orbital, mixed": ("mixed", FEW | {"method": "orbital"}),
    "lifted-mh, mixed": ("mixed", FEW | {"method": "lifted-mh"}),
    "lifted-blocked, mixed": ("mixed", FEW | {"method": "lifted-blocked"}),
    "bp, mixed": ("mixed", {"method": "bp"}),
    "lifted-bp, mixed": ("mixed", {"method": "lifted-bp"}),
    "exact, mixed": ("mixed", {"method": "exact"}),
    "lifted, mixed": ("mixed", {"method": "lifted"}),
    "bmf": ("webkb", {"compress": "bmf", "rank": 3} | FEW),
    "kmeans": ("smokers", {"compress": "kmeans", "ratio": 0.5} | FEW),
    "dpmeans": ("smokers", {"compress": "dpmeans"} | FEW),
    "obj2vec": ("smokers", {"compress": mln.Obj2Vec(ratio=0.5, dim=8)} | FEW),
    "drop": ("smokers", {"compress": "drop", "ratio": 0.5} | FEW),
    "nimfa": ("webkb", {"compress": "nimfa", "rank": 3} | FEW),
    "twins": ("smokers", {"compress": "twins"} | FEW),
    "random": ("smokers", {"compress": "random", "ratio": 0.4} | FEW),
    "random, drawn": ("smokers", {"compress": "random", "ratio": 0.4, "estimator": "conditional"} | FEW),
    "random, blocks drawn": (
        "smokers",
        {"compress": readings.RandomGroups(ratio=0.4, weights="count", diag="merged"), "estimator": "conditional"} | FEW,
    ),
    "lifted-mh, counts": ("smokers", FEW | {"method": mln.LiftedMH(propose="counts"), "proposals": "kmeans", "ratio": 0.5}),
}
# what `maximize` says; the seed makes searches repeat themselves
WORLDS: dict[str, tuple[str, dict[str, Any]]] = {
    "map": ("webkb", {}),
    "map, hard": ("asthma hard", {}),
    "map, exclusive": ("exclusive", {}),
    "map, hidden": ("existential", {}),
    "map, kinds": ("two kinds", {}),
    "map, equivalence": ("equivalence", {}),
    "map, maxwalksat": ("existential", {"method": "maxwalksat", "flips": 300, "tries": 3, "seed": 2}),
    "map, maxwalksat on classes": ("long", {"method": "maxwalksat", "flips": 200, "tries": 2, "seed": 2}),
    "map, mixed": ("mixed", {"query": "S,C", "flips": 500}),
    "map, mixed by ilp": ("mixed", {"method": "ilp", "query": "S", "flips": 500}),
    "map, ilp": ("transitivity", {"method": "ilp"}),
    "map, kmeans": ("webkb", {"compress": "kmeans", "ratio": 0.3}),
    "map, kmeans as it is": ("webkb", {"compress": "kmeans", "ratio": 0.3, "polish": False}),
}
NAMES = (*WAYS, *WORLDS)


def _given(problem: str, folder: Path) -> tuple[Any, Any, str]:
    if problem in TEXTS | RELATIONS:
        text, query = (TEXTS | RELATIONS)[problem]
        tables = {
            of: pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]}) for of, rows in FACTS.get(problem, {}).items()
        }
        return mln.Model.parse(text), tables or None, query
    return inputs(problem) if problem in PROBLEMS else prepared(problem, folder)


def record(name: str) -> dict[str, Any]:
    """Some rows, the record and the concerns; or why there are none."""
    try:
        return _answered(name)
    except mln.MarkovLogicError as refusal:
        return {"refused": str(refusal)}


def _answered(name: str) -> dict[str, Any]:
    problem, wanted = (WAYS | WORLDS)[name]
    options = dict(wanted)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", mln.InferenceWarning)
        model, evidence, query = _given(problem, Path(folder))
        query = options.pop("query", query)
        if name in WORLDS:
            world = mln.maximize(model, evidence, query, **options)
            rows: dict[str, Any] = (
                dict.fromkeys(world.atoms[:MOST_ROWS], True) if "maxwalksat" in name else {}
            )  # else one of several
            concerns, stats = [*world.remarks, *world.concerns()], world.stats()
        else:
            result = mln.infer(model, evidence, query, **options)
            table = result.table().slice(0, MOST_ROWS).to_pydict()
            columns = ("probability", "stderr", "rhat", "ess")
            rows = dict(zip(table["atom"], zip(*(table[column] for column in columns), strict=True), strict=True))
            concerns, stats = result.concerns(), result.run.stats(result.guarantee)
    return {"rows": rows, "concerns": concerns, "stats": {key: one for key, one in stats.items() if key not in UNTOLD}}
