"""Plans as text: one query a pattern, plain ANSI SQL in named steps; what differs between databases is in `Dialect`.

Columns of a result: `v0, v1, …` values of the kept variables that are no constants; `o<position>` for
every literal that can stay open: its positive literal, or its atom's code (see `needs_rank`), -1 where it is falsified;
`n`, where the plan is grouped: how many substitutions gave the row.
"""

from __future__ import annotations

from markovlogic.data.evidence import FALSE, TRUE
from markovlogic.grounding.backends.base import Dialect
from markovlogic.grounding.plan import Access, Argument, Part, Plan

_INTEGERS = 2**62


def needs_rank(access: Access) -> bool:
    """Whether the output is the atom's code, to be turned into its number afterwards, and no literal yet."""
    return access.way == "left" and access.relation.is_open and not access.relation.coded


def query(plan: Plan, dialect: Dialect, *, numbers: dict[str, int] | None = None) -> str:
    """The query of a plan that has parts; `numbers` gives the columns of kept variables their numbers."""
    numbers = numbers or {}
    steps = [f"part{i} AS (\n{_indented(_part(part, dialect, numbers))}\n)" for i, part in enumerate(plan.parts)]
    columns = [f"part{i}.v{numbers[name]}" for i, part in enumerate(plan.parts) for name in part.keep]
    columns += [f"part{i}.o{a.position}" for i, part in enumerate(plan.parts) for a in part.outputs]
    counts = [f"part{i}.n" for i, part in enumerate(plan.parts) if part.grouped]
    if counts:
        if plan.groundings >= _INTEGERS and len(counts) > 1:  # the product could leave 64 bits
            counts[0] = f"CAST({counts[0]} AS DOUBLE)"
        columns.append(" * ".join(counts) + " AS n")
    source = " CROSS JOIN ".join(f"part{i}" for i in range(len(plan.parts)))
    return f"WITH {', '.join(steps)}\nSELECT {', '.join(columns) or '1 AS one'}\nFROM {source}"


def violation_query(plan: Plan, dialect: Dialect) -> tuple[str, tuple[str, ...]]:
    """A query for one substitution, the first in order, in which every literal is falsified; and its variables."""
    names: list[str] = []
    selected, tables = [], []
    for i, part in enumerate(plan.parts):
        place = _places(part)
        columns = ", ".join(f"{place[name]} AS x{len(names) + j}" for j, name in enumerate(place))
        where = [f"{_output(a, place)} = -1" for a in part.outputs]
        tables.append(f"(SELECT {columns} {_from(part, dialect, place, where)}) AS part{i}")
        selected += [f"part{i}.x{len(names) + j}" for j in range(len(place))]
        names += place
    text = f"SELECT {', '.join(selected)}\nFROM {' CROSS JOIN '.join(tables)}\nORDER BY {', '.join(selected)} LIMIT 1"
    return text, tuple(names)


def count_query(part: Part, dialect: Dialect) -> str:
    """How many rows the inner joins of a part give, without its domains and filters."""
    bare = Part(part.joins, (), (), (), _bound_pairs(part), (), True)
    return f"SELECT COUNT(*)\n{_from(bare, dialect, _places(bare), [])}"


def full_count_query(part: Part, dialect: Dialect) -> str:
    """How many substitutions of a part satisfy none of its literals."""
    return f"SELECT COUNT(*)\n{_from(part, dialect, _places(part), [])}"


def _bound_pairs(part: Part) -> tuple[tuple[Argument, Argument], ...]:
    bound = {name for a in part.joins for name in a.variables}
    return tuple(pair for pair in part.unequal if all(isinstance(s, int) or s in bound for s in pair))


def _part(part: Part, dialect: Dialect, numbers: dict[str, int]) -> str:
    place = _places(part)
    columns = [f"{place[name]} AS v{numbers[name]}" for name in part.keep]
    columns += [f"{_output(a, place)} AS o{a.position}" for a in part.outputs]
    n_keys = len(columns)
    if part.grouped:
        columns.append("COUNT(*) AS n")
    text = f"SELECT {', '.join(columns)}\n{_from(part, dialect, place, [])}"
    if part.grouped and n_keys:
        text += "\nGROUP BY " + ", ".join(str(i + 1) for i in range(n_keys))
    elif part.grouped:
        text += "\nHAVING COUNT(*) > 0"
    return text


def _places(part: Part) -> dict[str, str]:
    """The column that holds each variable of a part."""
    place: dict[str, str] = {}
    for access in part.joins:
        for i, argument in enumerate(access.args):
            if isinstance(argument, str):
                place.setdefault(argument, f"{access.alias}.a{i}")
    return place | {name: f"d{i}.v" for i, (name, _) in enumerate(part.domains)}


def _from(part: Part, dialect: Dialect, place: dict[str, str], more: list[str]) -> str:
    lines: list[str] = []
    where: list[str] = []
    for access in part.joins:
        _append_join(lines, where, f"{access.table} AS {access.alias}", _matches(access, place, own=False))
    for i, (_, size) in enumerate(part.domains):
        _append_join(lines, where, f"{dialect.integers(size)} AS d{i}", [])
    for access in part.filters:
        lines.append(f"LEFT JOIN {access.table} AS {access.alias} ON {' AND '.join(_matches(access, place, own=True))}")
        where += _unsatisfied(access)
    where += [f"{_argument(left, place)} <> {_argument(right, place)}" for left, right in part.unequal]
    where += more
    text = "\n".join(lines)
    return text + ("\nWHERE " + " AND ".join(where) if where else "")


def _append_join(lines: list[str], where: list[str], table: str, conditions: list[str]) -> None:
    if not lines:
        lines.append(f"FROM {table}")
        where += conditions
    elif conditions:
        lines.append(f"JOIN {table} ON {' AND '.join(conditions)}")
    else:
        lines.append(f"CROSS JOIN {table}")


def _matches(access: Access, place: dict[str, str], *, own: bool) -> list[str]:
    """Conditions under which a row of the access's table is the literal's atom; a column that binds a variable needs none."""
    conditions = []
    for i, argument in enumerate(access.args):
        column = f"{access.alias}.a{i}"
        wanted = _argument(argument, place)
        if own or wanted != column:
            conditions.append(f"{column} = {wanted}")
    return conditions


def _unsatisfied(access: Access) -> list[str]:
    """The condition that a left-joined literal is not satisfied; none where it never is."""
    alias = access.alias
    found = access.relation.exceptional
    if found == {access.satisfied}:
        return [f"{alias}.status IS NULL"]
    if access.satisfied not in found:
        return []
    return [f"({alias}.status IS NULL OR {alias}.status <> {access.satisfied})"]


def _output(access: Access, place: dict[str, str]) -> str:
    """The literal that stays open: as literal, or as code where `needs_rank`; -1 where it is falsified."""
    relation, alias = access.relation, access.alias
    if access.way == "free":
        return f"CAST(2 * ({_code(access, place)} + {relation.first}) + 1 AS {'BIGINT' if relation.coded else 'INTEGER'})"
    if access.way == "left" and relation.is_open:
        falsified = FALSE if access.positive else TRUE
        code = f"2 * ({_code(access, place)} + {relation.first}) + 1" if relation.coded else _code(access, place)
        if falsified not in relation.exceptional:
            return code
        return f"CASE WHEN {alias}.status IS NULL THEN {code} ELSE -1 END"
    if access.way == "left":
        return f"COALESCE({alias}.literal, -1)"
    return f"{alias}.literal"


def _code(access: Access, place: dict[str, str]) -> str:
    """Mixed radix number of the atom within its predicate, first argument most significant."""
    text = ""
    for argument, size in zip(access.args, access.relation.sizes, strict=True):
        column = f"CAST({_argument(argument, place)} AS BIGINT)"
        text = f"({text}) * {size} + {column}" if text else column
    return text


def _argument(argument: Argument, place: dict[str, str]) -> str:
    return str(argument) if isinstance(argument, int) else place[argument]


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())
