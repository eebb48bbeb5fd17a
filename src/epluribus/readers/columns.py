"""Which columns of a table hold the labels.

Tables come from csv, parquet, pandas and R. Three kinds of columns are known by their names:

- the chain of a draw: ``.chain`` (posterior), ``chain__`` (CmdStan), ``chain``;
- what counts or describes the draws, and is left out: ``.iteration``, ``.draw``, ``iteration``,
  ``draw``, and all that end in ``__``, as ``lp__`` does;
- the entries of a variable: ``z[1]``, ``z[2]``, ... or ``z.1``, ``z.2``, ...

In any other table every column is an item, but for a first one that numbers ten draws or more: it is
left out with a warning. A variable that is asked for may also have columns ``z1``, ``z2``, ... Where
several rows have the same draw, the table is long: see `long`.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._validate import quoted
from epluribus.readers.long import draw_of_row, from_long
from epluribus.readers.source import HOW_TO_NAME, Source, names_of
from epluribus.readers.tables import is_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = ["pick_columns"]

_CHAIN = (".chain", "chain__", "chain")
_COUNTERS = (".iteration", ".draw", ".iter", "iteration", "draw", "iter")
_WEIGHT = ".log_weight"
_COUNTED = 10
"""Rows from which on a column 1, 2, 3, ... is no label any more."""
_ENTRY = re.compile(r"(?P<variable>.+?)(?:\.(?P<dot>\d+)|\[(?P<bracket>\d+)\])")


def pick_columns(
    names: Sequence[Any],
    take: Callable[[list[int]], NDArray[Any]],
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
        The column that holds the chain, if not one of those known.
    """
    texts = [str(name).strip() for name in names]
    if _WEIGHT in texts:
        raise ValueError(
            f"The column '{_WEIGHT}' of {where} holds weights. Read the other columns, and give "
            "its exponentials as 'weights'."
        )
    at_chain = _chain_column(texts, chain, where)
    known = {at_chain, *(i for i, text in enumerate(texts) if _is_about_draws(text))}
    rest = [i for i in range(len(texts)) if i not in known]
    if not rest:
        raise ValueError(f"No column of {where} holds labels: it has {quoted(texts)}.")
    if not _variables(texts, rest):
        long = _read_long(texts, rest, take, at_chain, where=where, var=var)
        if long is not None:
            return long
    # Items may be called anna.1; brackets, or columns about the draws, only samplers write.
    sure = len(rest) < len(texts) or any(text.endswith("]") for text in texts)
    chains = None if at_chain is None else take([at_chain])[:, 0]
    if var is None:
        rest = _without_counter(texts, rest, take, chains, where)
    chosen = _choose(texts, rest, take, var, where, sure=sure)
    return Source(take(chosen), _item_names([texts[i] for i in chosen]), chains, var)


def _read_long(
    texts: list[str],
    rest: list[int],
    take: Callable[[list[int]], NDArray[Any]],
    at_chain: int | None,
    *,
    where: str,
    var: str | None,
) -> Source | None:
    """The table read as a long one, where several rows have the same draw; None if it is none."""
    counters = [i for i, text in enumerate(texts) if text.lower() in _COUNTERS]
    if not counters or len(rest) < 2:
        return None
    chains = None if at_chain is None else take([at_chain])[:, 0]
    draw = draw_of_row([take([i])[:, 0] for i in counters], chains)
    if draw is None:
        return None
    columns = {texts[i]: take([i])[:, 0] for i in rest}
    return from_long(columns, draw, chains, where=where, var=var)


def _without_counter(
    texts: list[str],
    rest: list[int],
    take: Callable[[list[int]], NDArray[Any]],
    chains: NDArray[Any] | None,
    where: str,
) -> list[int]:
    """All but a first column that numbers the draws, or those of each chain, under whatever name."""
    values = take(rest[:1])[:, 0]
    if len(rest) == 1 or len(values) < _COUNTED or not is_whole(values):
        return rest
    counts = np.diff(values.astype(np.float64)) == 1
    if chains is not None:
        counts |= chains[1:] != chains[:-1]  # it may begin anew
    if not counts.all():
        return rest
    warnings.warn(
        f"The column '{texts[rest[0]]}' of {where} counts the draws: it is left out.", stacklevel=2
    )
    return rest[1:]


def _is_about_draws(text: str) -> bool:
    return text.lower() in _COUNTERS or text.endswith("__")


def _chain_column(texts: list[str], chain: str | None, where: str) -> int | None:
    """Number of the column that holds the chain."""
    if chain is not None:
        if chain not in texts:
            raise ValueError(
                f"'chain' must be a column of {where}, {quoted(texts)}; got '{chain}'."
            )
        return texts.index(chain)
    return next((texts.index(name) for name in _CHAIN if name in texts), None)


def _choose(
    texts: list[str],
    rest: list[int],
    take: Callable[[list[int]], NDArray[Any]],
    var: str | None,
    where: str,
    *,
    sure: bool,
) -> list[int]:
    """The columns of the labels; `sure` when the table is known to come from a sampler."""
    variables = _variables(texts, rest)
    if var is not None:
        plain = [i for i in rest if re.fullmatch(re.escape(var) + r"\d+", texts[i])]
        if plain:  # as R's data.frame names the columns of a matrix: X1, X2, ...
            variables.setdefault(var, plain)
        if var not in variables:
            known = quoted(variables) or "none, every column is an item"
            raise ValueError(f"'var' must be a variable of {where} ({known}); got '{var}'.")
        return variables[var]
    entries = sum(len(columns) for columns in variables.values())
    if not variables or not (sure or entries == len(rest)):
        return rest
    if len(variables) == 1:
        return next(iter(variables.values()))
    whole = [name for name, columns in variables.items() if is_whole(take(columns))]
    if len(whole) != 1:
        found = f"{len(whole)} ({', '.join(whole)})" if whole else "none"
        raise ValueError(
            f"'var' must name the variable that holds the labels: of the variables {list(variables)} "
            f"in {where}, those of whole numbers are {found}. {HOW_TO_NAME}"
        )
    return variables[whole[0]]


def _variables(texts: list[str], rest: list[int]) -> dict[str, list[int]]:
    """Variables of one index whose entries are all there, counted from 0 or 1; their columns."""
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


def _item_names(texts: list[str]) -> list[str] | None:
    """Names of the columns; their numbers where they are the entries of one variable, or have no name."""
    matches = [_ENTRY.fullmatch(text) for text in texts]
    if all(matches) and len({match["variable"] for match in matches if match}) == 1:
        return names_of([match["dot"] or match["bracket"] for match in matches if match])
    return names_of([text or str(i) for i, text in enumerate(texts)])
