"""Marginal probabilities with their errors, in columns: millions of atoms cost arrays, never an object each."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from markovlogic.data.arrow import arrow_numbers, arrow_texts
from markovlogic.data.evidence import Domain, decode
from markovlogic.errors import InputError, nearest
from markovlogic.guarantee import Guarantee
from markovlogic.problem.values import WantedAtoms
from markovlogic.system.arrays import Float64, Int32, Int64, Pickled, frozen
from markovlogic.system.views import view

if TYPE_CHECKING:
    import pandas
    import polars

    from markovlogic.problem import Problem
    from markovlogic.problem.prepare import PreparedProblem


EVENT = -1  # in place of a predicate's number: the row is a formula, not an atom


class Estimate(float):
    """A probability that carries its errors; it is a float, so it can be compared and added as one."""

    stderr: float
    rhat: float  # nan where undefined
    ess: float  # nan where undefined

    def __new__(cls, probability: float, stderr: float = 0.0, rhat: float = math.nan, ess: float = math.nan) -> Estimate:
        """Keep the probability as the float's own value."""
        made = super().__new__(cls, probability)
        made.stderr, made.rhat, made.ess = stderr, rhat, ess
        return made

    @property
    def probability(self) -> float:
        """The bare number."""
        return float(self)

    def __repr__(self) -> str:
        return f"Estimate({float(self)!r}, stderr={self.stderr!r}, rhat={self.rhat!r}, ess={self.ess!r})"


@dataclass(frozen=True)
class Account:
    """What a method reports of its own run. None means that there is no such number."""

    chains: int = 0
    draws: int = 0
    burn_in: int = 0
    updates: int = 0  # atom updates over all chains, burn-in included
    seed: int | None = None
    log_z: float | None = None
    log_z_stderr: float | None = None  # None where log_z is exact
    log_z_bethe: float | None = None  # an approximation whose error nobody knows, so never called log_z
    log_weight: float | None = None
    acceptance: float | None = None
    bound: float | None = None
    resumed_at: int | None = None
    interrupted: bool = False
    converged: bool | None = None  # None where no chains ran and no messages were sent
    continued_with: str | None = None  # the method that `auto` went over to
    iterations: int | None = None  # rounds of messages

    def beside(self, other: Account) -> Account:
        """The account of two parts of a problem that no rule ties together, from that of each."""

        def given(name: str) -> list[Any]:
            return [own for own in (getattr(self, name), getattr(other, name)) if own is not None]

        logs, errors = given("log_z"), given("log_z_stderr")
        approximate = [one.log_z if one.log_z_bethe is None else one.log_z_bethe for one in (self, other)]
        is_known, is_approximate = len(logs) == 2, bool(given("log_z_bethe")) and None not in approximate
        return Account(
            chains=max(self.chains, other.chains),
            draws=max(self.draws, other.draws),
            burn_in=max(self.burn_in, other.burn_in),
            updates=self.updates + other.updates,
            seed=next(iter(given("seed")), None),
            log_z=sum(logs) if is_known else None,
            log_z_stderr=math.hypot(*errors) if is_known and errors else None,
            log_z_bethe=math.fsum(value for value in approximate if value is not None) if is_approximate else None,
            acceptance=min(given("acceptance"), default=None),
            bound=max(given("bound"), default=None),
            resumed_at=min(given("resumed_at"), default=None),
            interrupted=self.interrupted or other.interrupted,
            converged=all(given("converged")) if given("converged") else None,
            continued_with=self.continued_with or other.continued_with,
            iterations=max(given("iterations"), default=None),
        )


@dataclass(frozen=True)
class CompressionRecord:
    """What was solved in place of the original problem, or proposed to its chains."""

    name: str  # as `--compress` spells it
    summary: str  # the line next to the results: what was merged or lost, what is promised, how large the bias is

    def stats(self, guarantee: Guarantee) -> dict[str, str]:
        """As files have it; guarantee: of the answers."""
        return {"name": self.name, "summary": self.summary, "guarantee": guarantee.value}


SUM_IS_EXACT = "the sum over the compressed problem is exact"


@dataclass(frozen=True, kw_only=True)
class RunRecord(Account):
    """What was done: enough to judge the numbers and to repeat them."""

    method: str
    network: str
    estimator: str
    atoms: int
    clauses: int | None  # None where nothing was grounded
    seconds: Mapping[str, float]  # by stage
    peak_memory_bytes: int = 0
    sources: tuple[str, ...] = ()  # the model, then the evidence
    query: tuple[str, ...] = ()
    command: str = ""  # the command line, where there was one
    version: str = ""
    compression: CompressionRecord | None = None
    methods: Mapping[str, int] | None = None  # number of atoms by method, where components are solved by different ones

    @staticmethod
    def of(problem: Problem, account: Account, **more: Any) -> RunRecord:
        """The record of a run on a problem; more: the fields that neither of them knows."""
        from markovlogic._version import __version__

        sources = (problem.model.source, *problem.evidence.sources)
        return RunRecord(**vars(account), atoms=len(problem.atoms), sources=sources, version=__version__, **more)

    def method_with_note(self, guarantee: Guarantee) -> str:
        """The method for people; a sum that is exact for a compressed problem only is not called exact without saying so."""
        if self.methods is not None:
            return " and ".join(f"{name} for {atoms:,} atoms" for name, atoms in self.methods.items())
        return f"{self.method} ({SUM_IS_EXACT})" if self._only_sum_is_exact(guarantee) else self.method

    def _only_sum_is_exact(self, guarantee: Guarantee) -> bool:
        alone = self.method == "exact" and self.methods is None
        return alone and self.compression is not None and guarantee is not Guarantee.EXACT

    def stats(self, guarantee: Guarantee) -> dict[str, Any]:
        """The record as `--stats` writes it: plain values; what does not exist is left out."""
        always: dict[str, Any] = {
            "method": self.method,
            "network": self.network,
            "estimator": self.estimator,
            "guarantee": guarantee.value,
            "atoms": self.atoms,
            "clauses": self.clauses,
            "chains": self.chains,
            "draws": self.draws,
            "burn_in": self.burn_in,
            "updates": self.updates,
            "seconds": dict(self.seconds),
            "peak_memory_bytes": self.peak_memory_bytes,
        }
        sometimes = {
            "method_note": SUM_IS_EXACT if self._only_sum_is_exact(guarantee) else None,
            "methods": self.methods and dict(self.methods),
            "log_z": self.log_z,
            "log_z_stderr": self.log_z_stderr,
            "log_z_bethe": self.log_z_bethe,
            "log_weight": self.log_weight,
            "acceptance": self.acceptance,
            "bound": self.bound,
            "resumed_at": self.resumed_at,
            "seed": self.seed,
            "interrupted": self.interrupted or None,
            "converged": self.converged,
            "continued_with": self.continued_with,
            "iterations": self.iterations,
            "version": self.version or None,
            "compression": self.compression and self.compression.stats(guarantee),
        }
        return always | {key: value for key, value in sometimes.items() if value is not None and value == value}


@dataclass(frozen=True, eq=False)
class Draws(Pickled):
    """Sampled worlds of the reported atoms, kept only when requested."""

    values: npt.NDArray[np.bool_]  # (n_chains, n_draws, n_kept)
    row: Int64  # (n_kept,) rows of the result that they belong to
    thin: int = 1  # every so many draws one was kept


@dataclass(frozen=True, eq=False)
class Marginals(Pickled):
    """P(atom is true | evidence) for every row, sampling error and the method's own bias kept apart.

    Rows are sorted by the code points of `atom`. A row with predicate EVENT is a formula from the query.
    """

    atom: Any  # (n,) Arrow large_string: `Friends(Ann,Bob)`
    predicate_of: Int32  # (n,) index into `predicates`, or EVENT
    code: Int64  # (n,) number within the predicate, -1 for an event
    probability: Float64  # (n,)
    stderr: Float64  # (n,) 0 when exact, nan when undefined
    rhat: Float64  # (n,) nan when undefined
    ess: Float64  # (n,) nan when undefined
    guarantee: Guarantee
    run: RunRecord
    predicates: tuple[str, ...]
    domains: tuple[tuple[Domain, ...], ...]  # of the arguments of each predicate
    exclusive: tuple[tuple[bool, ...], ...] = ()  # which arguments of each predicate are exclusive
    whole: tuple[bool, ...] = ()  # whether all atoms of each predicate were requested
    notes: tuple[str, ...] = ()  # concerns that the method itself raised
    remarks: tuple[str, ...] = ()  # worth knowing, no reason for distrust
    draws: Draws | None = field(default=None, repr=False)
    prepared: PreparedProblem | None = field(default=None, repr=False)  # what was solved, so that `why` can explain it

    def __len__(self) -> int:
        return len(self.probability)

    def __iter__(self) -> Iterator[str]:
        for chunk in range(0, len(self), 65536):
            yield from self.atom[chunk : chunk + 65536].to_pylist()

    def __contains__(self, atom: object) -> bool:
        return isinstance(atom, str) and self._row(atom) is not None

    def __getitem__(self, atom: str) -> Estimate:
        """The estimate of one atom or formula, by its name; spaces outside quotes do not matter."""
        row = self._row(atom)
        if row is None:
            names = self.atom[:100_000].to_pylist()
            advice = nearest(atom, names) or "facts known from evidence are left out unless include_evidence=True"
            raise KeyError(f"{atom} is not in the result ({advice})")
        return Estimate(self.probability[row], float(self.stderr[row]), float(self.rhat[row]), float(self.ess[row]))

    def _row(self, atom: str) -> int | None:
        if not isinstance(atom, str):
            raise TypeError(f"results are found by an atom's name, such as result['Smokes(Bob)'], not by a {type(atom).__name__}")
        wanted = without_spaces(atom)
        low, high = 0, len(self)
        while low < high:  # the rows are sorted
            middle = (low + high) // 2
            if self.atom[middle].as_py() < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self.atom[low].as_py() == wanted else None

    def at(self, rows: Int64) -> Marginals:
        """Some of the rows, given in increasing order."""
        columns = {name: getattr(self, name)[rows] for name in ("predicate_of", "code", "probability", "stderr", "rhat", "ess")}
        draws = self.draws
        if draws is not None:
            place = np.searchsorted(rows, draws.row)
            stays = place < len(rows)
            stays[stays] = rows[place[stays]] == draws.row[stays]
            draws = Draws(draws.values[:, :, stays], place[stays], draws.thin)
        return frozen(replace(self, atom=self.atom.take(pa.array(rows)), draws=draws, **columns))

    def top(self, count: int) -> Marginals:
        """The rows with the largest probabilities of each predicate or pattern of the query; formulas stay.

        Of equal probabilities the first by name stay. Rows remain in the order of their names.
        """
        if count < 1:
            raise InputError(f"the number of rows to keep must be at least 1, not {count}")
        if self.prepared is None:
            raise InputError("this result does not hold its query", hint="give top to mln.infer")
        keep = self.predicate_of == EVENT
        value = np.where(np.isnan(self.probability), -1.0, self.probability)
        for item in self.prepared.problem.query:
            if isinstance(item.wanted, WantedAtoms) and item.wanted.predicate in self.predicates:
                number = self.predicates.index(item.wanted.predicate)
                rows = np.flatnonzero(self.predicate_of == number)
                args = decode(self.code[rows], tuple(map(len, self.domains[number])))
                for position, constant in enumerate(item.wanted.constants or ()):
                    if constant is not None:
                        fits = args[:, position] == constant
                        rows, args = rows[fits], args[fits]
                keep[rows[np.argsort(-value[rows], kind="stable")[:count]]] = True
        return self.at(np.flatnonzero(keep))

    # ---- tables

    def numbers(self) -> Any:
        """Arrow table of what the CSV file holds: atom, probability, stderr, rhat, ess; undefined numbers are null."""
        columns = {"probability": self.probability, "stderr": self.stderr, "rhat": self.rhat, "ess": self.ess}
        arrays = {name: arrow_numbers(column, np.isnan(column)) for name, column in columns.items()}
        return pa.table({"atom": self.atom, **arrays})

    def table(self) -> Any:
        """Arrow table: atom, probability, stderr, rhat, ess, predicate, then one column an argument (arg1, arg2, …).

        Undefined numbers are null; a formula has neither predicate nor arguments.
        """
        names = arrow_texts(self.predicates).take(arrow_numbers(self.predicate_of, self.predicate_of == EVENT))
        table = self.numbers().append_column("predicate", names)
        for position, column in enumerate(self.arguments(), 1):
            table = table.append_column(f"arg{position}", column)
        about = {"guarantee": self.guarantee.value, "run": json.dumps(self.run.stats(self.guarantee))}
        return table.replace_schema_metadata(about)

    def arguments(self) -> list[Any]:
        """An Arrow array for each argument position up to the largest arity among the rows; null where a row has none.

        Constants are strings, or integers where the user gave all constants of the types that stand there as integers.
        """
        used = [number for number in range(len(self.predicates)) if (self.predicate_of == number).any()]
        arity = max((len(self.domains[number]) for number in used), default=0)
        at = np.full((arity, len(self)), -1, np.int64)
        base: dict[str, int] = {}
        pool: list[str] = []
        for number in used:
            rows, domains = np.flatnonzero(self.predicate_of == number), self.domains[number]
            args = decode(self.code[rows], tuple(len(domain) for domain in domains))
            for position, domain in enumerate(domains):
                if domain.type_name not in base:
                    base[domain.type_name] = len(pool)
                    pool.extend(domain.names)
                at[position, rows] = base[domain.type_name] + args[:, position]
        names = arrow_texts(pool, large=True)
        made = []
        for position in range(arity):
            column = names.take(arrow_numbers(at[position], at[position] < 0))
            there = [self.domains[number][position] for number in used if len(self.domains[number]) > position]
            made.append(column.cast(pa.int64()) if all(domain.integers for domain in there) else column)
        return made

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas data frame; undefined numbers are nan."""
        return self.table().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The table as a Polars data frame; undefined numbers are null."""
        try:
            import polars
        except ImportError:
            raise InputError("Polars is not installed", hint="pip install 'markovlogic[polars]'") from None
        frame = polars.from_arrow(self.table())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def predicate(self, name: str, *, frame: str = "pandas") -> Any:
        """The rows of one predicate: a column an argument (arg1, arg2, …) in the types that the user gave, then the numbers.

        frame: "pandas", "polars" or "arrow".
        """
        return view("predicate_frame")(self, name, frame)

    def most_likely(self, name: str, *, frame: str = "pandas") -> Any:
        """The most probable value of each exclusive group of a predicate, one row a group: arguments, then the numbers.

        frame: as for `predicate`. Groups that the evidence decides are there with include_evidence=True only.
        """
        return view("most_likely")(self, name, frame)

    def clusters(self, name: str) -> Any:
        """Clusters of an equivalence relation as an Arrow table: constant, cluster, probability, uncertain.

        The partition disagrees least with the probabilities of pairs; pairs that are not in the result are taken to be apart, so
        ask with include_evidence=True where facts say who is the same. probability: that the cluster is exactly right, from
        draws (keep_draws=True; null without them). uncertain: constants that may or may not belong to it.
        """
        return view("clusters_table")(self, name)

    # ---- trust

    @property
    def converged(self) -> bool:
        """Whether the chains agree, have moved and have stopped drifting, or messages have settled; true where neither ran.

        The guarantee is about the method's target, this is about the run.
        """
        return self.run.converged is not False

    @property
    def ess_is_least(self) -> npt.NDArray[np.bool_]:
        """Rows whose effective sample size is a lower bound: beyond it the estimate would be noise."""
        from markovlogic.estimation.diagnostics import most_effective

        return self.ess >= most_effective(self.run.chains * self.run.draws) * (1 - 1e-12)

    def concerns(
        self, *, rhat_below: float | None = None, ess_above: float | None = None, stderr_below: float | None = None
    ) -> list[str]:
        """Reasons not to trust the numbers; empty when none was found.

        What the run itself noticed comes first (R-hat, ESS, atoms that never moved, traps of hard clauses); the arguments are
        stricter limits of the caller.
        """
        found = list(self.notes)
        with np.errstate(invalid="ignore"):
            if rhat_below is not None and (bad := self.rhat >= rhat_below).any():
                found.append(f"{_some(bad, self.atom)} an R-hat of {rhat_below:g} or more: the chains disagree; take more draws")
            if ess_above is not None and (bad := self.ess < ess_above).any():
                found.append(f"{_some(bad, self.atom)} fewer than {ess_above:g} effective draws: take more draws")
            if stderr_below is not None and (bad := self.stderr > stderr_below).any():
                found.append(f"{_some(bad, self.atom)} a standard error above {stderr_below:g}: take more draws")
        if (bad := np.isnan(self.probability)).any():
            found.append(f"{_some(bad, self.atom)} no probability: no draw was made")
        return found

    # ---- views

    def why(self, atom: str, **options: Any) -> Any:
        """Contributions of rules and facts that add up to an atom's log-odds; options are those of `mln.why`."""
        return view("why")(self, atom, **options)

    def chart(self) -> Any:
        """Altair chart of the marginals with error bars; a histogram and the most probable atoms where there are many."""
        return view("chart")(self)

    def report(self, path: str | Path, *, why: int | Sequence[str] = 0, truth: Any = None, other: Any = None) -> None:
        """Write the result to a file, by the name's ending: .html, .csv, .parquet, .json; without one, Alchemy's lines.

        A page also holds what the rest wants. why: explanations of so many atoms, those that the query names and then the most
        uncertain, or of the atoms listed. truth: as for `mln.evaluate`, shown as calibration. other: a result to compare with.
        """
        view("report_result")(self, path, why, truth, other)

    def explore(self, *, why: int | Sequence[str] = 0, truth: Any = None, other: Any = None) -> Any:
        """A live view for notebooks (extra `notebook`): select an atom to see why. Arguments are those of `report`."""
        return view("explore_result")(self, why, truth, other)

    def to_arviz(self) -> Any:
        """The kept draws as an xarray DataTree with the group `posterior`, as ArviZ reads it."""
        from markovlogic.estimation.export import to_arviz

        if self.draws is None:
            raise InputError("no draws were kept", hint="call infer(..., keep_draws=True) with a sampling method")
        names = self.atom.take(pa.array(self.draws.row)).to_pylist()
        about = {"method": self.run.method, "guarantee": self.guarantee.value}
        if self.run.compression is not None:
            about["compression"] = self.run.compression.summary
        return to_arviz(self.draws.values, names, thin=self.draws.thin, attributes=about)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return str(view("marginals_html")(self))

    def __repr__(self) -> str:
        compressed = "" if self.run.compression is None else f", compressed by {self.run.compression.name}"
        method = self.run.method_with_note(self.guarantee)
        return f"<{len(self)} marginals by {method}{compressed}, guarantee: {self.guarantee.value}>"


def without_spaces(text: str) -> str:
    """The text without white space outside double quotes."""
    if '"' not in text:
        return "".join(text.split())
    out, quoted, escaped = [], False, False
    for letter in text:
        if quoted or not letter.isspace():
            out.append(letter)
        if letter == '"' and not escaped:
            quoted = not quoted
        escaped = letter == "\\" and not escaped and quoted
    return "".join(out)


def _some(bad: npt.NDArray[np.bool_], names: Any) -> str:
    rows = np.flatnonzero(bad)
    first = names[int(rows[0])].as_py()
    return f"{first} has" if len(rows) == 1 else f"{len(rows)} rows ({first}, ...) have"
