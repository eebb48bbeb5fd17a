"""Lazy sweeps in the execution that walks through members: what a move changes, item by item (`looks`).

Where clusters are small, one move changes much for the few items that share groups with the item moved, and
nothing for all others. One bound for all items would be of no use; a walk through the groups of the item
moved, as long as a look at it, finds what the move changes for each of the others. By that much the entry of
that item in `until` falls: the changes of joint sums are subtracted there, and need no clock.

Sizes are the rest. For an item's own cluster their changes are counted in `own`. For the others the gap is
taken as if they had the size at which joining costs least, so that no change of a size matters.
"""

from typing import Any

import numpy as np

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part
from epluribus._kernels.looks import count_move


@kernel
def announce_move(e: Any, i: int, s: int) -> None:
    """Item i is about to go to cluster s: count what that changes for others to the worse; f0 is linear."""
    labels, first, member, sets_of = e.labels, e.sets.first, e.sets.member, e.sets.sets_of
    weight, until, joint, size = e.sets.weight, e.looks.until, e.price.joint, e.price.size
    own = labels[i]
    a = own if own >= 0 else -2  # -1 is the label of all items that are in no cluster
    labels[i] = -1  # the walk must not count the item itself
    for at in range(e.sets.first_of[i], e.sets.first_of[i + 1]):
        b = sets_of[at]
        n, m = 0, 0  # members in the cluster that the item leaves, and in the one that it joins
        for q in range(first[b], first[b + 1]):
            n += labels[member[q]] == a
            m += labels[member[q]] == s
        # An item that stays comes to prefer another cluster if its own gets dearer or another one cheaper.
        # Items do not count themselves: for one that is in a cluster already, the count is one less.
        cheaper = max(0.0, joint[m] - joint[m + 1])
        left = max(0.0, joint[n + 1] - joint[n]) if a >= 0 else 0.0
        from_a = cheaper + (max(0.0, joint[n - 1] - joint[n]) if n > 0 else 0.0)
        from_s = left + (max(0.0, joint[m] - joint[m - 1]) if m > 0 else 0.0)
        for q in range(first[b], first[b + 1]):
            j = member[q]
            if labels[j] == a:
                until[j] -= weight[b] * from_a
            elif labels[j] == s:
                until[j] -= weight[b] * from_s
            else:
                until[j] -= weight[b] * (left + cheaper)
    labels[i] = own
    dearer = 0.0
    if own >= 0 and e.sizes[own] > 1:
        dearer = max(0.0, size[e.sizes[own] - 2] - size[e.sizes[own] - 1])
    m = e.sizes[s]
    joined = max(0.0, size[m] - size[m - 1]) if m > 0 else 0.0
    count_move(e.looks, i, own, s, (dearer, 0.0), (joined, 0.0), s == e.n_clusters[0])


@part
def least_extra(e: Any, own: int) -> float:
    """The least `extra` of any cluster but `own`; clusters that are not touched have 0."""
    low = 0.0
    for q in range(e.n_touched[0]):
        s = e.touched[q]
        if s != own:
            low = min(low, e.extra[s])
    return low


@part
def members_gap(e: Any, i: int, own: int, alone: bool) -> float:
    """`least_gap`, whatever the sizes of the others; a new cluster counts unless the item is `alone`."""
    low = least_extra(e, own)
    here = e.by_size[e.sizes[own]] + e.extra[own]
    e.extra[own] = np.inf  # it is always touched
    return low + e.least_size[1 if alone else 0] - here - e.price.tolerance
