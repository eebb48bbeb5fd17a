"""What draws are made of besides labels: chains, which draws are kept, weights, names; all of it checked."""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from epluribus._progress import ProgressLike
from epluribus._text import count, sentence_list
from epluribus._typing import FloatArray, IntArray
from epluribus._validate import check_count, shown
from epluribus.draws.store import Collapsed, collapse, collapse_on
from epluribus.readers.objects import Table


class Contents(NamedTuple):
    """What a `Draws` is made of, also where it is cut out of another one; see the attributes there."""

    found: Collapsed
    n_seen: IntArray
    chains: IntArray
    given: FloatArray | None
    """(n_draws,) the weights as they were given; None if all are 1."""
    items: tuple[str, ...] | None
    kind: str
    variable: str | None
    dimension: str | None


def read_contents(
    table: Table,
    where: str,
    *,
    weights: Any,
    burn: int,
    thin: int,
    items: Any,
    chains: Any,
    kind: str,
    client: Any,
    progress: ProgressLike,
) -> Contents:
    """The contents of draws, from a table of labels; `where` is what that comes from, other options as in `Draws`."""
    n_rows, n_items = table.labels.shape
    chain = table.chain if chains is None else check_chains(chains, n_rows)
    # Burn-in and thinning come first, so that only the draws that are kept are read.
    keep = np.arange(n_rows)
    if not (type(burn) is type(thin) is int and burn == 0 and thin == 1):
        keep = kept_rows(chain, check_count(burn, "burn", low=0), check_count(thin, "thin"))
    names = None
    if items is not None or table.items is not None:
        names = check_items(items, table.items, n_items, where)
    by_items = isinstance(weights, str) and weights == "items"
    given = None
    if weights is not None and not by_items:
        given = check_weights(weights, n_rows, keep)
    found = collapse_on(client, table, keep) if client else collapse(table, keep, progress)
    n_seen = np.full(found.store.n_distinct, n_items)
    if found.has_missing:
        n_seen = _count_seen(found, names, where)
    if by_items:
        given = n_seen[found.places] / n_items
    found = found._replace(keys=())
    return Contents(found, n_seen, chain[keep], given, names, kind, table.variable, table.dimension)


def _count_seen(found: Collapsed, names: tuple[str, ...] | None, where: str) -> IntArray:
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
    # Sums and products of weights are then ordinary numbers, and so is, in single precision, what a draw adds
    # to the cost of a cluster.
    largest = weights.max()
    if largest == 0 or 1e-15 <= largest <= 1e15:
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
