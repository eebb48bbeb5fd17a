"""From labels to the distinct partitions among them, in one pass and without a second copy.

Labels come in blocks of draws, one draw per row. Rows are made canonical, in threads, and recognized by a
fingerprint of 128 bits: two different partitions have the same one with a probability of about 2^-100. Rows
not seen before go straight to their columns of the item-major table. If draws are equal, the table was made
too wide, and its rows are moved together in place. With a memory limit, columns that fill a slice are written
to a file.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.reading import canonical_block, fingerprints, move_rows, write_columns
from epluribus._parallel import Stopper, resolve_jobs, run_all
from epluribus._progress import DELAY, ProgressLike, make_progress
from epluribus._typing import AnyArray, IntArray
from epluribus.draws.store import Labels, LocalStore, Slice, Spill, Store, slice_width
from epluribus.readers.blocks import Rows

_CELLS = 1 << 20
"""Labels handled at a time where draws are short; also the fewest for which threads pay."""
_LINE = 64
"""Draws handled at a time where they are long: what they write for an item is one cache line."""
_BYTES = 1 << 26
"""Memory for a block, 64 MB: with more than a million items, fewer draws are handled at a time."""
_TYPES: tuple[type[np.unsignedinteger[Any]], ...] = (np.uint8, np.uint16, np.uint32)


class Collapsed(NamedTuple):
    """The distinct partitions among draws."""

    store: Store
    """Their canonical labels, in order of first appearance among the draws."""
    places: IntArray
    """(n_draws,) which of them each draw equals."""
    n_clusters: IntArray
    """(n_distinct,) their numbers of clusters."""
    keys: tuple[bytes, ...]
    """(n_distinct,) their fingerprints."""
    has_missing: bool = False
    """Whether labels are missing. All labels in the store are then one larger, and 0 means missing."""


def collapse(
    table: Rows, keep: IntArray, limit: int | None = None, progress: ProgressLike = None
) -> Collapsed:
    """The distinct partitions among the rows `keep` of a table of labels.

    Time O(n_rows n_items). Without a limit memory stays below the stored labels plus two blocks; with a
    `limit` in bytes, what does not fit is written to a temporary file.

    Examples
    --------
    >>> from epluribus.readers.blocks import Blocks
    >>> rows = Blocks(np.array([[4, 4, 7], [1, 2, 2], [0, 0, 9]]), lambda rows, _: rows)
    >>> store, index, n_clusters, *_ = collapse(rows, np.arange(3))
    >>> store.slices[0].table.T.tolist(), index.tolist(), n_clusters.tolist()
    ([[0, 0, 1], [0, 1, 1]], [0, 1, 0], [2, 2])
    """
    try:
        return _collapse(table, keep, limit, progress, missing=False)
    except _MissingLabels:  # seen only now: from the beginning, with labels that leave 0 free
        return _collapse(table, keep, limit, progress, missing=True)


class _MissingLabels(Exception):  # noqa: N818 - no error, but a message from where labels are read
    """The first missing label was met."""


def _collapse(
    table: Rows, keep: IntArray, limit: int | None, progress: ProgressLike, *, missing: bool
) -> Collapsed:
    """The distinct partitions; labels may be missing if that is expected."""
    n_items, n_draws = table.shape[1], len(keep)
    room = _BYTES if limit is None else min(_BYTES, limit // 8)
    size = min(n_draws, max(1, _CELLS // n_items, min(_LINE, room // n_items)))
    block = _Block(n_items, size, missing=missing)
    columns = _Columns(n_items, n_draws, limit)
    place_of: dict[bytes, int] = {}  # number of a distinct partition by its fingerprint
    index: list[int] = []
    n_clusters: list[int] = []

    def empty() -> None:
        """Give the rows of the block their places, and write the new ones into the table."""
        new: list[int] = []
        for t, key in enumerate(block.keys[: block.used]):
            at = place_of.setdefault(key.tobytes(), len(place_of))
            index.append(at)
            if at == len(n_clusters):
                new.append(t)
                n_clusters.append(int(block.n_clusters[t]))
        if new:
            expected = -(
                -len(place_of) * n_draws // len(index)
            )  # draws still to come are as varied
            columns.add(block.rows, np.array(new), max(n_clusters[-len(new) :]), expected)
        block.used = 0

    stopper = Stopper()
    bar = make_progress(progress, n_draws, "reading", stopper, delay=DELAY)
    try:
        for rows in table.read(keep, size, room):
            if block.used + len(rows) > size:
                empty()
            block.add(rows, empty)
            bar.show(len(index) + block.used, {})
            stopper.check()
        empty()
    finally:
        bar.close()
    k = np.array(n_clusters, dtype=np.int64)
    store = LocalStore(columns.slices(), int(k.max()), limit)
    places = np.array(index, dtype=np.int64)
    # Missing labels were counted as one more cluster of each draw.
    return Collapsed(store, places, k - missing, tuple(place_of), missing)


def _in_threads(function: Any, n: int, n_cells: int) -> None:
    """`function(begin, end)` for parts of range(n), one for each thread."""
    n_jobs = min(n, resolve_jobs(None)) if n_cells >= _CELLS else 1
    if n_jobs == 1:
        function(0, n)
        return
    cuts = [n * part // n_jobs for part in range(n_jobs + 1)]
    run_all([partial(function, *cuts[part : part + 2]) for part in range(n_jobs)], n_jobs)


# --- canonical rows ---


class _Block:
    """Canonical rows that wait to be written, with their fingerprints and numbers of clusters.

    If labels may be `missing`, each row begins with a missing label, which therefore becomes 0, and which is
    counted as a cluster but not written.
    """

    def __init__(self, n_items: int, size: int, *, missing: bool = False) -> None:
        self.used, self._missing = 0, missing
        self.n_clusters = np.empty(size, dtype=np.int64)
        self.keys = np.empty((size, 2), dtype=np.uint64)
        self._n_items = n_items
        self.rows = self._make(np.uint8)

    def _make(self, dtype: type[np.unsignedinteger[Any]]) -> Labels:
        # Zeros up to a multiple of eight labels, which are whole words in every type.
        return np.zeros((len(self.keys), -(-self._n_items // 8) * 8), dtype=dtype)

    def add(self, rows: AnyArray, empty: Any) -> None:
        """Make rows canonical; `empty` is called first if they need another type than those waiting."""
        if self._missing:
            rows = _with_missing_first(rows)
        elif np.ma.is_masked(rows):
            raise _MissingLabels
        rows, low, span = _as_codes(np.asarray(rows))
        dtype = _type_for(min(span, self._n_items + self._missing))
        if dtype != self.rows.dtype:
            empty()
            self.rows = self._make(dtype)
        here = slice(self.used, self.used + len(rows))
        out, n_clusters, keys = self.rows[here], self.n_clusters[here], self.keys[here]

        def work(begin: int, end: int) -> None:
            seen = np.zeros(span, dtype=np.int64)
            if self._missing:
                wide = np.empty((end - begin, rows.shape[1]), dtype=out.dtype)
                canonical_block(
                    rows[begin:end], low, 0, end - begin, seen, wide, n_clusters[begin:end]
                )
                out[begin:end, : self._n_items] = wide[:, 1:]
            else:
                canonical_block(rows, low, begin, end, seen, out, n_clusters)
            _sign(out[begin:end], n_clusters[begin:end], self._n_items, keys[begin:end])

        _in_threads(work, len(rows), rows.size)
        self.used += len(rows)


def _with_missing_first(rows: AnyArray) -> AnyArray:
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
    return next(kind for kind in _TYPES if n_clusters - 1 <= np.iinfo(kind).max)


def _as_codes(rows: AnyArray) -> tuple[AnyArray, int, int]:
    """Contiguous rows of integers near one another, the smallest of them, and how far they reach."""
    if rows.dtype.kind == "b":
        rows = rows.view(np.uint8)
    elif rows.dtype == np.uint64:
        # Numbers too large for int64 become negative ones: different labels stay different.
        rows = rows.view(np.int64)
    rows = np.ascontiguousarray(rows, dtype=rows.dtype.newbyteorder("="))
    if rows.dtype.itemsize == 1:
        return rows, int(np.iinfo(rows.dtype).min), 256
    low = int(rows.min())
    span = int(rows.max()) - low + 1
    # Labels too far apart for a lookup table, such as 0 and 10**15, are numbered first, by sorting.
    step = max(1, _CELLS // rows.shape[1])
    if span > 4 * rows.shape[1] * min(len(rows), step) + 1024:
        codes = np.empty(rows.shape, dtype=np.int64)
        for begin in range(0, len(rows), step):
            own = rows[begin : begin + step]
            codes[begin : begin + step] = np.unique(own, return_inverse=True)[1].reshape(own.shape)
        return codes, 0, int(codes.max()) + 1
    return rows, low, span


def _sign(rows: Labels, n_clusters: IntArray, n_items: int, keys: NDArray[np.uint64]) -> None:
    """Fingerprints of canonical rows, in whatever type these are."""
    # They are those of the row in the smallest type that holds it, so that equal rows have equal ones.
    itemsize = np.array([np.dtype(_type_for(k)).itemsize for k in n_clusters.tolist()])
    for kind in _TYPES:
        own = np.flatnonzero(itemsize == np.dtype(kind).itemsize)
        if len(own) == 0:
            continue
        if kind == rows.dtype.type and len(own) == len(rows):
            narrow = rows
        else:
            narrow = np.zeros((len(own), rows.shape[1]), dtype=kind)
            narrow[:, :n_items] = rows[own, :n_items]
        found = np.empty((len(own), 2), dtype=np.uint64)
        with np.errstate(
            over="ignore"
        ):  # sums modulo 2^64 are meant, where the kernel is not compiled
            fingerprints(narrow.view(np.uint64), found)
        keys[own] = found


# --- the table ---


class _Columns:
    """The item-major table while it grows, and the slices that are full."""

    def __init__(self, n_items: int, n_draws: int, limit: int | None) -> None:
        self._n_items, self._n_draws, self._limit = n_items, n_draws, limit
        self._cells: Labels | None = None  # one long array, so that it can grow and shrink in place
        self._width = self._used = 0
        self._largest = n_draws  # draws in a slice
        self._full: list[Slice] = []
        self._spill: Spill | None = None

    @property
    def _table(self) -> Labels:
        assert self._cells is not None
        return self._cells[: self._n_items * self._width].reshape(self._n_items, self._width)

    def add(self, rows: Labels, chosen: IntArray, n_clusters: int, expected: int) -> None:
        """Add the chosen rows; with as many in all as are `expected`, the table need not grow again."""
        dtype = np.dtype(_type_for(n_clusters))
        if self._cells is None:
            self._begin(dtype, expected)
        elif dtype.itemsize > self._cells.dtype.itemsize:
            self._widen(dtype)
        while len(chosen):
            if self._used == self._largest:
                self._flush()
            if self._used == self._width:
                self._respace(min(self._largest, max(expected, self._width + self._width // 2 + 1)))
            now = chosen[: self._width - self._used]
            self._write(rows, now)
            self._used += len(now)
            chosen = chosen[len(now) :]

    def _begin(self, dtype: Any, expected: int) -> None:
        self._largest = slice_width(self._n_items, self._n_draws, dtype.itemsize, self._limit)
        self._width = min(self._largest, expected)
        # np.empty reserves addresses; the system provides memory for what is written.
        self._cells = np.empty(self._n_items * self._width, dtype=dtype)

    def _write(self, rows: Labels, chosen: IntArray) -> None:
        table, at = self._table, self._used

        def work(begin: int, end: int) -> None:
            write_columns(rows, chosen, at, begin, end, table)

        _in_threads(work, self._n_items, self._n_items * len(chosen))

    def _widen(self, dtype: Any) -> None:
        """The same labels in a wider type."""
        table, used = self._table[:, : self._used], self._used
        width = slice_width(self._n_items, self._n_draws, dtype.itemsize, self._limit)
        # In the wider type the table may be too large for memory: what fills slices leaves it.
        done = 0
        if width < self._width:
            while used - done > width:
                self._save(table[:, done : done + width])
                done += width
            self._width = self._largest = width
        cells = np.empty(self._n_items * self._width, dtype=dtype)
        cells.reshape(self._n_items, -1)[:, : used - done] = table[:, done:]
        self._cells, self._used = cells, used - done

    def _respace(self, width: int) -> None:
        """Another width for the table, in place."""
        assert self._cells is not None
        grows = width > self._width
        if grows:
            self._cells.resize(self._n_items * width, refcheck=False)
        move_rows(self._cells, self._n_items, self._used, self._width, width)
        if not grows:
            self._cells.resize(self._n_items * width, refcheck=False)
        self._width = width

    def _flush(self) -> None:
        """Write a full slice to the file, and begin the next in the same memory."""
        self._save(self._table)
        self._used = 0

    def _save(self, table: Labels) -> None:
        if self._spill is None:
            self._spill = Spill(self._n_items * self._n_draws * table.dtype.itemsize)
        begin = sum(part.table.shape[1] for part in self._full)
        self._full.append(Slice(begin, self._spill.add(table)))

    def slices(self) -> list[Slice]:
        """All of them; the only one, if nothing was written to a file, is the table itself."""
        if self._used < self._width:
            self._respace(self._used)
        if self._full:
            self._flush()
            self._cells = None
            return self._full
        return [Slice(0, self._table)]
