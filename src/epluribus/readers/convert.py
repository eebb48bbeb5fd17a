"""From the objects users hold to a checked table of integer labels, one draw a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from epluribus.readers.blocks import is_elsewhere, read_blocks
from epluribus.readers.ensembles import is_ensemble, stack_labels
from epluribus.readers.frames import from_frame, is_frame
from epluribus.readers.groups import from_groups, is_groups
from epluribus.readers.source import Source
from epluribus.readers.tables import pick_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from epluribus._typing import IntArray

__all__ = ["Table", "source_to_table", "to_source", "to_table"]

_BLOCK_CELLS = 1 << 20


class Table(NamedTuple):
    """Integer labels (n_draws, n_items), and what came with them."""

    labels: NDArray[Any]
    chain: IntArray
    items: Sequence[Any] | None
    variable: str | None


def to_table(z: Any, *, var: str | None = None, argument: str = "z") -> Table:
    """Integer labels, the chain of each draw, names of items and of the variable, or None.

    `z` may be an array, nested lists, a pandas or xarray object, an ArviZ object, a mapping of
    arrays, a list of fitted estimators, a list of partitions as sets of items, a path, or a list of
    paths, one a chain.
    """
    if _is_list_of_files(z):
        return _join([to_table(Path(one), var=var, argument=argument) for one in z], z)
    if isinstance(z, str | Path):
        argument = str(z)
    return source_to_table(to_source(z, var, argument), argument)


def source_to_table(source: Source, argument: str = "z") -> Table:
    """The same from what a reader returned."""
    argument = source.variable or argument
    elsewhere = is_elsewhere(source.labels)
    array = source.labels if elsewhere else _as_array(source.labels, argument)
    if array.ndim == 3:
        n_chains, n_draws, n_items = array.shape
        chain = np.repeat(np.arange(n_chains), n_draws)
        if not elsewhere:
            array = array.reshape(n_chains * n_draws, n_items)
    elif array.ndim == 2:
        chain = np.zeros(array.shape[0], dtype=np.int64)
    else:
        raise ValueError(
            f"'{argument}' must have two dimensions (draws, items) or three (chains, draws, items); "
            f"got {array.ndim}.{' For one partition, wrap it: [labels].' if array.ndim == 1 else ''}"
        )
    if len(chain) == 0:
        raise ValueError(f"'{argument}' must have at least one draw; it has no rows.")
    if array.shape[-1] == 0:
        raise ValueError(f"'{argument}' must have at least one item; it has no columns.")
    if source.chains is not None:
        chain = _number_chains(source.chains)
    if elsewhere:
        labels: NDArray[Any] = read_blocks(array, partial(_as_integers, argument, source.items))
    else:
        labels = _as_integers(argument, source.items, array)
    return Table(labels, chain, source.items, source.variable)


def to_source(z: Any, var: str | None = None, argument: str = "z") -> Source:
    """What a reader makes of `z`; anything unknown is taken as an array."""
    if isinstance(z, str | Path):
        from epluribus.readers.files import read_source

        return read_source(Path(z), var=var)
    if is_frame(z):
        return from_frame(z, var=var)
    is_labelled = hasattr(z, "dims") and hasattr(z, "coords")  # an array of h5py has dims too
    if is_labelled or hasattr(z, "posterior") or hasattr(z, "groups"):
        from epluribus.readers.labelled import from_labelled

        return from_labelled(z, var)
    if isinstance(z, Mapping):  # what samplers return: arrays by name
        name = pick_table(list(z), z.__getitem__, var, f"'{argument}'")
        return Source(z[name], variable=name)
    if isinstance(z, Iterator):
        z = list(z)
    if is_ensemble(z):
        return Source(stack_labels(z))
    return from_groups(z, argument) if is_groups(z) else Source(z)


def _is_list_of_files(z: Any) -> bool:
    """A list of paths; of strings, only if all name files, since labels may be strings too."""
    if not isinstance(z, list | tuple) or not z:
        return False
    if all(isinstance(one, Path) for one in z):
        return True
    return all(isinstance(one, str | Path) and Path(one).exists() for one in z)


def _join(tables: list[Table], paths: Sequence[Any]) -> Table:
    """Several tables of the same items, their chains one after the other."""
    first, _, names, variable = tables[0]
    chains: list[IntArray] = []
    for (table, chain, own, _), path in zip(tables, paths, strict=True):
        if table.shape[1] != first.shape[1]:
            raise ValueError(
                f"The files must have the same items; '{paths[0]}' has {first.shape[1]} and "
                f"'{path}' has {table.shape[1]}."
            )
        if own is not None and names is not None and list(own) != list(names):
            raise ValueError(f"The files '{paths[0]}' and '{path}' must name the same items.")
        chains.append(chain + (1 + int(chains[-1].max()) if chains else 0))
    # Labels are names within a row: a table that wraps around as int64 keeps which are equal.
    labels = np.concatenate([table.labels.astype(np.int64) for table in tables])
    return Table(labels, np.concatenate(chains), names, variable)


def _number_chains(chains: NDArray[Any]) -> IntArray:
    """0, 1, ... in the order of the names of the chains."""
    bad = next((t for t, value in enumerate(chains) if _is_missing(value)), None)
    if bad is not None:
        raise ValueError(f"Every draw must have a chain; that of draw {bad} is missing.")
    names = chains if chains.dtype.kind in "iuf" else chains.astype(str)
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def _as_array(z: Any, argument: str) -> NDArray[Any]:
    """An array of any dtype; ragged rows are refused by name."""
    if isinstance(z, np.ma.MaskedArray) and np.ma.is_masked(z):
        *_, t, i = np.argwhere(np.ma.getmaskarray(z))[0]
        raise ValueError(
            f"'{argument}' must hold labels; draw {t}, item {i} (counted from 0) has a missing value."
        )
    try:
        lengths = [np.size(row) for row in z] if isinstance(z, list | tuple) else []
        array = np.asarray(z)
    except ValueError:  # lists within lists, of no one shape
        lengths, array = [len(row) for row in z], np.empty(0)
    for t, length in enumerate(lengths):
        if length != lengths[0]:
            raise ValueError(
                f"'{argument}' must have rows of one length; draw 0 has {lengths[0]} items and "
                f"draw {t} has {length}."
            )
    if lengths and not array.size and lengths[0]:
        raise ValueError(
            f"'{argument}' must be a table of labels, draws by items; its parts have no one shape."
        )
    return array


def _as_integers(
    argument: str, items: Sequence[Any] | None, array: NDArray[Any], first_draw: int = 0
) -> NDArray[Any]:
    """Labels as integers, without changing which of them are equal."""
    kind = array.dtype.kind
    if kind in "iub":
        return array
    if kind == "f":
        return _from_floats(array, argument, items, first_draw)
    if kind in "US":
        return np.unique(array, return_inverse=True)[1].reshape(array.shape)
    if kind == "O":
        return _from_objects(array, argument, items)
    raise TypeError(
        f"'{argument}' must hold labels (whole numbers or strings); got values of type {array.dtype}."
    )


def _from_floats(
    array: NDArray[Any], argument: str, items: Sequence[Any] | None, first_draw: int
) -> NDArray[Any]:
    """Whole numbers stored as floats (Stan, R, CSV). The array is checked and converted in blocks."""
    step = max(1, _BLOCK_CELLS // array.shape[1])
    low, high = 0.0, 0.0
    for begin in range(0, len(array), step):
        block = array[begin : begin + step]
        bad = np.argwhere(~(np.isfinite(block) & (block == np.rint(block))))
        if bad.size:
            t, i = begin + int(bad[0, 0]), int(bad[0, 1])
            value = array[t, i]
            what = "a missing value" if np.isnan(value) else f"{value!s}, which is no whole number"
            raise ValueError(
                f"'{argument}' must hold whole labels; {_place(first_draw + t, i, items)} has {what}."
                + _way_out(array)
            )
        low, high = min(low, float(block.min())), max(high, float(block.max()))
    for dtype in (np.int8, np.int16, np.int32, np.int64):
        info = np.iinfo(dtype)
        if info.min <= low and high <= info.max:
            return array.astype(dtype)
    raise ValueError(f"'{argument}' has labels too large for integers: from {low:g} to {high:g}.")


def _from_objects(array: NDArray[Any], argument: str, items: Sequence[Any] | None) -> NDArray[Any]:
    """Any hashable labels, numbered in order of appearance; missing ones are refused."""
    codes: dict[Any, int] = {}
    out = np.empty(array.shape, dtype=np.int64)
    for (t, i), value in np.ndenumerate(array):
        missing = _is_missing(value)
        if missing or (isinstance(value, float | np.floating) and value != round(value)):
            what = "a missing value" if missing else f"{value!r}, which is no whole number"
            raise ValueError(
                f"'{argument}' must hold whole labels or strings; {_place(t, i, items)} has {what}."
            )
        try:
            out[t, i] = codes.setdefault(value, len(codes))
        except TypeError:
            raise TypeError(
                f"'{argument}' must hold labels (whole numbers or strings); {_place(t, i, items)} has "
                f"{value!r}."
            ) from None
    return out


def _place(t: int, i: int, items: Sequence[Any] | None) -> str:
    return (
        f"draw {t}, item {i} (counted from 0)" if items is None else f"draw {t}, item '{items[i]}'"
    )


def _way_out(array: NDArray[Any]) -> str:
    """What may help where labels are no whole numbers."""
    if np.all((array >= 0) & (array <= 1)):
        return " For the probabilities of clusters see soft_draws."
    whole = np.all(array == np.rint(array), axis=0)
    if 0 < whole.sum() < whole.size:
        return " Leave such columns out, or name the variable that holds the labels: 'var'."
    return ""


def _is_missing(value: Any) -> bool:
    """None, NaN and NaT, which differ from themselves, and the NA of pandas, which will not say."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
