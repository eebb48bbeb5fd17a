"""Moves of many items: split-merge by sequential allocation, and moves that start from a launch.

`epluribus.sampling.moves` explains them.

Every move takes a model's state `m` and a partition `p`, changes both, counts its proposals and
acceptances in `tally`, and returns the change of the log target: 0 if the proposal is rejected.
"""

import math
from typing import Any

from epluribus._kernels.chain import KINDS, gather, grow, log_weight_in, move_in, move_out
from epluribus._kernels.chance import accept, pick, pick_weighted, shuffle, toss
from epluribus._kernels.dispatch import join, part, prepare, routine, smooth
from epluribus._typing import FloatArray

_SPLIT, _MERGE, _REGROUP = (KINDS.index(name) for name in ("split", "merge", "regroup"))

# Columns of `tuning`, what a launch needs to know; one row for each row of the schedule.
SCANS, SHARE, WORK, TRIALS = range(4)
"""Scans of a launch; share of splits among proposals, 0 at rest; items scanned in this cycle; and where the
results of trials begin, accepted splits and items scanned for each of `CHOICES`. `sampling/tuning.py` changes
them."""
CHOICES = (5, 10, 20)
"""Numbers of scans tried during burn-in."""
TUNING = TRIALS + 2 * len(CHOICES)
"""Number of columns."""
_MEMORY = 0.99
"""Weight that the results of trials keep with each new one: at the end the last few hundred count."""


_SMOOTHED = 0.5
"""Share of launches in which the model may smooth the coins. What it takes as a guide, such as edges between
the items, need not be what sets them apart."""


# --- sequential allocation ---


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
        change += gather(m, p, n_rest + 1, g)
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
        gather(m, p, n_rest + 1, g)
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
        change -= move_out(m, p, p.members[s])
    h = p.order[p.n_clusters[0]]  # for a merge this is the cluster that `gather` has just closed
    change += move_in(m, p, p.members[n_rest], h)
    log_q = 0.0
    log_likelihood = 0.0
    for s in range(n_rest):
        i = p.members[s]
        prepare(m, p, i)  # again, because others have been put back since it was taken out
        at_g = log_weight_in(m, p, i, g)
        at_h = log_weight_in(m, p, i, h)
        odds = at_h - at_g if at_h != at_g else 0.0  # in logs; 0 if both are minus infinity
        to_h = p.target[i] == h if forced else toss(rng, math.exp(_log_logistic(odds)))
        log_q += _log_logistic(odds if to_h else -odds)  # log P(h) or log P(g) = log(1 - P(h))
        log_likelihood += move_in(m, p, i, h if to_h else g)
    return log_q, change + log_likelihood


@part
def _log_logistic(x: float) -> float:
    """log(1 / (1 + exp(-x))), without overflow: the argument of `exp` is never positive."""
    if x > 0.0:
        return -math.log1p(math.exp(-x))
    return x - math.log1p(math.exp(x))


# --- launch ---


@routine
def launch(m: Any, p: Any, rng: Any, tally: Any, tuning: FloatArray) -> float:
    """Split a cluster, or merge two, from a launch: a rough division that some scans have improved.

    The launch depends on the union of the two clusters only, so it has the same distribution from both
    sides; given the launch, q is the probability of the last scan alone.
    """
    share = tuning[SHARE]
    if share == 0.0:  # at rest: the chain is still far from any good partition
        return 0.0
    k = p.n_clusters[0]
    # Clusters are equally likely: small ones are split as often as large ones, at less cost.
    s = pick(rng, k)
    g = p.order[s]
    n_g = p.sizes[g]
    is_split = toss(rng, share)
    kind = _SPLIT if is_split else _MERGE
    tally[kind, 0] += 1
    change = 0.0
    if is_split:
        if n_g == 1 or k == p.sizes.size:  # nothing to split, or no room for another cluster
            return 0.0
        h = p.order[k]
        log_ratio = math.log((1.0 - share) / share)
    else:
        if k == 1:
            return 0.0
        t = pick(rng, k - 1)  # any other cluster
        if t >= s:
            t += 1
        h = p.order[t]
        n_h = p.sizes[h]
        change = p.log_weight[k - 1] - p.log_weight[k] + join(m, p, g, h)
        change += p.log_size[n_g + n_h] - p.log_size[n_g] - p.log_size[n_h]
        # Probability of choosing the union for a split, s / (k - 1), over that of choosing g and h, in this
        # order, for a merge, (1 - s) / (k (k - 1)).
        log_ratio = change + math.log(k * share / (1.0 - share))
        # The ratio still lacks q, which is at most 1: without it a refusal is final, and costs only a join.
        if not accept(rng, log_ratio):
            return 0.0
    n = _collect(p, g, h)
    shuffle(rng, p.members, n)
    log_q = _relaunch(m, p, rng, n, g, h, int(tuning[SCANS]), not is_split)
    work = (tuning[SCANS] + 1.0) * n
    tuning[WORK] += work
    if is_split:
        accepted = False
        n_kept = p.sizes[g]
        if 0 < n_kept < n_g:  # otherwise the scans have put all items on one side
            change = p.log_weight[k + 1] - p.log_weight[k] - join(m, p, g, h)
            change += p.log_size[n_kept] + p.log_size[n_g - n_kept] - p.log_size[n_g]
            # The inverse of the ratio of choices of a merge, for k + 1 clusters.
            accepted = accept(rng, log_ratio + change - log_q - math.log(k + 1.0))
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
        gather(m, p, n, g)
    if not accepted:
        return 0.0
    tally[kind, 1] += 1
    return change


@routine
def regroup(m: Any, p: Any, rng: Any, tally: Any, tuning: FloatArray) -> float:
    """Divide a cluster from a launch, and let one part choose the cluster it belongs to.

    The part a of cluster g takes cluster h with probability proportional to the posterior of the result,
    g itself included. On the way back a leaves the union with h and takes the rest of g, with probabilities
    in the inverse ratio of the posteriors: only those of the two divisions remain in the acceptance ratio.
    """
    k = p.n_clusters[0]
    if tuning[SHARE] == 0.0:  # at rest
        return 0.0
    tally[_REGROUP, 0] += 1
    g = p.order[pick(rng, k)]
    n_g = p.sizes[g]
    if n_g == 1 or k == 1 or k == p.sizes.size:  # nothing to divide, nowhere to go, or no room
        return 0.0
    scans = int(tuning[SCANS])
    n = _collect(p, g, g)
    shuffle(rng, p.members, n)
    a = p.order[k]
    log_q = _relaunch(m, p, rng, n, g, a, scans, False)
    n_a = p.sizes[a]
    to = g
    change = 0.0
    if 0 < n_a < n_g:
        # Log posterior, up to a constant, of each cluster that a may join; a is no choice for itself.
        for s in range(k + 1):
            x = p.order[s]
            p.log_weights[s] = -math.inf
            if x != a:
                n_x = p.sizes[x]
                p.log_weights[s] = p.log_size[n_x + n_a] - p.log_size[n_x] + join(m, p, a, x)
        s = pick_weighted(rng, p.log_weights, k + 1, p.cumulative)
        h = p.order[s]
        if h != g and h != a:
            value = p.log_weights[s] - p.log_weights[p.place[g]]
            # The way back: the union of h and a must be divided into just these two.
            n = _collect(p, h, a)
            shuffle(rng, p.members, n)
            log_back = _relaunch(m, p, rng, n, h, a, scans, True)
            if accept(rng, log_back - log_q):
                tally[_REGROUP, 1] += 1
                change = value
                to = h
    if n_a > 0:
        gather(m, p, _collect(p, a, a), to)
    return change


@routine
def _collect(p: Any, g: int, h: int) -> int:
    """Fill `members` with the items of both clusters, and `target` with where they are; return how many."""
    n = 0
    for i in range(p.labels.size):
        here = p.labels[i]
        if here == g or here == h:  # noqa: SIM109 - no tuples here
            p.target[i] = here
            p.members[n] = i
            n += 1
    return n


@routine
def _relaunch(m: Any, p: Any, rng: Any, n: int, g: int, h: int, scans: int, forced: bool) -> float:
    """Divide the first n members between g and h, scan, and return log q of one more scan.

    They are divided by coins, which the model may smooth: in a network along its edges.

    If `forced`, the last scan puts every item back where `target` says. One of the two clusters may be empty
    on the way: it is then the next new one, as `take` leaves it.
    """
    for s in range(n):
        p.scores[p.members[s]] = 1.0 if toss(rng, 0.5) else -1.0
    if toss(rng, _SMOOTHED):
        smooth(m, p, n, g, h)
    for s in range(n):
        i = p.members[s]
        to = h if p.scores[i] > 0.0 else g
        if p.labels[i] != to:
            move_out(m, p, i)
            move_in(m, p, i, to)
    log_q = 0.0
    for scan in range(scans + 1):
        last = scan == scans
        for s in range(n):
            i = p.members[s]
            own = p.labels[i]
            other = g + h - own
            # Gibbs update between the two clusters.
            stay = move_out(m, p, i) + grow(p, own)
            leave = log_weight_in(m, p, i, other)
            odds = leave - stay if leave != stay else 0.0  # in logs; 0 if both are minus infinity
            if not last:  # without the prior for the sizes, which would draw all items to one side
                odds += grow(p, own) - grow(p, other)
            goes = p.target[i] == other  # where a forced item goes
            leaves = goes if last and forced else toss(rng, math.exp(_log_logistic(odds)))
            if last:
                log_q += _log_logistic(odds if leaves else -odds)
            move_in(m, p, i, other if leaves else own)
    return log_q
