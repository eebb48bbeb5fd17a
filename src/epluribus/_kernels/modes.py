"""Distances between draws, and how far an item that moves alone carries a draw, for the number of modes.

Two draws are points in the space of pairs of items, with coordinate 1 for a pair that is together. Their squared
distance is the number of pairs on which they disagree, which is Binder's loss.
"""

import numpy as np

from epluribus._kernels.jit import kernel


@kernel
def draw_distances(labels, n_labels):
    """(n_draws, n_draws) squared distances; labels of -1 are missing.

    The distance is that on the pairs of items that both draws have seen, scaled to all pairs; NaN if there is none.
    """
    n_draws, n_items = labels.shape
    out = np.zeros((n_draws, n_draws))
    both = np.zeros((n_labels, n_labels), np.int64)
    first, second = np.zeros(n_labels, np.int64), np.zeros(n_labels, np.int64)
    all_pairs = n_items * (n_items - 1)
    for t in range(n_draws):
        for u in range(t):
            apart = n_seen = 0
            for i in range(n_items):
                g, h = labels[t, i], labels[u, i]
                if g >= 0 and h >= 0:
                    # Pairs of i with earlier items that are together in one of the two draws only.
                    apart += first[g] + second[h] - 2 * both[g, h]
                    first[g] += 1
                    second[h] += 1
                    both[g, h] += 1
                    n_seen += 1
            for i in range(n_items):
                g, h = labels[t, i], labels[u, i]
                if g >= 0 and h >= 0:
                    first[g] = second[h] = both[g, h] = 0
            pairs = n_seen * (n_seen - 1)
            out[t, u] = out[u, t] = apart * all_pairs / pairs if pairs > 0 else np.nan
    return out


@kernel
def single_moves(labels, n_labels, directions):
    """(n_draws,) how far along the directions one item gets that goes to another cluster, at most.

    The coordinate of a draw is the sum, over the pairs that are together in it, of a weight of the pair: the sum of
    `directions`, of shape (n_draws, n_directions), over the draws that have the pair together.
    """
    n_draws, n_items = labels.shape
    n = directions.shape[1]
    weight = np.zeros((n_items, n_items, n))
    for t in range(n_draws):
        for i in range(n_items):
            for j in range(i):
                if labels[t, i] == labels[t, j] and labels[t, i] >= 0:
                    for q in range(n):
                        weight[i, j, q] += directions[t, q]
                        weight[j, i, q] += directions[t, q]
    out = np.zeros(n_draws)
    near = np.zeros((n_labels, n))
    for t in range(n_draws):
        for i in range(n_items):
            own = labels[t, i]
            if own < 0:
                continue
            near[:] = 0.0
            for j in range(n_items):
                if labels[t, j] >= 0 and j != i:
                    for q in range(n):
                        near[labels[t, j], q] += weight[i, j, q]
            for h in range(n_labels):
                square = 0.0
                for q in range(n):
                    square += (near[h, q] * (h != own) - near[own, q]) ** 2
                out[t] = max(out[t], np.sqrt(square))
    return out
