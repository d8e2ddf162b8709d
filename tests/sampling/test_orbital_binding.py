"""Orbital settings and the symmetries of a problem: taken from it unless a group was given, and reported where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sampling.bound import target

import markovlogic as mln
from markovlogic.errors import InputError
from markovlogic.grounding.ground import ground
from markovlogic.methods.sampling.base import Target
from markovlogic.methods.sampling.orbital import Orbital
from markovlogic.networks.ground import network_of
from markovlogic.problem import pose
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.symmetry.groups import GeneratedGroup


def target_of(rules: str) -> Target:
    model = mln.Model.parse("person = {A, B, C}\nS(person)\n" + rules)
    prepared = PreparedProblem(pose(model, model.evidence(), "S"))
    return target(prepared.problem, ground(prepared.problem, prepared.lowered))


NONE = "no symmetries were found, so orbital is its base chain"


def test_symmetries_are_the_problems_own() -> None:
    alike = Orbital().bind(target_of("0.5 S(x)\n0.3 S(x) ^ S(y)\n"))
    assert alike.group is not None and alike.group.n_atoms == 3 and NONE not in alike.notes
    assert alike.group.orbits().n_orbits == 1
    different = Orbital().bind(target_of("0.5 S(A)\n0.3 S(B)\n0.2 S(C)\n0.1 S(A) ^ S(B)\n"))
    assert different.notes[-1] == NONE


def test_a_group_that_was_given_stays() -> None:
    group = GeneratedGroup([np.array([1, 0, 2], np.int32)], 3)
    bound = Orbital(group=group).bind(target_of("0.5 S(A)\n"))
    assert bound.group is group and bound.notes == ()


def test_unbound_or_misfit_groups_are_refused() -> None:
    with pytest.raises(InputError, match="need the symmetries"):
        Orbital().build(network_of(3), 2)
    with pytest.raises(ValueError, match="a group on 3 atoms does not fit a network of 4"):
        Orbital(group=GeneratedGroup([], 3)).build(network_of(4), 2)
