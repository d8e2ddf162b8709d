"""The most probable links of large relations: `Rel(A,_)` with `top`, where rules read facts alone.

Then no open atom bears on another, and each has the log-odds of the rules that reach it. Rules are followed from the given
constant along the facts; all pairs that none reaches have the base rate, and are never listed.
"""

from __future__ import annotations

import numpy as np

from markovlogic.data.evidence import UNKNOWN, codes
from markovlogic.guarantee import Guarantee
from markovlogic.language.syntax import atoms_of, known_of, show_constant
from markovlogic.networks.base import NetworkKind
from markovlogic.paths.graph import graph_of
from markovlogic.paths.reading import read_rules
from markovlogic.paths.rules import Target, targets_of
from markovlogic.paths.scores import WeightedHead
from markovlogic.problem import Problem, QueryAtoms, WantedAtoms
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.results.answers import Answer, Values, marginals
from markovlogic.results.marginals import Marginals, RunRecord
from markovlogic.results.queries import ResolvedQuery
from markovlogic.system.arrays import Float64, Int64
from markovlogic.system.measures import Stopwatch

MANY_ATOMS = 1_000_000  # of a queried predicate: with fewer, every method is quick enough


def links(prepared: PreparedProblem, top: int, watch: Stopwatch) -> Marginals | None:
    """The rows with the largest probabilities of each pattern; None where the problem is of another kind."""
    problem = prepared.problem
    wanted = [item.wanted for item in problem.query]
    named = {one.predicate for one in wanted if isinstance(one, WantedAtoms)}
    if not all(isinstance(one, WantedAtoms) and one.constants and one.constants.count(None) == 1 for one in wanted):
        return None
    if not named or not all(_is_large_relation(problem, name) for name in named) or problem.soft:
        return None
    others = {atom.predicate for rule in problem.model.rules for atom in atoms_of(rule.formula)} - named
    if any(problem.statuses[name].n_open for name in others if known_of(name) is None):
        return None
    with watch("read"):
        graph = graph_of(problem.model, [problem.evidence])
        targets = targets_of(graph, tuple(named), {name: (False,) * problem.model.predicates[name].arity for name in named})
        read = read_rules(graph, problem.model.rules, targets)
    if read.others:
        return None
    best: dict[str, tuple[list[Int64], list[Float64]]] = {}
    with watch("sample"):
        for one in wanted:
            assert isinstance(one, WantedAtoms) and one.constants is not None
            head = next((head for head in read.heads if _matches(problem, head.target, one)), None)
            code, log_odds = _best(problem, head, one, top)
            of = best.setdefault(one.predicate, ([], []))
            of[0].append(code)
            of[1].append(log_odds)
    atoms, values = [], []
    for name in problem.statuses:
        if name not in best:
            continue
        code, at = np.unique(np.concatenate(best[name][0]), return_index=True)
        log_odds = np.concatenate(best[name][1])[at]
        atoms.append(QueryAtoms(name, code, problem.atoms.numbers(name, code), np.full(len(code), UNKNOWN, np.int8)))
        values.append(1 / (1 + np.exp(-log_odds)))
    note = "rules read facts alone: they were followed from the given constants, and pairs that none reaches have the base rate"
    answer = Answer(
        Values.exact(np.concatenate(values)), Values.exact(np.zeros(0)), Guarantee.EXACT, remarks=(*prepared.notes, note)
    )
    record = RunRecord.of(
        problem,
        answer.account,
        method="exact",
        network=str(NetworkKind.NONE.value),
        estimator="none",
        clauses=None,
        seconds=watch.stop(),
        query=tuple(item.text for item in problem.query),
    )
    return marginals(problem, ResolvedQuery(tuple(atoms), (), ()), answer, record)


def _is_large_relation(problem: Problem, name: str) -> bool:
    statuses, predicate = problem.statuses[name], problem.model.predicates[name]
    return (
        statuses.default == UNKNOWN
        and statuses.n_ground > MANY_ATOMS
        and predicate.arity >= 2
        and not any(predicate.exclusive)
        and not predicate.is_real
    )


def _matches(problem: Problem, target: Target, wanted: WantedAtoms) -> bool:
    """Whether the target holds the atoms of the pattern, with one of its free arguments given."""
    assert wanted.constants is not None
    relation = target.head
    if relation.predicate != wanted.predicate or not target.is_pair:
        return False
    types = problem.model.predicates[wanted.predicate].types
    for own, constant, type_name in zip(relation.args, wanted.constants, types, strict=True):
        if own is not None and (constant is None or problem.domains[type_name].names[constant] != own):
            return False
    return True


def _best(problem: Problem, head: WeightedHead | None, wanted: WantedAtoms, top: int) -> tuple[Int64, Float64]:
    """Codes and log-odds of the unknown atoms of a pattern with the largest log-odds; of equal ones the first by name."""
    assert wanted.constants is not None
    statuses = problem.statuses[wanted.predicate]
    free = wanted.constants.index(None)
    type_name = problem.model.predicates[wanted.predicate].types[free]
    args = np.tile(np.array([0 if one is None else one for one in wanted.constants], np.int64), (statuses.sizes[free], 1))
    args[:, free] = np.arange(statuses.sizes[free])
    if head is None:  # no rule and no fact speaks of these atoms
        score = np.zeros(len(args))
    else:
        places = [at for at, own in enumerate(head.target.head.args) if own is None]
        side = places.index(next(at for at in places if at != free))
        types, first = head.target.head.types, head.target.graph.first[0]
        given = wanted.constants[places[side]]
        assert given is not None
        score = head.log_odds(first[types[side]] + given, side)[first[type_name] :][: len(args)]
    code = codes(args, statuses.sizes)
    is_open = np.flatnonzero(statuses.lookup(code) == UNKNOWN)
    if len(is_open) > top:
        bound = np.partition(score[is_open], -top)[-top]
        above, tied = is_open[score[is_open] > bound], is_open[score[is_open] == bound]
        names = problem.domains[type_name].names
        tied = np.array(sorted(tied.tolist(), key=lambda at: show_constant(names[at]))[: top - len(above)], np.int64)
        is_open = np.concatenate([above, tied])
    return code[is_open], score[is_open]
