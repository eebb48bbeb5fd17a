"""The bound by prices for cluster sizes is never above the optimum, and proves what it should."""

import numpy as np
import pytest

import epluribus as epl
from epluribus._kernels.size_prices import Bins, smallest_first
from epluribus._parallel import Stopper
from epluribus.engine import draw_losses
from epluribus.partition import as_labels, partitions
from epluribus.uncertainty import _certificate, _vi_bound
from epluribus.uncertainty._profiles import by_profile
from epluribus.uncertainty._size_table import (
    by_number,
    log_chords,
    make_bins,
    possible,
)


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

    def loss_of(each):
        return draws.mean(draw_losses(as_labels(each), draws, loss))

    room = _vi_bound.room_for(draws.n_items)
    return _vi_bound._Ascent(draws, labels, value, cost, numbers, Stopper(), n_jobs, loss_of, room)


def naive_table(x, w, draws, bins):
    """The row values item by item, draw by draw, with a sort: for all draws, no groups."""
    n, k = x.shape[:2]
    out = np.full((n, k), np.inf)
    for i in range(n):
        for a in range(k):
            coefficients, constant = w[i, a].astype(float) + bins.slope[a], bins.base[a]
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
    work._set_bins(*make_bins(7, n_bins), np.ones((len(make_bins(7, n_bins)[0]), 7), np.uint8))
    work.bins.alive[1, 2] = 0
    shape = (7, len(work.bins.low), 7)
    work.x = rng.uniform(0.1, 1.0, shape).astype(np.float32)
    work.x[np.arange(7), :, np.arange(7)] = 1.0
    work.w = rng.normal(0, 0.1, shape).astype(np.float32)
    work.w -= work.w.transpose(2, 1, 0).copy()
    # One draw in each group: no inequality between the two.
    work.groups = (draws.distinct[None] == draws.item_major[:, :, None]).astype(np.float32)
    missing = -len(draws.shares) % 4
    work.groups = np.pad(work.groups, ((0, 0), (0, missing), (0, 0)), constant_values=1.0)
    work.group_shares = np.tile(np.pad(draws.shares, (0, missing)), (7, 1))
    work.value = np.zeros(shape[:2])
    expected = naive_table(work.x, work.w, draws, work.bins)
    found = work._evaluate()
    assert np.array_equal(np.isinf(found), np.isinf(expected))
    some = np.isfinite(expected)
    assert found[some] == pytest.approx(expected[some], abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cost", [1.0, 0.6, 1.7])
def test_never_above_the_optimum(rng, kind, cost):
    for n in (5, 8):
        draws = epl.Draws(sample(rng, kind, n, 15))
        loss = epl.losses.get("vi") if cost == 1.0 else epl.losses.vi(cost=cost)
        best = epl.exact(draws, loss)
        least = best.expected_loss
        # The optimum, and a partition that is not: what is left out may depend on it.
        for labels in (best.labels, np.zeros(n, dtype=np.int64)):
            work = ascent(draws, labels, loss, cost=cost)
            seen = []
            found = work.run(seen.append)
            assert found.bound <= least * (1 + 1e-12) + 1e-13
            assert max(seen) <= found.bound + 1e-15
            # Prices of our own, at random: every choice of prices and rows gives a bound.
            work = ascent(draws, labels, loss, cost=cost)
            work.w = rng.normal(0, 0.05, work.w.shape).astype(np.float32)
            work.w -= work.w.transpose(2, 1, 0).copy()
            work.x = rng.uniform(0.01, 1.0, work.x.shape).astype(np.float32)
            bound = by_number(work._evaluate(), work.bins, work.constant, work.numbers).least
            assert bound / n <= least * (1 + 1e-12) + 1e-13


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_clusters_and_weights(rng, kind):
    z = sample(rng, kind, 8, 20)
    draws = epl.Draws(z, weights=rng.uniform(0.0, 1.0, 20))
    loss = epl.losses.get("vi")
    for k in (2, 3, 5):
        best = epl.exact(draws, loss, k=k)
        work = ascent(draws, best.labels, loss, numbers=np.array([k]))
        assert work.run(lambda _: None).bound <= best.expected_loss * (1 + 1e-12)


def test_prices_stay_antisymmetric(rng):
    draws = epl.Draws(sample(rng, "truth", 20, 40))
    work = ascent(draws, epl.minimize(draws, rng=1).labels, epl.losses.get("vi"), n_jobs=2)
    for _ in range(10):
        work._sweep()
    assert np.any(work.w)
    assert np.array_equal(work.w, -work.w.transpose(2, 1, 0))


def test_the_same_for_any_number_of_threads(rng):
    draws = epl.Draws(sample(rng, "truth", 20, 20))
    labels = epl.minimize(draws, rng=1).labels
    found = [
        ascent(draws, labels, epl.losses.get("vi"), n_jobs=n_jobs).run(lambda _: None).bound
        for n_jobs in (1, 3)
    ]
    assert found[0] == found[1]


def test_proves_a_clear_answer(rng):
    truth = np.repeat([0, 1, 2], [12, 20, 8])
    z = np.where(rng.random((200, 40)) < 0.06, rng.integers(0, 3, (200, 40)), truth)
    draws = epl.Draws(z)
    best = epl.minimize(draws, rng=1)
    made = epl.certificate(best, draws, time_limit=None)
    assert made.verdict == "proved optimal"
    assert made.method == "prices of items, checked for all clusters"
    assert not made.cut
    # A worse partition is not proved optimal.
    labels = best.labels.copy()
    labels[0] = 1 - labels[0]
    other = epl.certificate(labels, draws, time_limit=None)
    assert not other.proved
    assert other.lower_bound <= best.expected_loss * (1 + 1e-12)


def test_a_cut_is_said(rng, monkeypatch):
    draws = epl.Draws(rng.integers(0, 5, (40, 30)))
    best = epl.minimize(draws, rng=1)
    monkeypatch.setattr(_certificate, "set_bound", lambda *_: -np.inf)  # it would be a proof
    # The clock as the program sees it: the time is up after the first evaluation.
    before = _vi_bound._Ascent._evaluate

    def then_stop(self):
        table = before(self)
        self.stopper.flag[0] = 1
        return table

    monkeypatch.setattr(_vi_bound._Ascent, "_evaluate", then_stop)
    made = epl.certificate(best, draws, time_limit=1000)
    assert made.cut
    assert "cut by the time limit" in str(made)
    assert made.lower_bound > 0


def test_what_is_not_a_number_proves_nothing(rng):
    draws = epl.Draws(sample(rng, "truth", 9, 15))
    work = ascent(draws, np.zeros(9, dtype=np.int64), epl.losses.get("vi"))
    work.w[3, 4, 5] = np.nan
    table = work._evaluate()
    assert np.isneginf(table[3, 4])
    assert np.isneginf(by_number(table, work.bins, work.constant, work.numbers).least)


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
    draws = epl.Draws(sample(rng, "truth", 20, 10))
    monkeypatch.setattr(_vi_bound, "available_memory", lambda: 1e4)
    assert _vi_bound.room_for(20) is None
    made = epl.certificate(epl.minimize(draws, rng=1), draws)
    assert made.method != "prices by cluster size"


def test_bins_cover_all_sizes_and_chords_are_below():
    for n, n_bins in ((10, 4), (400, 64), (1000, 30), (7, 9)):
        low, high = make_bins(n, n_bins)
        assert len(low) <= n_bins
        assert low[0] == 1
        assert high[-1] == n
        assert np.array_equal(low[1:], high[:-1] + 1)
        base, slope = log_chords(low, high, 0.7)
        for a in range(len(low)):
            sizes = np.arange(low[a], high[a] + 1)
            assert np.all(base[a] + slope[a] * sizes <= 0.7 * np.log2(sizes) + 1e-12)


def test_selection(rng):
    for _ in range(200):
        n = int(rng.integers(2, 30))
        r = int(rng.integers(1, n))
        values = rng.integers(0, 10, n).astype(float)
        copy = values.copy()
        smallest_first(copy, n, r)
        assert np.array_equal(np.sort(copy[:r]), np.sort(values)[:r])
        assert np.array_equal(np.sort(copy), np.sort(values))


def test_the_list_of_what_is_left():
    """Four items whose sizes are known: the only partition is listed; with two pairs it is not known."""
    sizes = np.array([1, 2, 3, 4])
    bins = Bins(sizes, sizes, *log_chords(sizes, sizes, 1.0), np.ones((4, 4), np.uint8))
    table = np.full((4, 4), 9.0)
    table[[0, 1, 2], 2] = 0.0
    table[3, 0] = 0.0
    found = by_number(table, bins, 0.0, np.array([1, 2, 3, 4])).below(0.5)
    assert found.numbers.tolist() == [2]
    alive = possible(table, bins, found, 0.5)
    assert alive[2].tolist() == [1, 1, 1, 0]
    assert alive[0].tolist() == [0, 0, 0, 1]
    left = by_profile(table, bins, 0.0, found.numbers, 0.5)
    assert [as_labels(labels).tolist() for labels in left.partitions] == [[0, 0, 0, 1]]
    assert left.least == pytest.approx(0.0, abs=1e-9)
    pairs = np.full((4, 4), 9.0)
    pairs[:, 1] = 0.0
    found = by_number(pairs, bins, 0.0, np.array([1, 2, 3, 4])).below(0.5)
    left = by_profile(pairs, bins, 0.0, found.numbers, 0.5)
    assert left.partitions is None
    assert left.alive[1].tolist() == [1, 1, 1, 1]


def test_profiles_by_enumeration(rng):
    """Every partition with a small sum of entries is listed, and the bound is the smallest such sum."""
    sizes = np.arange(1, 7)
    for _ in range(30):
        alive = (rng.random((6, 6)) < 0.8).astype(np.uint8)
        bins = Bins(sizes, sizes, *log_chords(sizes, sizes, 1.0), alive)
        table = np.where(alive.T > 0, rng.uniform(0, 1, (6, 6)), np.inf)
        number = int(rng.integers(1, 7))
        costs = {}
        for labels in partitions(6):
            count = np.bincount(labels)
            if len(count) == number:
                cost = float(table[np.arange(6), count[labels] - 1].sum())
                costs[tuple(labels)] = cost
        least = min(costs.values())
        loss = min(least + 0.3, 1e6)
        left = by_profile(table, bins, 0.0, np.array([number]), loss)
        if np.isinf(least):
            assert np.isinf(left.least)
            continue
        assert left.least == pytest.approx(least, abs=1e-9)
        better = {labels for labels, cost in costs.items() if cost < loss - 1e-9}
        if left.partitions is not None:
            assert better <= {tuple(as_labels(labels)) for labels in left.partitions}
        for labels in better:
            for i, k in enumerate(np.bincount(labels)[list(labels)]):
                assert left.alive[k - 1, i]
