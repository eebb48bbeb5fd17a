"""Probabilities that items share a cluster, summed over clusters of the estimate.

    P_ij = sum_t w_t [z_ti = z_tj] / sum_t w_t

The affinity of item i to a cluster C of the estimate is the mean of P_ij over the other items j of C. It
is computed without the matrix: for each draw, the sum of [z_ti = z_tj] over the items j of C is a cell of
the contingency table of the estimate and the draw.

The part of an item in the expected loss: the sums of a linear loss over cells and clusters are sums over
items, since the sum of f(n) over cells is the sum of f(n)/n over items, n being the size of the item's cell.
For Binder's loss an item's part is half the expected number of other items about which the estimate and a
draw disagree; for VI it is the expected value of log2(n_g n_h / n_gh^2) / N. The loss of a draw under any
other loss is shared among the items in proportion to f1(n_g)/n_g + f1(n_h)/n_h - 2 f1(n_gh)/n_gh. The parts
add up to the expected loss.

Binder, D. A. (1978). Bayesian cluster analysis. Biometrika 65, 31-38. doi:10.1093/biomet/65.1.31
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from epluribus._kernels.support import Shares, cluster_recovery, item_support, members_support
from epluribus._parallel import Stopper, parts, run_all
from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.engine import draw_losses
from epluribus.engine.members import collect_sets
from epluribus.engine.tables import tables_pay
from epluribus.losses.base import Loss
from epluribus.losses.pairs import square

ALONE = -1
"""Stands for the place of an item that is not a cluster of the estimate: a new cluster of one item."""

_CELLS = 1 << 20
"""Affinities (items times clusters) that a task holds in memory: 8 MB."""


def leaf_order(matrix: FloatArray, *, optimal: bool) -> IntArray:
    """Items with similar ones side by side: the leaves of the tree of average linkage, from left to right.

    `matrix` holds similarities P_ij, and the distances are 1 - P_ij. If `optimal`, branches are turned so
    that neighbors are as similar as they can be, which takes longer.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage

    n = len(matrix)
    # Any order of one or two leaves is a good one, and linkage needs two.
    if n <= 2:
        return np.arange(n)
    # The upper triangle row by row, the condensed form that SciPy takes.
    distances = 1.0 - matrix[np.triu_indices(n, 1)]
    # Rounding of a mean similarity may give a distance below 0, which linkage refuses.
    tree = linkage(np.maximum(distances, 0.0), "average", optimal_ordering=optimal)
    return leaves_list(tree).astype(np.int64)


# --- sums over clusters ---


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
    shares, constant = _shares(labels, draws, loss)
    stopper = Stopper()
    walk = not tables_pay(draws.item_major, draws.n_clusters, loss)
    fill = (_by_members if walk else _by_tables)(draws, labels, sizes, shares, stopper)
    tasks = [
        partial(_block, fill, labels, sizes, begin, min(begin + step, draws.n_items))
        for begin in range(0, draws.n_items, step)
    ]
    # Blocks are laid end to end; sums between clusters run over all items, so that blocks are added up.
    *columns, between = zip(*run_all(tasks, n_jobs, stopper), strict=True)
    own, runner_up, second, part = (np.concatenate(column) for column in columns)
    return Support(own, runner_up, second, part + constant, sum(between[1:], start=between[0]))


def _by_tables(
    draws: Draws, labels: IntArray, sizes: IntArray, shares: Shares, stopper: Stopper
) -> Callable[..., None]:
    """A function that fills the sums of a block of items from the contingency table of each draw in turn."""
    rows, mass = np.ascontiguousarray(draws.distinct), draws.shares
    k, groups = len(sizes), int(rows.max()) + 1

    def fill(begin: int, end: int, *out: FloatArray) -> None:
        work = np.empty((groups, k), np.int64), np.empty(groups, np.int64)
        # Steps of a draw: a pass over all items, and one over the clusters for each item of the block. The
        # work is cut into parts so that Ctrl-C is heard in between.
        for some in parts(len(rows), len(labels) + (end - begin + groups) * k):
            if stopper.stopped:
                break
            scaled = shares._replace(scale=shares.scale[some])
            item_support(rows[some], mass[some], labels, sizes, begin, end, scaled, *work, *out)

    return fill


def _by_members(
    draws: Draws, labels: IntArray, sizes: IntArray, shares: Shares, stopper: Stopper
) -> Callable[..., None]:
    """The same by walking through the members of the draws' clusters, where these are many and small."""
    # With the weights as given, divided once at the end: integer weights have exact sums, so that ties
    # between places stay ties.
    sets = collect_sets(draws.item_major, draws.weights, distinct=True, smallest=1)
    scale = collect_sets(draws.item_major, shares.scale, distinct=True, smallest=1).weight
    scaled = shares._replace(scale=scale)

    def fill(begin: int, end: int, *out: FloatArray) -> None:
        if not stopper.stopped:
            members_support(sets, labels, sizes, begin, end, scaled, *out)
            for sums in out[:2]:
                sums /= draws.total_weight

    return fill


def _block(
    fill: Callable[..., None], labels: IntArray, sizes: IntArray, begin: int, end: int
) -> Support:
    """Support of items begin..end; of no use if stopped."""
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
    own = np.where(single, alone, affinity[mine, here])
    # Below every probability: the runner-up is another place than the item's own cluster.
    affinity[mine, here] = -1.0
    best = affinity.argmax(axis=1)
    second = affinity[mine, best]
    # A new cluster is a candidate as well, unless the item is alone already.
    leaves = ~single & (alone > second)
    runner_up = np.where(leaves | (single & (k == 1)), ALONE, best)
    return Support(own, runner_up, np.where(leaves, alone, np.maximum(second, 0.0)), part, between)


def _shares(labels: IntArray, draws: Draws, loss: Loss) -> tuple[Shares, float]:
    """How an item's part is computed, and what is added to the part of every item."""
    n, mass = draws.n_items, draws.shares
    # f(n)/n for n = 0..N: from sums over cells to sums over items. Counts of 0 belong to no item.
    per_item = np.maximum(np.arange(n + 1), 1)
    f1, f2, f3 = (table / per_item for table in loss.tables(n))
    if loss.linear:
        form = loss.linear_form(n)
        scaled = Shares(form.joint * f1, form.size * f2, form.group * f3, mass)
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
    return Shares(-2.0 * f1, f1, f1, scale), float(values[~differ].sum()) / n


def _disagreement(joint: float, size: float, group: float, n_items: float) -> float:  # noqa: ARG001
    return size + group - 2.0 * joint


def recovery(labels: IntArray, draws: Draws) -> tuple[FloatArray, FloatArray]:
    """For each cluster the mean best Jaccard index in a draw, and the probability that a draw has it.

    Time O(n_draws n_items); both arrays have shape (K,).
    """
    rows, mass = np.ascontiguousarray(draws.distinct), draws.shares
    k, groups = int(labels.max()) + 1, int(rows.max()) + 1
    # The items of cluster g are member[first[g]:first[g + 1]].
    member, first = np.argsort(labels, kind="stable"), np.append(0, np.cumsum(np.bincount(labels)))
    count, sizes = np.zeros(groups, np.int64), np.empty(groups, np.int64)
    jaccard, found = np.zeros(k), np.zeros(k)
    for some in parts(len(rows), 2 * len(labels) + groups):  # Ctrl-C is heard between the parts
        cluster_recovery(rows[some], mass[some], member, first, count, sizes, jaccard, found)
    return np.minimum(jaccard, 1.0), np.minimum(found, 1.0)  # sums of shares may be rounded
