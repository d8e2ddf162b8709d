"""Exact checks that permutations of literals map the rows of a network to its rows."""

import numpy as np

from markovlogic.kernels.internal import allocating, called


@allocating
def preserve_rows(start, literal, kind, head, literal_start, literal_row, colour, move_start, moved, moved_to, preserved):
    """For each permutation of the literals, given by what it moves, whether it maps every row to a row of the same kind.

    start, literal, kind, head: (n_rows + 1,) int64, int32 sorted in each row, (n_rows,) int32, (n_rows,) int32, head a literal
    or -1; no two rows are the same. literal_start, literal_row: for each literal the rows that hold it or have it as head.
    colour: (n_literals,) int32, what a literal must share with its image. move_start, moved, moved_to: (n_moves + 1,) int64 and
    the moved literals with their images. preserved: (n_moves,) bool, filled.

    A permutation maps different rows to different rows. So if it maps all rows that hold a moved literal to rows, it permutes
    them, and the others stay.
    """
    image = np.arange(colour.shape[0]).astype(np.int32)
    hit = np.zeros(colour.shape[0], np.bool_)
    made = np.empty(max(1, np.max(start[1:] - start[:-1]) if kind.shape[0] else 1), np.int32)
    for m in range(move_start.shape[0] - 1):
        begin, end = move_start[m], move_start[m + 1]
        right = True
        for i in range(begin, end):
            image[moved[i]] = moved_to[i]
        for i in range(begin, end):
            x, y = moved[i], moved_to[i]
            if hit[y] or colour[x] != colour[y] or image[x ^ 1] != y ^ 1:
                right = False
            hit[y] = True
        for i in range(begin, end):
            if not hit[moved[i]]:  # not onto: a moved literal is nobody's image
                right = False
        for i in range(begin, end):
            hit[moved_to[i]] = False
        i = begin
        while right and i < end:
            x = moved[i]
            for at in range(literal_start[x], literal_start[x + 1]):
                if not _has_image(start, literal, kind, head, literal_start, literal_row, image, literal_row[at], made):
                    right = False
                    break
            i += 1
        preserved[m] = right
        for i in range(begin, end):
            image[moved[i]] = moved[i]


@called
def _has_image(start, literal, kind, head, literal_start, literal_row, image, row, made):
    """Whether the image of a row is a row."""
    length = start[row + 1] - start[row]
    for k in range(length):  # sorted by insertion: the images of sorted literals are often nearly sorted
        to = image[literal[start[row] + k]]
        j = k
        while j > 0 and made[j - 1] > to:
            made[j] = made[j - 1]
            j -= 1
        made[j] = to
    to = image[head[row]] if head[row] >= 0 else -1
    rarest = to if to >= 0 else made[0]
    for k in range(length):
        if literal_start[made[k] + 1] - literal_start[made[k]] < literal_start[rarest + 1] - literal_start[rarest]:
            rarest = made[k]
    for at in range(literal_start[rarest], literal_start[rarest + 1]):
        other = literal_row[at]
        if kind[other] != kind[row] or head[other] != to or start[other + 1] - start[other] != length:
            continue
        same = True
        for k in range(length):
            if literal[start[other] + k] != made[k]:
                same = False
                break
        if same:
            return True
    return False
