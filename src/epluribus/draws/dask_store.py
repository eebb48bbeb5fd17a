"""Draws on the workers of a Dask cluster, one slice of draws in each task.

Workers read their slices themselves, from the file or the array that the draws are in; only what a function
of a slice returns comes back. Everything a task needs is part of it, or the result of another task: when a
worker is lost, the scheduler runs its tasks again elsewhere, reading included, and nothing else changes.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from operator import getitem
from typing import Any

import numpy as np

from epluribus._parallel import Stopped, Stopper
from epluribus._typing import IntArray
from epluribus._validate import need
from epluribus.draws.store import Collapsed, Labels, Slice, Store, collapse
from epluribus.readers.table import Part, Rows, unchanged

_BYTES = 64 << 20
"""Bytes of a slice, roughly: a worker has several at a time."""
_MULTIPLE = 128
"""A slice, except the last, holds a multiple of this many draws: whole cache lines for each item."""
_PATIENCE, _ALONE = 0.2, 60.0
"""Seconds between two looks at the time limit, and after which a cluster without workers is given up."""


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
                f"The Dask cluster at {client.scheduler.address} has had no workers for a minute. Start "
                "some, and call again: they read the draws anew."
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
        size = self.n_items * self.n_distinct / 1e9
        raise MemoryError(
            f"This needs all labels in one place, {size:.1f} GB or more; they are on the workers of a Dask "
            "cluster. Thin the draws, and read them without 'client'."
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


# --- reading ---


def collapse_on(client: Any, table: Rows, keep: IntArray) -> Collapsed:
    """The distinct partitions among the rows `keep`, like `collapse`, read and kept by workers."""
    n_items = table.shape[1]
    n_workers = max(1, len(client.scheduler_info()["workers"]))
    fair = -(-len(keep) // (2 * n_workers))  # at least two slices for each worker
    width = max(1, min(_BYTES // n_items, fair) // _MULTIPLE) * _MULTIPLE
    travels = _travels(table)
    reads = []
    for begin in range(0, len(keep), width):
        own = keep[begin : begin + width]
        if travels:
            reads.append(client.submit(_read, table, own, pure=False))
        else:  # these draws and nothing else
            blocks = table.read(own, len(own))
            some = Rows(*[Part(block.copy(), unchanged) for block in blocks])
            reads.append(client.submit(_read, some, np.arange(len(own)), pure=False))
    # All but the tables: these stay where they are.
    known = [client.submit(getitem, read, slice(1, None), pure=False) for read in reads]
    # Equal draws of different slices: the first one stays.
    place_of: dict[bytes, int] = {}
    parts, widths, places, n_clusters = [], [], [], []
    for read, (own, k, missing, keys) in zip(reads, results(client, known), strict=True):
        if missing:
            raise ValueError(
                "'client' must be None for draws with missing labels, which are read and searched in the "
                "memory of one process. Read them without it."
            )
        first = len(place_of)
        at = np.array([place_of.setdefault(key, len(place_of)) for key in keys])
        new = np.flatnonzero(at >= first)
        places.append(at[own])
        if len(new):
            parts.append(client.submit(_take_new, read, new, pure=False))
            widths.append(len(new))
            n_clusters.append(k[new])
    numbers = np.concatenate(n_clusters)
    if len(keep) > 1 and len(place_of) == numbers.max() == 1:
        warnings.warn(
            "The workers have read that all items are in one cluster, in every draw. If that is not so, they "
            "do not find the data: give a path on storage that all of them see.",
            stacklevel=4,
        )
    store = DaskStore(client, parts, widths, n_items, int(numbers.max()))
    return Collapsed(store, np.concatenate(places), numbers)


def _travels(table: Rows) -> bool:
    """Whether workers can read the rows where they are: a dask or zarr array, not an open file."""
    if table.in_memory:
        return False
    try:
        need("cloudpickle", "dask", "A Dask cluster").dumps(table)
    except Exception:  # noqa: BLE001 - whatever the library of the file raises
        return False
    return True


# --- what workers do ---


def _read(rows: Rows, keep: IntArray) -> Collapsed:
    import dask

    # A dask array is computed here: its tasks would wait for the worker that this task keeps busy.
    with dask.config.set(scheduler="synchronous"):
        rows.check_found()
        return collapse(rows, keep)


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
