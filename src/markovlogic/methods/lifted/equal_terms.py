"""Terms of a clause that must be the same, where its inequations are to be false."""

from __future__ import annotations

from markovlogic.language.syntax import Constant, Term


class EqualTerms:
    """Terms that are equal; a constant stands for all that equal it."""

    def __init__(self) -> None:
        self.parent: dict[Term, Term] = {}

    def root(self, term: Term) -> Term:
        """What a term stands for."""
        while (above := self.parent.get(term, term)) != term:
            term = above
        return term

    def join(self, one: Term, other: Term) -> bool:
        """Make two terms one; False where they are different constants."""
        one, other = self.root(one), self.root(other)
        if one == other:
            return True
        if isinstance(one, Constant):
            one, other = other, one
        if isinstance(one, Constant):
            return False
        self.parent[one] = other
        return True
