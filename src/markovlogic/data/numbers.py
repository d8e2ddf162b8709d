"""Facts that numbers make true: which integer constants of a type are less than which."""

from __future__ import annotations

import re

import numpy as np

from markovlogic.arrays import frozen
from markovlogic.data.domains import Domain
from markovlogic.data.evidence import TRUE, Facts
from markovlogic.errors import InputError, ResourceError
from markovlogic.language.syntax import show_constant

MOST_COMPARED = 4000  # constants: eight million facts
_INTEGER = re.compile(r"-?[0-9]{1,18}\Z")


def order_facts(domain: Domain) -> Facts:
    """All pairs of a type's constants, the first less than the second; refuses constants that are no integers."""
    odd = next((name for name in domain.names if not _INTEGER.match(name)), None)
    if odd is not None:
        what = f"{show_constant(odd)} of type {domain.type_name} is no integer"
        raise InputError(f"{what}, and a rule compares constants of this type by their order")
    if len(domain) > MOST_COMPARED:
        raise ResourceError(
            f"a rule compares {len(domain):,} constants of type {domain.type_name} with each other, at most {MOST_COMPARED:,}",
            needed=len(domain) ** 2,
            limit=MOST_COMPARED**2,
        )
    value = np.array([int(name) for name in domain.names], np.int64)
    args = np.argwhere(value[:, None] < value[None, :]).astype(np.int32)
    return frozen(Facts(args, np.full(len(args), TRUE, np.int8)))
