"""Whether moves of one atom, or of one exclusive group, reach every possible world.

Soft models always allow it. With hard clauses the chain may be confined to a part of the possible worlds and, from there, give
wrong answers with every sign of convergence (papers.md 2.3 and 2.14). Deciding it is hard in general; two sound tests
settle most models in practice: clauses that a site can satisfy for good are struck out (for the asthma model that strikes out
everything, papers.md 1.5), and what remains is enumerated where its components are small.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError
from markovlogic.methods.sampling.base import Settings
from markovlogic.networks.base import StartKind
from markovlogic.networks.components import connected_parts
from markovlogic.networks.ground import GroundNetwork
from markovlogic.networks.hard_part import HardPart, hard_part
from markovlogic.networks.starts import first_world_kind
from markovlogic.system.arrays import Bool, Int32, Int64, each_once, offsets

LARGEST_ENUMERATED = 12  # atoms of a component
MOST_ENUMERATED = 200  # components that differ in form


class Reachability(enum.Enum):
    """What single-site moves reach of the possible worlds."""

    ALL = "all"
    PART = "part"  # proved: some worlds are out of reach
    UNKNOWN = "unknown"


def single_site_reach(network: GroundNetwork) -> Reachability:
    """Decide, as far as the two tests go, whether single-site moves connect all possible worlds."""
    part = hard_part(network)
    if part.is_empty:
        return Reachability.ALL
    found = _peeled(part)
    if found is None:
        return Reachability.UNKNOWN
    value, left = found
    return _enumerated(part, value, left) if left.any() else Reachability.ALL


def tied_atoms(network: GroundNetwork) -> Bool:
    """(n_all,) the atoms, and values of groups, that clauses tie which no site can satisfy for good; none where unknown."""
    part = hard_part(network)
    tied = np.zeros(network.n_all, np.bool_)
    found = None if part.is_empty else _peeled(part)
    if found is not None:
        value, left = found
        literal = part.clause_literal[np.repeat(left == 1, np.diff(part.clause_start))]
        tied[literal >> 1] = True
        tied[value >= 0] = False
        in_group = np.flatnonzero(part.group_of >= 0)
        groups = each_once(part.group_of[in_group][tied[in_group]])
        tied[in_group[np.isin(part.group_of[in_group], groups)]] = True
    return tied


def _peeled(part: HardPart) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.uint8]] | None:
    """What hard clauses decide, and which of them stay when those are struck out that a site can satisfy for good.

    None where hidden atoms are among them, or where they have no world.
    """
    from markovlogic.kernels.satisfy import peel, propagate

    if part.has_hidden:
        return None
    value = part.value.copy()
    clauses = (part.clause_start, part.clause_literal)
    groups = (part.group_start, part.group_atom, part.group_of)
    if not propagate(*clauses, part.atom_start, part.atom_clause, *groups, value):
        return None
    literal = part.clause_literal
    satisfied = value[literal >> 1] == (literal & 1)
    holds = np.logical_or.reduceat(satisfied, part.clause_start[:-1])
    left = (~holds).astype(np.uint8)
    peel(*clauses, *groups, (value >= 0).astype(np.uint8), left)
    return value, left


def _enumerated(part: HardPart, value: np.ndarray, left: np.ndarray) -> Reachability:
    """Look at every component of the clauses left; components of the same form are enumerated once."""
    n_all = len(value)
    sizes = np.diff(part.clause_start)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    kept = (left[owner] == 1) & (value[part.clause_literal >> 1] < 0)
    owner, literal = owner[kept], part.clause_literal[kept]
    in_group = np.flatnonzero((part.group_of >= 0) & (value < 0))
    # Atoms, then clauses, then groups are the nodes of a graph that joins what constrains each other.
    n_clauses, n_groups = len(sizes), len(part.group_start) - 1
    source = np.concatenate([literal >> 1, in_group])
    target = np.concatenate([n_all + owner, n_all + n_clauses + part.group_of[in_group]])
    n_nodes = n_all + n_clauses + n_groups
    _, label = connected_parts(n_nodes, source, target)
    constrained = each_once(label[literal >> 1])
    free = np.flatnonzero(value < 0)
    atoms_by = _by_label(free, label[free])
    clause_nodes = each_once(owner)
    clauses_by = _by_label(clause_nodes, label[n_all + clause_nodes])
    row_start = np.searchsorted(owner, np.arange(n_clauses + 1))
    known: dict[tuple[object, ...], bool] = {}
    unknown = False
    for component in constrained:
        atoms = atoms_by[int(component)]
        if len(atoms) > LARGEST_ENUMERATED:
            unknown = True
            continue
        place = {int(atom): i for i, atom in enumerate(atoms)}
        rows = tuple(
            tuple((place[int(q) >> 1], int(q) & 1) for q in literal[row_start[c] : row_start[c + 1]])
            for c in clauses_by[int(component)]
        )
        members = part.group_of[atoms]
        form = (len(atoms), rows, tuple(np.unique(members, return_inverse=True)[1]), tuple(members >= 0))
        if form not in known:
            if len(known) == MOST_ENUMERATED:
                unknown = True
                break
            known[form] = _is_connected(len(atoms), rows, members)
        if not known[form]:
            return Reachability.PART
    return Reachability.UNKNOWN if unknown else Reachability.ALL


def _by_label(item: np.ndarray, label: np.ndarray) -> dict[int, np.ndarray]:
    order = np.argsort(label, kind="stable")
    names, first = np.unique(label[order], return_index=True)
    return dict(zip(names.tolist(), np.split(item[order], first[1:]), strict=True))


def _is_connected(n: int, rows: tuple[tuple[tuple[int, int], ...], ...], group: Int32) -> bool:
    """Whether single-site moves connect all worlds of n atoms that obey the clauses and groups."""
    world: Int64 = np.arange(2**n)
    bit = (world[:, None] >> np.arange(n)) & 1
    possible = np.ones(2**n, bool)
    for row in rows:
        possible &= np.logical_or.reduce([bit[:, atom] == sign for atom, sign in row])
    moves = [1 << atom for atom in range(n) if group[atom] < 0]
    for name in each_once(group[group >= 0]):
        members = np.flatnonzero(group == name)
        possible &= bit[:, members].sum(axis=1) == 1
        moves += [(1 << int(a)) | (1 << int(b)) for a in members for b in members if a < b]
    source = np.concatenate([world[possible & possible[world ^ move]] for move in moves] or [world[:0]])
    target = np.concatenate([world[possible & possible[world ^ move]] ^ move for move in moves] or [world[:0]])
    _, label = connected_parts(2**n, source, target)
    return len(each_once(label[possible])) <= 1


Start = Literal["auto", "random", "false", "satisfying"]
STARTS = ("auto", "random", "false", "satisfying")


def start_kind(start: Start) -> StartKind:
    """What a network is requested."""
    return "spread" if start == "auto" else start


def start_words(start: Start, first: int, n_chains: int) -> tuple[str, ...]:
    """A word for the start of each chain; empty where all start alike."""
    return tuple(first_world_kind(first + chain) if start == "auto" else "" for chain in range(n_chains))


def check_start(settings: str, start: str, *, obeying: bool = False) -> None:
    """Refuse words that mean nothing; `obeying` leaves those that obey hard clauses."""
    known = ("auto", "satisfying") if obeying else STARTS
    if start not in known:
        raise InputError(f"{settings}: start is {start!r}, expected one of {', '.join(known)}")


SCANS = ("systematic", "random")


@dataclass(frozen=True)
class Scanning(Settings):
    """Settings of Gibbs sampling.

    scan: "systematic" updates every atom in order. "random" draws atoms uniformly, as many as there are.
    start: "auto" starts chains far apart, "satisfying" from fair coins; both obey the hard rules. "random" (fair coins) and
        "false" (all atoms false) may break them.
    """

    scan: Literal["systematic", "random"] = "systematic"
    start: Start = "auto"

    def __post_init__(self) -> None:
        for name, value, known in (("scan", self.scan, SCANS), ("start", self.start, STARTS)):
            if value not in known:
                raise InputError(f"Gibbs: {name} is {value!r}, expected one of {', '.join(known)}")

    @property
    def method(self) -> str:
        """The method's name on the command line."""
        return "gibbs"

    @property
    def has_conditionals(self) -> bool:
        """Gibbs draws from conditionals, so it can give them."""
        return True

    @property
    def fixed_order(self) -> bool:
        """Systematic scan visits atoms by number."""
        return self.scan == "systematic"

    @property
    def start_is_free(self) -> bool:
        """Whether worlds to start from are not looked at: they may break hard rules."""
        return self.start in ("random", "false")

    def concern(self, counts: dict[str, int], instead: str) -> list[str]:
        """That starts broke hard rules, where they did, and what to take instead."""
        if not counts.get("hard_broken", 0):
            return []
        return [
            f'gibbs: chains started with start="{self.start}" broke hard rules after '
            f"{counts['hard_broken']} of their sweeps; take {instead}."
        ]


def until_obeyed(sweeps: int, breaking: Callable[[], int], sweep: Callable[[], None]) -> tuple[int, dict[str, int]]:
    """Sweep one by one, at most so many times, while chains break hard rules; how often was swept, and the count of it.

    A chain that obeys all hard rules goes on doing so. Chains are looked at after every sweep, so that the count (chains times
    sweeps after which they broke a rule) does not depend on how sweeps are shared out among steps.
    """
    done = broken = 0
    while done < sweeps and breaking():
        sweep()
        broken += breaking()
        done += 1
    return done, {"hard_broken": broken}


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
