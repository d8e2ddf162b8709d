"""Page classes from words and links, of the shape of the WebKB benchmark ([000] Table 1, [001] M4), with five classes.

1000 pages give 10,000 links and, for the 25 pairs of classes, 250,000 ground clauses.
"""

from __future__ import annotations

import numpy as np

from markovlogic.generate.draws import facts, known_ones, random_atoms, structure, type_line, weights
from markovlogic.generate.families import Request
from markovlogic.generate.problem_files import Generated
from markovlogic.system.arrays import Int64, each_once

CLASSES = ("Course", "Faculty", "ResearchProject", "Staff", "Student")
N_WORDS = 100
WORDS_A_PAGE = 5
LINKS_A_PAGE = 10
KIND_OF_LINK = 0.6  # links and words that follow the page's class instead of chance

NOTE = """\
Each page has one class; its words and links depend on it. Evidence: all words and links, and the classes of that share of
the pages. The page classes are not exclusive arguments but five predicates, as in the benchmark. Weights are uniform draws, kept
so small that the marginals are not all 0 or 1 and the model has one phase.
The variant open has as many words as pages, and nothing is known but that share of all ground atoms, links and words
among them, chosen at random, with random truth values: query all predicates."""


def rows(size: int, share: float) -> int:
    """About how many facts and constants there will be; the variant open may have fewer."""
    return size * (1 + WORDS_A_PAGE + LINKS_A_PAGE) + int(share * size) * len(CLASSES) + N_WORDS


def build(request: Request) -> Generated:
    """Words and links drawn around hidden classes, which the evidence share reveals."""
    rng, size = request.rng, request.size
    if request.variant == "open":
        return _open(request)
    page_class = rng.integers(0, len(CLASSES), size)
    words, links = _words(rng, page_class), _links(rng, page_class)
    rules = _rules(rng)
    known = known_ones(rng, size, request.share)
    given = structure("Linked(P%d,P%d)", links) + structure("HasWord(W%d,P%d)", words)
    for number, name in enumerate(CLASSES):
        given += facts(f"{name}(P%d)", known, page_class[known] == number)
    return Generated("webkb", f"{_declarations(size, N_WORDS)}\n{rules}", given, ",".join(CLASSES), NOTE)


def _open(request: Request) -> Generated:
    """M4 of [001]: classes, words and links are all open but for random ground atoms."""
    size, rules = request.size, _rules(request.rng)
    atoms: dict[str, tuple[int, ...]] = dict.fromkeys((f"{name}(P%d)" for name in CLASSES), (size,))
    atoms |= {"HasWord(W%d,P%d)": (size, size), "Linked(P%d,P%d)": (size, size)}
    given = random_atoms(request.rng, atoms, request.share)
    return Generated("webkb", f"{_declarations(size, size)}\n{rules}", given, ",".join((*CLASSES, "HasWord", "Linked")), NOTE)


def _declarations(pages: int, words: int) -> str:
    types = type_line("page", "P%d", np.arange(pages)) + type_line("word", "W%d", np.arange(words))
    return types + "".join(f"{name}(page)\n" for name in CLASSES) + "HasWord(word, page)\nLinked(page, page)\n"


def _rules(rng: np.random.Generator) -> str:
    n = len(CLASSES)
    # Twenty links a page and five classes at each end add up: larger link weights would make "all classes" and "no class" two
    # separate phases, between which no sampler moves.
    word_weights, link_weights, priors = weights(rng, n, 0, 0.5), iter(weights(rng, n * n, 0, 0.05)), weights(rng, n, 0.5, 1.5)
    lines = [f"{weight} !HasWord(w, p) v {name}(p)" for weight, name in zip(word_weights, CLASSES, strict=True)]
    lines += [f"{next(link_weights)} !{source}(x) v !Linked(x, y) v {target}(y)" for source in CLASSES for target in CLASSES]
    lines += [f"{weight} !{name}(p)" for weight, name in zip(priors, CLASSES, strict=True)]
    return "\n".join(lines) + "\n"


def _words(rng: np.random.Generator, page_class: Int64) -> Int64:
    """Different (word, page) pairs: most words of a page come from its class's fifth of the vocabulary."""
    page = np.repeat(np.arange(len(page_class)), WORDS_A_PAGE)
    own = N_WORDS // len(CLASSES)
    of_class = page_class[page] * own + rng.integers(0, own, len(page))
    word = np.where(rng.random(len(page)) < KIND_OF_LINK, of_class, rng.integers(0, N_WORDS, len(page)))
    code = each_once(page * N_WORDS + word)
    return np.stack([code % N_WORDS, code // N_WORDS], axis=1)


def _links(rng: np.random.Generator, page_class: Int64) -> Int64:
    """Ten links a page on average, to other pages, most of them to the class that follows the page's own.

    Fewer than ten where there are not so many pages.
    """
    n = len(page_class)
    wanted, possible = min(LINKS_A_PAGE * n, n * (n - 1)), n * (n - 1)
    if 2 * wanted >= possible:  # so dense that chance would look long for the last ones
        code = rng.permutation(possible)[:wanted]
        source, rank = np.divmod(code, max(n - 1, 1))
        return _sorted_pairs(source, rank + (rank >= source), n)
    members = np.argsort(page_class, kind="stable")
    start = np.searchsorted(page_class[members], np.arange(len(CLASSES) + 1))
    code = np.zeros(0, np.int64)
    while len(code) < wanted:
        source = rng.integers(0, n, 2 * (wanted - len(code)) + 16)
        favoured = (page_class[source] + 1) % len(CLASSES)
        count = np.diff(start)[favoured]
        at = start[favoured] + (rng.random(len(source)) * count).astype(np.int64)
        follows = (rng.random(len(source)) < KIND_OF_LINK) & (count > 0)
        target = np.where(follows, members[np.minimum(at, n - 1)], rng.integers(0, n, len(source)))
        code = each_once(np.concatenate([code, (source * n + target)[source != target]]))
    return _sorted_pairs(*np.divmod(rng.permutation(code)[:wanted], n), n)


def _sorted_pairs(source: Int64, target: Int64, n: int) -> Int64:
    code = np.sort(source * n + target)
    return np.stack(np.divmod(code, n), axis=1)
