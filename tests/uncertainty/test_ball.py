import itertools

import numpy as np
import pytest
from hypothesis import given

import epluribus as epl
import naive_uncertainty as naive
import strategies
from epluribus.uncertainty import credible_ball, n_clusters_posterior

LOSSES = epl.losses.available()


def as_set(bound):
    return {tuple(row) for row in bound.tolist()}


@pytest.mark.parametrize("name", LOSSES)
@given(z=strategies.draws(max_items=7, max_draws=30))
def test_ball_is_the_one_found_by_sorting(name, z):
    """Every loss, level and tie against the plain definition, with and without weights, some of them 0."""
    rng = np.random.default_rng(z.size)
    best = epl.minimize(z, name, rng=0)
    for level in (0.05, 0.5, 0.95, 1.0):
        for weights in (None, np.append(1.0, rng.integers(0, 5, len(z) - 1) * 0.25)):
            draws = epl.Draws(z, weights=weights)
            ball = credible_ball(best, draws, level)
            ref = naive.ball(name, best.labels.tolist(), z.tolist(), level, weights)
            assert ball.radius == pytest.approx(ref["radius"], abs=1e-8)
            assert ball.mass == pytest.approx(ref["mass"])
            assert ball.mass >= level - 1e-12
            for bound, distance in zip(
                ("horizontal", "upper", "lower"), ball.distances, strict=True
            ):
                assert as_set(getattr(ball, bound)) == ref[bound]
                for labels in getattr(ball, bound):
                    assert epl.loss(best, labels, name) == pytest.approx(distance)
            assert ball.inside.tolist() == [tuple(row) in ref["inside"] for row in draws]
            assert ball.n_inside == len(ref["inside"])


def test_the_loss_can_be_another_and_may_be_lopsided():
    z = strategies.random_draws(np.random.default_rng(1), 12, 60, 3)
    best = epl.minimize(z, "vi", rng=0)
    assert credible_ball(best, z).loss.name == "vi"
    assert credible_ball(best, z, loss="binder").loss.name == "binder"
    assert credible_ball(best.labels, z).loss.name == "vi"
    costly = epl.losses.binder(cost=1.5)
    values = epl.expected_loss(best.labels, z, costly, per_draw=True)
    assert credible_ball(best, z, 1.0, loss=costly).radius == values.max()


@given(z=strategies.draws(max_draws=20))
def test_posterior_and_shortest_interval(z):
    rng = np.random.default_rng(z.size)
    weights = rng.random(len(z)) + 0.01
    found = n_clusters_posterior(epl.Draws(z, weights=weights), best=z[0], level=0.8)
    k = np.array([len(set(row)) for row in z.tolist()])
    ref = {n: weights[k == n].sum() / weights.sum() for n in range(1, z.shape[1] + 1)}
    for n, probability in ref.items():
        assert found.probability(n) == pytest.approx(probability)
    assert found.probabilities.sum() == pytest.approx(1)
    assert found.mean == pytest.approx(np.average(k, weights=weights))
    assert found.estimate == k[0]
    ranges = itertools.combinations_with_replacement(range(k.min(), k.max() + 1), 2)
    good = [(b - a, -m) for a, b in ranges if (m := sum(ref[n] for n in range(a, b + 1))) >= 0.8]
    low, high = found.interval
    assert high - low == min(good)[0]
    assert found.mass == pytest.approx(-min(good)[1])


def test_a_limit_of_the_model_is_suspected_where_the_largest_number_is_the_most_probable():
    text = str(n_clusters_posterior([[0, 1, 2]] * 9 + [[0, 1, 1]], level=0.9))
    assert "If the model allows at most 3, raise that limit." in text
    assert "If the model allows" not in str(n_clusters_posterior([[0, 1, 2]] * 8 + [[0, 1, 1]] * 2))
