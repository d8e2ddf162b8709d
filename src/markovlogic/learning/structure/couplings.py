"""Whether a rule reads facts or what is inferred: rules between open atoms beside those over facts, chosen by inference.

`Known(R(x, z)) ^ P(z, y) => R(x, y)` reads facts (a feature), `R(x, z) ^ P(z, y) => R(x, y)` ties open atoms together (a
coupling). With the weights of either kind, and without a part of the facts, all atoms that are not listed are inferred, as in
use. A rule becomes a coupling where that predicts them better. Where true facts alone are listed, many false atoms are among
them, and couplings carry what they get wrong about one to the next; where false ones are listed too, couplings say more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from markovlogic.data.arrow import atom_names
from markovlogic.data.evidence import TRUE, Evidence, Facts, codes
from markovlogic.language.load import parse
from markovlogic.language.show import show_model
from markovlogic.language.syntax import Model
from markovlogic.learning.structure.find import DIGITS, Found, FoundRule
from markovlogic.learning.structure.selection import LOG_LIKELIHOOD_A_FACT, PRICE, SCALE
from markovlogic.system.arrays import Bool, Float64, frozen
from markovlogic.system.cancellation import current
from markovlogic.system.progress import SILENT, Progress

MOST_ATOMS = 5_000  # of the heads: of more, joint inference in every part would take longer than all else
TRIED = 4  # rules: those furthest from zero, in standard errors
PARTS = 2
LEFT_OUT = 0.5  # of the facts in each part, true or false: rules between open atoms tell where much is unknown
SURELY = 1e-4  # no left-out atom is taken to be surer than this
SECONDS = 20.0  # of one inference at most


@dataclass(frozen=True, eq=False)
class _Part:
    """A database without some of its facts about the heads."""

    database: Evidence
    left_out: frozenset[str]  # atoms


def with_couplings(
    model: Model, databases: Sequence[Evidence], targets: tuple[str, ...], found: Found, seed: int, progress: Progress = SILENT
) -> Found:
    """The rules with those that read facts of modelled predicates as rules between open atoms, where that predicts better."""
    able = [at for at, rule in enumerate(found.rules) if rule.coupling is not None]
    if not able:
        return found
    n_atoms = sum(head.n_atoms for head in found.heads)
    if n_atoms > MOST_ATOMS or len(databases) > 1 or any(rule.given is not None for rule in found.rules) or found.others:
        why = f"{n_atoms:,} atoms" if n_atoms > MOST_ATOMS else "several databases" if len(databases) > 1 else "rules were given"
        note = f"{len(able):,} rules that read known facts of the heads were not tried as rules between open atoms: {why}"
        return replace(found, notes=(*found.notes, note))
    able.sort(key=lambda at: -abs(found.rules[at].weight) / max(found.rules[at].stderr, 1e-9))
    parts = _parts(model, databases[0], targets, seed)
    progress.stage("couplings", 1 + min(len(able), TRIED))
    now = _weighed(model, databases[0], targets, found.rules)
    best = _predicted(model, parts, targets, now, seed)
    price, n_tried, gained = PRICE * LOG_LIKELIHOOD_A_FACT, 0, 0.0
    for at in able[:TRIED]:
        if current().over:
            break
        n_tried += 1
        progress.advance(n_tried)
        trial = _weighed(model, databases[0], targets, (*now[:at], _coupled(now[at]), *now[at + 1 :]))
        value = _predicted(model, parts, targets, trial, seed)
        if (value - best).sum() > price and (value > best).all():
            gained += float((value - best).sum())
            now, best = trial, value
    changed = sum(one.formula != other.formula for one, other in zip(now, found.rules, strict=True))
    note = f"of {n_tried} rules over facts that were tried as rules between open atoms, held-out inference chose {changed}"
    if not changed:
        return replace(found, notes=(*found.notes, note))
    return replace(found, rules=now, notes=(*found.notes, f"{note}: log-likelihood gains {gained:,.1f}"))


def _coupled(rule: FoundRule) -> FoundRule:
    assert rule.coupling is not None
    return replace(rule, formula=rule.coupling, coupling=None)


def _parts(model: Model, database: Evidence, targets: tuple[str, ...], seed: int) -> list[_Part]:
    """The database without a random part of the facts about the heads, several times."""
    rng = np.random.default_rng([seed, len(targets)])
    made = []
    for _ in range(PARTS):
        facts, left_out = dict(database.facts), set[str]()
        for name in targets:
            if name not in facts:
                continue
            own = facts[name]
            hidden: Bool = rng.random(len(own)) < LEFT_OUT
            domains = [database.domains[of] for of in model.predicates[name].types]
            sizes = tuple(map(len, domains))
            left_out |= set(atom_names(name, codes(own.args[hidden & (own.truth == TRUE)], sizes), sizes, domains).to_pylist())
            facts[name] = Facts(frozen(own.args[~hidden]), frozen(own.truth[~hidden]))
        made.append(_Part(replace(database, facts=facts), frozenset(left_out)))
    return made


def _predicted(model: Model, parts: Sequence[_Part], targets: tuple[str, ...], rules: Sequence[FoundRule], seed: int) -> Float64:
    """(n_parts,) log-likelihood of all atoms that are unknown without the left-out facts, each on its own."""
    from markovlogic.api.infer import infer

    values = []
    for part in parts:
        weighed = _model(model, rules)
        inferred = infer(weighed, part.database, list(targets), seed=seed, time_limit=SECONDS, progress=False)
        is_true = np.array([atom in part.left_out for atom in inferred], bool)
        p = np.clip(inferred.probability, SURELY, 1 - SURELY)
        values.append(float(np.log(np.where(is_true, p, 1 - p)).sum()))
    return np.array(values)


def _weighed(model: Model, database: Evidence, targets: tuple[str, ...], rules: Sequence[FoundRule]) -> tuple[FoundRule, ...]:
    """The rules with the weights of the pseudo-likelihood, all together."""
    from markovlogic.learning.learn import PSEUDO, learn

    found = learn(_model(model, rules), database, list(targets), method=PSEUDO, prior=SCALE, progress=False)
    weight = {one.number: one for one in found.weights}
    n_before = len(model.rules)
    return tuple(
        replace(rule, weight=round(weight[n_before + at].weight, DIGITS), stderr=weight[n_before + at].stderr)
        for at, rule in enumerate(rules)
    )


def _model(model: Model, rules: Sequence[FoundRule]) -> Model:
    """The model with these rules behind its own."""
    bare = show_model(
        Model(model.predicates, model.rules, {name: model.constants[name] for name in model.declared_types}, model.declared_types)
    )
    return parse(bare + "\n" + "\n".join(f"{rule.weight!r} {rule.formula}" for rule in rules) + "\n")
