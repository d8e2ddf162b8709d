"""From an elimination order to the program that the blocked sampler interprets: tables, and the rows that scale their entries.

Each elimination step is a *bucket*: its own variable and the scope that is joined with it. An entry of its table is addressed
by the codes' bits, own variable lowest, then the scope by bucket number; so the message of a bucket goes to those entries of
its parent's table whose bits, restricted to a mask, count up as the message's entries do. A *row* scales by exp(-weight) the
entries with (entry & mask) == value, in the chains where none (inverse rows: one) of its literals outside of the block is true.
"""

import numba
import numpy as np

from markovlogic.kernels.internal import internal

NONE, ONE = np.int64(0), np.int64(1)


@numba.njit(nogil=True, cache=True)
def lay_out(net, bucket_variable, scope_start, scope, scope_shift, table_bits, parent, parent_mask):
    """Fill in where the scope's codes stand in each table, the table's bits, the bucket's parent and its mask there."""
    for bucket in range(bucket_variable.shape[0]):
        shift = net.bits[bucket_variable[bucket]]
        for at in range(scope_start[bucket], scope_start[bucket + 1]):
            scope_shift[at] = shift
            shift += net.bits[bucket_variable[scope[at]]]
        table_bits[bucket] = shift
        parent[bucket] = scope[scope_start[bucket]] if scope_start[bucket] < scope_start[bucket + 1] else -1
    for bucket in range(bucket_variable.shape[0]):
        mask = 0
        for at in range(scope_start[bucket], scope_start[bucket + 1]):
            mask |= ((1 << net.bits[bucket_variable[scope[at]]]) - 1) << _shift(
                scope_start, scope, scope_shift, parent[bucket], scope[at]
            )
        parent_mask[bucket] = mask


@internal
def _shift(scope_start, scope, scope_shift, bucket, other):
    """Where the code of another bucket's variable stands in a bucket's table."""
    if other == bucket:
        return 0
    for at in range(scope_start[bucket], scope_start[bucket + 1]):
        if scope[at] == other:
            return scope_shift[at]
    raise ValueError("a row reaches out of its table's scope")


@internal
def _emit(out, n, bucket, mask, value, weight, inverse, begin, end):
    """Write a row where there is room for it (a first pass only counts)."""
    if out.bucket.shape[0] > 0:
        out.bucket[n], out.mask[n], out.value[n], out.weight[n] = bucket, mask, value, weight
        out.inverse[n], out.begin[n], out.end[n] = inverse, begin, end
    return n + 1


@internal
def _emit_clause(net, plan, literals, n_literals, weight, bucket_of, out, n, begin, end, work):
    """Rows of one clause: its literals inside of the block say which entries it is false in.

    A literal that says of a group "value k" is false in all codes but k. For a soft clause that is a row without the group's
    code and one of opposite weight with code k; for a hard one there is a row for each other code.
    """
    bucket, n_inside = np.int64(2**62), 0
    for at in range(n_literals):
        variable = net.variable_of[literals[at] >> 1]
        if variable < 0 or bucket_of[variable] < 0:
            continue
        bucket = min(bucket, bucket_of[variable])
        known = False
        for i in range(n_inside):
            known = known or work[0, i] == variable
        if not known:
            work[0, n_inside] = variable
            n_inside += 1
    if n_inside == 0:
        return n
    # options of each variable: codes in which its literals are false; -1 for any code; negative sign for opposite weight
    n_options = 0
    for i in range(n_inside):
        variable = work[0, i]
        work[1, i] = n_options
        negative, n_positive = -1, 0
        for at in range(n_literals):
            atom = literals[at] >> 1
            if net.variable_of[atom] == variable:
                if literals[at] & 1:
                    n_positive += 1
                elif negative >= 0:
                    return n  # not this value, or not that one: always true
                else:
                    negative = net.code_of[atom]
        if negative >= 0:
            work[2, n_options], work[3, n_options] = negative, 1
            n_options += 1
        elif weight == np.inf or net.n_codes[variable] == 2:
            for code in range(net.n_codes[variable]):
                is_false = True
                for at in range(n_literals):
                    atom = literals[at] >> 1
                    if net.variable_of[atom] == variable and net.code_of[atom] == code:
                        is_false = False
                if is_false:
                    work[2, n_options], work[3, n_options] = code, 1
                    n_options += 1
        else:
            work[2, n_options], work[3, n_options] = -1, 1
            n_options += 1
            for at in range(n_literals):
                atom = literals[at] >> 1
                if net.variable_of[atom] == variable:
                    work[2, n_options], work[3, n_options] = net.code_of[atom], -1
                    n_options += 1
        if n_options == work[1, i]:
            return n  # the group's values that are left make it true
    work[1, n_inside] = n_options
    for i in range(n_inside):
        work[4, i] = work[1, i]
    while True:
        mask, value, sign = NONE, NONE, ONE
        for i in range(n_inside):
            code = work[2, work[4, i]]
            sign *= work[3, work[4, i]]
            if code >= 0:
                variable = work[0, i]
                shift = _shift(plan.scope_start, plan.scope, plan.scope_shift, bucket, bucket_of[variable])
                mask |= ((1 << net.bits[variable]) - 1) << shift
                value |= code << shift
        if mask != 0:
            n = _emit(out, n, bucket, mask, value, weight * sign, False, begin, end)
        i = 0
        while i < n_inside:
            work[4, i] += 1
            if work[4, i] < work[1, i + 1]:
                break
            work[4, i] = work[1, i]
            i += 1
        if i == n_inside:
            return n


@internal
def _emit_biases(net, variable, bucket, out, n):
    """Rows of the unit clauses of a variable, and of codes that no atom has."""
    first, n_values = net.start[variable], net.start[variable + 1] - net.start[variable]
    own = (1 << net.bits[variable]) - 1
    is_group = net.code_of[net.atom[first]] == 0
    required = -1
    for place in range(n_values):
        if net.bias[net.atom[first + place]] == np.inf:
            required = net.code_of[net.atom[first + place]]
    for code in range(own + 1):
        bias = 0.0
        if is_group:
            bias = net.bias[net.atom[first + code]] if code < n_values else -np.inf
        elif code == 1:
            bias = net.bias[net.atom[first]]
        if required >= 0:
            bias = -np.inf if code != required else 0.0
        if bias != 0.0:
            n = _emit(out, n, bucket, own, code, -bias, False, NONE, NONE)
    return n


@numba.njit(nogil=True, cache=True)
def write_rows(net, plan, out, outside):
    """Write the rows of all blocks, bucket by bucket unsorted; returns the number of rows and of outside literals.

    A first call with empty arrays in `out` only counts.
    """
    n_variables = net.start.shape[0] - 1
    bucket_of = np.full(n_variables, -1, np.int64)
    stamp = np.full(net.row_weight.shape[0], -1, np.int64)
    widest = 4
    for row in range(net.row_weight.shape[0]):
        widest = max(widest, net.row_start[row + 1] - net.row_start[row])
    most_codes = 2
    for variable in range(n_variables):
        most_codes = max(most_codes, net.n_codes[variable])
    work = np.empty((5, widest * most_codes + 2), np.int64)
    literals, pair = np.empty(widest, np.int32), np.empty(2, np.int32)
    n, n_outside = NONE, NONE
    for block in range(plan.block_start.shape[0] - 1):
        first, last = plan.block_start[block], plan.block_start[block + 1]
        for bucket in range(first, last):
            bucket_of[plan.bucket_variable[bucket]] = bucket
        for bucket in range(first, last):
            variable = plan.bucket_variable[bucket]
            n = _emit_biases(net, variable, bucket, out, n)
            for place in range(net.start[variable], net.start[variable + 1]):
                atom = net.atom[place]
                for entry in range(net.atom_start[atom], net.atom_start[atom + 1]):
                    row = net.atom_row[entry]
                    if stamp[row] == block:
                        continue
                    stamp[row] = block
                    n_literals = net.row_start[row + 1] - net.row_start[row]
                    begin = n_outside
                    for at in range(n_literals):
                        literals[at] = net.row_literal[net.row_start[row] + at]
                        other = net.variable_of[literals[at] >> 1]
                        if other < 0 or bucket_of[other] < 0:
                            if outside.shape[0] > 0:
                                outside[n_outside] = literals[at]
                            n_outside += 1
                    n = _emit_clause(
                        net, plan, literals, n_literals, net.row_weight[row], bucket_of, out, n, begin, n_outside, work
                    )
                    if row >= net.n_clauses:
                        hidden = net.n_atoms + row - net.n_clauses
                        if n_outside > begin:  # a true parent outside makes the hidden atom true
                            own = bucket_of[net.variable_of[hidden]]
                            n = _emit(out, n, own, ONE, NONE, np.inf, True, begin, n_outside)
                        for at in range(n_literals):
                            other = net.variable_of[literals[at] >> 1]
                            if literals[at] >> 1 != hidden and other >= 0 and bucket_of[other] >= 0:
                                pair[0], pair[1] = 2 * hidden + 1, literals[at] ^ 1
                                n = _emit_clause(net, plan, pair, np.int64(2), np.inf, bucket_of, out, n, NONE, NONE, work)
        for bucket in range(first, last):
            bucket_of[plan.bucket_variable[bucket]] = -1
    return n, n_outside


@numba.njit(nogil=True, cache=True)
def bound_ranges(plan, own_bits, parent, row_start, mask, weight, span):
    """Fill in a bound on |log entry| of each bucket's table, zero entries left aside: `span` decides between floats and logs.

    Where no hard row takes part, a message varies no more than what depends on the scope: rows and messages at hand, and no more
    either than all rows that hold a variable of the scope, wherever they are. A hard row may rule the better entries out, so that
    from it on everything counts.
    """
    influence = np.zeros(span.shape[0])  # of all rows that hold a variable
    for bucket in range(span.shape[0]):
        own = (1 << own_bits[bucket]) - 1
        for row in range(row_start[bucket], row_start[bucket + 1]):
            if weight[row] == np.inf:
                continue
            if mask[row] & own:
                influence[bucket] += abs(weight[row])
            for at in range(plan.scope_start[bucket], plan.scope_start[bucket + 1]):
                if (mask[row] >> plan.scope_shift[at]) & ((1 << own_bits[plan.scope[at]]) - 1):
                    influence[plan.scope[at]] += abs(weight[row])
    incoming = np.zeros(span.shape[0])  # of the messages a bucket gets
    varying = np.zeros(span.shape[0])  # of those that depend on its scope too
    has_hard = np.zeros(span.shape[0], np.bool_)
    for bucket in range(span.shape[0]):
        own = (1 << own_bits[bucket]) - 1
        total, depends = incoming[bucket], varying[bucket]
        for row in range(row_start[bucket], row_start[bucket + 1]):
            if weight[row] == np.inf:
                has_hard[bucket] = True
            else:
                total += abs(weight[row])
                if mask[row] & ~own:
                    depends += abs(weight[row])
        span[bucket] = total
        up = parent[bucket]
        if up >= 0:
            message = total + own_bits[bucket]
            if not has_hard[bucket]:
                reach = 0.0
                for at in range(plan.scope_start[bucket], plan.scope_start[bucket + 1]):
                    reach += influence[plan.scope[at]]
                message = min(message, depends, reach)
            incoming[up] += message
            if plan.scope_start[bucket + 1] - plan.scope_start[bucket] > 1:
                varying[up] += message
            has_hard[up] |= has_hard[bucket]
