"""Gibbs updates and the allocation move; `epluribus.sampling.moves` has their formulas and references.

Every move takes the state of a side, changes it, counts its proposals and acceptances in `tally`, and returns the
change of the log target: 0 if the proposal is rejected.
"""

import math

from epluribus._kernels.chance import accept, pick, pick_weighted, toss
from epluribus._kernels.jit import part
from epluribus._kernels.likelihood import ask, gather, grow, n_choices
from epluribus._kernels.states import (
    ABSORPTION,
    ADD,
    COUNT,
    EJECTION,
    LABEL,
    LOG_FACTORIAL,
    LOG_SIZE,
    LOG_WEIGHT,
    MEMBER,
    ORDER,
    PLACE,
    REMOVE,
    SIZE,
    TRANSFER,
    UPDATE,
    WEIGH,
    WEIGHT,
)

GIBBS, SPLIT_MERGE, ALLOCATION, LAUNCH = range(4)
"""Codes of the moves in a schedule. Checkpoints contain them: new ones must be added at the end."""
MARGIN = 1e-9
"""By how much a log target must be higher to be the highest so far: more than rounding errors."""


@part
def gibbs(first, n, rng, tally, running, stop, m):
    """Draw the clusters of up to n items in turn from their full conditional distributions; return how many.

    It ends early at a new highest log target, which is to be recorded, or if it is told to stop.
    """
    for done in range(n):
        i = (first + done) % m.x.shape[0]
        old = m.own[LABEL, i]
        ask(REMOVE, i, old, m)
        # Log prior ratio plus log predictive, for the clusters in use and the next new one.
        ask(WEIGH, i, old, m)
        k, choices = m.own[COUNT, 0], n_choices(m)
        for s in range(choices):
            log_prior = m.logs[LOG_WEIGHT, k + (s == k)] + grow(m.own[ORDER, s], m)
            m.logs[WEIGHT, s] += log_prior
        # If the item was alone, its old cluster is now the next new one: `PLACE` finds it in any case.
        before = m.own[PLACE, old]
        after = pick_weighted(rng, choices, m)
        tally[UPDATE, 0] += 1
        if after != before:
            tally[UPDATE, 1] += 1  # the updates that moved the item
            # The log weights are the log target up to one constant; read before ADD, which may use the array.
            running[0] += m.logs[WEIGHT, after] - m.logs[WEIGHT, before]
        ask(ADD, i, m.own[ORDER, after], m)
        if running[0] > running[1] + MARGIN or stop[0] != 0:
            return done + 1
    return n


# --- allocation ---


@part
def allocation(rng, tally, m):
    """Move some items of one cluster to another or to a new one.

    A *transfer* moves a part of g to another cluster, an *absorption* all of it, so that g closes; an
    *ejection* opens a new cluster, and is the reverse of an absorption.
    """
    k, slots = m.own[COUNT, 0], m.own[COUNT, 1]
    if slots == 1:
        return 0.0
    s = pick(rng, k)
    g = m.own[ORDER, s]
    n_g = m.own[SIZE, g]
    # The target: with probability a_k one of the other clusters, otherwise a new one. A new one gets at
    # most half of the items, rounded up.
    a = _occupied(k, slots)
    if a == 1.0 or (a > 0.0 and toss(rng, a)):
        t = pick(rng, k - 1)  # any cluster but g
        h = m.own[ORDER, t + (t >= s)]
        n_h = m.own[SIZE, h]
        r = 1 + pick(rng, n_g)
        kind = TRANSFER if r < n_g else ABSORPTION
    else:
        h = m.own[ORDER, k]
        n_h = 0
        r = 1 + pick(rng, (n_g + 1) // 2)
        kind = EJECTION
    tally[kind, 0] += 1
    if n_h == 0 and n_g == 1:  # only the number of the cluster would change, not the partition
        return 0.0
    log_ratio = _log_proposal_ratio(k, slots, n_g, n_h, r, m)
    if log_ratio == -math.inf:  # the move could not be undone
        return 0.0
    # A uniformly random subset of r items of g: the first r steps of a shuffle of its members.
    n = 0
    for i in range(m.x.shape[0]):
        if m.own[LABEL, i] == g:
            m.own[MEMBER, n] = i
            n += 1
    for s in range(r):
        t = s + pick(rng, n - s)
        m.own[MEMBER, s], m.own[MEMBER, t] = m.own[MEMBER, t], m.own[MEMBER, s]
    change = gather(r, h, m)
    # Added to the likelihood: the prior for the sizes, and the prior for K, which is known only now
    # because g may have closed and h may have opened.
    change += (
        m.logs[LOG_SIZE, n_g - r]
        + m.logs[LOG_SIZE, n_h + r]
        - m.logs[LOG_SIZE, n_g]
        - m.logs[LOG_SIZE, n_h]
    )
    change += m.logs[LOG_WEIGHT, m.own[COUNT, 0]] - m.logs[LOG_WEIGHT, k]
    if accept(rng, change + log_ratio):
        tally[kind, 1] += 1
        return change
    gather(r, g, m)
    return 0.0


@part
def _log_proposal_ratio(k, slots, n_g, n_h, r, m):
    """Log of Q for moving r of the n_g items of g to a cluster of n_h items; there are k clusters.

    Q is the probability of proposing the way back divided by that of proposing the move. In the formulas
    n = n_g, m = n_h, C is a binomial coefficient, a_k as in `_occupied`, and b_k = 1 - a_k.
    """
    if n_h > 0 and r < n_g:  # transfer: n C(n, r) / [ (m + r) C(m + r, r) ]
        back = math.log(n_h + r) + _log_choose(n_h + r, r, m)
        return math.log(n_g) + _log_choose(n_g, r, m) - back
    if n_h > 0:  # absorption: k n b_{k-1} / [ a_k ceil((m + n)/2) C(m + n, n) ]
        half = (n_h + n_g + 1) // 2
        if n_g > half:  # an ejection takes at most half of a cluster: there is no way back
            return -math.inf
        there = k * n_g * (1.0 - _occupied(k - 1, slots)) / (_occupied(k, slots) * half)
        return math.log(there) - _log_choose(n_h + n_g, n_g, m)
    # ejection: a_{k+1} ceil(n/2) C(n, r) / [ (k + 1) b_k r ]
    half = (n_g + 1) // 2
    back = _occupied(k + 1, slots) * half / ((k + 1) * (1.0 - _occupied(k, slots)) * r)
    return math.log(back) + _log_choose(n_g, r, m)


@part
def _occupied(k, most):
    """a_k: probability that the target is one of the k clusters, of which there are at most `most`."""
    if k == 1:
        return 0.0
    return 1.0 if k == most else 0.5


@part
def _log_choose(n, r, m):
    """Log binomial coefficient."""
    return m.logs[LOG_FACTORIAL, n] - m.logs[LOG_FACTORIAL, r] - m.logs[LOG_FACTORIAL, n - r]
