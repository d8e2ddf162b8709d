"""Sweeps over a network of short clauses on single atoms: what most networks are. See the package for how a sweep goes."""

import numpy as np

from markovlogic.kernels.counters import add_world
from markovlogic.kernels.gibbs.atom import add_row, forced_words, record_atom, settled
from markovlogic.kernels.gibbs.layout import NARROW
from markovlogic.kernels.gibbs.rows import N_HARD, SCALE
from markovlogic.kernels.internal import again, called
from markovlogic.kernels.literals import ALL
from markovlogic.kernels.logistic import drawn_word
from markovlogic.kernels.random import next_below
from markovlogic.kernels.vectors import LANES, float32_of_bits, int32_zeros, int64_zeros, scaled, times


@called
def sweep_plain(layout, room, world, chains, sweeps, random_scan, planes, conditionals):
    """Make `sweeps` sweeps; arguments as for `sweep.sweep_block`, of a layout that is plain."""
    generator, scalar, beta, n_chains, first = chains
    active = ALL >> np.uint64(LANES - n_chains)
    row, row_start = layout.rows.row, layout.rows.row_start
    site_kind, site_item = layout.rows.site_kind, layout.rows.site_item
    real, high = room.values.real, room.values.high
    n_sites = site_kind.shape[0]
    recording = conditionals.shape[0] > 0
    passes = 2 if random_scan and recording else 1
    for _ in range(sweeps):
        for visit in range(passes * n_sites):
            drawing = visit < n_sites
            site = visit if drawing else visit - n_sites
            if random_scan and drawing:
                site = next_below(scalar, n_sites)
            atom = np.uint64(site_item[np.uint64(site)])
            at = np.uint64(row_start[atom])
            scale = float32_of_bits(row[at + np.uint64(SCALE)])
            if site_kind[np.uint64(site)] == NARROW:
                log_odds = scaled(add_row(int32_zeros(chains), row, at, world), scale)
            else:
                log_odds = scaled(add_row(int64_zeros(chains), row, at, world), scale)
            log_odds = times(log_odds, beta)
            must, must_not = np.uint64(0), np.uint64(0)
            if row[at + np.uint64(N_HARD)] > 0:
                must, must_not = forced_words(row, at, world)
            if recording and (not random_scan or not drawing):
                record_atom(conditionals, atom, log_odds, must, must_not, real, n_chains, first)
            if drawing:
                world[atom] = settled(drawn_word(log_odds, generator, active, real, high), must, must_not) & active
        if planes.shape[0] > 0:
            add_world(planes, world)


sweep_half = again(sweep_plain, "sweep_half")  # for a HalfOfChains, where two threads share a batch
