"""Pairs of an equivalence relation that are improbable tie no components: a cut, which changes answers, and says by how much.

What soft rules say of one pair alone gives its own probability. Pairs below a threshold are taken for false where no other pair
ties their groups; all pairs inside of a group stay, whatever their probability.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isinf, log

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.language.equivalence import equivalences
from markovlogic.language.templates import LoweredModel
from markovlogic.scale_out.clauses import SOFT_ROW, ground_stored
from markovlogic.scale_out.components import stars
from markovlogic.scale_out.hard_rules import next_version
from markovlogic.scale_out.statuses import StoredProblem

OFFERED = (0.01, 0.05, 0.3)  # thresholds
UNIT = 2**20  # log-odds are whole numbers of 1/UNIT: sums of doubles would depend on partitions


@dataclass(frozen=True)
class Cut:
    """What was cut of one relation."""

    predicate: str
    below: float
    pairs: int  # that are taken for false
    largest: float  # probability among them, by what rules say of a pair alone
    expected: float  # of them that are true, by these probabilities
    kept: int  # pairs that stay open
    group: int  # constants of the largest group
    bias: float  # estimate of the mean error of pairs that stay: the probability that a pair cut at their group is true

    @property
    def text(self) -> str:
        """In a sentence."""
        return (
            f"{self.pairs:,} pairs of {self.predicate} below {self.below:g} were cut between groups, {self.kept:,} stay;"
            f" by what rules say of a pair alone {self.expected:.3g} of those cut are true, and pairs that stay are off by at"
            f" most about {self.bias:.2g} on average: an estimate to first order, no bound"
        )


def offered_cuts(problem: StoredProblem, lowered: LoweredModel) -> list[Cut]:
    """What some cuts would do to relations that nothing was cut of."""
    return [
        _measured(problem, lowered, relation.predicate, below)
        for relation in equivalences(problem.model, lowered).relations
        if problem.relations[relation.predicate].n_open
        for below in OFFERED
    ]


def cut_stored(problem: StoredProblem, lowered: LoweredModel, below: float) -> tuple[StoredProblem, tuple[Cut, ...]]:
    """The problem in which improbable pairs between groups are known to be false."""
    cuts = []
    for relation in equivalences(problem.model, lowered).relations:
        if problem.relations[relation.predicate].n_open:
            cuts.append(_measured(problem, lowered, relation.predicate, below))
            if cuts[-1].pairs:
                problem = _without_pairs(problem, relation.predicate)
    return problem, tuple(cuts)


def _measured(problem: StoredProblem, lowered: LoweredModel, name: str, below: float) -> Cut:
    """Make `pairs_of_groups`, and count."""
    relation, engine = problem.relations[name], problem.engine
    _score(problem, lowered, name)
    least = round(log(below / (1 - below)) * UNIT)
    opened = (
        f"SELECT o.a0, o.a1, s.score FROM ({relation.opened()}) AS o LEFT JOIN pair_scores AS s ON s.atom = {relation.code('o')}"
    )
    engine.run(
        "pairs_by_score",
        f"SELECT least(a0, a1) AS x, greatest(a0, a1) AS y, CAST(COALESCE(SUM(score), 0) AS BIGINT) AS score"
        f" FROM ({opened}) AS both_ways WHERE a0 <> a1 GROUP BY least(a0, a1), greatest(a0, a1)",
    )
    edges = f"SELECT CAST(x AS BIGINT) AS u, CAST(y AS BIGINT) AS v FROM pairs_by_score WHERE score >= {least}"
    known = f"SELECT CAST(t.a0 AS BIGINT) AS u, CAST(t.a1 AS BIGINT) AS v FROM {relation.table} AS t WHERE t.status = {TRUE}"
    stars(engine, f"{edges} UNION ALL {known}")
    engine.run(
        "pairs_of_groups",
        "SELECT p.*, COALESCE(g.comp, p.x) AS gx, COALESCE(h.comp, p.y) AS gy,"
        f" CAST(1 AS DOUBLE) / (CAST(1 AS DOUBLE) + exp(-p.score / CAST({UNIT} AS DOUBLE))) AS p"
        " FROM pairs_by_score AS p LEFT JOIN label AS g ON g.node = p.x LEFT JOIN label AS h ON h.node = p.y",
    )
    row = engine.row("SELECT COUNT(*), MAX(p), SUM(p) FROM pairs_of_groups WHERE gx <> gy")
    assert row is not None
    pairs, largest, expected = int(row[0]), float(row[1] or 0.0), float(row[2] or 0.0)
    sides = (
        "SELECT gx AS g, p FROM pairs_of_groups WHERE gx <> gy UNION ALL SELECT gy AS g, p FROM pairs_of_groups WHERE gx <> gy"
    )
    lost = f"SELECT g, SUM(p) AS p FROM ({sides}) AS cut_pairs GROUP BY g"
    off = engine.row(
        "SELECT COUNT(*), AVG(least(COALESCE(l.p, CAST(0 AS DOUBLE)), CAST(1 AS DOUBLE))) FROM"
        f" (SELECT gx FROM pairs_of_groups WHERE gx = gy) AS k LEFT JOIN ({lost}) AS l ON l.g = k.gx"
    )
    assert off is not None
    size = engine.row("SELECT COALESCE(MAX(n), 1) FROM (SELECT comp, COUNT(*) AS n FROM label GROUP BY comp) AS sizes")
    assert size is not None
    return Cut(name, below, pairs, largest, expected, int(off[0]), int(size[0]), float(off[1] or 0.0))


def _without_pairs(problem: StoredProblem, name: str) -> StoredProblem:
    """Pairs between groups become false."""
    relation = problem.relations[name]
    both = "SELECT x AS a0, y AS a1 FROM pairs_of_groups WHERE gx <> gy UNION ALL SELECT y, x FROM pairs_of_groups WHERE gx <> gy"
    status = f"CASE WHEN c.a0 IS NULL THEN o.status ELSE {FALSE} END"
    match = "c.a0 = o.a0 AND c.a1 = o.a1"
    if relation.default == UNKNOWN:
        listed = f"SELECT t.a0, t.a1, t.status FROM {relation.table} AS t"
        gone = f"SELECT o.a0, o.a1, {FALSE} AS status FROM ({relation.opened()}) AS o JOIN ({both}) AS c ON {match}"
        rows = f"{listed} UNION ALL {gone}"
    else:
        rows = f"SELECT o.a0, o.a1, {status} AS status FROM {relation.table} AS o LEFT JOIN ({both}) AS c ON {match}"
        rows = f"SELECT * FROM ({rows}) AS u WHERE u.status <> {FALSE}"
    return problem.with_relation(name, next_version(problem, name, rows))


def _score(problem: StoredProblem, lowered: LoweredModel, name: str) -> None:
    """`pair_scores`: log-odds of atoms of the relation by soft rules that say something of one open atom alone."""
    relations, engine = problem.relations, problem.engine
    hidden = {definition.predicate for definition in lowered.definitions}
    own = [
        template
        for template in lowered.templates
        if not isinf(template.weight)
        and not any(literal.predicate in hidden for literal in template.literals)
        and [literal.predicate for literal in template.literals if relations[literal.predicate].n_open] == [name]
    ]
    grounded = ground_stored(problem, replace(lowered, templates=tuple(own), definitions=()))
    weight = " ".join(f"WHEN kind = {number} THEN CAST({value!r} AS DOUBLE)" for number, value in enumerate(grounded.weights))
    soft = f"WHEN kind = {SOFT_ROW} AND key = 0 THEN num WHEN kind = {SOFT_ROW} THEN ln(num) - ln(1 - num)"
    given = f"CASE {soft} {weight.replace('THEN', 'THEN n * num *')} ELSE CAST(0 AS DOUBLE) END"
    div = engine.dialect.divided
    relation = relations[name]
    inside = f"l0 >= {2 * relation.first} AND l0 < {2 * (relation.first + relation.n_ground)}"
    engine.run(
        "pair_scores",
        f"SELECT atom, CAST(SUM(score) AS BIGINT) AS score FROM (SELECT {div.format(a='l0', b=2)} AS atom,"
        f" CAST(ROUND({UNIT} * (CASE WHEN l0 % 2 = 1 THEN 1 ELSE -1 END) * ({given})) AS BIGINT) AS score"
        f" FROM {grounded.table} WHERE {inside} AND l1 IS NULL) AS own GROUP BY atom",
    )
