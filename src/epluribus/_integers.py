"""Labels of any type made integers, without changing which of them are equal.

Labels may be integers, integers stored as floats, strings, or any hashable objects; -1, which clusterers have for
noise, stays -1 also as a word. Numbers that are not integers are refused. Missing values are masked in the result, or
refused where they cannot be used. Partitions given as sets of items, or as mappings from items to labels, become
labels by item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._typing import AnyArray


def to_integers(
    table: AnyArray,
    argument: str,
    place: Callable[[int, int], str],
    *,
    missing: bool = False,
    mark: Any = None,
) -> AnyArray:
    """A table of labels of any type as integers, without changing which of them are equal.

    `place(row, column)` describes a cell for messages, such as "draw 3, item 7 (counted from 0)". With
    `missing`, missing values are allowed, and so is the value `mark`, which stands for one: the result is
    then a masked array if there are any.

    >>> to_integers(np.array([[3.0, np.nan]]), "z", lambda t, i: "").tolist()
    Traceback (most recent call last):
    ValueError: 'z' must hold labels (integers or strings);  has a missing value.
    >>> to_integers(np.array([[3.0, np.nan]]), "z", lambda t, i: "", missing=True).tolist()
    [[3, None]]
    """
    mask = _missing_cells(table, mark if missing else None)
    if mask is not None and not missing:
        t, i = np.argwhere(mask)[0]
        raise _bad_label(argument, place(int(t), int(i)), "a missing value")
    # A mask without any masked entry is harmless, and is dropped.
    table = np.asarray(table)
    if mask is not None and not mask.all():
        # Any label will do under the mask: one that is there causes no error, and no new label.
        table = np.where(mask, table[~mask][0], table)
    elif mask is not None:
        table = np.zeros(table.shape, dtype=np.int8)
    kind = table.dtype.kind
    if kind == "f":
        table = _floats_to_integers(table, argument, place)
    elif kind == "O":
        table = _objects_to_integers(table, argument, place)
    elif kind in "US":  # strings are numbered in sorted order
        words, codes = np.unique(table, return_inverse=True)
        numbers = np.arange(len(words))
        if kind == "U":
            numbers[words == "-1"] = -1
        table = numbers[codes].reshape(table.shape)
    elif kind not in "iub":
        raise TypeError(
            f"'{argument}' must hold labels (integers or strings); got values of type {table.dtype}."
        )
    return table if mask is None else np.ma.masked_array(table, mask)


def _missing_cells(table: AnyArray, mark: Any) -> NDArray[np.bool_] | None:
    """Which cells are masked, missing, or equal to the mark; None if there are none."""
    found: Any = np.ma.getmaskarray(table) if np.ma.is_masked(table) else False
    values = np.asarray(table)
    if values.dtype.kind == "f":
        nan = np.isnan(values)
        found = found | nan if nan.any() else found
    elif values.dtype.kind == "O":
        found = found | np.frompyfunc(is_missing, 1, 1)(values).astype(np.bool_)
    if mark is not None:
        found = found | np.asarray(values == mark)
    return found if np.any(found) else None


def _bad_label(argument: str, where: str, what: str, way_out: str = "") -> ValueError:
    return ValueError(
        f"'{argument}' must hold labels (integers or strings); {where} has {what}.{way_out}"
    )


def _floats_to_integers(
    table: AnyArray, argument: str, place: Callable[[int, int], str]
) -> AnyArray:
    """Integers stored as floats (Stan, R, csv), checked."""
    for t, i in np.argwhere(~(np.isfinite(table) & (table == np.rint(table))))[:1]:
        what = f"{table[t, i]!s}, which is not an integer"
        raise _bad_label(argument, place(int(t), int(i)), what, _way_out(table))
    if np.abs(table).max() >= 2.0**63:
        raise ValueError(
            f"'{argument}' has labels too large for integers: {np.abs(table).max():g}."
        )
    return table.astype(np.int64)


def _way_out(table: AnyArray) -> str:
    """What may help where labels are not integers."""
    # Numbers between 0 and 1 are probably probabilities of clusters.
    if np.all((table >= 0) & (table <= 1)):
        return (
            " For the probabilities of clusters see soft_draws ('epluribus soft'), for a similarity matrix "
            "minimize(psm=...) ('epluribus summarize --psm')."
        )
    # Numbers of at most 0, not all integers, are probably their logarithms.
    if np.all(table <= 0):
        return " For the logarithms of the probabilities of clusters see soft_draws(..., log=True) ('epluribus soft')."
    # If only some columns of a table hold integers, the others are probably other variables of the file.
    whole = np.all(table == np.rint(table), axis=0)
    if len(table) > 1 and 0 < whole.sum() < whole.size:
        return " Leave such columns out, or name the variable that holds the labels: 'var'."
    if len(table) == 1:  # one partition
        return ""
    return " Measurements need a model, such as sample(GaussianMixture(y)) ('epluribus sample')."


def _objects_to_integers(
    table: AnyArray, argument: str, place: Callable[[int, int], str]
) -> AnyArray:
    """Any hashable labels, numbered in order of appearance; -1 stays."""
    codes: dict[Any, int] = {-1: -1, "-1": -1}
    out = np.empty(table.shape, dtype=np.int64)
    for (t, i), value in np.ndenumerate(table):
        if isinstance(value, float | np.floating) and not float(value).is_integer():
            raise _bad_label(argument, place(t, i), f"{value!r}, which is not an integer")
        try:
            out[t, i] = codes.setdefault(value, len(codes))
        except TypeError:  # not hashable
            raise TypeError(str(_bad_label(argument, place(t, i), f"{value!r}"))) from None
    return out


def is_missing(value: Any) -> bool:
    """Whether a value stands for a missing one: None, NaN, NaT, or the NA of pandas."""
    # NaN and NaT differ from themselves; a comparison with NA is neither true nor false and raises.
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


# --- partitions as sets of items, or as mappings ---


def is_groups(labels: Any) -> bool:
    """Whether a partition is given as sets of items, or as a mapping from items to labels."""
    if isinstance(labels, list | tuple):
        return bool(labels) and all(isinstance(one, Set) for one in labels)
    return isinstance(labels, Mapping)


def groups_to_labels(draws: Sequence[Any], argument: str) -> tuple[list[list[Any]], list[Any]]:
    """Labels, one draw per row, and the sorted items, from draws given as sets of items or mappings."""
    found = [_groups_to_mapping(draw, t, argument) for t, draw in enumerate(draws)]
    try:
        items = sorted(found[0])
    except TypeError:  # numbers and strings have no common order
        items = sorted(found[0], key=str)
    for t, draw in enumerate(found):
        # Items in one of the two draws but not in the other.
        odd = draw.keys() ^ found[0].keys()
        if odd:
            raise ValueError(
                f"'{argument}' must have the same items in every draw; "
                f"{min(odd, key=str)!r} is in only one of draws 0 and {t}."
            )
    return [[draw[item] for item in items] for draw in found], items


def _groups_to_mapping(draw: Any, t: int, argument: str) -> dict[Any, Any]:
    """The label of each item of one draw; number t is for messages."""
    if isinstance(draw, Mapping):
        return dict(draw)
    found: dict[Any, Any] = {}
    for label, group in enumerate(draw):
        for item in group:
            if item in found:
                raise ValueError(
                    f"'{argument}' must hold partitions; in draw {t} {item!r} is in two sets."
                )
            found[item] = label
    return found
