"""Readers: from whatever a user has to labels, one draw per row.

`objects.to_table` is the way in: it finds the labels, their chains and the names of the items, whatever the user
gave. It chooses among the readers: `files` for paths (which calls `text` and `arrays`), `columns` for data frames,
`arrays` for xarray, ArviZ and zarr. Each of them returns a `Source`. `soft` reads probabilities of clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from epluribus._typing import AnyArray, IntArray
from epluribus._validate import quoted


class Source(NamedTuple):
    """Labels as a reader found them, unchecked, and what came with them."""

    labels: Any
    """Of shape (n_draws, n_items) or (n_chains, n_draws, n_items) and of any type, perhaps not in memory."""
    items: Sequence[Any] | None = None
    """Names of the items; None if there are none, or if they only count from 0."""
    chains: AnyArray | None = None
    """Chain of each draw, under any name; only for labels of two dimensions."""
    variable: str | None = None
    """What the labels are called where they come from."""
    dimension: str | None = None
    """What the dimension of the items is called there, if it has a name."""


def to_texts(values: Sequence[Any] | AnyArray) -> list[str]:
    """Names as text; integers that are stored as floats lose their decimal point.

    >>> to_texts([1.0, 2.5, "ann"])
    ['1', '2.5', 'ann']
    """
    return [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in values]


def item_names(values: Sequence[Any] | AnyArray) -> list[str] | None:
    """Names of the items as text; None if they only count from 0, which says nothing.

    >>> item_names([0, 1, 2]), item_names([1, 2, 3])
    (None, ['1', '2', '3'])
    """
    texts = to_texts(values)
    return None if texts == [str(i) for i in range(len(texts))] else texts


def all_integers(values: AnyArray) -> bool:
    """Whether all values are integers, whatever type they are stored in; a missing value is none."""
    if np.ma.is_masked(values) or values.dtype.kind in "iu":
        return not np.ma.is_masked(values)
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):  # words
        return False
    return bool(np.all(numbers == np.rint(numbers)))


def number_on(chains: Sequence[IntArray]) -> IntArray:
    """Chains of several files, one after the other: those of each go on from the last one before.

    >>> number_on([np.array([0, 1]), np.array([0, 0])]).tolist()
    [0, 1, 2, 2]
    """
    begins = np.cumsum([0, *(1 + int(part.max(initial=-1)) for part in chains)])
    return np.concatenate([part + begin for part, begin in zip(chains, begins, strict=False)])


def pick_labels(
    names: Sequence[str] | Mapping[str, str], values: Callable[[str], Any], var: str | None, where: str, *,
    possible: Sequence[str] | None = None,
) -> str:  # fmt: skip
    """Name of the variable that holds the labels: the one asked for, ``labels``, or the only one of integers.

    Parameters
    ----------
    names : sequence or mapping of str
        Names of all variables: arrays of a file, elements of a list, columns of a table; or a mapping from
        them to how each is listed in messages, by default in quotes.
    values : callable
        Returns the values of the variable of a given name. It is called only if several variables have the
        right shape, because the values may have to be read from disk.
    var : str or None
        The variable the user asks for.
    where : str
        What the variables belong to, for messages.
    possible : sequence of str, optional
        Names of the variables that have the shape of labels; all of them by default.

    Examples
    --------
    >>> variables = {"mu": [[0.3, 1.2]], "z": [[0.0, 1.0]]}
    >>> pick_labels(list(variables), variables.__getitem__, None, "the file")
    'z'
    """
    if var is not None and var in names:
        return var
    if var is not None:
        nothing = f"None for {where}, in which every column is an item"
        allowed = f"one of {quoted(names)} in {where}" if names else nothing
        raise ValueError(f"'var' must be {allowed}; got '{var}'.")
    found = list(names if possible is None else possible)
    if "labels" in found:  # `epluribus sample` writes it beside other arrays
        return "labels"
    # Parameters, such as the mean of each item, may have the same shape, but are not integers.
    if len(found) > 1:
        found = [name for name in found if all_integers(np.asanyarray(values(name)))]
    if len(found) != 1:
        listed = ", ".join(names.values() if isinstance(names, Mapping) else map(repr, names))
        raise ValueError(
            f"'var' must name the variable that holds the labels, integers by draw and item: {where} has "
            f"{listed or 'no variables'}, of which {quoted(found) or 'none'} could be it. Draws(data, var='z') "
            "names it, or --var z on the command line."
        )
    return found[0]


def from_arrays(arrays: Mapping[str, Any], var: str | None, where: str) -> Source:
    """One of several arrays by name, as NumPyro and others return them: labels have at least draws and items."""
    tables = [name for name in arrays if np.ndim(arrays[name]) >= 2]
    # To see whether floats are integers they must be read: only if nothing is stored as integers.
    stored = [name for name in tables if getattr(arrays[name], "dtype", np.dtype("O")).kind in "iu"]
    name = pick_labels(list(arrays), arrays.__getitem__, var, where, possible=stored or tables)
    return Source(arrays[name], variable=name)
