"""What a method may work on; light, so that help texts can name it."""

import enum


class NetworkKind(enum.StrEnum):
    """The form of a problem that a method reads; each equals its word as a string."""

    NONE = "none"  # the problem itself: nothing is grounded
    GROUND = "ground"  # clauses that the evidence leaves open, in compressed rows
    COUNTING = "counting"  # relations as bit tensors, and plans that count groundings
    COUNTS = "counts"  # of a compression: how many objects of each group are in each state
    BLOCKS = "blocks"  # of a compression: how many atoms of each block are true


COMPRESSED = (NetworkKind.COUNTS, NetworkKind.BLOCKS)  # what only a compression gives, see --compress-as
