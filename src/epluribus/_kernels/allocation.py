"""The allocation move of the paper's appendix; `epluribus.sampling.allocation` has the ratios."""

import math
from typing import Any

from epluribus._kernels.chain import put, take
from epluribus._kernels.chance import accept, pick, toss
from epluribus._kernels.dispatch import part, routine

__all__ = ["allocation"]


@part
def _occupied(k: int, m: int) -> float:
    """a_k: probability of an occupied target when k of m clusters are in use."""
    if k == 1:
        return 0.0
    return 1.0 if k == m else 0.5


@part
def _log_choose(p: Any, n: int, r: int) -> float:
    """Log binomial coefficient."""
    return p.log_factorial[n] - p.log_factorial[r] - p.log_factorial[n - r]


@part
def _log_proposal_ratio(p: Any, n_g: int, n_h: int, r: int) -> float:
    """Log of Q for moving r of the n_g items of g to a cluster of n_h items, before the move."""
    k = p.n_clusters[0]
    slots = p.sizes.size
    if n_h > 0 and r < n_g:  # transfer
        back = math.log(n_h + r) + _log_choose(p, n_h + r, r)
        return math.log(n_g) + _log_choose(p, n_g, r) - back
    if n_h > 0:  # absorption; the ejection back takes at most half
        half = (n_h + n_g + 1) // 2
        if n_g > half:
            return -math.inf
        there = k * n_g * (1.0 - _occupied(k - 1, slots)) / (_occupied(k, slots) * half)
        return math.log(there) - _log_choose(p, n_h + n_g, n_g)
    half = (n_g + 1) // 2  # ejection
    back = _occupied(k + 1, slots) * half / ((k + 1) * (1.0 - _occupied(k, slots)) * r)
    return math.log(back) + _log_choose(p, n_g, r)


@part
def allocation(m: Any, p: Any, rng: Any, tally: Any) -> float:
    """Move some items of one cluster to another or a new one; the change of the log target."""
    k = p.n_clusters[0]
    slots = p.sizes.size
    if slots == 1:
        return 0.0
    s = pick(rng, k)
    g = p.order[s]
    n_g = p.sizes[g]
    a = _occupied(k, slots)
    if a == 1.0 or (a > 0.0 and toss(rng, a)):
        t = pick(rng, k - 1)
        if t >= s:
            t += 1
        h = p.order[t]
        n_h = p.sizes[h]
        r = 1 + pick(rng, n_g)
        kind = 3 if r < n_g else 4
    else:
        h = p.order[k]
        n_h = 0
        r = 1 + pick(rng, (n_g + 1) // 2)
        kind = 5
    tally[kind, 0] += 1
    if n_h == 0 and n_g == 1:  # a relabelling: the same partition
        return 0.0
    log_ratio = _log_proposal_ratio(p, n_g, n_h, r)
    if log_ratio == -math.inf:
        return 0.0
    _choose(p, rng, g, r)
    change = _carry(m, p, r, h)
    change += p.log_size[n_g - r] + p.log_size[n_h + r] - p.log_size[n_g] - p.log_size[n_h]
    change += p.log_weight[p.n_clusters[0]] - p.log_weight[k]
    if accept(rng, change + log_ratio):
        tally[kind, 1] += 1
        return change
    _carry(m, p, r, g)
    return 0.0


@part
def _choose(p: Any, rng: Any, g: int, r: int) -> None:
    """A uniform subset of r items of cluster g, in the first r entries of `members`."""
    n = 0
    for i in range(p.labels.size):
        if p.labels[i] == g:
            p.members[n] = i
            n += 1
    for s in range(r):
        t = s + pick(rng, n - s)
        p.members[s], p.members[t] = p.members[t], p.members[s]


@routine
def _carry(m: Any, p: Any, r: int, h: int) -> float:
    """Move the first r `members` to cluster h; the change of the log likelihood."""
    change = 0.0
    for s in range(r):
        i = p.members[s]
        change -= take(m, p, i)
        change += put(m, p, i, h)
    return change
