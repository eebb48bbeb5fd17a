"""Where the labels of the distinct draws are: one table in memory, or slices on the workers of a cluster.

Labels are item-major, one item per row. `collapse` makes the table of whatever is read. Work on a sample is a
function of a slice of draws, called for every slice, whose results are put together: `Store.map`. A table in memory
is a single slice; see `dask_store` for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from hashlib import sha256
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.labels import canonical_rows
from epluribus._parallel import Stopper, resolve_jobs, run_all
from epluribus._progress import DELAY, ProgressLike, make_progress
from epluribus._text import count, sentence_list
from epluribus._typing import AnyArray, IntArray
from epluribus.readers.table import Rows

Labels = NDArray[np.unsignedinteger[Any]]

_CELLS = 1 << 20
"""Labels handled at a time where draws are short, which stay in the cache; the fewest for which threads pay."""
_LINE = 64
"""Draws handled at a time where they are long: what they write for an item is one cache line."""
_MOST = 1 << 25
"""Most labels handled at a time, 32 MB of codes: with more than half a million items, fewer draws."""


class Slice(NamedTuple):
    """Some of the distinct draws."""

    begin: int
    """Number of its first distinct draw."""
    table: Labels
    """(n_items, n) canonical labels of these draws, item-major, C-contiguous. The type is the smallest that
    holds them, and may differ from slice to slice."""

    @property
    def columns(self) -> slice:
        """The numbers of its draws among all distinct draws."""
        return slice(self.begin, self.begin + self.table.shape[1])

    def own(self, numbers: IntArray) -> IntArray:
        """Which of the numbers, by their places among them, are of draws in this slice."""
        return np.flatnonzero((numbers >= self.columns.start) & (numbers < self.columns.stop))


class Store:
    """The labels of all distinct draws: here one table in memory.

    Parameters
    ----------
    table : ndarray of shape (n_items, n_distinct)
        Canonical labels, item-major and contiguous. It can no longer be written to: views are handed out.
    groups : int
        The largest number of clusters of a draw; one more if labels are missing.

    Examples
    --------
    >>> import numpy as np
    >>> store = Store(np.array([[0, 0, 0], [0, 1, 1]], np.uint8), 2)
    >>> store.rows(np.array([1])).tolist(), store.columns(np.array([2, 0])).tolist()
    ([[0, 1, 1]], [[0, 0], [1, 0]])
    >>> store.map(lambda part: part.table.shape)
    [(2, 3)]
    """

    in_one_piece = True
    """Whether all labels are one table in memory, see `whole`."""

    def __init__(self, table: Labels, groups: int) -> None:
        table.flags.writeable = False
        self._table = table
        self.n_items, self.n_distinct, self.groups = *table.shape, groups

    def map(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """`function(slice, *args)` for every slice, results in order; the function is one of a module."""
        return [function(Slice(0, self._table), *args)]

    def reduce(self, function: Callable[..., Any], combine: Callable[..., Any], *args: Any) -> Any:
        """`combine(results, *args)`, where the results are those of `map`; also where the draws are."""
        return combine(self.map(function, *args), *args)

    def share(self, value: Any) -> Any:
        """An argument for many calls of `map` and `reduce`: it travels to the draws once."""
        return value

    def hearing(self, stopper: Stopper) -> Store:  # noqa: ARG002
        """The same store, in which waiting ends at the time limit, or after Ctrl-C."""
        return self

    def rows(self, items: IntArray) -> Labels:
        """(len(items), n_distinct) labels of some items."""
        return self._table[items]

    def columns(self, numbers: IntArray) -> Labels:
        """(n_items, len(numbers)) labels of some distinct draws."""
        return self._table.take(numbers, axis=1)  # four times as fast as an index

    def whole(self) -> Labels:
        """(n_items, n_distinct) all labels."""
        return self._table

    def select(self, numbers: IntArray, n_clusters: IntArray) -> Store:
        """A store of some of the draws, with their numbers of clusters."""
        return Store(self.columns(numbers), int(n_clusters.max()))


# --- from rows of labels to the distinct partitions among them ---


class Collapsed(NamedTuple):
    """The distinct partitions among draws."""

    store: Store
    """Their canonical labels, in order of first appearance among the draws."""
    places: IntArray
    """(n_draws,) which of them each draw equals."""
    n_clusters: IntArray
    """(n_distinct,) their numbers of clusters."""
    has_missing: bool = False
    """Whether labels are missing. All labels in the store are then one larger, and 0 means missing."""
    keys: tuple[bytes, ...] = ()
    """(n_distinct,) their hashes, by which equal draws of different slices are found; then dropped."""

    def count_seen(self, names: tuple[str, ...] | None, where: str) -> IntArray:
        """Items that each distinct draw has seen; items that none has seen, and empty draws, are refused."""
        seen = self.store.whole() > 0
        n_seen: IntArray = seen.sum(axis=0)
        empty = np.flatnonzero(n_seen[self.places] == 0)
        if len(empty):
            raise ValueError(
                f"'{where}' must have some label in every draw; all labels of draw {empty[0]} are missing. "
                "Leave such draws out."
            )
        never = np.flatnonzero(~seen.any(axis=1)).tolist()
        if never:
            first = sentence_list([f"'{names[i] if names else i}'" for i in never[:3]])
            more = f" and {count(len(never) - 3, 'other')}" if len(never) > 3 else ""
            raise ValueError(
                f"'{where}' must have some label for every item; all labels of {first}{more} are missing. "
                "Leave such items out."
            )
        return n_seen


def collapse(
    table: Rows, keep: IntArray, progress: ProgressLike = None, *, missing: bool = False
) -> Collapsed:
    """The distinct partitions among the rows `keep` of a table of labels.

    Rows are made canonical and recognized by a hash of 128 bits; those not seen before become columns of the
    item-major table. It is made as wide as the draws read so far let one expect, and shrinks at the end.

    Time O(n_rows n_items); memory besides the stored labels is some blocks of 2^25 labels.

    Examples
    --------
    >>> from epluribus.readers.table import Part, unchanged
    >>> rows = Rows(Part(np.array([[4, 4, 7], [1, 2, 2], [0, 0, 9]]), unchanged))
    >>> store, places, n_clusters, *_ = collapse(rows, np.arange(3))
    >>> store.whole().T.tolist(), places.tolist(), n_clusters.tolist()
    ([[0, 0, 1], [0, 1, 1]], [0, 1, 0], [2, 2])
    """
    n_items, n_draws = table.shape[1], len(keep)
    size = max(1, _CELLS // n_items, min(_LINE, _MOST // n_items))
    labels: Labels = np.empty((n_items, 0), dtype=np.uint8)
    place_of: dict[bytes, int] = {}  # number of a distinct partition by its hash
    places: list[int] = []
    n_clusters: list[int] = []
    blocks: Any = table.read(keep, size)
    # A single block is read before a bar would be seen.
    if n_draws > size or not (progress is None or isinstance(progress, bool)):
        blocks = _with_progress(blocks, n_draws, progress)
    with closing(blocks):
        for rows in blocks:
            if np.ma.is_masked(rows) and not missing:
                break  # all is read again: labels must leave 0 free
            for codes, k, keys in _in_threads(partial(_canonical, rows, missing), *rows.shape):
                new = []
                for t, key in enumerate(keys):
                    place = place_of.setdefault(key, len(place_of))
                    places.append(place)
                    if place == len(n_clusters):
                        new.append(t)
                        n_clusters.append(k[t])
                if not new:
                    continue
                end, width = len(n_clusters), labels.shape[1]
                begin = end - len(new)
                smallest = np.min_scalar_type(max(n_clusters[begin:]) - 1)
                kind = np.promote_types(labels.dtype, smallest)
                if width < end:
                    # As many as there will be if the other draws are as varied as those so far.
                    expected = -(-end * n_draws // len(places))
                    width = min(n_draws, max(expected, width + width // 2))
                if (width, kind) != (labels.shape[1], labels.dtype):
                    # np.empty reserves addresses; the system provides memory for what is written.
                    wider = np.empty((n_items, width), dtype=kind)
                    wider[:, :begin] = labels[:, :begin]
                    labels = wider
                fresh = codes if len(new) == len(codes) else codes[new]
                _in_threads(partial(_write, labels[:, begin:end], fresh), n_items, len(new))
        else:
            found = np.array(n_clusters)
            labels = np.ascontiguousarray(labels[:, : len(found)])
            store = Store(labels, int(found.max()))
            # Missing labels were counted as one more cluster of each draw.
            return Collapsed(store, np.array(places), found - missing, missing, tuple(place_of))
    return collapse(table, keep, progress, missing=True)


def _with_progress(
    blocks: Iterator[AnyArray], n_draws: int, progress: ProgressLike
) -> Iterator[AnyArray]:
    """The same blocks, with a bar that shows how many of the draws have been worked on."""
    stopper = Stopper()
    bar = make_progress(progress, n_draws, "reading", stopper, delay=DELAY)
    done = 0
    try:
        for rows in blocks:
            yield rows
            done += len(rows)
            bar.show(done, {})
            stopper.check()
    finally:
        bar.close()


def _in_threads(work: Callable[[int, int], Any], n: int, n_each: int) -> list[Any]:
    """`work(begin, end)` for parts of range(n), one for each thread; `n_each` is the number of labels in each."""
    n_jobs = min(n, resolve_jobs(None)) if n * n_each >= _CELLS else 1
    if n_jobs == 1:
        return [work(0, n)]
    cuts = [n * part // n_jobs for part in range(n_jobs + 1)]
    return run_all([partial(work, begin, end) for begin, end in pairwise(cuts)], n_jobs)


def _canonical(
    rows: AnyArray, missing: bool, begin: int, end: int
) -> tuple[Labels, list[int], list[bytes]]:
    """Canonical rows begin..end-1, their numbers of clusters, and their hashes.

    With `missing`, a missing label is 0 and counts as a cluster.
    """
    rows = _missing_first(rows[begin:end]) if missing else np.asarray(rows[begin:end])
    rows = np.ascontiguousarray(rows, dtype=rows.dtype.newbyteorder("="))
    if rows.dtype == np.bool_:
        rows = rows.view(np.uint8)
    elif rows.dtype == np.uint64:
        # Numbers too large for int64 become negative ones: different labels stay different.
        rows = rows.view(np.int64)
    low, span = int(np.iinfo(rows.dtype).min), 256
    if rows.dtype.itemsize > 1:
        low = int(rows.min())
        span = int(rows.max()) - low + 1
    # Labels too far apart for a lookup table, such as 0 and 10**15, are numbered first, by sorting.
    if span > 4 * rows.size + 1024:
        rows = np.unique(rows, return_inverse=True)[1].reshape(rows.shape)
        low, span = 0, int(rows.max()) + 1
    codes = np.empty(rows.shape, dtype=np.min_scalar_type(min(span, rows.shape[1]) - 1))
    n_clusters = np.empty(len(rows), dtype=np.int64)
    canonical_rows(rows, low, np.zeros(span, dtype=np.int64), codes, n_clusters)
    codes, k = codes[:, int(missing) :], n_clusters.tolist()
    # In the smallest type for each row, so that equal rows have equal hashes whatever the others are.
    smallest: Any = codes
    if codes.itemsize > 1:
        kinds = map(np.min_scalar_type, n_clusters - 1)
        smallest = [row.astype(kind) for row, kind in zip(codes, kinds, strict=True)]
    return codes, k, [sha256(row, usedforsecurity=False).digest()[:16] for row in smallest]


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


def _write(table: Labels, rows: Labels, begin: int, end: int) -> None:
    """The rows become columns of the item-major table, for items begin..end-1."""
    table[begin:end] = rows[:, begin:end].T
