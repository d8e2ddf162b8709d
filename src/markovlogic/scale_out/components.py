"""Components of what was grounded, and bundles of them, by joins: no task and no program has a list of all atoms.

Large-star and small-star in turn (Kiveris and others, SoCC 2014): every edge ends at the smallest known neighbour, until all are
stars. Each round is written, so that nothing is computed twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from markovlogic.grounding.backends import Engine
from markovlogic.scale_out.clauses import GROUP_ROW, Grounded
from markovlogic.system import cancellation

BUCKETS = 64
NUMBERED = 1_000_003  # checks are sums of remainders: whole numbers, whatever the partitions


@dataclass(frozen=True)
class Bundled:
    """The rows with their component and bundle, and how many there are."""

    table: str
    components: int
    largest: int  # rows of the largest component
    largest_at: int  # its smallest atom
    bundles: int
    rows: int
    rounds: int


def bundled(
    engine: Engine, grounded: Grounded, tied: list[tuple[int, int]], wanted: list[tuple[int, int]], hard: list[int], most: int
) -> Bundled:
    """Rows by component, components by bundle of about `most` rows.

    tied: atoms that a formula of the query names together; wanted: ranges of atoms of which a component must hold
    one, or a hard clause, whose templates are numbered here.
    """
    div = engine.dialect.divided
    atoms = [div.format(a=f"l{at}", b=2) for at in range(grounded.width)]
    edges = []
    for at in range(grounded.width - 1):  # a null stands where a literal is falsified, so neighbours are found by looking past it
        later = "COALESCE(" + ", ".join([*atoms[at + 1 :], "NULL"]) + ")"
        edges.append(
            f"SELECT {atoms[at]} AS u, {later} AS v FROM {grounded.table} WHERE l{at} IS NOT NULL AND {later} IS NOT NULL"
        )
    smallest = f"SELECT key, MIN({atoms[0]}) AS v FROM {grounded.table} WHERE kind = {GROUP_ROW} GROUP BY key"
    edges.append(
        f"SELECT {div.format(a='g.l0', b=2)} AS u, s.v FROM {grounded.table} AS g JOIN ({smallest}) AS s ON s.key = g.key"
        f" WHERE g.kind = {GROUP_ROW}"
    )
    edges += [f"SELECT CAST({one} AS BIGINT) AS u, CAST({other} AS BIGINT) AS v" for one, other in tied]
    rounds = stars(engine, " UNION ALL ".join(edges))
    first = div.format(a="COALESCE(" + ", ".join(f"r.l{at}" for at in range(grounded.width)) + ")", b=2)
    engine.run(
        "labelled",
        f"SELECT COALESCE(label.comp, {first}) AS comp, r.* FROM {grounded.table} AS r LEFT JOIN label ON label.node = {first}",
    )
    inside = " OR ".join(f"(l{at} >= {2 * low} AND l{at} < {2 * high})" for low, high in wanted for at in range(grounded.width))
    if hard:
        inside = " OR ".join([f"kind IN ({', '.join(map(str, hard))})", *([inside] if inside else [])])
    components, largest, largest_at, bundles, rows = bundles_of(engine, "labelled", inside, most)
    return Bundled("bundled", components, largest, largest_at, bundles, rows, rounds)


def bundles_of(engine: Engine, labelled: str, inside: str, most: int) -> tuple[int, int, int, int, int]:
    """`bundled`: rows with the bundle of their component; components without a row that `inside` holds for are left out.

    Gives the number of components, rows of the largest and where it is, the number of bundles, and rows of all.
    """
    having = f" HAVING MAX(CASE WHEN {inside or '1 = 1'} THEN 1 ELSE 0 END) = 1"
    engine.run("sizes", f"SELECT comp, COUNT(*) AS n FROM {labelled} GROUP BY comp{having}")
    row = engine.row("SELECT COUNT(*), CAST(COALESCE(SUM(n), 0) AS BIGINT), COALESCE(MAX(n), 0) FROM sizes")
    assert row is not None
    components, total, largest = (int(value) for value in row)
    found = engine.row(f"SELECT MIN(comp) FROM sizes WHERE n = {largest}")
    buckets = max(1, min(BUCKETS, total // (8 * most)))
    running = f"SUM(n) OVER (PARTITION BY comp % {buckets} ORDER BY comp ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    number = engine.dialect.divided.format(a="(CAST(running AS BIGINT) - n)", b=most)
    engine.run(
        "bundle_of",
        f"SELECT comp, comp % {buckets} + {buckets} * {number} AS bundle"
        f" FROM (SELECT comp, n, {running} AS running FROM sizes) AS r",
    )
    engine.run("bundled", f"SELECT b.bundle, r.* FROM {labelled} AS r JOIN bundle_of AS b ON b.comp = r.comp")
    bundles = int(engine.rows("SELECT COUNT(DISTINCT bundle) FROM bundle_of")[0][0])
    engine.drop([labelled, "sizes"])
    return components, largest, int(found[0] or 0) if found and largest else 0, bundles, total


def stars(engine: Engine, edges: str) -> int:
    """`label(node, comp)`: each node that has an edge, and the smallest node of its component. Returns the rounds."""
    engine.run("star_0", f"SELECT DISTINCT greatest(u, v) AS u, least(u, v) AS v FROM ({edges}) AS e WHERE u <> v")
    large = """WITH both_ways AS (SELECT u, v FROM {0} UNION ALL SELECT v AS u, u AS v FROM {0}),
        least_one AS (SELECT u, least(u, MIN(v)) AS m FROM both_ways GROUP BY u)
        SELECT DISTINCT b.v AS u, o.m AS v FROM both_ways AS b JOIN least_one AS o ON b.u = o.u WHERE b.v > b.u"""
    small = """WITH least_one AS (SELECT u, MIN(v) AS m FROM {0} GROUP BY u),
        with_least AS (SELECT s.u, s.v, o.m FROM {0} AS s JOIN least_one AS o ON s.u = o.u)
        SELECT DISTINCT u, v FROM (SELECT v AS u, m AS v FROM with_least WHERE v <> m
        UNION ALL SELECT u, m AS v FROM least_one) AS e"""
    rounds, before = 0, None
    while True:
        cancellation.check()
        old = f"star_{rounds}"
        engine.run(f"star_{rounds}_large", large.format(old))
        rounds += 1
        new = f"star_{rounds}"
        engine.run(new, small.format(f"star_{rounds - 1}_large"))
        engine.drop([old, f"star_{rounds - 1}_large"])
        n = NUMBERED
        checks = f"CAST(SUM(v % {n}) AS BIGINT), CAST(SUM((u % {n}) * (v % {n}) % {n}) AS BIGINT)"
        now = engine.row(f"SELECT COUNT(*), {checks} FROM {new}")
        if now == before:
            break
        before = now
    engine.run("label", f"SELECT u AS node, v AS comp FROM {new} UNION ALL SELECT DISTINCT v AS node, v AS comp FROM {new}")
    engine.drop([new])
    return rounds
