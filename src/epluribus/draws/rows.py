"""What belongs to the rows and columns of a table of draws: chains, which are kept, weights, names."""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from epluribus._typing import FloatArray, IntArray
from epluribus._validate import shown

_SAFE = (1e-15, 1e15)
"""Where the largest weight must lie: sums and products of weights are then ordinary numbers, and so is, in
single precision, what a draw adds to the cost of a cluster."""


def check_chains(chains: Any, n_draws: int) -> IntArray:
    """The chain of each draw as a number 0, 1, ..., in the order of the chains' names.

    >>> check_chains(["b", "a", "b"], 3).tolist()
    [1, 0, 1]
    """
    values = np.asarray(chains)
    if values.shape != (n_draws,):
        raise ValueError(
            f"'chains' must have one entry per draw, shape ({n_draws},); got shape {values.shape}."
        )
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def kept_rows(chain: IntArray, burn: int, thin: int) -> IntArray:
    """Rows that remain after `burn` and `thin` within each chain, in their old order.

    >>> kept_rows(np.array([0, 1, 0, 1, 0, 1]), burn=1, thin=2).tolist()
    [2, 3]
    """
    rows: list[IntArray] = []
    for number in np.unique(chain):
        own = np.flatnonzero(chain == number)
        if burn >= len(own):
            raise ValueError(
                f"'burn' must leave at least one draw; it is {burn} and chain {number} has "
                f"{len(own)} draws."
            )
        rows.append(own[burn::thin])
    # The rows of several chains may alternate in the table: sorting restores the order of the table.
    return np.sort(np.concatenate(rows))


def check_weights(weights: Any, n_draws: int, keep: Any = ...) -> FloatArray:
    """One weight for each of the rows `keep` as it was given, all 1 by default; see `safe_weights`.

    `weights` has one entry for each of the `n_draws` rows, or is a table of chains by draws. Weights need not
    sum to 1; a weight of 0 is allowed, a sum of 0 is not.
    """
    if weights is None:
        return np.ones(n_draws)[keep]
    try:
        values = np.asarray(weights)
        if values.dtype.kind in "cmM":  # NumPy would drop the imaginary part, or the unit of a time
            raise TypeError
        values = values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"'weights' must be numbers, one for each draw; got {reprlib.repr(weights)}."
        ) from None
    # Chains by draws, as samplers return them: the rows of the table are in the same order.
    if values.ndim == 2 and values.size == n_draws:
        values = values.ravel()
    if values.shape != (n_draws,):
        raise ValueError(
            f"'weights' must have one entry per draw, shape ({n_draws},); got shape {values.shape}."
        )
    masked = np.ma.getmaskarray(weights).ravel()
    # Written so that NaN, which is not finite, is refused too.
    bad = np.flatnonzero(masked | ~(np.isfinite(values) & (values >= 0)))
    if bad.size:
        what = "is masked" if masked[bad[0]] else f"has {values[bad[0]]}"
        raise ValueError(
            f"'weights' must be finite and not negative; draw {bad[0]} {what}. A weight of 0 leaves a "
            "draw out."
        )
    # Not a sum, which might overflow.
    if not values[keep].any():
        raise ValueError("'weights' must have a positive sum; all weights of the draws kept are 0.")
    return values[keep]


def safe_weights(weights: FloatArray) -> FloatArray:
    """Weights that can be computed with: divided by the largest if that is huge or tiny.

    Only ratios of weights matter. Ordinary weights stay as they are, so that integers stay integers; equal
    weights that are divided become exactly 1. Weights that vanish beside the largest count as 0.

    >>> safe_weights(np.array([2.0, 3.0])).tolist(), safe_weights(np.array([5e-324, 1e-323])).tolist()
    ([2.0, 3.0], [0.5, 1.0])
    """
    largest = weights.max()
    if largest == 0 or _SAFE[0] <= largest <= _SAFE[1]:
        return weights
    return weights / largest


def all_equal(weights: FloatArray) -> bool:
    """Whether all weights are the same, so that draws may simply be counted."""
    return bool(np.all(weights == weights[0]))


def check_items(
    items: Sequence[Any] | None, own: Sequence[Any] | None, n_items: int, where: str = "z"
) -> tuple[str, ...] | None:
    """The names that the user gives, `items`, or those that came with the labels, `own`.

    `where` is what the labels come from, for messages.
    """
    names = None if own is None else tuple(map(str, own))
    argument, way_out = where, " Give others: items=[...]."
    if items is not None:
        theirs, argument, way_out = names, "items", ""
        if isinstance(items, str | bytes) or not isinstance(items, Iterable):
            raise TypeError(f"'items' must be a list of {n_items} names; got {shown(items)}.")
        names = tuple(map(str, items))
        if len(names) != n_items:
            raise ValueError(f"'items' must have {n_items} names, one per item; got {len(names)}.")
        # New names replace the old; the same names in another order are nearly always a mistake.
        if theirs is not None and names != theirs and sorted(names) == sorted(theirs):
            t = next(t for t in range(n_items) if names[t] != theirs[t])
            raise ValueError(
                "'items' must be in the order of the labels, which have these names already: item "
                f"{t} is '{theirs[t]}'; got '{names[t]}'."
            )
    # What is said of one item could not be told from what is said of another one of the same name.
    if names is not None and len(set(names)) < len(names):
        twice = next(name for name, n in Counter(names).items() if n > 1)
        raise ValueError(
            f"'{argument}' must have a different name for every item; '{twice}' is there twice.{way_out}"
        )
    return names
