"""Groups of exclusive arguments against a list of all atoms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from markovlogic.data.evidence import atoms_of_groups, group_of, group_sizes, n_values

MARKS = [marks for n in (1, 2, 3) for marks in itertools.product((False, True), repeat=n) if any(marks)]


@pytest.mark.parametrize("exclusive", MARKS)
def test_atoms_of_each_group(exclusive: tuple[bool, ...]) -> None:
    sizes = (3, 2, 4)[: len(exclusive)]
    atoms = list(itertools.product(*map(range, sizes)))
    keys = [tuple(a for a, marked in zip(atom, exclusive, strict=True) if not marked) for atom in atoms]
    listed = [[code for code, own in enumerate(keys) if own == key] for key in sorted(set(keys))]
    assert len(listed) == np.prod(group_sizes(sizes, exclusive)) and len(listed[0]) == n_values(sizes, exclusive)
    assert atoms_of_groups(np.arange(len(listed)), sizes, exclusive).tolist() == listed
    group = group_of(np.array(atoms), sizes, exclusive)
    assert [np.flatnonzero(group == g).tolist() for g in range(len(listed))] == listed
