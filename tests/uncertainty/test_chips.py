"""Partial partitions of high probability, against all partial partitions."""

import itertools

import numpy as np
import pytest

import epluribus as epl


def noisy(seed, n_items, n_draws=30, k=3, noise=0.4):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n_items)
    moved = rng.random((n_draws, n_items)) < noise
    return np.where(moved, rng.integers(0, k, moved.shape), truth), rng


def share_of(z, weights, labels):
    """Weight of the draws that divide the items of a partial partition in the same way."""
    items = np.flatnonzero(labels >= 0)
    wanted = epl.partition.canonical(labels[items]).tolist()
    agree = [epl.partition.canonical(row[items]).tolist() == wanted for row in z]
    return weights[agree].sum() / weights.sum()


def best_share(z, weights, n):
    """The largest probability of all partial partitions of n items."""
    best = 0.0
    for items in itertools.combinations(range(z.shape[1]), n):
        shares = {}
        for row, weight in zip(z[:, items], weights, strict=True):
            key = tuple(epl.partition.canonical(row).tolist())
            shares[key] = shares.get(key, 0.0) + weight
        best = max(best, *shares.values())
    return best / weights.sum()


@pytest.mark.parametrize("seed", range(12))
def test_the_best_of_all_partial_partitions_is_found(seed):
    z, rng = noisy(seed, n_items=3 + seed % 4, noise=0.1 + 0.06 * seed)
    weights = rng.random(len(z)) if seed % 2 else np.ones(len(z))
    found = epl.uncertainty.chips(epl.Draws(z, weights=weights), rng=seed)
    for n in range(1, z.shape[1] + 1):
        part = found.at(n_items=n)
        assert part.n_items == n
        assert part.n_clusters == found.n_clusters[n - 1]
        assert part.probability == pytest.approx(found.probability[n - 1])
        assert part.probability == pytest.approx(share_of(z, weights, part.labels))
        assert part.probability == pytest.approx(best_share(z, weights, n))


def greedy(z, first):
    """Probabilities along the path from one first item, looking at every item and cluster in each step."""
    labels = np.full(z.shape[1], -1)
    labels[first] = 0
    path = [1.0]
    while (labels < 0).any():
        options = []
        for i in np.flatnonzero(labels < 0):
            for cluster in range(labels.max() + 2):
                new = labels.copy()
                new[i] = cluster
                options.append((share_of(z, np.ones(len(z)), new), -i, -cluster))
        share, i, cluster = max(options)
        labels[-i] = -cluster
        path.append(share)
    return path


def test_a_run_takes_the_best_item_in_every_step():
    """Looking only at the item on top of the heap changes nothing, where no two choices are equal."""
    z, _ = noisy(3, n_items=7, n_draws=120, k=4, noise=0.5)
    found = epl.uncertainty.chips(z, n_starts=7, rng=1)
    ref = np.max([greedy(z, first) for first in range(7)], axis=0)
    # Ties may be settled otherwise.
    np.testing.assert_allclose(found.probability, ref, atol=2.1 / 120)
    assert (np.abs(found.probability - ref) < 1e-12).sum() >= 5


def test_all_draws_alike():
    found = epl.uncertainty.chips([[0, 1, 0, 2]] * 5, rng=1)
    np.testing.assert_array_equal(found.probability, 1.0)
    whole = found.at(probability=1.0)
    assert whole.labels.tolist() == [0, 1, 0, 2]
    assert np.isnan(whole.standard_error)  # the draws do not tell it
    assert whole.clusters == [[0, 2], [1], [3]]


def test_the_largest_with_a_given_probability():
    z, _ = noisy(2, n_items=20, n_draws=300, noise=0.1)
    draws = epl.Draws(z, items=[f"i{i}" for i in range(20)])
    found = epl.uncertainty.chips(draws, rng=1)
    part = found.at(probability=0.5)
    assert part.probability >= 0.5 > found.probability[part.n_items]
    assert part.clusters[0][0].startswith("i")
    stated = epl.uncertainty.probability(
        draws,
        together=[group for group in part.clusters if len(group) > 1],
        apart=[group[0] for group in part.clusters],
    )
    assert stated.probability == pytest.approx(part.probability)
    assert stated.standard_error == pytest.approx(part.standard_error)


@pytest.mark.parametrize("seed", range(5))
def test_a_partial_partition_is_completed_by_the_best_of_all(seed):
    z, _ = noisy(seed, 6)
    part = epl.uncertainty.chips(z, rng=1).at(n_items=4)
    whole = part.complete(z, "binder", rng=1)
    inside = part.labels >= 0

    def keeps(labels):
        return epl.partition.canonical(labels[inside]).tolist() == part.labels[inside].tolist()

    allowed = [one for one in epl.partition.partitions(6) if keeps(one)]
    assert keeps(whole.labels)
    assert whole.expected_loss == pytest.approx(
        min(epl.expected_loss(one, z, "binder") for one in allowed)
    )


def test_draws_without_weight_do_not_count():
    z, _ = noisy(4, n_items=6)
    weights = np.r_[np.ones(20), np.zeros(10)]
    with_them = epl.uncertainty.chips(epl.Draws(z, weights=weights), rng=1)
    without = epl.uncertainty.chips(z[:20], rng=1)
    np.testing.assert_allclose(with_them.probability, without.probability)


def test_a_time_limit_returns_the_best_so_far():
    z, _ = noisy(6, n_items=60, n_draws=50)
    found = epl.uncertainty.chips(z, n_starts=1000, time_limit=1e-6, rng=1)
    assert not found.converged
    assert found.n_runs < 1000
    assert (np.diff(found.probability) <= 1e-12).all()
    for n in (2, 30, 60):
        part = found.at(n_items=n)
        assert part.n_items == n
        assert part.probability == pytest.approx(found.probability[n - 1])
