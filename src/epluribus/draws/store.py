"""Where the labels of the distinct draws are: one table in memory, or slices of it in a temporary file.

Labels are item-major, one item per row. A sample larger than its memory limit is kept in slices of draws,
each a table of all items and some draws, in a file that is mapped into memory. Work on the sample is a
function of one slice, called for every slice, whose results are put together: `Store.map`. After each call
the memory of the slice is given back.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from epluribus._files import release_pages
from epluribus._parallel import run_all
from epluribus._typing import IntArray
from epluribus._validate import gigabytes

Labels = NDArray[np.unsignedinteger[Any]]

MULTIPLE = 128
"""A slice, except the last, holds a multiple of this many draws: whole cache lines for each item."""
_SHARE = 4
"""A slice takes up to this part of the memory limit: room for two of them, and for what is made of them."""


class Slice(NamedTuple):
    """Some of the distinct draws."""

    begin: int
    """Number of its first distinct draw."""
    table: Labels
    """(n_items, n) canonical labels of these draws, item-major, C-contiguous; perhaps a memory map. The type
    is the smallest that holds them, and may differ from slice to slice."""

    @property
    def columns(self) -> slice:
        """The numbers of its draws among all distinct draws."""
        return slice(self.begin, self.begin + self.table.shape[1])

    def own(self, numbers: IntArray) -> IntArray:
        """Which of the numbers, by their places among them, are of draws in this slice."""
        return np.flatnonzero((numbers >= self.columns.start) & (numbers < self.columns.stop))


class Store(Protocol):
    """The labels of all distinct draws, wherever they are."""

    n_items: int
    n_distinct: int
    groups: int
    """The largest number of clusters of a draw."""
    in_one_piece: bool
    """Whether all labels are one table in memory, see `whole`."""

    def map(self, function: Callable[..., Any], *args: Any, n_jobs: int = 1) -> list[Any]:
        """`function(slice, *args)` for every slice, results in order; the function is one of a module."""

    def rows(self, items: IntArray) -> Labels:
        """(len(items), n_distinct) labels of some items, all slices side by side."""

    def columns(self, numbers: IntArray) -> Labels:
        """(n_items, len(numbers)) labels of some distinct draws."""

    def whole(self) -> Labels:
        """(n_items, n_distinct) all labels, if they are one slice in memory."""

    def select(self, numbers: IntArray, n_clusters: IntArray) -> Store:
        """A store of some of the draws, with their numbers of clusters."""


class LocalStore:
    """Slices in memory, or in files on this machine.

    Parameters
    ----------
    slices : sequence of Slice
        In order, without gaps.
    groups : int
        The largest number of clusters of a draw.
    limit : int, optional
        Bytes of memory that work on the slices should stay below.

    Examples
    --------
    >>> import numpy as np
    >>> parts = [Slice(0, np.array([[0, 0], [0, 1]], np.uint8)), Slice(2, np.array([[0], [1]], np.uint8))]
    >>> store = LocalStore(parts, 2)
    >>> store.rows(np.array([1])).tolist(), store.columns(np.array([2, 0])).tolist()
    ([[0, 1, 1]], [[0, 0], [1, 0]])
    >>> store.map(lambda part: part.table.shape)
    [(2, 2), (2, 1)]
    """

    def __init__(self, slices: Sequence[Slice], groups: int, limit: int | None = None) -> None:
        self.slices: tuple[Slice, ...] = tuple(slices)
        self.n_items: int = self.slices[0].table.shape[0]
        self.n_distinct: int = sum(part.table.shape[1] for part in self.slices)
        self.groups: int = groups
        self.in_one_piece: bool = len(self.slices) == 1
        self.limit: int | None = limit
        self.dtype = np.result_type(*(part.table.dtype for part in self.slices))
        # Views are handed out: nobody may change the labels through them.
        for part in self.slices:
            part.table.flags.writeable = False

    def map(self, function: Callable[..., Any], *args: Any, n_jobs: int = 1) -> list[Any]:
        """`function(slice, *args)` for every slice, in threads; results in order."""
        if n_jobs == 1 or len(self.slices) == 1:
            return [_work(function, args, part) for part in self.slices]
        # As many slices at a time as half of the memory limit holds.
        largest = max(part.table.nbytes for part in self.slices)
        room = n_jobs if self.limit is None else max(1, self.limit // 2 // largest)
        tasks = [partial(_work, function, args, part) for part in self.slices]
        return run_all(tasks, min(n_jobs, room))

    def whole(self) -> Labels:
        """(n_items, n_distinct) all labels, if they are one slice."""
        if self.in_one_piece:
            return self.slices[0].table
        needed = self.n_items * self.n_distinct * self.dtype.itemsize
        raise MemoryError(
            f"This needs all labels in memory, {gigabytes(needed)}; the draws were read with a "
            f"'memory_limit' of {gigabytes(self.limit or 0)} and are in {len(self.slices)} slices on disk. "
            "Thin the draws, or read them with a higher limit."
        )

    def rows(self, items: IntArray) -> Labels:
        """(len(items), n_distinct) labels of some items, all slices side by side."""
        out = np.empty((len(items), self.n_distinct), dtype=self.dtype)
        for part in self.slices:
            out[:, part.columns] = part.table[items]
            release_pages(part.table)
        return out

    def columns(self, numbers: IntArray) -> Labels:
        """(n_items, len(numbers)) labels of some distinct draws."""
        numbers = np.asarray(numbers)
        if len(self.slices) == 1:
            return self.slices[0].table.take(numbers, axis=1)  # four times as fast as an index
        out = np.empty((self.n_items, len(numbers)), dtype=self.dtype)
        for part in self.slices:
            own = part.own(numbers)
            if len(own):
                out[:, own] = part.table.take(numbers[own] - part.begin, axis=1)
                release_pages(part.table)
        return out

    def select(self, numbers: IntArray, n_clusters: IntArray) -> LocalStore:
        """A store of some of the draws, with their numbers of clusters; in memory if the limit allows it."""
        groups = int(n_clusters.max())
        size = np.min_scalar_type(groups - 1).itemsize
        width = slice_width(self.n_items, len(numbers), size, self.limit)
        if width >= len(numbers):
            return LocalStore([Slice(0, self.columns(numbers))], groups, self.limit)
        spill = Spill(self.n_items * len(numbers) * size)
        parts = [
            Slice(begin, spill.add(self.columns(numbers[begin : begin + width])))
            for begin in range(0, len(numbers), width)
        ]
        return LocalStore(parts, groups, self.limit)


class Stored:
    """Draws that were read before, to be read again: draw t is column index[t] of the store.

    With `missing`, labels of 0 are missing ones.
    """

    def __init__(self, store: Store, index: IntArray, *, missing: bool = False) -> None:
        self._store, self._index, self._missing, self.in_memory = store, index, missing, True
        self.shape: tuple[int, int] = (len(index), store.n_items)

    def check_found(self) -> None:
        """They are at hand."""

    def read(self, keep: IntArray, rows: int, n_bytes: int) -> Iterator[Labels]:  # noqa: ARG002
        """Labels, one draw per row, in blocks; see `readers.blocks.Rows`."""
        for begin in range(0, len(keep), rows):
            block = self._store.columns(self._index[keep[begin : begin + rows]]).T
            yield np.ma.masked_equal(block, 0) if self._missing else block


def _work(function: Callable[..., Any], args: Sequence[Any], part: Slice) -> Any:
    """The result for one slice, whose memory is then given back."""
    try:
        return function(part, *args)
    finally:
        release_pages(part.table)


def slice_width(n_items: int, n_draws: int, size: int, limit: int | None) -> int:
    """Draws in a slice, with `size` bytes per label: all of them if they stay below the limit.

    >>> slice_width(1000, 500, 1, None), slice_width(1000, 500, 1, 10**5), slice_width(1000, 5000, 1, 10**6)
    (500, 128, 128)
    """
    if limit is None or n_items * n_draws * size <= limit:
        return n_draws
    return min(n_draws, max(1, limit // _SHARE // (n_items * size) // MULTIPLE) * MULTIPLE)


class Spill:
    """A temporary file of slices, which the system deletes when nothing refers to it any more.

    Parameters
    ----------
    needed : int
        Bytes that it will hold, to be refused at once if the disk has not as many.
    """

    def __init__(self, needed: int) -> None:
        folder = tempfile.gettempdir()
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise OSError(
                f"The draws are larger than 'memory_limit', and the folder '{folder}' for temporary files "
                f"has no room for them: {gigabytes(needed)} are needed, {gigabytes(free)} are free. Name "
                "another folder by the environment variable TMPDIR, thin the draws, or raise the limit."
            )
        # Without a name in the folder: gone when the process ends, however it ends.
        self._file = tempfile.TemporaryFile(prefix="epluribus-")  # noqa: SIM115 - closed below
        # Maps keep the content after the file was closed.
        weakref.finalize(self, self._file.close)

    def add(self, table: Labels) -> Labels:
        """Write a table to the file; the same table, mapped."""
        begin = self._file.seek(0, 2)
        self._file.write(np.ascontiguousarray(table).data)
        self._file.flush()
        mapped = np.memmap(self._file, table.dtype, "r", begin, table.shape)
        # A plain array, which kernels know; its memory is still that of the map.
        return mapped.view(np.ndarray)
