"""Split or merge of blocks that carries along what other relations have tied to them.

Where clauses tie pairs of one relation to pairs of others (papers that are the same have titles that are the same), neither
blocks of papers nor blocks of titles can change alone. So the nodes of other relations that share a clause with a pair among the
members of the two blocks are taken out first. Then a split or a merge is proposed, without them, and then they are put back, one
after the other, each by its conditional given those that are there already (as `several`). Which nodes are taken out, and in
which order, depends on who the members are and on nothing else, which is the same for a split and the merge that undoes it. With
Z the sums of weights on the road forwards, and Z' those on the road back to where they were, a proposal is accepted with
probability min(1, R ∏ Z / ∏ Z'), R being the ratio of the split or merge itself.
"""

from markovlogic.kernels.internal import internal
from markovlogic.kernels.partition.far import has_far
from markovlogic.kernels.partition.merging import (
    absorb,
    accepts,
    close_sides,
    flip_across,
    listed,
    open_sides,
    propose_apart,
    propose_together,
    set_apart,
)
from markovlogic.kernels.partition.several import leave_all, note_companions, put_all

MOST_CARRIED = 200  # nodes that are redrawn; where there are more, nothing is proposed


@internal
def list_carried(net, chain, first, second, n):
    """List nodes of other relations that share a clause with a pair of members, each once; -1 where there are too many."""
    count = 0
    for i in range(n + 2):
        node = listed(chain, first, second, n, i)
        for k in range(net.near_start[node], net.near_start[node + 1]):
            if net.near_node[k] < node or chain.side[net.near_node[k]] < 0:
                continue
            for c in range(net.row_start[net.near_row[k]], net.row_start[net.near_row[k] + 1]):
                clause = net.incidence[c] >> 1
                for q in range(net.clause_start[clause], net.clause_start[clause + 1]):
                    row = net.clause_literal[q] >> 1
                    for end in range(2):
                        other = net.ends[row, end]
                        if other < 0 or net.count_start[other] == net.count_start[first] or has_far(net, other):
                            continue
                        if chain.marked[other] == 0 and count < MOST_CARRIED + 1:
                            chain.marked[other] = 1
                            chain.carried[count] = other
                            count += 1
    for i in range(count):
        chain.marked[chain.carried[i]] = 0
    return count if count <= MOST_CARRIED else -1


@internal
def carry(net, chain, first, second, scans, generator):
    """Propose one for a pair of nodes; gives whether it was accepted."""
    n = open_sides(net, chain, first, second)
    if n < 0:
        return False
    n_carried = list_carried(net, chain, first, second, n)
    accepted = n_carried > 0 and _carried_along(net, chain, first, second, n, n_carried, scans, generator)
    close_sides(chain, first, second, n)
    return accepted


@internal
def _carried_along(net, chain, first, second, n, n_carried, scans, generator):
    note_companions(net, chain, chain.carried, n_carried)
    leave_all(net, chain, chain.carried, n_carried)
    before = put_all(net, chain, chain.carried, n_carried, False, generator)
    leave_all(net, chain, chain.carried, n_carried)
    together = chain.block[first] == chain.block[second]
    if together:
        ratio = propose_apart(net, chain, first, second, n, scans, generator)
    else:
        ratio = propose_together(net, chain, first, second, n, scans, True, generator)
    after = put_all(net, chain, chain.carried, n_carried, True, generator)
    if chain.broken[0] == 0 and accepts(chain, ratio + after - before, generator):
        if together:
            set_apart(net, chain, first, second, n)
        else:
            absorb(net, chain, first, second, n)
        return True
    leave_all(net, chain, chain.carried, n_carried)
    flip_across(net, chain, first, second, n)
    put_all(net, chain, chain.carried, n_carried, False, generator)
    return False
