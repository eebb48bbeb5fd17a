"""From whatever the user has to a checked table of integer labels, one draw per row.

Numbers are not copied here: they are checked later, a block of draws at a time, wherever they are: in
memory, in a file, in a dask array (see `blocks`). Words and objects are numbered at once.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from epluribus import partition
from epluribus._integers import is_missing, to_integers
from epluribus._text import few_of
from epluribus._typing import AnyArray, IntArray
from epluribus._validate import check_choice
from epluribus.readers.blocks import Blocks, Rows, Stacked
from epluribus.readers.files import read_source
from epluribus.readers.labeled_arrays import from_labeled, is_labeled
from epluribus.readers.objects import (
    NOISE,
    from_frame,
    from_parts,
    is_ensemble,
    is_frame,
    is_parts,
    place_noise,
    stack_labels,
)
from epluribus.readers.source import Source, item_names, pick_labels
from epluribus.readers.zarr_arrays import from_array, from_group, is_array, is_group


class Table(NamedTuple):
    """Checked labels, and what came with them."""

    labels: Rows
    """The labels, to be read in blocks; equal labels in a row mean the same cluster."""
    chain: IntArray
    """Chain of each draw, numbered from 0."""
    items: Sequence[Any] | None
    """Names of the items, if any came."""
    variable: str | None
    """What the labels are called where they come from."""
    dimension: str | None
    """What the dimension of the items is called there."""


def to_table(
    z: Any,
    *,
    var: str | None = None,
    missing: Any = None,
    noise: str | None = None,
    argument: str = "z",
) -> Table:
    """Read and check labels from anything that `Draws` accepts.

    Parameters
    ----------
    z : object
        What `Draws` accepts, or the `Source` that a reader returned.
    var : str, optional
        The variable that holds the labels, if there are several.
    missing, noise
        A value that stands for a missing label, and what labels of -1 mean: as in `Draws`.
    argument : str, default "z"
        What messages call the labels if they have no name of their own.

    Returns
    -------
    Table
        Labels of shape (n_draws, n_items), chains stacked one after the other. Numbers are checked as they
        are read. Blocks in which labels are missing are masked arrays.

    Examples
    --------
    >>> table = to_table([[["a", "b"], ["b", "b"]], [["b", "a"], ["a", "a"]]])
    >>> [block.tolist() for block in table.labels.read(np.arange(4), 2)], table.chain.tolist()
    ([[[0, 1], [1, 1]], [[1, 0], [0, 0]]], [0, 0, 1, 1])
    """
    # Each file is checked by itself, so that messages name the file.
    if noise is not None:
        check_choice(noise, NOISE, "noise")
    options = {"missing": missing, "noise": noise}
    if isinstance(z, list | tuple) and _is_list_of_files(z):
        return _stack_chains([to_table(Path(path), var=var, **options) for path in z], z)
    source = to_source(z, var, argument)
    _refuse_one_partition(source, z if isinstance(z, str | Path) else argument)
    # Messages name the variable and the path, or the argument if there are neither.
    path = z if isinstance(z, str | Path) else None
    places = [str(place) for place in (source.variable, path) if place]
    argument = "' of '".join(places) or argument
    lazy = is_lazy(source.labels)
    array = source.labels if lazy else _to_array(source.labels, argument)
    if array.ndim not in (2, 3):
        way_out = " For one partition, wrap it: [labels]." if array.ndim == 1 else ""
        raise ValueError(
            f"'{argument}' must have two dimensions (draws, items) or three (chains, draws, items); "
            f"got {array.ndim}.{way_out}"
        )
    # With two dimensions n_chains is empty, and the product of no numbers is 1: one chain.
    *n_chains, n_draws, n_items = array.shape
    chain = np.repeat(np.arange(math.prod(n_chains)), n_draws)
    if len(chain) == 0:
        raise ValueError(f"'{argument}' must have at least one draw; it has no rows.")
    if n_items == 0:
        raise ValueError(f"'{argument}' must have at least one item; it has no columns.")
    # Chains that a column names take the place of those that the shape implies.
    if source.chains is not None:
        chain = _number_chains(source.chains)

    names = source.items

    def check(rows: AnyArray, numbers: IntArray) -> AnyArray:
        def place(t: int, i: int) -> str:
            item = f"item {i} (counted from 0)" if names is None else f"item '{names[i]}'"
            return f"draw {numbers[t]}, {item}"

        return place_noise(
            to_integers(rows, argument, place, missing=True, mark=missing), noise, argument
        )

    # Words are the same in all draws, and are numbered once.
    if not lazy and array.dtype.kind not in "iufb":
        _warn_of_odd_words(array, missing, argument)
        numbers = check(array.reshape(-1, n_items), np.arange(len(chain)))
        return Table(Blocks(numbers, lambda rows, _: rows), chain, names, *source[3:])
    return Table(Blocks(array, check, path), chain, names, *source[3:])


def to_source(z: Any, var: str | None = None, argument: str = "z") -> Source:
    """What the reader for `z` returns; anything unknown is taken as an array.

    The order of the questions matters: an xarray Dataset is also a mapping, and a list of sets would become
    an array of objects.
    """
    if isinstance(z, Source):
        return z
    if type(z) is np.ndarray:
        return Source(z)
    if isinstance(z, str | Path):
        return read_source(Path(z), var=var)
    if is_frame(z):
        return from_frame(z, var=var)
    if is_array(z):
        return from_array(z)
    if is_group(z):
        return from_group(z, var, f"'{argument}'")
    if is_labeled(z):
        return from_labeled(z, var)
    # Arrays by name, as NumPyro and others return them: labels have at least draws and items.
    if isinstance(z, Mapping):
        tables = [name for name, value in z.items() if np.ndim(value) >= 2]
        name = pick_labels(list(z), z.__getitem__, var, f"'{argument}'", possible=tables)
        return Source(z[name], variable=name)
    # An iterator can be read only once, and the questions below would use it up.
    if isinstance(z, Iterator):
        z = list(z)
    if is_ensemble(z):
        return Source(stack_labels(z))
    if is_parts(z):
        return from_parts(z, argument)
    # Partitions as sets of items, or as mappings from items to labels, bring the items' names.
    if isinstance(z, list | tuple) and z and all(partition.is_groups(draw) for draw in z):
        labels, items = partition.groups_to_labels(z, argument)
        return Source(labels, item_names(items))
    return Source(z)


# --- what is probably a mistake ---


def _refuse_one_partition(source: Source, argument: Any) -> None:
    """Refuse a table of one partition, as `write_labels` and `to_pandas` make it: rows are items there."""
    names = set(source.items or ())
    if {"item", "cluster"} <= names <= {"item", "cluster", "certainty"}:
        raise ValueError(
            f"'{argument}' must hold draws, one in each row; it has the columns 'item' and 'cluster', which "
            "are one partition. 'epluribus compare' reads it, and 'epluribus ball --labels'; in Python "
            "give its column 'cluster' where labels are asked for."
        )


def _warn_of_odd_words(table: AnyArray, missing: Any, argument: str) -> None:
    """Say that a few labels are words where the others are numbers, such as an x for a missing one."""
    if table.dtype.kind != "U":
        return
    words, counts = np.unique(np.ma.compressed(table), return_counts=True)
    is_word = np.array([not word.lstrip("+-").isdecimal() and word != missing for word in words])
    odd = np.flatnonzero(is_word)
    if len(odd) and counts[odd].sum() < counts.sum() / 2:
        warnings.warn(
            f"'{argument}' has words among numbers: {few_of([repr(str(words[i])) for i in odd], 3)}. They "
            f"are read as labels like any other. If {words[odd[0]]!s} means that a label is missing, say so: "
            f"missing={str(words[odd[0]])!r}.",
            stacklevel=2,
        )


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
    labels = Stacked([table.labels for table in tables])
    return first._replace(labels=labels, chain=np.concatenate(chains))


def _number_chains(chains: AnyArray) -> IntArray:
    """The chains of the draws as numbers 0, 1, ..., in the order of their names."""
    # A missing chain would become one more chain, of draws that do not belong together.
    bad = next((t for t, value in enumerate(chains) if is_missing(value)), None)
    if bad is not None:
        raise ValueError(f"Every draw must have a chain; that of draw {bad} is missing.")
    # As text, chain 10 would come before chain 2: numbers keep their own order.
    names = chains if chains.dtype.kind in "iuf" else chains.astype(str)
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


# --- arrays in memory ---


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


def is_lazy(array: Any) -> bool:
    """Whether `array` can be sliced, has a numeric type, and may live outside memory."""
    if isinstance(array, np.ndarray | list | tuple):
        return False
    # Strings and objects (of xarray, h5py) are read at once: only numbers are converted block by block.
    sliceable = all(hasattr(array, name) for name in ("shape", "dtype", "ndim", "__getitem__"))
    return sliceable and getattr(array.dtype, "kind", "") in "iufb" and array.ndim in (2, 3)
