"""What to show when no world that obeys the hard rules was found: which rules, and where they stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from markovlogic.errors import Fault, InputError
from markovlogic.language.syntax import Rule

if TYPE_CHECKING:
    from markovlogic.networks.conflicts import Conflict

MOST_NAMED = 10


@contextmanager
def rules_named(rules: Sequence[Rule]) -> Iterator[None]:
    """Show the rules that conflict by file, line and text, where the block finds no world."""
    try:
        yield
    except InputError as error:
        from markovlogic.networks.conflicts import NoWorldError

        if not isinstance(error, NoWorldError) or not len(error.conflict.rules):
            raise
        raise InputError(list(_faults(error.conflict, rules))) from error


def _faults(conflict: Conflict, rules: Sequence[Rule]) -> Iterator[Fault]:
    """One for each rule, the first with all that is known."""
    from markovlogic.networks.conflicts import what_happened

    named = [rules[number] for number in conflict.rules[:MOST_NAMED]]
    count = len(conflict.rules)
    groups = ", with the exclusive arguments," if conflict.has_groups else ""
    if not conflict.is_least:
        why = f"the conflict is among these {count} hard rules{groups.rstrip(',')}"
    elif count == 1:
        why = f"this hard rule{groups} is enough for that, and without it a world was found"
    else:
        found = "contradict each other" if conflict.is_proven else "are enough for that"
        why = f"these {count} hard rules{groups} {found}, and without any one of them a world was found"
    hint = "give one of the hard rules a weight, or correct the evidence"
    for number, rule in enumerate(named):
        message = f"{what_happened(conflict)}; {why}" if not number else f"hard rule {number + 1} of the {count} that conflict"
        yield Fault(f"{message}: {rule.text}", rule.place, rule.text, hint="" if number else hint)
    if count > len(named):
        yield Fault(f"{count - len(named)} more hard rules may have a part in it")
