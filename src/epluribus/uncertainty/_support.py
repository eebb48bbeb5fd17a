"""How the draws support the place of each item and each cluster: the sums behind `items` and `clusters`.

With P_ij the probability that items i and j share a cluster, the affinity of item i to a cluster C is the
mean of P_ij over the other items j of C. The matrix P is not formed: for each draw, the sum of
[z_ti = z_tj] over the items j of C is a cell of the contingency table of the estimate and the draw.

The part of an item in the expected loss: the sums of a linear loss over cells and clusters are sums
over items, since sum f(n) over cells = sum f(n)/n over items. For Binder's loss that is half the
expected number of other items on which the estimate and a draw disagree; for VI the expected
log2 (n_g n_h / n_gh^2) / N. The loss of a draw under any other loss is shared among the items in
proportion to f1(n_g)/n_g + f1(n_h)/n_h - 2 f1(n_gh)/n_gh. Parts add up to the expected loss.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from epluribus._kernels.support import Shares, cluster_recovery, item_support, members_support
from epluribus._parallel import Stopper, parts, run_all
from epluribus.engine import draw_losses
from epluribus.engine.members import collect_sets
from epluribus.engine.tables import tables_pay
from epluribus.losses.base import Loss
from epluribus.losses.pairs import square

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from epluribus._typing import IntArray
    from epluribus.draws import Draws

__all__ = ["ALONE", "Support", "recovery", "support"]

ALONE = -1
"""The place that is not a cluster of the estimate: a new cluster of one item."""

_CELLS = 1 << 20
"""Affinities (items times clusters) that a task holds: 8 MB."""


class Support(NamedTuple):
    """The affinities of items that are reported, and sums over clusters."""

    own: NDArray[np.float64]
    """Affinity to the item's own cluster; for an item alone in it, the probability of being alone."""
    runner_up: IntArray
    """The other place of largest affinity: a cluster, or ALONE."""
    second: NDArray[np.float64]
    """Affinity to that place."""
    part: NDArray[np.float64]
    """Part in the expected loss."""
    between: Any
    """(K, K), sparse: sum of the probabilities between the items of two clusters."""


class _Sums(NamedTuple):
    """Sums over the draws for some items; OUT of the kernels."""

    together: NDArray[np.float64]
    """(n, K): expected number of items of each cluster that share a cluster with the item, and itself."""
    alone: NDArray[np.float64]
    """(n,) probability of being alone."""
    part: NDArray[np.float64]
    """(n,) part in the expected loss."""


def support(labels: IntArray, draws: Draws, loss: Loss, n_jobs: int) -> Support:
    """Support of every item, in blocks of items; the result does not depend on the threads."""
    sizes = np.bincount(labels)
    step = max(256, min(8192, _CELLS // len(sizes)))
    shares, constant = _shares(labels, draws, loss)
    stopper = Stopper()
    walk = not tables_pay(draws.item_major, draws.n_clusters, loss)
    fill = (_by_members if walk else _by_tables)(draws, labels, sizes, shares, stopper)
    tasks: list[Callable[[], Support]] = [
        partial(_block, fill, labels, sizes, begin, min(begin + step, draws.n_items))
        for begin in range(0, draws.n_items, step)
    ]
    blocks = run_all(tasks, n_jobs, stopper)
    *columns, between = zip(*blocks, strict=True)
    own, runner_up, second, part = (np.concatenate(column) for column in columns)
    return Support(own, runner_up, second, part + constant, sum(between[1:], start=between[0]))


def _by_tables(
    draws: Draws, labels: IntArray, sizes: IntArray, shares: Shares, stopper: Stopper
) -> Callable[[int, int, _Sums], None]:
    """Sums from the contingency table of each draw in turn."""
    rows, mass = np.ascontiguousarray(draws.distinct), draws.shares
    k, groups = len(sizes), int(rows.max()) + 1

    def fill(begin: int, end: int, out: _Sums) -> None:
        table, group_sizes = np.empty((groups, k), np.int64), np.empty(groups, np.int64)
        # Each draw takes a pass over all items, and one over clusters for each item of the block.
        for some in parts(len(rows), len(labels) + (end - begin + groups) * k):
            if stopper.stopped:
                break
            scaled = shares._replace(scale=shares.scale[some])
            item_support(
                rows[some], mass[some], labels, sizes, begin, end, scaled, table, group_sizes, *out
            )

    return fill


def _by_members(
    draws: Draws, labels: IntArray, sizes: IntArray, shares: Shares, stopper: Stopper
) -> Callable[[int, int, _Sums], None]:
    """Sums by walking through the members of the draws' clusters, where these are many and small."""
    # With the weights as given: where they are integers sums are exact, and ties are ties.
    sets = collect_sets(draws.item_major, draws.weights, distinct=True, smallest=1)
    scale = collect_sets(draws.item_major, shares.scale, distinct=True, smallest=1).weight

    def fill(begin: int, end: int, out: _Sums) -> None:
        if stopper.stopped:
            return
        members_support(sets, labels, sizes, begin, end, shares._replace(scale=scale), *out)
        out.together[:] /= draws.total_weight
        out.alone[:] /= draws.total_weight

    return fill


def _block(
    fill: Callable[[int, int, _Sums], None],
    labels: IntArray,
    sizes: IntArray,
    begin: int,
    end: int,
) -> Support:
    """Support of items begin..end; of no use if stopped."""
    from scipy.sparse import csr_array

    n, k = end - begin, len(sizes)
    together, alone, part = out = _Sums(np.zeros((n, k)), np.zeros(n), np.zeros(n))
    fill(begin, end, out)
    mine, here = np.arange(n), labels[begin:end]
    together[mine, here] -= 1.0  # an item is always with itself
    between = csr_array((np.ones(n), (here, mine)), shape=(k, n)) @ csr_array(together)
    others = np.repeat(sizes[None].astype(np.float64), n, axis=0)
    others[mine, here] -= 1.0
    single = others[mine, here] == 0
    others[mine[single], here[single]] = 1.0  # any number: there is nobody to be with
    affinity = np.clip(together / others, 0.0, 1.0)
    own = np.where(single, alone, affinity[mine, here])
    affinity[mine, here] = -1.0  # the runner-up is another place
    best = affinity.argmax(axis=1)
    second = affinity[mine, best]
    # A new cluster is another place as well, unless the item is alone already.
    leaves = ~single & (alone > second)
    runner_up = np.where(leaves | (single & (k == 1)), ALONE, best)
    return Support(
        own, runner_up, np.where(leaves, alone, np.maximum(second, 0.0)), part, between
    )


def _shares(labels: IntArray, draws: Draws, loss: Loss) -> tuple[Shares, float]:
    """How an item's part is computed, and what is added to the part of every item."""
    n, mass = draws.n_items, draws.shares
    per_item = np.maximum(np.arange(n + 1), 1)
    f1, f2, f3 = (table / per_item for table in loss.tables(n))
    if loss.linear:
        form = loss.linear_form(n)
        scaled = Shares(form.joint * f1, form.size * f2, form.group * f3, mass)
        return scaled, form.constant / n
    function = loss.f1
    if np.any(np.diff(f1[1:]) < 0):  # parts could be negative: share by pairs in disagreement instead
        function, f1 = square, per_item * 1.0
    whole = Loss(_disagreement, function, function, function, linear=True, zero_if_equal=True)
    disagreement = draw_losses(labels, draws, whole)
    values = draw_losses(labels, draws, loss) * mass
    differ = disagreement > 0
    scale = np.divide(values, disagreement, out=np.zeros_like(values), where=differ)
    # What equal partitions cost, if a user's loss is not 0 for them, is shared equally.
    return Shares(-2.0 * f1, f1, f1, scale), float(values[~differ].sum()) / n


def _disagreement(joint: float, size: float, group: float, n_items: float) -> float:  # noqa: ARG001
    return size + group - 2.0 * joint


def recovery(labels: IntArray, draws: Draws) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean best Jaccard index of each cluster with one of a draw, and probability that a draw has it."""
    rows, mass = np.ascontiguousarray(draws.distinct), draws.shares
    k, groups = int(labels.max()) + 1, int(rows.max()) + 1
    member, first = np.argsort(labels, kind="stable"), np.append(0, np.cumsum(np.bincount(labels)))
    count, sizes = np.zeros(groups, np.int64), np.empty(groups, np.int64)
    jaccard, found = np.zeros(k), np.zeros(k)
    for some in parts(len(rows), 2 * len(labels) + groups):  # Ctrl-C is heard between the parts
        cluster_recovery(rows[some], mass[some], member, first, count, sizes, jaccard, found)
    return np.minimum(jaccard, 1.0), np.minimum(found, 1.0)  # sums of shares may be rounded
