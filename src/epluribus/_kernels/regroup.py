"""Moves of parts of clusters: to another cluster, against a part of another one, or both parts elsewhere.

`epluribus.sampling.moves` explains them. All divide a cluster by a launch, let the posterior choose where a
part goes, and divide the result by a launch of its own, as the way back would.
"""

import math
from typing import Any

from epluribus._kernels.chain import KINDS, gather
from epluribus._kernels.chance import accept, pick, pick_weighted, toss
from epluribus._kernels.dispatch import part, routine
from epluribus._kernels.split_merge import (
    SCANS,
    SHARE,
    SMOOTHED,
    collect,
    divide,
    exchanged,
    log_union,
    pour,
)
from epluribus._typing import FloatArray

_REGROUP, _EXCHANGE, _DISSOLVE, _CONDENSE = (
    KINDS.index(name) for name in ("regroup", "exchange", "dissolve", "condense")
)
_UP = 0.1
"""Share of proposals to condense among these and those to dissolve: few of them are any good."""


@routine
def regroup(m: Any, p: Any, rng: Any, tally: Any, tuning: FloatArray) -> float:
    """Move a part of a cluster to another one, exchange parts of two, dissolve a cluster or condense one."""
    if tuning[SHARE] == 0.0:  # at rest
        return 0.0
    scans = int(tuning[SCANS])
    smoothed = toss(rng, SMOOTHED)
    if toss(rng, 0.5):
        return _transfer(m, p, rng, tally, scans, smoothed)
    if toss(rng, 0.5):
        return _exchange(m, p, rng, tally, scans, smoothed)
    if toss(rng, _UP):
        return _condense(m, p, rng, tally, scans, smoothed)
    return _dissolve(m, p, rng, tally, scans, smoothed)


@part
def _pick_small(p: Any, rng: Any) -> int:
    """A random cluster: the smaller one of two."""
    g = p.order[pick(rng, p.n_clusters[0])]
    h = p.order[pick(rng, p.n_clusters[0])]
    return h if p.sizes[h] < p.sizes[g] else g


@part
def _pick_two(p: Any, rng: Any) -> tuple[int, int]:
    """Two random clusters that are both to be divided; the same one twice if they cannot be."""
    g = _pick_small(p, rng)
    h = _pick_small(p, rng)
    # Nothing to divide, or no room for both parts.
    if p.sizes[g] == 1 or p.sizes[h] == 1 or p.n_clusters[0] + 2 > p.sizes.size:
        return g, g
    return g, h


@part
def _small_share(p: Any, n: int, other: int, a: int, b: int, c: int, d: int) -> float:
    """Probability, times K^2, that `_pick_small` takes a certain cluster of size n.

    The other clusters are one of size `other`, and those in use except a, b, c and d.
    """
    # Taken with a larger one in either order, or before one of the same size; and with itself.
    total = 1.0 + 2.0 * (other > n) + (other == n)
    for s in range(p.n_clusters[0]):
        x = p.order[s]
        if x != a and x != b and x != c and x != d:
            total += 2.0 * (p.sizes[x] > n) + (p.sizes[x] == n)
    return total


@routine
def _transfer(m: Any, p: Any, rng: Any, tally: Any, scans: int, smoothed: bool) -> float:
    """Divide a cluster, and let one part choose the cluster it belongs to.

    The part a of cluster g takes cluster h with probability proportional to the posterior of the result,
    g itself included. On the way back a leaves the union with h and takes the rest of g, with probabilities
    in the inverse ratio of the posteriors.
    """
    tally[_REGROUP, 0] += 1
    k = p.n_clusters[0]
    g = _pick_small(p, rng)
    n_g = p.sizes[g]
    if n_g == 1 or k == 1 or k == p.sizes.size:  # nothing to divide, nowhere to go, or no room
        return 0.0
    chosen = _small_share(p, n_g, 0, g, g, g, g)
    a = p.order[k]
    log_q = divide(m, p, rng, g, a, scans, smoothed, False)
    change = 0.0
    to = g
    if p.sizes[g] > 0 and p.sizes[a] > 0:
        if toss(rng, 0.5):  # either part may leave
            g, a = a, g
        to = g
        # Log posterior, up to a constant, of each cluster that a may join; a is no choice for itself.
        for s in range(k + 1):
            x = p.order[s]
            p.log_weights[s] = log_union(m, p, a, x) if x != a else -math.inf
        s = pick_weighted(rng, p.log_weights, k + 1, p.cumulative)
        h = p.order[s]
        if h != g:
            value = p.log_weights[s] - p.log_weights[p.place[g]]
            # The way back: the union of h and a is chosen, and must be divided into just these two.
            back = _small_share(p, p.sizes[h] + p.sizes[a], 0, h, a, h, a)
            log_back = divide(m, p, rng, h, a, scans, smoothed, True)
            if exchanged(p):
                h, a = a, h
            if accept(rng, log_back - log_q + math.log(back / chosen)):
                tally[_REGROUP, 1] += 1
                change = value
                to = h
    pour(m, p, a, to)
    return change


@routine
def _exchange(m: Any, p: Any, rng: Any, tally: Any, scans: int, smoothed: bool) -> float:
    """Divide two clusters, and let the posterior choose which of the four parts make the two new ones.

    Cluster g is divided into g and a, then h into h and b. The way back divides the union of the first pair
    while the second is one cluster, and then the second.
    """
    tally[_EXCHANGE, 0] += 1
    k = p.n_clusters[0]
    g, h = _pick_two(p, rng)
    if g == h:
        return 0.0
    n_g = p.sizes[g]
    n_h = p.sizes[h]
    chosen = _small_share(p, n_g, 0, g, g, g, g) * _small_share(p, n_h, 0, h, h, h, h)
    a = p.order[k]
    log_q = divide(m, p, rng, g, a, scans, smoothed, False)
    if p.sizes[g] == 0 or p.sizes[a] == 0:
        pour(m, p, a, g)
        return 0.0
    if toss(rng, 0.5):  # either part may stay in the first pair
        g, a = a, g
    b = p.order[k + 1]
    log_q += divide(m, p, rng, h, b, scans, smoothed, False)
    change = 0.0
    if p.sizes[h] > 0 and p.sizes[b] > 0:
        p.log_weights[0] = _log_unions(m, p, g, a, h, b)
        p.log_weights[1] = _log_unions(m, p, g, b, h, a)
        p.log_weights[2] = _log_unions(m, p, g, h, a, b)
        choice = pick_weighted(rng, p.log_weights, 3, p.cumulative)
        if choice > 0:
            value = p.log_weights[choice] - p.log_weights[0]
            # Named anew: the pairs are again g with a, and h with b.
            if choice == 1:
                a, b = b, a
            else:
                a, h = h, a
            n_g = p.sizes[g] + p.sizes[a]
            n_h = p.sizes[h] + p.sizes[b]
            back = _small_share(p, n_g, n_h, g, a, h, b) * _small_share(p, n_h, n_g, g, a, h, b)
            log_back, first, second = _divide_back(m, p, rng, g, a, h, b, scans, smoothed)
            if first:
                g, a = a, g
            if second:
                h, b = b, h
            if accept(rng, log_back - log_q + math.log(back / chosen)):
                tally[_EXCHANGE, 1] += 1
                change = value
            elif choice == 1:
                a, b = b, a
            else:
                a, h = h, a
    pour(m, p, b, h)
    pour(m, p, a, g)
    return change


@routine
def _log_unions(m: Any, p: Any, g: int, a: int, h: int, b: int) -> float:
    """Change of the log target if g and a become one, and h and b too, without the prior for K."""
    # One pair is joined and parted again, because what the other gains depends on it.
    collect(p, h, b)
    change = log_union(m, p, h, b)
    pour(m, p, b, h)
    change += log_union(m, p, g, a)
    _part_again(m, p, h, b)
    return change


@routine
def _divide_back(
    m: Any, p: Any, rng: Any, g: int, a: int, h: int, b: int, scans: int, smoothed: bool
) -> tuple[float, bool, bool]:
    """The way back: g and a as parts of one cluster, while h and b are one, and then these two.

    Returns the log q of both divisions, and whether each pair has exchanged its numbers.
    """
    collect(p, h, b)
    pour(m, p, b, h)
    log_q = divide(m, p, rng, g, a, scans, smoothed, True)
    first = exchanged(p)
    _part_again(m, p, h, b)
    log_q += divide(m, p, rng, h, b, scans, smoothed, True)
    return log_q, first, exchanged(p)


@routine
def _part_again(m: Any, p: Any, h: int, b: int) -> None:
    """Undo that b was poured into h; `collect` was called before."""
    n = 0
    for i in range(p.labels.size):
        if p.labels[i] == h and p.target[i] == b:
            p.members[n] = i
            n += 1
    gather(m, p, n, b)


# --- dissolve and condense ---


@routine
def _dissolve(m: Any, p: Any, rng: Any, tally: Any, scans: int, smoothed: bool) -> float:
    """Divide a cluster, and let each part choose another cluster, which it joins: one cluster less.

    Part a of cluster d chooses g, then the rest of d chooses h. The way back is `_condense`.
    """
    tally[_DISSOLVE, 0] += 1
    k = p.n_clusters[0]
    d = _pick_small(p, rng)
    n_d = p.sizes[d]
    if n_d == 1 or k < 3 or k == p.sizes.size:  # nothing to divide, nowhere to go, or no room
        return 0.0
    log_ratio = -math.log(_small_share(p, n_d, 0, d, d, d, d))
    a = p.order[k]
    log_q = divide(m, p, rng, d, a, scans, smoothed, False)
    change = 0.0
    if p.sizes[d] > 0 and p.sizes[a] > 0:
        if toss(rng, 0.5):  # either part may choose first
            d, a = a, d
        total = _weigh(m, p, a, d, a)
        s = pick_weighted(rng, p.log_weights, k + 1, p.cumulative)
        g = p.order[s]
        log_choice = p.log_weights[s] - total
        total = _weigh(m, p, d, a, g)
        s = pick_weighted(rng, p.log_weights, k + 1, p.cumulative)
        h = p.order[s]
        log_choice += p.log_weights[s] - total
        value = p.log_weight[k - 1] - p.log_weight[k]
        value += _log_unions(m, p, g, a, h, d) - log_union(m, p, a, d)
        n_g = p.sizes[g] + p.sizes[a]
        n_h = p.sizes[h] + p.sizes[d]
        log_ratio += value - log_q - log_choice + _log_choices(k)
        log_ratio += math.log(_small_share(p, n_g, n_h, g, a, h, d))
        log_ratio += math.log(_small_share(p, n_h, n_g, g, a, h, d))
        # The ratio still lacks the probabilities of the way back, which are at most 1: see `launch`.
        if accept(rng, log_ratio):
            log_back, first, second = _divide_back(m, p, rng, g, a, h, d, scans, smoothed)
            if first:
                g, a = a, g
            if second:
                h, d = d, h
            if accept(rng, min(log_ratio + log_back, 0.0) - min(log_ratio, 0.0)):
                tally[_DISSOLVE, 1] += 1
                pour(m, p, d, h)
                d = g  # where a goes
                change = value
    pour(m, p, a, d)
    return change


@routine
def _condense(m: Any, p: Any, rng: Any, tally: Any, scans: int, smoothed: bool) -> float:
    """Divide two clusters, and make a new one of a part of each: one cluster more."""
    tally[_CONDENSE, 0] += 1
    k = p.n_clusters[0]
    g, h = _pick_two(p, rng)
    if g == h:
        return 0.0
    log_ratio = -math.log(_small_share(p, p.sizes[g], 0, g, g, g, g))
    log_ratio -= math.log(_small_share(p, p.sizes[h], 0, h, h, h, h))
    a = p.order[k]
    log_q = divide(m, p, rng, g, a, scans, smoothed, False)
    if p.sizes[g] == 0 or p.sizes[a] == 0:
        pour(m, p, a, g)
        return 0.0
    if toss(rng, 0.5):
        g, a = a, g
    d = p.order[k + 1]
    log_q += divide(m, p, rng, h, d, scans, smoothed, False)
    if p.sizes[h] > 0 and p.sizes[d] > 0:
        if toss(rng, 0.5):
            h, d = d, h
        # That a would choose g, and d then h.
        total = _weigh(m, p, a, d, a)
        log_choice = p.log_weights[p.place[g]] - total
        total = _weigh(m, p, d, a, g)
        log_choice += p.log_weights[p.place[h]] - total
        value = p.log_weight[k + 1] - p.log_weight[k]
        value += log_union(m, p, a, d) - _log_unions(m, p, g, a, h, d)
        n_d = p.sizes[a] + p.sizes[d]
        log_ratio += value - log_q + log_choice - _log_choices(k + 1)
        log_ratio += math.log(_small_share(p, n_d, 0, a, d, a, d))
        if accept(rng, log_ratio):
            log_back = divide(m, p, rng, a, d, scans, smoothed, True)
            if exchanged(p):
                a, d = d, a
            if accept(rng, min(log_ratio + log_back, 0.0) - min(log_ratio, 0.0)):
                tally[_CONDENSE, 1] += 1
                pour(m, p, d, a)
                return value
    pour(m, p, d, h)
    pour(m, p, a, g)
    return 0.0


@part
def _log_choices(k: int) -> float:
    """Log ratio of the choices of `_condense` with k - 1 clusters to those of `_dissolve` with k.

    To condense: two clusters, each twice one of k - 1, and a part of each by a coin. To dissolve: one
    cluster, twice one of k, and the order of its parts by a coin.
    """
    return math.log(_UP / (1.0 - _UP)) + 2.0 * math.log(k) - 4.0 * math.log(k - 1.0) - math.log(2.0)


@part
def _weigh(m: Any, p: Any, a: int, d: int, g: int) -> float:
    """Fill the log weights of all clusters but a, d and g, which a may join; return the log of their sum."""
    k = p.n_clusters[0]
    top = -math.inf
    for s in range(k):
        x = p.order[s]
        p.log_weights[s] = -math.inf
        if x != a and x != d and x != g:
            p.log_weights[s] = log_union(m, p, a, x)
            top = max(top, p.log_weights[s])
    total = 0.0
    for s in range(k):
        total += math.exp(p.log_weights[s] - top)
    return top + math.log(total)
