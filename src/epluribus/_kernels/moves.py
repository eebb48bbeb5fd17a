"""The moves of the sampler; `epluribus.sampling.moves` has their formulas and references.

Every move takes a model's state `m` and a partition `p`, changes both, counts its proposals and
acceptances in `tally`, and returns the change of the log target: 0 if the proposal is rejected.
"""

import math
from typing import Any

from epluribus._kernels.chain import grow, put, take
from epluribus._kernels.chance import accept, pick, pick_weighted, shuffle, toss
from epluribus._kernels.dispatch import logpred, part, prepare, routine

GIBBS, SPLIT_MERGE, ALLOCATION = range(3)
"""Codes of the moves in a schedule."""
KINDS = ("gibbs", "split", "merge", "transfer", "absorption", "ejection")
"""Kinds of proposals, one for each row of `Record.tally`."""
# Checkpoints contain these numbers: new ones must be added at the end.
_GIBBS, _SPLIT, _MERGE, _TRANSFER, _ABSORPTION, _EJECTION = range(6)


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


# --- split-merge ---


@routine
def split_merge(m: Any, p: Any, rng: Any, tally: Any) -> float:
    """Split the cluster of two random items, or merge their two clusters if they are apart.

    The acceptance ratio of a split is pi(new) / (pi(old) q), where q is the probability of dividing the
    cluster in just this way; that of a merge is pi(new) q / pi(old), with q for the way back.
    """
    n_items = p.labels.size
    if n_items < 2:
        return 0.0
    i = pick(rng, n_items)
    j = pick(rng, n_items - 1)  # any item but i
    if j >= i:
        j += 1
    g = p.labels[i]
    h = p.labels[j]
    is_split = g == h
    kind = _SPLIT if is_split else _MERGE
    tally[kind, 0] += 1
    k = p.n_clusters[0]
    if is_split and k == p.sizes.size:  # no room for another cluster
        return 0.0
    n_g = p.sizes[g]
    n_h = p.sizes[h]
    # The other members of g and h in random order, then j. `target` remembers where they are now: if the
    # move is a merge, the way back must lead there.
    n_rest = 0
    for item in range(n_items):
        here = p.labels[item]
        if (here == g or here == h) and item != i and item != j:  # noqa: SIM109 - no tuples here
            p.members[n_rest] = item
            p.target[item] = here
            n_rest += 1
    shuffle(rng, p.members, n_rest)
    p.members[n_rest] = j
    change = 0.0
    if not is_split:  # prior for K, prior for the sizes, and likelihood of the merged cluster
        change = p.log_weight[k - 1] - p.log_weight[k]
        change += p.log_size[n_g + n_h] - p.log_size[n_g] - p.log_size[n_h]
        change += _gather(m, p, n_rest + 1, g)
    # A merge is divided again into the two clusters it came from. This gives q for the way back, and leaves
    # the partition as it was: a rejected merge has nothing to undo.
    log_q, log_likelihood = _divide(m, p, rng, n_rest, g, not is_split)
    log_ratio = change + log_q
    if is_split:  # likelihood, prior for K, and prior for the sizes of the two parts
        n_kept = p.sizes[g]  # n_g was the size before
        change = log_likelihood + (p.log_weight[k + 1] - p.log_weight[k])
        change += p.log_size[n_kept] + p.log_size[n_g - n_kept] - p.log_size[n_g]
        log_ratio = change - log_q
    accepted = accept(rng, log_ratio)
    if accepted != is_split:  # a merge to be made, or a split to be undone
        _gather(m, p, n_rest + 1, g)
    if not accepted:
        return 0.0
    tally[kind, 1] += 1
    return change


@routine
def _divide(m: Any, p: Any, rng: Any, n_rest: int, g: int, forced: bool) -> Any:
    """Divide cluster g in two; return log q of the choices and the change of the log likelihood.

    The last of the `members`, j, founds a new cluster h. The others are taken out and go to g or h one
    by one, to h with odds (prior x predictive of h) / (prior x predictive of g), given the items already
    there. If `forced`, they go where `target` says, and q is the probability of just these choices.
    """
    # All members but i, which stays in g: the likelihood loses their predictives.
    change = 0.0
    for s in range(n_rest + 1):
        change -= take(m, p, p.members[s])
    h = p.order[p.n_clusters[0]]  # for a merge this is the cluster that `_gather` has just closed
    change += put(m, p, p.members[n_rest], h)
    log_q = 0.0
    log_likelihood = 0.0
    for s in range(n_rest):
        i = p.members[s]
        prepare(m, p, i)  # again, because others have been put back since it was taken out
        at_g = grow(p, g) + logpred(m, p, i, g)
        at_h = grow(p, h) + logpred(m, p, i, h)
        odds = at_h - at_g if at_h != at_g else 0.0  # in logs; 0 if both are minus infinity
        to_h = p.target[i] == h if forced else toss(rng, math.exp(_log_logistic(odds)))
        log_q += _log_logistic(odds if to_h else -odds)  # log P(h) or log P(g) = log(1 - P(h))
        log_likelihood += put(m, p, i, h if to_h else g)
    return log_q, change + log_likelihood


@part
def _log_logistic(x: float) -> float:
    """log(1 / (1 + exp(-x))), without overflow: the argument of `exp` is never positive."""
    if x > 0.0:
        return -math.log1p(math.exp(-x))
    return x - math.log1p(math.exp(x))


@routine
def _gather(m: Any, p: Any, n: int, g: int) -> float:
    """Put the first n `members` into cluster g; return the change of the log likelihood."""
    change = 0.0
    for s in range(n):
        i = p.members[s]
        if p.labels[i] != g:
            change -= take(m, p, i)
            change += put(m, p, i, g)
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
    change = _gather(m, p, r, h)
    # Added to the likelihood: the prior for the sizes, and the prior for K, which is known only now
    # because g may have closed and h may have opened.
    change += p.log_size[n_g - r] + p.log_size[n_h + r] - p.log_size[n_g] - p.log_size[n_h]
    change += p.log_weight[p.n_clusters[0]] - p.log_weight[k]
    if accept(rng, change + log_ratio):
        tally[kind, 1] += 1
        return change
    _gather(m, p, r, g)
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
