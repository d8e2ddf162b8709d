"""The model as users of the Python interface hold it: a checked rule file that can read its own evidence."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from markovlogic.language import syntax
from markovlogic.system.views import view

if TYPE_CHECKING:
    from markovlogic.data.evidence import Evidence


class Model(syntax.Model):
    """A rule file: predicates, weighted formulas, constants."""

    @classmethod
    def of(cls, model: syntax.Model) -> Model:
        """The same model, with the methods of this class."""
        if isinstance(model, cls):
            return model
        return cls(**{field.name: getattr(model, field.name) for field in fields(model)})

    @classmethod
    def parse(cls, text: str) -> Model:
        """Read rules from text."""
        from markovlogic.language.load import parse

        return cls.of(parse(text))

    def evidence(self, *files: str | os.PathLike[str], closed_types: bool = False, **tables: Any) -> Evidence:
        """Read evidence: `.db` files (or `Pred=file.csv`), and tables by predicate: a pandas, Polars or Arrow table, a DuckDB
        relation, or a file (CSV, TSV, JSON lines, Parquet, DuckDB, SQLite). Columns are the arguments in order; a column
        `truth`, `probability` or `weight` is optional.
        """
        from markovlogic.data.readers import read_evidence
        from markovlogic.data.sources import parse_sources

        named = [source for file in files for source in (parse_sources(file) if isinstance(file, str) else (file,))]
        return read_evidence(self, [*named, *tables.items()], closed_types=closed_types)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return str(view("model_html")(self))

    def __repr__(self) -> str:
        return f"<model {self.source}: {len(self.declared)} predicates, {len(self.rules)} formulas>"


def load(path: str | os.PathLike[str]) -> Model:
    """Read a rule file; all its errors are reported at once."""
    from markovlogic.language.load import load as load_file

    return Model.of(load_file(path))
