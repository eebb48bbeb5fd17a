"""The partition a chain is at: taking items out, putting them in, counting the prior.

Clusters have fixed numbers 0..slots-1. `order` is a permutation of them whose first K entries are
in use, `place` its inverse: opening or closing a cluster is one swap, and the next new cluster is
always `order[K]`. The law of the partition is given by two tables (see `epluribus.models.prior`):

    log p(partition) = log_weight[K] + sum over clusters of log_size[n_g]
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.dispatch import add, logpred, part, prepare, remove, reset, routine

__all__ = ["Partition", "Record", "grow", "log_prior", "put", "rebuild", "take"]


class Partition(NamedTuple):
    """One partition under change, its prior, and work space."""

    labels: NDArray[np.int64]
    """(n_items,) cluster of each item; -1 while it is taken out."""
    sizes: NDArray[np.int64]
    """(slots,) items in each cluster."""
    order: NDArray[np.int64]
    """(slots,) the clusters, those in use first."""
    place: NDArray[np.int64]
    """(slots,) where in `order` each cluster stands."""
    n_clusters: NDArray[np.int64]
    """(1,) K, the number of clusters in use."""
    log_weight: NDArray[np.float64]
    """(slots + 2,) the prior's table of K; minus infinity at 0 and slots + 1."""
    log_size: NDArray[np.float64]
    """(n_items + 1,) the prior's table of cluster sizes; 0 at 0."""
    log_factorial: NDArray[np.float64]
    """(n_items + 1,) log n!."""
    members: NDArray[np.int64]
    """(n_items,) WORK: the items a move handles."""
    target: NDArray[np.int64]
    """(n_items,) WORK: where they belong."""
    log_weights: NDArray[np.float64]
    """(slots + 1,) WORK: log probabilities of the choices of one item, up to a constant."""
    cumulative: NDArray[np.float64]
    """(slots + 1,) WORK: their running sum."""


class Record(NamedTuple):
    """What is kept of one partition."""

    labels: NDArray[np.int32]
    """(capacity, n_items) OUT: the draws kept since the record was last emptied."""
    n_clusters: NDArray[np.int64]
    """(capacity,) OUT: their K."""
    best: NDArray[np.int64]
    """(n_items,) OUT: the labels of highest posterior so far."""
    tally: NDArray[np.int64]
    """(kinds, 2) OUT: proposed and accepted, by kind of move."""


@part
def grow(p: Any, g: int) -> float:
    """Log prior factor of one more item in cluster g (the number of clusters apart)."""
    n = p.sizes[g]
    return p.log_size[n + 1] - p.log_size[n]


@part
def take(m: Any, p: Any, i: int) -> float:
    """Take item i out of its cluster, which closes if empty; its log predictive there."""
    g = p.labels[i]
    p.labels[i] = -1
    p.sizes[g] -= 1
    value = remove(m, p, i, g)
    if p.sizes[g] == 0:  # swap with the last cluster in use
        k = p.n_clusters[0] - 1
        last = p.order[k]
        here = p.place[g]
        p.order[here] = last
        p.place[last] = here
        p.order[k] = g
        p.place[g] = k
        p.n_clusters[0] = k
    return value


@part
def put(m: Any, p: Any, i: int, g: int) -> float:
    """Put the prepared item i into cluster g, opened if it is `order[K]`; its log predictive."""
    if p.place[g] == p.n_clusters[0]:
        p.n_clusters[0] += 1
    value = add(m, p, i, g)
    p.sizes[g] += 1
    p.labels[i] = g
    return value


@part
def log_prior(p: Any) -> float:
    """log_weight[K] + sum of log_size[n_g]."""
    k = p.n_clusters[0]
    value = p.log_weight[k]
    for s in range(k):
        value += p.log_size[p.sizes[p.order[s]]]
    return value


@routine
def rebuild(m: Any, p: Any) -> float:
    """Statistics from scratch; the log marginal likelihood, by the chain rule over items.

    Removes the rounding that running sums collect. Clusters keep their numbers and their order.
    """
    n_items = p.labels.size
    reset(m)
    for i in range(n_items):
        p.target[i] = p.labels[i]
        p.labels[i] = -1
    for g in range(p.sizes.size):
        p.sizes[g] = 0
    total = 0.0
    for i in range(n_items):
        g = p.target[i]
        prepare(m, p, i)
        total += logpred(m, p, i, g)
        add(m, p, i, g)
        p.sizes[g] += 1
        p.labels[i] = g
    return total
