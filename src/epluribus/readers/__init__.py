"""Readers: from whatever a user has to labels, one draw per row.

`objects.to_table` is the way in: it finds the labels, their chains and the names of the items, whatever the user
gave. It chooses among the readers: `files` for paths (which calls `text` and `arrays`), `columns` for data frames,
`arrays` for xarray, ArviZ and zarr. Each of them returns a `Source`. `soft` reads probabilities of clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from epluribus._typing import AnyArray
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
    if np.ma.is_masked(values):
        return False
    if values.dtype.kind in "iu":
        return True
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):  # words
        return False
    return bool(np.all(numbers == np.rint(numbers)))


def pick_labels(
    names: Sequence[str],
    values: Callable[[str], Any],
    var: str | None,
    where: str,
    *,
    possible: Sequence[str] | None = None,
    describe: Callable[[str], str] = repr,
) -> str:
    """Name of the variable that holds the labels: the one asked for, ``labels``, or the only one of integers.

    Parameters
    ----------
    names : sequence of str
        Names of all variables: arrays of a file, elements of a list, columns of a table.
    values : callable
        Returns the values of the variable of a given name. It is called only if several variables have the
        right shape, because the values may have to be read from disk.
    var : str or None
        The variable the user asks for.
    where : str
        What the variables belong to, for messages.
    possible : sequence of str, optional
        Names of the variables that have the shape of labels; all of them by default.
    describe : callable, optional
        How a variable is listed in the message; by default its name in quotes.

    Examples
    --------
    >>> variables = {"mu": [[0.3, 1.2]], "z": [[0.0, 1.0]]}
    >>> pick_labels(list(variables), variables.__getitem__, None, "the file")
    'z'
    """
    if var is not None and var in names:
        return var
    if var is not None:
        allowed = f"one of {quoted(names)} in {where}"
        if not names:
            allowed = f"None for {where}, in which every column is an item"
        raise ValueError(f"'var' must be {allowed}; got '{var}'.")
    found = list(names if possible is None else possible)
    if "labels" in found:  # `epluribus sample` writes it beside other arrays
        return "labels"
    # Parameters, such as the mean of each item, may have the same shape, but are not integers.
    if len(found) > 1:
        found = [name for name in found if all_integers(np.asanyarray(values(name)))]
    if len(found) != 1:
        raise ValueError(
            f"'var' must name the variable that holds the labels, integers by draw and item: {where} "
            f"has {', '.join(map(describe, names)) or 'no variables'}, of which "
            f"{quoted(found) or 'none'} could be it. Draws(data, var='z') names it, or --var z on the "
            "command line."
        )
    return found[0]


def from_arrays(arrays: Mapping[str, Any], var: str | None, where: str) -> Source:
    """One of several arrays by name, as NumPyro and others return them: labels have at least draws and items."""
    tables = [name for name in arrays if np.ndim(arrays[name]) >= 2]
    # To see whether floats are integers they must be read: only if nothing is stored as integers.
    stored = [name for name in tables if getattr(arrays[name], "dtype", np.dtype("O")).kind in "iu"]
    name = pick_labels(list(arrays), arrays.__getitem__, var, where, possible=stored or tables)
    return Source(arrays[name], variable=name)
