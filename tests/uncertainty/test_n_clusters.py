import itertools

import numpy as np
import pytest
from hypothesis import given

import epluribus as epl
import strategies
from epluribus.uncertainty import n_clusters_posterior


@given(z=strategies.draws(max_draws=20))
def test_posterior_and_shortest_interval(z):
    rng = np.random.default_rng(z.size)
    weights = rng.random(len(z)) + 0.01
    found = n_clusters_posterior(epl.Draws(z, weights=weights), best=z[0], level=0.8)
    k = np.array([len(set(row)) for row in z.tolist()])
    ref = {n: weights[k == n].sum() / weights.sum() for n in range(1, z.shape[1] + 1)}
    for n, probability in ref.items():
        assert found.probability(n) == pytest.approx(probability)
    assert found.probabilities.sum() == pytest.approx(1)
    assert found.mean == pytest.approx(np.average(k, weights=weights))
    assert found.estimate == k[0]
    ranges = itertools.combinations_with_replacement(range(k.min(), k.max() + 1), 2)
    good = [(b - a, -m) for a, b in ranges if (m := sum(ref[n] for n in range(a, b + 1))) >= 0.8]
    low, high = found.interval
    assert high - low == min(good)[0]
    assert found.mass == pytest.approx(-min(good)[1])


def test_printing():
    found = n_clusters_posterior([[0, 0, 1], [0, 0, 1], [0, 1, 2]], best=[0, 0, 0])
    assert "number of clusters: 2 to 3 with probability 1, most probable 2" in str(found)
    assert "the estimate has 1, which has probability 0" in str(found)
    assert repr(found) == "NClusters(mode=2, interval=(2, 3), level=0.95)"
    with pytest.raises(ValueError, match=r"'level' must be a number in \(0, 1\]; got 0"):
        n_clusters_posterior([[0, 1]], level=0)


def test_an_interval_of_one_number_is_that_number():
    text = str(n_clusters_posterior([[0, 1, 2]] * 3))
    assert text.startswith("number of clusters: 3 with probability 1, most probable 3")


def test_a_bound_on_the_number_of_clusters_and_an_ensemble_are_told():
    assert "if the model allows no more" in str(n_clusters_posterior([[0, 1, 2]] * 9 + [[0, 1, 1]]))
    assert "if the model allows" not in str(n_clusters_posterior([[0, 1, 2]] * 8 + [[0, 1, 1]] * 2))
    text = str(n_clusters_posterior(epl.Draws([[0, 1], [0, 0]], kind="ensemble"), best=[0, 1]))
    assert "prob" not in text
    ball = epl.credible_ball([0, 1, 1], epl.Draws([[0, 1, 1], [0, 0, 1]], kind="ensemble"))
    assert "credible" not in str(ball)
