"""What the defaults give on data whose clusters are known."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

import epluribus as epl
from epluribus.models import CategoricalMixture, GaussianMixture, PoissonMixture


@pytest.mark.parametrize("unit", [1.0, 1e-3, 3.2408e-17])  # km/s, 1000 km/s, kiloparsecs a second
def test_galaxies_in_any_unit(unit):
    velocity = epl.datasets.load_galaxies()
    trace = epl.sample(GaussianMixture(unit * velocity), n_draws=1500, n_chains=2, rng=1)
    best = epl.minimize(trace.draws, rng=1)
    assert np.bincount(trace.n_clusters.ravel()).argmax() == 4
    order = np.argsort([velocity[best.labels == g].mean() for g in range(best.n_clusters)])
    assert best.sizes[order].tolist() == [7, 72, 3]


def test_one_correlated_normal_is_one_cluster():
    y = np.random.default_rng(5).multivariate_normal(np.zeros(4), 0.8 + 0.2 * np.eye(4), 300)
    best = epl.minimize(epl.sample(GaussianMixture(y), n_draws=200, rng=1).draws, rng=1)
    assert best.n_clusters == 1


def test_heavy_tails_are_told_where_they_split_a_group():
    rng = np.random.default_rng(1)
    centers = np.repeat([[0.0] * 5, [12.0] * 5], 300, axis=0)
    normal = rng.normal(size=centers.shape)
    heavy = normal / np.sqrt(rng.chisquare(3, (600, 1)) / 3)  # Student, 3 degrees of freedom
    for y, told in ((normal + centers, False), (heavy + centers, True)):
        model = GaussianMixture(y)
        trace = epl.sample(model, n_draws=100, rng=1)
        assert ("heavy tails or outliers" in str(trace)) == told
    # Groups of different spreads, and one within another: the model cannot know.
    far, nested = np.repeat([[1.0], [4.0]], 300, axis=0), np.repeat([[1.0], [5.0]], 300, axis=0)
    labels = np.repeat([0, 1], 300)
    assert GaussianMixture(normal * far + centers).remark(labels) == ""
    assert "perhaps" in GaussianMixture(normal * nested).remark(labels)
    assert GaussianMixture(normal * nested).remark(np.zeros(600, int)) == ""


def test_iris():
    iris = load_iris()
    best = epl.minimize(epl.sample(GaussianMixture(iris.data), n_draws=500, rng=1).draws, rng=1)
    assert adjusted_rand_score(iris.target, best.labels) > 0.88


def test_planted_classes_are_found_with_a_tenth_of_the_cells_missing():
    rng = np.random.default_rng(2)
    truth = np.repeat([0, 1, 2], 40)
    p = rng.dirichlet(np.full(4, 0.3), size=(3, 12))
    words = np.array([[rng.choice(4, p=p[g, d]) for d in range(12)] for g in truth], dtype=float)
    counts = rng.poisson(rng.gamma(1.0, 6.0, (3, 12))[truth]).astype(float)
    for make, y in ((CategoricalMixture, words), (PoissonMixture, counts)):
        y[rng.random(y.shape) < 0.1] = np.nan
        best = epl.minimize(epl.sample(make(y), n_draws=200, rng=1).draws, rng=1)
        assert adjusted_rand_score(truth, best.labels) > 0.95
