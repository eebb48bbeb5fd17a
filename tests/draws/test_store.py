"""Draws in slices on disk give what the same draws give in memory."""

import gc
import pickle
from pathlib import Path

import numpy as np
import pytest

import epluribus as epl
from epluribus.draws import collapse, store
from epluribus.engine import draw_losses

RNG = np.random.default_rng(2)
TRUTH = RNG.integers(4, size=40)
Z = np.where(RNG.random((3, 150, 40)) < 0.2, RNG.integers(5, size=(3, 150, 40)), TRUTH)
Z[1, 100:] = Z[1, 0]  # draws that repeat
WEIGHTS = RNG.integers(1, 4, size=(3, 150)) / 7


@pytest.fixture(scope="module", params=["equal weights", "weights"])
def pair(request):
    """The same draws in memory and in slices."""
    weights = None if request.param == "equal weights" else WEIGHTS
    return epl.Draws(Z, weights=weights), epl.Draws(Z, weights=weights, memory_limit=6000)


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_slices(pair):
    whole, sliced = pair
    assert len(whole.store.slices) == 1
    parts = sliced.store.slices
    assert [part.begin for part in parts] == [0, 128, 256, 384]
    assert {part.table.shape[1] for part in parts[:-1]} == {store.MULTIPLE}
    np.testing.assert_array_equal(np.hstack([part.table for part in parts]), whole.item_major)
    for part in parts:
        assert type(part.table) is np.ndarray
        assert part.table.flags.c_contiguous
        assert not part.table.flags.writeable
    np.testing.assert_array_equal(sliced.index, whole.index)
    np.testing.assert_array_equal(sliced.weights, whole.weights)
    np.testing.assert_array_equal(sliced.n_clusters, whole.n_clusters)
    assert str(sliced) == str(whole)
    for one in (whole.store, sliced.store):
        assert (one.n_items, one.n_distinct, one.groups) == (40, whole.n_distinct, 5)


def test_rows_and_columns(pair):
    whole, sliced = (draws.store for draws in pair)
    table = pair[0].item_major
    items, numbers = RNG.integers(40, size=7), RNG.integers(whole.n_distinct, size=90)
    for one in (whole, sliced):
        for found, wanted in (
            (one.rows(items), table[items]),
            (one.columns(numbers), table[:, numbers]),
        ):
            np.testing.assert_array_equal(found, wanted)
            assert found.flags.c_contiguous
            assert found.dtype == table.dtype


def sizes(part, factor):
    return factor * part.table.shape[1]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_map_keeps_the_order(pair, n_jobs):
    n = pair[0].n_distinct
    assert pair[0].store.map(sizes, 2, n_jobs=n_jobs) == [2 * n]
    assert pair[1].store.map(sizes, 2, n_jobs=n_jobs) == [256, 256, 256, 2 * (n - 384)]


@pytest.mark.parametrize("loss", epl.losses.available())
def test_losses(pair, loss):
    whole, sliced = pair
    same(epl.expected_loss(TRUTH, sliced, loss), epl.expected_loss(TRUTH, whole, loss))
    a, b = (epl.expected_loss(TRUTH, draws, loss, per_draw=True) for draws in pair)
    same(a, b)
    chosen = epl.losses.get(loss)
    labels = epl.partition.canonical(TRUTH)
    same(draw_losses(labels, whole, chosen), draw_losses(labels, sliced, chosen))


@pytest.mark.parametrize("loss", ["vi", "binder", "nvi"])
def test_uncertainty(pair, loss):
    a, b = (epl.uncertainty.credible_ball(TRUTH, draws, loss=loss) for draws in pair)
    assert (a.n_inside, a.horizontal.tolist(), a.upper.tolist(), a.lower.tolist()) == (
        b.n_inside,
        b.horizontal.tolist(),
        b.upper.tolist(),
        b.lower.tolist(),
    )
    same(a.distances, b.distances)
    a, b = (epl.uncertainty.items(TRUTH, draws, loss=loss) for draws in pair)
    for name, column in a.columns().items():
        other = b.columns()[name]
        np.testing.assert_array_equal(column, other) if name == "item" else same(column, other)
    a, b = (epl.uncertainty.error(TRUTH, draws, loss=loss) for draws in pair)
    same([a.expected_loss, a.standard_error, a.ess, a.rhat, a.disagreement],
         [b.expected_loss, b.standard_error, b.ess, b.rhat, b.disagreement])  # fmt: skip
    assert a.pair == b.pair


def test_clusters_and_numbers_of_clusters(pair):
    a, b = (epl.uncertainty.clusters(TRUTH, draws) for draws in pair)
    for name, column in a.columns().items():
        same(column, b.columns()[name])
    a, b = (epl.uncertainty.n_clusters_posterior(draws) for draws in pair)
    same(a.probabilities, b.probabilities)


def test_tables_that_are_made_anew(pair, monkeypatch):
    """Where there is no room for the tables of all draws, every block of items makes them again."""
    kept = epl.uncertainty.items(TRUTH, pair[0])
    for name, value in {"_TABLE_BYTES": 1, "_BATCH_CELLS": 100, "_CELLS": 1}.items():
        monkeypatch.setattr(epl.uncertainty._support, name, value)
    for draws in pair:
        same(epl.uncertainty.items(TRUTH, draws).contribution, kept.contribution)


@pytest.mark.parametrize(
    "cut",
    [
        lambda d: d.burn(20),
        lambda d: d.thin(3),
        lambda d: d.chain(1),
        lambda d: d[::-1],
        lambda d: d[[5, 5, 440]],
        lambda d: epl.Draws(d, burn=10, thin=2, memory_limit=6000),
        lambda d: epl.Draws(d, memory_limit="1MB"),
    ],
    ids=["burn", "thin", "chain", "reversed", "some", "again", "higher limit"],
)
def test_selection(pair, cut):
    whole, sliced = (cut(draws) for draws in pair)
    every = np.arange(whole.n_distinct)
    np.testing.assert_array_equal(sliced.store.columns(every), whole.store.columns(every))
    for name in ("index", "chains", "weights", "n_clusters"):
        np.testing.assert_array_equal(getattr(sliced, name), getattr(whole, name))
    small = whole.n_items * whole.n_distinct <= (sliced.store.limit or 0)
    assert (len(sliced.store.slices) == 1) == (small or whole.n_distinct <= store.MULTIPLE)
    np.testing.assert_array_equal(sliced[-1], whole[-1])


def test_what_needs_all_labels_says_so(pair):
    for what in ("item_major", "distinct"):
        with pytest.raises(MemoryError, match=r"MB; .* 'memory_limit' of .* 4 slices .* Thin"):
            getattr(pair[1], what)


def test_pickle(pair):
    again = pickle.loads(pickle.dumps(pair[1]))
    same(epl.expected_loss(TRUTH, again), epl.expected_loss(TRUTH, pair[1]))


@pytest.mark.parametrize("late", [1, 140, 300], ids=["at once", "in the second slice", "late"])
@pytest.mark.parametrize("limit", [400 * 300, 400 * 450, 400 * 500], ids=["slices", "full", "one"])
def test_a_wider_type_comes_late(late, limit):
    z = RNG.integers(3, size=(450, 400))
    z[late:] = np.arange(400)
    z[late:, 0] = RNG.integers(1, 300, size=450 - late)  # one pair together, another in each draw
    draws = epl.Draws(z, memory_limit=limit)
    whole = epl.Draws(z)
    np.testing.assert_array_equal(
        draws.store.columns(np.arange(whole.n_distinct)), whole.item_major
    )
    assert all(part.table.shape[1] % store.MULTIPLE == 0 for part in draws.store.slices[:-1])
    same(epl.expected_loss(z[0], draws), epl.expected_loss(z[0], whole))


def test_the_file_is_gone_with_the_draws(tmp_path, monkeypatch):
    monkeypatch.setattr(store.tempfile, "tempdir", str(tmp_path))
    draws = epl.Draws(Z, memory_limit=6000)
    assert len(draws.store.slices) == 4
    maps = Path("/proc/self/maps")
    mapped = maps.exists() and str(tmp_path) in maps.read_text()
    del draws
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    assert not (mapped and str(tmp_path) in maps.read_text())


@pytest.mark.parametrize("bad", ["2 cats", "", "0", -1, 0, 1.5, True])
def test_bad_limits(bad):
    with pytest.raises((ValueError, TypeError), match="'memory_limit' must"):
        epl.Draws(Z, memory_limit=bad)


def test_small_blocks(monkeypatch):
    monkeypatch.setattr(collapse, "_CELLS", 100)
    monkeypatch.setattr(collapse, "_LINE", 7)
    sliced, whole = epl.Draws(Z, memory_limit=6000), epl.Draws(Z)
    np.testing.assert_array_equal(
        sliced.store.columns(np.arange(whole.n_distinct)), whole.item_major
    )
