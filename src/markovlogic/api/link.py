"""`link`: from tables of records to clusters of those that describe the same thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from markovlogic.errors import UnsupportedError
from markovlogic.estimation.concerns import STILL
from markovlogic.language.load import parse
from markovlogic.linking.compared import ComparedRecords, compare_records
from markovlogic.linking.database import database
from markovlogic.linking.linked import Linked
from markovlogic.linking.model import LinkModel, summed_evidence, summed_rules
from markovlogic.methods.partition.clusters import Pairs
from markovlogic.methods.resources import resources_of
from markovlogic.running.sampling import Sampling
from markovlogic.system.arrays import Float64, Int32, Int64
from markovlogic.system.progress import Progress

# of parts that are too large to be solved exactly: as many draws as visits of pairs allow
CHAINS, VISITS, LEAST_DRAWS, MOST_DRAWS = 8, 100_000_000, 60, 2500


def link(
    table: Any,
    *more: Any,
    sources: Sequence[str] = (),
    id_column: str = "",
    columns: Mapping[str, str] | None = None,
    block: Sequence[str] = (),
    one_to_one: bool = False,
    labels: Any = None,
    seed: int | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    progress: Progress | bool | None = None,
    engine: Any = None,
    spark_remote: str | None = None,
    spark_folder: str | None = None,
) -> Linked:
    """Find the records of one or more tables that describe the same thing.

    table, more: frames or files (CSV, Parquet, a table of a database); several tables are sources, which `sources` names, and
    `one_to_one` says that none of them has duplicates. columns: kinds by column, where the guess is wrong. block: which pairs are
    compared (`"surname, dob"`), where the proposed rules do not suit. labels: what is known, as pairs `a, b, same` or as
    `id, cluster` of some records; such pairs are facts, and weights are learned from them. engine, spark_remote, spark_folder: as
    for `infer`; records and pairs stay on the engine until the result is there, and a table may be what its session reads.
    """
    given = (table, *more)
    if engine is not None:
        from markovlogic.api.link_on import link_on
        from markovlogic.api.scaled import OnEngine

        if time_limit is not None:
            raise UnsupportedError("a time limit: not supported component by component", hint="leave out engine, or the limit")
        with resources_of(memory_limit=memory_limit, progress=progress) as resources:
            found = link_on(
                OnEngine(engine, spark_remote, spark_folder),
                given,
                sources=sources,
                id_column=id_column,
                columns=columns,
                block=block,
                one_to_one=one_to_one,
                labels=labels,
                seed=seed,
                memory_limit=memory_limit,
                progress=resources.progress,
            )
            assert isinstance(found, Linked)
            return found
    with resources_of(time_limit=time_limit, memory_limit=memory_limit, progress=progress) as resources:
        with database(resources.limit) as db:
            compared = compare_records(
                db,
                given,
                names=sources,
                id_column=id_column,
                kinds=columns or {},
                block=block,
                one_to_one=one_to_one,
                labels=labels,
                seed=seed or 0,
                memory_limit=resources.limit,
                progress=resources.progress,
            )
        return _decided(compared, one_to_one, Sampling(seed=seed), memory_limit, resources.progress)


def draws_of(n_pairs: int) -> int:
    """Draws of each chain, where so many pairs are not certain."""
    return int(np.clip(VISITS // (CHAINS * n_pairs + 1), LEAST_DRAWS, MOST_DRAWS))


def _decided(
    compared: ComparedRecords, one_to_one: bool, sampling: Sampling, memory_limit: int | None, shown: Progress
) -> Linked:
    """Clusters by the posterior over partitions."""
    from markovlogic.api.cluster import cluster  # with an engine only executors need it

    n = compared.records.n
    label: Int32 = np.arange(n, dtype=np.int32)
    right, of_pairs, stderr = np.ones(n), np.zeros(len(compared.one)), np.zeros(len(compared.one))
    concerns: tuple[str, ...] = ()
    notes = compared.records.notes
    draws = draws_of(int(np.count_nonzero(~compared.tied)))
    options = f"--chains {CHAINS} --draws {draws} --seed {sampling.seed or 0}"
    options += " --apart" if compared.outside > -np.inf else ""
    if len(compared.one):
        found = cluster(
            parse(summed_rules(compared, one_to_one=one_to_one), "model.mln"),
            summed_evidence(compared, one_to_one=one_to_one),
            "Same",
            chains=CHAINS,
            draws=draws,
            seed=sampling.seed,
            apart=compared.outside > -np.inf,
            memory_limit=memory_limit,
            progress=shown,
        )
        number = {key: at for at, key in enumerate(compared.keys.to_pylist())}
        row = np.array([number[str(name)] for name in found.domain.names])
        first = np.full(int(found.clusters.label.max()) + 1, n)
        np.minimum.at(first, found.clusters.label, row)
        label[row] = first[found.clusters.label]
        right[row] = found.clusters.probability
        of_pairs, stderr = _of_pairs(compared, row, found.pairs)
        # of pairs that no chain moved, the values decide most; chains that froze apart show in R-hat
        concerns = tuple(concern for concern in found.concerns if STILL not in concern)
        notes += tuple(concern for concern in found.concerns if STILL in concern)
    elif n > 1:
        concerns = (f"all {n:,} records are alone: no pair is likely enough; see which columns were compared, and try --block",)
    label = np.unique(label, return_inverse=True)[1].astype(np.int32)
    return Linked(compared, LinkModel(compared, one_to_one, options), label, right, of_pairs, stderr, notes, concerns)


def _of_pairs(compared: ComparedRecords, row: Int64, pairs: Pairs) -> tuple[Float64, Float64]:
    """Probability and standard error of each compared pair; what hard rules exclude is impossible."""
    n = compared.records.n
    a, b = row[pairs.one], row[pairs.other]
    code = np.minimum(a, b) * n + np.maximum(a, b)
    order = np.argsort(code)
    pair_code = compared.one.astype(np.int64) * n + compared.other
    at = (
        order[np.minimum(np.searchsorted(code[order], pair_code), len(code) - 1)]
        if len(code)
        else np.zeros(len(pair_code), np.int64)
    )
    if not len(code):
        return np.zeros(len(pair_code)), np.zeros(len(pair_code))
    there = code[at] == pair_code
    return np.where(there, pairs.probability[at], 0.0), np.where(there, pairs.stderr[at], 0.0)
