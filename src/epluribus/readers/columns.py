"""What readers return, which variable holds the labels, and which columns of a table do.

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

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from epluribus._typing import AnyArray, IntArray
from epluribus._validate import quoted

CHAIN = (".chain", "chain__", "chain")
"""Names of the column that holds the chain, tried in this order."""
_COUNTERS = (".iteration", ".draw", ".iter", "iteration", "draw", "iter")
"""Names, in small letters, of columns that number the draws."""
_NUMBER = ("k", "n_clusters", "nclusters", "num_clusters", "kplus", "k_plus")
"""Names, in small letters, of columns that hold the number of clusters of each draw."""
_INDEX = r"(0|[1-9]\d*)"
"""An index; person.01 is a name."""
_ENTRY = re.compile(rf"(.+?)(?:\.{_INDEX}|\[{_INDEX}\])")
"""An entry of a variable, with one index. In z.1.2 the variable is z.1, which is itself an entry."""


class Source(NamedTuple):
    """Labels as a reader found them, and what came with them."""

    labels: Any
    """Of shape (n_draws, n_items) or (n_chains, n_draws, n_items) and of any type, perhaps not in memory."""
    items: Any = None
    """Names of the items; None if there are none, or if they only count from 0."""
    chains: Any = None
    """Chain of each draw, under any name; only for labels of two dimensions."""
    variable: str | None = None
    """What the labels are called where they come from."""
    dimension: str | None = None
    """What the dimension of the items is called there, if it has a name."""
    weights: AnyArray | None = None
    """Weight of each draw, where a file has them."""
    kind: str | None = None
    """What the draws are, see `Draws`, where a file says so."""
    origin: str = ""
    """A sentence on how they were made, where a file says so."""
    chain_names: tuple[str, ...] | None = None
    """Names of the chains, where `chains` are their numbers."""
    check: Callable[[AnyArray, IntArray], AnyArray] | None = None
    """Turns rows into integers, masked where labels are missing, given their numbers, which messages need."""


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
    if np.ma.is_masked(values) or values.dtype.kind in "iu":
        return not np.ma.is_masked(values)
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):  # words
        return False
    return bool(np.all(numbers == np.rint(numbers)))


def pick_labels(
    names: Mapping[str, str] | Sequence[str], values: Callable[[str], Any], var: str | None, where: str, *,
    possible: Sequence[str] | None = None,
) -> str:  # fmt: skip
    """Name of the variable that holds the labels: the one asked for, ``labels``, or the only one of integers.

    Parameters
    ----------
    names : sequence or mapping of str
        Names of all variables: arrays of a file, elements of a list, columns of a table; or a mapping from
        them to how each is listed in messages, by default in quotes.
    values : callable
        Returns the values of the variable of a given name. It is called only if several variables have the
        right shape, because the values may have to be read from disk.
    var : str or None
        The variable the user asks for.
    where : str
        What the variables belong to, for messages.
    possible : sequence of str, optional
        Names of the variables that have the shape of labels; all of them by default.

    Examples
    --------
    >>> variables = {"mu": [[0.3, 1.2]], "z": [[0.0, 1.0]]}
    >>> pick_labels(list(variables), variables.__getitem__, None, "the file")
    'z'
    """
    if var is not None and var in names:
        return var
    if var is not None:
        nothing = f"None for {where}, in which every column is an item"
        allowed = f"one of {quoted(names)} in {where}" if names else nothing
        raise ValueError(f"'var' must be {allowed}; got '{var}'.")
    found = list(names if possible is None else possible)
    if "labels" in found:  # `epluribus sample` writes it beside other arrays
        return "labels"
    # Parameters, such as the mean of each item, may have the same shape, but are not integers.
    if len(found) > 1:
        found = [name for name in found if all_integers(np.asanyarray(values(name)))]
    if len(found) != 1:
        listed = ", ".join(names.values() if isinstance(names, Mapping) else map(repr, names))
        raise ValueError(
            f"'var' must name the variable that holds the labels, integers by draw and item: {where} has "
            f"{listed or 'no variables'}, of which {quoted(found) or 'none'} could be it. Draws(data, var='z') "
            "names it, or --var z on the command line."
        )
    return found[0]


def from_arrays(arrays: Mapping[str, Any], var: str | None, where: str) -> Source:
    """One of several arrays by name, as NumPyro and others return them: labels have at least draws and items."""
    tables = [name for name in arrays if np.ndim(arrays[name]) >= 2]
    # To see whether floats are integers they must be read: only if nothing is stored as integers.
    stored = [name for name in tables if getattr(arrays[name], "dtype", np.dtype("O")).kind in "iu"]
    name = pick_labels(list(arrays), arrays.__getitem__, var, where, possible=stored or tables)
    return Source(arrays[name], variable=name)


# --- data frames ---


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


def from_frame(frame: Any, *, var: str | None = None, where: str = "the frame") -> Source:
    """Labels, item names and chains of a data frame, wide or long.

    Parameters
    ----------
    frame : DataFrame or Table
        Of pandas, polars, dask or pyarrow; one draw per row, or long.
    var : str, optional
        The variable whose entries are the labels: the columns ``var[1]``, ``var.1`` or ``var1``.
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
    elif "chain" in levels:
        frame = frame.reset_index(level="chain", allow_duplicates=True)
    texts = [str(name).strip() for name in frame.columns]
    # Silently leaving the weights of R's posterior out would give a wrong answer that looks right.
    if ".log_weight" in texts:
        way_out = "Read the other columns, and give its exponentials as 'weights'."
        raise ValueError(f"The column '.log_weight' of {where} holds weights. {way_out}")
    # Columns are known by their numbers, since names may be there twice.
    frame = frame.set_axis(range(len(texts)), axis=1)
    # What remains after the columns about the draws are labels, and perhaps other variables.
    at_chain = next((texts.index(name) for name in CHAIN if name in texts), None)
    chains = None if at_chain is None else to_array(frame[[at_chain]])[:, 0]
    rest = [i for i, text in enumerate(texts) if i != at_chain and not is_about_draws(text)]
    if not rest:
        raise ValueError(f"No column of {where} holds labels: it has {quoted(texts)}.")
    variables, _ = variables_of({i: texts[i] for i in rest}, 1)
    # A long table needs a column for the item and one for the label, and has no entries of variables.
    may_be_long = len(rest) > 1 and not variables
    long = _from_long(frame, texts, rest, chains, var, where) if may_be_long else None
    if long is not None:
        return long
    # An item may be called anna.1, but only samplers write brackets, or columns about the draws.
    from_sampler = len(rest) < len(texts) or any(text.endswith("]") for text in texts)
    if var is None and len(rest) > 1:
        rest = _without_counts(frame, texts, rest, chains, where, variables=bool(variables))
    if var is not None and var not in variables:
        # R's data.frame names the columns of a matrix X1, X2, ...
        numbered = [i for i in rest if re.fullmatch(re.escape(var) + r"\d+", texts[i])]
        variables |= {var: np.array(numbered)} if numbered else {}
    elif from_sampler:
        _refuse_damage(frame, texts, rest, variables, var, where)
    # Outside a sampler's output a few columns may look like entries by chance (anna.1 beside ben): then
    # only a table in which all columns are entries is read as variables.
    elif sum(map(len, variables.values())) < len(rest) and var is None:
        variables = {}
    if var not in variables and var in variables_of(dict(enumerate(texts)), 2)[0]:
        raise ValueError(
            f"'var' must name labels, one for each item; '{var}' has two indices in {where}. If it holds probabilities "
            f"of clusters, read it with soft_draws(..., var='{var}') ('epluribus soft --var {var}')."
        )
    if variables or var is not None:
        name = pick_labels(list(variables), lambda v: to_array(frame[variables[v]]), var, where)
        rest = variables[name].tolist()
    # The indices if all are entries of one variable, as they are in its columns, else the names.
    entries = [_ENTRY.fullmatch(texts[i]) for i in rest]
    one = all(entries) and len({entry[1] for entry in entries if entry}) == 1
    places = zip(rest, entries, strict=True)
    names = [e[2] or e[3] if e and one else texts[i] or str(i) for i, e in places]
    return Source(to_array(frame[rest]), item_names(names), chains, var)


def is_about_draws(text: str) -> bool:
    """Whether a column of this name describes the draws, and holds no labels."""
    return text in CHAIN or text.lower() in _COUNTERS or text.endswith("__")


def variables_of(names: Mapping[int, str], n_indices: int) -> tuple[dict[str, IntArray], list[str]]:
    """The columns of each variable, by its indices, if they are complete from 0 or 1 on; and the other variables.

    >>> found, lacking = variables_of({2: "z.2", 3: "z.1", 5: "mu.1", 6: "mu.3", 7: "A.1.1"}, 1)
    >>> found["z"].tolist(), lacking
    ([3, 2], ['mu'])
    """
    dots, commas = rf"\.{_INDEX}" * n_indices, r",\s*".join([_INDEX] * n_indices)
    form = re.compile(rf"(.+?)(?:{dots}|\[{commas}\])")
    entries: dict[str, list[tuple[tuple[int, ...], int]]] = {}
    for column, name in names.items():
        # A.1.2 is an entry of a matrix A, not of a vector A.1, which samplers do not have.
        if (match := form.fullmatch(name)) and not _ENTRY.fullmatch(match[1]):
            place = tuple(int(group) for group in match.groups()[1:] if group)
            entries.setdefault(match[1], []).append((place, column))
    found = {}
    for name, own in entries.items():
        places, columns = zip(*sorted(own), strict=True)
        begins, ends = (list(map(which, zip(*places, strict=True))) for which in (min, max))
        shape = [end - begin + 1 for begin, end in zip(begins, ends, strict=True)]
        if len(set(places)) == len(places) == math.prod(shape) and max(begins) <= 1:
            found[name] = np.reshape(columns, shape)
    return found, [name for name in entries if name not in found]


def _without_counts(
    frame: Any, texts: list[str], rest: list[int], chains: AnyArray | None, where: str, *, variables: bool
) -> list[int]:  # fmt: skip
    """The columns without those that would pass as the labels of one more item, with a warning.

    These are a first column that numbers ten draws or more, as spreadsheets and data frames save it, and one with the
    number of clusters of each draw.
    """
    named = [i for i in rest if texts[i].lower() in _NUMBER and not variables]
    for at in [rest[0], *(i for i in named if i != rest[0])]:
        values, others = to_array(frame[[at]])[:, 0], [i for i in rest if i != at]
        if len(values) < 2 or not all_integers(values) or not others:
            continue
        what, steps = "", np.diff(values.astype(np.float64)) == 1
        # The numbers may go on from one chain to the next, or begin again at any number.
        steps |= False if chains is None else chains[1:] != chains[:-1]
        if at == rest[0] and len(steps) >= 9 and steps.all():
            what = "counts the draws"
        elif at in named:
            clusters = [len(set(row)) for row in to_array(frame[others]).tolist()]
            what = "has the number of clusters" if values.tolist() == clusters else ""
        if what:
            rest = others
            warnings.warn(
                f"The column '{texts[at]}' of {where} {what}: it is left out.", stacklevel=2
            )
    return rest


def _refuse_damage(
    frame: Any, texts: list[str], rest: list[int], variables: Mapping[str, Any], var: str | None, where: str
) -> None:  # fmt: skip
    """Refuse a sampler's columns that are no labels: integers of which an entry is lacking, and matrices alone."""
    used = {i for columns in variables.values() for i in columns}
    for i in (i for i in rest if i not in used):
        text, match = texts[i], _ENTRY.fullmatch(texts[i])
        odd = not text or any(re.fullmatch(re.escape(v) + r"\W*\d+\W*", text) for v in variables)
        matrix = re.fullmatch(r".+?(\.\d+\.\d+|\[\d+(, *\d+)+\])", text)
        if matrix and not variables:
            raise ValueError(
                f"The columns of {where} are entries with two indices, such as '{text}': no labels. If they are "
                "probabilities of clusters, or their logarithms, give the file to soft_draws, or to 'epluribus soft'."
            )
        if match and not matrix:
            odd = var in (None, match[1])
        if odd and all_integers(to_array(frame[[i]])):
            raise ValueError(
                f"The header of {where} must have all entries of a variable, from 0 or 1 on; '{text}' stands "
                "alone. Is the header damaged? Mend it, or leave that column out."
            )


def _from_long(
    frame: Any, texts: list[str], rest: list[int], chains: AnyArray | None, var: str | None, where: str
) -> Source | None:  # fmt: skip
    """Labels with one draw per row, from a long table; None if it is not long.

    Rows share a draw if they agree in their chain and in all columns that number draws. Of the columns `rest`,
    one names the item, one holds its label. Every pair of a draw and an item has at most one row, in any order; the
    label of a pair without one is missing.
    """
    import pandas as pd

    counters = [i for i, text in enumerate(texts) if text.lower() in _COUNTERS]
    if not counters:
        return None
    keys = frame[counters].assign(chain=0 if chains is None else chains)
    draw = keys.groupby(list(keys), sort=False, dropna=False).ngroup().to_numpy()
    if draw.max(initial=-1) + 1 == len(draw):
        return None
    # An item occurs once in each draw, while labels repeat; the first such column is taken.
    pairs = {i: pd.DataFrame({0: draw, 1: frame[i].to_numpy()}) for i in rest if texts[i] != var}
    names = [i for i, pair in pairs.items() if not pair.duplicated().any()]
    if not names:
        return None
    index, columns = frame[names[0]], {texts[i]: i for i in rest if i != names[0]}
    where = f"{where} (a long table, with its items in the column '{texts[names[0]]}')"
    label = pick_labels(list(columns), lambda n: to_array(frame[[columns[n]]]), var, where)
    # Items in the order of their numbers where they have numbers, else in order of appearance.
    sort = getattr(index.dtype, "kind", "O") in "iuf"
    item, items = pd.factorize(index, sort=sort, use_na_sentinel=False)
    values = to_array(frame[[columns[label]]])[:, 0]
    own = None if chains is None else chains[np.unique(draw, return_index=True)[1]]
    return Source(spread(draw, item, values), item_names(np.asarray(items)), own, label)


def spread(draw: IntArray, item: IntArray, labels: AnyArray) -> AnyArray:
    """(n_draws, n_items) labels from their draws and items; those of other pairs are masked.

    >>> spread(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([5, 6, 7])).tolist()
    [[5, 6], [None, 7]]
    """
    shape = draw.max() + 1, item.max() + 1
    table = np.ma.masked_array(np.zeros(shape, labels.dtype), mask=True)
    table[draw, item] = labels
    return table if np.ma.is_masked(table) else table.data


def number_on(chains: Sequence[IntArray]) -> IntArray:
    """Chains of several files, one after the other: those of each go on from the last one before.

    >>> number_on([np.array([0, 1]), np.array([0, 0])]).tolist()
    [0, 1, 2, 2]
    """
    begins = np.cumsum([0, *(1 + int(part.max(initial=-1)) for part in chains)])
    return np.concatenate([part + begin for part, begin in zip(chains, begins, strict=False)])
