"""Where the labels of the distinct draws are: one table in memory, or slices on the workers of a Dask cluster.

Labels are item-major, one item per row. Work on a sample is a function of a slice of draws, called for every slice,
whose results are put together: `Store.map`. A table in memory is a single slice. On a cluster, workers read their
slices themselves, and only what a function of a slice returns comes back. Everything a task needs is part of it, or
the result of another task: when a worker is lost, the scheduler runs its tasks again elsewhere, reading included, and
nothing else changes.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from operator import getitem
from typing import Any, NamedTuple

import numpy as np

from epluribus._parallel import Stopped, Stopper
from epluribus._typing import AnyArray, IntArray
from epluribus._validate import gigabytes, need
from epluribus.draws.rows import Collapsed, Labels, collapse
from epluribus.readers.columns import Source

_SLICE = 64 << 20
"""Bytes read at a time on a cluster, roughly: a worker has several at a time. Samples of one such slice are kept here,
so that everything can be done with them."""
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

    def take(self, numbers: IntArray) -> Labels:
        """(n_items, n) labels of those draws among `numbers` that are in this slice."""
        return self.table.take(numbers[self.own(numbers)] - self.begin, axis=1)


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


# --- on a Dask cluster ---


def check_client(client: Any) -> Any:
    """The client of a Dask cluster, or an error that says what it must be."""
    distributed = need("distributed", "dask", "A Dask cluster")
    way_out = "from dask.distributed import Client; client = Client(address)"
    if not isinstance(client, distributed.Client):
        what = f"must be a dask.distributed.Client; got {type(client).__name__}"
        raise TypeError(f"'client' {what}. Make one with: {way_out}")
    if client.status != "running":
        what = f"must be connected to a scheduler; got one that is {client.status}"
        raise ValueError(f"'client' {what}. Make a new one, and read the draws with it: {way_out}")
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
            return list(client.gather(futures))
        except TimeoutError:  # tasks to which nothing refers any more are given up by the scheduler
            if stopper is not None and stopper.stopped:
                raise Stopped from None
        except (ValueError, TypeError):  # of our own checks
            raise
        except Exception as error:
            raise RuntimeError(
                f"Work on the Dask cluster at {client.scheduler.address} failed, {type(error).__name__}: {error}. "
                "If workers ran out of memory, give them more, or read smaller chunks."
            ) from error
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

    def _submitted(self, function: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
        """Tasks that call the function with each slice."""
        check_client(self.client)
        given = [self.share(one) if isinstance(one, np.ndarray) else one for one in args]
        return [
            self.client.submit(_work, function, part, begin, *given, pure=False)
            for part, begin in zip(self.parts, self.begins, strict=True)
        ]

    def share(self, value: Any) -> Any:
        """The value as the result of a task: it travels once, and is made again if it is lost."""
        return self.client.submit(lambda one: one, value, pure=False)

    def rows(self, items: IntArray) -> Labels:
        """(len(items), n_distinct) labels of some items."""
        return np.concatenate(self.map(lambda part, items: part.table[items], items), axis=1)

    def columns(self, numbers: IntArray) -> Labels:
        """(n_items, len(numbers)) labels of some distinct draws."""
        order = np.argsort(numbers, kind="stable")
        found = np.concatenate(self.map(Slice.take, numbers[order]), axis=1)
        return found.take(np.argsort(order), axis=1)

    def whole(self) -> Labels:
        """Refused: the labels are on the workers."""
        raise MemoryError(
            f"This needs all labels in one place, {gigabytes(self.n_items * self.n_distinct)} or more; they are "
            "on the workers of a Dask cluster. Bring them here, draws.to_local(), or thin them before."
        )

    def select(self, numbers: IntArray, n_clusters: IntArray) -> DaskStore:
        """A store of some of the draws, in the given order, with their numbers of clusters."""
        # Neighbours in the order and in a slice are one slice of the new store.
        at = np.searchsorted(self.begins, numbers, side="right") - 1
        runs = np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(at)) + 1)
        parts = [
            self.client.submit(np.take, self.parts[k], numbers[own] - self.begins[k], 1, pure=False)
            for own in runs
            for k in at[own[:1]]
        ]
        widths = [len(own) for own in runs]
        return DaskStore(self.client, parts, widths, self.n_items, int(n_clusters.max()))


def collapse_on(client: Any, source: Source, keep: IntArray) -> Collapsed:
    """The distinct partitions among the rows `keep`, like `collapse`, read and kept by workers."""
    n_workers = max(1, len(check_client(client).scheduler_info()["workers"]))
    labels, check = source.labels, source.check
    # At least two slices for each worker.
    most = _SLICE // (labels.shape[1] * labels.dtype.itemsize)
    width = max(1, min(most, -(-len(keep) // (2 * n_workers))))
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
    place_of: dict[bytes, int] = {}  # equal draws of different slices: the first one stays
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
            parts.append(client.submit(lambda one, new: one[0].take(new, 1), read, new, pure=False))
            widths.append(len(new))
            n_clusters.append(k[new])
    if lost:
        warnings.warn(
            f"Workers have read that all items are in one cluster, in {lost:,} draws. If that is not so, they do not "
            "find the data: give a path on storage that all of them see.",
            stacklevel=4,
        )
    k = np.concatenate(n_clusters)
    store: Store = DaskStore(client, parts, widths, labels.shape[1], int(k.max()))
    if store.n_items * store.n_distinct <= _SLICE:
        store = Store(store.rows(np.arange(store.n_items)), store.groups)
    return Collapsed(store, np.concatenate(places), k)


def _read(rows: AnyArray, check: Callable[..., AnyArray], numbers: IntArray) -> Collapsed:
    # The numbers are those of the draws in what the user gave, which messages name.
    source = Source(rows, check=lambda block, own: check(block, numbers[own]))
    return collapse(source, np.arange(len(rows)))


def _work(function: Callable[..., Any], table: Labels, begin: int, *args: Any) -> Any:
    return function(Slice(begin, table), *args)
