"""Labels handed on a block of draws at a time, from an array in memory or elsewhere.

Nothing larger than a block is copied: arrays of integers are read where they are, floats are checked and
converted block by block, and arrays of dask, zarr and h5py are read in whole chunks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from epluribus._files import reading
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

    def read(self, keep: IntArray, size: int) -> Iterator[AnyArray]:
        """Integers, one draw per row: the draws of the increasing numbers `keep`, in this order.

        A block has at most `size` draws; it is a masked array if labels are missing.
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
    >>> [block.tolist() for block in blocks.read(np.array([0, 2, 3, 4]), 2)]
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
        self.in_memory = isinstance(array, np.ndarray)
        # Chains one after the other: a view, unless the array lies in memory in another order.
        if self.in_memory and array.flags.c_contiguous:
            array, n_draws = array.reshape(self.shape), self.shape[0]
        self._array, self._check, self._n_draws, self._path = array, check, n_draws, path

    def check_found(self) -> None:
        """Raise an error if the array is not found."""
        if is_array(self._array):
            check_found(self._array)

    def read(self, keep: IntArray, size: int) -> Iterator[AnyArray]:
        """Integers, one draw per row, in blocks; see `Rows`."""
        for numbers in self._pieces(keep, size):
            block = self._take(numbers)
            for begin in range(0, len(block), size):
                part = slice(begin, begin + size)
                yield self._check(block[part], numbers[part])

    def _pieces(self, keep: IntArray, size: int) -> Iterator[IntArray]:
        """The numbers of the draws that are read at once; those of one chain only."""
        n = self._n_draws
        if self.in_memory:
            for own in _groups(keep, keep // n):
                yield from (own[begin : begin + size] for begin in range(0, len(own), size))
            return
        # `chunks` has the sizes of all chunks (dask, xarray) or the size of one (zarr, h5py). A chunk that is
        # cut in two is read and decompressed twice, so that whole ones are read.
        sizes = (getattr(self._array, "chunks", None) or (1, 1))[-2]
        chunk = max(sizes) if isinstance(sizes, tuple) else sizes
        step = max(1, size // chunk) * chunk
        yield from _groups(keep, keep // n * n + keep % n // step)

    def _take(self, numbers: IntArray) -> AnyArray:
        """The rows of the given numbers; a view, not a copy, if they follow one another in memory."""
        chain, first = divmod(int(numbers[0]), self._n_draws)
        # A slice, and never array[chain], which is the whole chain where it is not in memory.
        rows = slice(first, first + int(numbers[-1] - numbers[0]) + 1)
        # Numbers are read only here: a damaged file may show only now.
        with nullcontext() if self._path is None else reading(self._path, "labels"):
            block = self._array[chain, rows] if self._array.ndim == 3 else self._array[rows]
            block = np.asanyarray(block)
        return block if len(block) == len(numbers) else block[numbers - numbers[0]]


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

    def read(self, keep: IntArray, size: int) -> Iterator[AnyArray]:
        """Integers, one draw per row, in blocks; see `Rows`."""
        begin = 0
        for part in self._parts:
            end = begin + part.shape[0]
            own = keep[np.searchsorted(keep, begin) : np.searchsorted(keep, end)] - begin
            yield from part.read(own, size)
            begin = end


def _groups(numbers: IntArray, key: IntArray) -> Iterator[IntArray]:
    """The numbers cut where the key changes."""
    cuts = np.flatnonzero(np.diff(key)) + 1
    return (group for group in np.split(numbers, cuts) if len(group))
