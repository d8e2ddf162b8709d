"""From an elimination order to the program that the blocked sampler interprets: the rows that scale its tables' entries.

Each elimination step is a *bucket*: its own variable and the scope that is joined with it. An entry of its table is addressed
by the codes' bits, own variable lowest, then the scope by bucket number; so the message of a bucket goes to those entries of
its parent's table whose bits, restricted to a mask, count up as the message's entries do. A *row* scales by exp(-weight) the
entries with (entry & mask) == value, in the chains where none (inverse rows: one) of its literals outside of the block is true.

To compile fast, inner functions take the few arrays that they need, and scratch comes from the caller.
"""

import numpy as np

from markovlogic.kernels.internal import called, internal

NONE, ONE = np.int64(0), np.int64(1)
ANY = np.int64(-1)  # instead of a code

# what stands where in arrays of numbers: the tables' rows while they are written
TO, MASK, VALUE, INVERSE, BEGIN, END, N_FIELDS = 0, 1, 2, 3, 4, 5, 6
# a literal inside of a block: the bucket of its variable, the code that it speaks of, and 0 if it says "not this one"
BUCKET, CODE, IS_POSITIVE, N_LITERAL = 0, 1, 2, 3
# scratch of a clause: its variables' buckets, where their options begin, which one is taken; and the options
VARIABLE, FIRST, TAKEN, OPTION, SIGN, N_WORK = 0, 1, 2, 3, 4, 5
# scratch of bounds, of each bucket: all rows that hold its variable; the messages it gets; those that depend on its scope too
INFLUENCE, INCOMING, VARYING = 0, 1, 2


@internal
def _emit(out, out_weight, n, bucket, mask, value, weight, inverse, begin, end):
    """Write a row where there is room for it (a first pass only counts)."""
    if out.shape[1] > 0:
        out[TO, n], out[MASK, n], out[VALUE, n] = bucket, mask, value
        out[INVERSE, n], out[BEGIN, n], out[END, n] = inverse, begin, end
        out_weight[n] = weight
    return n + 1


@internal
def _shift(scope_start, scope, scope_shift, bucket, other):
    """Where the code of another bucket's variable stands in a bucket's table."""
    if other == bucket:
        return NONE
    for at in range(scope_start[bucket], scope_start[bucket + 1]):
        if scope[at] == other:
            return scope_shift[at]
    raise ValueError("a row reaches out of its table's scope")


@internal
def _list_variables(literals, n_literals, work):
    """List the buckets of a clause's variables, each once; returns how many."""
    n = NONE
    for at in range(n_literals):
        known = False
        for i in range(n):
            known = known or work[i, VARIABLE] == literals[at, BUCKET]
        if not known:
            work[n, VARIABLE] = literals[at, BUCKET]
            n += 1
    return n


@internal
def _list_options(literals, n_literals, bucket, n_codes, is_hard, work, n):
    """Append the codes in which all literals on a bucket's variable are false; returns the new number of options.

    A literal that says of a group "value k" is false in all codes but k. For a soft clause these are the options "any code" and,
    with opposite weight (sign -1), code k; for a hard one there is an option for each other code.
    """
    n_negative = NONE
    for at in range(n_literals):
        if literals[at, BUCKET] == bucket and literals[at, IS_POSITIVE] == 0:
            work[n, OPTION], work[n, SIGN] = literals[at, CODE], 1
            n_negative += 1
    if n_negative > 0:
        return n + 1 if n_negative == 1 else n  # not this value, or not that one: never false
    if is_hard or n_codes == 2:
        for code in range(n_codes):
            is_named = False
            for at in range(n_literals):
                is_named = is_named or (literals[at, BUCKET] == bucket and literals[at, CODE] == code)
            if not is_named:
                work[n, OPTION], work[n, SIGN] = code, 1
                n += 1
        return n
    work[n, OPTION], work[n, SIGN] = ANY, 1
    n += 1
    for at in range(n_literals):
        if literals[at, BUCKET] == bucket:
            work[n, OPTION], work[n, SIGN] = literals[at, CODE], -1
            n += 1
    return n


@internal
def _take_next(work, n_variables):
    """Go on to the next combination of options; False after the last one."""
    for i in range(n_variables):
        work[i, TAKEN] += 1
        if work[i, TAKEN] < work[i + 1, FIRST]:
            return True
        work[i, TAKEN] = work[i, FIRST]
    return False


@internal
def _emit_clause(tables, literals, n_literals, weight, begin, end, work, out, out_weight, n):
    """Write the rows of one clause, given its literals inside of the block: they say in what entries it is false."""
    n_codes, bits = tables.n_codes, tables.own_bits
    scope_start, scope, scope_shift = tables.scope_start, tables.scope, tables.scope_shift
    n_variables = _list_variables(literals, n_literals, work)
    to, n_options = np.int64(2**62), NONE
    for i in range(n_variables):
        bucket = work[i, VARIABLE]
        to = min(to, bucket)
        work[i, FIRST], work[i, TAKEN] = n_options, n_options
        n_options = _list_options(literals, n_literals, bucket, n_codes[bucket], weight == np.inf, work, n_options)
        if n_options == work[i, FIRST]:
            return n  # never false
    work[n_variables, FIRST] = n_options
    while True:
        mask, value, sign = NONE, NONE, ONE
        for i in range(n_variables):
            option = work[i, TAKEN]
            sign *= work[option, SIGN]
            if work[option, OPTION] != ANY:
                bucket = work[i, VARIABLE]
                shift = _shift(scope_start, scope, scope_shift, to, bucket)
                mask |= ((1 << bits[bucket]) - 1) << shift
                value |= work[option, OPTION] << shift
        if mask != 0:
            n = _emit(out, out_weight, n, to, mask, value, weight * sign, NONE, begin, end)
        if not _take_next(work, n_variables):
            return n


@called
def write_rows(clauses, tables, scratch, n, out, out_weight, outside):
    """Write the rows of all blocks' clauses, unsorted, behind n others; returns the numbers of rows and of outside literals.

    clauses, tables, scratch: see `sampling.block_program`. out: (N_FIELDS, m), out_weight: (m,); a first call with nothing in
    these and in `outside` only counts.
    """
    variable_of, code_of, n_clauses, n_atoms = clauses.variable_of, clauses.code_of, clauses.n_clauses, clauses.n_atoms
    row_start, row_literal, row_weight = clauses.row_start, clauses.row_literal, clauses.row_weight
    variable_start, variable_row = clauses.variable_start, clauses.variable_row
    block_start, bucket_variable = tables.block_start, tables.bucket_variable
    bucket_of, stamp, literals, pair, work = scratch.bucket_of, scratch.stamp, scratch.literals, scratch.pair, scratch.work
    n_outside = NONE
    for block in range(block_start.shape[0] - 1):
        for bucket in range(block_start[block], block_start[block + 1]):
            bucket_of[bucket_variable[bucket]] = bucket
        for bucket in range(block_start[block], block_start[block + 1]):
            variable = bucket_variable[bucket]
            for entry in range(variable_start[variable], variable_start[variable + 1]):
                row = variable_row[entry]
                if stamp[row] == block:
                    continue
                stamp[row] = block
                begin, n_inside = n_outside, NONE
                for at in range(row_start[row], row_start[row + 1]):
                    atom = row_literal[at] >> 1
                    if variable_of[atom] >= 0 and bucket_of[variable_of[atom]] >= 0:
                        literals[n_inside, BUCKET] = bucket_of[variable_of[atom]]
                        literals[n_inside, CODE], literals[n_inside, IS_POSITIVE] = code_of[atom], row_literal[at] & 1
                        n_inside += 1
                    else:
                        if outside.shape[0] > 0:
                            outside[n_outside] = row_literal[at]
                        n_outside += 1
                n = _emit_clause(tables, literals, n_inside, row_weight[row], begin, n_outside, work, out, out_weight, n)
                if row < n_clauses:
                    continue
                own = bucket_of[variable_of[n_atoms + row - n_clauses]]
                if n_outside > begin:  # a true parent outside makes the hidden atom true
                    n = _emit(out, out_weight, n, own, ONE, NONE, np.inf, ONE, begin, n_outside)
                pair[0, BUCKET], pair[0, CODE], pair[0, IS_POSITIVE] = own, 1, 1
                for at in range(n_inside):
                    if literals[at, BUCKET] != own:  # and so does one inside
                        pair[1, BUCKET], pair[1, CODE] = literals[at, BUCKET], literals[at, CODE]
                        pair[1, IS_POSITIVE] = 1 - literals[at, IS_POSITIVE]
                        n = _emit_clause(tables, pair, np.int64(2), np.inf, NONE, NONE, work, out, out_weight, n)
        for bucket in range(block_start[block], block_start[block + 1]):
            bucket_of[bucket_variable[bucket]] = -1
    return n, n_outside


@called
def bound_ranges(tables, row_start, mask, weight, work, has_hard, span):
    """Fill in a bound on |log entry| of each bucket's table, zero entries left aside: `span` decides between floats and logs.

    Where no hard row takes part, a message varies no more than what depends on the scope: rows and messages at hand, and no more
    either than all rows that hold a variable of the scope, wherever they are. A hard row may rule the better entries out, so that
    from it on everything counts. work: (n_buckets, 3), has_hard: (n_buckets,), both zero: scratch.
    """
    own_bits, parent = tables.own_bits, tables.parent
    scope_start, scope, scope_shift = tables.scope_start, tables.scope, tables.scope_shift
    for bucket in range(span.shape[0]):
        own = (1 << own_bits[bucket]) - 1
        for row in range(row_start[bucket], row_start[bucket + 1]):
            if weight[row] == np.inf:
                continue
            if mask[row] & own:
                work[bucket, INFLUENCE] += abs(weight[row])
            for at in range(scope_start[bucket], scope_start[bucket + 1]):
                if (mask[row] >> scope_shift[at]) & ((1 << own_bits[scope[at]]) - 1):
                    work[scope[at], INFLUENCE] += abs(weight[row])
    for bucket in range(span.shape[0]):
        own = (1 << own_bits[bucket]) - 1
        total, depends = work[bucket, INCOMING], work[bucket, VARYING]
        for row in range(row_start[bucket], row_start[bucket + 1]):
            if weight[row] == np.inf:
                has_hard[bucket] = 1
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
                for at in range(scope_start[bucket], scope_start[bucket + 1]):
                    reach += work[scope[at], INFLUENCE]
                message = min(message, min(depends, reach))
            work[up, INCOMING] += message
            if scope_start[bucket + 1] - scope_start[bucket] > 1:
                work[up, VARYING] += message
            has_hard[up] |= has_hard[bucket]
