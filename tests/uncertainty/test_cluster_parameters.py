"""Parameters of estimated clusters, against loops over draws and items."""

import re

import numpy as np
import pytest
import xarray as xr

import epluribus as epl


def naive(labels, z, parameters):
    """(n_draws, K, ...) mean over the items of each cluster of the parameter of the item's label."""
    out = []
    for row, values in zip(z, parameters, strict=True):
        out.append(
            [
                np.mean([values[row[i]] for i in np.flatnonzero(labels == g)], axis=0)
                for g in range(max(labels) + 1)
            ]
        )
    return np.array(out)


@pytest.fixture
def sample():
    rng = np.random.default_rng(1)
    z = rng.integers(0, 3, (2, 40, 7))
    return z, rng.normal(size=(2, 40, 3, 2)), np.array([0, 0, 1, 1, 1, 2, 0])


@pytest.mark.parametrize("cells", [4_000_000, 30])
def test_averages_over_the_items_of_each_cluster(sample, cells, monkeypatch):
    monkeypatch.setattr("epluribus.uncertainty._parameters._CELLS", cells)
    z, means, labels = sample
    ref = naive(labels, z.reshape(80, 7), means.reshape(80, 3, 2))
    by_label = epl.cluster_parameters(labels, z, parameters=means)
    np.testing.assert_allclose(by_label.values, ref)
    np.testing.assert_allclose(by_label.mean, ref.mean(axis=0))
    np.testing.assert_allclose(by_label.sd, ref.std(axis=0))
    ends = np.quantile(ref, [0.025, 0.5, 0.975], axis=0, method="inverted_cdf")
    np.testing.assert_allclose(by_label.quantiles, ends)
    # The same from the parameters of the items.
    of_items = np.take_along_axis(means, z[..., None], axis=2)
    by_item = epl.cluster_parameters(labels, epl.Draws(z), item_parameters=of_items, level=0.5)
    np.testing.assert_allclose(by_item.values, ref)
    ends = np.quantile(ref, [0.25, 0.5, 0.75], axis=0, method="inverted_cdf")
    np.testing.assert_allclose(by_item.quantiles, ends)
    flat = epl.cluster_parameters(labels, z, item_parameters=of_items.reshape(80, 7, 2))
    np.testing.assert_allclose(flat.values, ref)


def test_switching_labels_changes_nothing(sample):
    z, means, labels = sample
    z, means = z.reshape(80, 7), means.reshape(80, 3, 2)
    rng = np.random.default_rng(2)
    switched, moved = [], []
    for row, values in zip(z, means, strict=True):
        new = rng.permutation(3)
        switched.append(new[row])
        moved.append(values[np.argsort(new)])
    a = epl.cluster_parameters(labels, z, parameters=means)
    b = epl.cluster_parameters(labels, np.array(switched), parameters=np.array(moved))
    np.testing.assert_allclose(a.values, b.values)


def test_weights_and_raw_labels(sample):
    z, means, labels = sample
    z, means = z.reshape(80, 7), means.reshape(80, 3, 2)
    weights = np.random.default_rng(3).random(80)
    weights[:5] = 0
    draws = epl.Draws(z, weights=weights)
    found = epl.cluster_parameters(labels, draws, parameters=means, raw_labels=z)
    ref = naive(labels, z, means)
    np.testing.assert_allclose(found.mean, np.average(ref, axis=0, weights=weights))
    with pytest.raises(ValueError, match="'raw_labels' must be given"):
        epl.cluster_parameters(labels, draws, parameters=means)


def test_each_draw_may_have_its_own_number_of_labels():
    z = [[0, 0, 1], [0, 0, 0], [0, 1, 2]]
    means = [[1.0, 5.0], [2.0], [1.0, 3.0, 7.0]]
    found = epl.cluster_parameters([0, 0, 1], z, parameters=means)
    np.testing.assert_allclose(found.values, [[1, 5], [2, 2], [2, 7]])


def test_variables_of_arviz(sample):
    z, means, labels = sample
    dims = ("chain", "draw")
    posterior = xr.Dataset({"z": ((*dims, "item"), z), "mu": ((*dims, "component", "dim"), means)})
    of_items = np.take_along_axis(means, z[..., None], axis=2)
    theta = xr.DataArray(of_items, dims=(*dims, "item", "dim"))
    ref = epl.cluster_parameters(labels, z, parameters=means)
    for variable in (
        posterior["mu"],
        posterior["mu"].transpose("component", "dim", "draw", "chain"),
    ):
        found = epl.cluster_parameters(labels, posterior["z"], parameters=variable)
        np.testing.assert_allclose(found.values, ref.values)
    draws = epl.Draws(posterior["z"])
    found = epl.cluster_parameters(
        labels, draws, item_parameters=theta.transpose("item", "draw", "dim", "chain")
    )
    np.testing.assert_allclose(found.values, ref.values)


def test_it_is_printed_as_a_table(sample):
    z, means, labels = sample
    found = epl.cluster_parameters(labels, z, parameters=means[..., 0], level=0.9)
    head, *rows = str(found).splitlines()
    assert head.split() == ["cluster", "size", "mean", "sd", "5", "%", "50", "%", "95", "%"]
    assert [row.split()[:2] for row in rows] == [["0", "3"], ["1", "3"], ["2", "1"]]
    both = epl.cluster_parameters(labels, z, parameters=means)
    assert "mean [1]" in str(both)
    assert repr(both) == "ClusterParameters(n_clusters=3, shape=(2,))"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "Give one of 'item_parameters' and 'parameters'"),
        ({"parameters": [[1, 2]], "item_parameters": [[1, 2]]}, "Give one of"),
        ({"item_parameters": np.zeros((2, 4))}, "must have shape (2, 3, ...), draws by items; got"),
        ({"item_parameters": np.zeros((2, 3)), "raw_labels": [[0, 0, 0]] * 2}, "need no labels"),
        ({"item_parameters": [[0, 1, np.nan]] * 2}, "'item_parameters' must have no missing"),
        ({"parameters": [[1.0], [1.0]]}, "has entries for labels 0..0"),
        ({"parameters": [[1.0], [1.0, 2.0]]}, "those of draw 0 have some"),
        ({"item_parameters": np.zeros((2, 3)), "level": 1}, "'level' must be a number in (0, 1)"),
    ],
)
def test_what_does_not_fit_is_refused(options, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        epl.cluster_parameters([0, 0, 1], [[0, 0, 1], [0, 1, 1]], **options)
