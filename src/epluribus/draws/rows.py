"""What belongs to the rows and columns of a table of draws: chains, which are kept, weights, names."""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from epluribus._text import count, sentence_list
from epluribus._typing import FloatArray, IntArray
from epluribus._validate import shown
from epluribus.draws.store import Collapsed

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
    values = _to_floats(weights)
    # Chains by draws, as samplers return them: the rows of the table are in the same order.
    if values.ndim == 2 and values.size == n_draws:
        values = values.ravel()
    if values.shape != (n_draws,):
        raise ValueError(
            f"'weights' must have one entry per draw, shape ({n_draws},); got shape {values.shape}."
        )
    # Written so that NaN, which is not finite, is refused too.
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if bad.size:
        raise ValueError(
            f"'weights' must be finite and not negative; draw {bad[0]} has {values[bad[0]]}. A weight of "
            "0 leaves a draw out."
        )
    # Not a sum, which might overflow.
    if not values[keep].any():
        raise ValueError("'weights' must have a positive sum; all weights of the draws kept are 0.")
    return values[keep]


def _to_floats(weights: Any) -> FloatArray:
    """Weights as floats; those that are masked or no real numbers are refused."""
    if np.ma.is_masked(weights):
        at = np.flatnonzero(np.ma.getmaskarray(weights))[0]
        raise ValueError(
            f"'weights' must be finite and not negative; draw {at} is masked. A weight of 0 leaves a "
            "draw out."
        )
    try:
        values = np.asarray(weights)
        if values.dtype.kind in "cmM":  # NumPy would drop the imaginary part, or the unit of a time
            raise TypeError
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"'weights' must be numbers, one for each draw; got {reprlib.repr(weights)}."
        ) from None


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
    theirs = None if own is None else tuple(str(name) for name in own)
    if items is None:
        _check_different(theirs, where, " Give others: items=[...].")
        return theirs
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise TypeError(f"'items' must be a list of {n_items} names; got {shown(items)}.")
    names = tuple(str(name) for name in items)
    if len(names) != n_items:
        raise ValueError(f"'items' must have {n_items} names, one per item; got {len(names)}.")
    # New names replace the old; the same names in another order are nearly always a mistake.
    if theirs is not None and names != theirs and sorted(names) == sorted(theirs):
        t = next(t for t in range(n_items) if names[t] != theirs[t])
        raise ValueError(
            f"'items' must be in the order of the labels, which have these names already: item {t} is "
            f"'{theirs[t]}'; got '{names[t]}'."
        )
    _check_different(names, "items")
    return names


def _check_different(names: tuple[str, ...] | None, argument: str, way_out: str = "") -> None:
    """Refuse two items of one name: what is said of one could not be told from what is said of the other."""
    if names is not None and len(set(names)) < len(names):
        twice = next(name for name, n in Counter(names).items() if n > 1)
        raise ValueError(
            f"'{argument}' must have a different name for every item; '{twice}' is there twice.{way_out}"
        )


def count_seen(found: Collapsed, names: tuple[str, ...] | None, where: str) -> IntArray:
    """Items that each distinct draw has seen; items that none has seen, and empty draws, are refused."""
    seen = found.store.whole() > 0
    n_seen: IntArray = seen.sum(axis=0)
    empty = np.flatnonzero(n_seen[found.places] == 0)
    if len(empty):
        raise ValueError(
            f"'{where}' must have some label in every draw; all labels of draw {empty[0]} are missing. "
            "Leave such draws out."
        )
    never = np.flatnonzero(~seen.any(axis=1)).tolist()
    if never:
        first = sentence_list([f"'{names[i] if names else i}'" for i in never[:3]])
        more = f" and {count(len(never) - 3, 'other')}" if len(never) > 3 else ""
        raise ValueError(
            f"'{where}' must have some label for every item; all labels of {first}{more} are missing. "
            "Leave such items out."
        )
    return n_seen
