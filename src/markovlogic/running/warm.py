"""Warm starts: most chains begin where those of an earlier run ended, so that burn-in starts near the right distribution.

A quarter of the chains always starts anew, far apart. Chains that stay in a mode in which the others do not then disagree with
them, and R-hat sees it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import Bool, Int64, Pickled, Words, frozen, packed, unpacked

STARTS_COLD_OF = 4  # of so many chains one starts anew
MOST_DRAWN = 20_000  # atoms that no earlier world has, drawn one by one before the first sweep; the first sweep draws more


@dataclass(frozen=True, eq=False)
class Ended(Pickled):
    """The last worlds of a run's chains, and what their sampler learned in burn-in."""

    atom: Int64  # (k,) atoms that the worlds are of, increasing
    words: Words  # (k, n_words) bit c of word w is chain 64·w + c
    chains: int
    learned: dict[str, np.ndarray]

    def of_chains(self, first: int, n_chains: int) -> Words:
        """(k,) the worlds of chains `first` and following, taken in turn where there are fewer; bit c is chain first + c."""
        found = np.zeros(len(self.atom), np.uint64)
        for lane in range(n_chains):
            chain = (first + lane) % self.chains
            bit = (self.words[:, chain // 64] >> np.uint64(chain % 64)) & np.uint64(1)
            found |= bit << np.uint64(lane)
        return found


class WarmStart(NamedTuple):
    """What the chains of a batch begin with, and the network that the worlds are of."""

    network: GroundNetwork
    ended: Ended


def is_cold(chain: int) -> bool:
    """Whether a chain starts anew; over 32 chains each of the eight ways to start has one of these."""
    return chain % STARTS_COLD_OF == (chain // 8) % STARTS_COLD_OF


def warm_lanes(first: int, n_chains: int) -> int:
    """A word of the chains of a batch that do not."""
    return sum(1 << lane for lane in range(n_chains) if not is_cold(first + lane))


def warm_worlds(start: WarmStart, cold: Words, first: int, n_chains: int, seed: np.random.SeedSequence) -> tuple[Words, int]:
    """Worlds to start from, and a word of the chains in which they are those of an earlier run.

    What an earlier world cannot say is as in a cold start and then drawn from its conditional. A chain whose world would break a
    hard rule starts anew.
    """
    from markovlogic.kernels.hidden import compute_hidden
    from markovlogic.kernels.literals import broken_word

    network, ended = start
    lanes = np.uint64(warm_lanes(first, n_chains))
    world = cold.copy()
    world[ended.atom] = (cold[ended.atom] & ~lanes) | (ended.of_chains(first, n_chains) & lanes)
    bias = network.atom_bias[: network.n_atoms]
    decided = np.flatnonzero(np.isinf(bias))
    world[decided] = cold[decided]
    if network.n_groups:
        _mend_groups(network, world, cold)
    known = np.zeros(network.n_atoms, np.bool_)
    known[ended.atom] = True
    known[network.group_atom] = True
    known[decided] = True
    new = np.flatnonzero(~known)
    if len(new) <= MOST_DRAWN and not network.n_hidden:
        _draw(network, world, new, int(lanes), n_chains, np.random.default_rng(seed))
    if network.n_hidden:
        hidden = frozen(np.arange(network.n_atoms, network.n_all, dtype=np.int32))
        compute_hidden(network.definition_start, network.definition_literal, network.n_atoms, hidden, world)
    wrong = np.uint64(broken_word(network.clause_start, network.clause_literal, network.n_soft, world, n_chains))
    of_hidden, required = world[network.n_atoms :], network.atom_bias[network.n_atoms :]
    wrong |= np.bitwise_or.reduce(np.concatenate([~of_hidden[required == np.inf], of_hidden[required == -np.inf]]), initial=0)
    lanes &= ~np.uint64(wrong)
    return (cold & ~lanes) | (world & lanes), int(lanes)


def _mend_groups(network: GroundNetwork, world: Words, cold: Words) -> None:
    """Where an exclusive group has no true value, or several, it is as in the cold start."""
    start, atom = network.group_start, network.group_atom
    size = np.diff(start)
    once, twice = np.zeros(len(size), np.uint64), np.zeros(len(size), np.uint64)
    for position in range(int(size.max(initial=0))):
        has = np.flatnonzero(size > position)
        member = world[atom[start[has] + position]]
        twice[has] |= once[has] & member
        once[has] |= member
    bad = np.repeat(twice | ~once, size)
    world[atom] = (world[atom] & ~bad) | (cold[atom] & bad)


def _draw(network: GroundNetwork, world: Words, atoms: Int64, lanes: int, n_chains: int, rng: np.random.Generator) -> None:
    """Draw atoms from their conditionals, one after the other, in the chains that start warm; nothing is hidden or grouped."""
    for atom in atoms.tolist():
        clauses = network.atom_clause[network.atom_start[atom] : network.atom_start[atom + 1]].astype(np.int64)
        odds = np.full(n_chains, network.atom_bias[atom])
        for clause in clauses.tolist():
            literal = network.clause_literal[network.clause_start[clause] : network.clause_start[clause + 1]]
            others = literal[literal >> 1 != atom]
            holds = _holds(world, others, n_chains)
            sign = 1.0 if (literal[literal >> 1 == atom] & 1).any() else -1.0
            weight = min(float(network.clause_weight[clause]), 700.0)
            odds += np.where(holds, 0.0, sign * weight)
        true = rng.random(n_chains) < 1.0 / (1.0 + np.exp(-np.clip(odds, -700.0, 700.0)))
        drawn = int(packed(true[:, None])[0]) & lanes
        world[atom] = np.uint64((int(world[atom]) & ~lanes) | drawn)


def _holds(world: Words, literal: np.ndarray, n_chains: int) -> Bool:
    if not len(literal):
        return np.zeros(n_chains, np.bool_)
    truth = unpacked(world[literal >> 1], n_chains)
    return np.asarray((truth == (literal & 1).astype(np.bool_)).any(axis=1))
