"""From whatever the user has to a table of labels, one draw per row, that is read a block of draws at a time.

`to_table` finds the labels and says what came with them. `Rows.read` checks them and makes them integers, wherever
they are: in memory, in a file, in an array of dask, zarr or h5py. Nothing larger than a block is copied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from epluribus._files import reading
from epluribus._integers import is_missing, to_integers
from epluribus._typing import AnyArray, IntArray
from epluribus._validate import check_choice
from epluribus.readers.convert import refuse_one_partition, to_source, warn_of_odd_words
from epluribus.readers.objects import NOISE, place_noise
from epluribus.readers.source import Source
from epluribus.readers.zarr_arrays import check_found, is_array


class Part(NamedTuple):
    """Some rows of a table, which are in one array."""

    array: Any
    """(n_draws, n_items) or (n_chains, n_draws, n_items): an ndarray, or anything with a shape, a type and slices."""
    check: Callable[[AnyArray, IntArray], AnyArray]
    """Turns rows into integers, masked where labels are missing, given their numbers, which messages need."""
    path: str | Path | None = None
    """The file that the array is read from: if that fails, the error names it."""


class Rows:
    """The rows of one array or of several, one after the other, chain after chain.

    Attributes
    ----------
    shape : tuple of int
        Number of draws and of items.
    in_memory : bool
        Whether labels are in the memory of this process.

    Examples
    --------
    >>> rows = Rows(Part(np.arange(12).reshape(2, 3, 2), unchanged))
    >>> [block.tolist() for block in rows.read(np.array([0, 2, 3, 4]), 2)]
    [[[0, 1]], [[4, 5]], [[6, 7], [8, 9]]]
    """

    def __init__(self, *parts: Part) -> None:
        n_rows, self.in_memory = 0, False
        for part in parts:
            n_rows += math.prod(part.array.shape[:-1])
            self.in_memory |= isinstance(part.array, np.ndarray)
        self.parts, self.shape = parts, (n_rows, int(parts[0].array.shape[-1]))

    def check_found(self) -> None:
        """Raise an error if an array is not found by this process, to which the object was sent."""
        for part in self.parts:
            if is_array(part.array):
                check_found(part.array)

    def read(self, keep: IntArray, size: int) -> Iterator[AnyArray]:
        """Integers, one draw per row: the draws of the increasing numbers `keep`, in this order.

        A block has at most `size` draws; it is a masked array if labels are missing.
        """
        begin = 0
        for array, check, path in self.parts:
            n_rows, n_draws = math.prod(array.shape[:-1]), array.shape[-2]
            own = keep[np.searchsorted(keep, begin) : np.searchsorted(keep, begin + n_rows)] - begin
            begin += n_rows
            # `chunks` has the sizes of all chunks (dask, xarray) or the size of one (zarr, h5py). A chunk that is cut
            # in two is read and decompressed twice, so that whole ones are read, of one chain at a time.
            sizes = (getattr(array, "chunks", None) or (1, 1))[-2]
            chunk = max(sizes) if isinstance(sizes, tuple) else sizes
            step = max(1, size // chunk) * chunk
            cuts = np.flatnonzero(np.diff(own // n_draws * n_draws + own % n_draws // step)) + 1
            for numbers in np.split(own, cuts) if len(own) else ():
                # A slice, and never array[chain], which is the whole chain where it is not in memory.
                chain, first = divmod(int(numbers[0]), n_draws)
                rows = slice(first, first + int(numbers[-1] - numbers[0]) + 1)
                # Numbers are read only here: a damaged file may show only now.
                with nullcontext() if path is None else reading(path, "labels"):
                    block = np.asanyarray(array[rows] if array.ndim == 2 else array[chain, rows])
                if len(block) > len(numbers):  # else a view, where labels are in memory
                    block = block[numbers - numbers[0]]
                for at in range(0, len(block), size):
                    yield check(block[at : at + size], numbers[at : at + size])


class Table(NamedTuple):
    """Labels, and what came with them."""

    labels: Rows
    """The labels, to be read in blocks; equal labels in a row mean the same cluster."""
    chain: IntArray
    """Chain of each draw, numbered from 0."""
    items: Sequence[Any] | None = None
    """Names of the items, if any came."""
    variable: str | None = None
    """What the labels are called where they come from."""
    dimension: str | None = None
    """What the dimension of the items is called there."""


def to_table(
    z: Any, *, var: str | None = None, missing: Any = None, noise: str | None = None
) -> Table:
    """The labels in anything that `Draws` accepts, to be checked as they are read.

    Parameters
    ----------
    z : object
        What `Draws` accepts, the `Source` that a reader returned, or a table, which is returned as it is.
    var : str, optional
        The variable that holds the labels, if there are several.
    missing, noise
        A value that stands for a missing label, and what labels of -1 mean: as in `Draws`.

    Returns
    -------
    Table
        Labels of shape (n_draws, n_items), chains stacked one after the other.

    Examples
    --------
    >>> table = to_table([[["a", "b"], ["b", "b"]], [["b", "a"], ["a", "a"]]])
    >>> [block.tolist() for block in table.labels.read(np.arange(4), 2)], table.chain.tolist()
    ([[[0, 1], [1, 1]], [[1, 0], [0, 0]]], [0, 0, 1, 1])
    """
    if isinstance(z, Table):
        return z
    if noise is not None:
        check_choice(noise, NOISE, "noise")
    # Each file is checked by itself, so that messages name the file.
    if isinstance(z, list | tuple) and _is_list_of_files(z):
        tables = [to_table(Path(path), var=var, missing=missing, noise=noise) for path in z]
        return _stack_chains(tables, z)
    source = Source(z) if type(z) is np.ndarray else to_source(z, var)
    path = z if isinstance(z, str | Path) else None
    if source.items is not None:
        refuse_one_partition(source.items, path or "z")
    # Messages name the variable and the path, or the argument if there are neither.
    argument = "' of '".join(map(str, filter(None, (source.variable, path)))) or "z"
    array = source.labels
    if type(array) is not np.ndarray and not is_lazy(array):
        array = _to_array(array, argument)
    if array.ndim not in (2, 3):
        way_out = " For one partition, wrap it: [labels]." if array.ndim == 1 else ""
        raise ValueError(
            f"'{argument}' must have two dimensions (draws, items) or three (chains, draws, items); "
            f"got {array.ndim}.{way_out}"
        )
    *n_chains, n_draws, n_items = array.shape
    # With two dimensions n_chains is empty, and the product of no numbers is 1: one chain.
    chain = np.repeat(np.arange(math.prod(n_chains)), n_draws)
    if len(chain) == 0:
        raise ValueError(f"'{argument}' must have at least one draw; it has no rows.")
    if n_items == 0:
        raise ValueError(f"'{argument}' must have at least one item; it has no columns.")
    # Chains that a column names take the place of those that the shape implies.
    if source.chains is not None:
        chain = _number_chains(source.chains)
    if array.dtype.kind == "U":
        warn_of_odd_words(np.asanyarray(array), missing, argument)
    names = source.items

    def check(rows: AnyArray, numbers: IntArray) -> AnyArray:
        # Labels as they mostly are: integers from 0 on, none of them missing.
        kind = rows.dtype.kind if type(rows) is np.ndarray and missing is None else ""
        if kind == "u" or (kind == "i" and rows.min() >= 0):
            return rows

        def place(t: int, i: int) -> str:
            item = f"item {i} (counted from 0)" if names is None else f"item '{names[i]}'"
            return f"draw {numbers[t]}, {item}"

        found = to_integers(rows, argument, place, missing=True, mark=missing)
        return place_noise(found, noise, argument)

    return Table(Rows(Part(array, check, path)), chain, names, source.variable, source.dimension)


def unchanged(rows: AnyArray, _: IntArray) -> AnyArray:
    """Rows that need no check."""
    return rows


def is_lazy(array: Any) -> bool:
    """Whether `array` can be sliced, has a numeric type, and may live outside memory."""
    if isinstance(array, np.ndarray | list | tuple):
        return False
    # Strings and objects (of xarray, h5py) are read at once: only numbers are converted block by block.
    sliceable = all(hasattr(array, name) for name in ("shape", "dtype", "ndim", "__getitem__"))
    return sliceable and getattr(array.dtype, "kind", "") in "iufb" and array.ndim in (2, 3)


def _to_array(z: Any, argument: str) -> AnyArray:
    """`z` as an array of any type, masked if it is masked; rows of different lengths are refused."""
    # np.asarray would drop the mask, and what lies beneath it would pass as labels.
    if isinstance(z, np.ma.MaskedArray):
        return z
    try:
        return np.asarray(z)
    except ValueError:
        # Nested lists without a common shape: find the first row whose length differs.
        lengths = [len(row) if hasattr(row, "__len__") else 1 for row in z]
    for t, length in enumerate(lengths):
        if length != lengths[0]:
            raise ValueError(
                f"'{argument}' must have rows of one length; draw 0 has {lengths[0]} items and "
                f"draw {t} has {length}."
            )
    raise ValueError(
        f"'{argument}' must be a table of labels, draws by items; its parts differ in shape."
    )


def _number_chains(chains: AnyArray) -> IntArray:
    """The chains of the draws as numbers 0, 1, ..., in the order of their names."""
    # A missing chain would become one more chain, of draws that do not belong together.
    bad = next((t for t, value in enumerate(chains) if is_missing(value)), None)
    if bad is not None:
        raise ValueError(f"Every draw must have a chain; that of draw {bad} is missing.")
    # As text, chain 10 would come before chain 2: numbers keep their own order.
    names = chains if chains.dtype.kind in "iuf" else chains.astype(str)
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


# --- several files, one per chain ---


def _is_list_of_files(z: Sequence[Any]) -> bool:
    """Whether the list `z` is one of paths; strings count only if all name files, since labels may be strings."""
    return bool(z) and all(
        isinstance(x, Path) or (isinstance(x, str) and Path(x).exists()) for x in z
    )


def _stack_chains(tables: list[Table], paths: Sequence[Any]) -> Table:
    """Tables of the same items as one, with the chains numbered on from file to file."""
    first = tables[0]
    chains: list[IntArray] = []
    for table, path in zip(tables, paths, strict=True):
        if table.labels.shape[1] != first.labels.shape[1]:
            raise ValueError(
                f"The files must have the same items; '{paths[0]}' has {first.labels.shape[1]} and "
                f"'{path}' has {table.labels.shape[1]}."
            )
        # A file without names fits any other with as many items; only two sets of names can disagree.
        named = table.items is not None and first.items is not None
        if named and list(table.items or ()) != list(first.items or ()):
            raise ValueError(f"The files '{paths[0]}' and '{path}' must name the same items.")
        chains.append(table.chain + (1 + int(chains[-1].max()) if chains else 0))
    labels = Rows(*[part for table in tables for part in table.labels.parts])
    return first._replace(labels=labels, chain=np.concatenate(chains))
