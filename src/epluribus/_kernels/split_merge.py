"""The two split-merge moves: by sequential allocation, and from a launch that some scans have improved.

`epluribus.sampling.moves` has their formulas and references.
"""

import math

from epluribus._kernels.chance import accept, coin, pick, shuffle, toss
from epluribus._kernels.jit import part
from epluribus._kernels.likelihood import ask, gather, grow
from epluribus._kernels.states import (
    ADD,
    COUNT,
    LABEL,
    LOG_SIZE,
    LOG_WEIGHT,
    MEMBER,
    MERGE,
    ORDER,
    PREDICT,
    REMOVE,
    SIZE,
    SPLIT,
    TARGET,
)

# --- sequential allocation ---


@part
def split_merge(rng, tally, m):
    """Split the cluster of two random items, or merge their two clusters if they are apart.

    The acceptance ratio of a split is pi(new) / (pi(old) q), where q is the probability of dividing the
    cluster in just this way; that of a merge is pi(new) q / pi(old), with q for the way back.
    """
    n_items = m.x.shape[0]
    if n_items < 2:
        return 0.0
    i = pick(rng, n_items)
    j = pick(rng, n_items - 1)  # any item but i
    if j >= i:
        j += 1
    g, h = m.own[LABEL, i], m.own[LABEL, j]
    is_split = g == h
    kind = SPLIT if is_split else MERGE
    tally[kind, 0] += 1
    if is_split and m.own[COUNT, 0] == m.own[COUNT, 1]:  # no room for another cluster
        return 0.0
    before = _log_prior_of_two(g, h, m)
    # The other members of g and h in random order, then j. `TARGET` remembers where they are now: if the move is a
    # merge, the way back must lead there.
    n_rest = _list_members(g, h, i, j, m)
    shuffle(rng, n_rest, m)
    m.own[MEMBER, n_rest] = j
    change = 0.0 if is_split else gather(n_rest + 1, g, m) + _log_prior_of_two(g, g, m) - before
    # A merge is divided again into the two clusters it came from. This gives q for the way back, and leaves
    # the partition as it was: a rejected merge has nothing to undo.
    log_q, log_likelihood = _allocate(n_rest, g, not is_split, rng, m)
    log_ratio = change + log_q
    if is_split:
        change = log_likelihood + _log_prior_of_two(g, m.own[LABEL, j], m) - before
        log_ratio = change - log_q
    accepted = accept(rng, log_ratio)
    if accepted != is_split:  # a merge to be made, or a split to be undone
        gather(n_rest + 1, g, m)
    tally[kind, 1] += accepted
    return change if accepted else 0.0


@part
def _allocate(n_rest, g, forced, rng, m):
    """Divide cluster g in two; return log q of the choices and the change of the log likelihood.

    The last of the members, j, founds a new cluster h. The others are taken out and go to g or h one
    by one, to h with odds (prior x predictive of h) / (prior x predictive of g), given the items already
    there. If `forced`, they go where `TARGET` says, and q is the probability of just these choices.
    """
    # All members but i, which stays in g: the likelihood loses their predictives.
    change = 0.0
    for s in range(n_rest + 1):
        change -= ask(REMOVE, m.own[MEMBER, s], g, m)
    h = m.own[ORDER, m.own[COUNT, 0]]  # for a merge the cluster that `gather` has just closed
    change += ask(ADD, m.own[MEMBER, n_rest], h, m)
    log_q = 0.0
    for s in range(n_rest):
        i = m.own[MEMBER, s]
        at_g = grow(g, m) + ask(PREDICT, i, g, m)
        at_h = grow(h, m) + ask(PREDICT, i, h, m)
        odds = at_h - at_g if at_h != at_g else 0.0  # in logs; 0 if both are minus infinity
        to_h = m.own[TARGET, i] == h if forced else toss(rng, math.exp(log_logistic(odds)))
        log_q += log_logistic(odds if to_h else -odds)  # log P(h) or log P(g) = log(1 - P(h))
        change += ask(ADD, i, h if to_h else g, m)
    return log_q, change


# --- launches ---


@part
def launch(n_scans, rng, tally, m):
    """Split a cluster, or merge two, from a launch.

    With k clusters of at most M, nothing is proposed with probability 1 - k/M: the fewer clusters there are, the more
    work is each proposal. The launch depends on the union of the two clusters only, so it has the same distribution
    from both sides; given the launch, q is the probability of the last scan alone. A given division is proposed with
    probability k/M x 1/4 x 1/k x q, and a given merge of two of k clusters with probability k/M x 3/4 x 2/(k (k - 1)).
    """
    k, slots = m.own[COUNT, 0], m.own[COUNT, 1]
    if not toss(rng, k / slots):
        return 0.0
    is_split = toss(rng, 0.25)
    kind = SPLIT if is_split else MERGE
    tally[kind, 0] += 1
    s = pick(rng, k)
    g = m.own[ORDER, s]
    if is_split:
        if m.own[SIZE, g] == 1 or k == slots:  # nothing to split, or no room
            return 0.0
        h = m.own[ORDER, k]
    else:
        if k == 1:
            return 0.0
        t = pick(rng, k - 1)  # any other cluster
        h = m.own[ORDER, t + (t >= s)]
    before = _log_prior_of_two(g, h, m)
    n = _list_members(g, h, -1, -1, m)
    change, log_ratio = 0.0, 0.0
    if not is_split:
        change = gather(n, g, m) + _log_prior_of_two(g, g, m) - before
        log_ratio = change + math.log((k - 1) / 6.0)
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
        accepted = accept(rng, change - log_q - math.log(k / 6.0))
    if accepted != is_split:  # a merge to be made, or a split to be undone
        gather(n, g, m)
    tally[kind, 1] += accepted
    return change if accepted else 0.0


@part
def _divide(n, g, h, n_scans, forced, rng, m):
    """Divide the n members between clusters g and h; return log q and the change of the log likelihood.

    In the launch they are divided by coins and scanned; log q is that of one more scan. The *anchor*, a random
    one of them, stays in the last scan: q is the probability of the two parts, whichever of them has number g.
    One of the two clusters may be empty on the way: it is then the next new one. If `forced`, the last scan
    makes the parts that `TARGET` says, except that their numbers may have been exchanged.
    """
    shuffle(rng, n, m)
    change, log_q = 0.0, 0.0
    for s in range(n):
        i = m.own[MEMBER, s]
        if coin(rng):
            change -= ask(REMOVE, i, g, m)
            change += ask(ADD, i, h, m)
    anchor = m.own[MEMBER, 0]
    for scan in range(n_scans + 1):
        last = scan == n_scans
        # Whether the parts have exchanged their numbers.
        turned = m.own[LABEL, anchor] != m.own[TARGET, anchor]
        for s in range(1 if last else 0, n):
            i = m.own[MEMBER, s]
            own = m.own[LABEL, i]
            other = g + h - own
            # Gibbs update between the two clusters.
            gone = ask(REMOVE, i, own, m)
            stay = grow(own, m) + gone
            leave = grow(other, m) + ask(PREDICT, i, other, m)
            odds = leave - stay if leave != stay else 0.0  # in logs; 0 if both are minus infinity
            if not last:  # without the prior for the sizes, which would draw all items to one side
                odds += grow(own, m) - grow(other, m)
            goes = (m.own[TARGET, i] == other) != turned  # where a forced item goes
            leaves = goes if last and forced else toss(rng, math.exp(log_logistic(odds)))
            if last:
                log_q += log_logistic(odds if leaves else -odds)
            change += ask(ADD, i, other if leaves else own, m) - gone
    return log_q, change


# --- shared ---


@part
def _list_members(g, h, i, j, m):
    """Make all items of clusters g and h members, except i and j; `TARGET` keeps where they are. Return how many."""
    n = 0
    for item in range(m.x.shape[0]):
        if m.own[LABEL, item] in (g, h):
            m.own[TARGET, item] = m.own[LABEL, item]
            if item not in (i, j):
                m.own[MEMBER, n] = item
                n += 1
    return n


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
