import pickle
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import epluribus as epl

RNG = np.random.default_rng(0)
TRUTH = np.repeat([0, 1, 2], 20)
POINTS = RNG.normal(size=(60, 2)) + np.array([[0, 0], [9, 0], [0, 9]])[TRUTH]
X = np.where(RNG.random((60, 15)) < 0.8, TRUTH[:, None], RNG.integers(5, size=(60, 15)))
FEATURES = "it fits continuous features, and X must hold labels"


@parametrize_with_checks(
    [epl.ConsensusClustering(rng=1)],
    expected_failed_checks=lambda _: {
        "check_clustering": FEATURES,
        "check_positive_only_tag_during_fit": FEATURES,
    },
)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_columns_are_base_clusterings():
    model = epl.ConsensusClustering(rng=1)
    labels = model.fit_predict(X)
    ref = epl.minimize(X.T, "vi", rng=1)
    np.testing.assert_array_equal(labels, ref.labels)
    assert (model.n_clusters_, model.expected_loss_) == (ref.n_clusters, ref.expected_loss)
    assert model.n_features_in_ == 15
    np.testing.assert_array_equal(labels, epl.partition.canonical(TRUTH))
    words = np.array(list("abcde"))[X]
    np.testing.assert_array_equal(epl.ConsensusClustering(rng=1).fit(words).labels_, labels)
    np.testing.assert_array_equal(epl.ConsensusClustering(rng=1).fit(X * 1.0).labels_, labels)


def test_parameters_reach_the_search():
    assert epl.ConsensusClustering("binder", k=2, rng=1).fit(X).n_clusters_ == 2
    assert epl.ConsensusClustering(k_max=1).fit(X).n_clusters_ == 1
    loss = epl.losses.vi(cost=0.5)
    copy = clone(epl.ConsensusClustering(loss, rng=3))
    assert copy.get_params()["loss"] is loss
    assert pickle.loads(pickle.dumps(copy.fit(X))).estimate_.loss.name == "vi(cost=0.5)"


def test_weights():
    weights = np.zeros(15)
    weights[4] = 2.0
    labels = epl.ConsensusClustering(weights=weights, rng=1).fit(X).labels_
    np.testing.assert_array_equal(labels, epl.partition.by_size(X[:, 4]))
    with pytest.raises(ValueError, match=r"'weights' must have one entry per draw, shape \(15,\)"):
        epl.ConsensusClustering(weights=[1, 2]).fit(X)


def test_fitted_estimators():
    base = [KMeans(k, n_init=1, random_state=k).fit(POINTS) for k in (2, 3, 3, 4, 5)]
    labels = epl.ConsensusClustering(rng=1).fit_predict(base)
    ref = epl.ConsensusClustering(rng=1).fit_predict(np.column_stack([one.labels_ for one in base]))
    np.testing.assert_array_equal(labels, ref)
    draws = epl.Draws.from_estimators(base, weights=[1, 2, 3, 4, 5])
    assert (draws.n_draws, draws.n_items, draws.total_weight) == (5, 60, 15)


def test_end_of_a_pipeline():
    def base(points):
        fits = [KMeans(k, n_init=1, random_state=k).fit(points) for k in (2, 3, 3, 4)]
        return np.column_stack([one.labels_ for one in fits])

    pipeline = make_pipeline(FunctionTransformer(base), epl.ConsensusClustering(rng=1))
    np.testing.assert_array_equal(pipeline.fit_predict(POINTS), epl.partition.canonical(TRUTH))


def test_noise_is_alone_or_together():
    far = np.vstack([POINTS, [[90, 90], [-90, 0], [0, -90]]])
    base = [DBSCAN(eps=4).fit(far), DBSCAN(eps=5).fit(far)]
    assert (base[0].labels_[-3:] == -1).all()
    table = np.column_stack([one.labels_ for one in base])
    for noise, n_clusters in (("alone", 6), ("together", 4)):
        assert np.unique(epl.Draws.from_estimators(base, noise=noise)[0]).size == n_clusters
        for given in (base, table):
            model = epl.ConsensusClustering(noise=noise, rng=1).fit(given)
            assert model.n_clusters_ == n_clusters
    with pytest.raises(
        ValueError, match=r"'noise' must be one of 'alone', 'together', 'missing'; got 'no'"
    ):
        epl.ConsensusClustering(noise="no").fit(X)


def test_bad_ensembles_are_refused_in_words():
    with pytest.raises(ValueError, match=r"sample 0, column 0 .* not a label. If .X. holds feat"):
        epl.ConsensusClustering().fit(POINTS)
    with pytest.raises(ValueError, match=r"'labels_'; number 1 \(KMeans\) has none. Fit it first"):
        epl.ConsensusClustering().fit([KMeans(2, n_init=1).fit(POINTS), KMeans(2)])
    with pytest.raises(ValueError, match=r"number 0 \(GaussianMixture\) has none.* only predicts"):
        epl.Draws.from_estimators([GaussianMixture(2).fit(POINTS)])
    fits = [KMeans(2, n_init=1).fit(points) for points in (POINTS, POINTS[:9])]
    with pytest.raises(ValueError, match=r"number 0 has 60 labels and number 1 has 9"):
        epl.Draws.from_estimators(fits)
    with pytest.raises(ValueError, match=r"'estimators' must have at least one estimator"):
        epl.Draws.from_estimators([])


def test_a_missing_scikit_learn_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "epluribus.search.consensus", raising=False)
    monkeypatch.delitem(vars(epl), "ConsensusClustering", raising=False)
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    message = r"ConsensusClustering needs the package 'sklearn', .*\"epluribus\[sklearn\]\""
    with pytest.raises(ImportError, match=message):
        _ = epl.ConsensusClustering
    assert "ConsensusClustering" in dir(epl)
