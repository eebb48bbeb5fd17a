"""How well items and clusters of an estimate are supported: sums of probabilities over clusters.

The affinity of item i to a cluster C of the estimate is the mean of P_ij over the other items j of C. It
is computed without the matrix: for each draw, the sum of [z_ti = z_tj] over the items j of C is a cell of
the contingency table of the estimate and the draw.

The part of an item in the expected loss: the sums of a linear loss over cells and clusters are sums over
items, since the sum of f(n) over cells is the sum of f(n)/n over items, n being the size of the item's cell.
For Binder's loss an item's part is half the expected number of other items about which the estimate and a
draw disagree; for VI it is the expected value of log2(n_g n_h / n_gh^2) / N. The loss of a draw under any
other loss is shared among the items in proportion to f1(n_g)/n_g + f1(n_h)/n_h - 2 f1(n_gh)/n_gh. The parts
add up to the expected loss.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.labels import count_tables
from epluribus._kernels.support import cluster_recovery, item_support, members_support
from epluribus._parallel import Stopper, parts, run_all
from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.draws.expected import draw_losses
from epluribus.draws.store import Slice
from epluribus.losses.base import Loss
from epluribus.losses.pairs import square
from epluribus.partition import read_only

ALONE = -1
"""Stands for the place of an item that is not a cluster of the estimate: a new cluster of one item."""

_CELLS = 1 << 20
"""Affinities (items times clusters) that a task holds in memory: 8 MB."""
_BATCH_CELLS = 1 << 20
"""Cells of the contingency tables that are made at a time: 4 MB."""
_WALK, _LOOKED_AT = 4.5, 20
"""Reading a member takes as long as adding so many cells of a table; draws that decide which is quicker."""


class _Shares(NamedTuple):
    """One item's part of the loss against draw t: scale[t] * (joint[n_gh] + size[n_g] + group[n_h]).

    The item is in cluster g of the partition and in cluster h of the draw.
    """

    joint: FloatArray
    """(n_items + 1,) the term of the cell, by its count."""
    size: FloatArray
    """(n_items + 1,) the term of the cluster, by its size."""
    group: FloatArray
    """(n_items + 1,) the term of the draw's cluster, by its size."""
    scale: FloatArray
    """(n_draws,) factor of each draw."""


class Support(NamedTuple):
    """What is reported of the affinities of items, (n_items,) each, and sums over clusters."""

    own: FloatArray
    """Affinity to the item's own cluster; for an item alone in it, the probability of being alone."""
    runner_up: IntArray
    """The other place of largest affinity: a cluster, or ALONE."""
    second: FloatArray
    """Affinity to that place."""
    part: FloatArray
    """Part in the expected loss."""
    between: Any
    """(K, K), sparse: sum of the probabilities between the items of two clusters."""


def support(labels: IntArray, draws: Draws, loss: Loss, n_jobs: int) -> Support:
    """Support of every item, in blocks of items; the result does not depend on the threads.

    Parameters
    ----------
    labels : ndarray of shape (n_items,)
        Canonical labels of the estimate, with K clusters.
    draws : Draws
    loss : Loss
        The loss whose expected value is divided among the items.
    n_jobs : int
        Threads.
    """
    sizes = np.bincount(labels)
    # Items per task: few where there are many clusters, but enough for a pass over the draws to pay.
    step = max(256, min(8192, _CELLS // len(sizes)))
    if not draws.store.in_one_piece:  # each block is a journey to other machines
        step *= 16
    shares, constant = _shares(labels, draws, loss)
    fill = (_by_members if _walks(draws) else _by_tables)(draws, labels, sizes, shares)
    tasks = [
        partial(_block, fill, labels, sizes, begin, min(begin + step, draws.n_items))
        for begin in range(0, draws.n_items, step)
    ]
    # Blocks are laid end to end; sums between clusters run over all items, so that blocks are added up.
    *columns, between = zip(*run_all(tasks, n_jobs, Stopper()), strict=True)
    own, runner_up, second, part = (np.concatenate(column) for column in columns)
    return Support(own, runner_up, second, part + constant, sum(between[1:], start=between[0]))


def _walks(draws: Draws) -> bool:
    """Whether walking through the members of clusters is quicker than tables: many small clusters."""
    if not draws.store.in_one_piece:  # members are collected from all draws at once
        return False
    table = draws.item_major
    some = table[:, :: max(1, table.shape[1] // _LOOKED_AT)].T
    # n of the items are in a cluster of size n, so that the mean size of an item's cluster is sum n^2 / N.
    size = np.mean([np.square(np.bincount(row)).sum() for row in some]) / len(table)
    return bool(draws.n_clusters.mean() > _WALK * size)


def _by_tables(
    draws: Draws, labels: IntArray, sizes: IntArray, shares: _Shares
) -> Callable[..., None]:
    """A function that fills the sums of a block of items from the contingency tables of all draws."""

    def fill(begin: int, end: int, *out: FloatArray) -> None:
        given = labels, sizes, shares, draws.shares, begin, end
        for sums in draws.store.map(_slice_support, *given):
            for total, part in zip(out, sums, strict=True):
                total += part

    return fill


def _slice_support(
    part: Slice,
    labels: IntArray,
    sizes: IntArray,
    shares: _Shares,
    mass: FloatArray,
    begin: int,
    end: int,
) -> tuple[FloatArray, ...]:
    """The sums of a block of items over the draws of one slice."""
    out = np.zeros((end - begin, len(sizes))), np.zeros(end - begin), np.zeros(end - begin)
    groups, n_draws = int(part.table.max()) + 1, part.table.shape[1]
    joint, size, group, scale = shares
    # So many draws at a time that their contingency tables take some megabytes.
    step = max(1, min(_BATCH_CELLS // (groups * len(sizes)), _BATCH_CELLS * 64 // len(labels)))
    for first in range(0, n_draws, step):
        some = slice(first, min(first + step, n_draws))
        here = slice(part.begin + some.start, part.begin + some.stop)
        counts = np.zeros((some.stop - first, groups, len(sizes)), dtype=np.int32)
        count_tables(part.table, first, some.stop, labels, counts)
        rows = read_only(np.ascontiguousarray(part.table[begin:end, some]))
        item_support(
            rows, mass[here], labels[begin:end], sizes, joint, size, group, scale[here],
            counts, counts.sum(axis=2, dtype=np.int64), *out,
        )  # fmt: skip
    return out


def _by_members(
    draws: Draws, labels: IntArray, sizes: IntArray, shares: _Shares
) -> Callable[..., None]:
    """The same by walking through the members of the draws' clusters, where these are many and small."""
    table = draws.item_major
    # The clusters of all draws, numbered through; members are sorted by these numbers.
    n_clusters = table.max(axis=0).astype(np.int64) + 1
    number = table + (np.cumsum(n_clusters) - n_clusters)
    member = (np.argsort(number, axis=None, kind="stable") // table.shape[1]).astype(np.int32)
    start = np.append(0, np.cumsum(np.bincount(number.ravel())))

    def fill(begin: int, end: int, *out: FloatArray) -> None:  # noqa: ARG001 - the blocks have their sizes
        # With the weights as given, divided once at the end: integer weights have exact sums, so that ties
        # between places stay ties.
        members_support(number, member, start, draws.weights, labels, sizes, *shares, begin, *out)
        for sums in out[:2]:
            sums /= draws.total_weight

    return fill


def _block(
    fill: Callable[..., None], labels: IntArray, sizes: IntArray, begin: int, end: int
) -> Support:
    """Support of items begin..end."""
    from scipy.sparse import csr_array

    n, k = end - begin, len(sizes)
    # The expected number of items of each cluster that an item is with, itself included; the probability
    # that it is alone; its part in the expected loss.
    together, alone, part = np.zeros((n, k)), np.zeros(n), np.zeros(n)
    fill(begin, end, together, alone, part)
    mine, here = np.arange(n), labels[begin:end]
    # From here on without the item itself, with which it always is.
    together[mine, here] -= 1.0
    # Rows of items are added up by cluster: a (K, n) matrix of memberships times (n, K).
    between = csr_array((np.ones(n), (here, mine)), shape=(k, n)) @ csr_array(together)
    others = np.repeat(sizes[None], n, axis=0)
    others[mine, here] -= 1
    single = others[mine, here] == 0
    # An item alone in its cluster has no partners there: the division must not fail, but its result is not
    # used.
    affinity = np.clip(together / np.maximum(others, 1), 0.0, 1.0)
    return Support(*pick_places(affinity, here, alone, single), part, between)


def pick_places(
    affinity: FloatArray, labels: IntArray, alone: FloatArray, single: NDArray[np.bool_]
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Support of each item, its runner-up, and its affinity to that; `affinity` is overwritten.

    `alone` is the probability of being alone, and `single` says which items are alone in their cluster.
    """
    mine = np.arange(len(labels))
    own = np.where(single, alone, affinity[mine, labels])
    # Below every probability: the runner-up is another place than the item's own cluster.
    affinity[mine, labels] = -1.0
    best = affinity.argmax(axis=1)
    second = affinity[mine, best]
    # A new cluster is a candidate as well, unless the item is alone already.
    leaves = ~single & (alone > second)
    runner_up = np.where(leaves | (single & (affinity.shape[1] == 1)), ALONE, best)
    return own, runner_up, np.where(leaves, alone, np.maximum(second, 0.0))


def _shares(labels: IntArray, draws: Draws, loss: Loss) -> tuple[_Shares, float]:
    """How an item's part is computed, and what is added to the part of every item."""
    n, mass = draws.n_items, draws.shares
    # f(n)/n for n = 0..N: from sums over cells to sums over items. Counts of 0 belong to no item.
    per_item = np.maximum(np.arange(n + 1), 1)
    f1, f2, f3 = (table / per_item for table in loss.tables(n))
    if loss.linear:
        form = loss.linear_form(n)
        scaled = _Shares(form.joint * f1, form.size * f2, form.group * f3, mass)
        return scaled, form.constant / n
    function = loss.f1
    # An item's share is never negative if f1(n)/n does not decrease; if it does, the loss is shared in
    # proportion to the pairs in disagreement instead, f1(n) = n^2.
    if np.any(np.diff(f1[1:]) < 0):
        function, f1 = square, per_item * 1.0
    whole = Loss(_disagreement, function, function, function, linear=True, zero_if_equal=True)
    # The scale of draw t makes the shares of its items add up to its weighted loss.
    disagreement = draw_losses(labels, draws, whole)
    values = draw_losses(labels, draws, loss) * mass
    differ = disagreement > 0
    scale = np.divide(values, disagreement, out=np.zeros_like(values), where=differ)
    # A user's own loss may not be 0 for equal partitions: what they cost is shared equally.
    return _Shares(-2.0 * f1, f1, f1, scale), float(values[~differ].sum()) / n


def _disagreement(joint: float, size: float, group: float, n_items: float) -> float:  # noqa: ARG001
    return size + group - 2.0 * joint


def recovery(labels: IntArray, draws: Draws) -> tuple[FloatArray, FloatArray]:
    """For each cluster the mean best Jaccard index in a draw, and the probability that a draw has it.

    Time O(n_draws n_items); both arrays have shape (K,).
    """
    sums = draws.store.map(_slice_recovery, labels, draws.shares)
    jaccard, found = (sum(column[1:], start=column[0]) for column in zip(*sums, strict=True))
    return np.minimum(jaccard, 1.0), np.minimum(found, 1.0)  # sums of shares may be rounded


def _slice_recovery(
    part: Slice, labels: IntArray, shares: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The sums of `recovery` over the draws of one slice."""
    mass = shares[part.columns]
    k, groups = int(labels.max()) + 1, int(part.table.max()) + 1
    # The items of cluster g are member[first[g]:first[g + 1]].
    member, first = np.argsort(labels, kind="stable"), np.append(0, np.cumsum(np.bincount(labels)))
    jaccard, found = np.zeros(k), np.zeros(k)
    for some in parts(len(mass), 2 * len(labels) + groups):  # Ctrl-C is heard between the parts
        rows = read_only(np.ascontiguousarray(part.table[:, some].T))
        cluster_recovery(rows, mass[some], member, first, groups, jaccard, found)
    return jaccard, found
