"""Split-merge from a launch: a rough division of a cluster that some scans have improved.

`epluribus.sampling.moves` explains it; `moves` has split-merge by sequential allocation.
"""

import math

from epluribus._kernels.chain import grow
from epluribus._kernels.chance import accept, coin, pick, shuffle, toss
from epluribus._kernels.jit import part
from epluribus._kernels.likelihood import ask
from epluribus._kernels.moves import log_logistic
from epluribus._kernels.states import (
    ADD,
    COUNT,
    JOIN,
    KINDS,
    LABEL,
    LOG_SIZE,
    LOG_WEIGHT,
    MEMBER,
    ORDER,
    PREDICT,
    REMOVE,
    SCORE,
    SIZE,
    SMOOTH,
    TARGET,
)

_SPLIT, _MERGE = KINDS.index("split"), KINDS.index("merge")
SCANS, SHARE, WORK, TRIALS = range(4)
"""Columns of `tuning`, what a launch needs to know: scans of a launch; share of splits among proposals, 0 at rest;
items scanned in this cycle; and where the results of trials begin, accepted splits and items scanned for each of
`CHOICES`. `sampling/tuning.py` changes them."""
CHOICES = (5, 10, 20)
"""Numbers of scans tried during burn-in."""
_MEMORY = 0.99
"""Weight that the results of trials keep with each new one: at the end the last few hundred count."""
_SMOOTHED = 0.5
"""Share of launches in which the model may smooth the coins. What it takes as a guide, such as edges between the
items, need not be what sets them apart."""
_FEWER = 4
"""A smoothed division is nearly what scans would make of it: it has the fourth part of them."""


@part
def launch(rng, tally, tuning, m):
    """Split a cluster, or merge two, from a launch.

    The launch depends on the union of the two clusters only, so it has the same distribution from both
    sides; given the launch, q is the probability of the last scan alone.
    """
    share = tuning[SHARE]
    if share == 0.0:  # at rest: the chain is still far from any good partition
        return 0.0
    k = m.own[COUNT, 0]
    # Clusters are equally likely: small ones are split as often as large ones, at less cost.
    s = pick(rng, k)
    g = m.own[ORDER, s]
    is_split = toss(rng, share)
    kind = _SPLIT if is_split else _MERGE
    tally[kind, 0] += 1
    change = 0.0
    if is_split:
        if m.own[SIZE, g] == 1 or k == m.own[COUNT, 1]:  # nothing to split, or no room
            return 0.0
        h = m.own[ORDER, k]
        log_ratio = math.log((1.0 - share) / share)
    else:
        if k == 1:
            return 0.0
        t = pick(rng, k - 1)  # any other cluster
        h = m.own[ORDER, t + (t >= s)]
        change = m.logs[LOG_WEIGHT, k - 1] - m.logs[LOG_WEIGHT, k] + _log_union(g, h, m)
        # Probability of choosing the union for a split, s / (k - 1), over that of choosing g and h, in either
        # order, for a merge, 2 (1 - s) / (k (k - 1)).
        log_ratio = change + math.log(0.5 * k * share / (1.0 - share))
        # The ratio still lacks q, which is at most 1: without it a refusal is final, and costs only a join.
        if not accept(rng, log_ratio):
            return 0.0
    smoothed = toss(rng, _SMOOTHED)
    n_scans = int(tuning[SCANS])
    if smoothed:
        n_scans //= _FEWER
    log_q = _divide(g, h, n_scans, smoothed, not is_split, rng, m)
    work = (n_scans + 1.0) * (m.own[SIZE, g] + m.own[SIZE, h])
    tuning[WORK] += work
    if is_split:
        accepted = False
        if (
            m.own[SIZE, g] > 0 and m.own[SIZE, h] > 0
        ):  # else the scans have put all items on one side
            change = m.logs[LOG_WEIGHT, k + 1] - m.logs[LOG_WEIGHT, k] - _log_union(g, h, m)
            # The inverse of the ratio of choices of a merge, for k + 1 clusters.
            accepted = accept(rng, log_ratio + change - log_q - math.log(0.5 * (k + 1.0)))
        # The results of this number of scans; older ones count less and less.
        for c in range(len(CHOICES)):
            if tuning[SCANS] == CHOICES[c]:
                at = TRIALS + 2 * c
                tuning[at] = _MEMORY * tuning[at] + accepted
                tuning[at + 1] = _MEMORY * tuning[at + 1] + work
    else:
        # Given that the first look has accepted: min(1, ratio q) / min(1, ratio).
        accepted = accept(rng, min(log_ratio + log_q, 0.0) - min(log_ratio, 0.0))
    if accepted != is_split:  # a merge to be made, or a split to be undone
        for i in range(m.x.shape[0]):
            if m.own[LABEL, i] == h:
                ask(REMOVE, i, g, m)
                ask(ADD, i, g, m)
    tally[kind, 1] += accepted
    return change if accepted else 0.0


@part
def _log_union(g, h, m):
    """Change of the log target if clusters g and h become one, without the prior for K."""
    n_g, n_h = m.own[SIZE, g], m.own[SIZE, h]
    sizes = m.logs[LOG_SIZE, n_g + n_h] - m.logs[LOG_SIZE, n_g] - m.logs[LOG_SIZE, n_h]
    return ask(JOIN, g, h, m) + sizes


@part
def _divide(g, h, n_scans, smoothed, forced, rng, m):
    """Divide the items of g and h between the two: a launch, and one more scan, whose log q is returned.

    In the launch they are divided by coins, which the model may smooth (in a network along its edges), and
    scanned. The *anchor*, a random one of them, stays in the last scan: q is the probability of the two
    parts, whichever of them has number g. One of the two clusters may be empty on the way: it is then the
    next new one, as `take` leaves it. If `forced`, the last scan makes the parts that there were, except that their
    numbers may have been exchanged.
    """
    n = 0
    for i in range(m.x.shape[0]):
        if m.own[LABEL, i] in (g, h):
            m.own[MEMBER, n], m.own[TARGET, i] = i, m.own[LABEL, i]
            n += 1
    shuffle(rng, n, m)
    for s in range(n):
        m.logs[SCORE, m.own[MEMBER, s]] = 1.0 if coin(rng) else -1.0
    if smoothed:
        ask(SMOOTH, g, h, m)
    for s in range(n):
        i = m.own[MEMBER, s]
        to = h if m.logs[SCORE, i] > 0.0 else g
        if m.own[LABEL, i] != to:
            ask(REMOVE, i, g, m)
            ask(ADD, i, to, m)
    log_q = 0.0
    anchor = m.own[MEMBER, 0]
    for scan in range(n_scans + 1):
        last = scan == n_scans
        turned = (
            m.own[LABEL, anchor] != m.own[TARGET, anchor]
        )  # whether the parts have exchanged their numbers
        for s in range(1 if last else 0, n):
            i = m.own[MEMBER, s]
            own = m.own[LABEL, i]
            other = g + h - own
            # Gibbs update between the two clusters.
            stay = ask(REMOVE, i, g, m) + grow(own, m)
            leave = grow(other, m) + ask(PREDICT, i, other, m)
            odds = leave - stay if leave != stay else 0.0  # in logs; 0 if both are minus infinity
            if not last:  # without the prior for the sizes, which would draw all items to one side
                odds += grow(own, m) - grow(other, m)
            goes = (m.own[TARGET, i] == other) != turned  # where a forced item goes
            leaves = goes if last and forced else toss(rng, math.exp(log_logistic(odds)))
            if last:
                log_q += log_logistic(odds if leaves else -odds)
            ask(ADD, i, other if leaves else own, m)
    return log_q
