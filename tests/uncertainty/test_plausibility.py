"""P-values of partitions and credible sets: against the formulas, and against posteriors known by enumeration."""

import numpy as np
import pandas as pd
import pytest

import epluribus as epl
from epluribus.losses.values import loss_values
from epluribus.partition import partitions
from epluribus.uncertainty import credible_set, plausibility

ALL = np.array(list(partitions(6)))


def posterior(centers, sharpness):
    """Probabilities of all partitions of six items, with modes at some of them."""
    table = np.ascontiguousarray(ALL.T.astype(np.uint8))
    near = [np.exp(-sharpness * loss_values(ALL[c], table, epl.losses.get("vi"))) for c in centers]
    total = np.sum(near, axis=0)
    return total / total.sum()


def sticky(p, n, rng):
    """Numbers of partitions in a chain that stays where it is four times out of five."""
    fresh = rng.choice(len(p), n, p=p)
    moves = rng.random(n) < 0.2
    moves[0] = True
    return fresh[np.maximum.accumulate(np.where(moves, np.arange(n), 0))]


def sample(kind, p, rng):
    if kind == "independent":
        return epl.Draws(ALL[rng.choice(len(p), 400, p=p)])
    if kind == "chains":
        return epl.Draws(np.stack([ALL[sticky(p, 400, rng)] for _ in range(4)]))
    q = np.sqrt(p) / np.sqrt(p).sum()
    at = rng.choice(len(p), 600, p=q)
    return epl.Draws(ALL[at], weights=p[at] / q[at])


@pytest.mark.parametrize("kind", ["independent", "chains", "weights"])
@pytest.mark.parametrize(("centers", "sharpness"), [([5], 2.0), ([5, 150], 4.0), ([5], 0.3)])
def test_sets_hold_the_mass_they_claim(kind, centers, sharpness):
    p = posterior(centers, sharpness)
    found = np.array(
        [
            plausibility(ALL, sample(kind, p, np.random.default_rng(seed))).p_values
            for seed in range(20)
        ]
    )
    for mass in (0.8, 0.95):
        held = np.where(found > 1 - mass, p, 0.0).sum(axis=1)
        assert mass - 0.015 < held.mean() < mass + 0.05  # a standard error is 0.003 to 0.007


def test_scores_and_p_values_follow_the_formulas():
    rng = np.random.default_rng(3)
    z = (rng.random((300, 15)) < 0.15) ^ (np.arange(15) < 6)
    draws, loss = epl.Draws(z.astype(int)), epl.losses.get("binder")
    given = [np.zeros(15, int), np.arange(15), (np.arange(15) < 6).astype(int)]
    found = plausibility(given, draws, "binder")
    n = int(found.n_independent) // 2

    def thinned(some):
        return some[np.minimum(((np.arange(n) + 0.5) / n * len(some)).astype(int), len(some) - 1)]

    scoring, calibration = thinned(np.arange(150)), thinned(np.arange(150, 300))

    def score(labels):
        return np.mean([np.exp(-found.gamma * epl.loss(labels, z[t], loss)) for t in scoring])

    others = np.array([score(z[t]) for t in calibration])
    for labels, value, p in zip(given, found.scores, found.p_values, strict=True):
        assert value == pytest.approx(score(labels), abs=1e-9)
        assert p == (1 + np.count_nonzero(others <= value * (1 + 1e-9))) / (1 + n)
    np.testing.assert_allclose(found.draw_scores, np.sort(others), atol=1e-9)


def test_too_few_draws_cannot_know():
    z = np.random.default_rng(0).integers(0, 3, (30, 8))
    found = plausibility(z[0], z)
    assert np.isnan(found.p_values).all()
    assert found.sentence.startswith("cannot know")
    with pytest.raises(ValueError, match="'draws' must be worth at least 40"):
        credible_set(z)


def test_a_set_of_two_parts_is_not_a_ball():
    rng = np.random.default_rng(1)
    one, other = np.repeat([0, 1], 10), np.tile([0, 1], 10)
    z = np.array([one if t % 2 else other for t in range(400)]) ^ (rng.random((400, 20)) < 0.03)
    found = credible_set(z)
    assert one in found
    assert other in found
    assert np.arange(20) not in found
    assert epl.modes(z[np.flatnonzero(found.inside)]).n_modes == 2
    assert found.inside.mean() >= 0.9
    assert "credible set" in str(found)


def test_several_partitions_are_named():
    z = (np.random.default_rng(1).random((200, 9)) < 0.1) ^ (np.arange(9) < 4)
    draws = epl.Draws(z.astype(int), items=list("abcdefghi"))
    best = epl.minimize(draws, rng=1)
    expert = dict(zip("ihgfedcba", [1] * 5 + [0] * 4, strict=True))  # by name, in another order
    found = plausibility({"best": best, "expert": expert, "apart": np.arange(9)}, draws)
    assert found.names == ("best", "expert", "apart")
    assert found.p_values[0] == found.p_values[1] > 0.5 > 0.05 > found.p_values[2]
    assert found.to_pandas().index.tolist() == ["best", "expert", "apart"]
    assert "apart" in str(found)


def test_a_high_p_value_says_no_more_than_it_knows():
    rng = np.random.default_rng(1)
    truth = np.repeat(np.arange(4), 10)
    z = np.where(rng.random((1000, 40)) < 0.25, rng.integers(4, size=(1000, 40)), truth)
    merged = np.where(
        truth == 1, 0, truth
    )  # in the middle, though no draw has these three clusters
    text = str(plausibility(merged, z))
    assert "nearer to the draws than any of them, in their middle" in text
    assert "near does not mean supported" in text
    assert "of the draws are as far from the others" in str(plausibility(z[0], z))


def test_the_loss_is_that_of_all_partitions_or_vi():
    rng = np.random.default_rng(1)
    z = ALL[sticky(posterior([5], 2.0), 600, rng)]
    binder, vi = (epl.minimize(z, name, rng=1) for name in ("binder", "vi"))
    assert plausibility([binder, binder], z).loss.name == "binder"
    assert plausibility([binder, vi], z).loss.name == "vi"
    assert plausibility({"mine": binder, "yours": ALL[5]}, z).loss.name == "vi"


def test_a_table_of_labels_is_matched_by_its_items():
    rng = np.random.default_rng(1)
    draws = epl.Draws(ALL[rng.choice(len(ALL), 600, p=posterior([5], 2.0))], items=list("abcdef"))
    table = pd.DataFrame({"item": list("fedcba"), "cluster": ALL[5][::-1]})
    assert plausibility(table, draws).p_values[0] == plausibility(ALL[5], draws).p_values[0] > 0.1
