"""Probabilities that items share a cluster: the similarity matrix, and its sums over clusters.

    P_ij = sum_t w_t [z_ti = z_tj] / sum_t w_t

The matrix is computed in blocks of rows, one block at a time per thread; if all draws have the same weight,
each entry is a count divided by a count, and exact up to that division.

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
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from epluribus._kernels.similarity import keep_above
from epluribus._kernels.support import Shares, cluster_recovery, item_support, members_support
from epluribus._parallel import Stopper, parts, resolve_jobs, run_all
from epluribus._typing import DrawsLike, FloatArray, IntArray
from epluribus._validate import check_fraction
from epluribus.diagnostics import Similarity
from epluribus.draws import Draws, as_draws
from epluribus.draws.together import map_blocks
from epluribus.engine import draw_losses
from epluribus.engine.members import collect_sets
from epluribus.engine.tables import tables_pay
from epluribus.losses.base import Loss
from epluribus.losses.pairs import square

ALONE = -1
"""Stands for the place of an item that is not a cluster of the estimate: a new cluster of one item."""

_CELLS = 1 << 20
"""Affinities (items times clusters) that a task holds in memory: 8 MB."""
_THRESHOLD = 0.05
"""Entries up to this are left out of a sparse matrix by default: pairs that hardly ever share a cluster."""


# --- the matrix ---


@overload
def psm(
    draws: DrawsLike,
    *,
    sparse: Literal[False] = ...,
    per_chain: bool = ...,
    n_jobs: int | None = ...,
) -> FloatArray: ...
@overload
def psm(
    draws: DrawsLike,
    *,
    sparse: bool,
    threshold: float | None = ...,
    per_chain: bool = ...,
    n_jobs: int | None = ...,
) -> Any: ...
def psm(
    draws: DrawsLike,
    *,
    sparse: bool = False,
    threshold: float | None = None,
    per_chain: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """Posterior similarity matrix: the probability, for every two items, that they share a cluster.

    In a paper: *entry (i, j) is the proportion of posterior draws in which items i and j were in the
    same cluster*.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample; its weights are respected.
    sparse : bool, default False
        Whether to keep only the larger entries, in a SciPy sparse array: for many items.
    threshold : float, optional
        For ``sparse=True``: entries not above it are left out; 0.05 by default.
    per_chain : bool, default False
        Whether to return one matrix for each chain.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.

    Returns
    -------
    ndarray of shape (n_items, n_items), or scipy.sparse.csr_array if `sparse`
        Symmetric, with ones on the diagonal. If `per_chain`, an array of shape (n_chains, n_items,
        n_items), or a list of sparse arrays.

    Notes
    -----
    Time O(n_items^2 n_draws), about 0.02 ns for each pair and draw. Memory: 8 bytes for each entry of the
    dense matrix, 12 for each entry kept in a sparse one, which is never dense on the way.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.uncertainty.psm([[0, 0, 1], [0, 0, 1], [0, 1, 1], [0, 0, 0]])
    array([[1.  , 0.75, 0.25],
           [0.75, 1.  , 0.5 ],
           [0.25, 0.5 , 1.  ]])
    >>> epl.uncertainty.psm([[0, 0, 1], [0, 1, 1]], sparse=True, threshold=0.4).nnz
    7
    """
    sample = as_draws(draws)
    if threshold is not None and not sparse:
        raise ValueError(
            f"'threshold' is for sparse=True only; got {threshold!r} with sparse=False. "
            "Leave it out, or ask for a sparse matrix."
        )
    bound = check_fraction(
        _THRESHOLD if threshold is None else threshold, "threshold", zero=True, one=False
    )
    jobs = resolve_jobs(n_jobs)

    def make(part: Draws) -> Any:
        return _sparse(part, bound, jobs) if sparse else _dense(part, jobs)

    if not per_chain:
        return make(sample)
    matrices = [make(sample.chain(number)) for number in range(sample.n_chains)]
    return matrices if sparse else np.stack(matrices)


def _dense(draws: Draws, n_jobs: int) -> FloatArray:
    """(n_items, n_items) the whole matrix."""
    n = draws.n_items
    try:
        return Similarity(draws).matrix(n_jobs)
    except MemoryError:
        raise MemoryError(
            f"'draws' has {n:,} items: a dense matrix takes {8 * n * n / 1e9:.0f} GB. Use sparse=True."
        ) from None


def _sparse(draws: Draws, threshold: float, n_jobs: int) -> Any:
    """The entries above the threshold as a CSR array, made block by block."""
    from scipy.sparse import csr_array

    n, rows = draws.n_items, Similarity(draws)

    def keep(begin: int, end: int) -> tuple[Any, Any, Any]:
        block = rows(begin, end, n)
        block[np.arange(end - begin), np.arange(begin, end)] = 1.0
        # Room for every entry of the block, of which only those kept are copied and returned.
        counts = np.empty(end - begin, dtype=np.int64)
        columns, values = np.empty(block.size, dtype=np.int32), np.empty(block.size)
        size = keep_above(block, threshold, counts, columns, values)
        return counts, columns[:size].copy(), values[:size].copy()

    blocks = list(zip(*map_blocks(n, keep, n_jobs), strict=True))
    # Values, columns and counts in turn: each list is freed before the next is copied, since together
    # they may fill the memory.
    data = np.concatenate(blocks.pop())
    columns = np.concatenate(blocks.pop())
    starts = np.concatenate([[0], np.cumsum(np.concatenate(blocks.pop()))])
    if starts[-1] < 2**31:
        # SciPy wants one type for both index arrays, and would otherwise copy the larger one.
        starts = starts.astype(np.int32)
    return csr_array((data, columns, starts), shape=(n, n))


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
