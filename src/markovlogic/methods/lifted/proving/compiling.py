"""The search for a plan: rules are tried in order, what they leave is planned in turn, equal theories are planned once.

Costs follow Venugopal & Gogate (2012), section 4.2: the power rule costs what its child costs, the binomial rule n + 1 times what
its child costs where half of the atoms are true, parts add, a remainder costs the entries of its tables. The effort of planning
does not grow with the sizes of domains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markovlogic.methods.lifted.proving.nodes import Child, Node
from markovlogic.methods.lifted.proving.reduction import Draft, Reduction, reduce_draft
from markovlogic.methods.lifted.proving.rules import RULES
from markovlogic.methods.lifted.proving.rules.rule import Option, Rule, Sizes
from markovlogic.methods.lifted.proving.theory import Theory

CAREFUL = 4_000  # literals that are looked at while all options are compared; after that the first that works is taken
MOST_LOOKS = 20_000  # literals that are looked at in all, beside those of the first draft: about half a second


@dataclass(frozen=True)
class Proof:
    """A plan for a theory: what it costs for one lane, and the rules it takes, by name."""

    node: Node
    work: float  # steps of a lane
    calls: float  # of nodes, whatever the number of lanes
    numbers: float  # that are held at once
    rules: frozenset[str]


@dataclass(frozen=True)
class Stuck:
    """No rule applies. Holds the clauses that are left, by their numbers in the original theory."""

    clauses: frozenset[int]
    gave_up: bool = False  # planning took too long


@dataclass
class Compiler:
    """Plans theories within a bounded effort."""

    rules: Sequence[Sequence[Rule]] = RULES
    known: dict[tuple[Theory, Sizes], Proof | Stuck] = field(default_factory=dict)
    looks: int = 0

    def plan(self, draft: Draft, sizes: Sizes) -> tuple[Reduction, Proof | Stuck]:
        """Plan the draft that the whole search starts from."""
        self.looks = -_literals(draft)
        return self.draft(draft, sizes)

    def draft(self, draft: Draft, sizes: Sizes) -> tuple[Reduction, Proof | Stuck]:
        """Plan what a rule leaves; what is stuck is reported in the clauses before the rule."""
        self.looks += _literals(draft)
        if self.looks > MOST_LOOKS:
            reduction = reduce_draft(Draft(draft.fixed, (), (), ()))
            return reduction, Stuck(frozenset(draft.source), gave_up=True)
        reduction = reduce_draft(draft)
        found = self.theory(reduction.theory, tuple([sizes[b] for b in reduction.block]))
        if isinstance(found, Stuck):
            found = Stuck(frozenset(t.source for t in reduction.terms if t.target in found.clauses), found.gave_up)
        return reduction, found

    def theory(self, theory: Theory, sizes: Sizes) -> Proof | Stuck:
        """Plan a theory in normal form; sizes matter by their order of magnitude."""
        key = (theory, tuple([size.bit_length() for size in sizes]))
        if key not in self.known:
            self.known[key] = self._search(theory, sizes)
        return self.known[key]

    def _search(self, theory: Theory, sizes: Sizes) -> Proof | Stuck:
        stuck: Stuck | None = None
        for line in self.rules:
            best: Proof | None = None
            for rule in line:
                for option in rule.options(theory, sizes):
                    found = self._option(rule, option)
                    if rule.is_sure:
                        return found
                    if isinstance(found, Stuck):
                        stuck = stuck or found
                        if found.gave_up:
                            return found
                    elif best is None or found.work < best.work:
                        best = found
                    if best is not None and self.looks > CAREFUL:
                        return best
            if best is not None:
                return best
        return stuck or Stuck(frozenset(range(len(theory.clauses))))

    def _option(self, rule: Rule, option: Option) -> Proof | Stuck:
        work, calls, numbers, rules, children = option.work, 1.0, option.numbers, {rule.name}, []
        for draft, sizes in zip(option.drafts, option.sizes, strict=True):
            reduction, found = self.draft(draft, sizes)
            if isinstance(found, Stuck):
                return found
            work += option.lanes * (found.work + 1.0)
            calls += found.calls
            numbers = max(numbers, option.numbers + found.numbers)
            rules |= found.rules
            children.append(Child(reduction, found.node))
        return Proof(option.build(children), work, calls, numbers, frozenset(rules))


def _literals(draft: Draft) -> int:
    return sum(len(clause.literals) + 1 for clause in draft.clauses)
