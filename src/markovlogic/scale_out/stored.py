"""Predicates and types whose rows are in a database: what plans need to know of them are counts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.errors import InputError
from markovlogic.grounding.backends import Engine


@dataclass(frozen=True, eq=False)
class StoredDomain:
    """The constants of one type; those that rules name are known here, all others are looked up."""

    type_name: str
    table: str  # name, id
    size: int
    known: dict[str, int]
    engine: Engine

    def __len__(self) -> int:
        return self.size

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the constants that were looked up so far."""
        return tuple(self.known)

    @property
    def number_of(self) -> StoredDomain:
        """Itself, in the place of a dictionary."""
        return self

    def __contains__(self, name: str) -> bool:
        if name not in self.known:
            found = self.engine.row(f"SELECT id FROM {self.table} WHERE name = {text(name)}")
            if found is not None:
                self.known[name] = int(found[0])
        return name in self.known

    def __getitem__(self, name: str) -> int:
        return self.number(name)

    def number(self, name: str) -> int:
        """Number of a constant; an unknown one is an input error."""
        if name not in self:
            raise InputError(f"unknown constant {name} of type {self.type_name}")
        return self.known[name]

    def name(self, number: int) -> str:
        """Name of a constant."""
        return str(self.engine.rows(f"SELECT name FROM {self.table} WHERE id = {number}")[0][0])


@dataclass(frozen=True, eq=False)
class StoredRelation:
    """A predicate as a table a0, a1, …, status, literal of what differs from the default; see `grounding.relations.Known`."""

    table: str
    types: tuple[str, ...]
    sizes: tuple[int, ...]
    default: int
    n_listed: tuple[int, int, int]  # rows by status
    first: int = 0  # code of the predicate's first atom among all atoms
    engine: Engine | None = field(default=None, repr=False)
    coded: bool = True

    @cached_property
    def n_ground(self) -> int:
        """How many ground atoms there are."""
        return prod(self.sizes)

    @property
    def n_exceptions(self) -> int:
        """How many atoms are listed."""
        return sum(self.n_listed)

    @property
    def n_open(self) -> int:
        """How many atoms are open."""
        return self.n_ground - self.n_exceptions if self.default == UNKNOWN else self.n_listed[UNKNOWN]

    @property
    def is_open(self) -> bool:
        """Whether the default is UNKNOWN."""
        return self.default == UNKNOWN

    @property
    def exceptional(self) -> frozenset[int]:
        """The statuses that occur among the exceptions."""
        return frozenset(status for status, n in enumerate(self.n_listed) if n)

    def n_surviving(self, positive: bool) -> int:
        """How many atoms leave a literal of this sign unsatisfied."""
        n_false = self.n_ground - self.n_listed[TRUE] - self.n_open
        return self.n_ground - (self.n_listed[TRUE] if positive else n_false)

    def at(self, code: int) -> tuple[int, int]:
        """Status of one atom, and its positive literal where it is open."""
        assert self.engine is not None
        values, rest = [], code
        for size in reversed(self.sizes):
            rest, digit = divmod(rest, size)
            values.append(digit)
        where = " AND ".join(f"t.a{i} = {value}" for i, value in enumerate(reversed(values)))
        row = self.engine.row(f"SELECT status FROM {self.table} AS t" + (f" WHERE {where}" if where else ""))
        status = self.default if row is None else int(row[0])
        return status, 2 * (code + self.first) + 1 if status == UNKNOWN else -1

    # ---- SQL

    @property
    def columns(self) -> list[str]:
        """Columns of the arguments."""
        return [f"a{i}" for i in range(len(self.sizes))]

    def code(self, alias: str) -> str:
        """The atom's code among all atoms, of a row with its arguments."""
        made = ""
        for i, size in enumerate(self.sizes):
            column = f"CAST({alias}.a{i} AS BIGINT)"
            made = f"({made}) * {size} + {column}" if made else column
        return f"({made or 'CAST(0 AS BIGINT)'} + {self.first})"

    def every(self) -> str:
        """A query for the arguments of all atoms."""
        assert self.engine is not None
        if not self.sizes:
            return "SELECT 1 AS one"
        columns = ", ".join(f"d{i}.v AS a{i}" for i in range(len(self.sizes)))
        return f"SELECT {columns} FROM " + " CROSS JOIN ".join(
            f"{self.engine.dialect.integers(size)} AS d{i}" for i, size in enumerate(self.sizes)
        )

    def with_status(self, wanted: str) -> str:
        """A query for the arguments and status of atoms; wanted: a condition on `status`."""
        listed = ", ".join([*self.columns, "status"])
        if self.default != UNKNOWN:  # what is false by default is never wanted
            return f"SELECT {listed} FROM {self.table} AS t WHERE {wanted}"
        columns = ", ".join([*(f"e.{c}" for c in self.columns), f"COALESCE(t.status, {UNKNOWN}) AS status"])
        return f"SELECT {listed} FROM (SELECT {columns} FROM ({self.every()}) AS e {self.left_join('e')}) AS s WHERE {wanted}"

    def left_join(self, alias: str) -> str:
        """Join the statuses as t to rows that have the arguments."""
        return f"LEFT JOIN {self.table} AS t ON " + (" AND ".join(f"t.{c} = {alias}.{c}" for c in self.columns) or "1 = 1")

    def opened(self) -> str:
        """A query for the arguments of open atoms."""
        return self.with_status(f"status = {UNKNOWN}")

    def surviving(self, positive: bool) -> str:
        """A query for the rows of all atoms that leave a literal unsatisfied, of a predicate that is open by default."""
        satisfied = TRUE if positive else FALSE
        literal = f"CASE WHEN s.status = {UNKNOWN} THEN 2 * {self.code('s')} + 1 ELSE -1 END AS literal"
        return f"SELECT s.*, {literal} FROM ({self.with_status(f'status <> {satisfied}')}) AS s"

    def falsified(self, *, positive: bool) -> StoredRelation:
        """What a literal of this sign sees of it: falsified where that is known, satisfied everywhere else."""
        value = FALSE if positive else TRUE
        columns = ", ".join(f"t.{c}" for c in self.columns)
        if self.default == value:
            n, where = self.n_exceptions, "1 = 1"
        else:
            n, where = self.n_listed[value], f"t.status = {value}"
        default = value if self.default == value else 1 - value
        listed = [0, 0, 0]
        listed[1 - default] = n
        prefix = f"{columns}, " if columns else ""
        table = f"(SELECT {prefix}{1 - default} AS status, CAST(-1 AS BIGINT) AS literal FROM {self.table} AS t WHERE {where})"
        return replace(self, table=table, default=default, n_listed=(listed[0], listed[1], 0))


def text(value: str) -> str:
    """A string as SQL writes it, the same in all dialects: nothing but letters and digits stands between quotes."""
    if value.replace("_", "").replace("-", "").isalnum() and value.isascii():
        return f"'{value}'"
    return "concat(" + ", ".join(f"chr({ord(letter)})" for letter in value) + ", '')"


def stored(engine: Engine, relation: StoredRelation) -> StoredRelation:
    """The relation with the numbers of rows that its table has."""
    counts = dict(engine.rows(f"SELECT status, COUNT(*) FROM {relation.table} AS t GROUP BY status"))
    return replace(relation, n_listed=tuple(int(counts.get(status, 0)) for status in range(3)), engine=engine)  # type: ignore[arg-type]
