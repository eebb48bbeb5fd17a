"""R-hat, effective sample size, and the one rule of chain agreement."""

import math
import warnings

import numpy as np
import pytest

from epluribus.diagnostics import chain_agreement, ess, rhat
from epluribus.draws import Draws, expected


def autoregression(rho, shape, rng):
    noise = rng.normal(size=shape) * np.sqrt(1 - rho**2)
    noise[:, 0] /= np.sqrt(1 - rho**2)
    for t in range(1, shape[1]):
        noise[:, t] += rho * noise[:, t - 1]
    return noise


# --- R-hat and effective sample size ---


def arviz_value(name, x, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arviz = pytest.importorskip("arviz", reason="ArviZ is not installed")
        if int(arviz.__version__.partition(".")[0]) >= 1:
            options |= {"chain_axis": 0, "draw_axis": 1}
        return float(getattr(arviz, name)(x, **options))


@pytest.mark.parametrize("shape", [(2, 50), (4, 301), (3, 4)])
def test_numbers_are_those_of_arviz(shape):
    rng = np.random.default_rng(0)
    normal = autoregression(0.6, shape, rng)
    for x in (
        normal,
        np.exp(3 * normal),
        np.floor(normal),
        normal * rng.integers(1, 4, (shape[0], 1)),
    ):
        assert rhat(x) == pytest.approx(arviz_value("rhat", x, method="rank"))
        assert ess(x) == pytest.approx(arviz_value("ess", x, method="bulk"))
        assert ess(x, method="mean") == pytest.approx(arviz_value("ess", x, method="mean"))
        tail = arviz_value("ess", x, method="tail", prob=(0.05, 0.95))
        assert ess(x, method="tail") == pytest.approx(tail, nan_ok=True)


def test_a_chain_of_another_scale_is_seen():
    """The split R-hat of 2013 is 1.0007 here: means agree, ranks around the median do not."""
    x = np.random.default_rng(1).normal(size=(4, 1000))
    x[3] *= 3
    assert rhat(x) > 1.1


def test_a_single_chain_is_judged_by_its_halves():
    """The rank-normalized R-hat by hand, for the two halves as chains."""
    from scipy.stats import norm, rankdata

    x = autoregression(0.9, (1, 40), np.random.default_rng(2))[0]
    halves = x.reshape(2, 20)

    def plain(values):
        z = norm.ppf((rankdata(values) - 0.375) / 40.25).reshape(2, 20)
        within = z.var(axis=1, ddof=1).mean()
        return np.sqrt(19 / 20 + z.mean(axis=1).var(ddof=1) / within)

    ref = max(plain(halves), plain(np.abs(halves - np.median(x))))
    assert rhat(x) == pytest.approx(ref)
    assert rhat([x]) == rhat(x)
    drifting = np.random.default_rng(2).normal(size=1000).cumsum()
    assert rhat(drifting) > 1.05
    assert ess(drifting) < 50


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, -0.4])
def test_ess_of_an_autoregression(rho):
    # ESS / draws = (1 - rho) / (1 + rho); the estimate has a standard error of a few per cent.
    x = autoregression(rho, (4, 5000), np.random.default_rng(1))
    for method in ("bulk", "mean"):
        np.testing.assert_allclose(ess(x, method=method), 20_000 * (1 - rho) / (1 + rho), rtol=0.15)
    assert rhat(x) < 1.01


def test_constant_short_and_stuck_chains():
    assert rhat(np.ones((2, 10))) == 1.0
    assert ess(np.ones((2, 10))) == 20.0
    assert rhat(np.ones(9)) == 1.0
    assert ess(np.ones(9)) == 9.0
    assert rhat(np.array([[1.0] * 10, [2.0] * 10])) == np.inf
    assert rhat([1.0] * 4 + [2.0] * 4) == np.inf
    for few in ([[1.0, 2.0]], [1.0, 2.0, 3.0], [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]):
        assert np.isnan(rhat(few))
        assert np.isnan(ess(few))


def test_rounding_is_not_ranked():
    """A log posterior of few values that drifts in its last digits, as running sums do."""
    rng = np.random.default_rng(3)
    x = np.where(rng.random((2, 1000)) < 0.2, -50.5, -44.4)
    drift = 1e-15 * rng.normal(size=(2, 1000)).cumsum(axis=1)
    assert rhat(x * (1 + drift)) == rhat(x) < 1.01
    assert ess(x * (1 + drift)) == ess(x) > 1000
    assert rhat(-44.4 + drift) == 1.0


def test_two_values_are_enough():
    """Folded at the median they are constant: no warning, and the answer of the values themselves."""
    x = np.tile([0.0, 1.0], (2, 50))
    assert rhat(x) == pytest.approx(1.0, abs=0.02)
    assert rhat(x[0]) == pytest.approx(1.0, abs=0.03)


# --- the rule: cases where it must say yes, no, and that it cannot know ---

A, B = np.arange(12) % 3, np.arange(12) // 4


def around(partition, n_draws, rng, refresh=1.0, noise=0.1):
    """A chain near one partition: each item is drawn again with probability `refresh` per step."""
    fresh = np.where(
        rng.random((n_draws, 12)) < noise, rng.integers(3, size=(n_draws, 12)), partition
    )
    keep = rng.random((n_draws, 12)) >= refresh
    last = np.maximum.accumulate(np.where(keep, 0, np.arange(n_draws)[:, None]), axis=0)
    return np.take_along_axis(fresh, last, axis=0)


def between(n_draws, rng, refresh=0.2):
    """A chain that mixes over both partitions."""
    state = rng.random(n_draws) < 0.5
    last = np.maximum.accumulate(np.where(rng.random(n_draws) < refresh, np.arange(n_draws), 0))
    return np.where(state[last][:, None], around(A, n_draws, rng), around(B, n_draws, rng))


def frozen(partition, n_draws):
    return np.tile(partition, (n_draws, 1))


@pytest.mark.parametrize("n_draws", [50, 400])
@pytest.mark.parametrize("refresh", [1.0, 0.3])
def test_chains_that_disagree_are_told_so(n_draws, refresh):
    rng = np.random.default_rng(n_draws)

    def near(partition):
        return around(partition, n_draws, rng, refresh)

    cases = {
        "unrelated": [near(A), near(B)],
        "one of three": [near(A), near(A), near(B)],
        "frozen": [frozen(A, n_draws), frozen(B, n_draws)],
        "two clusters are one": [near(A), near(A // 2)],
        "one stuck": [between(400, rng), between(400, rng), frozen(A, 400)],
    }
    for name, chains in cases.items():
        found = chain_agreement(Draws(chains), 1)
        assert found.agree is False, name
        assert found.difference > found.limit
        assert "that chance explains." in found.sentence


def test_one_of_many_chains():
    """Beyond 16 chains each is compared with the next: one that differs is still found."""
    rng = np.random.default_rng(8)
    chains = [around(A, 100, rng) for _ in range(20)]
    assert chain_agreement(Draws(chains), 1).agree is True
    chains[11] = around(B, 100, rng)
    assert chain_agreement(Draws(chains), 1).agree is False


def test_a_short_chain_excuses_no_others():
    """The largest difference is that of a chain too short to judge; two others disagree for sure."""
    rng = np.random.default_rng(3)
    chains = [around(A, 300, rng), around(A, 300, rng, noise=0.5), frozen(B, 3)]
    draws = Draws(np.concatenate(chains), chains=np.repeat([0, 1, 2], [300, 300, 3]))
    found = chain_agreement(draws, 1)
    assert found.agree is False
    both = Draws(np.stack(chains[:2]))
    assert found.difference == chain_agreement(both, 1).difference


@pytest.mark.parametrize("make", [around, between])
def test_few_false_alarms(make):
    """50 sets of 2 to 4 agreeing chains of 200 to 1000 draws: at most 1 is called disagreeing.

    Draws depend on each other, with autocorrelation times of 1 to 20. Measured over 2,400 sets: 0.4%.
    """
    rng = np.random.default_rng(4)
    verdicts = []
    for _ in range(50):
        n_draws, refresh = rng.integers(200, 1001), rng.uniform(0.1, 1.0)
        shared = (A,) if make is around else ()
        chains = [make(*shared, n_draws, rng, refresh=refresh) for _ in range(rng.integers(2, 5))]
        verdicts.append(chain_agreement(Draws(chains), 1).agree)
    assert verdicts.count(False) <= 1
    assert verdicts.count(True) >= 40


def test_what_cannot_be_known():
    rng = np.random.default_rng(5)
    for draws in (
        Draws(around(A, 100, rng)),  # one chain
        Draws([[[0], [0]], [[0], [0]]]),  # one item
        Draws(around(A, 40, rng), chains=np.repeat([0, 1], 20), weights=np.repeat([0, 1], 20)),
    ):
        found = chain_agreement(draws)
        assert found.agree is None
        assert math.isnan(found.difference)
        assert found.pair is None
        one = "There are no two chains to compare."
        assert found.sentence == (
            one if found.n_chains == 1 else "The chains could not be compared."
        )
    short = chain_agreement(Draws([frozen(A, 3), frozen(B, 3)]))
    assert short.agree is None
    assert short.difference == 1
    assert math.isnan(short.limit)
    few = chain_agreement(Draws([around(A, 10, rng), around(A, 10, rng)]))
    assert few.agree is None
    assert few.limit > 0.5
    assert few.sentence.endswith("; they are too short to say whether that is chance.")


def test_equal_chains_agree():
    found = chain_agreement(Draws([frozen(A, 10), frozen(A, 10)]))
    assert found.agree is True
    assert found.difference == 0
    assert found.limit == pytest.approx(0, abs=1e-6)
    assert found.pair is None
    weights = np.random.default_rng(0).random(20)  # rounding of weights is no difference
    z = np.tile(around(A, 10, np.random.default_rng(1)), (2, 1))
    again = chain_agreement(
        Draws(z, chains=np.repeat([0, 1], 10), weights=np.tile(weights[:10], 2))
    )
    assert again.difference == 0
    assert again.limit >= 0


def test_difference_and_pair_are_those_of_a_loop():
    rng = np.random.default_rng(3)
    z, weights = rng.integers(0, 3, (3, 40, 6)), rng.random((3, 40))
    names = list("abcdef")

    def probability(c, i, j):
        return np.average(z[c, :, i] == z[c, :, j], weights=weights[c])

    apart = {
        (names[i], names[j]): max(
            abs(probability(c, i, j) - probability(d, i, j)) for c in range(3) for d in range(c)
        )
        for j in range(6)
        for i in range(j)
    }
    found = chain_agreement(Draws(z, weights=weights, items=names))
    assert found.difference == pytest.approx(max(apart.values()))
    assert apart[found.pair] == max(apart.values())
    first, second = found.pair
    assert f"items {first} and {second} share a cluster" in found.sentence


def test_the_limit_by_hand():
    """Two chains, one pair of items: the formula of the module, with weights."""
    from scipy.stats import t

    rng = np.random.default_rng(6)
    x = (autoregression(0.5, (2, 200), rng) > [[0.3], [0.0]]).astype(int)
    z = np.stack([np.zeros_like(x), x], axis=2)  # together where x is 0
    weights = rng.random((2, 200)) + 0.1
    found = chain_agreement(Draws(z, weights=weights))
    p_a, p_b = (np.average(x[c] == 0, weights=weights[c]) for c in (0, 1))
    assert found.difference == pytest.approx(abs(p_a - p_b))
    p = (p_a + p_b) / 2
    slower = min(ess(x[0], method="identity"), ess(x[1], method="identity")) / 200
    n_a, n_b = (slower * w.sum() ** 2 / (w**2).sum() - 2 for w in weights)
    # Three comparisons: the two chains, and the halves of each.
    limit = t.isf(0.002 / 3 / 2, n_a + n_b - 2) * np.sqrt(p * (1 - p) * (1 / n_a + 1 / n_b))
    assert found.limit == pytest.approx(limit)


def test_every_pair_is_looked_at_once():
    # One pair differs between the chains, each pair in turn: none is missed.
    for i in range(5):
        for j in range(i + 1, 5):
            apart = np.arange(5)
            joined = apart.copy()
            joined[j] = i
            found = chain_agreement(Draws([[apart], [joined]]))
            assert found.difference == 1.0
            assert found.pair == (str(i), str(j))


def test_many_items_are_compared_in_part(monkeypatch):
    rng = np.random.default_rng(7)
    draws = Draws(rng.integers(3, size=(2, 30, 40)))
    whole = chain_agreement(draws, 1)
    assert chain_agreement(draws, 2) == whole
    monkeypatch.setattr(expected, "_BLOCK_ROWS", 1)
    assert chain_agreement(draws) == whole
    part = chain_agreement(draws, comparisons=30_000)
    assert part.pair is None
    assert 0 < part.difference <= whole.difference
    assert "that some two items share a cluster" in part.sentence


def test_chains_that_seldom_change_their_mode_do_not_disagree():
    """All have the same law; each stays at one of two partitions for some fifty draws."""
    rng, alarms = np.random.default_rng(14), 0
    merged = np.where(A == 1, 0, A)
    for _ in range(20):
        moves = rng.random((4, 400)) < 0.02
        moves[:, 0] = True
        last = np.maximum.accumulate(np.where(moves, np.arange(400), 0), axis=1)
        first = np.take_along_axis(rng.random((4, 400)) < 0.7, last, axis=1)
        z = np.where(first[..., None], A, merged)
        z = np.where(rng.random(z.shape) < 0.05, rng.integers(3, size=z.shape), z)
        alarms += chain_agreement(Draws(z), 1).agree is False
    assert alarms <= 1


# --- drift, scale, advice ---


def test_a_common_drift_is_seen():
    """All chains go the same way, slowly: they never differ from each other."""
    rng = np.random.default_rng(10)
    progress = np.linspace(0, 1, 300)[:, None]
    late, turn = rng.permutation(A), rng.random(12)

    def chain(there):
        return np.where(there, around(late, 300, rng), around(A, 300, rng))

    gradually = [chain(rng.random((300, 12)) < progress) for _ in range(3)]
    one_by_one = [chain(turn < progress) for _ in range(3)]
    for chains in (gradually, one_by_one, gradually[:1]):
        found = chain_agreement(Draws(chains), 1)
        assert found.agree is False
        assert "eave out more draws at the beginning" in found.advice


def test_another_scale_is_seen_and_the_chain_named():
    rng = np.random.default_rng(11)
    chains = [around(A, 300, rng, noise=noise) for noise in (0.05, 0.05, 0.2, 0.05)]
    named = Draws(np.concatenate(chains), chains=np.repeat(["a", "b", "c", "d"], 300))
    for draws, name in ((Draws(chains), "2"), (named, "c")):
        found = chain_agreement(draws, 1)
        assert found.agree is False
        assert found.odd == name
        assert found.advice.startswith(f"Chain {name} is off: ")
        assert found.advice.endswith("do not report the answer.")


def test_series_of_the_caller_count():
    rng = np.random.default_rng(12)
    draws = Draws([around(A, 200, rng) for _ in range(2)])
    assert chain_agreement(draws, 1).agree is True
    shifted = rng.normal(size=400) + np.repeat([0, 2], 200)
    found = chain_agreement(draws, 1, series={"log posterior": shifted})
    assert found.agree is False
    assert found.series[0].differs
    assert "R-hat is too large: of the log posterior" in found.sentence
    fine = chain_agreement(draws, 1, series={"log posterior": rng.normal(size=400)})
    assert fine.agree is True
    assert fine.advice == ""


def test_draws_of_weight_zero_do_not_exist():
    rng = np.random.default_rng(14)
    chains = [np.concatenate([frozen(B, 60), around(A, 200, rng)]) for _ in range(2)]
    weights = np.tile(np.repeat([0.0, 1.0], [60, 200]), 2)
    draws = Draws(np.stack(chains), weights=weights.reshape(2, 260))
    found = chain_agreement(draws, 1, series={"loss": np.where(weights > 0, rng.random(520), 9.0)})
    assert found.agree is True
    assert all(one.rhat < 1.05 for one in found.series)


@pytest.mark.parametrize("n_chains", [1, 3])
def test_chains_worth_a_few_draws_are_not_called_disagreeing(n_chains):
    """Stationary chains that switch some four times between two partitions: whether they agree cannot be known."""
    rng = np.random.default_rng(15)
    verdicts = []
    for _ in range(30):
        chains = [between(300, rng, refresh=4 / 300) for _ in range(n_chains)]
        found = chain_agreement(Draws(chains), 1)
        verdicts.append(found.agree)
        assert not found.limit > 1.0
    assert verdicts.count(False) <= 3
    assert verdicts.count(True) <= 3


def test_a_chain_that_never_moves_where_a_slow_one_never_comes():
    """The slow chain is worth few draws, but it has left what the other is stuck at."""
    left = np.where(np.arange(12) < 4 + np.arange(150)[:, None] // 20, A, B)
    found = chain_agreement(Draws([frozen(np.zeros(12, int), 150), left]), 1)
    assert found.agree is False
    assert found.difference > found.limit


def test_chains_keep_their_numbers_where_one_has_no_weight():
    rng = np.random.default_rng(16)
    chains = np.stack([around(p, 100, rng) for p in (A, A, A, A, B)])
    weights = np.ones((5, 100))
    weights[1] = 0.0
    found = chain_agreement(Draws(chains, weights=weights), 1)
    assert found.agree is False
    assert (found.odd, found.n_chains) == ("4", 4)
