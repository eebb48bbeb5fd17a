import pickle
import sys
import tracemalloc

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import epluribus as epl
import strategies

Z = np.array([[0, 0, 1, 2], [2, 1, 1, 1], [0, 0, 2, 1], [1, 1, 1, 1]])
WORDS = [["abc"[x] for x in row] for row in Z]
FORMS = [Z.tolist(), tuple(map(tuple, Z)), Z * 10**15 - 7, -Z - 2, WORDS, np.array(WORDS)]
FORMS += [Z.astype(object), xr.DataArray(Z, dims=("draw", "item")), epl.Draws(Z)]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_input_gives_the_same_draws(form):
    draws = epl.Draws(form)
    np.testing.assert_array_equal(np.asarray(draws), np.asarray(epl.Draws(Z)))
    assert (draws.n_draws, draws.n_items, draws.n_distinct) == (4, 4, 3)


def test_interleaved_chains_keep_their_order():
    """Rows of two chains in turn: what burn and thin leave is still in turn."""
    z = [[t, 0, 1, 2, 3] for t in range(12)]
    chains = [0, 1] * 6
    for draws in (
        epl.Draws(z, chains=chains, burn=2, thin=2),
        epl.Draws(z, chains=chains).burn(2).thin(2),
    ):
        assert draws.chains.tolist() == [0, 1, 0, 1]
        np.testing.assert_array_equal(np.asarray(draws), np.asarray(epl.Draws(z))[[4, 5, 8, 9]])


@given(strategies.draws(), st.integers(0, 2**32 - 1))
def test_weights_equal_repeats(z, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 4, size=len(z))
    weighted = epl.Draws(z, weights=counts)
    repeated = epl.Draws(np.repeat(z, counts, axis=0))
    np.testing.assert_allclose(weighted.weights, repeated.weights)
    labels = rng.integers(3, size=z.shape[1])
    for name in epl.losses.available():
        assert epl.expected_loss(labels, weighted, name) == pytest.approx(
            epl.expected_loss(labels, repeated, name), abs=1e-12
        )


def test_peak_memory():
    """At most three times the stored labels, and some 20 MB, beside the input."""
    z = np.random.default_rng(0).integers(20, size=(2000, 10000), dtype=np.int8)
    epl.Draws(z[:2])  # compiles
    tracemalloc.start()
    try:
        draws = epl.Draws(z)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert draws.item_major.nbytes == 20e6
    assert peak <= 3 * 20e6 + 20e6


def test_where_weights_come_from():
    draws = epl.Draws([[[0, 0], [0, 1]]], weights=[[1, 3]])  # by chain and draw
    assert draws.total_weight == 4
    assert epl.Draws(draws).draw_weights.tolist() == [1, 3]
    assert epl.Draws(draws, weights=[2, 5]).draw_weights.tolist() == [2, 5]


SPREAD = np.random.default_rng(2).integers(3, size=(12, 8))
"""Draws whose distinct partitions are many."""


@pytest.mark.parametrize("weight", [1.7e308, 5e-324, 1e300, 1e-300, 1e-40, 1e40])
def test_equal_weights_of_any_size_are_no_weights(weight):
    draws, plain = epl.Draws(SPREAD, weights=[weight] * 12), epl.Draws(SPREAD)
    np.testing.assert_array_equal(draws.draw_weights, np.ones(12))
    for name in epl.losses.available():
        labels = SPREAD[0]
        assert epl.expected_loss(labels, draws, name) == epl.expected_loss(labels, plain, name)
    assert epl.minimize(draws, rng=1).labels.tolist() == epl.minimize(plain, rng=1).labels.tolist()


@pytest.mark.parametrize("scale", [1e307, 2.0**-1074, 1e-310, 1e150, 1e-150])
def test_only_ratios_of_weights_matter(scale):
    weights = np.arange(12.0)
    draws, plain = epl.Draws(SPREAD, weights=weights * scale), epl.Draws(SPREAD, weights=weights)
    best = epl.minimize(plain, rng=1)
    np.testing.assert_array_equal(epl.minimize(draws, rng=1).labels, best.labels)
    assert epl.expected_loss(best, draws) == pytest.approx(best.expected_loss, rel=1e-12)
    np.testing.assert_allclose(epl.psm(draws), epl.psm(plain), atol=1e-12)
    ball, right = epl.credible_ball(best, draws), epl.credible_ball(best, plain)
    assert (ball.radius, ball.mass) == pytest.approx((right.radius, right.mass))
    error, right = epl.uncertainty.error(best, draws), epl.uncertainty.error(best, plain)
    assert error.standard_error == pytest.approx(right.standard_error)
    np.testing.assert_allclose(epl.modes(draws, rng=1).weights, epl.modes(plain, rng=1).weights)


def test_parts_of_a_sample_are_scaled_by_themselves():
    """The relative weights as given are not lost: neither in a part, nor in a part of a part."""
    z = [[[0, 0, 1], [0, 1, 1]], [[0, 1, 0], [0, 1, 2]]]
    draws = epl.Draws(z, weights=[[1e308, 1e308], [5e-324, 1e-323]])
    tiny = epl.Draws([[0, 1, 0], [0, 1, 2]], weights=[1, 2])
    for part in (
        draws[2:],
        draws.chain(1),
        epl.Draws(draws)[[1, 2, 3]][1:],
        draws.burn(0).chain(1),
    ):
        np.testing.assert_array_equal(part.shares, tiny.shares)
        assert epl.expected_loss([0, 1, 2], part) == epl.expected_loss([0, 1, 2], tiny)
    np.testing.assert_array_equal(epl.Draws(draws, burn=1).draw_weights, [1, 1e-323 / 1e308])


def test_the_way_of_an_array_is_short():
    """Few functions stand between an array of integers and its draws, and no file is read for a special case."""
    z = np.random.default_rng(0).integers(5, size=(1000, 100))
    epl.Draws(z)  # compiles
    seen = set()

    def note(frame, event, _):
        if event == "call" and "epluribus" in frame.f_globals.get("__name__", ""):
            seen.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        epl.draws.as_draws(z)
    finally:
        sys.setprofile(before)
    assert len(seen) <= 14
    assert len({name for name, _ in seen}) <= 4


@pytest.mark.parametrize("kind", [float, object])
def test_draws_left_out_are_not_checked(kind):
    z = np.array([[0.5, 1], [0, 0], [0, 1]]).astype(kind)
    assert epl.Draws(z, burn=1).n_distinct == 2


def test_a_saved_sample_is_hardly_larger_than_its_labels():
    z = np.random.default_rng(0).integers(9, size=(5000, 100))
    assert len(pickle.dumps(epl.Draws(z))) < 100 * 5000 + 5000 * 8 * 7


def test_chains_by_name(tmp_path):
    z = np.random.default_rng(0).integers(3, size=(3, 4, 5))
    for name, one in zip(("run_1", "run_2", "run_3"), z, strict=True):
        np.save(tmp_path / f"{name}.npy", one)
    draws = epl.read_draws(sorted(tmp_path.glob("run_*.npy")))
    assert draws.chain_names == ("run_1", "run_2", "run_3")
    for part in (draws.select(["run_1", "run_3"]), draws.drop_chains("run_2")):
        assert np.asarray(part).tolist() == np.asarray(epl.Draws(z[[0, 2]])).tolist()
        assert part.chain_names == ("run_1", "run_3")
    counted = epl.Draws(z.reshape(12, 5), chains=np.repeat([1, 2, 3], 4))
    assert np.array_equal(counted.drop_chains(1, 2), epl.Draws(z[2]))
    assert epl.Draws(z).select(chains=1).chain_names == ("1",)
    for wrong in (0, "4"):
        with pytest.raises(ValueError, match=r"'chains' must be among '1', '2', '3'; got '?[04]"):
            counted.select([wrong])
    with pytest.raises(ValueError, match="No draws are left"):
        draws.drop_chains("run_1", "run_2", "run_3")


@pytest.mark.parametrize("missing", [False, True])
def test_saved_draws_are_read_as_they_were(tmp_path, missing):
    z = np.random.default_rng(0).integers(3, size=(6, 5)).astype(float)
    z[2, 3] = np.nan if missing else 0
    options = {
        "weights": range(1, 7),
        "items": list("abcde"),
        "chains": list("uvuvuv"),
        "kind": "ensemble",
    }
    draws = epl.Draws(z, **options)
    draws.save(tmp_path / "draws.npz")
    found = epl.read_draws(tmp_path / "draws.npz")
    for name in ("chains", "draw_weights", "n_seen"):
        np.testing.assert_array_equal(getattr(found, name), getattr(draws, name))
    np.testing.assert_array_equal(np.asarray(found), np.asarray(draws))
    assert (found.items, found.chain_names, found.kind) == (draws.items, ("u", "v"), "ensemble")
