"""Merges, exemplars and orders against slow twins that try everything."""

from itertools import combinations

import numpy as np
import pytest

import epluribus as epl
from epluribus.uncertainty import items, merges, psm, similarity_order


def sample(seed, n_items=14, k=5, **kwargs):
    rng = np.random.default_rng(seed)
    center = np.append(np.arange(k), rng.integers(k, size=n_items - k))
    z = np.where(rng.random((12, n_items)) < 0.35, rng.integers(k, size=(12, n_items)), center)
    return center, epl.Draws(z, **kwargs)


@pytest.mark.parametrize("loss", ["vi", "binder", "omari", "nid", epl.losses.vi(cost=0.5)])
@pytest.mark.parametrize("seed", range(3))
def test_every_merge_is_the_best_of_all_and_has_its_expected_loss(loss, seed):
    center, draws = sample(seed, weights=np.linspace(0.5, 2, 12))
    path = merges(center, draws, loss=loss)
    assert len(path) == 4
    for k in range(5, 0, -1):
        labels = path.at(k)
        assert labels.max() + 1 == k
        value = epl.expected_loss(labels, draws, loss)
        assert path.expected_losses[5 - k] == pytest.approx(value, rel=1e-9, abs=1e-12)
        if k > 1:
            unions = [np.where(labels == b, a, labels) for a, b in combinations(range(k), 2)]
            best = min(epl.expected_loss(union, draws, loss) for union in unions)
            assert path.expected_losses[6 - k] == pytest.approx(best, rel=1e-9)
    assert epl.partition.canonical(center).tolist() == path.at(5).tolist()
    assert path.sizes[-1] == draws.n_items


def test_draws_with_missing_labels_are_merged_by_what_they_have_seen():
    center, draws = sample(4)
    z = np.asarray(draws).astype(float)
    z[np.random.default_rng(0).random(z.shape) < 0.2] = np.nan
    path = merges(center, epl.Draws(z))
    for k in range(1, 6):
        value = epl.expected_loss(path.at(k), epl.Draws(z))
        assert path.expected_losses[5 - k] == pytest.approx(value, rel=1e-9)


def test_a_merge_may_cost_less_than_the_one_before():
    """Three clusters that are one in most draws: joining two of them is worse than joining all."""
    draws = epl.Draws([[0] * 6] * 3 + [[0, 0, 1, 1, 2, 2]] * 2)
    path = merges([0, 0, 1, 1, 2, 2], draws, loss="binder")
    heights = path.expected_losses
    assert heights[2] < heights[1]


def test_one_cluster_has_no_merges_and_the_path_knows_its_ends():
    path = merges([0, 0, 0], [[0, 0, 1]])
    assert (len(path), path.n_clusters, path.at(1).tolist()) == (0, 1, [0, 0, 0])
    assert path.order.tolist() == [0]
    with pytest.raises(
        ValueError, match="'k' must be at most 1, the clusters of the estimate; got 2"
    ):
        path.at(2)
    assert path.to_pandas().shape == (0, 5)


def test_clusters_joined_early_are_side_by_side():
    center, draws = sample(2, 30, 8)
    path = merges(center, draws)
    place = np.argsort(path.order)
    assert sorted(place) == list(range(8))
    for k in range(1, 9):
        labels = path.at(k)
        for g in range(k):
            places = np.unique(place[epl.partition.by_size(center)[labels == g]])
            assert np.ptp(places) == len(places) - 1


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
    clusters, order = similarity_order(labels, z)
    assert sorted(order) == list(range(10))
    assert labels[order].tolist() == np.repeat(clusters, np.bincount(labels)[clusters]).tolist()
    # 0 and 2 are sometimes one: they are neighbors, and 1 is at an end.
    assert clusters[1] != 1
    place = np.argsort(order)
    assert abs(place[0] - place[6]) == abs(place[3] - place[9]) == 1
