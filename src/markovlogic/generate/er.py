"""Entity resolution of the shape of the Cora benchmark: the 14 rule forms of [000], several citations a paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from markovlogic.generate.draws import facts, known_ones, structure, type_line, weights
from markovlogic.generate.families import Request
from markovlogic.generate.problem_files import FactBlock, Generated
from markovlogic.system.arrays import Int64, each_once

CITATIONS_A_PAPER = 5
PAPERS_A_VENUE = 4
SPELLINGS = 2  # in how many ways an author, a title or a venue is written
WORDS_A_NAME = 3

NOTE = """\
Each paper is cited about five times; authors, titles and venues are spelt in two ways. Evidence: which citation has which author,
title and venue, and their words; and, among that share of the citations, authors, titles and venues, which pairs are the same.
Rules are the 14 of the benchmark, weights drawn from [0, 1]; no rule uses the words, they are there for learning.
The number of ground atoms grows with the square of the size, of ground clauses with its cube."""


@dataclass(frozen=True, eq=False)
class Field:
    """One field of a citation: its predicate, its type, its constants, and which spelling belongs to which true value."""

    name: str
    type_name: str
    letter: str
    value_of: Int64  # (n_spellings,)
    of_citation: Int64  # (n_citations,)


def rows(size: int, share: float) -> int:
    """About how many facts and constants there will be; the known pairs are many."""
    return 20 * size + int(share * size) ** 2 * 2


def build(request: Request) -> Generated:
    """Papers, their fields, citations that spell them, and the pairs that the evidence share reveals."""
    rng, size = request.rng, request.size
    n_papers = -(-size // CITATIONS_A_PAPER)
    paper = rng.integers(0, n_papers, size)
    author, venue = rng.integers(0, n_papers, n_papers), rng.integers(0, -(-n_papers // PAPERS_A_VENUE), n_papers)
    fields = [
        _field(rng, "Author", "A", author[paper]),
        _field(rng, "Title", "T", paper),
        _field(rng, "Venue", "V", venue[paper]),
    ]
    n_words = 10 + 3 * n_papers
    given: tuple[FactBlock, ...] = ()
    for field in fields:
        given += structure(f"{field.name}(B%d,{field.letter}%d)", np.stack([np.arange(size), field.of_citation], axis=1))
        given += structure(f"HasWord{field.name}({field.letter}%d,W%d)", _words(rng, field, n_words))
    rules = _rules(rng)
    given += _known_pairs(rng, "SameBib(B%d,B%d)", paper, request.share)
    for field in fields:
        given += _known_pairs(rng, f"Same{field.name}({field.letter}%d,{field.letter}%d)", field.value_of, request.share)
    types = type_line("bib", "B%d", np.arange(size)) + type_line("word", "W%d", np.arange(n_words))
    types += "".join(type_line(field.type_name, f"{field.letter}%d", np.arange(len(field.value_of))) for field in fields)
    query = ",".join(["SameBib", *(f"Same{field.name}" for field in fields)])
    return Generated("er", f"{types}{_declarations(fields)}\n{rules}", given, query, NOTE)


def _declarations(fields: list[Field]) -> str:
    lines = ["SameBib(bib, bib)"]
    for field in fields:
        kind = field.type_name
        lines += [f"{field.name}(bib, {kind})", f"Same{field.name}({kind}, {kind})", f"HasWord{field.name}({kind}, word)"]
    return "\n".join(lines) + "\n"


def _rules(rng: np.random.Generator) -> str:
    names = ("Author", "Title", "Venue")
    drawn = iter(weights(rng, 14))
    lines = [f"{next(drawn)} !{n}(b1, x1) v !{n}(b2, x2) v !Same{n}(x1, x2) v SameBib(b1, b2)" for n in names]
    lines += [f"{next(drawn)} !{n}(b1, x1) v !{n}(b2, x2) v !SameBib(b1, b2) v Same{n}(x1, x2)" for n in names]
    lines += [f"{next(drawn)} !Same{n}(x1, x2) v !Same{n}(x2, x3) v Same{n}(x1, x3)" for n in ("Bib", *names)]
    lines += [f"{next(drawn)} !Same{n}(x1, x2)" for n in ("Bib", *names)]
    return "\n".join(lines) + "\n"


def _field(rng: np.random.Generator, name: str, letter: str, value_of_citation: Int64) -> Field:
    """Number the spellings that citations use without gaps, and keep the true value behind each."""
    spelling = value_of_citation * SPELLINGS + (rng.random(len(value_of_citation)) < 0.3)
    used, of_citation = np.unique(spelling, return_inverse=True)
    return Field(name, name.lower(), letter, used // SPELLINGS, of_citation.astype(np.int64))


def _words(rng: np.random.Generator, field: Field, n_words: int) -> Int64:
    """(constant, word): two words that all spellings of a value share and one of chance."""
    shared = np.stack([field.value_of * 7 + 1, field.value_of * 13 + 5], axis=1) % n_words
    word = np.concatenate([shared, rng.integers(0, n_words, (len(shared), WORDS_A_NAME - 2))], axis=1)
    code = each_once(np.arange(len(word))[:, None] * n_words + word)
    return np.stack(np.divmod(code, n_words), axis=1)


def _known_pairs(rng: np.random.Generator, atom: str, value: Int64, share: float) -> tuple[FactBlock, ...]:
    """All pairs among a share of the constants, true where their values are the same."""
    known = known_ones(rng, len(value), share)
    pairs = np.stack([np.repeat(known, len(known)), np.tile(known, len(known))], axis=1)
    return facts(atom, pairs, value[pairs[:, 0]] == value[pairs[:, 1]])
