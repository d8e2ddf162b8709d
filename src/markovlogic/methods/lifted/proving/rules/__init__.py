"""The rules, in the order in which they are tried. Rules of one line compete: the cheapest way is taken."""

from __future__ import annotations

from markovlogic.methods.lifted.proving.rules.base import Rule
from markovlogic.methods.lifted.proving.rules.binomial import Binomial
from markovlogic.methods.lifted.proving.rules.condition import Condition
from markovlogic.methods.lifted.proving.rules.elimination import Elimination
from markovlogic.methods.lifted.proving.rules.forced import Forced
from markovlogic.methods.lifted.proving.rules.grounding import Grounding
from markovlogic.methods.lifted.proving.rules.pairs import Pairs
from markovlogic.methods.lifted.proving.rules.parts import Parts
from markovlogic.methods.lifted.proving.rules.power import Power
from markovlogic.methods.lifted.proving.rules.settled import Settled
from markovlogic.methods.lifted.proving.rules.units import Units

RULES: tuple[tuple[Rule, ...], ...] = (
    (Settled(),),
    (Forced(),),
    (Parts(),),
    (Units(),),
    (Elimination(),),
    (Power(),),
    (Pairs(),),
    (Condition(), Binomial()),
    (Grounding(),),
)
# Where the search from the top gets lost, small blocks are taken apart before anything is summed over.
GROUNDING_FIRST = (*RULES[:-2], RULES[-1], RULES[-2])
AS_PRINTED = tuple([(Power(literal=True),) if isinstance(line[0], Power) else line for line in RULES])
