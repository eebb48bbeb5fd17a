"""Which columns of a table hold the labels.

Tables come from csv, parquet, pandas and R, all as a data frame. Three kinds of columns are recognized by their
names:

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
from typing import Any, NamedTuple

import numpy as np

from epluribus._typing import AnyArray, IntArray
from epluribus._validate import quoted
from epluribus.readers import Source, all_integers, item_names, pick_labels

CHAIN = (".chain", "chain__", "chain")
"""Names of the column that holds the chain, tried in this order."""
_COUNTERS = (".iteration", ".draw", ".iter", "iteration", "draw", "iter")
"""Names, in small letters, of columns that number the draws."""
_NUMBER = ("k", "n_clusters", "nclusters", "num_clusters", "kplus", "k_plus")
"""Names, in small letters, of columns that hold the number of clusters of each draw."""
_ENTRY = re.compile(r"(.+?)(?:\.(\d+)|\[(\d+)\])")
"""An entry of a variable, with one index. In z.1.2 the variable is z.1, which is itself an entry."""


def is_frame(data: Any) -> bool:
    """Whether `data` is a frame of pandas, polars (also a lazy one) or dask, or a table of pyarrow."""
    # The class is asked, because finding the columns of a lazy frame of polars takes time.
    ways = ("iloc", "to_pandas", "compute", "collect")
    return hasattr(type(data), "columns") and any(hasattr(data, way) for way in ways)


def to_array(frame: Any) -> AnyArray:
    """The cells of a frame, masked where they are missing; integers do not become floats because of a gap.

    >>> import pandas as pd
    >>> to_array(pd.DataFrame({"a": [1, 2], "b": [None, 3]}, dtype="Int64")).tolist()
    [[1, None], [2, 3]]
    """
    import pandas as pd

    kinds = [getattr(kind, "numpy_dtype", kind) for kind in set(frame.dtypes)]
    missing, values = frame.isna().to_numpy(), None
    if all(isinstance(kind, np.dtype) and kind.kind in "iufb" for kind in kinds):
        kind = np.result_type(*kinds)
        values = frame.to_numpy(kind, na_value=np.nan if kind.kind == "f" else 0)
        if kind.kind == "f":
            # Large integers beside floats would be rounded.
            large = any(one.kind != "f" for one in kinds) and (np.abs(values) >= 2.0**53).any()
            missing, values = missing & large, None if large else values
    if values is None:
        values = frame.to_numpy(np.object_)
        if all(isinstance(kind, pd.StringDtype) for kind in kinds):
            values = np.where(missing, "", values).astype(np.str_)
    return np.ma.masked_array(values, missing) if missing.any() else values


class _Columns(NamedTuple):
    """A frame whose columns are known by their numbers, since names may be there twice."""

    frame: Any
    texts: list[str]
    """Names of the columns."""
    where: str
    """What the table is, for messages."""

    def take(self, columns: list[int]) -> AnyArray:
        return to_array(self.frame.iloc[:, columns])

    def column(self, i: int) -> AnyArray:
        return self.take([i])[:, 0]

    def warn(self, i: int, what: str) -> None:
        warnings.warn(f"The column '{self.texts[i]}' of {self.where} {what}", stacklevel=3)


def from_frame(
    frame: Any, *, var: str | None = None, chain: str | None = None, where: str = "the frame"
) -> Source:
    """Labels, item names and chains of a data frame, wide or long.

    Parameters
    ----------
    frame : DataFrame or Table
        Of pandas, polars, dask or pyarrow; one draw per row, or long.
    var : str, optional
        The variable whose entries are the labels: the columns ``var[1]``, ``var.1`` or ``var1``.
    chain : str, optional
        The column, or in pandas the level of the index, that holds the chain, if it has no usual name.
    where : str
        What the table is, for messages.

    Examples
    --------
    Stan's columns: the log density is left out, and the items are the entries of ``z``.

    >>> import pandas as pd
    >>> frame = pd.DataFrame([[-7.1, 1, 1, 2], [-6.5, 2, 2, 1]], columns=["lp__", "z.1", "z.2", "z.3"])
    >>> found = from_frame(frame)
    >>> found.labels.tolist(), found.items
    ([[1, 1, 2], [2, 2, 1]], ['1', '2', '3'])
    """
    # Frames of dask, lazy frames of polars, and those of polars and pyarrow.
    for way in ("compute", "collect", "to_pandas"):
        frame = getattr(frame, way)() if hasattr(frame, way) else frame
    # xarray's to_dataframe has chain, draw and perhaps the item as levels of the index.
    levels = frame.index.names
    if len(levels) > 1 and "draw" in levels:
        frame = frame.reset_index()
    elif (chain or "chain") in levels:
        frame = frame.reset_index(level=chain or "chain", allow_duplicates=True)
    table = _Columns(frame, [str(name).strip() for name in frame.columns], where)
    if chain is not None and chain not in table.texts:
        what = f"a column of {where}, {quoted(table.texts)}; got '{chain}'"
        raise ValueError(f"'chain' must be {what}.")
    name = chain or next((name for name in CHAIN if name in table.texts), None)
    return _pick_columns(table, var, None if name is None else table.texts.index(name))


def _pick_columns(table: _Columns, var: str | None, at_chain: int | None) -> Source:
    """Find the labels among the columns, of which one may hold the chain."""
    texts, where = table.texts, table.where
    # Silently leaving the weights of R's posterior out would give a wrong answer that looks right.
    if ".log_weight" in texts:
        way_out = "Read the other columns, and give its exponentials as 'weights'."
        raise ValueError(f"The column '.log_weight' of {where} holds weights. {way_out}")
    # What remains after the columns about the draws are labels, and perhaps other variables.
    chains = None if at_chain is None else table.column(at_chain)
    rest = [i for i, text in enumerate(texts) if i != at_chain and not is_about_draws(text)]
    if not rest:
        raise ValueError(f"No column of {where} holds labels: it has {quoted(texts)}.")
    variables = _variables(texts, rest)
    # A long table needs a column for the item and one for the label, and has no entries of variables.
    long = None if variables or len(rest) < 2 else _from_long(table, rest, chains, var)
    if long is not None:
        return long
    # An item may be called anna.1, but only samplers write brackets, or columns about the draws.
    from_sampler = len(rest) < len(texts) or any(text.endswith("]") for text in texts)
    # Row numbers, as spreadsheets and data frames save them, would pass as the labels of one more item, and
    # so would the number of clusters.
    if var is None and len(rest) > 1 and _counts_draws(table.column(rest[0]), chains):
        table.warn(rest[0], "counts the draws: it is left out.")
        rest = rest[1:]
    if var is not None and var not in variables:
        # R's data.frame names the columns of a matrix X1, X2, ...
        numbered = [i for i in rest if re.fullmatch(re.escape(var) + r"\d+", texts[i])]
        variables = variables | ({var: numbered} if numbered else {})
    elif from_sampler:
        _refuse_damage(table, rest, variables, var)
    # Outside a sampler's output a few columns may look like entries by chance (anna.1 beside ben): then
    # only a table in which all columns are entries is read as variables.
    elif sum(map(len, variables.values())) < len(rest) and var is None:
        variables = {}
    if variables or var is not None:
        name = pick_labels(list(variables), lambda v: table.take(variables[v]), var, where)
        rest = variables[name]
    else:
        rest = _without_number_of_clusters(table, rest)
        if from_sampler:
            _refuse_matrices(table, rest)
    # The indices if all are entries of one variable, as they are in its columns, else the names.
    entries = [_ENTRY.fullmatch(texts[i]) for i in rest]
    one = all(entries) and len({entry[1] for entry in entries if entry}) == 1
    places = zip(rest, entries, strict=True)
    names = [e[2] or e[3] if e and one else texts[i] or str(i) for i, e in places]
    return Source(table.take(rest), item_names(names), chains, var)


def is_about_draws(text: str) -> bool:
    """Whether a column of this name describes the draws, and holds no labels."""
    return text in CHAIN or text.lower() in _COUNTERS or text.endswith("__")


def _variables(texts: list[str], rest: list[int]) -> dict[str, list[int]]:
    """The columns of each variable with one index, in order, if they are complete from 0 or 1 on.

    >>> _variables(["z.2", "z.1", "mu.1", "mu.3", "A.1.1"], [0, 1, 2, 3, 4])
    {'z': [1, 0]}
    """
    found: dict[str, dict[int, int]] = {}
    for i in rest:
        match = _ENTRY.fullmatch(texts[i])
        # A.1.2 is an entry of a matrix, which cannot hold the labels of one draw.
        if match and not _ENTRY.fullmatch(match[1]):
            found.setdefault(match[1], {})[int(match[2] or match[3])] = i
    # n different indices from 0 or 1 on have no gap if the largest and the smallest differ by n - 1.
    return {
        name: [columns[index] for index in sorted(columns)]
        for name, columns in found.items()
        if min(columns) <= 1 and max(columns) - min(columns) == len(columns) - 1
    }


def _counts_draws(values: AnyArray, chains: AnyArray | None) -> bool:
    """Whether a column numbers the draws, either all of them or those of each chain."""
    # Fewer than ten labels may count by chance.
    if len(values) < 10 or not all_integers(values):
        return False
    counts = np.diff(values.astype(np.float64)) == 1
    # The numbers may go on from one chain to the next, or begin again at any number.
    return bool((counts if chains is None else counts | (chains[1:] != chains[:-1])).all())


def _without_number_of_clusters(table: _Columns, rest: list[int]) -> list[int]:
    """The columns without one at either end that has the number of clusters of each draw, with a warning."""
    for at in rest[:1] + rest[-1:]:
        others, values = [i for i in rest if i != at], table.column(at)
        named = table.texts[at].lower() in _NUMBER
        if named and others and len(values) > 1 and all_integers(values):
            counts = [len(set(row)) for row in table.take(others).tolist()]
            if counts == values.astype(np.float64).tolist():
                table.warn(at, "has the number of clusters: it is left out.")
                return others
            # An item may have this name.
            table.warn(at, "is read as an item. If it is the number of clusters, leave it out.")
            return rest
    return rest


def _refuse_matrices(table: _Columns, rest: list[int]) -> None:
    """Refuse a sampler's probabilities of clusters, by item and cluster, with the way to read them."""
    matches = [_ENTRY.fullmatch(table.texts[i]) for i in rest]
    matrices = [match[0] for match in matches if match and _ENTRY.fullmatch(match[1])]
    if matrices and not all_integers(table.take(rest)):
        raise ValueError(
            f"The columns of {table.where} are entries with two indices, such as '{matrices[0]}', and are not "
            "integers: no labels. If they are probabilities of clusters, or their logarithms, give the file to "
            "soft_draws, or an array of draws, items and clusters. Mind the order: CmdStan counts the first index "
            "fastest, columns.reshape(n_draws, n_clusters, n_items).transpose(0, 2, 1) for p[item, cluster]."
        )


def _refuse_damage(
    table: _Columns, rest: list[int], variables: dict[str, list[int]], var: str | None
) -> None:
    """Refuse columns of integers in which an entry is lacking, or has a damaged name: an item would be lost."""
    used = {i for columns in variables.values() for i in columns}
    for i in (i for i in rest if i not in used):
        text, match = table.texts[i], _ENTRY.fullmatch(table.texts[i])
        odd = not text or any(re.fullmatch(re.escape(v) + r"\W*\d+\W*", text) for v in variables)
        if match and not _ENTRY.fullmatch(match[1]):
            odd = var in (None, match[1])
        if odd and all_integers(table.column(i)):
            raise ValueError(
                f"The header of {table.where} must have all entries of a variable, from 0 or 1 on; '{text}' stands "
                "alone. Is the header damaged? Mend it, or leave that column out."
            )


def _from_long(
    table: _Columns, rest: list[int], chains: AnyArray | None, var: str | None
) -> Source | None:
    """Labels with one draw per row, from a long table; None if it is not long.

    Rows share a draw if they agree in their chain and in all columns that number draws. Of the columns `rest`,
    one names the item, one holds its label. Every pair of a draw and an item has at most one row, in any order; the
    label of a pair without one is missing.
    """
    import pandas as pd

    def codes(values: Any, *, sort: bool = False) -> tuple[IntArray, Any]:
        found: tuple[IntArray, Any] = pd.factorize(values, sort=sort, use_na_sentinel=False)
        return found

    n, frame, texts = len(table.frame), table.frame, table.texts
    draw = np.zeros(n, np.int64) if chains is None else codes(np.asarray(chains))[0]
    for i in (i for i, text in enumerate(texts) if text.lower() in _COUNTERS):
        draw = codes(draw * n + codes(frame.iloc[:, i])[0])[0]  # both below n: pairs stay different
    n_draws = int(draw.max(initial=-1)) + 1
    # An item occurs once in each draw, while labels repeat; the first such column is taken.
    columns = {texts[i]: i for i in rest}
    names = [
        name
        for name, i in columns.items()
        if name != var and len(np.unique(draw * n + codes(frame.iloc[:, i])[0])) == n
    ]
    counters = any(text.lower() in _COUNTERS for text in texts)
    if n_draws == n or not counters or not names:
        return None
    index = frame.iloc[:, columns.pop(names[0])]
    where = f"{table.where} (a long table, with its items in the column '{names[0]}')"
    label = pick_labels(list(columns), lambda name: table.column(columns[name]), var, where)
    # Items in the order of their numbers where they have numbers, else in order of appearance.
    item, items = codes(index, sort=getattr(index.dtype, "kind", "O") in "iuf")
    values = table.column(columns[label])
    labels = np.ma.masked_array(np.zeros((n_draws, len(items)), values.dtype), mask=True)
    labels[draw, item] = values
    own = None if chains is None else chains[np.unique(draw, return_index=True)[1]]
    whole = labels if np.ma.is_masked(labels) else labels.data
    return Source(whole, item_names(np.asarray(items)), own, label)
