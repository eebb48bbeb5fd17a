"""From labels to the distinct partitions among them, in one pass over the draws.

Labels come in blocks of draws, one draw per row. Rows are made canonical and recognized by a hash of 128
bits, in threads; those not seen before become columns of the item-major table. The table is made as wide as
the draws read so far let one expect, and shrinks in place at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from epluribus._kernels.labels import canonical_rows, write_columns
from epluribus._parallel import Stopper, resolve_jobs, run_all
from epluribus._progress import DELAY, ProgressLike, make_progress
from epluribus._typing import AnyArray, IntArray
from epluribus.draws.store import Labels, Store
from epluribus.readers.blocks import Rows

_CELLS = 1 << 20
"""Labels handled at a time where draws are short; also the fewest for which threads pay."""
_LINE = 64
"""Draws handled at a time where they are long: what they write for an item is one cache line."""
_MOST = 1 << 25
"""Most labels handled at a time, 32 MB of codes: with more than half a million items, fewer draws."""


class Collapsed(NamedTuple):
    """The distinct partitions among draws."""

    store: Store
    """Their canonical labels, in order of first appearance among the draws."""
    places: IntArray
    """(n_draws,) which of them each draw equals."""
    n_clusters: IntArray
    """(n_distinct,) their numbers of clusters."""
    keys: tuple[bytes, ...]
    """(n_distinct,) their hashes."""
    has_missing: bool = False
    """Whether labels are missing. All labels in the store are then one larger, and 0 means missing."""


def collapse(table: Rows, keep: IntArray, progress: ProgressLike = None) -> Collapsed:
    """The distinct partitions among the rows `keep` of a table of labels.

    Time O(n_rows n_items); memory besides the stored labels is some blocks of 2^25 labels.

    Examples
    --------
    >>> from epluribus.readers.blocks import Blocks
    >>> rows = Blocks(np.array([[4, 4, 7], [1, 2, 2], [0, 0, 9]]), lambda rows, _: rows)
    >>> store, index, n_clusters, *_ = collapse(rows, np.arange(3))
    >>> store.whole().T.tolist(), index.tolist(), n_clusters.tolist()
    ([[0, 0, 1], [0, 1, 1]], [0, 1, 0], [2, 2])
    """
    # The first missing label ends the first attempt: all labels leave 0 free in the second.
    for missing in (False, True):
        found = _collapse(table, keep, progress, missing)
        if found is not None:
            return found
    raise AssertionError("The second attempt takes all labels.")


def _collapse(
    table: Rows, keep: IntArray, progress: ProgressLike, missing: bool
) -> Collapsed | None:
    """The distinct partitions; None if labels are missing though that was not expected."""
    n_items, n_draws = table.shape[1], len(keep)
    size = max(1, _CELLS // n_items, min(_LINE, _MOST // n_items))
    labels: Labels = np.empty((n_items, 0), dtype=np.uint8)
    place_of: dict[bytes, int] = {}  # number of a distinct partition by its hash
    index: list[int] = []
    n_clusters: list[int] = []
    stopper = Stopper()
    bar = make_progress(progress, n_draws, "reading", stopper, delay=DELAY)
    try:
        for rows in table.read(keep, size):
            if np.ma.is_masked(rows) and not missing:
                return None
            codes, k, keys = _canonical(_missing_first(rows) if missing else rows, int(missing))
            new = []
            for t, key in enumerate(keys):
                index.append(place_of.setdefault(key, len(place_of)))
                if index[-1] == len(n_clusters):
                    new.append(t)
                    n_clusters.append(int(k[t]))
            kind = np.promote_types(labels.dtype, _type_for(int(k[new].max(initial=1))))
            used, width = len(n_clusters) - len(new), labels.shape[1]
            if width < len(n_clusters):
                # As many as there will be if the other draws are as varied as those so far.
                expected = -(-len(n_clusters) * n_draws // len(index))
                width = min(n_draws, max(expected, width + width // 2))
            if (width, kind) != (labels.shape[1], labels.dtype):
                # np.empty reserves addresses; the system provides memory for what is written.
                wider = np.empty((n_items, width), dtype=kind)
                wider[:, :used] = labels[:, :used]
                labels = wider
            _write(codes, np.array(new, dtype=np.int64), used, labels)
            bar.show(len(index), {})
            stopper.check()
    finally:
        bar.close()
    found = np.array(n_clusters, dtype=np.int64)
    labels = np.ascontiguousarray(labels[:, : len(found)])
    store = Store(labels, int(found.max()))
    # Missing labels were counted as one more cluster of each draw.
    return Collapsed(store, np.array(index), found - missing, tuple(place_of), missing)


def _in_threads(function: Callable[[int, int], Any], n: int, n_cells: int) -> list[Any]:
    """`function(begin, end)` for parts of range(n), one for each thread."""
    n_jobs = min(n, resolve_jobs(None)) if n_cells >= _CELLS else 1
    if n_jobs == 1:
        return [function(0, n)]
    cuts = [n * part // n_jobs for part in range(n_jobs + 1)]
    tasks = [lambda a=a, b=b: function(a, b) for a, b in pairwise(cuts)]
    return run_all(tasks, n_jobs)


# --- canonical rows ---


def _canonical(rows: AnyArray, skip: int) -> tuple[Labels, IntArray, list[bytes]]:
    """Canonical rows, their numbers of clusters, and their hashes, without the first `skip` columns."""
    rows, low, span = _near_zero(np.asarray(rows))
    out = np.empty(rows.shape, dtype=_type_for(min(span, rows.shape[1])))
    n_clusters = np.empty(len(rows), dtype=np.int64)

    def work(begin: int, end: int) -> list[bytes]:
        seen, here = np.zeros(span, dtype=np.int64), slice(begin, end)
        canonical_rows(rows[here], low, seen, out[here], n_clusters[here])
        # In the smallest type for each row, so that equal rows have equal hashes whatever the others are.
        each = zip(out[here, skip:], n_clusters[here].tolist(), strict=True)
        smallest = (row.astype(_type_for(k), copy=False) for row, k in each)
        return [sha256(row, usedforsecurity=False).digest()[:16] for row in smallest]

    keys = _in_threads(work, len(rows), rows.size)
    return out, n_clusters, list(chain.from_iterable(keys))


def _missing_first(rows: AnyArray) -> AnyArray:
    """Integers of rows with masked labels: one more column at the left holds what stands for these."""
    values, mask = np.ma.getdata(rows), np.ma.getmaskarray(rows)
    # The labels are moved to 1, 2, ..., so that nothing else is 0: in a type with room for one more.
    kind = {1: np.int16, 2: np.int32}.get(values.dtype.itemsize, np.int64)
    out = np.zeros((len(values), values.shape[1] + 1), dtype=kind)
    if not mask.all():
        low = int(values[~mask].min()) - 1
        np.subtract(values, low, out=out[:, 1:], where=~mask, dtype=kind, casting="unsafe")
    return out


def _type_for(n_clusters: int) -> type[np.unsignedinteger[Any]]:
    """The smallest type for labels of this many clusters."""
    return np.uint8 if n_clusters <= 1 << 8 else np.uint16 if n_clusters <= 1 << 16 else np.uint32


def _near_zero(rows: AnyArray) -> tuple[AnyArray, int, int]:
    """Contiguous rows of integers near one another, the smallest of them, and how far they reach."""
    if rows.dtype.kind == "b":
        rows = rows.view(np.uint8)
    elif rows.dtype == np.uint64:
        # Numbers too large for int64 become negative ones: different labels stay different.
        rows = rows.view(np.int64)
    rows = np.ascontiguousarray(rows, dtype=rows.dtype.newbyteorder("="))
    if rows.dtype.itemsize == 1:
        return rows, int(np.iinfo(rows.dtype).min), 256
    ends = _in_threads(
        lambda a, b: (int(rows[a:b].min()), int(rows[a:b].max())), len(rows), rows.size
    )
    low = min(end[0] for end in ends)
    span = max(end[1] for end in ends) - low + 1
    # Labels too far apart for a lookup table, such as 0 and 10**15, are numbered first, by sorting.
    if span > 4 * rows.size + 1024:
        rows = np.unique(rows, return_inverse=True)[1].reshape(rows.shape)
        low, span = 0, int(rows.max()) + 1
    return rows, low, span


def _write(rows: Labels, new: IntArray, at: int, table: Labels) -> None:
    """The `new` rows become columns at, at + 1, ... of the item-major table."""

    def work(first: int, last: int) -> None:
        write_columns(rows, rows.shape[1] - len(table), new, at, first, last, table)

    _in_threads(work, len(table), len(table) * len(new))
