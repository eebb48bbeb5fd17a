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
from collections.abc import Callable
from typing import Any

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
_ENTRY = re.compile(r"(?P<variable>.+?)(?:\.(?P<dot>\d+)|\[(?P<bracket>\d+)\])")
"""An entry of a variable, with one index. In z.1.2 the variable is z.1, which is itself an entry."""


def is_frame(data: Any) -> bool:
    """Whether `data` is a frame of pandas, polars (also a lazy one) or dask, or a table of pyarrow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # polars: finding the columns of a lazy frame takes time
        ways = ("iloc", "to_pandas", "compute", "collect")
        return hasattr(data, "columns") and any(hasattr(data, way) for way in ways)


def from_frame(
    frame: Any, *, var: str | None = None, chain: str | None = None, where: str = "the frame"
) -> Source:
    """Labels, item names and chains of a data frame, wide or long.

    Parameters
    ----------
    frame : DataFrame or Table
        Of pandas, polars, dask or pyarrow; one draw per row, or long.
    var : str, optional
        The variable whose entries are the labels.
    chain : str, optional
        The column, or in pandas the level of the index, that holds the chain, if it has no usual name.
    where : str
        What the table is, for messages.
    """
    for way in (
        "compute",
        "collect",
        "to_pandas",
    ):  # dask; lazy frames of polars; polars and pyarrow
        frame = getattr(frame, way)() if hasattr(frame, way) else frame
    # xarray's to_dataframe has chain, draw and perhaps the item as levels of the index.
    if len(frame.index.names) > 1 and "draw" in frame.index.names:
        frame = frame.reset_index()
    level = "chain" if chain is None else chain
    if level not in frame.index.names:
        return pick_columns(frame, where=where, var=var, chain=chain)
    source = pick_columns(frame, where=where, var=var)
    return source._replace(chains=np.asarray(frame.index.get_level_values(level)))


def to_array(frame: Any) -> AnyArray:
    """The cells of a frame, masked where they are missing; integers do not become floats because of a gap.

    >>> import pandas as pd
    >>> to_array(pd.DataFrame({"a": [1, 2], "b": [None, 3]}, dtype="Int64")).tolist()
    [[1, None], [2, 3]]
    """
    import pandas as pd

    kinds = [getattr(kind, "numpy_dtype", kind) for kind in set(frame.dtypes)]
    missing = frame.isna().to_numpy()
    if all(isinstance(kind, np.dtype) and kind.kind in "iufb" for kind in kinds):
        kind = np.result_type(*kinds)
        if kind.kind != "f":
            values = frame.to_numpy(kind, na_value=0)
            return np.ma.masked_array(values, missing) if missing.any() else values
        values = frame.to_numpy(kind, na_value=np.nan)
        # Large integers beside floats would be rounded.
        whole = all(one.kind == "f" for one in kinds)
        if whole or not (np.abs(values) >= 2.0**53).any():
            return values
    values = frame.to_numpy(np.object_)
    if all(isinstance(kind, pd.StringDtype) for kind in kinds):
        values = np.where(missing, "", values).astype(np.str_)
    return np.ma.masked_array(values, missing) if missing.any() else values


def pick_columns(
    frame: Any, *, where: str, var: str | None = None, chain: str | None = None
) -> Source:
    """Find the labels among the columns of a pandas frame; see `from_frame`.

    Examples
    --------
    Stan's columns: the log density is left out, and the items are the entries of ``z``.

    >>> import pandas as pd
    >>> frame = pd.DataFrame([[-7.1, 1, 1, 2], [-6.5, 2, 2, 1]], columns=["lp__", "z.1", "z.2", "z.3"])
    >>> found = pick_columns(frame, where="the table")
    >>> found.labels.tolist(), found.items
    ([[1, 1, 2], [2, 2, 1]], ['1', '2', '3'])
    """
    texts = [str(name).strip() for name in frame.columns]

    def take(columns: list[int]) -> AnyArray:
        return to_array(frame.iloc[:, columns])

    # Silently leaving the weights of R's posterior out would give a wrong answer that looks right.
    if ".log_weight" in texts:
        raise ValueError(
            f"The column '.log_weight' of {where} holds weights. Read the other columns, and give "
            "its exponentials as 'weights'."
        )
    if chain is not None and chain not in texts:
        raise ValueError(f"'chain' must be a column of {where}, {quoted(texts)}; got '{chain}'.")
    # What remains after the columns about the draws are labels, and perhaps other variables.
    name = chain or next((name for name in CHAIN if name in texts), None)
    chains = None if name is None else take([texts.index(name)])[:, 0]
    counters = [i for i, text in enumerate(texts) if text.lower() in _COUNTERS]
    rest = [i for i, text in enumerate(texts) if text != name and not is_about_draws(text)]
    if not rest:
        raise ValueError(f"No column of {where} holds labels: it has {quoted(texts)}.")
    variables = _variables(texts, rest)
    # A long table needs a column for the item and one for the label, and has no entries of variables.
    if counters and len(rest) > 1 and not variables:
        long = _from_long(frame.set_axis(texts, axis=1), counters, rest, chains, where, var)
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
    if var is not None and var not in variables:
        # R's data.frame names the columns of a matrix X1, X2, ...
        numbered = [i for i in rest if re.fullmatch(re.escape(var) + r"\d+", texts[i])]
        variables = variables | ({var: numbered} if numbered else {})
    elif from_sampler:
        _refuse_damage(texts, rest, variables, var, take, where)
    # Outside a sampler's output a few columns may look like entries by chance (anna.1 beside ben): then
    # only a table in which all columns are entries is read as variables.
    elif sum(map(len, variables.values())) < len(rest) and var is None:
        variables = {}
    if variables or var is not None:
        rest = variables[pick_labels(list(variables), lambda v: take(variables[v]), var, where)]
    else:
        rest = _without_number_of_clusters(texts, rest, take, where)
        if from_sampler:
            _refuse_matrices(texts, rest, take, where)
    return Source(take(rest), _column_items([texts[i] for i in rest]), chains, var)


def is_about_draws(text: str) -> bool:
    """Whether a column of this name describes the draws, and holds no labels."""
    return text in CHAIN or text.lower() in _COUNTERS or text.endswith("__")


def _counts_draws(values: AnyArray, chains: AnyArray | None) -> bool:
    """Whether a column numbers the draws, either all of them or those of each chain."""
    # Fewer than ten labels may count by chance.
    if len(values) < 10 or not all_integers(values):
        return False
    counts = np.diff(values.astype(np.float64)) == 1
    # The numbers may go on from one chain to the next, or begin again at any number.
    if chains is not None:
        counts |= chains[1:] != chains[:-1]
    return bool(counts.all())


def _without_number_of_clusters(
    texts: list[str], rest: list[int], take: Callable[[list[int]], AnyArray], where: str
) -> list[int]:
    """The columns without one that has the number of clusters of each draw, with a warning."""
    for at in (i for i in rest if texts[i].lower() in _NUMBER):
        others, values = [i for i in rest if i != at], take([at])[:, 0]
        if not others or len(values) < 2 or not all_integers(values):
            continue
        if [len(set(row)) for row in take(others).tolist()] == values.astype(np.float64).tolist():
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
    matrices = [m[0] for m in matches if m and _ENTRY.fullmatch(m["variable"])]
    if matrices and not all_integers(take(rest)):
        raise ValueError(
            f"The columns of {where} are entries with two indices, such as '{matrices[0]}', and are not "
            "integers: no labels. If they are probabilities of clusters, or their logarithms, make an array of "
            "draws, items and clusters for soft_draws. Mind the order: CmdStan counts the first index fastest, "
            "columns.reshape(n_draws, n_clusters, n_items).transpose(0, 2, 1) for p[item, cluster]."
        )


def _refuse_damage(
    texts: list[str],
    rest: list[int],
    variables: dict[str, list[int]],
    var: str | None,
    take: Callable[[list[int]], AnyArray],
    where: str,
) -> None:
    """Refuse columns of integers in which an entry is lacking, or has a damaged name: an item would be lost."""
    used = {i for columns in variables.values() for i in columns}
    for i in (i for i in rest if i not in used):
        match = _ENTRY.fullmatch(texts[i])
        if match and not _ENTRY.fullmatch(match["variable"]):
            odd = var in (None, match["variable"])
        else:
            odd = any(re.fullmatch(re.escape(v) + r"\W*\d+\W*", texts[i]) for v in variables)
        if odd and all_integers(take([i])):
            raise ValueError(
                f"The header of {where} must have all entries of a variable, from 0 or 1 on; '{texts[i]}' stands "
                "alone. Is the header damaged? Mend it, or leave that column out."
            )


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


def _from_long(
    frame: Any,
    counters: list[int],
    rest: list[int],
    chains: AnyArray | None,
    where: str,
    var: str | None,
) -> Source | None:
    """Labels with one draw per row, from a long table; None if it is not long.

    Rows share a draw if they agree in their chain and in all columns `counters`. Of the columns `rest`, one
    names the item, one holds its label. Every pair of a draw and an item has at most one row, in any order; the
    label of a pair without one is missing.
    """
    import pandas as pd

    def codes(values: Any, *, sort: bool = False) -> tuple[IntArray, Any]:
        found: tuple[IntArray, Any] = pd.factorize(values, sort=sort, use_na_sentinel=False)
        return found

    n = len(frame)
    draw = np.zeros(n, np.int64) if chains is None else codes(np.asarray(chains))[0]
    for i in counters:  # both codes are below n: the pair (a, b) is a n + b
        draw = codes(draw * n + codes(frame.iloc[:, i])[0])[0]
    n_draws = int(draw.max(initial=-1)) + 1
    if n_draws == n:
        return None
    # An item occurs once in each draw, while labels repeat; the first such column is taken.
    names = frame.columns[rest].tolist()
    columns = {name: frame.iloc[:, i] for name, i in zip(names, rest, strict=True)}
    index = next(
        (
            name
            for name, values in columns.items()
            if name != var and len(np.unique(draw * n + codes(values)[0])) == n
        ),
        None,
    )
    if index is None:
        return None
    label = pick_labels(
        [name for name in columns if name != index],
        lambda name: to_array(columns[name].to_frame()),
        var,
        f"{where} (a long table, with its items in the column '{index}')",
    )
    # Items in the order of their numbers where they have numbers, else in order of appearance.
    item, items = codes(columns[index], sort=getattr(columns[index].dtype, "kind", "O") in "iuf")
    values = to_array(columns[label].to_frame())[:, 0]
    labels = np.ma.masked_all((n_draws, len(items)), values.dtype)
    labels[draw, item] = values
    own = None
    if chains is not None:
        own = np.empty(n_draws, dtype=chains.dtype)
        own[draw] = chains
    table = labels if np.ma.is_masked(labels) else labels.data
    return Source(table, item_names(np.asarray(items)), own, label)
