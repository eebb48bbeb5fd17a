"""What every reader returns, and which of several variables holds the labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from epluribus._typing import AnyArray
from epluribus._validate import quoted

_LABELS = "labels"
"""A variable of this name holds the labels: `epluribus sample` writes it beside other tables."""


class Source(NamedTuple):
    """Labels as they came, and what came with them."""

    labels: Any
    """(draws, items) or (chains, draws, items), of any type, unchecked."""
    items: Sequence[Any] | None = None
    """Names of the items."""
    chains: AnyArray | None = None
    """Chain of each draw, where the labels have two dimensions."""
    variable: str | None = None
    """What the labels are called where they come from."""


def to_texts(values: Sequence[Any] | AnyArray) -> list[str]:
    """Names as text; integers that are stored as floats lose their point."""
    return [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in values]


def item_names(values: Sequence[Any] | AnyArray) -> list[str] | None:
    """Names of the items as text; None if they only count from 0, which says nothing."""
    texts = to_texts(values)
    return None if texts == [str(i) for i in range(len(texts))] else texts


def all_integers(values: AnyArray) -> bool:
    """Whether all values are integers, whatever type they are stored in."""
    if values.dtype.kind in "iu":
        return True
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):  # words
        return False
    return bool(np.all(numbers == np.rint(numbers)))  # NaN equals nothing


def pick_labels(
    names: Sequence[str],
    values: Callable[[str], Any],
    var: str | None,
    where: str,
    *,
    possible: Sequence[str] | None = None,
    describe: Callable[[str], str] = repr,
) -> str:
    """Name of the variable that holds the labels: the one asked for, or the only one of integers.

    Parameters
    ----------
    names : sequence of str
        Names of all variables: arrays of a file, elements of a list, columns of a table.
    values : callable
        The values of the variable of a given name, looked at only if several have the right shape.
    var : str or None
        The variable the user asks for.
    where : str
        What the variables belong to, for messages.
    possible : sequence of str, optional
        Names of the variables that have the shape of labels; all of them by default.
    describe : callable, optional
        How a variable is listed in the message; by default its name in quotes.
    """
    if var is not None:
        if var in names:
            return var
        if not names:
            raise ValueError(
                f"'var' must be None for {where}, in which every column is an item; got '{var}'."
            )
        raise ValueError(f"'var' must be one of {quoted(names)} in {where}; got '{var}'.")
    found = list(names if possible is None else possible)
    if _LABELS in found:
        return _LABELS
    if len(found) > 1:  # parameters may have the same shape, but they are not integers
        found = [name for name in found if all_integers(np.asarray(values(name)))]
    if len(found) != 1:
        raise ValueError(
            f"'var' must name the variable that holds the labels, integers by draw and item: {where} "
            f"has {', '.join(map(describe, names)) or 'no variables'}, of which "
            f"{quoted(found) or 'none'} could be it. Draws(data, var='z') names it, or --var z on the "
            "command line."
        )
    return found[0]
