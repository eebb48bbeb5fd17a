"""Partitions as arrays of labels: canonical form, contingency table, meet, join, enumeration.

Labels are only names: integers, strings, integers stored as floats. They are checked and made
canonical once, where they enter the package (`as_labels`): 0, 1, 2, ... in order of first appearance (Strehl
& Ghosh 2003, doi:10.1162/153244303321897735). Two partitions are the same if and only if their canonical
labels are equal. Inside, labels are int64 arrays without gaps; `relabel` does not check them again.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from epluribus._integers import groups_to_labels, is_groups, to_integers
from epluribus._kernels.labels import canonical_rows
from epluribus._text import count
from epluribus._typing import AnyArray, IntArray, LabelsLike
from epluribus._validate import check_count, shown

_Scalar = TypeVar("_Scalar", bound=np.generic)

ORDER = "The estimate comes before the draws where a function takes both: (best, draws). Others take only draws."
"""The way out named in messages, where draws were given in place of an estimate or the reverse."""

__all__ = ["canonical", "contingency", "join", "meet", "n_partitions", "partitions"]

# --- public operations ---


def canonical(labels: LabelsLike) -> IntArray:
    """Labels 0, 1, ... in order of first appearance: two partitions are the same iff these are equal.

    Parameters
    ----------
    labels : array_like of shape (n_items,), list of sets, or mapping
        Labels by item; or the sets of items that are clusters; or a label for each item by name. An
        array of shape (1, n_items) or (n_items, 1) is one partition too; several are an error.

    Returns
    -------
    ndarray of int, shape (n_items,)

    Examples
    --------
    >>> from epluribus.partition import canonical
    >>> canonical(["b", "a", "b", "c"])
    array([0, 1, 0, 2])
    """
    return tidy(as_labels(labels))


def contingency(a: LabelsLike, b: LabelsLike) -> IntArray:
    """Number of items in cluster g of `a` and cluster h of `b`, clusters in order of first appearance.

    The clusters of an Estimate have its own numbers.

    Examples
    --------
    >>> from epluribus.partition import contingency
    >>> contingency([0, 0, 1], [0, 1, 1])
    array([[1, 1],
           [0, 1]])
    """
    first, second = _pair(a, b)
    columns = int(second.max()) + 1
    # Cell (g, h) of the table has the number g * columns + h.
    cells = np.bincount(first * columns + second, minlength=(int(first.max()) + 1) * columns)
    return cells.reshape(-1, columns)


def meet(a: LabelsLike, b: LabelsLike) -> IntArray:
    """The coarsest common refinement: items are together iff they are together in both partitions.

    Examples
    --------
    >>> from epluribus.partition import meet
    >>> meet([0, 0, 0, 1], [0, 0, 1, 1])
    array([0, 0, 1, 2])
    """
    return meet_labels(*_pair(a, b))


def meet_labels(a: IntArray, b: IntArray) -> IntArray:
    """The meet of canonical labels, which are not checked."""
    # A different number for each pair of labels (g, h), as for the cells of a contingency table.
    return relabel(a * (int(b.max()) + 1) + b)


def join(a: LabelsLike, b: LabelsLike) -> IntArray:
    """The finest partition that both refine: items linked by a chain of shared clusters are together.

    Examples
    --------
    >>> from epluribus.partition import join
    >>> join([0, 0, 1, 2, 3], [0, 1, 1, 2, 2])
    array([0, 0, 0, 1, 1])
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first, second = _pair(a, b)
    k = int(first.max()) + 1
    size = k + int(second.max()) + 1
    # A graph whose nodes are the clusters of both partitions; each item links its two clusters. The
    # connected components are the clusters of the join.
    edges = coo_array((np.ones(len(first), dtype=np.int8), (first, second + k)), shape=(size, size))
    component = connected_components(edges, directed=False)[1]
    return relabel(component[first])


def partitions(n_items: int) -> Iterator[IntArray]:
    """All partitions of `n_items` items in canonical form, in lexicographic order.

    There are `n_partitions(n_items)` of them, made one at a time; each array is a new copy.

    Examples
    --------
    >>> from epluribus.partition import partitions
    >>> [labels.tolist() for labels in partitions(3)]
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 1, 2]]
    """
    labels = np.zeros(check_count(n_items, "n_items", low=0), dtype=np.int64)
    while True:
        yield labels.copy()
        # Like an odometer: the last label that can grow does, and all after it start again at 0. A label
        # can be at most one more than the largest before it, and the first label is always 0.
        highest = np.maximum.accumulate(labels)
        i = n_items - 1
        while i > 0 and labels[i] == highest[i - 1] + 1:
            i -= 1
        if i <= 0:
            return
        labels[i] += 1
        labels[i + 1 :] = 0


def n_partitions(n_items: int) -> int:
    """Number of partitions of `n_items` items (Bell number).

    Examples
    --------
    >>> from epluribus.partition import n_partitions
    >>> n_partitions(9)
    21147
    """
    # The Bell triangle, 1 / 1 2 / 2 3 5 / ...: a row begins with the last entry of the row above, and each
    # further entry is the sum of the one before it and the one above that.
    row = [1]
    for _ in range(check_count(n_items, "n_items", low=0)):
        row = list(accumulate(row, initial=row[-1]))
    return row[0]


# --- canonical form ---


def relabel(labels: IntArray) -> IntArray:
    """Canonical form of integer labels that need no check."""
    row = np.ascontiguousarray(labels[None], dtype=np.int64)
    low = int(row.min(initial=0))
    span = int(row.max(initial=0)) - low + 1
    # Labels such as 0 and 10**15 are numbered first, by sorting.
    if span > 16 * row.size + 1024:
        row = np.unique(row, return_inverse=True)[1].reshape(row.shape).astype(np.int64)
        low, span = 0, int(row.max()) + 1
    out = np.empty(row.shape, dtype=np.uint32)
    canonical_rows(row, low, np.zeros(span, dtype=np.int64), out, np.empty(1, dtype=np.int64))
    return out[0].astype(np.int64)


def tidy(labels: IntArray) -> IntArray:
    """Canonical form of integer labels in which -1, an item in no cluster, stays -1."""
    inside = labels >= 0
    out = np.where(inside, 0, -1)
    if inside.any():
        out[inside] = relabel(labels[inside])
    return out


def by_size(labels: IntArray) -> IntArray:
    """Clusters numbered by size, 0 the largest, ties by their first items; -1, an item in no cluster, stays.

    >>> by_size(np.array([0, 1, 1, 2, -1]))
    array([ 1,  0,  0,  2, -1])
    """
    found = tidy(labels)
    order = np.argsort(-np.bincount(found[found >= 0]), kind="stable")
    # The last entry is what -1 is replaced by.
    return np.append(np.argsort(order), -1)[found]


def read_only(table: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """A view of an array that cannot be written.

    A kernel is compiled once for arrays that may be written, and once more for those that may not. What
    kernels only read reaches them in one of the two ways: this one, since tables of draws are protected.
    """
    view = table.view()
    view.flags.writeable = False
    return view


# --- one partition, from whatever the user has ---


def as_labels(
    labels: Any, n_items: int | None = None, argument: str = "labels", *, missing: bool = False
) -> IntArray:
    """One partition in canonical form, checked: the only way labels come into the package.

    The clusters of an Estimate keep their numbers.

    Parameters
    ----------
    labels : array_like of shape (n_items,), Estimate, Draws of one draw, list of sets, or mapping
        Labels by item; or the sets of items that are clusters; or a label for each item by name, the items
        being sorted. A table with one row or one column is taken as that row or column. Several partitions
        are refused.
    n_items, argument : int, str
        How many items there must be; the name of the argument, for messages.
    missing : bool, default False
        Whether labels may be missing, or items undecided; they are then -1 in the result.

    Examples
    --------
    >>> from epluribus.partition import as_labels
    >>> as_labels([{"b", "c"}, {"a"}])
    array([0, 1, 1])
    """
    if hasattr(labels, "item_major"):  # a Draws
        if len(labels) > 1:
            raise TypeError(
                f"'{argument}' must be one partition; got {shown(labels)}. {_one_of(labels)} {ORDER}"
            )
        labels = np.ma.masked_equal(labels[0], -1) if labels.has_missing else labels[0]
    numbered = is_estimate(labels)
    if numbered:
        labels = labels.labels
        if not missing and np.any(labels < 0):
            raise ValueError(
                f"'{argument}' must have a cluster for every item; it leaves "
                f"{count(int((labels < 0).sum()), 'item')} undecided. Take the others: "
                "best, draws = best.decided(draws)."
            )
    if is_groups(labels):
        labels = groups_to_labels([labels], argument)[0][0]
    values = _to_row(labels, argument)
    if n_items is not None and values.size != n_items:
        raise ValueError(f"'{argument}' must have {n_items} items; got {values.size}.")
    if numbered:
        return values
    if values.dtype.kind not in "iu" or isinstance(values, np.ma.MaskedArray):
        values = to_integers(
            values[None], argument, lambda _, i: f"item {i} (counted from 0)", missing=missing
        )[0]
    found = relabel(np.asarray(values))
    if not np.ma.is_masked(values):
        return found
    return tidy(np.where(np.ma.getmaskarray(values), -1, found))


def _to_row(labels: Any, argument: str) -> AnyArray:
    """Labels as an array of one dimension, neither checked nor canonical; several partitions are refused."""
    wrong = f"'{argument}' must be one partition, with a label for each item; got"
    if isinstance(labels, list | tuple) and any(map(is_estimate, labels)):
        raise TypeError(f"{wrong} a list of {count(len(labels), 'estimate')}. {_one_of(labels)}")
    try:
        values = labels if isinstance(labels, np.ma.MaskedArray) else np.asarray(labels)
    except ValueError:  # NumPy's message does not name the argument
        raise ValueError(f"{wrong} rows of different lengths. {_one_of(labels)}") from None
    if values.ndim == 0:  # a number, or something that NumPy does not take for a sequence
        raise ValueError(f"{wrong} {reprlib.repr(labels)}. Give a list or an array of labels.")
    if values.size == 0:
        raise ValueError(f"{wrong} an array of shape {values.shape}, which is empty.")
    # One row or one column is one partition; several are several.
    if values.ndim == 2 and 1 in values.shape:
        return values.ravel()
    if values.ndim > 1:
        raise ValueError(f"{wrong} an array of shape {values.shape}. {_one_of(labels)}")
    return values


def _one_of(several: Any) -> str:
    """The way out where several partitions were given in place of one."""
    # z[0] of a data frame is a column.
    first = "z.iloc[0]" if hasattr(several, "iloc") else "z[0]"
    return f"Give one of them, such as {first}; minimize finds one partition for many."


def is_estimate(thing: Any) -> bool:
    """Whether this is an Estimate or a Run: known by its attributes, since those classes come later."""
    return hasattr(thing, "expected_loss") and hasattr(thing, "labels")


def check_estimate(best: Any) -> None:
    """Refuse labels where the answer of a search is asked for, with all it knows about itself."""
    if not is_estimate(best):
        raise TypeError(
            f"'best' must be an Estimate, as minimize returns it; got {type(best).__name__}. {ORDER}"
        )


def _pair(a: LabelsLike, b: LabelsLike) -> tuple[IntArray, IntArray]:
    """Two partitions of the same items."""
    return as_labels(a, argument="a"), matched(b, a, "b", other="'a'")


# --- two things that have items ---


def item_names(thing: Any) -> tuple[str, ...] | None:
    """Names of the items of an estimate, draws, labels or data, as text; None where it has none.

    Names are what an Estimate or Draws calls its items, the index of a pandas object, the keys of a mapping, the
    members of sets, and the coordinate of the first dimension of a labeled array. The index 0, 1, 2, ... that pandas
    makes itself is not a name.

    >>> item_names({"ann": 0, "bob": 1}), item_names([0, 1])
    (('ann', 'bob'), None)
    """
    if is_estimate(thing) or hasattr(thing, "item_names"):  # an Estimate, or Draws
        return getattr(thing, "items", None)
    if is_groups(thing):
        return tuple(map(str, groups_to_labels([thing], "labels")[1]))
    if hasattr(thing, "iloc"):  # pandas
        # A frame with one row is one partition: its columns are the items.
        index = thing.columns if thing.ndim == 2 and len(thing) == 1 else thing.index
        default = index.equals(type(index)(range(len(index)))) if index.dtype.kind == "i" else False
        return None if default else tuple(map(str, index))
    if hasattr(thing, "coords") and thing.dims and thing.dims[0] in thing.coords:  # xarray
        return tuple(map(str, thing.coords[thing.dims[0]].values))
    return None


def matched(
    thing: Any,
    others: Any,
    argument: str = "best",
    *,
    other: str = "the draws",
    rows: bool = False,
    missing: bool = False,
) -> AnyArray:
    """Labels (or rows of data) of `thing` in the order of the items of `others`: the one way in which two meet.

    Items are matched by name where both have names, by position where one of them has none. Names that are rising
    numbers, such as those that filtering a data frame leaves behind, are names only if the other side has the same.
    `thing` is an Estimate, whose clusters keep their numbers, or labels, which are returned in canonical form (see
    `as_labels`, which `missing` is for); with `rows` it is data, whose rows are returned as they came. Messages call
    the two `argument` and `other`.

    >>> matched({"bob": 1, "ann": 0, "cy": 1}, {"cy": 5, "ann": 7, "bob": 5}, "b")
    array([0, 1, 1])
    """
    if hasattr(thing, "iloc") and thing.ndim == 2 and {"item", "cluster"} <= {*thing.columns}:
        thing = thing.set_index("item")["cluster"]  # what `write_labels` writes
    names, wanted = item_names(thing), item_names(others)
    n_items = getattr(others, "n_items", None if wanted is None else len(wanted))
    if n_items is None:
        n_items = as_labels(others, missing=True).size
    labels = thing if rows else as_labels(thing, n_items, argument, missing=missing)
    if len(labels) != n_items:
        raise ValueError(
            f"'{argument}' must have one row for each of the {count(n_items, 'item')} of {other}; got {len(labels)}."
        )
    order = _order_of(names, wanted, argument, other)
    if order is None:
        return labels
    if rows:
        return labels.iloc[order] if hasattr(labels, "iloc") else labels[order]
    return labels[order] if is_estimate(thing) else tidy(labels[order])


def _order_of(
    names: tuple[str, ...] | None, wanted: tuple[str, ...] | None, argument: str, other: str
) -> IntArray | None:
    """Where each of the wanted names is among the names; None if positions are to be used as they are."""
    if names is None or wanted is None or names == wanted:
        return None
    place = {name: i for i, name in enumerate(names)}
    odd = [name for name in wanted if name not in place]
    if odd and (_only_count(names) or _only_count(wanted)):
        return None
    if odd or len(place) < len(names) or len({*wanted}) < len(names):
        what = f"{odd[0]!r} is missing" if odd else "a name appears twice"
        raise ValueError(
            f"'{argument}' must name the same items as {other}; {what} in '{argument}', which begins with "
            f"{names[0]!r}. Rename them, or leave the names out (such as with to_numpy()) to match by position."
        )
    return np.array([place[name] for name in wanted])


def _only_count(names: tuple[str, ...]) -> bool:
    """Whether names are rising numbers, such as filtering a data frame leaves behind."""
    if not all(name.lstrip("-").isdigit() for name in names):
        return False
    numbers = list(map(int, names))
    return all(a < b for a, b in pairwise(numbers))
