import numpy as np
import pytest
from hypothesis import given

import epluribus as epl
import naive_uncertainty as naive
import strategies
from epluribus.draws.expected import Similarity
from epluribus.uncertainty import psm


@given(z=strategies.draws())
def test_psm_is_the_share_of_draws_together(z):
    np.testing.assert_array_equal(psm(z), naive.psm(z))
    weights = np.random.default_rng(len(z)).random(len(z)) + 0.1
    draws = epl.Draws(z, weights=weights)
    np.testing.assert_allclose(psm(draws), naive.psm(z, weights), atol=1e-14)
    repeated = epl.Draws(np.tile(z, (9, 1)))  # few distinct draws: the other kernel, still exact
    np.testing.assert_array_equal(psm(repeated), naive.psm(z))


def test_more_items_than_a_block():
    z = strategies.random_draws(np.random.default_rng(0), 75, 20, 4)
    np.testing.assert_array_equal(psm(z), (z[:, :, None] == z[:, None, :]).mean(axis=0))


@pytest.mark.parametrize("threshold", [0.0, 0.3, None])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_is_dense_without_small_entries(threshold, weighted):
    rng = np.random.default_rng(1)
    z = strategies.random_draws(rng, 70, 30, 5)
    draws = epl.Draws(z, weights=rng.random(30) if weighted else None)
    dense = psm(draws)
    sparse = psm(draws, sparse=True, threshold=threshold)
    bound = 0.05 if threshold is None else threshold
    np.testing.assert_array_equal(sparse.toarray(), np.where(dense > bound, dense, 0.0))
    assert sparse.has_sorted_indices


def little_memory(monkeypatch, n_bytes):
    monkeypatch.setattr("epluribus._validate.available_memory", lambda: n_bytes)
    monkeypatch.setattr("epluribus._validate._ALWAYS", 0)


def test_no_memory_for_a_dense_matrix(monkeypatch):
    """Refused before anything is computed."""
    draws = epl.Draws(np.zeros((3, 100), dtype=int))
    little_memory(monkeypatch, 8.0 * 100**2)
    assert psm(draws).shape == (100, 100)
    monkeypatch.setattr(Similarity, "matrix", None)
    little_memory(monkeypatch, 8.0 * 100**2 - 1)
    with pytest.raises(
        MemoryError, match=r"dense similarity matrix of 100 items .* Use sparse=True"
    ):
        psm(draws)


def test_no_memory_for_a_sparse_matrix(monkeypatch):
    """The number of entries is estimated from some rows: here a quarter of them is above the threshold."""
    labels = np.arange(400) % 4
    monkeypatch.setattr("epluribus.uncertainty._matrix.map_blocks", None)
    little_memory(monkeypatch, 20.0 * 400 * 100 - 1)
    with pytest.raises(
        MemoryError,
        match=r"of 400 items, of whose entries about 25% are above 0.05, needs .* left\. Choose a higher "
        "threshold, or fewer items",
    ):
        psm([labels, labels], sparse=True)
    monkeypatch.undo()
    little_memory(monkeypatch, 20.0 * 400 * 100)
    assert psm([labels, labels], sparse=True).nnz == 400 * 100
