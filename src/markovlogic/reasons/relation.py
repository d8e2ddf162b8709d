"""Pairs of an equivalence relation: only the records are kept that may be together with those of the pair.

Where the rules weigh each pair by itself, pairs to other records that are known to be apart only multiply all worlds by the same
number. So a problem with the records of the pair's part alone gives the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Domain, Facts
from markovlogic.errors import InputError
from markovlogic.language.equivalence import Equivalence, Found, equivalences
from markovlogic.language.syntax import Constant, Variable
from markovlogic.language.templates import ClauseTemplate
from markovlogic.methods.partition.exact import solve_parts
from markovlogic.methods.partition.layout import layout_of
from markovlogic.methods.partition.network import PartitionNetwork, partition_network
from markovlogic.methods.partition.parts import only, parts_of
from markovlogic.methods.sampling.partition import Partition, PartitionSampler, PartitionState
from markovlogic.networks.components import connected_parts
from markovlogic.problem import Problem, pose
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.reasons.exact import Contributions, quadrature
from markovlogic.reasons.local import LocalNetwork
from markovlogic.reasons.sampled import CHAINS, bits, lengths, ratio, reweighted
from markovlogic.reasons.values import PairParts
from markovlogic.running.run import Task, run
from markovlogic.running.sampling import Schedule
from markovlogic.running.worker_pool import WorkerPool, cores
from markovlogic.system import cancellation
from markovlogic.system.arrays import Float64, Int64, frozen
from markovlogic.system.cancellation import part_of_time

if TYPE_CHECKING:
    from markovlogic.kernels.partition.layout import Layout

LEAST_LIKELY = (1e-6, 1e-4, 1e-3, 1e-2, 0.05)  # probabilities of pairs below which records are left out, one after the other
MOST_RECORDS = 60  # of a part: more are made fewer by the next of these
FEW_RECORDS = 24  # of a relation that is not made smaller
MOST_PANELS = 32
NODES = 8  # of Gauss and Legendre, where chains run at each
DRAWS, BURN_IN = 400, 200


@dataclass(frozen=True, eq=False)
class LikelyPairs:
    """Probabilities of the pairs of a relation, from a result; those that are not listed are never together."""

    code: Int64  # of one order or of both
    probability: Float64
    stderr: Float64

    @property
    def is_sampled(self) -> bool:
        """Whether a probability of 0 does not mean that a pair is impossible."""
        return bool(np.nan_to_num(self.stderr).any())

    def of(self, code: int, n: int) -> tuple[float, float] | None:
        """Probability and standard error of a pair among n records, in whichever order it is listed."""
        one, other = divmod(code, n)
        at = np.flatnonzero((self.code == code) | (self.code == other * n + one))
        return (float(self.probability[at[0]]), float(self.stderr[at[0]])) if len(at) else None


def relation_of(prepared: PreparedProblem, name: str, code: int) -> Equivalence | None:
    """The equivalence relation of a pair whose rules weigh each pair by itself; None for other atoms."""
    problem, lowered = prepared.problem, prepared.lowered
    found = equivalences(problem.model, lowered)
    own = next((one for one in found.relations if one.predicate == name), None)
    if own is None or code % (problem.statuses[name].sizes[0] + 1) == 0 or any(lowered.definitions):
        return None
    axioms = set(own.templates)
    rest = (template for number, template in enumerate(lowered.templates) if number not in axioms)
    return own if all(_weighs_pairs(problem, own, template) for template in rest) else None


def _weighs_pairs(problem: Problem, relation: Equivalence, template: ClauseTemplate) -> bool:
    """Whether each grounding is about one pair of the relation, and about no other open atom and no other record."""
    pairs = [one for one in template.literals if one.predicate == relation.predicate]
    if not pairs:
        return True  # it is about other atoms, which no rule ties to pairs
    others = [one.predicate for one in template.literals if one.predicate != relation.predicate]
    if len(pairs) > 1 or any(name not in problem.statuses or problem.statuses[name].n_open for name in others):
        return False
    if any(type_name == relation.type_name for _, type_name in template.idle):
        return False  # its weight goes by the number of records
    inside = {term.name for term in pairs[0].args if isinstance(term, Variable)}
    return all(name in inside for name, type_name in template.variables if type_name == relation.type_name)


def part_of_pair(
    prepared: PreparedProblem, relation: Equivalence, code: int, pairs: LikelyPairs | None, named: Sequence[str] = ()
) -> tuple[PreparedProblem, float | None] | None:
    """The problem of the records that may be together with those of a pair; None where all records stay.

    Beside it the largest probability of a pair that leads out of the part, None where there is no such pair. named: constants
    of changed facts, whose records and parts belong to it too.
    """
    problem = prepared.problem
    n = problem.statuses[relation.predicate].sizes[0]
    if n <= FEW_RECORDS or pairs is None:
        return None
    known, number_of = problem.statuses[relation.predicate], problem.domains[relation.type_name].number_of
    wanted = [*divmod(code, n), *(number_of[name] for name in named if name in number_of)]
    keep, left_out = records_of_part(n, pairs, known.code[known.status == TRUE], wanted)
    return _restricted(prepared, relation, np.union1d(keep, _named_records(prepared, relation))), left_out


def records_of_part(n: int, pairs: LikelyPairs, sure: Int64, wanted: Sequence[int]) -> tuple[Int64, float | None]:
    """The records that may be together with the wanted ones, and the largest probability of a pair that leads out of them.

    sure: pairs that are known to be together, by code.
    """
    one, other = np.divmod(pairs.code, n)
    first, second = np.divmod(sure, n)
    keep, left_out = np.zeros(0, np.int64), None
    for least in LEAST_LIKELY:
        near = pairs.probability >= least
        source, target = np.concatenate([one[near], first]), np.concatenate([other[near], second])
        _, label = connected_parts(n, source.astype(np.int32), target.astype(np.int32))
        keep = np.flatnonzero(np.isin(label, label[np.asarray(wanted)]))
        among = np.zeros(n, np.bool_)
        among[keep] = True
        leaving = among[one] != among[other]
        largest = float(pairs.probability[leaving].max(initial=0.0))
        left_out = largest if largest or (pairs.is_sampled and leaving.any()) else None
        if len(keep) <= MOST_RECORDS:
            break
    return keep, left_out


def part_note(n_records: int, left_out: float | None) -> str:
    """What is said of a pair that its part alone explains."""
    note = f"from the {n_records:,} records of the pair's part"
    return f"{note}; others are taken to be apart, the most probable with {left_out:.1g}" if left_out else note


def _named_records(prepared: PreparedProblem, relation: Equivalence) -> Int64:
    """Records that rules name."""
    problem = prepared.problem
    number_of = problem.domains[relation.type_name].number_of
    found: set[int] = set()
    for template in prepared.lowered.templates:
        for literal in template.literals:
            types = problem.model.predicates[literal.predicate].types if literal.predicate in problem.model.predicates else ()
            for term, type_name in zip(literal.args, types, strict=False):
                if isinstance(term, Constant) and type_name == relation.type_name and term.name in number_of:
                    found.add(number_of[term.name])
    return np.array(sorted(found), np.int64)


def _restricted(prepared: PreparedProblem, relation: Equivalence, keep: Int64) -> PreparedProblem:
    """The same problem with fewer records; keep: their numbers, increasing."""
    problem = prepared.problem
    model, evidence, own = problem.model, problem.evidence, relation.type_name
    domain = problem.domains[own]
    names = tuple(domain.names[at] for at in keep.tolist())
    number = np.full(len(domain), -1, np.int32)
    number[keep] = np.arange(len(keep), dtype=np.int32)
    facts = {}
    for name, known in evidence.given.items():
        places = [at for at, type_name in enumerate(model.predicates[name].types) if type_name == own]
        stays = np.ones(len(known), np.bool_)
        args = known.args.copy()
        for at in places:
            args[:, at] = number[known.args[:, at]]
            stays &= args[:, at] >= 0
        columns = (None if column is None else column[stays] for column in (known.log_odds, known.number))
        facts[name] = frozen(Facts(args[stays], known.truth[stays], *columns))
    statuses = problem.statuses
    is_open = [name for name, status in statuses.items() if status.default == UNKNOWN]
    closed = [name for name in model.declared if name not in is_open and statuses[name].default == FALSE]
    smaller = pose(
        replace(model, constants={**model.constants, own: names}),
        replace(evidence, domains={**evidence.domains, own: Domain(own, names, domain.integers)}, facts=facts),
        (),
        open_=is_open,
        closed=closed,
    )
    return replace(prepared, problem=smaller, rules=prepared.lowered)


@dataclass(frozen=True, eq=False)
class PairPath:
    """The pair's part as partitions see it; all rules that move anything weigh single pairs."""

    local: LocalNetwork
    relations: Sequence[Equivalence]
    seed: int
    draws: int | None = None

    def _path(self, without: int | None) -> LocalNetwork:
        local = self.local
        if without is None:
            return local
        return replace(local, network=frozen(replace(local.network, atom_bias=local.bias_without(without))))

    def _network(self, share: float, truth: bool | None, without: int | None) -> PartitionNetwork:
        return partition_network(self.local.problem, self._path(without).at(share, truth), self.relations)

    def exact(self, share: float, truth: bool | None = None) -> tuple[Float64, float] | None:
        """Probability of each atom, and log Z, where the pair's part can be summed."""
        return self._summed(self._network(share, truth, None))

    def logit(self, share: float, without: int | None = None) -> float | None:
        """Log-odds of the pair, by log Z: also where the probability is too near to 0 or 1 for its log-odds."""
        path, target = self._path(without).at(share), self.local.target
        sums = [self._summed(self._network(share, truth, without)) for truth in (True, False)]
        if sums[0] is None or sums[1] is None:
            whole = self._summed(self._network(share, None, without))
            sure = None if whole is None else float(whole[0][target])
            return {0.0: -math.inf, 1.0: math.inf}.get(sure) if sure is not None else None
        return sums[0][1] - sums[1][1] + float(path.atom_bias[target])

    @staticmethod
    def _summed(network: PartitionNetwork) -> tuple[Float64, float] | None:
        parts = parts_of(network)
        solved = solve_parts(network, parts, parts.moves)
        return (solved.marginal[network.row_of], solved.log_z) if solved.parts[parts.moves].all() else None

    def drawn(self, share: float, truth: bool | None, stream: str, of_time: float) -> tuple[Float64, Float64]:
        """Probability of each atom and its standard error, from chains; of_time: their share of the time that is left."""
        network = self._network(share, truth, None)
        parts = parts_of(network)
        rows = np.unique(network.row_of)
        rows = rows[~network.decided(rows) & parts.moves[parts.of_row[rows]]].astype(np.int32)
        mean = (network.rows.atom_bias == np.inf).astype(np.float64)
        error = np.zeros(network.n_all)
        if len(rows):
            draws = DRAWS if self.draws is None else self.draws
            with part_of_time(of_time):
                limit = cancellation.current().left
                schedule = Schedule(CHAINS, draws, BURN_IN, self.seed, time_limit=limit, stream=stream)
                found = run(Task(Partition(), only(network, parts, parts.moves), rows), schedule).atoms
            mean[rows], error[rows] = found.mean, found.stderr
        return mean[network.row_of], error[network.row_of]

    def free(self, of_time: float) -> tuple[Float64, Float64, Callable[[int], Float64]]:
        """Draws of the model: (draws, 64) of the atom, (draws, n_rules, 64) of each rule's weight; and draws without a rule.

        The chains that draw without a rule go on from where those of the model ended.
        """
        local, network = self.local, self._network(1.0, None, None)
        parts = parts_of(network)
        moves = parts.moves[parts.of_row] & ~network.decided(np.arange(network.n_all, dtype=np.int32))
        bias = local.bias * moves[network.row_of]
        sampler = PartitionSampler(Partition(), only(network, parts, parts.moves), CHAINS)
        state = sampler.init(np.random.SeedSequence([self.seed, 1]))
        most = DRAWS if self.draws is None else self.draws

        def drawn(layout: Layout, state: PartitionState, of_time: float) -> tuple[Float64, Float64]:
            burn_in, n_draws = lengths(of_time, most, lambda: sampler.step_by(layout, state), BURN_IN)
            atom, weight = np.zeros((n_draws, CHAINS)), np.zeros((n_draws, len(local.rules), CHAINS))
            for draw in range(-burn_in, n_draws):
                cancellation.check()
                sampler.step_by(layout, state)
                if draw >= 0:
                    world = bits(state.world[network.row_of])
                    atom[draw], weight[draw] = world[local.target], bias @ world
            return atom, weight

        def without(rule: int) -> Float64:
            rows = sampler.network.rows
            left = np.bincount(network.row_of, bias[local.rules.index(rule)], network.n_all)
            changed = frozen(replace(rows, atom_bias=rows.atom_bias - left))
            ended = PartitionState(state.world.copy(), state.generator.copy(), state.block.copy())
            return drawn(layout_of(replace(sampler.network, rows=changed)), ended, 1 / len(local.rules))[0]

        return *drawn(sampler.layout, state, of_time), without

    def difference(self, shares: Float64) -> tuple[Float64, Float64]:
        """What the atom makes of all atoms, at points of the path: (n, n_soft) of no clauses, (n, n_all)."""
        points = [(share, truth) for share in shares.tolist() for truth in (True, False)]
        found: dict[tuple[float, bool], Float64] = {}

        def add(point: tuple[float, bool]) -> None:
            summed = self.exact(*point)
            if summed is None:
                raise InputError("the part is too large for sums")
            found[point] = summed[0]

        with WorkerPool(cores()) as pool:
            pool.each(add, points)
        rows = np.array([found[share, True] - found[share, False] for share in shares.tolist()])
        return np.zeros((len(rows), 0)), rows.reshape(len(rows), -1)


def explained_pair(path: PairPath) -> tuple[Contributions, dict[int, tuple[float, float]], bool]:
    """Contributions, the probability without each rule, and whether all of it is exact."""
    local = path.local
    start, end = path.logit(0.0), path.logit(1.0)
    if start is not None and end is not None:
        found = quadrature(local, start, end, path.difference, MOST_PANELS)
        without = {}
        for rule in local.rules:
            value = path.logit(1.0, rule)
            without[rule] = (float("nan") if value is None else _share(value), 0.0)
        return found, without, True
    return *_sampled(path), False


def _sampled(path: PairPath) -> tuple[Contributions, dict[int, tuple[float, float]]]:
    """The same from chains at each point of the path."""
    local, target = path.local, path.local.target
    n_all, nothing = local.network.n_all, np.zeros(0)
    node, measure = np.polynomial.legendre.leggauss(NODES)
    total, variance = np.zeros(n_all), np.zeros(n_all)
    runs = 2 * NODES + 3  # these, two of the model as it is, and those without a rule
    for at, (share, width) in enumerate(zip((node + 1) / 2, measure / 2, strict=True)):
        true, error = path.drawn(float(share), True, f"{at} true", 1 / (runs - 2 * at))
        false, other = path.drawn(float(share), False, f"{at} false", 1 / (runs - 2 * at - 1))
        total += width * (true - false)
        variance += width**2 * (error**2 + other**2)
    base, base_error = _logit_with_error(*(own[target] for own in path.drawn(0.0, None, "at 0", 1 / 3)))
    atom, weight, anew = path.free(1 / 2)
    logit, logit_error = _logit_with_error(*ratio(atom.sum(axis=0), np.full(CHAINS, float(len(atom)))))
    bias = local.bias * total
    bias_error = np.abs(local.bias) * np.sqrt(variance)
    # errors of pairs in one part go together, so that they are added, not their squares
    errors = {rule: float(bias_error[row].sum()) for row, rule in enumerate(local.rules)}
    found = Contributions(logit, base, nothing, nothing, bias, bias_error, errors, logit_error, base_error)
    return found, reweighted(local.rules, atom, weight, anew)


def _share(logit: float) -> float:
    return float(np.exp(-np.logaddexp(0.0, -logit)))


def _logit_with_error(p: float, error: float) -> tuple[float, float]:
    p = min(max(float(p), 1e-9), 1 - 1e-9)
    return math.log(p / (1 - p)), float(error) / (p * (1 - p))


def parts_of_log_odds(local: LocalNetwork, predicate: str, code: int, found: Contributions) -> PairParts:
    """The log-odds of a pair by what moves it: the pair's own rules, third records, other pairs."""
    index, statuses = local.problem.atoms, local.problem.statuses[predicate]
    n = statuses.sizes[0]
    of_atom = found.bias.sum(axis=0)
    low, high = np.divmod(index.codes(predicate), n)
    ends = divmod(code, n)
    n_ends = np.isin(low, ends).astype(np.int64) + np.isin(high, ends)
    value = of_atom[index.range_of(predicate).start :][: len(low)]
    with_third = n_ends == 1
    third = np.where(np.isin(low, ends), high, low)[with_third]
    total = np.bincount(third, value[with_third], n)
    names = local.problem.domains[local.problem.model.predicates[predicate].types[0]].names
    order = np.argsort(-np.abs(total), kind="stable")
    through = tuple((names[at], float(total[at])) for at in order.tolist() if total[at])
    direct = float(value[n_ends == 2].sum())
    return PairParts(direct, through, float(of_atom.sum()) - direct - float(total.sum()))


def found_relations(prepared: PreparedProblem) -> Found:
    """Equivalence relations with open atoms."""
    found = equivalences(prepared.problem.model, prepared.lowered)
    is_open = {name for name, statuses in prepared.problem.statuses.items() if statuses.n_open}
    return Found(tuple(one for one in found.relations if one.predicate in is_open))


def weighs_single_pairs(local: LocalNetwork) -> bool:
    """Whether nothing but single pairs moves."""
    network = local.network
    return bool(network.n_clauses == 0 and network.n_hidden == 0 and len(network.group_start) == 1)
