"""Which hidden atoms depend on which sites."""

import numpy as np

from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import Int32, Int64, offsets


def hidden_reach(network: GroundNetwork, site_start: Int64, site_atom: Int32) -> tuple[Int64, Int32]:
    """For each site, a row of atoms, the hidden atoms that depend on it, directly or through others.

    site_start: (n_sites + 1,) offsets into site_atom. Returns the like: offsets, and hidden atoms in increasing order.
    """
    from markovlogic.kernels.hidden import collect_reach

    start = np.zeros(len(site_start), np.int64)
    nothing = np.zeros(0, np.int32)
    if not network.n_hidden:
        return start, nothing
    parent = network.definition_literal >> 1
    child = np.repeat(np.arange(network.n_hidden, dtype=np.int32) + network.n_atoms, np.diff(network.definition_start))
    order = np.argsort(parent, kind="stable")
    child_start = offsets(np.bincount(parent, minlength=network.n_all))
    graph = (child_start, child[order].astype(np.int32), site_start, site_atom)
    collect_reach(*graph, np.full(network.n_all, -1, np.int32), start, nothing)
    reach = np.zeros(int(start[-1]), np.int32)
    collect_reach(*graph, np.full(network.n_all, -1, np.int32), start, reach)
    return start, reach[np.lexsort((reach, np.repeat(np.arange(len(start) - 1), np.diff(start))))]
