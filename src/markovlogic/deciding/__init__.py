"""Deciding before grounding: what follows from evidence and hard rules is known, and what no query depends on is left out.

`propagate` closes the statuses of a problem under its hard rules and exclusive arguments, as relations; `known` shows a predicate
as one literal sees it; `settled` holds the statuses on the way and who decided what; `contradictions` words what cannot be;
`relevance` finds the predicates that a query can depend on.
"""

from markovlogic.deciding.propagate import decide
from markovlogic.deciding.relevance import LeftOut, Relevant, relevant
from markovlogic.deciding.settled import Decided, Decider

__all__ = ["Decided", "Decider", "LeftOut", "Relevant", "decide", "relevant"]
