"""Draws from objects of other packages: data frames and fitted clusterers.

Objects are recognized by their attributes, so that no other package is imported.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from epluribus._typing import AnyArray
from epluribus.readers.columns import pick_columns
from epluribus.readers.source import Source

_MAKE_FRAME = ("compute", "collect", "to_pandas")
"""Methods that turn a frame of dask, a lazy one of polars, or a table of pyarrow into one in memory."""
_FRAME = ("to_numpy", *_MAKE_FRAME)
"""Every data frame or table has one of these methods."""

NOISE = ("alone", "together", "missing")
"""What can be done with items that a clusterer puts into no cluster."""
_NOISE_LABEL = -1
"""The label of such items in scikit-learn."""


# --- data frames: one draw per row, one item per column ---


def is_frame(data: Any) -> bool:
    """Whether `data` is a frame of pandas, polars (also a lazy one) or dask, or a table of pyarrow."""
    with warnings.catch_warnings():
        # polars warns that finding the columns of a lazy frame takes time.
        warnings.simplefilter("ignore")
        return hasattr(data, "columns") and any(hasattr(data, way) for way in _FRAME)


def from_frame(frame: Any, *, var: str | None = None, chain: str | None = None) -> Source:
    """Labels, item names and chains of a data frame.

    Parameters
    ----------
    frame : DataFrame or Table
        Of pandas, polars, dask or pyarrow; one draw per row, or long. Its columns are read by `pick_columns`.
    var : str, optional
        The variable whose entries are the labels.
    chain : str, optional
        The column, or in pandas the level of the index, that holds the chain, if it has no usual name.
    """
    if not hasattr(frame, "to_numpy"):
        frame = getattr(frame, next(way for way in _MAKE_FRAME if hasattr(frame, way)))()
    # xarray's to_dataframe has chain, draw and perhaps the item as levels of the index: as columns they are
    # what `pick_columns` knows, a wide table or a long one.
    levels = _index_names(frame)
    if len(levels) > 1 and "draw" in levels:
        frame = frame.reset_index()
        levels = _index_names(frame)

    # pandas selects columns by number with iloc, polars with a plain index.
    def take(columns: list[int]) -> Any:
        part = frame.iloc[:, columns] if hasattr(frame, "iloc") else frame[:, columns]
        return part.to_numpy()

    # A chain in the index is not among the columns, so `pick_columns` must not look for it.
    level = "chain" if chain is None else chain
    in_index = level in levels
    source = pick_columns(
        list(frame.columns), take, where="the frame", var=var, chain=None if in_index else chain
    )
    if in_index:
        values = np.asarray(frame.index.get_level_values(levels.index(level)))
        source = source._replace(chains=values)
    return source


def _index_names(frame: Any) -> list[str]:
    """Names of the levels of the index, which only pandas has."""
    return [str(name) for name in getattr(getattr(frame, "index", None), "names", [])]


# --- base clusterings, in the conventions of scikit-learn ---


def is_ensemble(value: Any) -> bool:
    """Whether `value` is a list of estimators rather than of labels."""
    # One is enough: what is wrong with the others is then said in terms of estimators.
    return isinstance(value, list | tuple) and any(
        hasattr(entry, "fit") or hasattr(entry, "labels_") for entry in value
    )


def stack_labels(estimators: Sequence[Any]) -> AnyArray:
    """The labels of fitted estimators, of shape (n_estimators, n_items)."""
    rows: list[AnyArray] = []
    for t, estimator in enumerate(estimators):
        labels = getattr(estimator, "labels_", None)
        if labels is None:
            name = type(estimator).__name__
            raise ValueError(
                f"'estimators' must be fitted and have 'labels_'; number {t} ({name}) has none. Fit "
                "it first. If it only predicts, as GaussianMixture does, give what 'predict' returns: "
                "as a row of Draws, or as a column of X for ConsensusClustering."
            )
        rows.append(np.asarray(labels))
        if len(rows[t]) != len(rows[0]):
            raise ValueError(
                "'estimators' must be fitted to the same items; number 0 has "
                f"{len(rows[0])} labels and number {t} has {len(rows[t])}. For clusterings of different "
                "parts of the items, give Draws a list of pairs (items, labels)."
            )
    if not rows:
        raise ValueError("'estimators' must have at least one estimator; the list is empty.")
    return np.array(rows)


def place_noise(rows: AnyArray, noise: str | None, argument: str = "z") -> AnyArray:
    """Labels in which items labeled -1 are each alone, all together, or missing.

    If `noise` is None, they are alone, with a warning that says so.

    >>> place_noise(np.array([[0, 0, -1, -1]]), "alone").tolist()
    [[0, 0, 3, 4]]
    >>> place_noise(np.array([[0, 0, -1, -1]]), "missing").tolist()
    [[0, 0, None, None]]
    """
    # Together needs no change: -1 is a label like any other. Words and unsigned numbers have no -1.
    if noise == "together" or rows.dtype.kind not in "if":
        return rows
    # The smallest label is found without a copy, and usually settles the question.
    if rows.dtype.kind == "i" and np.asarray(rows).min(initial=0) >= 0:
        return rows
    outside = np.asarray(np.ma.filled(rows == _NOISE_LABEL, False))
    if not outside.any():
        return rows
    if noise == "missing":
        return np.ma.masked_array(rows, np.ma.getmaskarray(rows) | outside)
    if noise is None:
        warnings.warn(
            f"'{argument}' has labels of -1: such items are taken to be in no cluster, each alone, as in "
            'scikit-learn. Say noise="alone" to confirm it, noise="together" if -1 is a cluster like any '
            'other, or noise="missing" if these labels are missing.',
            stacklevel=2,
        )
    # Item i gets the label free + i, above all others, and is alone in its row. Labels need not agree across
    # rows, so the same numbers serve every row. NaN is left for the check of the labels to report.
    free = int(np.nanmax(rows)) + 1
    alone = np.where(outside, free + np.arange(rows.shape[1]), np.asarray(rows))
    return np.ma.masked_array(alone, np.ma.getmaskarray(rows)) if np.ma.is_masked(rows) else alone


# --- clusterings of parts of the items ---


def is_parts(z: Any) -> bool:
    """Whether `z` is a list of pairs (items, labels): tuples of two rows of one length."""
    return (
        isinstance(z, list)
        and bool(z)
        and all(
            isinstance(pair, tuple)
            and len(pair) == 2
            and all(np.ndim(half) == 1 for half in pair)
            and len(pair[0]) == len(pair[1])
            for pair in z
        )
    )


def from_parts(pairs: Sequence[tuple[Any, Any]], argument: str) -> Source:
    """Labels of clusterings that saw some of the items each: the others are masked.

    Items are numbers from 0 on, or names, which are sorted.

    >>> found = from_parts([(["a", "b"], [0, 0]), (["b", "c"], [1, 2])], "z")
    >>> found.labels.tolist(), found.items
    ([[0, 0, None], [None, 1, 2]], ['a', 'b', 'c'])
    """
    seen = [np.asarray(items) for items, _ in pairs]
    numbered = all(items.dtype.kind in "iu" for items in seen)
    low = min(int(items.min(initial=0)) for items in seen) if numbered else 0
    if low < 0:
        raise ValueError(f"'{argument}' must number items from 0 on; got item {low}.")
    if numbered:
        names, n_items = None, 1 + max(int(items.max(initial=-1)) for items in seen)
    else:
        names = sorted({str(item) for items in seen for item in items.tolist()})
        place = {name: i for i, name in enumerate(names)}
        seen = [np.array([place[str(item)] for item in items.tolist()], np.int64) for items in seen]
        n_items = len(names)
    labels = [np.asarray(half) for _, half in pairs]
    for t, items in enumerate(seen):
        values, counts = np.unique(items, return_counts=True)
        if len(values) < len(items):
            twice = values[counts.argmax()]
            raise ValueError(
                f"'{argument}' must have each item once in a draw; draw {t} has item "
                f"{twice if names is None else repr(names[twice])} twice."
            )
    # Integers in the smallest type that holds them all; anything else as objects.
    kind: Any = object
    if all(row.dtype.kind in "iub" for row in labels):
        ends = [end for row in labels if row.size for end in (row.min(), row.max())]
        kind = np.result_type(*map(np.min_scalar_type, ends))
    table = np.ma.masked_array(np.zeros((len(pairs), n_items), kind), mask=True)
    for row, items, own in zip(table, seen, labels, strict=True):
        row[items] = own
    return Source(table, names)
