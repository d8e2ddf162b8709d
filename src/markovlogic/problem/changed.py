"""The same evidence with some facts changed: what if this were true, false or unknown?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from markovlogic.data.db_lines import LineError, parse_fact
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Evidence, Facts, codes
from markovlogic.errors import Fault, InputError, nearest
from markovlogic.language.syntax import Predicate
from markovlogic.problem.values import Problem
from markovlogic.system.arrays import Int32, frozen


def changed_evidence(problem: Problem, changes: Sequence[str]) -> Evidence:
    """The evidence with some facts in place of what it says of these atoms: `P(A)`, `!P(A)`, or `?P(A)` for unknown.

    A true value of an exclusive group takes the place of the one that was true, and of what was unknown or soft. Constants that
    the problem does not have are refused.
    """
    model, facts = problem.model, dict(problem.evidence.facts)
    faults: list[Fault] = []
    for text in changes:
        try:
            fact = parse_fact(text)
        except LineError as error:
            faults.append(Fault(f"{text} is no fact: {error.message}", hint=error.hint or "write P(A), !P(A) or ?P(A)"))
            continue
        predicate = None if fact is None else model.predicates.get(fact.predicate)
        if fact is None or predicate is None or fact.truth not in (TRUE, FALSE, UNKNOWN):
            hint = "write P(A), !P(A) or ?P(A)" if fact is None else nearest(fact.predicate, model.declared)
            faults.append(Fault(f"{text} is no fact of a declared predicate", hint=hint))
            continue
        domains = [problem.domains[name] for name in predicate.types]
        unknown = [name for name, domain in zip(fact.args, domains, strict=False) if name not in domain.number_of]
        if len(fact.args) != predicate.arity or unknown:
            what = f"unknown constant {unknown[0]}" if unknown else f"{predicate.name} takes {predicate.arity} arguments"
            faults.append(Fault(f"{text}: {what}", hint="a change names constants of the problem"))
            continue
        args = np.array([[domain.number_of[name] for name, domain in zip(fact.args, domains, strict=True)]], np.int32)
        facts[predicate.name] = _with_fact(facts.get(predicate.name), predicate, args, fact.truth, tuple(map(len, domains)))
    if faults:
        raise InputError(faults)
    return replace(problem.evidence, facts=facts)


def _with_fact(known: Facts | None, predicate: Predicate, args: Int32, truth: int, sizes: tuple[int, ...]) -> Facts:
    if predicate.is_real:
        raise InputError(f"{predicate.name} has numbers, and is neither true nor false", hint="change a fact that is")
    if known is None:
        return frozen(Facts(args, np.array([truth], np.int8)))
    stays = codes(known.args, sizes) != codes(args, sizes)[0]
    if truth == TRUE and any(predicate.exclusive):
        fixed = [at for at, mark in enumerate(predicate.exclusive) if not mark]
        stays &= ~((known.args[:, fixed] == args[:, fixed]).all(axis=1) & (known.truth != FALSE))
    every = np.concatenate([known.args[stays], args])
    order = np.argsort(codes(every, sizes), kind="stable")
    soft = None if known.log_odds is None else np.append(known.log_odds[stays], 0.0)[order]
    return frozen(Facts(every[order], np.append(known.truth[stays], np.int8(truth))[order], soft))
