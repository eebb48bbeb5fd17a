"""Reading draws: canonical rows, their fingerprints, and where they go in the item-major table.

Draws come one per row and are stored one item per row. A block of rows is made canonical, and each row gets a
fingerprint of 128 bits. Rows that were not seen before are then written into their columns of the table,
64 of them at a time where that is possible, so that each write fills a cache line.
"""

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.signatures import mixed
from epluribus._typing import IntArray

_TILE = 64
"""Items written at a time: their labels in 64 rows fit into the first cache of a core."""


@kernel
def canonical_block(
    rows: NDArray[np.integer],
    low: int,
    begin: int,
    end: int,
    seen: IntArray,  # WORK, one entry per label, zero on entry
    out: NDArray[np.unsignedinteger],  # OUT
    n_clusters: IntArray,  # OUT
) -> None:
    """Relabel rows begin..end-1 in order of first appearance (Strehl & Ghosh 2003): 7 3 7 9 becomes 0 1 0 2.

    `rows` holds integers of at least `low`. Entry label - low of `seen` is (t + 1) 2^32 + code, where t is
    the last row in which the label was seen and code its number there: entries of earlier rows are smaller
    than all of this row, so that nothing has to be cleared between rows.
    """
    for t in range(begin, end):
        base = np.int64(t + 1) << np.int64(32)
        unused = base
        for i in range(rows.shape[1]):
            # Unsigned: no check for negative indices.
            label = np.uint64(np.int64(rows[t, i]) - low)
            code = seen[label]
            if code < base:  # the first item of its cluster in this row
                code = unused
                seen[label] = code
                unused += 1
            out[t, i] = code - base
        n_clusters[t] = unused - base


@kernel
def fingerprints(
    words: NDArray[np.uint64],  # (n_rows, n_words), eight bytes of labels each
    keys: NDArray[np.uint64],  # OUT (n_rows, 2)
) -> None:
    """Two sums over the words of a row: of x_i, a mix of the word and its place i, and of (2i + 1) x_i.

    All arithmetic is modulo 2^64. Rows that differ in one word differ in the first sum. If they differ in
    more, both sums agree by chance only, with a probability of about 2^-100 for millions of items.
    """
    for t in range(words.shape[0]):
        plain, weighted = np.uint64(0), np.uint64(0)
        place, odd = np.uint64(0), np.uint64(1)
        for i in range(words.shape[1]):
            place += np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, as in splitmix64
            x = mixed(words[t, i] + place)
            plain += x
            weighted += x * odd
            odd += np.uint64(2)
        keys[t, 0], keys[t, 1] = plain, weighted


@kernel
def write_columns(
    rows: NDArray[np.unsignedinteger],
    chosen: IntArray,
    at: int,
    begin: int,
    end: int,
    table: NDArray[np.unsignedinteger],  # OUT, item-major
) -> None:
    """Write the chosen rows into columns at, at + 1, ... of the table, for items begin..end-1."""
    for first in range(begin, end, _TILE):
        for j in range(chosen.shape[0]):
            t = chosen[j]
            for i in range(first, min(first + _TILE, end)):
                table[i, at + j] = rows[t, i]


@kernel
def move_rows(
    cells: NDArray[np.unsignedinteger],  # IN and OUT, one long array
    n_rows: int,
    used: int,
    before: int,
    after: int,
) -> None:
    """Move rows from a distance of `before` to one of `after`; the first `used` entries of each count."""
    # In the order in which no entry is overwritten before it was moved.
    if after < before:
        for i in range(n_rows):
            for j in range(used):
                cells[i * after + j] = cells[i * before + j]
    else:
        for i in range(n_rows - 1, -1, -1):
            for j in range(used - 1, -1, -1):
                cells[i * after + j] = cells[i * before + j]
