import numpy as np
import pytest

import epluribus as epl
import oracles
import strategies
from epluribus.uncertainty import modes

ONE = np.repeat([0, 1, 2, 3], 5)
OTHER = np.arange(20) % 4


def around(centers, weights, rng, n_draws=300, noise=0.1):
    """Draws around several partitions."""
    center = np.array(centers)[rng.choice(len(centers), size=n_draws, p=weights)]
    return np.where(rng.random(center.shape) < noise, rng.integers(4, size=center.shape), center)


@pytest.mark.parametrize("loss", ["vi", "binder", "nvi"])
def test_two_clear_modes(loss):
    z = around([ONE, OTHER], [0.6, 0.4], np.random.default_rng(0))
    found = modes(z, loss, rng=1)
    assert found.n_modes == len(found) == 2
    np.testing.assert_array_equal(found.labels, [ONE, OTHER])
    np.testing.assert_allclose(found.weights, [0.6, 0.4], atol=0.08)
    assert found.expected_loss < 0.7 * found.single_loss
    assert found.sentence.startswith("Two competing partitions, ")
    assert "the second has little in common with the first" in found.sentence
    assert found.fair is False
    assert found.trusted
    assert found.entries.min() > 20
    table = [
        [oracles.loss(loss, mode, row) for mode in (ONE.tolist(), OTHER.tolist())]
        for row in z.tolist()
    ]
    ref = np.array(table)
    np.testing.assert_array_equal(found.assignments, ref.argmin(axis=1))
    assert found.expected_loss == pytest.approx(ref.min(axis=1).mean())
    assert found.distances[0, 1] == pytest.approx(oracles.loss(loss, ONE.tolist(), OTHER.tolist()))
    near = ref.argmin(axis=1) == 1
    assert found.expected_losses[1] == pytest.approx(ref[near, 1].mean())


def test_three_clear_modes():
    third = np.zeros(20, dtype=int)
    z = around([ONE, OTHER, third], [0.5, 0.3, 0.2], np.random.default_rng(1), noise=0.05)
    found = modes(z, rng=0)
    assert found.n_modes == 3
    assert "in the third, clusters 0 (5 items), 1 (5), 2 (5) and 3 (5) are one" in found.sentence
    assert {tuple(row) for row in found.labels} == {tuple(ONE), tuple(OTHER), tuple(third)}


@pytest.mark.parametrize("n_items", [10, 50])
@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_one_mode(n_items, loss):
    for seed in range(4):
        z = strategies.random_draws(np.random.default_rng(seed), n_items, 200, 4)
        found = modes(z, loss, rng=0)
        assert found.n_modes == 1
        assert found.sentence.startswith(
            "One partition is a fair summary: the draws show no second"
        )
        assert found.fair is True
        assert found.expected_loss == pytest.approx(found.single_loss)


def test_few_different_draws():
    same = modes([[0, 0, 1]] * 4, rng=0)
    assert same.n_modes == 1
    assert same.expected_loss == 0
    assert modes([[0, 0, 1]], n_modes=3, rng=0).n_modes == 1
    for draws in ([[0, 0, 1]] * 4, [[0, 0, 1]]):
        assert modes(draws, rng=0).sentence == "All draws are equal: one partition says it all."
    one = modes([[0, 0, 1], [0, 1, 1]], n_modes=1, rng=0)
    assert "whether it is a fair summary was not tested" in one.sentence


def test_a_group_too_small_to_be_a_mode_is_named():
    z = np.tile(np.repeat([0, 1], 10), (300, 1))
    z[7] = np.tile([0, 1], 10)
    found = modes(z, n_modes=2, rng=1)
    assert found.assignments.sum() == 1
    assert "two competing partitions, above 99 % and below 1 %: " in found.sentence
    assert "But the second group is a single draw: the sample has one mode." in found.sentence
    z[8] = z[7]
    assert "the second group is below 1 % of the draws" in modes(z, n_modes=2, rng=1).sentence
    z[:100] = z[7]
    assert "the sample has" not in modes(z, n_modes=2, rng=1).sentence


@pytest.mark.parametrize("n_modes", ["auto", 1, 3])
def test_at_the_time_limit_the_best_so_far_is_marked(n_modes):
    z = np.random.default_rng(0).integers(0, 20, (400, 200))
    found = modes(z, n_modes=n_modes, rng=1, time_limit=1e-6)
    assert not found.converged
    assert not found.to_dict()["converged"]
    assert found.sentence.endswith("Time was up before the search ended: this is the best so far.")
    assert found.n_modes == (1 if n_modes == "auto" else n_modes)
    assert found.weights.sum() == pytest.approx(1)


def test_modes_of_distinct_draws_and_progress():
    seen = []
    modes([[0, 0, 1]] * 3 + [[0, 1, 2]], rng=0, progress=lambda *step: seen.append(step[:2]))
    assert seen[-1][0] == seen[-1][1] == len(seen)
    mixed = modes([[0, 0, 1]] * 3 + [[0, 1, 2]], n_modes=2, rng=0)
    np.testing.assert_array_equal(mixed.labels, [[0, 0, 1], [0, 1, 2]])
    assert mixed.expected_loss == 0
    assert mixed.sentence.startswith(
        "As asked for, two competing partitions, 75 % and 25 %: in the second,"
    )


def test_a_given_number_is_never_worse_than_one_less():
    z = strategies.random_draws(np.random.default_rng(3), 15, 100, 4)
    values = [modes(z, n_modes=m, rng=0).expected_loss for m in (1, 2, 4)]
    assert values[0] > values[1] > values[2]
    assert "was not tested" in modes(z, n_modes=1, rng=0).sentence


def test_weights_count():
    z = around([ONE, OTHER], [0.5, 0.5], np.random.default_rng(4))
    near = np.array([epl.loss(ONE, row) < epl.loss(OTHER, row) for row in z])
    weights = np.where(near, 9.0, 1.0)
    found = modes(epl.Draws(z, weights=weights), n_modes=2, rng=0)
    assert found.weights[0] == pytest.approx(weights[near].sum() / weights.sum())


def test_draws_of_weight_zero_count_for_nothing():
    z = np.concatenate(
        [np.tile(ONE, (6, 1)), np.tile(OTHER, (4, 1)), np.tile(np.arange(20), (30, 1))]
    )
    found = modes(epl.Draws(z, weights=np.repeat([1.0, 0.0], [10, 30])), rng=0)
    np.testing.assert_array_equal(found.labels, [ONE, OTHER])
    np.testing.assert_allclose(found.weights, [0.6, 0.4])
    assert found.n_distinct == 2


def test_a_handful_of_odd_draws_is_not_a_mode():
    """They are far away and all alike: only their weight, 3 or 6 %, decides."""
    for n_odd, n_modes in ((3, 1), (6, 2)):
        z = np.concatenate([np.tile(ONE, (100 - n_odd, 1)), np.tile(OTHER, (n_odd, 1))])
        assert modes(z, rng=0).n_modes == n_modes


def test_same_rng_same_answer_for_any_n_jobs():
    z = around([ONE, OTHER], [0.6, 0.4], np.random.default_rng(5), n_draws=600, noise=0.3)
    first, second = modes(z, rng=3, n_jobs=1), modes(z, rng=3, n_jobs=3)
    np.testing.assert_array_equal(first.labels, second.labels)
    assert first.silhouettes == second.silhouettes


def test_printing():
    found = modes(around([ONE, OTHER], [0.6, 0.4], np.random.default_rng(0)), rng=1)
    assert "mode  weight  clusters  entries  loss within" in str(found)
    assert repr(found).startswith("Modes(n_modes=2, weights=[0.")


def test_bad_arguments_are_refused_in_words():
    with pytest.raises(ValueError, match=r"'n_modes' must be an integer or 'auto'; got 'many'"):
        modes([[0, 1]], n_modes="many")
    with pytest.raises(ValueError, match=r"'n_modes' must be at least 1; got 0. Or give 'auto'"):
        modes([[0, 1]], n_modes=0)
    with pytest.raises(ValueError, match=r"'max_modes' must be at least 1; got 0"):
        modes([[0, 1]], max_modes=0)
