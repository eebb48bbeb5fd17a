import numpy as np
import pytest

import epluribus as epl
import oracles
import strategies
from epluribus.uncertainty import modes
from epluribus.uncertainty._draw_modes import find_groups

ONE = np.repeat([0, 1, 2, 3], 5)
OTHER = np.arange(20) % 4


def disturbed(z, rng, noise=0.05):
    """Some labels replaced by that of a random item, or by one of their own."""
    n_draws, n_items = z.shape
    random = z[np.arange(n_draws)[:, None], rng.integers(n_items, size=z.shape)]
    random = np.where(rng.random(z.shape) < 0.3, 1000 + np.arange(n_items), random)
    return np.where(rng.random(z.shape) < noise, random, z)


def around(centers, weights, rng, n_draws=300, noise=0.1):
    """Draws around several partitions."""
    center = np.array(centers)[rng.choice(len(centers), size=n_draws, p=weights)]
    return disturbed(center, rng, noise)


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


@pytest.mark.parametrize("n_items", [10, 50])
def test_one_mode(n_items):
    for seed in range(2):
        z = strategies.random_draws(np.random.default_rng(seed), n_items, 200, 4)
        found = modes(z, rng=0)
        assert found.n_modes == 1
        assert found.sentence.startswith("One partition is a fair summary: the draws show no")
        assert found.fair is True
        assert found.expected_loss == pytest.approx(found.single_loss)


def test_few_different_draws():
    same = modes([[0, 0, 1]] * 4, rng=0)
    assert same.n_modes == 1
    assert same.expected_loss == 0
    assert modes([[0, 0, 1]], n_modes=3, rng=0).n_modes == 1
    for draws in ([[0, 0, 1]] * 4, [[0, 0, 1]]):
        for kind, noun in (("posterior", "draw"), ("ensemble", "clustering")):
            found = modes(epl.Draws(draws, kind=kind), rng=0)
            which = f"All {noun}s are equal" if len(draws) > 1 else f"Only one {noun}"
            assert found.sentence == f"{which}: nothing is known about uncertainty."
            assert found.fair is None
    one = modes([[0, 0, 1], [0, 1, 1]], n_modes=1, rng=0)
    assert one.sentence == "Whether one partition is a fair summary was not tested."
    mixed = modes([[0, 0, 1]] * 3 + [[0, 1, 2]], n_modes=2, rng=0)
    np.testing.assert_array_equal(mixed.labels, [[0, 0, 1], [0, 1, 2]])
    assert mixed.expected_loss == 0
    assert mixed.sentence.startswith(
        "As asked for, two competing partitions, 75% and 25%: in the second,"
    )


def test_a_group_too_small_to_be_a_mode_is_named():
    z = np.tile(np.repeat([0, 1], 10), (300, 1))
    z[7] = np.tile([0, 1], 10)
    found = modes(z, n_modes=2, rng=1)
    assert found.assignments.sum() == 1
    assert "two competing partitions, above 99% and below 1%: " in found.sentence
    assert "the second has less than 5% of the draws: too few" in found.sentence
    z[:100] = z[7]
    assert "too few" not in modes(z, n_modes=2, rng=1).sentence


@pytest.mark.parametrize("n_modes", ["auto", 1, 3])
def test_at_the_time_limit_the_best_so_far_is_marked(n_modes):
    z = np.random.default_rng(0).integers(0, 20, (400, 200))
    found = modes(z, n_modes=n_modes, rng=1, time_limit=1e-6)
    assert not found.converged
    assert not found.to_dict()["converged"]
    assert found.fair is None
    assert found.sentence.endswith("Time was up before the search ended: this is the best so far.")
    assert found.n_modes == (1 if n_modes == "auto" else n_modes)
    assert found.weights.sum() == pytest.approx(1)


def test_a_given_number_is_never_worse_than_one_less():
    z = strategies.random_draws(np.random.default_rng(3), 15, 100, 4)
    values = [modes(z, n_modes=m, rng=0).expected_loss for m in (1, 2, 4)]
    assert values[0] > values[1] > values[2]


@pytest.mark.parametrize(("size", "noise"), [(15, 0.3), (15, 0.2), (3, 0.05)])
@pytest.mark.parametrize("n_modes", ["auto", 2])
def test_weights_do_not_lean_to_the_coarser_partition(size, noise, n_modes):
    """Noisy draws of four clusters are nearer by VI to three."""
    one = np.repeat(np.arange(4), size)
    z, second = two(np.random.default_rng(0), one, np.where(one == 3, 2, one), 0.7, noise)
    found = modes(z, n_modes=n_modes, rng=1)
    np.testing.assert_array_equal(found.labels.max(axis=1), [3, 2])
    assert (found.assignments == second).mean() > 0.97
    assert found.weights[1] == pytest.approx(second.mean(), abs=0.02)
    losses = [epl.expected_loss(mode, z, per_draw=True) for mode in found.labels]
    own = np.array(losses)[found.assignments, np.arange(600)]
    assert found.expected_loss == pytest.approx(own.mean())
    assert found.expected_losses[1] == pytest.approx(own[found.assignments == 1].mean())


def test_groups_with_the_same_best_partition():
    one = np.repeat(np.arange(4), 15)
    z, _ = two(np.random.default_rng(0), one, np.where(one == 3, 2, one), 0.7, 0.4)
    found = modes(z, n_modes=2, rng=1)
    assert found.labels.max() == 0  # by VI, with so much noise
    assert found.changes == ["the second is the same partition: only the draws around it differ"]


def test_weights_count():
    z = around([ONE, OTHER], [0.5, 0.5], np.random.default_rng(4))
    near = np.array([epl.loss(ONE, row) < epl.loss(OTHER, row) for row in z])
    weights = np.where(near, 9.0, 1.0)
    for n_modes in (2, "auto"):
        found = modes(epl.Draws(z, weights=weights), n_modes=n_modes, rng=0)
        assert found.weights[0] == pytest.approx(weights[near].sum() / weights.sum())


def test_draws_of_weight_zero_count_for_nothing():
    z = np.concatenate(
        [np.tile(ONE, (6, 1)), np.tile(OTHER, (4, 1)), np.tile(np.arange(20), (30, 1))]
    )
    found = modes(epl.Draws(z, weights=np.repeat([1.0, 0.0], [10, 30])), rng=0)
    np.testing.assert_array_equal(found.labels, [ONE, OTHER])
    np.testing.assert_allclose(found.weights, [0.6, 0.4])
    assert found.n_distinct == 2


# --- the rule: cases where it must say several, one, none, and that weights mean nothing ---

FOUR = np.repeat(np.arange(4), 12)


def border(rng, centers):
    """Change points that vary: items move one by one."""
    cut = rng.choice(centers, 400) + 2.5 * rng.normal(size=400)
    return (np.arange(60) > cut[:, None]).astype(int) + 2 * (np.arange(60) > 54)


def morph(rng):
    """From one partition to another, item by item, with every state equally likely."""
    other = np.arange(48) % 4
    order = np.full(48, 48)
    differ = np.flatnonzero(other != FOUR)
    order[differ] = rng.permutation(len(differ))
    return np.where(order < (len(differ) + 1) * rng.random((400, 1)) - 0.5, other, FOUR)


def join_one_by_one(rng):
    """The items of one cluster go to another, roughly in an order: which of the two has which name may change."""
    a = np.repeat(np.arange(3), [34, 40, 30])
    when = np.append((rng.permutation(34) + 0.5) / 34, np.full(70, 9.0))
    return np.where(when + 0.15 * rng.normal(size=(400, 104)) < rng.random((400, 1)), 1, a)


def three_places(rng):
    """Two items that are with one cluster, with another, or on their own: one item at a time is never seen."""
    a = np.repeat(np.arange(4), 20)
    return np.where(np.arange(80) < 2, rng.choice([0, 1, 9], (300, 1)), a)


def wandering(rng):
    """Ten items that change between two clusters, each for itself."""
    items = np.isin(np.arange(48), rng.permutation(48)[:10])
    return disturbed(np.where(items & (rng.random((400, 48)) < 0.4), (FOUR + 1) % 4, FOUR), rng)


def jump(rng, n_moved, noise):
    """A few items that change their cluster together."""
    other = np.where(np.arange(48) < n_moved, 3, FOUR)
    return around([FOUR, other], [0.6, 0.4], rng, 400, noise)


def joined(rng, *pairs, share=0.5, noise=0.03):
    """Pairs of clusters that are one, independently of each other."""
    z = np.tile(FOUR, (600, 1))
    for k, other in pairs:
        on = rng.random(600) < share
        z[on] = np.where(z[on] == other, k, z[on])
    return disturbed(z, rng, noise)


def restaurant(rng):
    z = np.zeros((300, 25), dtype=int)
    for i in range(1, 25):
        earlier = z[np.arange(300), rng.integers(0, i, 300)]
        z[:, i] = np.where(rng.random(300) < 1 / (i + 1), z[:, :i].max(axis=1) + 1, earlier)
    return z


def two(rng, one, other, share=0.7, noise=0.02):
    """Two partitions, each label replaced at random now and then, and which of them a draw is from."""
    second = rng.random(600) > share
    z = np.where(second[:, None], other, one)
    return np.where(rng.random(z.shape) < noise, rng.integers(0, max(one) + 1, z.shape), z), second


def pairs(rng, n):
    """Pairs of items, the last two of which are one cluster in some of the draws."""
    one = np.repeat(np.arange(n), 2)
    return two(rng, one, np.where(one == n - 1, n - 2, one))[0]


def each_for_itself(rng):
    """Any number of items on the way is equally likely, but there are many ways and only two ends."""
    return np.where(rng.random((600, 12)) < rng.random((600, 1)), 1, np.repeat([0, 1], [8, 4]))


def with_holes(z, rng, share):
    return np.ma.masked_array(z, rng.random(z.shape) < share)


KINDS = {
    "noise": (lambda rng: around([FOUR], [1.0], rng, 400, 0.2), 1),
    "wandering": (wandering, 1),
    "border": (lambda rng: border(rng, [30]), 1),
    "border in two places": (lambda rng: border(rng, [15, 40]), 2),
    "morph": (morph, 1),
    "a join item by item": (join_one_by_one, 1),
    "diffuse": (restaurant, 1),
    "two items, exactly": (lambda rng: jump(rng, 2, 0.0), 2),
    "two items in three places": (three_places, 3),
    "a split of four": (lambda rng: around([np.repeat([0, 1, 2], [4, 8, 8]),
                                            np.repeat([0, 3, 1, 2], [2, 2, 8, 8])],
                                           [0.5, 0.5], rng, 400, 0.0), 2),
    "four items": (lambda rng: jump(rng, 4, 0.05), 2),
    "merge": (lambda rng: joined(rng, (0, 1)), 2),
    "rare": (lambda rng: joined(rng, (0, 1), share=0.08), 2),
    "independent": (lambda rng: joined(rng, (0, 1), (2, 3)), 4),
    "nested": (lambda rng: around([FOUR, np.where(FOUR == 1, 0, FOUR), np.where(FOUR == 3, 3, 0)],
                                  [0.4, 0.35, 0.25], rng, 400, 0.05), 3),
    "five": (lambda rng: around([rng.permutation(FOUR) for _ in range(5)], [0.2] * 5, rng, 500), 5),
    "few items": (lambda rng: two(rng, [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2], 0.7)[0], 2),
    "four pairs": (lambda rng: pairs(rng, 4), 2),
    "twenty pairs": (lambda rng: pairs(rng, 20), 2),
    "each item for itself": (each_for_itself, 1),
    "missing, one": (lambda rng: with_holes(around([FOUR], [1.0], rng, 400), rng, 0.4), 1),
    "missing, two": (lambda rng: with_holes(joined(rng, (0, 1)), rng, 0.3), 2),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_modes(kind):
    make, truth = KINDS[kind]
    for seed in (1, 2):
        assert find_groups(epl.Draws(make(np.random.default_rng(seed)))).n == truth


@pytest.mark.parametrize("n_modes", [1, 2])
def test_few_clusterings_of_many_items(n_modes):
    rng = np.random.default_rng(3)
    one = rng.integers(10, size=1800)
    centers = [one, np.where(one < 3, 0, one)][:n_modes]
    z = disturbed(np.array(centers)[np.arange(60) % n_modes], rng, 0.2)
    found = modes(epl.Draws(with_holes(z, rng, 0.3), kind="ensemble"), rng=1)
    assert found.n_modes == n_modes
    assert found.trusted  # no order, no entries
    assert "clusterings" in found.sentence or n_modes == 2
    assert "draw" not in found.sentence


def test_too_few_draws_cannot_tell():
    rng = np.random.default_rng(5)
    few = modes(around([FOUR], [1.0], rng, 20), rng=1)
    assert few.n_modes == 1
    assert few.fair is None
    assert "cannot be known: these draws are worth only" in few.sentence
    slow = np.repeat(around([FOUR], [1.0], rng, 30), 12, axis=0)
    assert modes(slow, rng=1).fair is None


def test_a_chain_that_seldom_comes_back_cannot_tell():
    rng = np.random.default_rng(7)
    places = [np.where(rng.random(48) < 0.15, rng.integers(0, 4, 48), FOUR) for _ in range(15)]
    z = disturbed(np.repeat(places, 30, axis=0), rng, 0.02)
    found = modes(z, rng=1)
    assert found.n_modes == 1
    assert found.fair is None
    assert "worth only" in found.sentence


def test_the_elbow_of_the_mean_distance():
    rng = np.random.default_rng(2)
    z = around([FOUR, rng.permutation(FOUR), rng.permutation(FOUR)], [0.4, 0.3, 0.3], rng)
    found = modes(z, n_modes="elbow", rng=1)
    assert found.n_modes == 3
    assert found.sentence.startswith("At the elbow of the mean distance, three competing")


def test_diffuse_draws_have_no_summary():
    found = modes(restaurant(np.random.default_rng(3)), rng=0)
    assert found.diffuse
    assert found.fair is False
    assert found.sentence.startswith(
        "No partition is a fair summary: two draws agree hardly better"
    )
    rng = np.random.default_rng(4)  # nearly all items in one cluster: that is the summary
    found = modes(np.where(rng.random((300, 20)) < 0.04, np.arange(1, 21), 0), rng=0)
    assert found.labels.max() == 0
    assert not found.diffuse


def test_one_mode_without_solid_groups_is_no_fair_summary():
    """The first cluster falls apart in another way in every draw."""
    rng = np.random.default_rng(6)
    z = np.where(np.arange(60) < 45, rng.integers(0, 4, (400, 60)), 9)
    found = modes(z, "binder(cost=0.3)", rng=0)
    assert found.n_modes == 1
    assert not found.diffuse
    assert found.fair is False
    assert found.sentence.startswith("One mode, but most items are seldom with the others")


def test_burn_in_is_not_a_mode():
    rng = np.random.default_rng(5)
    z = np.concatenate([around([OTHER], [1.0], rng, 40), around([ONE], [1.0], rng, 460)])
    found = modes(z, rng=0)
    assert found.n_modes == 1
    assert 38 <= found.burn_in <= 42
    assert "40 draws in all, at the beginning of chains, are burn-in" in found.sentence
    assert len(found.assignments) == 500
    np.testing.assert_array_equal(found.labels[0], ONE)


def test_chains_that_agree_but_for_burn_in_are_not_fine():
    rng = np.random.default_rng(10)
    parts = [([OTHER], 10), ([ONE], 190)]
    z = [[draw for part, n in parts for draw in around(part, [1.0], rng, n)] for _ in range(4)]
    assert "40 draws in all, at the beginning of chains, are burn-in" in modes(z, rng=0).sentence
    lines = epl.minimize(z, rng=0).health(z)
    assert "agree" in lines.chains
    assert lines.chains.endswith("but begin with burn-in")
    assert lines.fine is False


def test_a_mode_entered_once_is_not_trusted():
    rng = np.random.default_rng(6)
    z = np.concatenate([around([ONE], [1.0], rng, 250), around([OTHER], [1.0], rng, 250)])
    found = modes(z, rng=0)
    assert found.n_modes == 2
    assert not found.trusted
    assert "the weights are not to be trusted" in found.sentence
    assert "%" not in found.sentence
    assert modes(z[rng.permutation(500)], rng=0).trusted


def test_modes_of_many_draws_of_many_items():
    """Only some of them are looked at for the number; modes and weights are those of all."""
    rng = np.random.default_rng(8)
    one = rng.permutation(np.repeat(np.arange(400), 3))
    other = np.where(one % 2, one - 1, one)  # every two clusters are one
    z = around([one, other], [0.7, 0.3], rng, 700, 0.1)
    found = modes(z, "binder", rng=0)
    assert found.n_modes == 2
    np.testing.assert_allclose(found.weights, [0.7, 0.3], atol=0.05)
    assert epl.loss(found.labels[0], one) == epl.loss(found.labels[1], other) == 0
