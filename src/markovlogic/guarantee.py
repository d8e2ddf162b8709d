"""What a method promises about its own bias; sampling error stands apart from it."""

import enum


class Guarantee(enum.StrEnum):
    """The four words of every result, from strongest to weakest; each equals its word as a string."""

    EXACT = "exact"  # the target is the true model
    CORRECTED = "corrected"  # an approximate proposal, an accept/reject step keeps the target exact
    BOUNDED = "bounded"  # a proved bound comes with the number
    UNBOUNDED = "unbounded"  # no bound is known

    def __or__(self, other: "Guarantee") -> "Guarantee":
        """Combine two guarantees: the weaker one holds."""
        order = list(Guarantee)
        return max(self, other, key=order.index)
