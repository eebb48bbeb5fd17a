"""The bound by prices for cluster sizes is never above the optimum, and proves what it should."""

import numpy as np
import pytest

import epluribus as epl
from epluribus._kernels.size_prices import smallest_first
from epluribus._parallel import Stopper
from epluribus.draws.expected import draw_losses
from epluribus.uncertainty import _certificate, _size_prices
from epluribus.uncertainty._size_prices import Bins, SizePrices, by_number, make_bins, possible


@pytest.fixture
def rng():
    return np.random.default_rng(15)


def sample(rng, kind, n, t):
    """Draws of one of several kinds: noise, a partition with noise, two partitions, a giant cluster."""
    if kind == "noise":
        return rng.integers(0, rng.integers(1, n + 1), (t, n))
    truth = rng.integers(0, 3, n)
    if kind == "modes":
        other = rng.integers(0, 2, n)
        return np.where(rng.random((t, 1)) < 0.5, truth, other)
    if kind == "giant":
        return np.where(rng.random((t, n)) < 0.8, 0, np.arange(n) + 1)
    return np.where(rng.random((t, n)) < 0.8, truth, rng.integers(0, 4, (t, n)))


KINDS = ("noise", "truth", "modes", "giant")


def ascent(draws, labels, loss, *, cost=1.0, numbers=None, n_jobs=1):
    value = draws.mean(draw_losses(labels, draws, loss))
    numbers = np.arange(1, draws.n_items + 1) if numbers is None else numbers
    return SizePrices(draws, labels, value, cost, numbers, Stopper(), n_jobs)


def naive_table(x, w, draws, bins):
    """The row values item by item, draw by draw, with a sort: for all draws, no groups."""
    n, k = x.shape[:2]
    base, slope = bins.chords
    out = np.full((n, k), np.inf)
    for i in range(n):
        for a in range(k):
            coefficients, constant = w[i, a].astype(float) + slope[a], base[a]
            for row, share in zip(draws.distinct, draws.shares, strict=True):
                together = row == row[i]
                m = x[i, a][together].sum()
                constant += share * 2 * (1 / np.log(2) - np.log2(m))
                coefficients = coefficients - share * 2 / np.log(2) / m * together
            others = np.sort(np.delete(coefficients, i)[np.delete(bins.alive[a], i) > 0])
            if bins.alive[a, i] and len(others) >= bins.low[a] - 1:
                sums = np.concatenate([[0.0], np.cumsum(others)])[bins.low[a] - 1 : bins.high[a]]
                out[i, a] = constant + coefficients[i] + sums.min()
    return out


@pytest.mark.parametrize("n_bins", [3, 7])
def test_the_table_is_the_naive_one(rng, n_bins):
    draws = epl.Draws(sample(rng, "truth", 7, 9))
    work = ascent(draws, draws.distinct[0].astype(np.int64), epl.losses.get("vi"))
    low, high = make_bins(7, n_bins)
    work.bins = Bins(low, high, np.ones((len(low), 7), dtype=bool), 1.0)
    work.bins.alive[1, 2] = False
    shape = (7, len(work.bins.low), 7)
    work.x = rng.uniform(0.1, 1.0, shape).astype(np.float32)
    work.x[np.arange(7), :, np.arange(7)] = 1.0
    work.w = rng.normal(0, 0.1, shape).astype(np.float32)
    work.w -= work.w.transpose(2, 1, 0).copy()
    # One draw in each group: no inequality between the two.
    work.groups = (draws.distinct[None] == draws.item_major[:, :, None]).astype(np.float32)
    work.group_shares = np.tile(draws.shares, (7, 1))
    work.value = np.zeros(shape[:2])
    expected = naive_table(work.x, work.w, draws, work.bins)
    found = work.evaluate()
    assert np.array_equal(np.isinf(found), np.isinf(expected))
    some = np.isfinite(expected)
    assert found[some] == pytest.approx(expected[some], abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cost", [1.0, 0.6, 1.7])
def test_never_above_the_optimum(rng, kind, cost):
    for n in (5, 8):
        draws = epl.Draws(sample(rng, kind, n, 15))
        loss = epl.losses.get("vi") if cost == 1.0 else epl.losses.vi(cost=cost)
        best = epl.search.exact(draws, loss)
        least = best.expected_loss
        # The optimum, and a partition that is not: what is left out may depend on it.
        for labels in (best.labels, np.zeros(n, dtype=np.int64)):
            work = ascent(draws, labels, loss, cost=cost)
            seen = []
            found = work.run(lambda bound, _, seen=seen: seen.append(bound))
            assert found <= least * (1 + 1e-12) + 1e-13
            assert max(seen) <= found + 1e-15
            # Prices of our own, at random: every choice of prices and rows gives a bound.
            work = ascent(draws, labels, loss, cost=cost)
            work.w = rng.normal(0, 0.05, work.w.shape).astype(np.float32)
            work.w -= work.w.transpose(2, 1, 0).copy()
            work.x = rng.uniform(0.01, 1.0, work.x.shape).astype(np.float32)
            bound = by_number(work.evaluate(), work.bins, work.constant, work.numbers)[0].min()
            assert bound / n <= least * (1 + 1e-12) + 1e-13


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_clusters_and_weights(rng, kind):
    z = sample(rng, kind, 8, 20)
    draws = epl.Draws(z, weights=rng.uniform(0.0, 1.0, 20))
    loss = epl.losses.get("vi")
    for k in (2, 3, 5):
        best = epl.search.exact(draws, loss, k=k)
        work = ascent(draws, best.labels, loss, numbers=np.array([k]))
        assert work.run(lambda *_: None) <= best.expected_loss * (1 + 1e-12)


def test_prices_stay_antisymmetric(rng):
    draws = epl.Draws(sample(rng, "truth", 20, 40))
    work = ascent(draws, epl.minimize(draws, rng=1).labels, epl.losses.get("vi"), n_jobs=2)
    for _ in range(10):
        work._sweep()
    assert np.any(work.w)
    assert np.array_equal(work.w, -work.w.transpose(2, 1, 0))


def test_a_cut_is_said(rng, monkeypatch):
    draws = epl.Draws(rng.integers(0, 5, (40, 30)))
    best = epl.minimize(draws, rng=1)
    monkeypatch.setattr(_certificate, "set_bound", lambda *_: -np.inf)  # it would be a proof
    # The clock as the program sees it: the time is up after the first evaluation.
    before = SizePrices.evaluate

    def then_stop(self):
        table = before(self)
        self.stopper.flag[0] = 1
        return table

    monkeypatch.setattr(SizePrices, "evaluate", then_stop)
    made = epl.certificate(best, draws, time_limit=1000)
    assert made.cut
    assert "cut by the time limit" in str(made)
    assert made.lower_bound > 0


def test_what_is_not_a_number_proves_nothing(rng):
    draws = epl.Draws(sample(rng, "truth", 9, 15))
    work = ascent(draws, np.zeros(9, dtype=np.int64), epl.losses.get("vi"))
    work.w[3, 4, 5] = np.nan
    table = work.evaluate()
    assert np.isneginf(table[3, 4])
    assert np.isneginf(by_number(table, work.bins, work.constant, work.numbers)[0].min())


def test_progress_shows_the_gap(rng):
    seen = []
    draws = epl.Draws(sample(rng, "truth", 20, 40))
    best = epl.minimize(draws, rng=1)
    epl.certificate(
        best, draws, progress=lambda done, total, info: seen.append((done, total, info))
    )
    assert seen
    assert all(0 <= done <= total for done, total, _ in seen)
    assert all("gap" in info for *_, info in seen)


def test_too_large_has_no_prices(monkeypatch, rng):
    draws = epl.Draws(sample(rng, "noise", 20, 10))
    monkeypatch.setattr(_certificate, "MOST_ITEMS", 10)
    monkeypatch.setattr(_certificate, "set_bound", lambda *_: -np.inf)
    made = epl.certificate(epl.minimize(draws, rng=1), draws)
    assert made.method == "the triangle inequality between draws"


def test_work_is_counted(monkeypatch, rng):
    """The same bound for one thread and two, and less with less work; the clock has no part in it."""
    draws = epl.Draws(rng.integers(0, 4, (40, 25)))
    labels = epl.minimize(draws, rng=1).labels
    made = [
        ascent(draws, labels, epl.losses.get("vi"), n_jobs=n_jobs).run(lambda *_: None)
        for n_jobs in (1, 2)
    ]
    assert made[0] == made[1]
    monkeypatch.setattr(_size_prices, "_BUDGET", 1.0)
    assert ascent(draws, labels, epl.losses.get("vi")).run(lambda *_: None) <= made[0]
    found = epl.certificate(labels, draws)
    assert not found.cut


def test_groups_of_draws_are_means_rounded_up(rng):
    draws = epl.Draws(rng.integers(0, 3, (50, 12)), weights=rng.dirichlet(np.ones(50)))
    work = ascent(draws, rng.permutation(np.repeat([0, 1], 6)), epl.losses.get("vi"))
    for n_groups in (1, 7, 50):
        work._group(n_groups, [np.ones((1, 12))] * 12)
        assert work.groups.shape == (12, n_groups, 12)
        assert np.allclose(work.group_shares.sum(axis=1), 1.0)
        for i in range(12):
            mean = work.group_shares[i] @ work.groups[i]
            assert mean[i] == pytest.approx(1.0)
            right = work.shares @ (work.labels == work.labels[:, i, None])
            assert mean == pytest.approx(right, rel=1e-6)
            assert np.all(mean >= right * (1 - 1e-12))


def test_bins_cover_all_sizes_and_chords_are_below():
    for n, n_bins in ((10, 4), (400, 64), (1000, 30), (7, 9)):
        low, high = make_bins(n, n_bins)
        assert len(low) <= n_bins
        assert low[0] == 1
        assert high[-1] == n
        assert np.array_equal(low[1:], high[:-1] + 1)
        base, slope = Bins(low, high, np.ones((len(low), 1), dtype=bool), 0.7).chords
        for a in range(len(low)):
            sizes = np.arange(low[a], high[a] + 1)
            assert np.all(base[a] + slope[a] * sizes <= 0.7 * np.log2(sizes) + 1e-12)


def test_selection(rng):
    for n in range(2, 60):
        r, values = int(rng.integers(1, n)), rng.integers(0, 10, n).astype(float)
        copy = values.copy()
        smallest_first(copy, n, r)
        assert np.array_equal(np.sort(copy[:r]), np.sort(values)[:r])
        assert np.array_equal(np.sort(copy), np.sort(values))


def test_bins_are_split_in_order():
    low, high = make_bins(40, 8)
    alive = np.ones((len(low), 40), dtype=bool)
    alive[2] = False
    bins, source = Bins(low, high, alive, 1.0).split(alive, 20)
    assert len(low) < len(source) <= 20
    sizes = np.concatenate([np.arange(a, b + 1) for a, b in zip(bins.low, bins.high, strict=True)])
    assert sizes.tolist() == [k for k in range(1, 41) if not low[2] <= k <= high[2]]
    assert np.all(low[source] <= bins.low)
    assert np.all(bins.high <= high[source])


def test_what_a_better_partition_cannot_have():
    """Four items whose sizes are known: other sizes, and other numbers of clusters, are left out."""
    sizes = np.array([1, 2, 3, 4])
    bins = Bins(sizes, sizes, np.ones((4, 4), dtype=bool), 1.0)
    table = np.full((4, 4), 9.0)
    table[[0, 1, 2], 2] = 0.0
    table[3, 0] = 0.0
    bounds, prices = by_number(table, bins, 0.0, np.array([1, 2, 3, 4]))
    assert (bounds < 0.5).tolist() == [False, True, False, False]
    alive = possible(table, bins, bounds[1:2], prices[1:2], 0.5)
    assert alive[2].tolist() == [True, True, True, False]
    assert alive[0].tolist() == [False, False, False, True]
    assert not alive[[1, 3]].any()
