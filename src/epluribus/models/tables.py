"""Reading tables of data: one row per item, one column per variable, some cells perhaps missing.

NaN, None, pandas' NA and masked entries mean missing; nothing else does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from epluribus._integers import is_missing
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import as_array, check_positive, shown


def read_numbers(data: Any, argument: str) -> FloatArray:
    """(n_items, n_columns) numbers, NaN where a cell is missing; one dimension becomes one column.

    Parameters
    ----------
    data : array_like, masked array or data frame
    argument : str
        Its name, for messages.
    """
    masked = isinstance(data, np.ma.MaskedArray)
    try:
        if np.iscomplexobj(data):
            raise TypeError("complex numbers have no order")
        if masked:
            values = np.ma.filled(data.astype(np.float64), np.nan)
        elif hasattr(data, "to_numpy"):  # pandas: its NA is no number to NumPy
            values = data.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            values = np.array(data, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"'{argument}' must be numbers, one row per item; {error}.") from None
    table = _check_shape(values, argument)
    bad = np.argwhere(np.isinf(table))
    if bad.size:
        where = _place(bad[0], table.shape[1])
        raise ValueError(
            f"'{argument}' must be finite; {where} is {table[tuple(bad[0])]}. Leave such items out, "
            "or give NaN for a value that is not known."
        )
    return table


def _check_shape(values: AnyArray, argument: str) -> AnyArray:
    """The values as a table in row-major order: Numba would compile again for another."""
    table = values[:, None] if values.ndim == 1 else values
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(
            f"'{argument}' must have shape (n_items,) or (n_items, n_columns), neither of them 0; "
            f"got shape {values.shape}."
        )
    return np.ascontiguousarray(table)


def _place(cell: IntArray, n_columns: int) -> str:
    """Where a cell is, in words."""
    one = f"item {cell[0]}" if n_columns == 1 else f"item {cell[0]}, column {cell[1]}"
    return f"{one} (counted from 0)"


def check_columns(table: AnyArray, n_columns: int, argument: str) -> None:
    """An error if new items have more or fewer columns than the data."""
    if table.shape[1] != n_columns:
        raise ValueError(
            f"'{argument}' must have as many columns as the model's data, {n_columns}; got "
            f"{table.shape[1]}."
        )


def check_known(known: NDArray[np.bool_], argument: str) -> None:
    """An error if a column has no value at all; `known` says which cells have one."""
    empty = np.flatnonzero(~known.any(axis=0))
    if empty.size:
        raise ValueError(
            f"'{argument}' must have a value in every column; all cells of column {empty[0]} "
            "(counted from 0) are missing. Leave it out."
        )


def per_column(
    value: ArrayLike, argument: str, n_dims: int, *, positive: bool = False
) -> FloatArray:
    """(n_dims,) one finite number for each column, from one for all of them or one for each."""
    try:
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"'{argument}' must be a number; got {shown(value)}.") from None
    fits = values.shape in ((), (n_dims,)) and bool(np.isfinite(values).all())
    if not fits or (positive and not (values > 0).all()):
        kind = "finite number above 0" if positive else "finite number"
        raise ValueError(
            f"'{argument}' must be one {kind} or one for each of the {n_dims} columns; got "
            f"{shown(value)}."
        )
    return np.broadcast_to(values, (n_dims,)).copy()


def read_beta(beta: Any) -> tuple[float, float]:
    """The two parameters of a Beta prior, checked."""
    try:
        first, second = beta
    except (TypeError, ValueError):
        raise ValueError(
            f"'beta' must be two numbers, such as (0.5, 0.5); got {shown(beta)}."
        ) from None
    return check_positive(first, "beta"), check_positive(second, "beta")


def read_counts(data: Any, argument: str, way_out: str, high: float = np.inf) -> IntArray:
    """(n_items, n_columns) integers from 0 to `high`, -1 where a cell is missing.

    Parameters
    ----------
    data : array_like
    argument : str
    way_out : str
        The end of the message for a number that is not allowed.
    high : float, optional
        The largest number allowed.
    """
    table = read_numbers(data, argument)
    known = ~np.isnan(table)
    # 2^53: beyond it a float does not hold every integer.
    bad = np.argwhere(
        known & ((table < 0) | (table != np.floor(table)) | (table > min(high, 2**53)))
    )
    if bad.size:
        allowed = "0, 1, 2, ..." if high == np.inf else f"0 to {high:.0f}"
        raise ValueError(
            f"'{argument}' must hold {allowed}; {_place(bad[0], table.shape[1])} is "
            f"{table[tuple(bad[0])]:.6g}. {way_out}"
        )
    return np.where(known, table, -1.0).astype(np.int64)


def read_categories(
    data: Any, argument: str, names: list[list[Any]] | None = None
) -> tuple[IntArray, list[list[Any]]]:
    """Codes of categories, and the names of each column's categories in order.

    Parameters
    ----------
    data : array_like, masked array or data frame
        Numbers or text, mixed as you like; one row per item.
    argument : str
        Its name, for messages.
    names : list of lists, optional
        Categories that are known already; any other is an error.

    Returns
    -------
    codes : ndarray of shape (n_items, n_columns)
        0, 1, ... within each column; -1 where a cell is missing.
    names : list of lists
        The categories of each column, sorted, numbers before text.
    """
    if isinstance(data, np.ma.MaskedArray):
        gaps, data = np.ma.getmaskarray(data), np.ma.getdata(data).astype(object)
        data[gaps] = None
    if isinstance(data, np.ndarray) and data.dtype.kind in "biu" and names is None:
        return _read_integers(_check_shape(data, argument))  # no need to look at each cell
    cells = _check_shape(as_array(data, argument, object), argument)
    if names is not None:
        check_columns(cells, len(names), argument)
    codes = np.full(cells.shape, -1, dtype=np.int64)
    found = []
    for d in range(cells.shape[1]):
        gone = [x is np.ma.masked or is_missing(x) for x in cells[:, d]]
        column = [None if g else _plain(x) for x, g in zip(cells[:, d], gone, strict=True)]
        # Sorted, numbers before text: the codes must not depend on the order of the items.
        own = sorted({x for x in column if x is not None}, key=lambda x: (isinstance(x, str), x))
        if names is not None:
            strange = [x for x in own if x not in names[d]]
            if strange:
                raise ValueError(
                    f"'{argument}' must have the categories of the model's data; column {d} (counted "
                    f"from 0) has {strange[0]!r}, which is not among {names[d]}."
                )
            own = names[d]
        if not own:
            raise ValueError(
                f"'{argument}' must have a value in every column; all cells of column {d} (counted "
                "from 0) are missing. Leave it out."
            )
        number = {x: c for c, x in enumerate(own)}
        codes[:, d] = [-1 if x is None else number[x] for x in column]
        found.append(own)
    return codes, found


def _read_integers(table: AnyArray) -> tuple[IntArray, list[list[Any]]]:
    """The same for an array of integers or booleans, none of them missing."""
    pairs = [np.unique(column.astype(np.int64), return_inverse=True) for column in table.T]
    return np.column_stack([codes for _, codes in pairs]), [own.tolist() for own, _ in pairs]


def _plain(x: Any) -> Any:
    """A category as a Python number or text, so that 1, 1.0 and NumPy's 1 are one."""
    if isinstance(x, str):
        return str(x)
    if isinstance(x, bool | np.bool_ | int | np.integer):
        return int(x)
    if isinstance(x, float | np.floating):
        return int(x) if float(x).is_integer() else float(x)
    raise TypeError(
        f"a category must be a number or text; got {shown(x)} of type {type(x).__name__}."
    )


def row_names(data: Any) -> tuple[str, ...] | None:
    """Names of the rows of a data frame or series; None for anything else, and for 0, 1, 2, ..."""
    index = getattr(data, "index", None)
    if not hasattr(data, "iloc") or index is None or list(index) == list(range(len(index))):
        return None
    names = tuple(map(str, index))
    return names if len(set(names)) == len(names) else None


def count_matrix(matrix: Any, argument: str, weights: str = "refuse") -> sparse.csr_array:
    """A dense or sparse matrix of counts, as CSR with sorted indices and no stored zeros.

    Parameters
    ----------
    matrix : array_like or sparse matrix of shape (n_rows, n_columns)
    argument : str
        Its name in messages.
    weights : {"refuse", "count", "ignore"}
        What to do about entries other than 0 and 1: an error, or for "count" only if they are no counts, or 1
        stands for them.

    Returns
    -------
    scipy.sparse.csr_array of shape (n_rows, n_columns)
    """
    if not sparse.issparse(matrix):
        try:
            matrix = np.asarray(matrix, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"'{argument}' must be a matrix of numbers; {error}.") from None
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise ValueError(
                f"'{argument}' must be a matrix with rows and columns; got shape {matrix.shape}."
            )
    # Every entry that is not 0, NaN included.
    entries = sparse.coo_array(matrix)
    values = np.asarray(entries.data, dtype=np.float64)
    if weights == "ignore":
        values = np.where(np.isnan(values), values, values != 0)
    top = 1 if weights == "refuse" else 1 << 31
    bad = np.flatnonzero(~((values >= 0) & (values <= top) & (values == np.rint(values))))
    if bad.size:
        i, j, value = entries.row[bad[0]], entries.col[bad[0]], values[bad[0]]
        allowed = "only 0 and 1, the model is for binary data"
        way_out = "Give ignore_weights=True to count 1 for every entry but 0."
        if weights == "count":
            allowed = "counts, integers 0, 1, 2, ..."
            way_out += " Or round the weights, if need be in a smaller unit."
        if np.isnan(value):
            way_out = "Decide what a missing entry means and fill it."
        raise ValueError(
            f"'{argument}' must hold {allowed}; entry ({i}, {j}) (counted from 0) is {value:g}. {way_out}"
        )
    # The conversion adds up entries that are stored twice.
    csr = sparse.csr_array((values, (entries.row, entries.col)), entries.shape, dtype=np.int64)
    csr.eliminate_zeros()
    csr.sort_indices()
    return csr
