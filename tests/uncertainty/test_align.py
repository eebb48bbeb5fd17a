import itertools

import numpy as np
import pytest
from hypothesis import given

import epluribus as epl
import strategies
from epluribus.uncertainty import align


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
    z, parameters = [], []
    for _ in range(400):
        switch = rng.permutation(3)
        z.append(switch[truth])
        values = np.empty((3, 2))
        values[switch, 0] = means + rng.normal(0, 0.1, 3)
        values[switch, 1] = 1.0
        parameters.append(values)
    z, parameters = np.array(z), np.array(parameters)
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
    xr = pytest.importorskip("xarray")
    rng = np.random.default_rng(2)
    switched = rng.random((3, 40, 1)) < 0.5
    z = np.where(switched, 1 - np.repeat([0, 1], 5), np.repeat([0, 1], 5))
    means = np.where(switched, [5.0, -5.0], [-5.0, 5.0])
    tree = xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(
                {
                    "z": (("chain", "draw", "item"), z),
                    "mu": (("chain", "draw", "cluster"), means),
                }
            )
        }
    )
    flat = z.reshape(120, 10)
    for draws, parameters in (
        (z, means),
        (flat, means.reshape(120, 2)),
        (tree, tree["posterior"]["mu"]),
    ):
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
    hidden = align(
        [0, 0, 1], epl.Draws(z, weights=[0, 1]), parameters=[[1, 2], [5, 99]], raw_labels=z
    )
    np.testing.assert_array_equal(
        hidden.parameters.mean, [5.0, np.nan]
    )  # its only partner has weight 0
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parameters": [1.0, 2.0]}, r"'parameters' must have shape \(n_draws, n_labels, ...\)"),
        ({"parameters": [[1.0]] * 3}, r"with n_draws = 2; got shape \(3, 1\)"),
        ({"parameters": [[1.0]] * 2}, r"entries for labels 0..0; the labels go from 0 to 1. Give"),
        (
            {"parameters": [[1.0, 2.0]] * 2, "raw_labels": [[0, 1]] * 2},
            r"'raw_labels' must be integers of shape \(2, 3\); got int64 of shape \(2, 2\)",
        ),
        (
            {"parameters": [[1.0, 2.0]] * 2, "raw_labels": [[0, 1, 0]] * 2},
            r"'raw_labels' must be the same partitions as 'draws'",
        ),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused_in_words(options, message):
    with pytest.raises(ValueError, match=message):
        align([0, 0, 1], [[0, 0, 1], [0, 1, 1]], **options)
