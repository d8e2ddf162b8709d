"""Deciding before grounding: what follows from evidence and hard rules is known, and what no query depends on is left out.

`propagate` closes the statuses of a problem under its hard rules and exclusive arguments, as relations; `known` shows a predicate
as one literal sees it; `settled` holds the statuses on the way and who decided what; `contradictions` words what cannot be;
`relevance` finds the predicates that a query can depend on.
"""

from markovlogic.grounding.hard_rules.propagate import decide
from markovlogic.grounding.hard_rules.relevance import LeftOut, Relevant, relevant
from markovlogic.grounding.hard_rules.settled import Decided, Decider

__all__ = ["Decided", "Decider", "LeftOut", "Relevant", "decide", "relevant"]
