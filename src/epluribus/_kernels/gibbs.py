"""Single-site collapsed Gibbs: one item drawn again; `epluribus.sampling.gibbs` has the weights."""

from typing import Any

from epluribus._kernels.chain import grow, put, take
from epluribus._kernels.chance import pick_weighted
from epluribus._kernels.dispatch import logpred, part

__all__ = ["gibbs"]


@part
def gibbs(m: Any, p: Any, i: int, rng: Any, tally: Any) -> float:
    """Draw the cluster of item i from its full conditional; the change of the log target."""
    old = p.labels[i]
    take(m, p, i)
    k = p.n_clusters[0]
    for s in range(k):
        g = p.order[s]
        p.log_weights[s] = p.log_weight[k] + grow(p, g) + logpred(m, p, i, g)
    n = k
    if k < p.sizes.size:  # a new cluster
        g = p.order[k]
        p.log_weights[k] = p.log_weight[k + 1] + grow(p, g) + logpred(m, p, i, g)
        n = k + 1
    # If the item was alone, its old cluster is now `order[k]`: the new one.
    before = p.place[old]
    after = pick_weighted(rng, p.log_weights, n, p.cumulative)
    put(m, p, i, p.order[after])
    tally[0, 0] += 1
    if after == before:
        return 0.0
    tally[0, 1] += 1
    return p.log_weights[after] - p.log_weights[before]
