"""The partition of a chain: taking items out, putting them in, and the prior.

Clusters have fixed numbers 0..slots-1, of which K are not empty. `order` is a permutation of the numbers
that begins with those of the non-empty clusters, and `place` is its inverse. Opening or closing a cluster
takes at most one swap, and the next new cluster is always `order[K]`. With four slots, clusters 2 and 0 in
use and K = 2:

    order = [2, 0, 1, 3]    place = [1, 2, 0, 3]    the next new cluster is 1

The prior of the partition is given by two tables (see `epluribus.models.prior`):

    log p(partition) = log_weight[K] + sum over clusters of log_size[n_g]
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.dispatch import add, logpred, part, prepare, remove, reset, routine
from epluribus._kernels.reference import by_reference
from epluribus._typing import FloatArray, IntArray

KINDS = (
    "gibbs",
    "split",
    "merge",
    "transfer",
    "absorption",
    "ejection",
    "informed",
    "regroup",
    "exchange",
    "dissolve",
    "condense",
)
"""Kinds of proposals, one for each row of `Record.tally`. Checkpoints contain the rows: new ones must be
added at the end."""


@by_reference
class Partition(NamedTuple):
    """One partition under change, its prior, and work space."""

    labels: IntArray
    """(n_items,) cluster of each item; -1 while it is taken out."""
    sizes: IntArray
    """(slots,) number of items in each cluster."""
    order: IntArray
    """(slots,) the numbers of the clusters, the non-empty ones first."""
    place: IntArray
    """(slots,) position of each cluster in `order`."""
    n_clusters: IntArray
    """(1,) number of non-empty clusters, K: an array, because kernels change it."""
    log_weight: FloatArray
    """(slots + 2,) the prior's table for K; minus infinity at 0 and at slots + 1, which are impossible."""
    log_size: FloatArray
    """(n_items + 1,) the prior's table for the size of a cluster; 0 at 0."""
    log_factorial: FloatArray
    """(n_items + 1,) log n!."""
    members: IntArray
    """(n_items,) WORK: the items that a move handles."""
    target: IntArray
    """(n_items,) WORK: the cluster to which each item is to return."""
    scores: FloatArray
    """(n_items,) WORK: the side of a division on which each item begins, by its sign."""
    log_weights: FloatArray
    """(slots + 1,) WORK: log probabilities of the choices of one item, up to a constant."""
    cumulative: FloatArray
    """(slots + 1,) WORK: running sum of the probabilities."""


@by_reference
class Record(NamedTuple):
    """What a chain keeps of one of its partitions."""

    labels: NDArray[np.int32]
    """(capacity, n_items) OUT: the draws kept since the record was last emptied."""
    n_clusters: IntArray
    """(capacity,) OUT: K of each draw."""
    best: IntArray
    """(n_items,) OUT: the labels with the highest posterior density so far."""
    tally: IntArray
    """(kinds, 2) OUT: proposals and acceptances, by kind of move."""


@part
def grow(p: Any, g: int) -> float:
    """Log prior ratio of one more item in cluster g to none, without the factor for K."""
    n = p.sizes[g]
    return p.log_size[n + 1] - p.log_size[n]


@part
def take(m: Any, p: Any, i: int) -> float:
    """Take item i out of its cluster, which closes if empty; return its log predictive there."""
    g = p.labels[i]
    p.labels[i] = -1
    p.sizes[g] -= 1  # before `remove`: the model sees the sizes without i
    value = remove(m, p, i, g)
    # A cluster left empty is swapped with the last non-empty one. It becomes `order[K]`, the next new
    # cluster, so an item that was alone finds its old cluster again as the new one.
    if p.sizes[g] == 0:
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
    """Put the prepared item i into cluster g, opened if it is `order[K]`; return its log predictive."""
    # Opened before `add`: the model goes through the clusters in use, g among them.
    if p.place[g] == p.n_clusters[0]:
        p.n_clusters[0] += 1
    value = add(m, p, i, g)
    p.sizes[g] += 1  # after `add`, for the same reason as in `take`
    p.labels[i] = g
    return value


@routine
def move_out(m: Any, p: Any, i: int) -> float:
    """`take`, compiled once for all moves of many items: inlining it everywhere would take long."""
    return take(m, p, i)


@routine
def move_in(m: Any, p: Any, i: int, g: int) -> float:
    """`put`, compiled once."""
    return put(m, p, i, g)


@routine
def log_weight_in(m: Any, p: Any, i: int, g: int) -> float:
    """Log of prior times predictive of the prepared item i in the non-empty cluster g."""
    return grow(p, g) + logpred(m, p, i, g)


@routine
def gather(m: Any, p: Any, n: int, g: int) -> float:
    """Put the first n `members` into cluster g; return the change of the log likelihood."""
    change = 0.0
    for s in range(n):
        i = p.members[s]
        if p.labels[i] != g:
            change -= move_out(m, p, i)
            change += move_in(m, p, i, g)
    return change


@routine
def log_target(models: Any, partitions: Any) -> float:
    """Log prior plus log marginal likelihood, all statistics recomputed from the labels.

    This removes the rounding errors that running sums accumulate. Clusters keep their numbers and order.
    """
    # Both sides of a model share their statistics, so filling those of the first side fills all.
    m, p = models[0], partitions[0]
    # Take everything out; `n_clusters` and `order` stay, since every cluster is filled again.
    reset(m)
    for i in range(p.labels.size):
        p.target[i] = p.labels[i]
        p.labels[i] = -1
    for g in range(p.sizes.size):
        p.sizes[g] = 0
    # Log likelihood by the chain rule: log p(y_1) + log p(y_2 | y_1) + ..., given the labels.
    value = 0.0
    for i in range(p.labels.size):
        g = p.target[i]
        prepare(m, p, i)
        value += add(m, p, i, g)
        p.sizes[g] += 1
        p.labels[i] = g
    for side in range(len(partitions)):
        p = partitions[side]
        # log_weight[K] + sum over clusters of log_size[n_g]
        log_prior = p.log_weight[p.n_clusters[0]]
        for s in range(p.n_clusters[0]):
            log_prior += p.log_size[p.sizes[p.order[s]]]
        value += log_prior
    return value
