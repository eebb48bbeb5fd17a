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
    assert "in the second, " in found.sentence
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
    assert "in the third, cluster 1 (5 items) joins cluster 0" in found.sentence
    assert {tuple(row) for row in found.labels} == {tuple(ONE), tuple(OTHER), tuple(third)}


@pytest.mark.parametrize("n_items", [10, 50])
@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_one_mode(n_items, loss):
    for seed in range(2):
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


# --- the rule: cases where it must say several, one, none, and that weights mean nothing ---


@pytest.mark.parametrize("n_modes", [4, 6])
def test_many_clear_modes(n_modes):
    rng = np.random.default_rng(n_modes)
    centers = [np.repeat(np.arange(4), 15)[rng.permutation(60)] for _ in range(n_modes)]
    z = np.array(centers)[rng.integers(n_modes, size=500)]
    z = np.where(rng.random(z.shape) < 0.15, rng.integers(4, size=z.shape), z)
    assert modes(z, rng=1).n_modes == n_modes


def test_border_items_are_no_modes():
    rng = np.random.default_rng(2)
    z = around([ONE], [1.0], rng, 400, noise=0.05)
    for item in (0, 5, 10, 15):  # each wanders between two clusters, for itself
        z[rng.random(400) < 0.5, item] = (item // 5 + 1) % 4
    found = modes(z, rng=0)
    assert found.n_modes == 1
    assert found.fair is True
    # The same moves, but together: half of the draws have all four elsewhere.
    z = around(
        [ONE, np.where(np.arange(20) % 5 == 0, (ONE + 1) % 4, ONE)], [0.5, 0.5], rng, 400, 0.03
    )
    assert modes(z, rng=0).n_modes == 2


def test_a_restaurant_process_is_diffuse():
    rng = np.random.default_rng(3)
    z = np.zeros((300, 25), dtype=int)
    for i in range(1, 25):
        earlier = z[np.arange(300), rng.integers(0, i, 300)]
        z[:, i] = np.where(rng.random(300) < 1 / (i + 1), z[:, :i].max(axis=1) + 1, earlier)
    found = modes(z, rng=0)
    assert found.n_modes == 1
    assert found.diffuse
    assert found.fair is False
    assert found.sentence.startswith("No partition is a fair summary: a draw is as far from")


def test_one_cluster_is_a_fair_summary_of_draws_near_it():
    rng = np.random.default_rng(4)
    z = np.where(rng.random((300, 20)) < 0.04, np.arange(1, 21), 0)
    found = modes(z, rng=0)
    assert found.labels.max() == 0
    assert not found.diffuse


def test_burn_in_is_not_a_mode():
    rng = np.random.default_rng(5)
    z = np.concatenate([around([OTHER], [1.0], rng, 40), around([ONE], [1.0], rng, 460)])
    found = modes(z, rng=0)
    assert found.n_modes == 1
    assert found.burn_in >= 38
    assert "burn-in that should be left out" in found.sentence
    assert len(found.assignments) == 500
    np.testing.assert_array_equal(found.labels[0], ONE)


def test_a_mode_entered_once_is_not_trusted():
    rng = np.random.default_rng(6)
    z = np.concatenate([around([ONE], [1.0], rng, 250), around([OTHER], [1.0], rng, 250)])
    found = modes(z, rng=0)
    assert found.n_modes == 2
    assert not found.trusted
    assert "the weights are not to be trusted" in found.sentence
    shuffled = modes(z[rng.permutation(500)], rng=0)
    assert shuffled.trusted
    ensemble = modes(epl.Draws(z, kind="ensemble"), rng=0)  # no order, no entries
    assert ensemble.trusted


def test_independent_ambiguities_are_questions():
    rng = np.random.default_rng(7)
    base = np.repeat(np.arange(4), 12)
    z = np.tile(base, (600, 1))
    for k, share in ((0, 0.4), (2, 0.5)):  # clusters k and k + 1 are one, now and then
        joined = rng.random(600) < share
        z[joined] = np.where(z[joined] == k + 1, k, z[joined])
    z = np.where(rng.random(z.shape) < 0.03, rng.integers(4, size=z.shape), z)
    found = modes(z, rng=0)
    assert found.n_modes == 4
    assert len(found.questions) == 2
    assert "they are 2 independent questions" in found.sentence
    assert modes(z[:, :24], rng=0).questions == []


@pytest.mark.parametrize("holes", [0.0, 0.3])
def test_modes_of_draws_with_missing_labels(holes):
    rng = np.random.default_rng(2)
    first = np.arange(40) % 4
    second = np.where(first == 1, 0, first)  # two clusters are one
    which = rng.random(200) < 0.6
    z = np.where(which[:, None], first, second).astype(float)
    z = np.where(rng.random(z.shape) < 0.05, rng.integers(0, 4, z.shape), z)
    z[rng.random(z.shape) < holes] = np.nan
    found = epl.modes(z, rng=1)
    assert found.n_modes == 2
    assert epl.loss(found.labels[0], first) == epl.loss(found.labels[1], second) == 0
    assert abs(found.weights[0] - which.mean()) < 0.05
    one = np.where(np.isnan(z), np.nan, np.where(rng.random(z.shape) < 0.1, 3, first))
    assert epl.modes(one, rng=1).n_modes == 1
