"""The moves, and the ways in which they ask for a random number; `epluribus.sampling.moves` has their formulas.

Every move takes the state of a side, changes it, counts its proposals and acceptances in `tally`, and returns the
change of the log target: 0 if the proposal is rejected. Every random choice goes through the functions of the first
part, so that a test can replace them by an enumeration of all choices and compute exact transition probabilities.
"""

import math

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
    MERGE,
    ORDER,
    PLACE,
    PREDICT,
    REMOVE,
    SIZE,
    SPLIT,
    SUM,
    TARGET,
    TRANSFER,
    UPDATE,
    WEIGH,
    WEIGHT,
)  # fmt: skip

GIBBS, SPLIT_MERGE, ALLOCATION = range(3)
"""Codes of the moves in a schedule. Checkpoints contain them: new ones must be added at the end."""
MARGIN = 1e-9
"""By how much a log target must be higher to be the highest so far: more than rounding errors."""

# --- chance ---


@part
def pick(rng, n):
    """One of 0..n-1, all equally likely."""
    return int(rng.random() * n)  # below n: random() is at most 1 - 2^-53


@part
def toss(rng, probability):
    """True with the given probability."""
    return rng.random() < probability


@part
def accept(rng, log_ratio):
    """True with probability min(1, exp(log_ratio)); False if the ratio is not a number."""
    # A ratio of 1 or more uses no random number, and `exp` never overflows. With NaN both
    # comparisons are false: a proposal without a proper density is never accepted.
    return log_ratio >= 0.0 or rng.random() < math.exp(log_ratio)


@part
def pick_weighted(rng, n, m):
    """One of 0..n-1 with probability proportional to exp of its log weight."""
    logs = m.logs
    # The largest weight becomes exp(0) = 1, so that nothing overflows and the sum is at least 1.
    top = logs[WEIGHT, 0]
    for s in range(1, n):
        if logs[WEIGHT, s] > top:
            top = logs[WEIGHT, s]
    total = 0.0
    for s in range(n):
        total += math.exp(logs[WEIGHT, s] - top)
        logs[SUM, s] = total
    # Inversion: a uniform number on [0, total), looked up in the running sum; the last choice has the rest.
    u = rng.random() * total
    for s in range(n - 1):
        if u < logs[SUM, s]:
            return s
    return n - 1


@part
def shuffle(rng, n, m):
    """Put members 1 to n - 1 into a random order (Fisher and Yates)."""
    own = m.own
    # From the back: entry s is swapped with one of 1..s, itself included, and is then final.
    for s in range(n - 1, 1, -1):
        t = 1 + pick(rng, s)
        own[MEMBER, s], own[MEMBER, t] = own[MEMBER, t], own[MEMBER, s]


# --- Gibbs updates ---


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
            log_prior = m.logs[LOG_WEIGHT, k + (s == k)] + grow(m.own[SIZE, m.own[ORDER, s]], m)
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


# --- split and merge ---


@part
def split_merge(n_scans, rng, tally, m):
    """Split the cluster of an item, or merge it with another one.

    With k clusters of at most M, nothing is proposed with probability 1 - k/M: the fewer clusters there are, the more
    work is each proposal. The launch depends on the item and the union of the two clusters only, so it has the same
    distribution from both sides; given the launch, q is the probability of the last scan alone. With a given item of
    cluster g, of n_g items, a given division is proposed with probability k/M x 1/2 x 1/(k n_g) x q, and a merge with
    cluster h with k/M x 1/2 x 1/(k n_g) x w_h, where w_h is the share of h in the predictives of the item.
    """
    k, slots = m.own[COUNT, 0], m.own[COUNT, 1]
    if not toss(rng, k / slots):
        return 0.0
    is_split = toss(rng, 0.5)
    kind = SPLIT if is_split else MERGE
    tally[kind, 0] += 1
    g = m.own[ORDER, pick(rng, k)]
    n_g = m.own[SIZE, g]
    # Nothing to split, no room, or nothing to merge.
    if (n_g == 1 or k == slots) if is_split else k == 1:
        return 0.0
    item, nth = -1, pick(rng, n_g)
    while nth >= 0:
        item += 1
        nth -= m.own[LABEL, item] == g
    h, log_w = m.own[ORDER, k], 0.0
    if not is_split:
        h, log_w = _partner(item, -1, rng, m)
        if h < 0:
            return 0.0
    before = _log_prior_of_two(g, h, m)
    n = 1
    for i in range(m.x.shape[0]):
        if m.own[LABEL, i] in (g, h):
            m.own[TARGET, i] = m.own[LABEL, i]
            if i != item:
                m.own[MEMBER, n] = i
                n += 1
    shuffle(rng, n, m)  # the item comes first
    m.own[MEMBER, 0] = item
    change, log_ratio = 0.0, 0.0
    if not is_split:
        change = gather(n, g, m) + _log_prior_of_two(g, g, m) - before
        log_ratio = change - log_w + math.log(n_g / n)
        # The ratio still lacks q, which is at most 1: without it a refusal is final, and saves the launch.
        if not accept(rng, log_ratio):
            for s in range(n):
                if m.own[TARGET, m.own[MEMBER, s]] == h:
                    ask(REMOVE, m.own[MEMBER, s], g, m)
                    ask(ADD, m.own[MEMBER, s], h, m)
            return 0.0
    log_q, log_likelihood = _divide(n, g, h, n_scans, not is_split, rng, m)
    accepted = False
    if not is_split:
        # Given that the first look has accepted: min(1, ratio q) / min(1, ratio).
        accepted = accept(rng, min(log_ratio + log_q, 0.0) - min(log_ratio, 0.0))
    elif m.own[SIZE, g] > 0 and m.own[SIZE, h] > 0:  # else the scans have put all items on one side
        change = log_likelihood + _log_prior_of_two(g, h, m) - before
        log_w = _partner(item, g + h - m.own[LABEL, item], rng, m)[1]
        log_ratio = change - log_q + log_w + math.log(n / m.own[SIZE, m.own[LABEL, item]])
        accepted = accept(rng, log_ratio)
    if accepted != is_split:  # a merge to be made, or a split to be undone
        gather(n, g, m)
    tally[kind, 1] += accepted
    return change if accepted else 0.0


@part
def _partner(item, h, rng, m):
    """Cluster h, or if that is -1 one to merge with that of the item, and the log of its w; -1 if there is none."""
    g = m.own[LABEL, item]
    ask(REMOVE, item, g, m)
    ask(WEIGH, item, g, m)
    # If the item was alone, its cluster is not among these k.
    k, own = m.own[COUNT, 0], m.own[PLACE, g]
    top = -math.inf
    for s in range(k):
        if s == own:
            m.logs[WEIGHT, s] = -math.inf
        top = max(top, m.logs[WEIGHT, s])
    log_w = -math.inf
    if top > -math.inf:
        if h < 0:
            h = m.own[ORDER, pick_weighted(rng, k, m)]
        total = 0.0
        for s in range(k):
            total += math.exp(m.logs[WEIGHT, s] - top)
        log_w = m.logs[WEIGHT, m.own[PLACE, h]] - top - math.log(total)
    ask(ADD, item, g, m)
    return h, log_w


@part
def _divide(n, g, h, n_scans, forced, rng, m):
    """Divide the n members between clusters g and h; return log q and the change of the log likelihood.

    The launch: two of them found the clusters, and the others choose in turn; then come the scans. Log q is that of
    one more scan, in which the first of them, the *anchor*, stays: q is the probability of the two parts, whichever
    of them has number g. One of the two clusters may be empty on the way: it is then the next new one. If `forced`,
    the last scan makes the parts that `TARGET` says, except that their numbers may have been exchanged.
    """
    change, log_q = 0.0, 0.0
    for s in range(1, n):
        change -= ask(REMOVE, m.own[MEMBER, s], g, m)
    for s in range(1, n):
        i = m.own[MEMBER, s]
        odds = _odds(ask(PREDICT, i, g, m), ask(PREDICT, i, h, m))
        leaves = s == 1 or toss(rng, math.exp(log_logistic(odds)))
        change += ask(ADD, i, h if leaves else g, m)
    anchor = m.own[MEMBER, 0]
    at_g, at_h = 0, 0
    for scan in range(n_scans + 1):
        last = scan == n_scans
        # Whether the parts have exchanged their numbers.
        turned = m.own[LABEL, anchor] != m.own[TARGET, anchor]
        if last:  # sizes are those of the items that have chosen
            at_g, at_h = int(m.own[LABEL, anchor] == g), int(m.own[LABEL, anchor] == h)
        for s in range(1 if last else 0, n):
            i = m.own[MEMBER, s]
            own = m.own[LABEL, i]
            other = g + h - own
            gone = ask(REMOVE, i, own, m)
            odds = _odds(gone, ask(PREDICT, i, other, m))
            if last:
                prior = grow(at_h, m) - grow(at_g, m)
                odds += prior if own == g else -prior
            goes = (m.own[TARGET, i] == other) != turned  # where a forced item goes
            leaves = goes if last and forced else toss(rng, math.exp(log_logistic(odds)))
            if last:
                log_q += log_logistic(odds if leaves else -odds)
                at_g, at_h = at_g + (leaves != (own == g)), at_h + (leaves != (own == h))
            change += ask(ADD, i, other if leaves else own, m) - gone
    return log_q, change


@part
def _odds(stay, leave):
    """Log odds of two log weights; 0 if both are minus infinity."""
    return leave - stay if leave != stay else 0.0


@part
def _log_prior_of_two(g, h, m):
    """What the number of clusters and the sizes of g and h, perhaps the same one or empty, add to the log prior."""
    value = m.logs[LOG_WEIGHT, m.own[COUNT, 0]] + m.logs[LOG_SIZE, m.own[SIZE, g]]
    return value + (m.logs[LOG_SIZE, m.own[SIZE, h]] if h != g else 0.0)


@part
def log_logistic(x):
    """log(1 / (1 + exp(-x))), without overflow: the argument of `exp` is never positive."""
    if x > 0.0:
        return -math.log1p(math.exp(-x))
    return x - math.log1p(math.exp(x))


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
