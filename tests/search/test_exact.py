"""All partitions of a few items."""

import pytest

import epluribus as epl
import oracles
from search_cases import LOSSES, sample


@pytest.mark.parametrize("name", LOSSES)
def test_exact_against_the_oracle(name):
    z = sample(0, n_items=6, n_draws=5, k=3)
    ref = min(
        oracles.expected_loss(name, labels, z.tolist()) for labels in oracles.all_partitions(6)
    )
    assert epl.exact(z, name).expected_loss == pytest.approx(ref)
    assert epl.exact(z, name, k_max=1).n_clusters == 1


@pytest.mark.parametrize("cost", [0.4, 1.6])
def test_exact_with_unequal_costs_and_weights(cost):
    """A loss that is not symmetric: estimate and draw must not change places."""
    z = sample(2, n_items=6, n_draws=5, k=3)
    weights = [3, 1, 0, 2, 0.5]
    best = epl.exact(epl.Draws(z, weights=weights), epl.losses.vi(cost=cost))
    values = [
        oracles.expected_loss("vi", labels, z.tolist(), weights, cost)
        for labels in oracles.all_partitions(6)
    ]
    assert best.expected_loss == pytest.approx(min(values))


def test_the_first_of_equally_good_partitions_is_taken():
    z = [[0, 0, 1, 1], [0, 1, 0, 1]]
    ref = min(
        (round(epl.expected_loss(labels, z, "binder"), 9), labels.tolist())
        for labels in epl.partition.partitions(4)
    )
    assert epl.exact(z, "binder").labels.tolist() == ref[1]


def test_exact_refuses_many_items():
    with pytest.raises(ValueError, match=r"at most 12 items to try all partitions; it has 13"):
        epl.exact([list(range(13))])
