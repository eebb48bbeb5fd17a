"""Split-merge by sequential allocation; `epluribus.sampling.split_merge` has the ratios."""

import math
from typing import Any

from epluribus._kernels.chain import grow, put, take
from epluribus._kernels.chance import accept, log_logistic, pick, shuffle, toss
from epluribus._kernels.dispatch import logpred, part, prepare, routine

__all__ = ["split_merge"]


@part
def split_merge(m: Any, p: Any, rng: Any, tally: Any) -> float:
    """Split the cluster of two random items, or merge their two; the change of the log target."""
    n_items = p.labels.size
    if n_items < 2:
        return 0.0
    i = pick(rng, n_items)
    j = pick(rng, n_items - 1)
    if j >= i:
        j += 1
    if p.labels[i] == p.labels[j]:
        return _split(m, p, i, j, rng, tally)
    return _merge(m, p, i, j, rng, tally)


@routine
def _allocate(m: Any, p: Any, rng: Any, n_rest: int, g: int, h: int, forced: bool) -> Any:
    """Put `members` into g or h one by one; log probability of the choices, log likelihood.

    Each goes to h with odds (prior x predictive of h) / (that of g), the counts as they stand;
    where `forced`, it goes where `target` says and only the probability is counted.
    """
    log_q = 0.0
    log_likelihood = 0.0
    for s in range(n_rest):
        i = p.members[s]
        prepare(m, p, i)
        at_g = grow(p, g) + logpred(m, p, i, g)
        at_h = grow(p, h) + logpred(m, p, i, h)
        odds = at_h - at_g if at_h != at_g else 0.0  # also if both are minus infinity
        to_h = p.target[i] == h if forced else toss(rng, math.exp(log_logistic(odds)))
        log_q += log_logistic(odds if to_h else -odds)
        log_likelihood += put(m, p, i, h if to_h else g)
    return log_q, log_likelihood


@part
def _split(m: Any, p: Any, i: int, j: int, rng: Any, tally: Any) -> float:
    """Item j founds a new cluster, the other members of i's cluster choose between the two."""
    tally[1, 0] += 1
    k = p.n_clusters[0]
    if k == p.sizes.size:
        return 0.0
    g = p.labels[i]
    n = p.sizes[g]
    n_rest = 0
    for item in range(p.labels.size):
        if p.labels[item] == g and item != i and item != j:
            p.members[n_rest] = item
            n_rest += 1
    shuffle(rng, p.members, n_rest)
    change = 0.0
    for s in range(n_rest):
        change -= take(m, p, p.members[s])
    change -= take(m, p, j)
    h = p.order[k]
    change += put(m, p, j, h)
    log_q, log_likelihood = _allocate(m, p, rng, n_rest, g, h, False)
    change += log_likelihood
    change += p.log_weight[k + 1] - p.log_weight[k]
    change += p.log_size[p.sizes[g]] + p.log_size[p.sizes[h]] - p.log_size[n]
    if accept(rng, change - log_q):
        tally[1, 1] += 1
        return change
    _pour(m, p, n_rest, j, h, g)
    return 0.0


@routine
def _pour(m: Any, p: Any, n_rest: int, j: int, h: int, g: int) -> float:
    """Move j and those of `members` that are in h to g; the change of the log likelihood."""
    change = 0.0
    for s in range(n_rest):
        i = p.members[s]
        if p.labels[i] == h:
            change -= take(m, p, i)
            change += put(m, p, i, g)
    change -= take(m, p, j)
    return change + put(m, p, j, g)


@part
def _merge(m: Any, p: Any, i: int, j: int, rng: Any, tally: Any) -> float:
    """The cluster of j joins that of i; q is the probability that a split makes the present two."""
    tally[2, 0] += 1
    g = p.labels[i]
    h = p.labels[j]
    k = p.n_clusters[0]
    n_g = p.sizes[g]
    n_h = p.sizes[h]
    n_rest = 0
    for item in range(p.labels.size):
        here = p.labels[item]
        if (here == g or here == h) and item != i and item != j:  # noqa: SIM109 - no tuples here
            p.members[n_rest] = item
            p.target[item] = here
            n_rest += 1
    shuffle(rng, p.members, n_rest)
    change = p.log_weight[k - 1] - p.log_weight[k]
    change += p.log_size[n_g + n_h] - p.log_size[n_g] - p.log_size[n_h]
    change += _pour(m, p, n_rest, j, h, g)
    # Back to the present split by the forced pass, which counts q; so a refusal costs nothing more.
    for s in range(n_rest):
        take(m, p, p.members[s])
    take(m, p, j)
    put(m, p, j, h)
    log_q, _ = _allocate(m, p, rng, n_rest, g, h, True)
    if accept(rng, change + log_q):
        tally[2, 1] += 1
        _pour(m, p, n_rest, j, h, g)
        return change
    return 0.0
