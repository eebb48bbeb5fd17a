"""Sweeps and joins on a similarity matrix: the lower bound of VI, and Binder's loss on a sparse matrix.

With p_ij the similarity of items i and j (1 for an item with itself) and s_i the sum of p_ij over the items j in the
cluster of i, the total loss is

    constant  +  sum_s size(n_s)  +  scale * sum_i g(s_i)

with g(s) = log2 s for the bound and g(s) = s for Binder's loss. An item i that joins cluster s adds

    size(n_s + 1) - size(n_s)  +  scale * [ g(1 + r) + sum over the items j of s of g(s_j + p_ij) - g(s_j) ]

where r is the sum of p_ij over these items. Only entries above 0 matter, so the matrix is a list of neighbors for each
item, ``near[first[i]]`` to ``near[first[i + 1] - 1]``, with their similarities `share`, and a sweep takes time
O(entries + n_items K). The sum of logarithms is one logarithm of a product, whose factors are 1 + p_ij / s_j.
``inside[i]`` is s_i, or 1 for an item in no cluster, and ``inverse[i]`` is 1 / s_i.
"""

import math

import numpy as np

from epluribus._kernels.jit import kernel
from epluribus._typing import AnyArray, FloatArray, IntArray

_LARGE = 2.0**900
"""A product above this, or below its inverse, is replaced by its logarithm: no factor is below 1/2 or above 2."""


@kernel
def fill_inside(
    first: IntArray, near: AnyArray, share: FloatArray, labels: IntArray, inside: FloatArray, inverse: FloatArray
) -> None:  # fmt: skip
    """Sums of all items (OUT)."""
    for i in range(labels.shape[0]):
        total = 1.0
        if labels[i] >= 0:
            for q in range(first[i], first[i + 1]):
                if labels[near[q]] == labels[i]:
                    total += share[q]
        inside[i] = total
        inverse[i] = 1.0 / total


@kernel
def look(
    i: int, first: IntArray, near: AnyArray, share: FloatArray, scale: float, logs: bool, size_steps: FloatArray,
    labels: IntArray, sizes: IntArray, inverse: FloatArray, costs: FloatArray, reach: FloatArray, product: FloatArray,
) -> None:  # fmt: skip
    """Cost of every slot for item i (OUT), itself not counted there. `reach` and `product` are scratch."""
    own = labels[i]
    for s in range(sizes.shape[0]):
        costs[s] = 0.0
        reach[s] = 0.0
        product[s] = 1.0
    for q in range(first[i], first[i + 1]):
        j = near[q]
        s = labels[j]
        if s < 0:
            continue
        p = share[q]
        reach[s] += p
        if logs:
            # In its own cluster, what others lose without it.
            product[s] *= 1.0 + p * inverse[j] if s != own else 1.0 - p * inverse[j]
            if product[s] > _LARGE or product[s] < 1.0 / _LARGE:
                costs[s] += math.log2(product[s])
                product[s] = 1.0
    for s in range(sizes.shape[0]):
        if not logs:
            costs[s] = 1.0 + 2.0 * reach[s]
        elif reach[s] > 0.0:
            costs[s] += math.log2(product[s])
            costs[s] = math.log2(1.0 + reach[s]) + (costs[s] if s != own else -costs[s])
        costs[s] = scale * costs[s] + size_steps[sizes[s] - int(s == own)]


@kernel
def place(
    i: int, target: int, first: IntArray, near: AnyArray, share: FloatArray,
    labels: IntArray, sizes: IntArray, inside: FloatArray, inverse: FloatArray,
) -> None:  # fmt: skip
    """Item i goes to a slot."""
    own, total = labels[i], 1.0
    for q in range(first[i], first[i + 1]):
        j = near[q]
        if labels[j] == target:
            total += share[q]
            inside[j] += share[q]
            inverse[j] = 1.0 / inside[j]
        elif own >= 0 and labels[j] == own:
            inside[j] -= share[q]
            inverse[j] = 1.0 / inside[j]
    inside[i] = total
    inverse[i] = 1.0 / total
    labels[i] = target
    sizes[target] += 1
    if own >= 0:
        sizes[own] -= 1


@kernel
def move_items(
    items: IntArray, targets: IntArray, first: IntArray, near: AnyArray, share: FloatArray, scale: float, logs: bool,
    size_steps: FloatArray, labels: IntArray, sizes: IntArray, inside: FloatArray, inverse: FloatArray,
    costs: FloatArray, reach: FloatArray, product: FloatArray,
) -> float:  # fmt: skip
    """Move items to slots, one by one; the change of the total loss."""
    change = 0.0
    for x in range(items.shape[0]):
        i, target = items[x], targets[x]
        own = labels[i]
        if own != target:
            look(
                i, first, near, share, scale, logs, size_steps, labels, sizes, inverse,
                costs, reach, product,
            )  # fmt: skip
            change += costs[target]
            if own >= 0:
                change -= costs[own]
            place(i, target, first, near, share, labels, sizes, inside, inverse)
    return change


@kernel
def sweep(
    order: IntArray, first: IntArray, near: AnyArray, share: FloatArray, scale: float, logs: bool,
    size_steps: FloatArray, tolerance: float, k_min: int, k_max: int, stop: AnyArray, blocked: AnyArray,
    labels: IntArray, sizes: IntArray, inside: FloatArray, inverse: FloatArray,
    costs: FloatArray, reach: FloatArray, product: FloatArray,
) -> tuple[int, int, float]:  # fmt: skip
    """Visit the items in `order`, as `sweep.sweep` does; the number visited, of moves, and the change."""
    moves, change, used = 0, 0.0, 0
    for s in range(sizes.shape[0]):
        used += sizes[s] > 0
    for x in range(order.shape[0]):
        i = order[x]
        own = labels[i]
        if used == sizes.shape[0] or stop[0] != 0:
            return x, moves, change
        alone = own >= 0 and sizes[own] == 1
        if alone and used <= k_min:
            continue
        look(
            i, first, near, share, scale, logs, size_steps, labels, sizes, inverse,
            costs, reach, product,
        )  # fmt: skip
        here = costs[own] if own >= 0 else np.inf
        best, low, new = -1, here, -1
        for s in range(sizes.shape[0]):
            if sizes[s] == 0:
                if new < 0:
                    new = s
            elif costs[s] < low and s != own and blocked[s] == 0:
                best, low = s, costs[s]
        if used < k_max and not alone and costs[new] < low:
            best, low = new, costs[new]
        if best < 0 or low >= here - tolerance:
            continue
        if own >= 0:
            change += low - here
        used += int(sizes[best] == 0) - int(alone)
        place(i, best, first, near, share, labels, sizes, inside, inverse)
        moves += 1
    return order.shape[0], moves, change


@kernel
def join_row(
    a: int, first: IntArray, near: AnyArray, share: FloatArray, scale: float, logs: bool, size: FloatArray,
    labels: IntArray, sizes: IntArray, inverse: FloatArray, row: FloatArray, reach: FloatArray, link: FloatArray,
) -> None:  # fmt: skip
    """row[b] = change if slots a and b are joined (OUT); infinite for a itself and for empty ones.

    `reach` and `link` are scratch, zero on entry and exit: sums of similarities by slot, and by item.
    """
    k = row.shape[0]
    for s in range(k):
        row[s] = 0.0
    for i in range(labels.shape[0]):
        if labels[i] != a:
            continue
        for q in range(first[i], first[i + 1]):
            if labels[near[q]] >= 0:
                reach[labels[near[q]]] += share[q]
                link[near[q]] += share[q]
        for s in range(k):
            if reach[s] > 0.0:
                row[s] += math.log2(1.0 + reach[s] * inverse[i]) if logs else reach[s]
                reach[s] = 0.0
    # The other side: what the items of each slot gain from a.
    for j in range(labels.shape[0]):
        if link[j] > 0.0:
            row[labels[j]] += math.log2(1.0 + link[j] * inverse[j]) if logs else link[j]
            link[j] = 0.0
    for s in range(k):
        if s == a or sizes[s] == 0 or sizes[a] == 0:
            row[s] = np.inf
        else:
            row[s] = scale * row[s] + size[sizes[a] + sizes[s]] - size[sizes[a]] - size[sizes[s]]


@kernel
def merge(
    first: IntArray, near: AnyArray, share: FloatArray, scale: float, logs: bool, size: FloatArray, tolerance: float,
    k_min: int, k_max: int, stop: AnyArray, labels: IntArray, sizes: IntArray, inside: FloatArray, inverse: FloatArray,
    row: FloatArray, reach: FloatArray, link: FloatArray, partner: IntArray, least: FloatArray,
) -> float:  # fmt: skip
    """Join the best pair while that lowers the loss, and while there are more than `k_max` clusters; the change.

    Scratch: `row`, `reach` and `link` for `join_row`; the best partner of each slot, and the change of that join. If
    the partner has joined another one (-1), that change is no longer exact, but none is less.
    """
    k, left, total = sizes.shape[0], 0, 0.0
    for s in range(k):
        left += sizes[s] > 0
        partner[s] = -1
        least[s] = -np.inf if sizes[s] > 0 else np.inf
    while left > k_min and stop[0] == 0:
        a = 0
        for s in range(k):
            if least[s] < least[a]:
                a = s
        if not (least[a] < -tolerance or (left > k_max and least[a] < np.inf)):
            break
        b = partner[a]
        if b >= 0:
            total += least[a]
            for i in range(labels.shape[0]):
                if labels[i] == b:
                    place(i, a, first, near, share, labels, sizes, inside, inverse)
            least[b] = np.inf
            left -= 1
        join_row(a, first, near, share, scale, logs, size, labels, sizes, inverse, row, reach, link)
        partner[a] = 0
        for s in range(k):
            if row[s] < row[partner[a]]:
                partner[a] = s
            if row[s] < least[s]:
                partner[s], least[s] = a, row[s]
            elif b >= 0 and s != a and (partner[s] == a or partner[s] == b):
                partner[s] = -1
        least[a] = row[partner[a]]
    return total
