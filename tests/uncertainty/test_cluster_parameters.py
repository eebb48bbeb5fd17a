"""Parameters of estimated clusters, against loops over draws and items; and labels aligned to them."""

import itertools
import re

import numpy as np
import pytest
import xarray as xr
from hypothesis import given

import epluribus as epl
import strategies
from epluribus.uncertainty import align


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


def test_it_is_printed_as_a_table(sample):
    z, means, labels = sample
    found = epl.uncertainty.cluster_parameters(labels, z, parameters=means[..., 0], level=0.9)
    head, *rows = str(found).splitlines()
    assert head.split() == ["cluster", "size", "mean", "sd", "5", "%", "50", "%", "95", "%"]
    assert [row.split()[:2] for row in rows] == [["0", "3"], ["1", "3"], ["2", "1"]]
    both = epl.uncertainty.cluster_parameters(labels, z, parameters=means)
    assert "mean [1]" in str(both)
    assert repr(both) == "ClusterParameters(n_clusters=3, shape=(2,))"


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


def kept(labels, best):
    return sum(a == b for a, b in zip(labels, best, strict=True))


@given(z=strategies.draws(max_items=6, max_draws=6))
def test_as_many_labels_as_possible_are_kept(z):
    best = epl.partition.canonical(np.arange(z.shape[1]) % 3)
    found = align(best, z)
    for row, new in zip(z.tolist(), found.labels.tolist(), strict=True):
        np.testing.assert_array_equal(epl.partition.canonical(new), epl.partition.canonical(row))
        names = sorted(set(row))
        room = range(max(len(names), int(best.max()) + 1))
        ref = max(
            kept([chosen[names.index(label)] for label in row], best)
            for chosen in itertools.permutations(room, len(names))
        )
        assert kept(new, best) == ref
    share = np.array([[np.mean(found.labels[:, i] == g) for g in range(found.n_clusters)]
                      for i in range(z.shape[1])])  # fmt: skip
    np.testing.assert_allclose(found.probabilities, share)
    np.testing.assert_allclose(found.agreement, (found.labels == best).mean(axis=0))


def test_parameters_follow_their_clusters_through_switched_labels():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 6)
    means = np.array([-4.0, 0.0, 7.0])
    switch = rng.permuted(np.tile(np.arange(3), (400, 1)), axis=1)
    z, parameters = switch[:, truth], np.ones((400, 3, 2))
    np.put_along_axis(parameters[:, :, 0], switch, means + rng.normal(0, 0.1, (400, 3)), axis=1)
    found = align(truth, z, parameters=parameters).parameters
    np.testing.assert_allclose(found.mean[:, 0], means, atol=0.03)
    np.testing.assert_allclose(found.sd[:, 0], 0.1, atol=0.02)
    spread = found.quantiles[:, :, 0] - means
    np.testing.assert_allclose(spread, np.outer([-0.196, 0, 0.196], [1, 1, 1]), atol=0.04)
    np.testing.assert_allclose(found.mean[:, 1], 1.0)
    np.testing.assert_array_equal(found.present, 1.0)
    again = align(truth, epl.Draws(z), parameters=parameters, raw_labels=z).parameters
    np.testing.assert_array_equal(again.mean, found.mean)
    assert "mean [1]" in str(found)
    assert repr(found) == "ParameterSummary(n_clusters=3, shape=(2,))"


def test_a_sample_without_raw_labels_is_refused():
    draws = epl.Draws([[5, 5, 9], [9, 9, 5]])
    with pytest.raises(ValueError, match=r"'raw_labels' must be given .* Give the sampler's array"):
        align([0, 0, 1], draws, parameters=[[1.0, 2.0], [3.0, 4.0]])
    found = align([0, 0, 1], draws)
    assert "keeps its label with probability 1 on average" in str(found)
    assert repr(found) == "Alignment(n_draws=2, n_clusters=2, mean_agreement=1)"


def test_switched_labels_in_chains_and_in_labelled_arrays():
    """Means of -5 and 5, labels that switch from draw to draw: the clusters keep their means."""
    switched = np.random.default_rng(2).random((3, 40, 1)) < 0.5
    z = np.where(switched, 1 - np.repeat([0, 1], 5), np.repeat([0, 1], 5))
    means = np.where(switched, [5.0, -5.0], [-5.0, 5.0])
    dims = ("chain", "draw")
    posterior = xr.Dataset({"z": ((*dims, "item"), z), "mu": ((*dims, "cluster"), means)})
    tree = xr.DataTree.from_dict({"posterior": posterior})
    flat = z.reshape(120, 10), means.reshape(120, 2)
    for draws, parameters in ((z, means), flat, (tree, posterior["mu"])):
        found = align(np.repeat([0, 1], 5), draws, parameters=parameters).parameters
        np.testing.assert_allclose(found.mean, [-5.0, 5.0])
        np.testing.assert_allclose(found.sd, [0.0, 0.0], atol=1e-12)


def test_a_cluster_without_partner_and_weights():
    z = [[0, 0, 1], [0, 0, 0]]
    draws = epl.Draws(z, weights=[3, 1])
    found = align([0, 0, 1], draws, parameters=[[1, 2], [5, 99]], raw_labels=z)
    np.testing.assert_allclose(found.parameters.mean, [2.0, 2.0])
    np.testing.assert_allclose(found.parameters.present, [1.0, 0.75])
    np.testing.assert_array_equal(found.parameters.quantiles[1], [1.0, 2.0])
    draws = epl.Draws(z, weights=[0, 1])  # the only partner has weight 0
    hidden = align([0, 0, 1], draws, parameters=[[1, 2], [5, 99]], raw_labels=z)
    np.testing.assert_array_equal(hidden.parameters.mean, [5.0, np.nan])
    assert hidden.parameters.present[1] == 0
    never = align([0, 0, 1], [[0, 0, 0]], parameters=[[1.0]])
    assert np.isnan(never.parameters.mean[1])
    assert never.parameters.present[1] == 0
    assert "-" in str(never.parameters)


def test_a_median_that_rounding_misses_is_reached():
    """Six of 12 shares of 1/12 sum to a little less than one half."""
    values = [[float(t)] for t in range(12)]
    found = align([0, 0], [[0, 0]] * 12, parameters=values).parameters
    np.testing.assert_array_equal(found.quantiles, [[0.0], [5.0], [11.0]])
