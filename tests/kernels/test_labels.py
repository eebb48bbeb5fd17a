"""Canonical labels, and contingency tables of many draws at a time."""

import numpy as np
import pytest
from numba import TypingError, config

from epluribus._kernels.labels import canonical_rows, count_tables


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("n_draws", [0, 1, 70, 130, 300])
@pytest.mark.parametrize("all_draws", [True, False])
def test_tables_of_short_and_long_rows(dtype, n_draws, all_draws):
    rng = np.random.default_rng(n_draws)
    draws = rng.integers(5, size=(40, n_draws)).astype(dtype)
    labels = rng.integers(-1, 4, size=40)
    begin, end = (0, n_draws) if all_draws else (n_draws // 3, n_draws - n_draws // 4)
    counts = np.zeros((end - begin, 5, 6), dtype=np.int32)
    count_tables(draws, begin, end, labels, counts)
    expected = np.zeros_like(counts)
    for i, t in np.argwhere(np.repeat(labels[:, None] >= 0, end - begin, axis=1)):
        expected[t, draws[i, begin + t], labels[i]] += 1
    assert (counts == expected).all()


@pytest.mark.skipif(config.DISABLE_JIT, reason="plain Python takes any array")
def test_tables_that_are_not_contiguous_are_not_compiled():
    counts = np.zeros((3, 5, 8), dtype=np.int32)[:, :, :4]
    with pytest.raises(TypingError):
        count_tables(np.zeros((2, 3), dtype=np.uint8), 0, 3, np.zeros(2, dtype=np.int64), counts)


def test_rows_are_numbered_in_order_of_first_appearance():
    rows = np.array([[7, 3, 7, 9], [9, 9, 3, 3], [3, 7, 9, -1]], dtype=np.int64)
    out, n_clusters = np.empty(rows.shape, dtype=np.uint8), np.empty(3, dtype=np.int64)
    canonical_rows(rows, -1, np.zeros(11, dtype=np.int64), out, n_clusters)
    assert out.tolist() == [[0, 1, 0, 2], [0, 0, 1, 1], [0, 1, 2, 3]]
    assert n_clusters.tolist() == [3, 2, 4]
