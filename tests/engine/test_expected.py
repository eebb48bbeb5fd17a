"""The expected loss is the weighted mean of the loss, whatever form labels and draws have."""

import numpy as np
import pytest
from hypothesis import given

import epluribus as epl
import oracles
import strategies

LOSSES = epl.losses.available()


@pytest.mark.parametrize("name", LOSSES)
@given(z=strategies.draws())
def test_expected_loss_is_the_mean_over_draws(name, z):
    labels = epl.partition.canonical(np.arange(z.shape[1]) % 3).tolist()
    values = epl.expected_loss(labels, z, name, per_draw=True)
    ref = [oracles.loss(name, labels, row) for row in z.tolist()]
    np.testing.assert_allclose(values, ref, atol=1e-10)
    assert epl.expected_loss(labels, z, name) == pytest.approx(np.mean(ref), abs=1e-10)


@pytest.mark.parametrize("name", LOSSES)
@given(z=strategies.draws())
def test_invariances(name, z):
    rng = np.random.default_rng(z.size)
    labels = rng.integers(3, size=z.shape[1])
    value = epl.expected_loss(labels, z, name)
    items, rows = rng.permutation(z.shape[1]), rng.permutation(len(z))
    close = {"abs": 1e-12, "rel": 1e-12}
    assert epl.expected_loss(7 - labels, z * 3 + 1, name) == pytest.approx(value, **close)
    assert epl.expected_loss(labels[items], z[:, items], name) == pytest.approx(value, **close)
    assert epl.expected_loss(labels, z[rows], name) == pytest.approx(value, **close)
    assert epl.expected_loss(labels, np.tile(z, (3, 1)), name) == pytest.approx(value, **close)


def test_expected_loss_wants_as_many_items():
    with pytest.raises(ValueError, match=r"'labels' must have 3 items; got 2"):
        epl.expected_loss([0, 1], [[0, 1, 1]])
