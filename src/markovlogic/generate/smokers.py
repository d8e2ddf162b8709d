"""Friends & Smokers, exactly as Singla and Domingos (2008) weigh it and [003] uses it."""

from __future__ import annotations

import numpy as np

from markovlogic.generate.draws import distinct_others, facts, known_ones, type_line
from markovlogic.generate.families import FRIENDS, Request
from markovlogic.generate.problem_files import FactBlock, Generated

FRIENDS_KNOWN = 10  # [003] footnote 2; with n people at most n - 1 are there (papers.md 2.14)

DECLARATIONS = "Smokes(person)\nCancer(person)\nFriends(person, person)\n"

RULES = """
1.4 !Smokes(x)
2.3 !Cancer(x)
4.6 !Friends(x, y)
1.5 Smokes(x) => Cancer(x)
1.1 Friends(x, y) ^ Smokes(x) => Smokes(y)
"""

NOTE = """\
Evidence: for that share of the people, whether they smoke and who min(10, people - 1) of their friends are.
Friends has true facts only. Queried or with --open Friends, friendships that are not listed stay open, as in the papers;
else they are false, because a predicate with evidence that is not queried is closed."""
VARIANTS_NOTE = """
In the variant same-friends these are the same ten people for all, in known-friends they are among the known people themselves."""


def rows(size: int, share: float) -> int:
    """About how many facts and constants there will be."""
    return size + int(share * size) * (1 + min(FRIENDS_KNOWN, size - 1))


def people(request: Request) -> tuple[str, tuple[FactBlock, ...]]:
    """The person type and the evidence of [003]: known smoking and known friends of a share of the people."""
    rng, size = request.rng, request.size
    smokes = rng.random(size) < 1 / (1 + np.exp(1.4))  # as likely as the first rule alone makes it
    friends = distinct_others(rng, np.arange(size), size, min(FRIENDS_KNOWN, size - 1))
    known = known_ones(rng, size, request.share)
    pairs = np.stack([np.repeat(known, friends.shape[1]), friends[known].ravel()], axis=1)
    if request.variant in FRIENDS:
        chosen = known if request.variant == "known-friends" else rng.permutation(size)[:FRIENDS_KNOWN]
        others = np.stack([grid.ravel() for grid in np.meshgrid(known, chosen[: FRIENDS_KNOWN + 1], indexing="ij")], axis=1)
        pairs = others[others[:, 0] != others[:, 1]]
    given = facts("Smokes(P%d)", known, smokes[known]) + facts("Friends(P%d,P%d)", pairs)
    return type_line("person", "P%d", np.arange(size)), given


def build(request: Request) -> Generated:
    """Rules of the paper, evidence of its footnote."""
    persons, given = people(request)
    return Generated("smokers", persons + DECLARATIONS + RULES, given, "Smokes,Cancer,Friends", NOTE + VARIANTS_NOTE)
