"""All worlds of a small part of a network: its nodes by restricted growth, then its other atoms and exclusive groups.

A node joins a block of nodes that come before it, all of whose members it may be with, or is alone. Sums are kept by depth, so
that each choice is made, summed up and taken back once.
"""

import numpy as np

from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.partition.far import has_far
from markovlogic.kernels.partition.flips import begin, flip, is_outside
from markovlogic.kernels.partition.sweep import chain_of

NODE, SITE, GROUP = 0, 1, 2  # kinds of places at which a choice is made
ALONE, ALONE_RELATED, FIRST_BLOCK = 0, 1, 2


@internal
def _may_join(net, chain, node, leader):
    """Whether a node may be with all members of a placed block, which its first member names."""
    if chain.block[leader] != leader or (chain.size[leader] == 1 and is_outside(net, chain, leader)):
        return False
    there = 0
    for k in range(net.near_start[node], net.near_start[node + 1]):
        there += chain.block[net.near_node[k]] == leader
    return there == chain.size[leader]


@internal
def _may_join_far(net, chain, node, leader):
    """The same where unlisted pairs may be together too; the leader is any node that is placed."""
    if chain.block[leader] != leader or net.count_start[leader] != net.count_start[node] or not has_far(net, leader):
        return False
    there = 0
    for k in range(net.barred_start[node], net.barred_start[node + 1]):
        there += chain.block[net.barred_node[k]] == leader
    return there == 0


@internal
def _leader(net, places, item, choice):
    """The first member of the block that a choice is about: by what is near the node, or by place."""
    if has_far(net, item):
        return places[choice - FIRST_BLOCK, 1]
    return net.near_node[net.near_start[item] + choice - FIRST_BLOCK]


@internal
def _next_choice(net, chain, places, depth, choice):
    """The next choice at a place after the one given (-1: the first one), or -1 where there is none."""
    kind, item = places[depth, 0], places[depth, 1]
    if kind == SITE:
        return choice + 1 if choice < 1 else -1
    if kind == GROUP:
        return choice + 1 if choice + 1 < net.group_start[item + 1] - net.group_start[item] else -1
    if choice < ALONE:
        return ALONE
    if choice < ALONE_RELATED and net.self_row[item] >= 0:
        return ALONE_RELATED
    if has_far(net, item):
        for earlier in range(max(choice + 1 - FIRST_BLOCK, 0), depth):
            if places[earlier, 0] == NODE and _may_join_far(net, chain, item, places[earlier, 1]):
                return FIRST_BLOCK + earlier
        return -1
    at = net.near_start[item] + max(choice + 1 - FIRST_BLOCK, 0)
    while at < net.near_start[item + 1]:
        if chain.block[net.near_node[at]] >= 0 and _may_join(net, chain, item, net.near_node[at]):
            return FIRST_BLOCK + at - net.near_start[item]
        at += 1
    return -1


@internal
def _flip_rows(net, chain, places, depth, choice):
    """Make a choice, or take it back, as far as rows go; whoever takes it back restores `total` afterwards."""
    kind, item = places[depth, 0], places[depth, 1]
    if kind == SITE:
        if choice == 1:
            flip(net, chain, item)
    elif kind == GROUP:
        flip(net, chain, net.group_row[net.group_start[item] + choice])
    else:
        if choice != ALONE and net.self_row[item] >= 0:
            flip(net, chain, net.self_row[item])
        if choice >= FIRST_BLOCK:
            leader = _leader(net, places, item, choice)
            if has_far(net, item):
                chain.total[0] += net.far[item] * net.mass[item] * chain.load[leader]
            for k in range(net.near_start[item], net.near_start[item + 1]):
                if chain.block[net.near_node[k]] == leader:
                    flip(net, chain, net.near_row[k])


@internal
def _place(net, chain, places, item, choice):
    leader = item if choice < FIRST_BLOCK else _leader(net, places, item, choice)
    chain.block[item] = leader
    chain.size[leader] += 1
    chain.load[leader] += net.mass[item]


@internal
def _take_back(net, chain, item):
    chain.size[chain.block[item]] -= 1
    chain.load[chain.block[item]] -= net.mass[item]
    chain.block[item] = -1


@internal
def _credit(net, chain, places, depth, choice, share, marginal):
    """Add a share to every row that a choice made true; a node's block must not hold it any longer."""
    kind, item = places[depth, 0], places[depth, 1]
    if kind == SITE:
        if choice == 1:
            marginal[item] += share
    elif kind == GROUP:
        marginal[net.group_row[net.group_start[item] + choice]] += share
    else:
        if choice != ALONE and net.self_row[item] >= 0:
            marginal[net.self_row[item]] += share
        if choice >= FIRST_BLOCK:
            leader = _leader(net, places, item, choice)
            for k in range(net.near_start[item], net.near_start[item + 1]):
                if chain.block[net.near_node[k]] == leader:
                    marginal[net.near_row[k]] += share


@called
def prepare(net, chains, at):
    """Everything alone, false and unplaced: exclusive groups have no true row yet. Rows must be false but for decided ones."""
    chain = chain_of(chains, at)
    begin(net, chain)
    for node in range(chain.block.shape[0]):
        chain.block[node] = -1
        chain.size[node] = 0
        chain.load[node] = 0


@called
def visit_worlds(net, chains, places, room, choice, pinned, limits, marginal, heaviest):
    """Visit all worlds of a part; gives their number, their largest log-weight, and the sum of exp(log-weight − top).

    places: (n, 2) kinds and items. room: (2, n + 1) float64 and choice: (n + 1,) int64, by depth. pinned: (n_nodes,) int8, 1 at
    nodes that are to be one block, all of it; (0,) where all worlds count. limits: (3,) float64, top (-inf where sums are not
    wanted yet), the largest number of worlds, after which it gives up (the number is negative then), and how many hard clauses of
    other parts are broken. marginal: (n_rows,) gets the sums over the worlds in which a row is true; (0,) where that is not
    wanted. heaviest: (n,) int64 gets the choices that lead to a world of the largest log-weight; (0,) where they are not wanted.
    The chain is in the end what `prepare` made of it.
    """
    chain = chain_of(chains, 0)
    n = places.shape[0]
    top, most, elsewhere = limits[0], limits[1], np.int64(limits[2])
    weight, share = room[0], room[1]
    worlds, best, depth = 0, -np.inf, 0
    chain.total[0] = 0.0
    share[0] = 0.0
    choice[0] = -1
    gives_up = False
    while not gives_up:
        if depth == n:
            worlds += 1
            gives_up = worlds > most
            ended = 0.0
            if chain.broken[0] == elsewhere and _fits(places, net, chain, pinned):
                if chain.total[0] > best:
                    best = chain.total[0]
                    for at in range(heaviest.shape[0]):
                        heaviest[at] = choice[at]
                if top > -np.inf:
                    ended = np.exp(chain.total[0] - top)
            share[n] = ended
            if n == 0:
                break
        else:
            choice[depth] = _next_choice(net, chain, places, depth, choice[depth])
            if choice[depth] >= 0:
                weight[depth] = chain.total[0]
                _flip_rows(net, chain, places, depth, choice[depth])
                if places[depth, 0] == NODE:
                    _place(net, chain, places, places[depth, 1], choice[depth])
                depth += 1
                choice[depth] = -1
                share[depth] = 0.0
                continue
            if depth == 0:
                break
        ended = share[depth]
        depth -= 1
        share[depth] += ended
        _undo(net, chain, places, choice, depth, weight, ended, marginal)
    while depth > 0:  # where it gave up
        depth -= 1
        _undo(net, chain, places, choice, depth, weight, 0.0, marginal)
    return (-worlds if gives_up else worlds), best, share[0]


@called
def settle(net, chains, places, choice):
    """Make choices at places, in this order, and keep them; choice: (n,) as `visit_worlds` gives the heaviest ones."""
    chain = chain_of(chains, 0)
    for at in range(places.shape[0]):
        _flip_rows(net, chain, places, at, choice[at])
        if places[at, 0] == NODE:
            _place(net, chain, places, places[at, 1], choice[at])


@internal
def _undo(net, chain, places, choice, depth, weight, share, marginal):
    if places[depth, 0] == NODE:
        _take_back(net, chain, places[depth, 1])
    if marginal.shape[0] > 0:
        _credit(net, chain, places, depth, choice[depth], share, marginal)
    _flip_rows(net, chain, places, depth, choice[depth])
    chain.total[0] = weight[depth]


@internal
def _fits(places, net, chain, pinned):
    """Whether the pinned nodes are one block, and nobody else is in it."""
    if pinned.shape[0] == 0:
        return True
    block = -1
    for at in range(places.shape[0]):
        if places[at, 0] == NODE and pinned[places[at, 1]] == 1:
            block = chain.block[places[at, 1]]
            break
    for at in range(places.shape[0]):
        node = places[at, 1]
        if places[at, 0] == NODE and (chain.block[node] == block) != (pinned[node] == 1):
            return False
    return True


@called
def visit_parts(net, chains, part, start, places, room, choice, limits, elsewhere, marginal, found):
    """Visit all worlds of many parts, twice: for the largest log-weight, and for sums; stops before a part that takes too many.

    part: (n,) their numbers. start: (n_parts + 1,) where the places of each begin. limits: (3,) room, the second entry being the
    most worlds of one part. elsewhere: (n_parts,) as in `visit_worlds`. marginal: (n_rows,) gets sums, not yet divided. found:
    (n, 3) float64 gets worlds (negative where it gave up, 0 where there is none), largest log-weight, and sum.
    """
    nobody, nothing, nowhere = limits[:0].view(np.int8), limits[:0], choice[:0]
    for at in range(part.shape[0]):
        own = places[start[part[at]] : start[part[at] + 1]]
        limits[0] = -np.inf
        limits[2] = elsewhere[part[at]]
        worlds, top, _ = visit_worlds(net, chains, own, room, choice, nobody, limits, nothing, nowhere)
        found[at, 0] = worlds
        found[at, 1] = top
        if worlds < 0 or top == -np.inf:
            found[at, 0] = min(worlds, 0)
            continue
        limits[0] = top
        _, _, total = visit_worlds(net, chains, own, room, choice, nobody, limits, marginal, nowhere)
        found[at, 2] = total


@called
def visit_clusters(net, chains, part, start, places, room, choice, limits, elsewhere, top, first, node, pinned, share):
    """How likely clusters are blocks, times the sum of their parts: the sums over worlds in which they are.

    part: (n,) the part of each cluster, top: (n,) its largest log-weight. first: (n + 1,), node: the members of each. pinned:
    (n_nodes,) int8, zeros.
    """
    nothing, nowhere = limits[:0], choice[:0]
    for at in range(part.shape[0]):
        own = places[start[part[at]] : start[part[at] + 1]]
        limits[0] = top[at]
        limits[2] = elsewhere[part[at]]
        for k in range(first[at], first[at + 1]):
            pinned[node[k]] = 1
        _, _, share[at] = visit_worlds(net, chains, own, room, choice, pinned, limits, nothing, nowhere)
        for k in range(first[at], first[at + 1]):
            pinned[node[k]] = 0
