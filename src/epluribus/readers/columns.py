"""Which columns of a table hold the labels.

Tables come from csv, parquet, pandas and R. Three kinds of columns are recognized by their names:

- the chain of a draw: ``.chain`` (R's posterior), ``chain__`` (CmdStan), ``chain``;
- columns that number or describe the draws, which are left out: ``.iteration``, ``.draw``,
  ``iteration``, ``draw``, and every name that ends in ``__``, such as ``lp__``;
- the entries of a variable: ``z[1]``, ``z[2]``, ... or ``z.1``, ``z.2``, ...

In any other table every column is an item, except a first column that numbers ten draws or more, which is
left out with a warning. A variable that the user asks for may also have the columns ``z1``, ``z2``, ...

If several rows belong to the same draw, the table is long: each row has one label, with its draw and
its item beside it. tidybayes in R (``.chain``, ``.iteration``, ``.draw``, ``i``, ``z``) and xarray's
`to_dataframe` (``chain``, ``draw``, ``z_dim_0``, ``z``) write such tables.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from epluribus._typing import AnyArray, IntArray
from epluribus._validate import quoted
from epluribus.readers.source import Source, all_integers, item_names, pick_labels

_CHAIN = (".chain", "chain__", "chain")
"""Names of the column that holds the chain, tried in this order."""
_COUNTERS = (".iteration", ".draw", ".iter", "iteration", "draw", "iter")
"""Names, in small letters, of columns that number the draws."""
_NUMBER = ("k", "n_clusters", "nclusters", "num_clusters", "kplus", "k_plus")
"""Names, in small letters, of columns that hold the number of clusters of each draw."""
_WEIGHT = ".log_weight"
"""The column in which R's posterior stores the logarithms of the weights of the draws."""
_MIN_COUNTED = 10
"""With this many rows, a first column 1, 2, 3, ... numbers the draws; fewer labels may do so by chance."""
_ENTRY = re.compile(r"(?P<variable>.+?)(?:\.(?P<dot>\d+)|\[(?P<bracket>\d+)\])")
"""An entry of a variable, with one index. In z.1.2 the variable is z.1, which is itself an entry."""


def pick_columns(
    names: Sequence[Any],
    take: Callable[[list[int]], AnyArray],
    *,
    where: str,
    var: str | None = None,
    chain: str | None = None,
) -> Source:
    """Find the labels among the columns of a table.

    Parameters
    ----------
    names : sequence
        The names of all columns.
    take : callable
        Returns the columns of the given numbers as an array of shape (n_rows, n_columns). Only what is needed
        is taken, so that a large file need not become one array.
    where : str
        What the table is, for messages: "the file 'draws.csv'".
    var : str, optional
        The variable that holds the labels: its entries are the columns ``var[1]``, ``var.1`` or ``var1``.
    chain : str, optional
        The column that holds the chain, if it has none of the usual names.

    Returns
    -------
    Source
        Labels of shape (n_draws, n_items), with the names of the items and the chain of each draw, if known.

    Examples
    --------
    Stan's columns: the log density is left out, and the items are the entries of ``z``.

    >>> import numpy as np
    >>> rows = np.array([[-7.1, 1, 1, 2], [-6.5, 2, 2, 1]])
    >>> found = pick_columns(["lp__", "z.1", "z.2", "z.3"], lambda i: rows[:, i], where="the table")
    >>> found.labels.tolist(), found.items
    ([[1.0, 1.0, 2.0], [2.0, 2.0, 1.0]], ['1', '2', '3'])
    """
    texts = [str(name).strip() for name in names]
    # Silently leaving the weights out would give a wrong answer that looks right.
    if _WEIGHT in texts:
        raise ValueError(
            f"The column '{_WEIGHT}' of {where} holds weights. Read the other columns, and give "
            "its exponentials as 'weights'."
        )
    # What remains after the columns about the draws are labels, and perhaps other variables.
    at_chain = _chain_column(texts, chain, where)
    chains = None if at_chain is None else take([at_chain])[:, 0]
    counters = [i for i, text in enumerate(texts) if text.lower() in _COUNTERS]
    left_out = {at_chain, *counters, *(i for i, text in enumerate(texts) if text.endswith("__"))}
    rest = [i for i in range(len(texts)) if i not in left_out]
    if not rest:
        raise ValueError(f"No column of {where} holds labels: it has {quoted(texts)}.")
    # A long table needs a column for the item and one for the label, and has no entries of variables.
    if counters and len(rest) > 1 and not _variables(texts, rest):
        draw = _draw_of_each_row([take([i])[:, 0] for i in counters], chains)
        if draw is not None:
            columns = {texts[i]: take([i])[:, 0] for i in rest}
            long = _from_long(columns, draw, chains, where, var)
            if long is not None:
                return long
    # An item may be called anna.1, but only samplers write brackets, or columns about the draws.
    from_sampler = len(rest) < len(texts) or any(text.endswith("]") for text in texts)
    # Row numbers, as spreadsheets and data frames save them, would pass as the labels of one more item, and
    # so would the number of clusters.
    if var is None and len(rest) > 1 and _counts_draws(take(rest[:1])[:, 0], chains):
        message = f"The column '{texts[rest[0]]}' of {where} counts the draws: it is left out."
        warnings.warn(message, stacklevel=2)
        rest = rest[1:]
    variables = _candidates(texts, rest, var, from_sampler=from_sampler)
    if variables is None and var is None:
        rest = _without_number_of_clusters(texts, rest, take, where)
        if from_sampler:
            _refuse_matrices(texts, rest, take, where)
    if variables is not None:
        name = pick_labels(list(variables), lambda name: take(variables[name]), var, where)
        rest = variables[name]
    return Source(take(rest), _column_items([texts[i] for i in rest]), chains, var)


def _chain_column(texts: list[str], chain: str | None, where: str) -> int | None:
    """Number of the column that holds the chain."""
    if chain is None:
        return next((texts.index(name) for name in _CHAIN if name in texts), None)
    if chain not in texts:
        raise ValueError(f"'chain' must be a column of {where}, {quoted(texts)}; got '{chain}'.")
    return texts.index(chain)


def _counts_draws(values: AnyArray, chains: AnyArray | None) -> bool:
    """Whether a column numbers the draws, either all of them or those of each chain."""
    if len(values) < _MIN_COUNTED or not all_integers(values):
        return False
    counts = np.diff(values.astype(np.float64)) == 1
    # The numbers may go on from one chain to the next, or begin again at any number.
    if chains is not None:
        counts |= chains[1:] != chains[:-1]
    return bool(counts.all())


def _without_number_of_clusters(
    texts: list[str], rest: list[int], take: Callable[[list[int]], AnyArray], where: str
) -> list[int]:
    """The columns without one that has the number of clusters of each draw, which is said."""
    for at in (i for i in rest if texts[i].lower() in _NUMBER):
        others = [i for i in rest if i != at]
        values, table = take([at])[:, 0], np.asarray(take(others)) if others else np.empty((0, 0))
        if not others or len(values) < 2 or not all_integers(values):
            continue
        if [len(set(row)) for row in table.tolist()] == values.astype(np.float64).tolist():
            warnings.warn(
                f"The column '{texts[at]}' of {where} has the number of clusters: it is left out.",
                stacklevel=2,
            )
            return others
        # An item may have this name; at either end of the table it is doubtful.
        if at in (rest[0], rest[-1]):
            warnings.warn(
                f"The column '{texts[at]}' of {where} is read as an item. If it is the number of clusters, "
                "leave it out.",
                stacklevel=2,
            )
    return rest


def _refuse_matrices(
    texts: list[str], rest: list[int], take: Callable[[list[int]], AnyArray], where: str
) -> None:
    """Refuse a sampler's probabilities of clusters, by item and cluster, with the way to read them."""
    matches = [_ENTRY.fullmatch(texts[i]) for i in rest]
    matrices = {m["variable"] for m in matches if m and _ENTRY.fullmatch(m["variable"])}
    if matrices and not all_integers(np.asarray(take(rest))):
        first = next(texts[i] for i in rest if _ENTRY.fullmatch(texts[i]))
        raise ValueError(
            f"The columns of {where} are entries with two indices, such as '{first}', and are not integers: "
            "no labels. If they are probabilities of clusters, or their logarithms, make an array of draws, "
            "items and clusters for soft_draws. Mind the order: CmdStan counts the first index fastest, "
            "columns.reshape(n_draws, n_clusters, n_items).transpose(0, 2, 1) for p[item, cluster]."
        )


def _candidates(
    texts: list[str], rest: list[int], var: str | None, *, from_sampler: bool
) -> dict[str, list[int]] | None:
    """The columns of each variable that may hold the labels; None if every column is an item."""
    variables = _variables(texts, rest)
    if var is not None:
        # R's data.frame names the columns of a matrix X1, X2, ...
        numbered = [i for i in rest if re.fullmatch(re.escape(var) + r"\d+", texts[i])]
        return variables | {var: numbered} if numbered and var not in variables else variables
    # Outside a sampler's output a few columns may look like entries by chance (anna.1 beside ben): then
    # only a table in which all columns are entries is read as variables.
    n_entries = sum(len(columns) for columns in variables.values())
    return variables if variables and (from_sampler or n_entries == len(rest)) else None


def _variables(texts: list[str], rest: list[int]) -> dict[str, list[int]]:
    """The columns of each variable with one index, in order, if they are complete from 0 or 1 on.

    >>> _variables(["z.2", "z.1", "mu.1", "mu.3", "A.1.1"], [0, 1, 2, 3, 4])
    {'z': [1, 0]}
    """
    found: dict[str, dict[int, int]] = {}
    for i in rest:
        match = _ENTRY.fullmatch(texts[i])
        # A.1.2 is an entry of a matrix, which cannot hold the labels of one draw.
        if match and not _ENTRY.fullmatch(match["variable"]):
            index = int(match["dot"] or match["bracket"])
            found.setdefault(match["variable"], {})[index] = i
    # n different indices from 0 or 1 on have no gap if the largest and the smallest differ by n - 1.
    return {
        name: [columns[index] for index in sorted(columns)]
        for name, columns in found.items()
        if min(columns) <= 1 and max(columns) - min(columns) == len(columns) - 1
    }


def _column_items(texts: list[str]) -> list[str] | None:
    """Names of the items: those of the columns, or the indices if all are entries of one variable."""
    matches = [match for match in map(_ENTRY.fullmatch, texts) if match]
    if len(matches) == len(texts) and len({match["variable"] for match in matches}) == 1:
        return item_names([match["dot"] or match["bracket"] for match in matches])
    return item_names([text or str(i) for i, text in enumerate(texts)])


# --- long tables ---


def _draw_of_each_row(counters: list[AnyArray], chains: AnyArray | None) -> IntArray | None:
    """The draw of each row, 0, 1, ... in order of appearance; None if no two rows share a draw.

    Rows share a draw if they agree in their chain and in every column that numbers draws.
    """
    codes = np.zeros(len(counters[0]), dtype=np.int64)
    for values in counters if chains is None else [chains, *counters]:
        # Both codes are below n, the number of rows, so that a n + b is different for different pairs
        # (a, b); coding the result again keeps it below n, and no product overflows.
        codes = _codes(codes * len(codes) + _codes(values))
    return None if codes.max(initial=-1) + 1 == len(codes) else codes


def _from_long(
    columns: Mapping[str, AnyArray],
    draw: IntArray,
    chains: AnyArray | None,
    where: str,
    var: str | None,
) -> Source | None:
    """Labels with one draw per row, from a long table; None if no column can name the items of a draw.

    `columns` are those that do not number draws, by name: one names the item, one holds its label. `draw` is
    the draw of each row. Every pair of a draw and an item has at most one row, in any order; the label of a
    pair without one is missing.
    """
    # An item occurs once in each draw, while labels repeat; the first such column is taken.
    indices = [name for name in columns if name != var and _is_index(_codes(columns[name]), draw)]
    if not indices:
        return None
    index = indices[0]
    label = pick_labels(
        [name for name in columns if name != index],
        columns.__getitem__,
        var,
        f"{where} (a long table, with its items in the column '{index}')",
    )
    # Items in the order of their numbers where they have numbers, else in order of appearance.
    item = _codes(columns[index])
    if columns[index].dtype.kind in "iuf":
        item = np.unique(columns[index], return_inverse=True)[1].astype(np.int64)
    n_draws, n_items = int(draw.max()) + 1, int(item.max()) + 1
    # No draw has an item twice (`index` was chosen so); what has no row is missing.
    labels = np.ma.masked_array(np.zeros((n_draws, n_items), columns[label].dtype), mask=True)
    labels[draw, item] = columns[label]
    names = np.empty(n_items, dtype=columns[index].dtype)
    names[item] = columns[index]
    own = None
    if chains is not None:
        own = np.empty(n_draws, dtype=chains.dtype)
        own[draw] = chains
    complete = len(draw) == n_draws * n_items
    return Source(np.asarray(labels) if complete else labels, item_names(names), own, label)


def _is_index(codes: IntArray, draw: IntArray) -> bool:
    """Whether no draw has a value twice: as many different pairs (draw, value) as rows."""
    return len(np.unique(draw * (int(codes.max()) + 1) + codes)) == len(draw)


def _codes(values: AnyArray) -> IntArray:
    """0, 1, ... in order of appearance.

    >>> _codes(np.array(["b", "a", "b", "c"])).tolist()
    [0, 1, 0, 2]
    """
    # np.unique sorts, and objects of several types have no order: their texts do.
    if values.dtype.kind == "O":
        values = values.astype(str)
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    # rank[u] is the place of the sorted value u when values are ordered by where each was first seen.
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
