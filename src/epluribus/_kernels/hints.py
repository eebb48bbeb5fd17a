"""What a block model suggests to the moves: a cluster for an item, and a rough division of some items."""

from typing import Any

from epluribus._kernels.dispatch import part, routine
from epluribus._typing import IntArray

NEW_SHARE = 0.05
"""Weight of a new cluster in a guess, relative to all others: enough for single items to come and go."""
_ROUNDS = 20
"""Rounds of smoothing: in each, what differs within a group of about 10 links a node shrinks to two thirds,
what differs between two groups hardly at all: from random scores enough for groups of some hundred nodes."""


@part
def guess_cluster(p: Any, table: Any, t: int, transposed: bool) -> None:
    """Fill the weights of a guess by the counts `table[g, t]`, or `table[t, g]`; all equal if t is -1."""
    # One more than counted, so that every cluster can be chosen.
    k = p.n_clusters[0]
    total = 0.0
    for s in range(k):
        p.log_weights[s] = 1.0
        if t >= 0:
            g = p.order[s]
            p.log_weights[s] += table[t, g] if transposed else table[g, t]
        total += p.log_weights[s]
    # A new one has no counts: a fixed share, without which single items would hardly ever leave or return.
    if k < p.order.size:
        p.log_weights[k] = 1.0 + NEW_SHARE * total


@routine
def smooth_scores(
    start: IntArray,
    neighbors: IntArray,
    start_in: IntArray,
    neighbors_in: IntArray,
    directed: bool,
    p: Any,
    n: int,
    g: int,
    h: int,
) -> None:
    """Replace the score of each of the n members by the mean of its neighbors in g and h, again and again.

    The scores tend to the second eigenvector of a random walk on the members, whose signs divide them where
    few edges cross. Nodes without such neighbors keep their score.
    """
    for _ in range(_ROUNDS):
        total = 0.0
        for s in range(n):
            i = p.members[s]
            score = 0.0
            degree = 0
            for at in range(start[i], start[i + 1]):
                x = neighbors[at]
                if p.labels[x] == g or p.labels[x] == h:
                    score += p.scores[x]
                    degree += 1
            if directed:  # edges in both directions count
                for at in range(start_in[i], start_in[i + 1]):
                    x = neighbors_in[at]
                    if p.labels[x] == g or p.labels[x] == h:
                        score += p.scores[x]
                        degree += 1
            if degree > 0:
                p.scores[i] = score / degree
            total += p.scores[i]
        # The first eigenvector, equal scores, divides nothing: it is taken out.
        for s in range(n):
            p.scores[p.members[s]] -= total / n
