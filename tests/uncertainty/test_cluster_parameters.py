"""Parameters of estimated clusters, against loops over draws and items."""

import re

import numpy as np
import pytest
import xarray as xr

import epluribus as epl


def naive(labels, z, parameters):
    """(n_draws, K, ...) mean over the items of each cluster of the parameter of the item's label."""
    members = [np.flatnonzero(labels == g) for g in range(max(labels) + 1)]
    return np.array(
        [
            [np.mean([values[row[i]] for i in items], axis=0) for items in members]
            for row, values in zip(z, parameters, strict=True)
        ]
    )


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
    by_label = epl.uncertainty.cluster_parameters(labels, z, parameters=means)
    np.testing.assert_allclose(by_label.values, ref)
    np.testing.assert_allclose(by_label.mean, ref.mean(axis=0))
    np.testing.assert_allclose(by_label.sd, ref.std(axis=0))
    ends = np.quantile(ref, [0.025, 0.5, 0.975], axis=0, method="inverted_cdf")
    np.testing.assert_allclose(by_label.quantiles, ends)
    # The same from the parameters of the items.
    of_items = np.take_along_axis(means, z[..., None], axis=2)
    by_item = epl.uncertainty.cluster_parameters(
        labels, epl.Draws(z), item_parameters=of_items, level=0.5
    )
    np.testing.assert_allclose(by_item.values, ref)
    ends = np.quantile(ref, [0.25, 0.5, 0.75], axis=0, method="inverted_cdf")
    np.testing.assert_allclose(by_item.quantiles, ends)
    flat = epl.uncertainty.cluster_parameters(labels, z, item_parameters=of_items.reshape(80, 7, 2))
    np.testing.assert_allclose(flat.values, ref)


def test_weights_and_raw_labels(sample):
    z, means, labels = sample
    z, means = z.reshape(80, 7), means.reshape(80, 3, 2)
    weights = np.random.default_rng(3).random(80)
    weights[:5] = 0
    draws = epl.Draws(z, weights=weights)
    found = epl.uncertainty.cluster_parameters(labels, draws, parameters=means, raw_labels=z)
    ref = naive(labels, z, means)
    np.testing.assert_allclose(found.mean, np.average(ref, axis=0, weights=weights))
    with pytest.raises(ValueError, match="'raw_labels' must be given"):
        epl.uncertainty.cluster_parameters(labels, draws, parameters=means)


def test_each_draw_may_have_its_own_number_of_labels():
    z = [[0, 0, 1], [0, 0, 0], [0, 1, 2]]
    means = [[1.0, 5.0], [2.0], [1.0, 3.0, 7.0]]
    found = epl.uncertainty.cluster_parameters([0, 0, 1], z, parameters=means)
    np.testing.assert_allclose(found.values, [[1, 5], [2, 2], [2, 7]])


def test_variables_of_arviz(sample):
    z, means, labels = sample
    dims = ("chain", "draw")
    posterior = xr.Dataset({"z": ((*dims, "item"), z), "mu": ((*dims, "component", "dim"), means)})
    of_items = np.take_along_axis(means, z[..., None], axis=2)
    theta = xr.DataArray(of_items, dims=(*dims, "item", "dim"))
    ref = epl.uncertainty.cluster_parameters(labels, z, parameters=means)
    mu, theta = posterior["mu"], theta.transpose("item", "draw", "dim", "chain")
    turned = mu.transpose("component", "dim", "draw", "chain")
    for given_as in ({"parameters": mu}, {"parameters": turned}, {"item_parameters": theta}):
        found = epl.uncertainty.cluster_parameters(labels, posterior["z"], **given_as)
        np.testing.assert_allclose(found.values, ref.values)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "Give one of 'item_parameters' and 'parameters'"),
        ({"parameters": [[1, 2]], "item_parameters": [[1, 2]]}, "Give one of"),
        ({"item_parameters": np.zeros((2, 4))}, "must have shape (2, 3, ...), draws by items; got"),
        ({"item_parameters": np.zeros((2, 3)), "raw_labels": [[0, 0, 0]] * 2}, "need no labels"),
        ({"item_parameters": np.zeros((2, 3)), "probabilities": [[[1.0]] * 3] * 2}, "is for 'param"),
        ({"parameters": [[1.0]], "probabilities": [[[1.0]] * 3] * 2}, "must have shape (2, 1, ...)"),
        ({"parameters": [[1.0]] * 3, "probabilities": [[[1.0]] * 3] * 3}, "the 2 draws of 'draws'"),
        ({"item_parameters": [[0, 1, np.nan]] * 2}, "'item_parameters' must have no missing"),
        ({"parameters": [[1.0]] * 2}, "entries for labels 0..0; the labels go from 0 to 1. Give"),
        ({"parameters": [1.0, 2.0]}, "'parameters' must have shape (n_draws, n_labels, ...)"),
        ({"parameters": [[1.0]] * 3}, "with n_draws = 2; got shape (3, 1)"),
        ({"parameters": [[1, 2]] * 2, "raw_labels": [[0, 1]] * 2}, "must be integers of shape (2, 3)"),
        ({"parameters": [[1, 2]] * 2, "raw_labels": [[0, 1, 0]] * 2}, "the same partitions as 'draws'"),
        ({"parameters": [[1.0], [1.0, 2.0]]}, "those of draw 0 have some"),
        ({"item_parameters": np.zeros((2, 3)), "level": 1}, "'level' must be a number in (0, 1)"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(options, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        epl.uncertainty.cluster_parameters([0, 0, 1], [[0, 0, 1], [0, 1, 1]], **options)


@pytest.mark.parametrize("each", [1, 3])
def test_means_where_labels_were_summed_out(each):
    """Against a loop, and against the limit of many drawn labels."""
    rng = np.random.default_rng(5)
    log_p, mu, labels = rng.normal(size=(40, 5, 3)), rng.normal(size=(40, 3, 2)), [0, 0, 1, 1, 0]
    p = np.exp(log_p) / np.exp(log_p).sum(axis=2, keepdims=True)
    given = xr.DataArray(log_p, dims=("draw", "item", "cluster"), coords={"item": list("abcde")})
    draws = epl.soft_draws(given, log=True, n_draws_each=each, rng=1)
    ref = np.array([[np.mean([sum(p[t, i, k] * mu[t, k] for k in range(3)) for i in items], axis=0)
                     for items in ([0, 1, 4], [2, 3])] for t in range(40)])  # fmt: skip
    # Items are matched by name, not by position.
    for soft in (given, given[:, [3, 0, 4, 2, 1]]):
        found = epl.uncertainty.cluster_parameters(
            labels, draws, probabilities=soft, log=True, parameters=mu
        )
        np.testing.assert_allclose(found.values, np.repeat(ref, each, axis=0))
    chains = p.reshape(2, 20, 5, 3), mu.reshape(2, 20, 3, 2)
    found = epl.uncertainty.cluster_parameters(
        labels, draws, probabilities=chains[0], parameters=chains[1]
    )
    np.testing.assert_allclose(found.mean, ref.mean(axis=0))
    many = rng.random((4000, 40, 5, 1)) > p.cumsum(axis=2)
    drawn = np.take_along_axis(mu[None], many.sum(axis=3)[..., None], axis=2).mean(axis=0)
    np.testing.assert_allclose(found.mean[1], drawn[:, 2:4].mean(axis=(0, 1)), atol=0.01)


def test_a_median_that_rounding_misses_is_reached():
    """Six of 12 shares of 1/12 sum to a little less than one half."""
    values = [[float(t)] for t in range(12)]
    found = epl.uncertainty.cluster_parameters([0, 0], [[0, 0]] * 12, parameters=values)
    np.testing.assert_array_equal(found.quantiles, [[0.0], [5.0], [11.0]])


def test_the_table_names_the_numbers_of_a_parameter():
    """By the coordinates of a labeled array, or by their places."""
    z, values = [[0, 0, 1]] * 4, np.arange(24.0).reshape(4, 3, 2)
    coords = {"feature": ["height", "age"]}
    labeled = xr.DataArray(values[None], coords, dims=["chain", "draw", "item", "feature"])
    for given, names in ((labeled, ["height", "age"]), (values, ["0", "1"])):
        found = epl.uncertainty.cluster_parameters(z[0], z, item_parameters=given)
        frame = found.to_pandas()
        assert [name for name in frame if name.startswith("mean")] == [f"mean [{n}]" for n in names]
        np.testing.assert_allclose(frame[f"mean [{names[1]}]"], found.mean[:, 1])
        assert f"97.5% [{names[0]}]" in str(found)


def test_stacked_samples_and_parameters_of_items():
    z = xr.DataArray(np.tile([[0, 0, 1], [1, 1, 0]], (2, 5, 1)), dims=("chain", "draw", "item"))
    mu = xr.DataArray(np.arange(40.0).reshape(2, 10, 2), dims=("chain", "draw", "k"))
    data = xr.Dataset({"z": z, "mu": mu})
    flat = data.stack(sample=("chain", "draw"))
    best = [0, 0, 1]
    plain = epl.uncertainty.cluster_parameters(best, data, parameters=data["mu"])
    assert (
        epl.uncertainty.cluster_parameters(best, flat, parameters=flat["mu"]).mean.tolist()
        == plain.mean.tolist()
    )
    with pytest.raises(ValueError, match="have the dimension 'item' of the items"):
        epl.uncertainty.cluster_parameters(best, data, parameters=xr.zeros_like(z) + 0.5)
    with pytest.raises(TypeError, match="'parameters' must be an array of numbers"):
        epl.uncertainty.cluster_parameters(best, data, parameters="mu")
