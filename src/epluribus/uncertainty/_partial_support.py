"""Support of items and clusters where labels are missing: as in `_support`, from what draws have seen.

The affinity of item i to a cluster C of the estimate is the share of the draws and of the other items j of C
in which both were seen and shared a cluster:

    sum_t w_t #{j in C: z_tj = z_ti} / sum_t w_t #{j in C: t has seen i and j}

If nothing is missing, this is the mean of P_ij over C. The probability of being alone counts the draws that
have seen the item. The part of an item in the expected loss is summed over the same draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.draws.expected import draw_losses
from epluribus.draws.store import Slice
from epluribus.losses.base import Loss
from epluribus.losses.partial import linear_forms
from epluribus.uncertainty._support import Support, pick_places


class _Seen(NamedTuple):
    """One draw, and what it has seen of the estimate."""

    share: float
    """Its share of the weights."""
    items: IntArray
    """The items that it has seen."""
    own: IntArray
    """Their clusters in the estimate."""
    group: IntArray
    """Their clusters in the draw."""
    counts: IntArray
    """(groups, K) contingency table."""


def _draws_of(part: Slice, labels: IntArray, shares: FloatArray) -> Iterator[_Seen]:
    k = int(labels.max()) + 1
    for column, share in zip(part.table.T, shares[part.columns].tolist(), strict=True):
        items = np.flatnonzero(column)
        own, group = labels[items], column[items].astype(np.int64) - 1
        cells = np.bincount(group * k + own, minlength=(int(group.max(initial=0)) + 1) * k)
        yield _Seen(share, items, own, group, cells.reshape(-1, k))


def partial_support(labels: IntArray, draws: Draws, loss: Loss) -> Support:
    """Support of every item; see `support`. Time O(n_draws n_items K)."""
    from scipy.sparse import csr_array

    sums = draws.store.map(_slice_sums, labels, draws.shares)
    together, seen, alone, present = (np.sum(column, axis=0) for column in zip(*sums, strict=True))
    n, k = together.shape
    mine = np.arange(n)
    member = csr_array((np.ones(n), (labels, mine)), shape=(k, n))
    between = member @ csr_array(together), member @ csr_array(seen)
    affinity = np.divide(together, seen, out=np.zeros_like(together), where=seen > 0)
    # Never seen with another item of its cluster: alone in it, for all that is known.
    single = seen[mine, labels] == 0
    alone /= present
    places = pick_places(affinity, labels, alone, single)
    # Sums of probabilities between clusters, as if all had been seen: the share seen together times all.
    sizes = np.bincount(labels)
    shared, both = (x.tocoo() for x in between)
    picked = both.tocsr()[shared.row, shared.col]
    # A dense row, or where nothing is shared a sparse one, by the version of SciPy.
    pairs = np.ravel(picked.toarray() if hasattr(picked, "toarray") else picked)
    shared.data *= sizes[shared.row] * sizes[shared.col] / np.maximum(pairs, 1e-300)
    return Support(*places, _parts(labels, draws, loss), shared.tocsr())


def _slice_sums(part: Slice, labels: IntArray, shares: FloatArray) -> tuple[FloatArray, ...]:
    """Sums over draws: items of each cluster that an item was with, and was seen with; alone; seen."""
    n, k = len(labels), int(labels.max()) + 1
    together, seen, alone, present = np.zeros((n, k)), np.zeros((n, k)), np.zeros(n), np.zeros(n)
    for share, items, own, group, counts in _draws_of(part, labels, shares):
        together[items] += share * counts[group]
        seen[items] += share * counts.sum(axis=0)
        # Without the item itself, with which it always is.
        together[items, own] -= share
        seen[items, own] -= share
        alone[items] += share * (counts.sum(axis=1)[group] == 1)
        present[items] += share
    # Sums of shares may be rounded: what is left of nothing is nothing.
    for table in (together, seen):
        table[table < 1e-12] = 0.0
    return together, seen, alone, present


def _parts(labels: IntArray, draws: Draws, loss: Loss) -> FloatArray:
    """Part of each item in the expected loss; they add up to it."""
    n = draws.n_items
    per_item = np.maximum(np.arange(n + 1), 1)
    tables = [table / per_item for table in loss.tables(n)]
    n_seen = draws.distinct_n_seen
    if loss.linear:
        form = linear_forms(loss, n_seen)
        factors = np.stack([form.joint, form.size, form.group], axis=1)
    else:
        # As for complete draws: in proportion to f1(n_g)/n_g + f1(n_h)/n_h - 2 f1(n_gh)/n_gh, or to the pairs
        # in disagreement, f1(n) = n^2, if that may be negative.
        falls = bool(np.any(np.diff(tables[0][1:]) < 0))
        tables = [per_item * 1.0 if falls else tables[0]] * 3
        factors = np.tile([-2.0, 1.0, 1.0], (len(n_seen), 1))
    values = draw_losses(labels, draws, loss)
    sums = draws.store.map(_slice_parts, labels, draws.shares, tables, factors, values)
    return np.sum(sums, axis=0)


def _slice_parts(
    part: Slice,
    labels: IntArray,
    shares: FloatArray,
    tables: list[FloatArray],
    factors: FloatArray,
    values: FloatArray,
) -> FloatArray:
    """The parts of the items in the losses of the draws of one slice, times their shares."""
    out, here = np.zeros(len(labels)), part.columns
    seen = _draws_of(part, labels, shares)
    for draw, factor, value in zip(seen, factors[here], values[here].tolist(), strict=True):
        counts, own, group = draw.counts, draw.own, draw.group
        sizes = counts[group, own], counts.sum(axis=0)[own], counts.sum(axis=1)[group]
        raw = sum(f * table[n] for f, table, n in zip(factor, tables, sizes, strict=True))
        # What the items do not explain, such as a constant of the loss, is shared equally.
        total = float(np.sum(raw))
        scale = value / total if total > 1e-12 else 0.0
        rest = (value - scale * total) / len(own)
        out[draw.items] += draw.share * (scale * raw + rest)
    return out


def partial_recovery(labels: IntArray, draws: Draws) -> tuple[FloatArray, FloatArray]:
    """For each cluster the mean best Jaccard index in a draw, and the probability that a draw has it.

    Of each cluster, what the draw has seen; draws that have seen nothing of it are left out.
    """
    sums = draws.store.map(_slice_recovery, labels, draws.shares)
    jaccard, found, weight = (np.sum(column, axis=0) for column in zip(*sums, strict=True))
    return np.minimum(jaccard / weight, 1.0), np.minimum(found / weight, 1.0)


def _slice_recovery(part: Slice, labels: IntArray, shares: FloatArray) -> tuple[FloatArray, ...]:
    k = int(labels.max()) + 1
    jaccard, found, weight = np.zeros((3, k))
    for share, _, _, _, counts in _draws_of(part, labels, shares):
        mine, theirs = counts.sum(axis=0), counts.sum(axis=1)
        union = mine + theirs[:, None] - counts
        best = np.divide(counts, union, out=np.zeros(counts.shape), where=union > 0).max(axis=0)
        jaccard += share * best
        found += share * ((best == 1.0) & (mine > 0))
        weight += share * (mine > 0)
    return jaccard, found, weight
