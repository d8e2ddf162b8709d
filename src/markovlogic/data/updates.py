"""Evidence with facts added, replaced and taken back: the same as if it had been read from files that say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from markovlogic.data.evidence import TRUE, Domain, Evidence, Facts, codes, group_of
from markovlogic.data.readers import read_evidence
from markovlogic.language.syntax import Model, Predicate
from markovlogic.system.arrays import Bool, Float64, Int8, Int32, frozen, is_among


@dataclass(frozen=True, eq=False)
class _Rows:
    """Facts about one predicate, each with its constants in the numbers of the new domains."""

    args: Int32
    truth: Int8
    log_odds: Float64 | None
    number: Float64 | None

    def at(self, rows: Bool) -> _Rows:
        return _Rows(
            self.args[rows],
            self.truth[rows],
            None if self.log_odds is None else self.log_odds[rows],
            None if self.number is None else self.number[rows],
        )


def updated(model: Model, base: Evidence, added: Evidence | None = None, removed: Evidence | None = None) -> Evidence:
    """The evidence after a change: facts of `removed` are forgotten, those of `added` replace what was known of their atoms.

    What a removed fact said does not matter, only which atom it is about. A true value of an exclusive group replaces the one
    that was true; probabilities within a group are replaced together. Constants that no fact, rule or declaration mentions any
    longer are gone.
    """
    bare = read_evidence(model, ())
    changes = [one for one in (added, removed) if one is not None]
    every = _joined(model, (bare, base, *changes))
    facts = {name: _renumbered(model, name, base, every) for name in base.given}
    if removed is not None:
        for name in removed.given.keys() & facts.keys():
            gone = _renumbered(model, name, removed, every)
            facts[name] = facts[name].at(~_touched(model.predicates[name], facts[name], gone, every, groups=False))
    if added is not None:
        for name in added.given:
            new = _renumbered(model, name, added, every)
            old = facts.get(name)
            stays = None if old is None else old.at(~_touched(model.predicates[name], old, new, every, groups=True))
            facts[name] = new if stays is None else _both(stays, new)
    domains, number = _used(model, every, bare, facts)
    made = {name: _sorted(model.predicates[name], rows, domains, number) for name, rows in facts.items() if len(rows.truth)}
    observed = base.observed | (added.observed if added is not None else frozenset())
    notes = added.notes if added is not None else ()
    return Evidence(domains, made, base.sources, observed, tuple(dict.fromkeys((*base.notes, *notes))))


def _joined(model: Model, parts: tuple[Evidence, ...]) -> dict[str, Domain]:
    """All constants of all parts."""
    made: dict[str, Domain] = {}
    for part in parts:
        for name, domain in part.domains.items():
            known = made.get(name)
            made[name] = domain if known is None else replace(known.extended(domain.names), integers=known.integers)
    return made


def _renumbered(model: Model, name: str, evidence: Evidence, domains: Mapping[str, Domain]) -> _Rows:
    own = evidence.facts[name]
    args = np.empty(own.args.shape, np.int32)
    for position, type_name in enumerate(model.predicates[name].types):
        args[:, position] = domains[type_name].numbers(evidence.domains[type_name].names)[own.args[:, position]]
    return _Rows(args, own.truth, own.log_odds, own.number)


def _touched(predicate: Predicate, rows: _Rows, by: _Rows, domains: Mapping[str, Domain], *, groups: bool) -> Bool:
    """Which rows are about an atom of others; groups: also those that exclusive arguments let others replace."""
    sizes = tuple(len(domains[name]) for name in predicate.types)
    same = is_among(codes(rows.args, sizes), np.sort(codes(by.args, sizes)))
    if not any(predicate.exclusive):
        return same
    mine, theirs = (group_of(one.args, sizes, predicate.exclusive) for one in (rows, by))
    soft = np.zeros(len(mine), np.bool_) if rows.log_odds is None else rows.log_odds != 0
    replaced = soft & is_among(mine, np.sort(theirs))
    if groups:
        replaced |= (rows.truth == TRUE) & is_among(mine, np.sort(theirs[by.truth == TRUE]))
        if by.log_odds is not None:
            replaced |= is_among(mine, np.sort(theirs[by.log_odds != 0]))
    return same | replaced


def _both(one: _Rows, other: _Rows) -> _Rows:
    def column(first: Float64 | None, second: Float64 | None) -> Float64 | None:
        if first is None and second is None:
            return None
        filled = [np.zeros(len(rows.truth)) if own is None else own for rows, own in ((one, first), (other, second))]
        return np.concatenate(filled)

    return _Rows(
        np.concatenate([one.args, other.args]),
        np.concatenate([one.truth, other.truth]),
        column(one.log_odds, other.log_odds),
        column(one.number, other.number),
    )


def _used(
    model: Model, every: Mapping[str, Domain], bare: Evidence, facts: Mapping[str, _Rows]
) -> tuple[dict[str, Domain], dict[str, Int32]]:
    """Domains of what is still mentioned, and the new number of each constant, -1 where it is gone."""
    used = {name: np.zeros(len(domain), np.bool_) for name, domain in every.items()}
    for name in every.keys() & bare.domains.keys():
        used[name][: len(bare.domains[name])] = True  # they come first
    for name, rows in facts.items():
        for position, type_name in enumerate(model.predicates[name].types):
            used[type_name][rows.args[:, position]] = True
    domains, number = {}, {}
    for name, domain in every.items():
        own = used[name]
        number[name] = np.where(own, np.cumsum(own) - 1, -1).astype(np.int32)
        names = domain.names if own.all() else tuple(n for n, stays in zip(domain.names, own.tolist(), strict=True) if stays)
        domains[name] = replace(domain, names=names)
    return domains, number


def _sorted(predicate: Predicate, rows: _Rows, domains: Mapping[str, Domain], number: Mapping[str, Int32]) -> Facts:
    args = np.empty(rows.args.shape, np.int32)
    for position, type_name in enumerate(predicate.types):
        args[:, position] = number[type_name][rows.args[:, position]]
    code = codes(args, tuple(len(domains[name]) for name in predicate.types))
    order = np.argsort(code, kind="stable")
    soft = None if rows.log_odds is None else rows.log_odds[order]
    return frozen(Facts(args[order], rows.truth[order], soft, None if rows.number is None else rows.number[order]))
