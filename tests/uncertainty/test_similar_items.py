"""Exemplars, and orders in which similar items are neighbors."""

import numpy as np
import pytest

import epluribus as epl
from epluribus.uncertainty import items, psm
from epluribus.uncertainty._matrix import order_by_similarity


def sample(seed, n_items=14, k=5, **kwargs):
    rng = np.random.default_rng(seed)
    center = np.append(np.arange(k), rng.integers(k, size=n_items - k))
    z = np.where(rng.random((12, n_items)) < 0.35, rng.integers(k, size=(12, n_items)), center)
    return center, epl.Draws(z, **kwargs)


@pytest.mark.parametrize("seed", range(4))
def test_the_exemplar_has_the_largest_mean_similarity_in_its_cluster(seed):
    center, draws = sample(seed, 25, 4)
    labels = epl.partition.by_size(center)
    matrix = psm(draws)
    found = items(labels, draws)
    for cluster, exemplar in enumerate(found.exemplars):
        own = np.flatnonzero(labels == cluster)
        means = [np.mean([matrix[i, j] for j in own if j != i]) if len(own) > 1 else 0 for i in own]
        assert labels[exemplar] == cluster
        assert means[own.tolist().index(exemplar)] == pytest.approx(max(means))


def test_the_order_keeps_clusters_together_and_puts_twins_side_by_side():
    labels = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0])
    z = [labels, labels, labels, np.where(labels == 2, 0, labels), [0, 1, 2, 3, 1, 2, 0, 1, 2, 3]]
    clusters, order = order_by_similarity(psm(z), labels)
    assert sorted(order) == list(range(10))
    assert labels[order].tolist() == np.repeat(clusters, np.bincount(labels)[clusters]).tolist()
    # 0 and 2 are sometimes one: they are neighbors, and 1 is at an end.
    assert clusters[1] != 1
    place = np.argsort(order)
    assert abs(place[0] - place[6]) == abs(place[3] - place[9]) == 1
