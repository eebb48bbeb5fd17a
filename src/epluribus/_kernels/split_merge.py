"""Moves of many items: split-merge by sequential allocation, or from a launch (see also `regroup`).

`epluribus.sampling.moves` explains them.

Every move takes a model's state `m` and a partition `p`, changes both, counts its proposals and
acceptances in `tally`, and returns the change of the log target: 0 if the proposal is rejected.
"""

import math
from typing import Any

from epluribus._kernels.chain import KINDS, gather, grow, log_weight_in, move_in, move_out
from epluribus._kernels.chance import accept, coin, pick, shuffle, toss
from epluribus._kernels.dispatch import join, part, prepare, routine, smooth
from epluribus._typing import FloatArray

_SPLIT, _MERGE = (KINDS.index(name) for name in ("split", "merge"))

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


SMOOTHED = 0.5
"""Share of moves in whose launches the model may smooth the coins. What it takes as a guide, such as edges
between the items, need not be what sets them apart."""
_FEWER = 4
"""A smoothed division is nearly what scans would make of it: it has the fourth part of them."""


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
        change = p.log_weight[k - 1] - p.log_weight[k] + log_union(m, p, g, h)
        # Probability of choosing the union for a split, s / (k - 1), over that of choosing g and h, in either
        # order, for a merge, 2 (1 - s) / (k (k - 1)).
        log_ratio = change + math.log(0.5 * k * share / (1.0 - share))
        # The ratio still lacks q, which is at most 1: without it a refusal is final, and costs only a join.
        if not accept(rng, log_ratio):
            return 0.0
    smoothed = toss(rng, SMOOTHED)
    scans = int(tuning[SCANS])
    log_q = divide(m, p, rng, g, h, scans, smoothed, not is_split)
    n = p.sizes[g] + p.sizes[h]
    work = (n_scans(scans, smoothed) + 1.0) * n
    tuning[WORK] += work
    if is_split:
        accepted = False
        if p.sizes[g] > 0 and p.sizes[h] > 0:  # else the scans have put all items on one side
            change = p.log_weight[k + 1] - p.log_weight[k] - log_union(m, p, g, h)
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
        pour(m, p, h, g)
    if not accepted:
        return 0.0
    tally[kind, 1] += 1
    return change


@routine
def log_union(m: Any, p: Any, g: int, h: int) -> float:
    """Change of the log target if clusters g and h become one, without the prior for K."""
    n_g = p.sizes[g]
    n_h = p.sizes[h]
    return join(m, p, g, h) + p.log_size[n_g + n_h] - p.log_size[n_g] - p.log_size[n_h]


@routine
def pour(m: Any, p: Any, a: int, g: int) -> None:
    """Put all items of cluster a into cluster g, which may be empty; `target` stays."""
    n = 0
    for i in range(p.labels.size):
        if p.labels[i] == a:
            p.members[n] = i
            n += 1
    gather(m, p, n, g)


@routine
def collect(p: Any, g: int, h: int) -> int:
    """Fill `members` with the items of both clusters, and `target` with where they are; return how many."""
    n = 0
    for i in range(p.labels.size):
        here = p.labels[i]
        if here == g or here == h:  # noqa: SIM109 - no tuples here
            p.target[i] = here
            p.members[n] = i
            n += 1
    return n


@part
def n_scans(scans: int, smoothed: bool) -> int:
    """Scans of a launch before the last one."""
    return scans // _FEWER if smoothed else scans


@routine
def divide(
    m: Any, p: Any, rng: Any, g: int, h: int, scans: int, smoothed: bool, forced: bool
) -> float:
    """Divide the items of g and h anew between the two: a launch, and one more scan, whose log q is returned.

    In the launch they are divided by coins, which the model may smooth (in a network along its edges), and
    scanned. The *anchor*, a random one of them, stays in the last scan: q is the probability of the two
    parts, whichever of them has number g. One of the two clusters may be empty on the way: it is then the
    next new one, as `take` leaves it.

    If `forced`, the last scan makes the parts that there were, except that their numbers may have been
    exchanged: see `exchanged`.
    """
    n = collect(p, g, h)
    shuffle(rng, p.members, n)
    for s in range(n):
        p.scores[p.members[s]] = 1.0 if coin(rng) else -1.0
    if smoothed:
        smooth(m, p, n, g, h)
    for s in range(n):
        i = p.members[s]
        to = h if p.scores[i] > 0.0 else g
        if p.labels[i] != to:
            move_out(m, p, i)
            move_in(m, p, i, to)
    log_q = 0.0
    n_before = n_scans(scans, smoothed)
    for scan in range(n_before + 1):
        last = scan == n_before
        turned = exchanged(p)  # where the anchor is now decides which part gets which number
        for s in range(1 if last else 0, n):
            i = p.members[s]
            own = p.labels[i]
            other = g + h - own
            # Gibbs update between the two clusters.
            stay = move_out(m, p, i) + grow(p, own)
            leave = log_weight_in(m, p, i, other)
            odds = leave - stay if leave != stay else 0.0  # in logs; 0 if both are minus infinity
            if not last:  # without the prior for the sizes, which would draw all items to one side
                odds += grow(p, own) - grow(p, other)
            goes = (p.target[i] == other) != turned  # where a forced item goes
            leaves = goes if last and forced else toss(rng, math.exp(_log_logistic(odds)))
            if last:
                log_q += _log_logistic(odds if leaves else -odds)
            move_in(m, p, i, other if leaves else own)
    return log_q


@part
def exchanged(p: Any) -> bool:
    """Whether the two parts have exchanged their numbers in `divide`, by the anchor."""
    return bool(p.labels[p.members[0]] != p.target[p.members[0]])
