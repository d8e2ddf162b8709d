"""The rules, in the order in which they are tried. Rules of one line compete: the cheapest way is taken."""

from __future__ import annotations

from markovlogic.methods.lifted.proving.rules.condition import Condition, Forced, Settled, Units
from markovlogic.methods.lifted.proving.rules.elimination import Elimination
from markovlogic.methods.lifted.proving.rules.parts import Grounding, Pairs, Parts
from markovlogic.methods.lifted.proving.rules.power import Binomial, Power
from markovlogic.methods.lifted.proving.rules.rule import Rule

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
