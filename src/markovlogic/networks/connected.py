"""Connected parts of a graph, with NumPy alone: importing SciPy's would take longer than all the rest of a small problem.

Every vertex is hooked to its smallest neighbour if that is smaller, chains of hooks are shortened to their roots, and the same is
done with the graph of the roots until no edge is left. Hooks only go down, so there are no cycles and the smallest vertex of a
part stays a root.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int32 = npt.NDArray[np.int32]
Vertices = npt.NDArray[np.integer]


def connected_parts(n: int, source: Vertices, target: Vertices) -> tuple[int, Int32]:
    """How many parts a graph of n vertices has, and the part of each vertex; parts are numbered by their smallest vertex."""
    smallest = _smallest(n, source.astype(np.int32, copy=False), target.astype(np.int32, copy=False))
    is_root = smallest == np.arange(n, dtype=np.int32)
    number = np.cumsum(is_root, dtype=np.int32) - np.int32(1)
    return int(np.count_nonzero(is_root)), number[smallest]


def _smallest(n: int, one: Int32, other: Int32) -> Int32:
    """For each vertex the smallest vertex of its part."""
    root = np.arange(n, dtype=np.int32)
    high = np.maximum(one, other)
    np.minimum.at(root, high, np.minimum(one, other))
    moving = np.flatnonzero(root != np.arange(n, dtype=np.int32))
    while len(moving):
        before = root[moving]
        root[moving] = root[before]
        moving = moving[root[moving] != before]
    one, other = root[one], root[other]
    apart = one != other
    if not apart.any():
        return root
    vertex = np.flatnonzero(root == np.arange(n, dtype=np.int32)).astype(np.int32)
    number = np.empty(n, np.int32)
    number[vertex] = np.arange(len(vertex), dtype=np.int32)
    deeper = _smallest(len(vertex), number[one[apart]], number[other[apart]])
    joined: Int32 = vertex[deeper[number[root]]]
    return joined
