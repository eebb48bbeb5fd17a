"""Labels handed on a block of draws at a time, from an array in memory or elsewhere.

Nothing larger than a block is ever copied: arrays of integers are read where they are, floats are checked and
converted block by block, arrays of dask, zarr and h5py are read in whole chunks, and the pages of a mapped
file are given back after use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from epluribus._files import reading, release_pages
from epluribus._typing import AnyArray, IntArray
from epluribus.readers.zarr_arrays import check_found, is_array


class Rows(Protocol):
    """Labels that can be read in blocks."""

    shape: tuple[int, int]
    """Number of draws and of items."""
    in_memory: bool
    """Whether the labels are in the memory of this process."""

    def check_found(self) -> None:
        """Raise an error if the labels cannot be read by this process, to which the object was sent."""

    def read(self, keep: IntArray, rows: int, n_bytes: int) -> Iterator[AnyArray]:
        """Integers, one draw per row: the draws of the increasing numbers `keep`, in this order.

        A block has at most `rows` draws, and reading it takes about `n_bytes` of memory, if the chunks of the
        array allow it. It may change when the next one is read.
        """


class Blocks:
    """The rows of an array of two dimensions, (draws, items), or three, (chains, draws, items).

    Parameters
    ----------
    array : ndarray, or anything with `shape`, `dtype` and slices
    check : callable
        Turns rows into integers, given their numbers among all draws, which messages need.
    path : str or Path, optional
        The file that the array is read from: if that fails, the error names it.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = Blocks(np.arange(12).reshape(2, 3, 2), lambda rows, _: rows)
    >>> [block.tolist() for block in blocks.read(np.array([0, 2, 3, 4]), 2, 100)]
    [[[0, 1], [4, 5]], [[6, 7], [8, 9]]]
    """

    def __init__(
        self,
        array: Any,
        check: Callable[[AnyArray, IntArray], AnyArray],
        path: str | Path | None = None,
    ) -> None:
        *n_chains, n_draws, n_items = array.shape
        self.shape: tuple[int, int] = (math.prod(n_chains) * n_draws, n_items)
        # Chains one after the other: a view, unless the array lies in memory in another order.
        if isinstance(array, np.ndarray) and array.flags.c_contiguous:
            array, n_draws = array.reshape(self.shape), self.shape[0]
        self._array, self._check, self._n_draws = array, check, n_draws
        self.in_memory = isinstance(array, np.ndarray)
        self._path = path

    def check_found(self) -> None:
        """Raise an error if the array is not found."""
        if is_array(self._array):
            check_found(self._array)

    def read(self, keep: IntArray, rows: int, n_bytes: int) -> Iterator[AnyArray]:
        """Integers, one draw per row, in blocks; see `Rows`."""
        # What is not an array of integers is copied as it is read or checked.
        copies = 1 if self.in_memory and self._array.dtype.kind in "iub" else 2
        step = max(1, min(rows, n_bytes // (copies * self.shape[1] * self._array.dtype.itemsize)))
        for numbers in self._pieces(keep, step):
            block = self._take(numbers)
            for begin in range(0, len(block), step):
                part = slice(begin, begin + step)
                yield self._check(block[part], numbers[part])
            release_pages(self._array)

    def _pieces(self, keep: IntArray, step: int) -> Iterator[IntArray]:
        """The numbers of the draws that are read at once; those of one chain only."""
        size, chunks = self._n_draws, getattr(self._array, "chunks", None)
        # An array in memory gives any rows; elsewhere a slice is read, with what it holds between them.
        if self.in_memory:
            for own in _groups(keep, keep // size):
                yield from (own[begin : begin + step] for begin in range(0, len(own), step))
            return
        if chunks is not None:
            # `chunks` has the sizes of all chunks (dask, xarray) or the size of one (zarr, h5py). A chunk
            # that is cut in two is read and decompressed twice, so a step is a multiple of the size.
            sizes = chunks[-2]
            chunk = max(sizes) if isinstance(sizes, tuple) else sizes
            step = max(1, step // chunk) * chunk
        yield from _groups(keep, keep // size * size + keep % size // step)

    def _take(self, numbers: IntArray) -> AnyArray:
        """The rows of the given numbers; a view, not a copy, if they follow one another in memory."""
        chain, first = divmod(int(numbers[0]), self._n_draws)
        last = int(numbers[-1]) - chain * self._n_draws
        consecutive = last - first == len(numbers) - 1
        own = numbers - chain * self._n_draws
        # Any rows of an array in memory; elsewhere a slice, and never array[chain], which is the whole chain.
        rows = own if self.in_memory and not consecutive else slice(first, last + 1)
        if self.in_memory:
            return self._array[chain, rows] if self._array.ndim == 3 else self._array[rows]
        # Numbers are read only here: a damaged file may show only now.
        guard = nullcontext() if self._path is None else reading(self._path, "labels")
        with guard:
            block = np.asarray(
                self._array[chain, rows] if self._array.ndim == 3 else self._array[rows]
            )
        return block if consecutive else block[own - first]


class Stacked:
    """The rows of several sources, one after the other."""

    def __init__(self, parts: Sequence[Rows]) -> None:
        self._parts = parts
        self.shape: tuple[int, int] = (sum(part.shape[0] for part in parts), parts[0].shape[1])
        self.in_memory = any(part.in_memory for part in parts)

    def check_found(self) -> None:
        """Raise an error if one of the sources is not found."""
        for part in self._parts:
            part.check_found()

    def read(self, keep: IntArray, rows: int, n_bytes: int) -> Iterator[AnyArray]:
        """Integers, one draw per row, in blocks; see `Rows`."""
        begin = 0
        for part in self._parts:
            end = begin + part.shape[0]
            own = keep[np.searchsorted(keep, begin) : np.searchsorted(keep, end)] - begin
            yield from part.read(own, rows, n_bytes)
            begin = end


def _groups(numbers: IntArray, key: IntArray) -> Iterator[IntArray]:
    """The numbers cut where the key changes."""
    cuts = np.flatnonzero(np.diff(key)) + 1
    return (group for group in np.split(numbers, cuts) if len(group))
