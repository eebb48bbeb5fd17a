import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

import epluribus as epl

RNG = np.random.default_rng(0)
TRUTH = np.repeat([0, 1, 2], 20)
POINTS = RNG.normal(size=(60, 2)) + np.array([[0, 0], [9, 0], [0, 9]])[TRUTH]
X = np.where(RNG.random((60, 15)) < 0.8, TRUTH[:, None], RNG.integers(5, size=(60, 15)))
FEATURES = "it fits continuous features, and X must hold labels"


@parametrize_with_checks(
    [
        epl.ConsensusClustering(estimators=[KMeans(3)], random_state=1),
        epl.ConsensusClustering(random_state=1),
    ],
    expected_failed_checks=lambda model: (
        {}
        if model.estimators
        else {"check_clustering": FEATURES, "check_positive_only_tag_during_fit": FEATURES}
    ),
)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_columns_are_base_clusterings():
    model = epl.ConsensusClustering(random_state=1)
    labels = model.fit_predict(X)
    ref = epl.minimize(X.T, "vi", rng=1)
    np.testing.assert_array_equal(labels, ref.labels)
    assert (model.n_clusters_, model.expected_loss_) == (ref.n_clusters, ref.expected_loss)
    assert model.n_features_in_ == 15
    np.testing.assert_array_equal(labels, epl.partition.canonical(TRUTH))
    words = np.array(list("abcde"))[X]
    np.testing.assert_array_equal(
        epl.ConsensusClustering(random_state=1).fit(words).labels_, labels
    )
    np.testing.assert_array_equal(
        epl.ConsensusClustering(random_state=1).fit(X * 1.0).labels_, labels
    )


def test_parameters_reach_the_search():
    assert epl.ConsensusClustering("binder", n_clusters=2, random_state=1).fit(X).n_clusters_ == 2
    assert epl.ConsensusClustering(k_max=1).fit(X).n_clusters_ == 1
    loss = epl.losses.vi(cost=0.5)
    copy = clone(epl.ConsensusClustering(loss, random_state=3))
    assert copy.get_params()["loss"] is loss
    assert pickle.loads(pickle.dumps(copy.fit(X))).estimate_.loss.name == "vi(cost=0.5)"


def test_weights():
    weights = np.zeros(15)
    weights[4] = 2.0
    labels = epl.ConsensusClustering(weights=weights, random_state=1).fit(X).labels_
    np.testing.assert_array_equal(labels, epl.partition.by_size(X[:, 4]))
    with pytest.raises(ValueError, match=r"'weights' must have one entry per draw, shape \(15,\)"):
        epl.ConsensusClustering(weights=[1, 2]).fit(X)


def test_fitted_estimators():
    base = [KMeans(k, n_init=1, random_state=k).fit(POINTS) for k in (2, 3, 3, 4, 5)]
    labels = epl.ConsensusClustering(random_state=1).fit_predict(base)
    ref = epl.ConsensusClustering(random_state=1).fit_predict(
        np.column_stack([one.labels_ for one in base])
    )
    np.testing.assert_array_equal(labels, ref)
    draws = epl.Draws(base, weights=[1, 2, 3, 4, 5])
    assert (draws.n_draws, draws.n_items, draws.total_weight) == (5, 60, 15)


def test_features_are_clustered_here():
    base = [KMeans(2), KMeans(3), AgglomerativeClustering(3)]
    model = epl.ConsensusClustering(estimators=base, n_fits=4, subsample=0.7, random_state=1)
    labels = model.fit_predict(POINTS)
    np.testing.assert_array_equal(labels, epl.partition.canonical(TRUTH))
    np.testing.assert_array_equal(clone(model).fit(POINTS).labels_, labels)
    assert not hasattr(base[0], "labels_")  # copies are fitted
    assert len({one.random_state for one in model.estimators_[:2]}) == 2
    assert (model.draws_.n_seen == 42).all()
    with pytest.raises(TypeError, match="must be able to predict; AgglomerativeClustering is not"):
        model.predict(POINTS)
    for wrong in ({"estimators": KMeans(3)}, {"estimators": ["kmeans"]}):
        with pytest.raises(TypeError, match=r"'estimators' must be a list of clusterers"):
            epl.ConsensusClustering(**wrong).fit(POINTS)
    with pytest.raises(ValueError, match=r"'subsample' must be above 0 and at most 1; got 7"):
        clone(model).set_params(subsample=7).fit(POINTS)


def test_new_samples_go_where_their_fellows_are():
    model = epl.ConsensusClustering(estimators=[KMeans(3)], n_fits=5, random_state=1).fit(POINTS)
    np.testing.assert_array_equal(model.predict(POINTS), model.labels_)
    labels = epl.ConsensusClustering(random_state=1).fit(X)
    new = np.vstack([X[[0, 25, 50]], np.full(15, 99), np.full(15, -1)])
    assert labels.predict(new).tolist() == [0, 1, 2, -1, -1]
    # By hand: the mean over clusterings of the share of a cluster that has the label of the new sample.
    by_hand = [[(X[labels.labels_ == g] == row).mean() for g in range(3)] for row in X]
    np.testing.assert_array_equal(labels.predict(X), np.argmax(by_hand, axis=1))


def test_clusterings_of_some_samples():
    seen = [np.arange(40), np.arange(20, 60), np.r_[:20, 40:60]]
    pairs = [(items, TRUTH[items] + t) for t, items in enumerate(seen)]
    model = epl.ConsensusClustering(random_state=1).fit(pairs)
    np.testing.assert_array_equal(model.labels_, epl.partition.canonical(TRUTH))
    assert (model.draws_.n_seen == 40).all()
    assert model.predict([[1, 2, 2], [7, 3, 4]]).tolist() == [1, 2]


def test_groups_of_clusterings_disagree_or_not():
    noisy = np.where(RNG.random((60, 12)) < 0.9, TRUTH[:, None], RNG.integers(3, size=(60, 12)))
    other = np.where(noisy == 2, 1, noisy)  # an algorithm that never finds the third cluster
    groups = np.repeat(["a", "b"], 12)
    far = epl.ConsensusClustering(random_state=1).fit(np.hstack([noisy, other]))
    table = far.compare_groups(groups)
    assert (table["p_value"] < 0.01).all()
    assert (table["between"] > table["within"]).all()
    rows = np.asarray(far.draws_)
    pairs = [epl.loss(rows[i], rows[j]) for i in range(12) for j in range(i)]
    assert table.loc["a", "within"] == pytest.approx(np.mean(pairs))
    same = epl.ConsensusClustering(random_state=1).fit(np.hstack([noisy, noisy]))
    assert (same.compare_groups(groups)["p_value"] > 0.5).all()
    mixed = epl.ConsensusClustering(estimators=[KMeans(2), KMeans(3)], n_fits=6, random_state=1)
    assert mixed.fit(POINTS).compare_groups()["clusterings"].tolist() == [6, 6]
    for wrong in (None, [1] * 24, ["a", "b"]):
        with pytest.raises(ValueError, match=r"'groups' must have the group of each of the 24"):
            same.compare_groups(wrong)


def test_noise_is_alone_or_together():
    far = np.vstack([POINTS, [[90, 90], [-90, 0], [0, -90]]])
    base = [DBSCAN(eps=4).fit(far), DBSCAN(eps=5).fit(far)]
    assert (base[0].labels_[-3:] == -1).all()
    table = np.column_stack([one.labels_ for one in base])
    for noise, n_clusters in (("alone", 6), ("together", 4)):
        assert np.unique(epl.Draws(base, noise=noise)[0]).size == n_clusters
        for given in (base, table):
            model = epl.ConsensusClustering(noise=noise, random_state=1).fit(given)
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
        epl.Draws([GaussianMixture(2).fit(POINTS)])
    fits = [KMeans(2, n_init=1).fit(points) for points in (POINTS, POINTS[:9])]
    with pytest.raises(ValueError, match=r"number 0 has 60 labels and number 1 has 9"):
        epl.Draws(fits)


def test_a_missing_scikit_learn_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "epluribus.search.consensus", raising=False)
    monkeypatch.delitem(vars(epl), "ConsensusClustering", raising=False)
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    message = r"ConsensusClustering needs the package 'sklearn', .*\"epluribus\[sklearn\]\""
    with pytest.raises(ImportError, match=message):
        _ = epl.ConsensusClustering
    assert "ConsensusClustering" in dir(epl)


def test_the_same_seed_is_not_used_twice():
    kmeans = KMeans(5, n_init=1, random_state=3)
    model = epl.ConsensusClustering(estimators=[kmeans], n_fits=8, random_state=1).fit(POINTS)
    assert model.draws_.n_distinct > 1
    assert model.estimators_[0].random_state == 3


def test_rows_of_a_frame_keep_their_names():
    frame = pd.DataFrame(X, index=[f"p{i}" for i in range(60)])
    apart = epl.Constraints(cannot_link=[("p0", "p1")])
    model = epl.ConsensusClustering(constraints=apart, random_state=1).fit(frame)
    assert model.estimate_.items == tuple(frame.index)
    assert model.labels_[0] != model.labels_[1]
    with pytest.raises(ValueError, match="must be at most 60, the samples; got 400"):
        epl.ConsensusClustering(n_clusters=400).fit(X)


def test_samples_without_any_label_are_named():
    noise = epl.ConsensusClustering(estimators=[DBSCAN(0.01)], noise="missing")
    with pytest.raises(ValueError, match=r"Sample 0 .* has no label in any base clustering"):
        noise.fit(POINTS)
