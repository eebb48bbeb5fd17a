"""The expected loss is the weighted mean of the loss, whatever form labels and draws have."""

import numpy as np
import pytest
from hypothesis import given

import epluribus as epl
import oracles
import strategies
from epluribus.engine import Engine

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


def _one_more(joint, size, group, n_items):
    return 1.0 + size - joint + 0.0 * group * n_items


@pytest.mark.parametrize("kind", ["tables", "members"])
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize(("zero", "expected"), [(False, 2.0), (True, 1.5)])
def test_equal_partitions_cost_nothing_only_if_the_loss_says_so(kind, linear, zero, expected):
    """Against the first draw, which is the same partition, f0 gives 1; against the second, 3."""
    draws, labels = epl.Draws([[0, 0, 1], [0, 1, 2]]), np.array([0, 0, 1])
    square = [lambda n: float(n * n)] * 3
    loss = epl.Loss(_one_more, *square, name="one more", linear=linear, zero_if_equal=zero)
    assert epl.expected_loss(labels, draws, loss) == expected
    engine = Engine(draws.item_major, draws.weights, loss, kind)
    assert engine.value(engine.start(labels)) == engine.value_of(labels) == expected
    best = epl.exact(draws, loss)
    assert best.expected_loss == epl.expected_loss(best.labels, draws, loss)
