"""The best partition of a few items, by a dynamic program over all sets of them.

A set of items is a number whose bit i is item i. Where the loss is a sum over clusters, a set C adds

    cost(C) = sum_r w_r f_r(|C n r|)

as a cluster, where r runs through the groups of all draws. The best division of a set S into k clusters is
that cluster C of its first item which is cheapest together with the best division of the rest into k - 1:

    least(k, S) = min { cost(C) + least(k - 1, S - C) : C part of S with the first item of S }

Time O(3^N k) for all sets of N items.
"""

from epluribus._kernels.jit import kernel


@kernel
def add_sums(groups, weights, kinds, sizes, f, cost):
    """Add sum_r w_r f_r(|C n r|) to ``cost[C]`` for all sets C (OUT), of ``sizes[C]`` items."""
    for x in range(groups.shape[0]):
        r, w, values = groups[x], weights[x], f[kinds[x]]
        for c in range(cost.shape[0]):
            cost[c] += w * values[sizes[c & r]]


@kernel
def divide(cost, tolerance, least, first):
    """The best division of every set into 0..K clusters, for ``least`` of shape (2^N, K + 1).

    ``least[S, k]`` is its cost (OUT), infinite if there is no way; ``first[S, k]`` the cluster of its first
    item (OUT). Of clusters that are equally good, up to the tolerance, the largest number is taken.
    """
    n_sets, width = least.shape
    least[:] = float("inf")
    least[0, 0] = 0.0
    for whole in range(1, n_sets):
        lowest = whole & -whole
        rest = whole ^ lowest
        part = rest
        while True:
            c, left = cost[part | lowest], rest ^ part
            for k in range(1, width):
                if c + least[left, k - 1] < least[whole, k] - tolerance:
                    least[whole, k], first[whole, k] = c + least[left, k - 1], part | lowest
            if part == 0:
                break
            part = (part - 1) & rest
