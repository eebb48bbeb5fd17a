import numpy as np
import pytest

import epluribus as epl
import oracles
import strategies
from epluribus.uncertainty import stability


def test_every_setting_is_a_search_of_its_own():
    z = strategies.random_draws(np.random.default_rng(0), 30, 80, 4).reshape(2, 40, 30)
    found = stability(z, rng=3)
    assert found.settings == (
        "all draws", "binder", "omari", "vi(cost=0.5)", "vi(cost=1.5)", "first half", "second half",
        "another seed",
    )  # fmt: skip
    flat = z.reshape(80, 30)
    for row, loss, distance, agreement in zip(
        found.labels.tolist(), found.expected_losses, found.distances, found.agreement, strict=True
    ):
        first = found.labels[0].tolist()
        assert loss == pytest.approx(oracles.expected_loss("vi", row, flat.tolist()))
        assert distance == pytest.approx(oracles.loss("vi", first, row), abs=1e-12)
        assert agreement == pytest.approx(1 - oracles.pairs_apart(first, row) / 435)
    assert found.expected_losses[0] == pytest.approx(epl.minimize(z, rng=0).expected_loss)
    half = epl.minimize(z[:, :20], rng=0)
    assert epl.expected_loss(found.labels[5], z[:, :20]) == pytest.approx(half.expected_loss)
    costly = epl.losses.vi(cost=1.5)
    best = epl.minimize(z, costly, rng=0).expected_loss
    assert epl.expected_loss(found.labels[4], z, costly) == pytest.approx(best)


def test_choices_of_settings():
    z = strategies.random_draws(np.random.default_rng(1), 25, 60, 3)
    few = stability(z, "nvi", other_losses=["vi", "nvi"], rng=1)
    assert few.settings == ("all draws", "vi", "first half", "second half", "another seed")


def test_halves_are_those_of_each_chain():
    """Two chains, alike: A in the first half, mostly B in the second, mostly A in all but the first third."""
    a, b = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]
    chain = [a] * 10 + [b] * 6 + [a] * 4
    found = stability([chain, chain], other_losses=[], rng=0)
    np.testing.assert_array_equal(found.labels, [a, a, b, a])
    one = stability([[0, 0, 1]], other_losses=[])
    assert one.settings == ("all draws", "second half", "another seed")


def test_halves_of_an_ensemble_are_random():
    two = np.repeat([[0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]], 20, axis=0)
    table = epl.uncertainty.stability(epl.Draws(two, kind="ensemble"), other_losses=[], rng=1)
    assert table.settings == ("all clusterings", "one half", "other half", "another seed")
    in_order = epl.uncertainty.stability(two, other_losses=[], rng=1)
    assert in_order.distances[1:3].max() > 0
