"""Which columns of a table hold the labels.

Tables come from csv, parquet, pandas and R. Three kinds of columns are known by their names:

- the chain of a draw: ``.chain`` (posterior), ``chain__`` (CmdStan), ``chain``;
- columns that count or describe the draws, which are left out: ``.iteration``, ``.draw``,
  ``iteration``, ``draw``, and all that end in ``__``, as ``lp__`` does;
- the entries of a variable: ``z[1]``, ``z[2]``, ... or ``z.1``, ``z.2``, ...

In any other table every column is an item, except a first one that numbers ten draws or more: it is
left out with a warning. A variable that is asked for may also have the columns ``z1``, ``z2``, ...

If several rows have the same draw, the table is long: it has one label per row, beside its draw and
its item. tidybayes in R (``.chain``, ``.iteration``, ``.draw``, ``i``, ``z``) and xarray's
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
_COUNTERS = (".iteration", ".draw", ".iter", "iteration", "draw", "iter")
_WEIGHT = ".log_weight"
"""The column in which R's posterior keeps the weights of draws."""
_MIN_COUNTED = 10
"""From this many rows on, a first column 1, 2, 3, ... counts the draws; fewer labels may count by chance."""
# The shortest name that leaves one index: of z.1.2 the variable is z.1, which is an entry again.
_ENTRY = re.compile(r"(?P<variable>.+?)(?:\.(?P<dot>\d+)|\[(?P<bracket>\d+)\])")


def pick_columns(
    names: Sequence[Any],
    take: Callable[[list[int]], AnyArray],
    *,
    where: str,
    var: str | None = None,
    chain: str | None = None,
) -> Source:
    """The labels among the columns.

    Parameters
    ----------
    names : sequence
        The names of all columns.
    take : callable
        The values of some columns, given by number, as an array.
    where : str
        What the table is, for messages.
    var : str, optional
        The variable that holds the labels: its entries are columns ``var[1]`` or ``var.1``.
    chain : str, optional
        The column that holds the chain, if it has none of the names above.
    """
    texts = [str(name).strip() for name in names]
    if _WEIGHT in texts:
        raise ValueError(
            f"The column '{_WEIGHT}' of {where} holds weights. Read the other columns, and give "
            "its exponentials as 'weights'."
        )
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
    # Items may be called anna.1, but only samplers write brackets, or columns about the draws.
    from_sampler = len(rest) < len(texts) or any(text.endswith("]") for text in texts)
    if var is None and len(rest) > 1 and _counts_draws(take(rest[:1])[:, 0], chains):
        message = f"The column '{texts[rest[0]]}' of {where} counts the draws: it is left out."
        warnings.warn(message, stacklevel=2)
        rest = rest[1:]
    variables = _candidates(texts, rest, var, from_sampler=from_sampler)
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
    """Whether a column numbers the draws, or those of each chain."""
    if len(values) < _MIN_COUNTED or not all_integers(values):
        return False
    counts = np.diff(values.astype(np.float64)) == 1
    if chains is not None:
        counts |= chains[1:] != chains[:-1]  # the first of the next chain may have any number
    return bool(counts.all())


def _candidates(
    texts: list[str], rest: list[int], var: str | None, *, from_sampler: bool
) -> dict[str, list[int]] | None:
    """Columns of the variables that may hold the labels; None if every column is an item."""
    variables = _variables(texts, rest)
    if var is not None:
        # R's data.frame names the columns of a matrix X1, X2, ...
        numbered = [i for i in rest if re.fullmatch(re.escape(var) + r"\d+", texts[i])]
        return variables | {var: numbered} if numbered and var not in variables else variables
    # Outside a sampler's output, some columns may look like entries of a variable by chance.
    n_entries = sum(len(columns) for columns in variables.values())
    return variables if variables and (from_sampler or n_entries == len(rest)) else None


def _variables(texts: list[str], rest: list[int]) -> dict[str, list[int]]:
    """Columns of each variable with one index, in order, if they are complete from 0 or 1 on."""
    found: dict[str, dict[int, int]] = {}
    for i in rest:
        match = _ENTRY.fullmatch(texts[i])
        if match and not _ENTRY.fullmatch(match["variable"]):  # z.1.2 is an entry of a matrix
            index = int(match["dot"] or match["bracket"])
            found.setdefault(match["variable"], {})[index] = i
    return {
        name: [columns[index] for index in sorted(columns)]
        for name, columns in found.items()
        if min(columns) <= 1 and max(columns) - min(columns) == len(columns) - 1
    }


def _column_items(texts: list[str]) -> list[str] | None:
    """Names of the items: those of the columns, or the numbers of the entries of one variable."""
    matches = [match for match in map(_ENTRY.fullmatch, texts) if match]
    if len(matches) == len(texts) and len({match["variable"] for match in matches}) == 1:
        return item_names([match["dot"] or match["bracket"] for match in matches])
    return item_names([text or str(i) for i, text in enumerate(texts)])


# --- long tables ---


def _draw_of_each_row(counters: list[AnyArray], chains: AnyArray | None) -> IntArray | None:
    """The draw of each row, 0, 1, ... in order of appearance; None if no two rows share a draw.

    Rows share a draw if their chain and all that counts draws are equal.
    """
    codes = np.zeros(len(counters[0]), dtype=np.int64)
    for values in counters if chains is None else [chains, *counters]:
        # Two codes below the number of rows, combined into one.
        codes = _codes(codes * len(codes) + _codes(values))
    return None if codes.max(initial=-1) + 1 == len(codes) else codes


def _from_long(
    columns: Mapping[str, AnyArray],
    draw: IntArray,
    chains: AnyArray | None,
    where: str,
    var: str | None,
) -> Source | None:
    """Labels with one draw per row; None if no column can name the items of a draw.

    `columns` are those that do not count draws: one names the item, one holds its label.
    """
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
    item = _codes(columns[index])
    if columns[index].dtype.kind in "iuf":  # numbers have an order of their own
        item = np.unique(columns[index], return_inverse=True)[1].astype(np.int64)
    n_draws, n_items = int(draw.max()) + 1, int(item.max()) + 1
    # No draw has an item twice (it is an index), so the table is complete if the numbers agree.
    if len(draw) != n_draws * n_items:
        short = int(np.bincount(draw, minlength=n_draws).argmin())
        missing = int(np.setdiff1d(np.arange(n_items), item[draw == short])[0])
        name = columns[index][np.flatnonzero(item == missing)[0]]
        raise ValueError(
            f"Every draw must have a label for every item; in {where} draw {short} (counted from 0) "
            f"has none for the item '{name}' of the column '{index}'."
        )
    order = np.lexsort((item, draw))  # by draw, then by item
    return Source(
        columns[label][order].reshape(n_draws, n_items),
        item_names(columns[index][order[:n_items]]),
        None if chains is None else chains[order[::n_items]],  # of the first row of each draw
        label,
    )


def _is_index(codes: IntArray, draw: IntArray) -> bool:
    """Whether no draw has a value twice."""
    return len(np.unique(draw * (int(codes.max()) + 1) + codes)) == len(draw)


def _codes(values: AnyArray) -> IntArray:
    """0, 1, ... in order of appearance."""
    if values.dtype.kind == "O":
        values = values.astype(str)  # objects of several types have no order
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    # np.unique sorts the values: number them by where each was first seen.
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
