"""Benchmarks as worlds: parts, evidence, and made ones of the same form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from markovlogic.data.evidence import TRUE
from markovlogic.errors import InputError
from markovlogic_papers.experiments.benchmark_data import FORMS, evidence_of, partly_known, parts_of, world_of

DATA = Path(__file__).parents[3] / "shared" / "data"


def named(world):
    """Every true fact by the names of its constants."""
    return {
        (name, *(world.domains[of].names[n] for of, n in zip(world.model.predicates[name].types, row, strict=True)))
        for name, rows in world.facts.items()
        for row in rows.tolist()
    }


@pytest.mark.parametrize("name", FORMS)
def test_parts_hold_the_facts_among_their_objects_and_no_others(name):
    world = world_of(name, "", 3, scale=0.01)
    every = named(world)
    main = world.form.main
    first, second = parts_of(world, (6, 5), 1)
    assert (len(first.domains[main]), len(second.domains[main])) == (6, 5)
    assert not set(first.domains[main].names) & set(second.domains[main].names)
    for part in (first, second):
        kept = {of: set(domain.names) for of, domain in part.domains.items()}
        types = {p: world.model.predicates[p].types for p in world.facts}
        inside = {fact for fact in every if all(n in kept[of] for n, of in zip(fact[1:], types[fact[0]], strict=True))}
        assert named(part) == inside


def test_a_part_grows_along_ties():
    world = world_of("webkb", "", 0, scale=0.05)
    (part,) = parts_of(world, (40,), 0)
    drawn = np.random.default_rng(0).permutation(len(world.domains["page"]))[:40]
    among = np.isin(world.facts["Linked"], drawn).all(axis=1).sum()
    assert len(part.facts["Linked"]) > among


def test_evidence_is_what_is_true_of_the_world():
    world = world_of("protein", "", 2, scale=0.01)
    prepared = partly_known(world, 0.5, 0)
    for name, statuses in prepared.problem.statuses.items():
        rows = world.facts[name]
        true = set(np.ravel_multi_index(tuple(rows.T), world.sizes(name)).tolist()) if len(rows) else set()
        for code, status in zip(statuses.code.tolist(), statuses.status.tolist(), strict=True):
            assert (status == TRUE) == (code in true)
    known = sum(len(own.code) for own in prepared.problem.statuses.values())
    every = sum(own.n_ground for own in prepared.problem.statuses.values())
    assert 0.4 < known / every < 0.6
    given = evidence_of(world, world.form.given)
    assert set(given.observed) == set(world.form.given) and set(given.facts) <= set(world.form.given)


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no er"):
        world_of("er", str(tmp_path), 0)
    with pytest.raises(InputError, match="are requested"):
        parts_of(world_of("er", "", 0, scale=0.01), (1000,), 0)


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the benchmark data in ../shared/data")
@pytest.mark.parametrize(("name", "objects"), [("webkb", 4168), ("protein", 1785), ("er", 1295)])
def test_the_public_benchmarks(name, objects):
    world = world_of(name, str(DATA), 0)
    assert len(world.domains[world.form.main]) == objects
    assert len(world.facts[world.form.tie]) > 4000
