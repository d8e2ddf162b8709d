"""What was left out of an answer: told to the user, and put back into log Z where that is possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markovlogic.errors import ResourceError

if TYPE_CHECKING:
    from markovlogic.methods.case import Case
    from markovlogic.methods.reduced import Narrowed

REST_SECONDS = 2.0  # predicted, that log Z of what was left out may take
NO_LOG_Z = "log_z is left out: it would need what the query does not depend on"


@dataclass(frozen=True)
class OfAll:
    """Log Z of the whole model, None where it is not known, and remarks on what was left out."""

    log_z: float | None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rest:
    """What the query does not depend on, and nothing was done for."""

    atoms: int
    predicates: tuple[str, ...]  # that were not even grounded
    components: int  # of the ground network
    rules: int  # that were not grounded
    hard_rules: int  # of those


def rest_of(case: Case) -> Rest | None:
    """What was left out, None where nothing was."""
    left, narrowed = case.reduced.left_out, case.narrowed
    if left is None and narrowed is None:
        return None
    return Rest(
        atoms=(left.atoms if left else 0) + (narrowed.atoms if narrowed else 0),
        predicates=left.predicates if left else (),
        components=narrowed.components if narrowed else 0,
        rules=len(left.rules) if left else 0,
        hard_rules=left.hard_rules if left else 0,
    )


def of_all(case: Case, log_z: float | None) -> OfAll:
    """Log Z of the whole model from that of the part that was solved."""
    left, narrowed, offered = case.reduced.left_out, case.narrowed, log_z is not None
    remarks = []
    if left is not None:
        names = ", ".join(left.predicates[:8]) + (", …" if len(left.predicates) > 8 else "")
        told = f"{left.atoms:,} atoms were left out, as no rule ties them to the query: {names}"
        hard = "one hard rule" if left.hard_rules == 1 else f"{left.hard_rules:,} hard rules"
        remarks.append(f"{told}; {hard} about them went unchecked" if left.hard_rules else told)
        log_z = None if log_z is None or left.log_z is None else log_z + left.log_z
    if narrowed is not None:
        rest = None if log_z is None else _log_z_of_rest(case, narrowed)
        told = f"{narrowed.atoms:,} atoms were left out, in {narrowed.components:,} components that the query does not reach"
        unchecked = narrowed.has_hard and rest is None
        remarks.append(f"{told}; hard rules among them went unchecked" if unchecked else told)
        log_z = None if log_z is None or rest is None else log_z + rest
    if offered and log_z is None:
        remarks.append(NO_LOG_Z)
    return OfAll(log_z, tuple(remarks))


def _log_z_of_rest(case: Case, narrowed: Narrowed) -> float | None:
    """Log Z of the components that were left out, where it is exact and soon there; refuses where they leave no world."""
    from markovlogic.methods.exact.effort import ONE_SECOND
    from markovlogic.methods.exact.planning import plan_exact
    from markovlogic.methods.exact.solve import solve
    from markovlogic.networks.components import components
    from markovlogic.networks.part import part_of

    assert case.grounded is not None
    rest = part_of(case.grounded, ~narrowed.keep, log_constant=0.0)
    try:
        plan = plan_exact(rest, components(rest), memory_limit=case.memory_limit, effort=ONE_SECOND)
    except ResourceError:
        return None
    return solve(rest, plan=plan).log_z if plan.seconds <= REST_SECONDS else None
