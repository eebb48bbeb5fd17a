"""Readers: from whatever a user has to labels, one draw per row.

`to_table` is the way in: it finds the labels, their chains and the names of the items, whatever the user gave.
`to_source` chooses the reader: `files` for paths (which calls `text`) and for xarray and ArviZ,
`columns` for data frames; fitted clusterers, and clusterings of parts of the items, are read here. Each reader returns
a `Source`. `soft` reads probabilities of clusters.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from epluribus._files import reading
from epluribus._integers import groups_to_labels, is_groups, is_missing, to_integers
from epluribus._text import count, few_of
from epluribus._typing import AnyArray, IntArray
from epluribus._validate import check_choice, shown
from epluribus.partition import ORDER
from epluribus.readers import columns, files
from epluribus.readers.columns import Source, item_names

NOISE = ("alone", "together", "missing")
"""What can be done with items that a clusterer puts into no cluster, whose label is -1."""


def to_table(
    z: Any, *, var: str | None = None, missing: Any = None, noise: str | None = None, lazy: bool = False
) -> Source:  # fmt: skip
    """The labels in anything that `Draws` accepts: draws by items, with chains numbered from 0 and a `check`.

    Parameters
    ----------
    z : object
        What `Draws` accepts, or a `Source`; one that has a `check` is returned as it is.
    var : str, optional
        The variable that holds the labels, if there are several.
    missing, noise
        A value that stands for a missing label, and what labels of -1 mean: as in `Draws`.
    lazy : bool, default False
        Whether labels in a file stay there for workers to read, as those in an array of Dask always do.

    Examples
    --------
    >>> table = to_table([[["a", "b"], ["b", "b"]], [["b", "a"], ["a", "a"]]])
    >>> table.check(table.labels, np.arange(4)).tolist(), table.chains.tolist()
    ([[0, 1], [1, 1], [1, 0], [0, 0]], [0, 0, 1, 1])
    """
    if isinstance(z, Source) and z.check is not None:
        return z
    if noise is not None:
        check_choice(noise, NOISE, "noise")
    # Each file is checked by itself, so that messages name the file. Labels may be strings too.
    if isinstance(z, list | tuple) and z and all(map(_is_file, z)):
        options: Any = {"var": var, "missing": missing, "noise": noise}
        return _stack_chains([to_table(Path(path), **options) for path in z], list(map(Path, z)))
    source = to_source(z, var)
    path, names = z if isinstance(z, str | Path) else None, source.items
    # A table of one partition, as `write_labels` and `to_pandas` make it: rows are items there.
    if names is not None and {"item", "cluster"} <= set(names) <= {"item", "cluster", "certainty"}:
        raise ValueError(
            f"'{path or 'z'}' must hold draws, one in each row; it has the columns 'item' and 'cluster', which "
            "are one partition. 'epluribus compare' reads it, and 'epluribus ball --labels'; in Python "
            "give its column 'cluster' where labels are asked for."
        )
    # Messages name the variable and the path, or the argument if there are neither.
    argument = "' of '".join(map(str, filter(None, (source.variable, path)))) or "z"
    array = source.labels
    chunked = hasattr(array, "dask") or getattr(array, "chunksizes", None)
    if chunked or (lazy and not isinstance(array, np.ndarray | list | tuple)):
        array = files.as_dask(array)
        array = source.labels if array is None else array
    # np.asarray would drop a mask, and what lies beneath it would pass as labels.
    if not (isinstance(array, np.ndarray) or hasattr(array, "dask")):
        # What is not in memory is read only here: a damaged file may show only now.
        with nullcontext() if path is None else reading(path, "labels"):
            array = _to_array(array, argument)
    if array.ndim not in (2, 3):
        way_out = (
            f" For one partition, wrap it: [labels]. {ORDER}"
            if array.ndim == 1 and array.size
            else ""
        )
        got = array.ndim if array.ndim and array.size else shown(z)
        what = f"two dimensions (draws, items) or three (chains, draws, items); got {got}"
        raise ValueError(f"'{argument}' must have {what}.{way_out}")
    *n_chains, n_draws, n_items = array.shape
    # With two dimensions n_chains is empty, and the product of no numbers is 1: one chain.
    chain, chains = np.repeat(np.arange(math.prod(n_chains)), n_draws), None
    if math.prod(n_chains) > 20 * n_draws > 0:
        warnings.warn(
            f"'{argument}' is read as {n_chains[0]:,} chains of {count(n_draws, 'draw')}: its dimensions must be "
            "chains, draws, items, in this order.",
            stacklevel=2,
        )
    for size, what in ((len(chain), "draw; it has no rows"), (n_items, "item; it has no columns")):
        if size == 0:
            raise ValueError(f"'{argument}' must have at least one {what}.")
    # Chains that a column names take the place of those that the shape implies.
    if source.chains is not None:
        chain, chains = number_chains(source.chains)
    if array.dtype.kind == "U":
        _warn_of_odd_words(array, missing, argument)
    array = array if array.ndim == 2 else array.reshape(-1, n_items)

    def check(rows: AnyArray, numbers: IntArray) -> AnyArray:
        # Labels as they mostly are: integers from 0 on, none of them missing.
        kind = "" if np.ma.isMaskedArray(rows) or missing is not None else rows.dtype.kind
        if kind == "u" or (kind == "i" and rows.min() >= 0):
            return rows

        def place(t: int, i: int) -> str:
            item = f"item {i} (counted from 0)" if names is None else f"item '{names[i]}'"
            return f"draw {numbers[t]}, {item}"

        found = to_integers(rows, argument, place, missing=True, mark=missing)
        return place_noise(found, noise, argument)

    return source._replace(labels=array, check=check, chains=chain, chain_names=chains)


def unchanged(rows: AnyArray, _: IntArray) -> AnyArray:
    """Rows that need no check."""
    return rows


def to_source(z: Any, var: str | None = None, argument: str = "z") -> Source:
    """What the reader for `z` returns; anything unknown is taken as an array.

    The order of the questions matters: an xarray Dataset is also a mapping, and a list of sets would become
    an array of objects.
    """
    if type(z) is np.ndarray:
        return Source(z)
    if isinstance(z, Source):
        return z
    if isinstance(z, str | Path):
        return files.read_source(Path(z), var=var)
    if (found := files.from_table(z, var, f"'{argument}'")) is not None:
        return found
    # An iterator can be read only once, and the questions below would use it up.
    z = list(z) if isinstance(z, Iterator) else z
    if is_ensemble(z):
        return Source(stack_labels(z))
    # Clusterings of parts of the items: pairs (items, labels), tuples of two rows of one length.
    if isinstance(z, list) and z and all(map(_is_pair, z)):
        return _from_parts(z, argument)
    # Partitions as sets of items, or as mappings from items to labels, bring the items' names.
    if isinstance(z, list | tuple) and z and all(map(is_groups, z)):
        labels, items = groups_to_labels(z, argument)
        return Source(labels, item_names(items))
    return Source(z)


def _to_array(z: Any, argument: str) -> AnyArray:
    """`z` as an array of any type; rows of different lengths are refused."""
    if isinstance(z, list | tuple) and any(map(files.is_labeled, z)):
        raise TypeError(
            f"'{argument}' must be one object of xarray or ArviZ; got a list of {len(z)}. Join them first, such as by "
            "xarray.concat(datasets, dim='chain')."
        )
    try:
        return np.asarray(z)
    except ValueError:
        if not isinstance(z, list | tuple):
            raise
    # Nested lists without a common shape: find the first row whose length differs.
    lengths = [len(row) if hasattr(row, "__len__") else 1 for row in z]
    t = next((t for t, length in enumerate(lengths) if length != lengths[0]), 0)
    some = f"draw 0 has {lengths[0]} items and draw {t} has {lengths[t]}"
    what = some if t else "its parts differ in shape"
    raise ValueError(f"'{argument}' must be a table, with rows of one length; {what}.")


def number_chains(chains: AnyArray) -> tuple[IntArray, tuple[str, ...] | None]:
    """The chains of the draws as numbers 0, 1, ..., in the order of their names, and these.

    >>> number_chains(np.array(["b", "a", "b"]))
    (array([1, 0, 1]), ('a', 'b'))
    """
    # A missing chain would become one more chain, of draws that do not belong together.
    masked = np.ma.getmaskarray(chains)
    bad = next((t for t, one in enumerate(chains) if masked[t] or is_missing(one)), None)
    if bad is not None:
        raise ValueError(f"Every draw must have a chain; that of draw {bad} is missing.")
    # As text, chain 10 would come before chain 2: numbers keep their own order.
    values = chains if chains.dtype.kind in "iuf" else chains.astype(str)
    found, numbers = np.unique(values, return_inverse=True)
    names = item_names(found.tolist())
    return numbers.astype(np.int64), None if names is None else tuple(names)


def _warn_of_odd_words(table: AnyArray, missing: Any, argument: str) -> None:
    """Warn if a few labels are words where the others are numbers, such as an x for a missing one."""
    words, counts = np.unique(np.ma.compressed(table), return_counts=True)
    often = dict(zip(words.tolist(), counts.tolist(), strict=True))
    odd = [word for word in often if not word.lstrip("+-").isdecimal() and word != missing]
    if 0 < sum(often[word] for word in odd) < counts.sum() / 2:
        warnings.warn(
            f"'{argument}' has words among numbers: {few_of([repr(word) for word in odd], 3)}. They are read as "
            f"labels like any other. If {odd[0]} means that a label is missing, say so: missing={odd[0]!r}.",
            stacklevel=2,
        )


# --- several files, one per chain ---


def _is_file(x: Any) -> bool:
    return isinstance(x, Path) or (isinstance(x, str) and Path(x).exists())


def _stack_chains(tables: list[Any], paths: list[Path]) -> Source:
    """Tables of the same items as one, with the chains numbered on from file to file and named by file."""
    first, rows, chains = tables[0], [], []
    stems = [path.name.partition(".")[0] for path in paths]
    for table, path, stem in zip(tables, paths, stems, strict=True):
        if table.labels.shape[1] != first.labels.shape[1]:
            here, there = (one.labels.shape[1] for one in (first, table))
            what = f"'{paths[0]}' has {here} and '{path}' has {there}"
            raise ValueError(f"The files must have the same items; {what}.")
        # A file without names fits any other with as many items; only two sets of names can disagree.
        if table.items and first.items and list(table.items) != list(first.items):
            raise ValueError(f"The files '{paths[0]}' and '{path}' must name the same items.")
        rows.append(table.check(table.labels, np.arange(len(table.labels))))
        name = stem if stems.count(stem) == 1 else str(path)
        own = table.chain_names or tuple(map(str, range(table.chains.max() + 1)))
        chains += [f"{name}:{one}" for one in own] if own[1:] else [name]
    stack = np.ma.concatenate if any(map(np.ma.is_masked, rows)) else np.concatenate
    stacked: AnyArray = stack(rows)
    chain = columns.number_on([table.chains for table in tables])
    weights = [table.weights for table in tables if table.weights is not None]
    if 0 < len(weights) < len(tables):
        raise ValueError("The files must all have weights of draws, or none of them.")
    return first._replace(
        labels=stacked,
        check=unchanged,
        chains=chain,
        chain_names=tuple(chains),
        weights=np.concatenate(weights) if weights else None,
    )


# --- base clusterings, in the conventions of scikit-learn ---


def is_ensemble(value: Any) -> bool:
    """Whether `value` is a list of estimators rather than of labels."""
    # One is enough: what is wrong with the others is then said in terms of estimators.
    return isinstance(value, list | tuple) and any(
        hasattr(entry, "fit") or hasattr(entry, "labels_") for entry in value
    )


def stack_labels(estimators: Sequence[Any]) -> AnyArray:
    """The labels of fitted estimators, of shape (n_estimators, n_items)."""
    if not estimators:
        raise ValueError("'estimators' must have at least one estimator; the list is empty.")
    rows: list[Any] = [getattr(estimator, "labels_", None) for estimator in estimators]
    for t, labels in enumerate(rows):
        if labels is None:
            what = f"number {t} ({type(estimators[t]).__name__}) has none"
            raise ValueError(
                f"'estimators' must be fitted and have 'labels_'; {what}. Fit it first. If it only predicts, as "
                "GaussianMixture does, give what 'predict' returns to Draws as a row, or in X as a column."
            )
        if len(labels) != len(rows[0]):
            what = f"number 0 has {len(rows[0])} labels and number {t} has {len(labels)}"
            raise ValueError(
                f"'estimators' must be fitted to the same items; {what}. For clusterings of different parts of the "
                "items, give Draws a list of pairs (items, labels)."
            )
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
    outside = np.asarray(np.ma.filled(rows == -1, False))
    if noise == "together" or rows.dtype.kind not in "if" or not outside.any():
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


def _is_pair(pair: Any) -> bool:
    two = isinstance(pair, tuple) and len(pair) == 2
    return two and np.ndim(pair[0]) == np.ndim(pair[1]) == 1 and len(pair[0]) == len(pair[1])


def _from_parts(pairs: Sequence[tuple[Any, Any]], argument: str) -> Source:
    """Labels of clusterings that saw some of the items each: the others are missing.

    Items are numbers from 0 on, or names, which are sorted.

    >>> found = _from_parts([(["a", "b"], [0, 0]), (["b", "c"], [1, 2])], "z")
    >>> found.labels.tolist(), found.items
    ([[0, 0, None], [None, 1, 2]], ['a', 'b', 'c'])
    """
    seen, labels = ([np.asarray(pair[k]) for pair in pairs] for k in (0, 1))
    numbered = all(items.dtype.kind in "iu" for items in seen)
    draw = np.repeat(np.arange(len(pairs)), list(map(len, seen)))
    item = np.concatenate(seen if numbered else [items.astype(str) for items in seen])
    if numbered and item.min(initial=0) < 0:
        raise ValueError(f"'{argument}' must number items from 0 on; got item {item.min()}.")
    names, place = (None, item) if numbered else np.unique(item, return_inverse=True)
    _, first, times = np.unique([draw, place], axis=1, return_index=True, return_counts=True)
    for t in first[times > 1][:1]:
        what = f"draw {draw[t]} has item {item[t]} twice"
        raise ValueError(f"'{argument}' must have each item once in a draw; {what}.")
    table = columns.spread(draw, place, np.concatenate(labels))
    return Source(table, None if names is None else names.tolist())
