"""The moves of the sampler; `epluribus.sampling.moves` has their formulas and references.

Every move takes a model's state `m` and a partition `p`, changes both, counts its proposals and
acceptances in `tally`, and returns the change of the log target: 0 if the proposal is rejected.
"""

import math
from typing import Any

from epluribus._kernels.chain import (
    KINDS,
    gather,
    grow,
    log_weight_in,
    move_in,
    move_out,
    put,
    take,
)
from epluribus._kernels.chance import accept, draw, pick, pick_share, pick_weighted, toss
from epluribus._kernels.dispatch import guess, logpred, part, routine

GIBBS, SPLIT_MERGE, ALLOCATION, LAUNCH, INFORMED, REGROUP = range(6)
"""Codes of the moves in a schedule. Checkpoints contain them: new ones must be added at the end."""
_GIBBS, _TRANSFER, _ABSORPTION, _EJECTION, _INFORMED = (
    KINDS.index(name) for name in ("gibbs", "transfer", "absorption", "ejection", "informed")
)


@part
def gibbs(m: Any, p: Any, i: int, rng: Any, tally: Any) -> float:
    """Draw the cluster of item i from its full conditional distribution."""
    old = p.labels[i]
    take(m, p, i)  # leaves i prepared for `logpred`
    k = p.n_clusters[0]
    # Log prior ratio plus log predictive, for the clusters in use and a new one, `order[k]`, unless there
    # are as many as possible.
    n = min(k + 1, p.sizes.size)
    for s in range(n):
        g = p.order[s]
        log_prior = p.log_weight[k + (s == k)] + grow(p, g)
        p.log_weights[s] = log_prior + logpred(m, p, i, g)
    # If the item was alone, its old cluster is now `order[k]`, the new one: `place` finds it in any case.
    before = p.place[old]
    after = pick_weighted(rng, p.log_weights, n, p.cumulative)
    put(m, p, i, p.order[after])
    tally[_GIBBS, 0] += 1
    if after == before:
        return 0.0
    tally[_GIBBS, 1] += 1  # counts the updates that moved the item
    # The log weights are the log target up to one constant: their difference is the change.
    return p.log_weights[after] - p.log_weights[before]


@routine
def informed(m: Any, p: Any, i: int, rng: Any, tally: Any) -> float:
    """Propose one cluster for item i, as the model guesses, and accept or reject it."""
    old = p.labels[i]
    at_old = move_out(m, p, i)
    k = p.n_clusters[0]
    n = min(k + 1, p.sizes.size)
    # The guess does not know where i was: it is the same for the way back. The random number that it uses
    # is drawn first, and is the same both ways.
    guess(m, p, i, draw(rng))
    before = p.place[old]
    after = pick_share(rng, p.log_weights, n, p.cumulative)
    tally[_INFORMED, 0] += 1
    change = 0.0
    chosen = old
    if after != before:
        new = p.order[after]
        change = log_weight_in(m, p, i, new) - grow(p, old) - at_old
        change += p.log_weight[k + (after == k)] - p.log_weight[k + (before == k)]
        if accept(rng, change + math.log(p.log_weights[before] / p.log_weights[after])):
            chosen = new
            tally[_INFORMED, 1] += 1
        else:
            change = 0.0
    move_in(m, p, i, chosen)
    return change


# --- allocation ---


@routine
def allocation(m: Any, p: Any, rng: Any, tally: Any) -> float:
    """Move some items of one cluster to another or to a new one.

    A *transfer* moves a part of g to another cluster, an *absorption* all of it, so that g closes; an
    *ejection* opens a new cluster, and is the reverse of an absorption.
    """
    k = p.n_clusters[0]
    slots = p.sizes.size
    if slots == 1:
        return 0.0
    s = pick(rng, k)
    g = p.order[s]
    n_g = p.sizes[g]
    # The target: with probability a_k one of the other clusters, otherwise a new one. A new one gets at
    # most half of the items, rounded up.
    a = _occupied(k, slots)
    if a == 1.0 or (a > 0.0 and toss(rng, a)):
        t = pick(rng, k - 1)  # any cluster but g
        if t >= s:
            t += 1
        h = p.order[t]
        n_h = p.sizes[h]
        r = 1 + pick(rng, n_g)
        kind = _TRANSFER if r < n_g else _ABSORPTION
    else:
        h = p.order[k]
        n_h = 0
        r = 1 + pick(rng, (n_g + 1) // 2)
        kind = _EJECTION
    tally[kind, 0] += 1
    if n_h == 0 and n_g == 1:  # only the number of the cluster would change, not the partition
        return 0.0
    log_ratio = _log_proposal_ratio(p, n_g, n_h, r)
    if log_ratio == -math.inf:  # the move could not be undone
        return 0.0
    # A uniformly random subset of r items of g: the first r steps of a shuffle of its members.
    n = 0
    for i in range(p.labels.size):
        if p.labels[i] == g:
            p.members[n] = i
            n += 1
    for s in range(r):
        t = s + pick(rng, n - s)
        p.members[s], p.members[t] = p.members[t], p.members[s]
    change = gather(m, p, r, h)
    # Added to the likelihood: the prior for the sizes, and the prior for K, which is known only now
    # because g may have closed and h may have opened.
    change += p.log_size[n_g - r] + p.log_size[n_h + r] - p.log_size[n_g] - p.log_size[n_h]
    change += p.log_weight[p.n_clusters[0]] - p.log_weight[k]
    if accept(rng, change + log_ratio):
        tally[kind, 1] += 1
        return change
    gather(m, p, r, g)
    return 0.0


@part
def _log_proposal_ratio(p: Any, n_g: int, n_h: int, r: int) -> float:
    """Log of Q for moving r of the n_g items of g to a cluster of n_h items; called before the move.

    Q is the probability of proposing the way back divided by that of proposing the move. In the formulas
    n = n_g, m = n_h, C is a binomial coefficient, a_k as in `_occupied`, and b_k = 1 - a_k.
    """
    k = p.n_clusters[0]
    slots = p.sizes.size
    if n_h > 0 and r < n_g:  # transfer: n C(n, r) / [ (m + r) C(m + r, r) ]
        back = math.log(n_h + r) + _log_choose(p, n_h + r, r)
        return math.log(n_g) + _log_choose(p, n_g, r) - back
    if n_h > 0:  # absorption: k n b_{k-1} / [ a_k ceil((m + n)/2) C(m + n, n) ]
        half = (n_h + n_g + 1) // 2
        if n_g > half:  # an ejection takes at most half of a cluster: there is no way back
            return -math.inf
        there = k * n_g * (1.0 - _occupied(k - 1, slots)) / (_occupied(k, slots) * half)
        return math.log(there) - _log_choose(p, n_h + n_g, n_g)
    # ejection: a_{k+1} ceil(n/2) C(n, r) / [ (k + 1) b_k r ]
    half = (n_g + 1) // 2
    back = _occupied(k + 1, slots) * half / ((k + 1) * (1.0 - _occupied(k, slots)) * r)
    return math.log(back) + _log_choose(p, n_g, r)


@part
def _occupied(k: int, m: int) -> float:
    """a_k: probability that the target is one of the k clusters, of which there are at most m."""
    if k == 1:
        return 0.0
    return 1.0 if k == m else 0.5


@part
def _log_choose(p: Any, n: int, r: int) -> float:
    """Log binomial coefficient."""
    return p.log_factorial[n] - p.log_factorial[r] - p.log_factorial[n - r]
