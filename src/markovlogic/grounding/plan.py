"""From a clause to joins: which literals the evidence decides, which tables are joined in which order, what comes out.

A *pattern* is a set of literals; wanted are the substitutions that leave every one of them unsatisfied. That is what grounding a
clause needs, and, with all signs turned, what a cube of a definition needs (a cube is a negated clause).

Each literal is read in one of these ways, by what the default and the exceptions of its predicate say:

    decided   nothing to join: satisfied always (then nothing is left), falsified always, or open at one fixed atom
    inner     an inner join with the atoms that leave it unsatisfied: negative literals of closed predicates; open predicates with
              evidence, where it is short to list what is left, or binds variables
    left      a left join with the exceptions; the rows where it is satisfied are dropped
    free      open without evidence: no join, the atom follows from the arguments
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import NamedTuple

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Domain
from markovlogic.grounding.relations import Known, Relation
from markovlogic.language.syntax import Constant, Term, Variable
from markovlogic.language.templates import EqualityLiteral, Literal

_LISTED_AT_MOST = 5_000_000  # rows of a table that lists what an open predicate's evidence leaves
_LISTED_SHARE = 4  # where evidence leaves less than this part of the atoms, they are always listed

Argument = str | int  # a variable's name, or a constant's number


@dataclass(frozen=True)
class Pattern:
    """Literals and equalities over typed variables; `keep` are the variables whose values are wanted beside the literals."""

    literals: tuple[Literal, ...]
    equalities: tuple[EqualityLiteral, ...]
    variables: tuple[tuple[str, str], ...]
    keep: tuple[str, ...] = ()


@dataclass(frozen=True)
class Access:
    """One literal as it is read: `way` is inner, left or free; `table` is what is joined."""

    position: int  # of the literal in the pattern
    way: str
    positive: bool
    args: tuple[Argument, ...]
    relation: Known
    table: str = ""
    rows: int = 0
    has_output: bool = True  # whether the literal can stay open

    @property
    def alias(self) -> str:
        """Name of the joined table in the query."""
        return f"l{self.position}"

    @property
    def rows_here(self) -> Relation:
        """The relation with its rows, where they are in this process."""
        assert isinstance(self.relation, Relation)
        return self.relation

    @property
    def satisfied(self) -> int:
        """The status that satisfies the literal."""
        return TRUE if self.positive else FALSE

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Variables among the arguments, each once."""
        return tuple(dict.fromkeys(a for a in self.args if isinstance(a, str)))


@dataclass(frozen=True)
class Part:
    """Literals that hang together by variables; `joins` in order, `domains` (variables that no inner join binds) after them."""

    joins: tuple[Access, ...]
    domains: tuple[tuple[str, int], ...]
    filters: tuple[Access, ...]  # left joins
    free: tuple[Access, ...]
    unequal: tuple[tuple[Argument, Argument], ...]
    keep: tuple[str, ...]
    grouped: bool  # whether rows that give the same output are counted instead of repeated

    @property
    def outputs(self) -> tuple[Access, ...]:
        """The literals that can stay open, by position."""
        return tuple(sorted((a for a in (*self.joins, *self.filters, *self.free) if a.has_output), key=lambda a: a.position))


@dataclass(frozen=True)
class Plan:
    """How to find the substitutions that satisfy no literal.

    groundings: all substitutions; factor: each row of the parts' product stands for so many of them; fixed: literals that are
    open at one fixed atom; value: what the pattern's equalities make of a variable.
    """

    groundings: int
    nothing_left: bool
    factor: int = 1
    fixed: tuple[int, ...] = ()
    parts: tuple[Part, ...] = ()
    value: Mapping[str, Argument] | None = None

    @property
    def outputs(self) -> tuple[Access, ...]:
        """The literals that can stay open, by position."""
        return tuple(sorted((a for part in self.parts for a in part.outputs), key=lambda a: a.position))

    @property
    def grouped(self) -> bool:
        """Whether rows come with a count."""
        return any(part.grouped for part in self.parts)


class _Satisfied(Exception):
    """The pattern has no substitution that leaves it unsatisfied."""


def plan(pattern: Pattern, relations: Mapping[str, Known], domains: Mapping[str, Domain]) -> Plan:
    """Decide how each literal is read and in which order tables are joined."""
    types = dict(pattern.variables)
    groundings = prod(len(domains[type_name]) for type_name in types.values())
    if not groundings:
        return Plan(0, nothing_left=True)
    try:
        return _plan(pattern, relations, domains, types, groundings)
    except _Satisfied:
        return Plan(groundings, nothing_left=True)


def _plan(
    pattern: Pattern,
    relations: Mapping[str, Known],
    domains: Mapping[str, Domain],
    types: dict[str, str],
    groundings: int,
) -> Plan:
    value = _unified(pattern.equalities, types, domains)
    unequal = _inequalities(pattern.equalities, value, types, domains)
    fixed: list[int] = []
    accesses: list[Access] = []
    for position, literal in enumerate(pattern.literals):
        relation = relations[literal.predicate]
        args = tuple(
            _resolved(term, type_name, value, domains) for term, type_name in zip(literal.args, relation.types, strict=True)
        )
        access = _access(position, literal.positive, args, relation, fixed)
        if access is not None:
            accesses.append(access)
    variables = [name for name in types if value[name] == name]
    kept = {value[name] for name in pattern.keep}
    keep = [name for name in variables if name in kept]
    alone = _alone(accesses, unequal, keep)
    parts, used = _parts(_listed([a for a in accesses if a not in alone]), unequal, keep, types, domains)
    used.update(name for access in alone for name in access.variables)
    factor = prod(len(domains[types[name]]) for name in variables if name not in used)
    factor *= prod(access.relation.n_surviving(access.positive) for access in alone)
    return Plan(groundings, False, factor, tuple(fixed), tuple(parts), value)


def _alone(accesses: list[Access], unequal: list[tuple[Argument, Argument]], keep: list[str]) -> list[Access]:
    """Known literals that share no variable with anything: how many atoms falsify one is known without going through them.

    `t + 1` in a rule gives such a clause, and its pairs of constants are as many as the square of the type.
    """
    known = [a for a in accesses if a.way == "left" and not a.has_output and len(a.variables) == len(a.args)]
    found = []
    for access in known:
        others = {name for other in accesses if other is not access for name in other.variables}.union(keep, *unequal)
        if not others.intersection(access.variables):
            found.append(access)
    return found


def _unified(
    equalities: tuple[EqualityLiteral, ...], types: Mapping[str, str], domains: Mapping[str, Domain]
) -> dict[str, Argument]:
    """What each variable stands for where every `x != y` is unsatisfied, that is, where x and y are the same."""
    value: dict[str, Argument] = {name: name for name in types}
    for equality in equalities:
        if equality.positive:
            continue
        left, right = _sides(equality, value, types, domains)
        if left == right:
            continue
        if isinstance(left, int) and isinstance(right, int):
            raise _Satisfied
        if isinstance(left, int):
            left, right = right, left
        value = {name: right if old == left else old for name, old in value.items()}
    return value


def _inequalities(
    equalities: tuple[EqualityLiteral, ...],
    value: Mapping[str, Argument],
    types: Mapping[str, str],
    domains: Mapping[str, Domain],
) -> list[tuple[Argument, Argument]]:
    """The pairs that must differ, so that every `x = y` is unsatisfied."""
    unequal = []
    for equality in equalities:
        if equality.positive:
            left, right = _sides(equality, value, types, domains)
            if left == right:
                raise _Satisfied
            if isinstance(left, str) or isinstance(right, str):
                unequal.append((left, right))
    return unequal


def _sides(
    equality: EqualityLiteral, value: Mapping[str, Argument], types: Mapping[str, str], domains: Mapping[str, Domain]
) -> tuple[Argument, Argument]:
    variables = [side.name for side in (equality.left, equality.right) if isinstance(side, Variable)]
    if not variables:  # two constants: their names decide
        return (0, 0) if equality.left == equality.right else (0, 1)
    type_name = types[variables[0]]
    return _resolved(equality.left, type_name, value, domains), _resolved(equality.right, type_name, value, domains)


def _resolved(term: Term, type_name: str, value: Mapping[str, Argument], domains: Mapping[str, Domain]) -> Argument:
    if isinstance(term, Constant):
        return domains[type_name].number(term.name)
    return value[term.name]


def _access(position: int, positive: bool, args: tuple[Argument, ...], relation: Known, fixed: list[int]) -> Access | None:
    """How the literal is read; None when it is falsified always; a ground one that is open is added to `fixed`."""
    satisfied = TRUE if positive else FALSE
    if all(isinstance(a, int) for a in args):
        status, literal = relation.at(_code(args, relation.sizes))
        if status == satisfied:
            raise _Satisfied
        if status == UNKNOWN:
            fixed.append(literal ^ (not positive))
        return None
    n_exceptions = relation.n_exceptions
    if relation.default == satisfied:
        if not n_exceptions:
            raise _Satisfied
        return Access(position, "inner", positive, args, relation, relation.table, n_exceptions, relation.n_open > 0)
    if not n_exceptions:
        return Access(position, "free", positive, args, relation) if relation.is_open else None
    surviving = relation.n_surviving(positive)
    if not surviving:
        raise _Satisfied
    if surviving == relation.n_ground and not relation.n_open:
        return None
    return Access(position, "left", positive, args, relation, relation.table, n_exceptions, relation.n_open > 0)


def _listed(accesses: list[Access]) -> list[Access]:
    """Turn left joins on open predicates into inner joins with a list of what is left, where that binds variables or is short."""
    bound = {name for a in accesses if a.way == "inner" for name in a.variables}
    result = list(accesses)
    for access in sorted(accesses, key=lambda a: (a.relation.n_surviving(a.positive), a.position)):
        if access.way != "left" or not access.relation.is_open:
            continue
        surviving = access.relation.n_surviving(access.positive)
        short = _LISTED_SHARE * surviving <= access.relation.n_ground
        if surviving <= _LISTED_AT_MOST and (short or not bound.issuperset(access.variables)):
            table = access.relation.table + ("_not_true" if access.positive else "_not_false")
            result[result.index(access)] = replace(access, way="inner", table=table, rows=surviving)
            bound.update(access.variables)
    return result


def _code(args: tuple[Argument, ...], sizes: tuple[int, ...]) -> int:
    code = 0
    for argument, size in zip(args, sizes, strict=True):
        code = code * size + int(argument)
    return code


def _parts(
    accesses: list[Access],
    unequal: list[tuple[Argument, Argument]],
    keep: list[str],
    types: Mapping[str, str],
    domains: Mapping[str, Domain],
) -> tuple[list[Part], set[str]]:
    """Split by connection through variables; also the variables that occur in any part."""
    pairs = [tuple(s for s in pair if isinstance(s, str)) for pair in unequal]
    above: dict[str, str] = {name: name for name in keep}  # towards the variable that stands for a part

    def top(name: str) -> str:
        while above[name] != name:
            above[name] = name = above[above[name]]
        return name

    for link in (*[a.variables for a in accesses], *pairs):
        for name in link:
            above.setdefault(name, name)
        for name in link[1:]:
            above[top(link[0])] = top(name)
    found = {name: _PartOf([], [], [], {}) for name in types if above.get(name) == name}
    for name, type_name in types.items():
        if name in above:
            found[top(name)].sizes[name] = len(domains[type_name])
    for access in accesses:
        found[top(access.variables[0])].accesses.append(access)
    for pair, names in zip(unequal, pairs, strict=True):
        found[top(names[0])].unequal.append(pair)
    for name in keep:
        found[top(name)].keep.append(name)
    return [_part(of.accesses, tuple(of.unequal), tuple(of.keep), of.sizes) for of in found.values()], set(above)


class _PartOf(NamedTuple):
    """What belongs to one part."""

    accesses: list[Access]
    unequal: list[tuple[Argument, Argument]]
    keep: list[str]
    sizes: dict[str, int]


def _part(
    accesses: list[Access], unequal: tuple[tuple[Argument, Argument], ...], keep: tuple[str, ...], sizes: dict[str, int]
) -> Part:
    waiting = sorted((a for a in accesses if a.way == "inner"), key=lambda a: (a.rows, a.position))
    joins: list[Access] = []
    bound: set[str] = set()
    while waiting:  # the smallest that shares a bound variable, else the smallest
        following = next((a for a in waiting if bound.intersection(a.variables)), waiting[0])
        waiting.remove(following)
        joins.append(following)
        bound.update(following.variables)
    filters = tuple(a for a in accesses if a.way == "left")
    free = tuple(a for a in accesses if a.way == "free")
    shown = set(keep).union(*(a.variables for a in accesses if a.has_output))
    return Part(
        joins=tuple(joins),
        domains=tuple((name, size) for name, size in sizes.items() if name not in bound),
        filters=filters,
        free=free,
        unequal=unequal,
        keep=keep,
        grouped=not shown.issuperset(sizes),
    )
