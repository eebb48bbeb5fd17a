"""Which clusters may take some items, and whether a cluster is still connected without them.

Rules are lists in compressed form. The cannot-link groups of item i are ``groups[group_first[i]:group_first[i + 1]]``,
the items of group g are ``members[member_first[g]:member_first[g + 1]]``, and the neighbors of item i in the graph
are ``near[near_first[i]:near_first[i + 1]]``.
"""

from epluribus._kernels.jit import kernel
from epluribus._typing import AnyArray, IntArray


@kernel
def mark_blocked(
    items: IntArray,
    labels: IntArray,
    group_first: IntArray,
    groups: IntArray,
    member_first: IntArray,
    members: IntArray,
    near_first: IntArray,
    near: IntArray,
    blocked: AnyArray,
) -> None:
    """blocked[s] = 1 where the items may not join cluster s, sizes aside, and 0 elsewhere (OUT).

    With a graph only clusters that have a neighbor of one of the items are open; without one, `near_first` is
    empty, and all are. Clusters that have an item of a group of one of them are never open.
    """
    for s in range(blocked.shape[0]):
        blocked[s] = near_first.shape[0] > 0
    if near_first.shape[0] > 0:
        for i in items:
            for q in range(near_first[i], near_first[i + 1]):
                if labels[near[q]] >= 0:
                    blocked[labels[near[q]]] = 0
    for i in items:
        for q in range(group_first[i], group_first[i + 1]):
            g = groups[q]
            for x in range(member_first[g], member_first[g + 1]):
                s = labels[members[x]]
                if s >= 0 and members[x] != i:
                    blocked[s] = 1


@kernel
def stays_connected(
    items: IntArray,
    labels: IntArray,
    near_first: IntArray,
    near: IntArray,
    mark: AnyArray,
    queue: IntArray,
) -> bool:
    """Whether the cluster of the items is connected without them.

    From one of their neighbors in the cluster, breadth first, until all others are reached: mostly a few steps.
    `mark` (zeros) and `queue` are scratch: 1 for neighbors to be reached, 2 for items that were seen.
    """
    own, n_ends, begin = labels[items[0]], 0, -1
    for i in items:
        mark[i] = 2
    for i in items:
        for q in range(near_first[i], near_first[i + 1]):
            j = near[q]
            if labels[j] == own and mark[j] == 0:
                mark[j], begin = 1, j
                n_ends += 1
    if n_ends <= 1:
        return True
    queue[0], filled, at = begin, 1, 0
    mark[begin] = 2
    n_ends -= 1
    while at < filled and n_ends > 0:
        i = queue[at]
        at += 1
        for q in range(near_first[i], near_first[i + 1]):
            j = near[q]
            if labels[j] == own and mark[j] != 2:
                n_ends -= mark[j] == 1
                mark[j] = 2
                queue[filled] = j
                filled += 1
    return n_ends == 0
