import numpy as np
import pytest
from hypothesis import given

import epluribus as epl
import naive_uncertainty as naive
import strategies
from epluribus.uncertainty import psm


@given(z=strategies.draws())
def test_psm_is_the_share_of_draws_together(z):
    np.testing.assert_array_equal(psm(z), naive.psm(z))
    weights = np.random.default_rng(len(z)).random(len(z)) + 0.1
    draws = epl.Draws(z, weights=weights)
    np.testing.assert_allclose(psm(draws), naive.psm(z, weights), atol=1e-14)
    repeated = epl.Draws(np.tile(z, (9, 1)))  # few distinct draws: the other kernel, still exact
    np.testing.assert_array_equal(psm(repeated), naive.psm(z))


def test_more_items_than_a_block_and_any_number_of_threads():
    z = strategies.random_draws(np.random.default_rng(0), 75, 20, 4)
    dense = psm(z, n_jobs=1)
    np.testing.assert_array_equal(dense, (z[:, :, None] == z[:, None, :]).mean(axis=0))
    np.testing.assert_array_equal(dense, psm(z, n_jobs=3))


def test_more_clusters_than_a_byte_holds():
    z = np.stack([np.arange(300), np.arange(300) // 2, np.zeros(300, dtype=int)])
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


def test_per_chain():
    z = strategies.random_draws(np.random.default_rng(2), 12, 20, 3).reshape(2, 10, 12)
    both = psm(z, per_chain=True)
    assert both.shape == (2, 12, 12)
    for chain in range(2):
        np.testing.assert_array_equal(both[chain], naive.psm(z[chain]))
        listed = psm(z, per_chain=True, sparse=True, threshold=0.0)[chain]
        np.testing.assert_array_equal(listed.toarray(), both[chain])


def test_bad_arguments_are_refused_in_words():
    with pytest.raises(ValueError, match=r"'threshold' must be a number in \[0, 1\); got 1.5"):
        psm([[0, 1]], sparse=True, threshold=1.5)
    with pytest.raises(
        ValueError, match=r"'threshold' is for sparse=True only; got 0.1 .*Leave it"
    ):
        psm([[0, 1]], threshold=0.1)


def test_no_memory_for_a_dense_matrix(monkeypatch):
    def none_left(*_args, **_kwargs):
        raise MemoryError

    draws = epl.Draws([[0, 1]])
    monkeypatch.setattr(np, "empty", none_left)
    with pytest.raises(MemoryError, match=r"2 items: a dense matrix takes 0 GB. Use sparse=True"):
        psm(draws)
