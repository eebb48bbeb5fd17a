"""Ways out of a partition that no move of a single item improves, on the contract of `engine`.

*Nudges*: an item that nearly prefers another cluster is moved there although that raises the loss, and items
that nearly prefer another cluster too may follow it. If the loss is lower in the end, all of them stay;
otherwise all go back. This finds two or more items that must move together, and small clusters that items
would first have to form before they join a larger one.

*Lifting*: a set of items becomes a cluster of its own. Sweeps then show whether that was a good idea.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part, routine
from epluribus._kernels.engine import (
    apply,
    choose,
    cost_of,
    exact,
    exclude,
    glance,
    join,
    join_changes,
    least_gap,
)
from epluribus._kernels.looks import remember, step_aside, step_back
from epluribus._kernels.reference import by_reference
from epluribus._typing import FloatArray, IntArray


@kernel
def runners_up(
    e: Any,
    row: Any,
    items: IntArray,
    k_min: int,
    k_max: int,
    lazy: bool,
    stop: NDArray[np.uint8],
    target: IntArray,  # OUT (n_items,)
    gap: FloatArray,  # OUT (n_items,)
) -> None:
    """The best cluster other than its own for each of the items, and how much more it costs.

    The gap is infinite for an item that has nowhere else to go.
    """
    for i in items:
        gap[i] = np.inf
        target[i] = -1
        if stop[0]:
            return
        own, k = e.labels[i], e.n_clusters[0]
        alone = e.sizes[own] == 1
        opens = k < k_max and not alone
        if (alone and k <= k_min) or (k == 1 and not opens):
            continue
        glance(e, row, i)
        here = cost_of(e, own)
        if lazy:
            remember(e.looks, i, own, alone, least_gap(e, i, own, alone))
        exclude(e, own)
        target[i] = choose(e, i, -1, opens)
        gap[i] = cost_of(e, target[i]) - here


@part
def _difference(e: Any, row: Any, i: int, own: int, target: int) -> float:
    """Change of the total loss if item i goes from `own` to `target`."""
    return exact(e, row, i, target) - exact(e, row, i, own) if target != own else 0.0


_SMALL = 8
"""Items of a cluster that is tried with all others after a push."""


@by_reference
class Moves(NamedTuple):
    """The moves since a push, so that they can be taken back."""

    item: IntArray
    own: IntArray
    """Label of the cluster that the item left."""
    closed: IntArray
    """If that cluster closed: the label of the cluster that then took its label; -1 if it did not close."""


@part
def _move(e: Any, row: Any, i: int, target: int, moves: Moves, q: int) -> None:
    """Make a move and write it down as number q."""
    own = e.labels[i]
    moves.item[q] = i
    moves.own[q] = own
    # The last cluster takes the label of one that closes.
    moves.closed[q] = e.n_clusters[0] - 1 if e.sizes[own] == 1 else -1
    apply(e, row, i, target)


@routine
def _take_back(e: Any, row: Any, moves: Moves, n: int) -> None:
    """Undo n moves, the last one first. The partition is what it was; its labels may have other names."""
    for q in range(n - 1, -1, -1):
        own, last = moves.own[q], moves.closed[q]
        apply(e, row, moves.item[q], own if last < 0 else e.n_clusters[0])
        # The item has opened a cluster called `last`, and the cluster that was called so is called `own`
        # now: what was written down earlier about these two is read with the names exchanged.
        if last >= 0:
            for p in range(q):
                if moves.own[p] == own:
                    moves.own[p] = last
                elif moves.own[p] == last:
                    moves.own[p] = own


@routine
def _follow(
    e: Any,
    row: Any,
    items: IntArray,
    target: IntArray,
    pushed: int,
    a: int,
    k_min: int,
    patience: int,
    n_moves: int,
    moves: Moves,  # OUT
    change: FloatArray,  # OUT (1,), added to
) -> int:
    """Move the items that now prefer another cluster, after one of them was pushed out of a.

    Those closest to moving come first; after `patience` items that stay no more are asked.
    """
    n_stayed = 0
    for j in items:
        if n_stayed == patience:
            break
        own, b = e.labels[j], e.labels[pushed]
        # Only items near one of the two clusters can be affected much. No cluster opens.
        near = own in (a, b) or target[j] in (a, b)
        closes = e.sizes[own] == 1
        if not near or (closes and e.n_clusters[0] <= k_min) or n_moves == moves.item.shape[0]:
            continue
        glance(e, row, j)
        best = choose(e, j, own, False)
        gained = _difference(e, row, j, own, best)
        if gained < -e.price.tolerance:
            change[0] += gained
            _move(e, row, j, best, moves, n_moves)
            n_moves += 1
        else:
            n_stayed += 1
    return n_moves


@routine
def _join_small(
    e: Any, row: Any, a: int, k_min: int, before: float, keep: bool, change: FloatArray
) -> None:
    """Join the small cluster a with another one if the loss is then lower than `before`.

    Two items that fit nowhere alone may fit somewhere together. Unless it is to be kept, the join is only
    announced.
    """
    if e.n_clusters[0] <= k_min or e.sizes[a] > _SMALL:
        return
    join_changes(e, row, a)
    b = choose(e, -1, -1, False)
    if change[0] + cost_of(e, b) - before < -4.0 * e.price.tolerance:
        change[0] += cost_of(e, b)
        if keep:
            join(e, row, min(a, b), max(a, b))


@kernel
def nudge(
    e: Any,
    row: Any,
    items: IntArray,
    target: IntArray,
    pushes: NDArray[np.uint8],  # IN and OUT, one entry per item
    keep: bool,
    k_min: int,
    k_max: int,
    patience: int,
    stop: NDArray[np.uint8],
    moves: Moves,  # WORK
    change: FloatArray,  # OUT (1,), added to: the change of the total loss
) -> int:
    """Push items to their second best clusters, one by one, and let the others follow; keep what pays.

    The items to be pushed are those marked in `pushes`. In the end those are marked whose push lowered the
    loss, and their number is returned. Unless they are to be kept, these pushes are taken back, too.
    `target` is what `runners_up` found.
    """
    n_better = 0
    for q in range(items.shape[0]):
        if pushes[q] == 0:
            continue
        pushes[q] = 0
        i = items[q]
        own, k = e.labels[i], e.n_clusters[0]
        alone = e.sizes[own] == 1
        opens = k < k_max and not alone and k + 1 < e.sizes.shape[0]
        if stop[0] or (alone and k <= k_min) or (k == 1 and not opens):
            continue
        before = change[0]
        step_aside(e.looks)
        # The push: to the second best cluster as it is now, since earlier pushes may have changed it.
        glance(e, row, i)
        exclude(e, own)
        best = choose(e, i, -1, opens)
        change[0] += _difference(e, row, i, own, best)
        _move(e, row, i, best, moves, 0)
        n_moves = 1
        n_before = 0
        while n_before < n_moves and not stop[0]:
            n_before = n_moves
            n_moves = _follow(
                e, row, items, target, i, own, k_min, patience, n_moves, moves, change
            )
        if change[0] - before >= -4.0 * e.price.tolerance:
            _join_small(e, row, e.labels[i], k_min, before, keep, change)
        if change[0] - before < -4.0 * e.price.tolerance:
            pushes[q] = 1
            n_better += 1
        if not keep or pushes[q] == 0:
            _take_back(e, row, moves, n_moves)
            change[0] = before
        step_back(e.looks, change[0] < before)
    return n_better


@kernel
def follow(e: Any, row: Any, items: IntArray, leaders: IntArray) -> None:
    """Move each of the items to the cluster of its leader; a cluster may close, but none opens."""
    for q in range(items.shape[0]):
        apply(e, row, items[q], e.labels[leaders[q]])


@kernel
def lift(
    e: Any,
    row: Any,
    items: IntArray,
    change: FloatArray,  # OUT (1,), added to: the change of the total loss
) -> None:
    """Make one cluster out of the items, taken out of their own; there must be room for one more."""
    for q in range(items.shape[0]):
        i = items[q]
        own = e.labels[i]
        # The first item opens the cluster, unless it is alone already. A cluster that closes may change
        # the label of the new one: the first item tells it.
        target = e.labels[items[0]]
        if q == 0 and e.sizes[own] > 1:
            target = e.n_clusters[0]
        if target != own:
            change[0] += _difference(e, row, i, own, target)
            apply(e, row, i, target)
