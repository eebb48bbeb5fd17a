"""From rows of labels to the distinct partitions among them; what belongs to rows and items, checked.

That is: chains, which draws are kept, weights, names of items.
"""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from hashlib import sha256
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.labels import canonical_rows
from epluribus._parallel import resolve_jobs, run_all
from epluribus._text import few_of
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import check_count, shown
from epluribus.readers.columns import Source

Labels = NDArray[np.unsignedinteger[Any]]

_BLOCK = (1 << 20, 64)
"""About how many labels, and at least how many draws, are read at a time: the labels stay in the cache."""


class Collapsed(NamedTuple):
    """The distinct partitions among draws."""

    labels: Any
    """(n_items, n_distinct) their canonical labels, in order of first appearance; or a store on a Dask cluster."""
    places: IntArray
    """(n_draws,) which of them each draw equals."""
    n_clusters: IntArray
    """(n_distinct,) their numbers of clusters."""
    has_missing: bool = False
    """Whether labels are missing. All labels are then one larger, and 0 means missing."""
    keys: tuple[bytes, ...] = ()
    """(n_distinct,) their hashes, by which equal draws of different slices are found."""


def collapse(source: Source, keep: IntArray, *, missing: bool = False) -> Collapsed:
    """The distinct partitions among the rows `keep` of a table of labels.

    Rows are made canonical and recognized by a hash of 128 bits; those not seen before become columns of the
    item-major table. Time O(n_rows n_items); memory the stored labels, at most three times them while the table
    grows, and some blocks of labels.

    Examples
    --------
    >>> from epluribus.readers import to_table
    >>> labels, places, k, *_ = collapse(to_table([[4, 4, 7], [1, 2, 2], [0, 0, 9]]), np.arange(3))
    >>> labels.T.tolist(), places.tolist(), k.tolist()
    ([[0, 0, 1], [0, 1, 1]], [0, 1, 0], [2, 2])
    """
    n_items, n_draws = source.labels.shape[1], len(keep)
    # A chunk of an array of Dask is computed as a whole.
    chunk = max(getattr(source.labels, "chunks", [[1]])[0])
    size = -(-max(_BLOCK[0] // n_items, _BLOCK[1]) // chunk) * chunk
    place_of: dict[bytes, int] = {}  # number of a distinct partition by its hash
    places: list[int] = []
    n_clusters: list[int] = []
    labels = codes = np.empty((n_items, 0), np.uint8)
    for begin in range(0, n_draws, size):
        own = keep[begin : begin + size]
        whole = own[-1] - own[0] + 1 == len(own)
        block = np.asanyarray(source.labels[own[0] : own[-1] + 1] if whole else source.labels[own])
        rows = block if source.check is None else source.check(block, own)
        if np.ma.is_masked(rows) and not missing:
            # All is read again: labels must leave 0 free.
            return collapse(source, keep, missing=True)
        rows, low, span = _near_zero(_missing_first(rows) if missing else np.asarray(rows))
        kind = np.min_scalar_type(min(span, rows.shape[1]) - 1)
        if (codes.shape, codes.dtype) != (rows.shape, kind):  # else the same memory again
            codes = np.empty(rows.shape, kind)
        work = partial(_canonical, rows, low, span, missing, codes)
        found = chain.from_iterable(_in_threads(work, *rows.shape))
        done, new = len(n_clusters), []
        for t, (k, key) in enumerate(found):
            place = place_of.setdefault(key, len(place_of))
            places.append(place)
            if place == len(n_clusters):
                new.append(t)
                n_clusters.append(k)
        if new:
            kind = np.promote_types(labels.dtype, np.min_scalar_type(max(n_clusters[done:]) - 1))
            if len(n_clusters) > labels.shape[1] or kind != labels.dtype:
                # A wider table, for draws to come that are as varied as those before.
                width = max(labels.shape[1], -(-n_draws * len(n_clusters) // len(places)))
                before, labels = labels[:, :done], np.empty((n_items, width), kind)
                labels[:, :done] = before
            own_codes = (codes if len(new) == len(codes) else codes[new])[:, int(missing) :]
            _in_threads(partial(_write, labels[:, done:], own_codes), n_items, len(new))
    # Missing labels were counted as one more cluster of each draw.
    ks = np.array(n_clusters) - missing
    labels = np.ascontiguousarray(labels[:, : len(ks)])
    return Collapsed(labels, np.array(places), ks, missing, tuple(place_of))


def _in_threads(work: Callable[[int, int], Any], n: int, n_each: int) -> list[Any]:
    """`work(begin, end)` for parts of range(n), one for each thread; `n_each` is the number of labels in each."""
    n_jobs = min(n, resolve_jobs(None)) if n * n_each >= _BLOCK[0] else 1
    if n_jobs == 1:
        return [work(0, n)]
    cuts = [n * part // n_jobs for part in range(n_jobs + 1)]
    return run_all([partial(work, begin, end) for begin, end in pairwise(cuts)], n_jobs)


def _near_zero(rows: AnyArray) -> tuple[AnyArray, int, int]:
    """Rows as contiguous integers of the machine, the least label or one below it, and how far labels reach."""
    rows = np.ascontiguousarray(rows, dtype=rows.dtype.newbyteorder("="))
    # Numbers too large for int64 become negative ones: different labels stay different.
    rows = rows.view({"bool": np.uint8, "uint64": np.int64}.get(rows.dtype.name, rows.dtype))
    if rows.dtype.itemsize == 1:
        return rows, int(np.iinfo(rows.dtype).min), 256
    low = int(rows.min())
    span = int(rows.max()) - low + 1
    # Labels too far apart for a lookup table, such as 0 and 10**15, are numbered first, by sorting.
    if span > 4 * rows.size + 1024:
        rows = np.unique(rows, return_inverse=True)[1].reshape(rows.shape)
        low, span = 0, int(rows.max()) + 1
    return rows, low, span


def _canonical(
    rows: AnyArray, low: int, span: int, missing: bool, codes: Labels, begin: int, end: int
) -> list[tuple[int, bytes]]:
    """Make rows begin..end-1 canonical, in `codes`: the number of clusters and the hash of each.

    With `missing`, a missing label is 0 and counts as a cluster.
    """
    own, n_clusters = codes[begin:end], np.empty(end - begin, dtype=np.int64)
    canonical_rows(rows[begin:end], low, np.zeros(span, dtype=np.int64), own, n_clusters)
    # In the smallest type for each row, so that equal rows have equal hashes whatever the others are.
    found = []
    for k, row in zip(n_clusters.tolist(), own[:, int(missing) :], strict=True):
        small = row.astype(np.min_scalar_type(k - 1), copy=False)
        found.append((k, sha256(small, usedforsecurity=False).digest()[:16]))
    return found


def _missing_first(rows: AnyArray) -> AnyArray:
    """Integers of rows with masked labels: one more column at the left holds what stands for these."""
    values, mask = np.ma.getdata(rows), np.ma.getmaskarray(rows)
    # The labels are moved to 1, 2, ..., so that nothing else is 0: in a type with room for one more.
    kind = {1: np.int16, 2: np.int32}.get(values.dtype.itemsize, np.int64)
    out = np.zeros((len(values), values.shape[1] + 1), dtype=kind)
    if not mask.all():
        low = int(values[~mask].min()) - 1
        np.subtract(values, low, out=out[:, 1:], where=~mask, dtype=kind, casting="unsafe")
    return out


def _write(table: Labels, rows: Labels, begin: int, end: int) -> None:
    """Rows of labels become the first columns of an item-major table, for items begin..end-1."""
    table[begin:end, : len(rows)] = rows[:, begin:end].T


# --- chains, weights, names ---


def count_seen(found: Collapsed, names: tuple[str, ...] | None, where: str) -> IntArray:
    """Items that each distinct draw has seen; items that none has seen, and empty draws, are refused."""
    seen = found.labels > 0
    n_seen: IntArray = seen.sum(axis=0)
    must = f"'{where}' must have some label"
    empty = np.flatnonzero(n_seen[found.places] == 0)
    if len(empty):
        what = f"in every draw; all labels of draw {empty[0]} are missing"
        raise ValueError(f"{must} {what}. Leave such draws out.")
    never = np.flatnonzero(~seen.any(axis=1)).tolist()
    if never:
        some = few_of([f"'{names[i] if names else i}'" for i in never], 3)
        what = f"for every item; all labels of {some} are missing"
        raise ValueError(f"{must} {what}. Leave such items out.")
    return n_seen


def one_per_draw(values: AnyArray, n_draws: int, argument: str) -> AnyArray:
    """The values themselves, if there is one for each draw."""
    if values.shape != (n_draws,):
        shapes = f"shape ({n_draws},); got shape {values.shape}"
        raise ValueError(f"'{argument}' must have one entry per draw, {shapes}.")
    return values


def kept_rows(chain: IntArray, burn: Any = 0, thin: Any = 1) -> IntArray:
    """Rows that remain after `burn` and `thin` within each chain, in their old order.

    >>> kept_rows(np.array([0, 1, 0, 1, 0, 1]), burn=1, thin=2).tolist()
    [2, 3]
    """
    if type(burn) is type(thin) is int and (burn, thin) == (0, 1):
        return np.arange(len(chain))
    burn, thin = check_count(burn, "burn", low=0), check_count(thin, "thin")
    rows: list[IntArray] = []
    for number in np.unique(chain):
        own = np.flatnonzero(chain == number)
        if burn >= len(own):
            what = f"it is {burn} and chain {number} has {len(own)} draws"
            raise ValueError(f"'burn' must leave at least one draw; {what}.")
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
    values = values.ravel() if values.ndim == 2 and values.size == n_draws else values
    values, masked = one_per_draw(values, n_draws, "weights"), np.ma.getmaskarray(weights).ravel()
    # Written so that NaN, which is not finite, is refused too.
    for t in np.flatnonzero(masked | ~(np.isfinite(values) & (values >= 0)))[:1]:
        what = "is masked" if masked[t] else f"has {values[t]}"
        raise ValueError(
            f"'weights' must be finite and not negative; draw {t} {what}. A weight of 0 leaves a draw out."
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
    return weights if largest == 0 or 1e-15 <= largest <= 1e15 else weights / largest


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
            what = f"item {t} is '{theirs[t]}'; got '{names[t]}'"
            raise ValueError(
                f"'items' must be in the order of the labels, which are named: {what}."
            )
    # What is said of one item could not be told from what is said of another one of the same name.
    if names is not None and len(set(names)) < len(names):
        twice = next(name for name, n in Counter(names).items() if n > 1)
        what = f"a different name for every item; '{twice}' is there twice"
        raise ValueError(f"'{argument}' must have {what}.{way_out}")
    return names


def resample(weights: FloatArray, n: int, offset: float = 0.5) -> IntArray:
    """Numbers of n draws in proportion to their weights, at even distances: systematic resampling.

    >>> resample(np.array([1.0, 2.0, 0.0, 1.0]), 4).tolist()
    [0, 1, 1, 3]
    """
    edges = np.cumsum(weights) / weights.sum()
    at = np.searchsorted(edges, (np.arange(n) + offset) / n, side="right")
    return np.minimum(at, len(weights) - 1)
