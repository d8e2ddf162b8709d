"""Sweeps over a chain of the counting network, and the world that they leave."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from markovlogic.kernels.counting.layout import MODE, ROWS, Chain, Layout, Record
from markovlogic.networks.counting.network import CountingNetwork
from markovlogic.system.arrays import Words

NO_COUNTS = np.zeros(0, np.uint8)
NO_CONDITIONALS = np.zeros((0, 1), np.float32)
NO_SUMS = np.zeros((0, 2))
NOTHING = Record(NO_COUNTS, NO_CONDITIONALS, NO_SUMS, 0)


def has_rows_alone(network: CountingNetwork) -> bool:
    """Whether nothing but single atoms is drawn: no exclusive groups, and nothing that hidden atoms depend on."""
    return bool((network.relations.predicate[network.site[:, 0], MODE] == ROWS).all())


def kernel_of(network: CountingNetwork) -> str:
    """The kernel that sweeps it, as `kernels.are_cold` takes it."""
    return "counting.sweep:sweep_rows" if has_rows_alone(network) else "counting.sweep:sweep_chain"


def sweep(
    network: CountingNetwork,
    chain: Chain,
    sweeps: int,
    record: Record = NOTHING,
    *,
    random_scan: bool = False,
    layout: Layout | None = None,
) -> int:
    """Make sweeps in place; gives how many atoms were drawn. layout: the network's with other sites, where not all are drawn."""
    from markovlogic.kernels.counting.sweep import sweep_chain, sweep_rows

    own = network.layout if layout is None else layout
    if has_rows_alone(network):
        return int(sweep_rows(own, None, chain, sweeps, random_scan, record))
    return int(sweep_chain(own, network.definitions, chain, sweeps, random_scan, record))


def add_world(network: CountingNetwork, bits: Words, out: npt.NDArray[np.unsignedinteger]) -> None:
    """Add each open atom's truth value to `out`, (n_atoms,)."""
    from markovlogic.kernels.counting.sweep import read_atoms

    read_atoms(network.relations, network.open_atoms.mask, bits, 0, out)
