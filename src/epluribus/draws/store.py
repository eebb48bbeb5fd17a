"""Where the labels of the distinct draws are: one table in memory, or slices on the workers of a Dask cluster.

Labels are item-major, one item per row. `collapse` makes the table of whatever is read. Work on a sample is a
function of a slice of draws, called for every slice, whose results are put together: `Store.map`. A table in memory
is a single slice. On a cluster, workers read their slices themselves, and only what a function of a slice returns
comes back. Everything a task needs is part of it, or the result of another task: when a worker is lost, the scheduler
runs its tasks again elsewhere, reading included, and nothing else changes.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from itertools import pairwise
from operator import getitem
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.labels import canonical_rows
from epluribus._parallel import Stopped, Stopper, resolve_jobs, run_all
from epluribus._progress import DELAY, ProgressLike, make_progress
from epluribus._typing import AnyArray, IntArray
from epluribus._validate import gigabytes, need
from epluribus.readers.objects import Table

Labels = NDArray[np.unsignedinteger[Any]]

_BLOCK = (1 << 20, 32)
"""About how many labels, and at least how many draws, are read at a time: the labels stay in the cache."""
_SLICE = 64 << 20
"""Bytes of a slice on a cluster, roughly: a worker has several at a time."""
_PATIENCE, _ALONE = 0.2, 60.0
"""Seconds between two looks at the time limit, and after which a cluster without workers is given up."""


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


def collapse(
    table: Table, keep: IntArray, progress: ProgressLike = None, *, missing: bool = False
) -> Collapsed:
    """The distinct partitions among the rows `keep` of a table of labels.

    Rows are made canonical and recognized by a hash of 128 bits; those not seen before become columns of the
    item-major table. Time O(n_rows n_items); memory twice the stored labels, and some blocks of labels.

    Examples
    --------
    >>> from epluribus.readers.objects import to_table
    >>> store, places, n_clusters, *_ = collapse(to_table([[4, 4, 7], [1, 2, 2], [0, 0, 9]]), np.arange(3))
    >>> store.whole().T.tolist(), places.tolist(), n_clusters.tolist()
    ([[0, 0, 1], [0, 1, 1]], [0, 1, 0], [2, 2])
    """
    n_items, n_draws = table.labels.shape[1], len(keep)
    size = max(_BLOCK[0] // n_items, _BLOCK[1])
    place_of: dict[bytes, int] = {}  # number of a distinct partition by its hash
    places: list[int] = []
    n_clusters: list[int] = []
    kept: list[Labels] = []
    # A single block is read before a bar would be seen.
    bar = None
    if n_draws > size or not (progress is None or isinstance(progress, bool)):
        stopper = Stopper()
        bar = make_progress(progress, n_draws, "reading", stopper, delay=DELAY)
    try:
        for begin in range(0, n_draws, size):
            own = keep[begin : begin + size]
            span = slice(int(own[0]), int(own[-1]) + 1)
            block = table.labels[span if span.stop - span.start == len(own) else own]
            rows = table.check(block, own)
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
                kept.append(codes if len(new) == len(codes) else codes[new])
            if bar is not None:
                bar.show(begin + len(own), {})
                stopper.check()
        else:
            found = np.array(n_clusters)
            labels = np.empty((n_items, len(found)), np.min_scalar_type(int(found.max()) - 1))
            _in_threads(partial(_write, labels, kept), n_items, len(found))
            store = Store(labels, int(found.max()))
            # Missing labels were counted as one more cluster of each draw.
            return Collapsed(store, np.array(places), found - missing, missing, tuple(place_of))
    finally:
        if bar is not None:
            bar.close()
    return collapse(table, keep, progress, missing=True)


def _in_threads(work: Callable[[int, int], Any], n: int, n_each: int) -> list[Any]:
    """`work(begin, end)` for parts of range(n), one for each thread; `n_each` is the number of labels in each."""
    n_jobs = min(n, resolve_jobs(None)) if n * n_each >= _BLOCK[0] else 1
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


def _write(table: Labels, kept: list[Labels], begin: int, end: int) -> None:
    """Rows of labels become columns of the item-major table, for items begin..end-1."""
    at = 0
    for rows in kept:
        table[begin:end, at : at + len(rows)] = rows[:, begin:end].T
        at += len(rows)


# --- on a Dask cluster ---


def check_client(client: Any) -> Any:
    """The client of a Dask cluster, or an error that says what it must be."""
    distributed = need("distributed", "dask", "A Dask cluster")
    if not isinstance(client, distributed.Client):
        raise TypeError(
            f"'client' must be a dask.distributed.Client; got {type(client).__name__}. "
            "Make one with: from dask.distributed import Client; client = Client(address)"
        )
    if client.status != "running":
        raise ValueError(
            f"'client' must be connected to a scheduler; got one that is {client.status}. Make a new one, "
            "and read the draws with it: from dask.distributed import Client; client = Client(address)"
        )
    return client


def results(client: Any, futures: Sequence[Any], stopper: Stopper | None = None) -> list[Any]:
    """What the tasks return, in order.

    `Stopped` is raised at the time limit and after Ctrl-C, RuntimeError where there are no workers any more.
    """
    wait: Any = need("distributed", "dask", "A Dask cluster").wait
    seen = time.perf_counter()  # when there was a worker
    while True:
        try:
            wait(futures, timeout=_PATIENCE)
            found: list[Any] = client.gather(futures)
            return found
        except TimeoutError:  # tasks to which nothing refers any more are given up by the scheduler
            if stopper is not None and stopper.stopped:
                raise Stopped from None
        if client.scheduler_info()["workers"]:
            seen = time.perf_counter()
        elif time.perf_counter() > seen + _ALONE:
            raise RuntimeError(
                f"The Dask cluster at {client.scheduler.address} has had no workers for a minute: they were stopped, "
                "or ran out of memory. Start some, and call again: they read the draws anew."
            )


class DaskStore(Store):
    """Slices that the workers of a cluster hold.

    Parameters
    ----------
    client : distributed.Client
    parts : list of futures
        The tables of the slices, in order.
    widths : list of int
        Draws in each of them.
    n_items, groups : int
        Number of items, and the largest number of clusters of a draw.
    stopper : Stopper, optional
        What ends waiting for workers early: `Stopped` is then raised.
    """

    in_one_piece = False

    def __init__(
        self, client: Any, parts: list[Any], widths: list[int], n_items: int, groups: int,
        stopper: Stopper | None = None,
    ) -> None:  # fmt: skip
        self.client, self.parts, self.widths = client, parts, widths
        self.n_items, self.groups, self.n_distinct = n_items, groups, sum(widths)
        self.begins: list[int] = np.cumsum([0, *widths[:-1]]).tolist()
        self._stopper = stopper

    def hearing(self, stopper: Stopper) -> DaskStore:
        """The same store, in which waiting for workers ends at the time limit, or after Ctrl-C."""
        return DaskStore(self.client, self.parts, self.widths, self.n_items, self.groups, stopper)

    def map(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """`function(slice, *args)` for every slice, on the workers; results in order."""
        return results(self.client, self._submitted(function, args), self._stopper)

    def reduce(self, function: Callable[..., Any], combine: Callable[..., Any], *args: Any) -> Any:
        """`combine(results, *args)` on a worker, where the results are those of `map`."""
        parts = self._submitted(function, args)
        future = self.client.submit(combine, parts, *args, pure=False)
        return results(self.client, [future], self._stopper)[0]

    def share(self, value: Any) -> Any:
        """The value as the result of a task: it travels once, and is made again if it is lost."""
        return self.client.submit(_same, value, pure=False)

    def _submitted(self, function: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
        """Tasks that call the function with each slice."""
        given = [self.share(one) if isinstance(one, np.ndarray) else one for one in args]
        return [
            self.client.submit(_work, function, part, begin, *given, pure=False)
            for part, begin in zip(self.parts, self.begins, strict=True)
        ]

    def rows(self, items: IntArray) -> Labels:
        """(len(items), n_distinct) labels of some items."""
        return np.concatenate(self.map(_rows, items), axis=1)

    def columns(self, numbers: IntArray) -> Labels:
        """(n_items, len(numbers)) labels of some distinct draws."""
        order = np.argsort(numbers, kind="stable")
        found = np.concatenate(self.map(_columns, numbers[order]), axis=1)
        return found.take(np.argsort(order), axis=1)

    def whole(self) -> Labels:
        """Refused: the labels are on the workers."""
        raise MemoryError(
            f"This needs all labels in one place, {gigabytes(self.n_items * self.n_distinct)} or more; they are "
            "on the workers of a Dask cluster. Bring them here, draws.to_local(), or thin them before."
        )

    def select(self, numbers: IntArray, n_clusters: IntArray) -> DaskStore:
        """A store of some of the draws, in the given order, with their numbers of clusters."""
        # Draws that follow one another in the order and in a slice are one slice of the new store.
        at = np.searchsorted(self.begins, numbers, side="right") - 1
        runs = np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(at)) + 1)
        parts = []
        for own in runs:
            k = at[own[0]]
            columns = numbers[own] - self.begins[k]
            parts.append(self.client.submit(np.take, self.parts[k], columns, 1, pure=False))
        widths = [len(own) for own in runs]
        return DaskStore(self.client, parts, widths, self.n_items, int(n_clusters.max()))


def collapse_on(client: Any, table: Table, keep: IntArray) -> Collapsed:
    """The distinct partitions among the rows `keep`, like `collapse`, read and kept by workers."""
    check_client(client)
    labels, check = table.labels, table.check
    n_workers = max(1, len(client.scheduler_info()["workers"]))
    # At least two slices for each worker.
    width = max(1, min(_SLICE // labels.shape[1], -(-len(keep) // (2 * n_workers))))
    spans = [keep[begin : begin + width] for begin in range(0, len(keep), width)]
    if isinstance(labels, np.ndarray):  # a task has its draws and nothing else
        reads = [client.submit(_read, labels[own], check, own, pure=False) for own in spans]
    else:  # each chunk of an array is computed once, however slices cut it
        delayed = need("dask", "dask", "A Dask cluster").delayed(_read, pure=False)
        rows = labels if len(keep) == len(labels) else labels[keep]
        blocks = rows.rechunk((width, -1)).to_delayed().ravel()
        reads = client.compute(
            [delayed(*given) for given in zip(blocks, [check] * len(spans), spans, strict=True)]
        )
    # All but the tables: these stay where they are.
    known = [client.submit(getitem, read, slice(1, None), pure=False) for read in reads]
    # Equal draws of different slices: the first one stays.
    place_of: dict[bytes, int] = {}
    parts, widths, places, n_clusters, lost = [], [], [], [], 0
    for read, (own, k, missing, keys) in zip(reads, results(client, known), strict=True):
        if missing:
            raise ValueError(
                "'client' must be None for draws with missing labels, which are read and searched in the "
                "memory of one process. Read them without it."
            )
        if len(own) > 1 and len(k) == k[0] == 1:
            lost += len(own)
        first = len(place_of)
        at = np.array([place_of.setdefault(key, len(place_of)) for key in keys])
        new = np.flatnonzero(at >= first)
        places.append(at[own])
        if len(new):
            parts.append(client.submit(_take_new, read, new, pure=False))
            widths.append(len(new))
            n_clusters.append(k[new])
    numbers = np.concatenate(n_clusters)
    if lost:
        warnings.warn(
            f"Workers have read that all items are in one cluster, in {lost:,} draws. If that is not so, they do not "
            "find the data: give a path on storage that all of them see.",
            stacklevel=4,
        )
    store = DaskStore(client, parts, widths, labels.shape[1], int(numbers.max()))
    return Collapsed(store, np.concatenate(places), numbers)


def _read(rows: AnyArray, check: Callable[..., AnyArray], numbers: IntArray) -> Collapsed:
    # The numbers are those of the draws in what the user gave, which messages name.
    table = Table(rows, lambda block, own: check(block, numbers[own]), np.zeros(0, np.int64))
    return collapse(table, np.arange(len(rows)), progress=False)


def _take_new(read: Collapsed, new: IntArray) -> Labels:
    table = read.store.whole()
    return table if len(new) == table.shape[1] else table.take(new, axis=1)


def _same(value: Any) -> Any:
    return value


def _work(function: Callable[..., Any], table: Labels, begin: int, *args: Any) -> Any:
    return function(Slice(begin, table), *args)


def _rows(part: Slice, items: IntArray) -> Labels:
    return part.table[items]


def _columns(part: Slice, numbers: IntArray) -> Labels:
    return part.table.take(numbers[part.own(numbers)] - part.begin, axis=1)
