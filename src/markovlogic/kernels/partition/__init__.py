"""Moves over partitions: records leave blocks and join others, blocks split and merge, other atoms follow by Gibbs.

A *row* is a truth value of the world: whether two nodes are together (a node is a record, or several that must be together), or
any other atom. A world is changed by flips of rows alone (`flips`), which keep what every clause counts, so that a move may look
at a world, take it back and choose. `records` moves single nodes and other atoms, `several` a few nodes at once, `merging` splits
and merges blocks, `sweep` does all of it for several chains, `starts` makes worlds to begin with, `enumeration` visits all worlds
of a small part.

Every random decision is made by `choices`, so that tests can follow all of them.
"""
