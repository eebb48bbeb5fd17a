"""The expected loss from a similarity matrix, against its definition and against the draws behind it."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import epluribus as epl
from epluribus.draws.expected import matrix_loss

RNG = np.random.default_rng(4)
Z = RNG.integers(3, size=(30, 9))
DRAWS = epl.Draws(Z, weights=RNG.integers(1, 5, size=30))
SIMILAR = sum(
    w * (z[:, None] == z) for w, z in zip(DRAWS.draw_weights, Z, strict=True)
) / DRAWS.draw_weights.sum()  # fmt: skip
LABELS = [np.zeros(9, int), np.arange(9), np.array([0, 0, 1, 1, 0, 2, 2, 1, 0])]


def sparse(matrix):
    """Without the diagonal, as a search keeps it."""
    return csr_array(matrix - np.eye(len(matrix)))


@pytest.mark.parametrize("labels", LABELS, ids=["together", "apart", "three"])
@pytest.mark.parametrize("form", [np.asarray, csr_array, sparse])
@pytest.mark.parametrize("cost", [1.0, 0.5])
def test_a_matrix_is_enough(labels, form, cost):
    binder, bound = epl.losses.binder(cost), epl.losses.vi_lb(cost)
    found = matrix_loss(labels, form(SIMILAR), binder)
    assert found == pytest.approx(epl.expected_loss(labels, DRAWS, binder))
    inside = np.where(labels[:, None] == labels, SIMILAR, 0).sum(axis=1)
    sizes = (labels[:, None] == labels).sum(axis=1)
    terms = cost * np.log2(SIMILAR.sum(axis=1)) + (2 - cost) * np.log2(sizes) - 2 * np.log2(inside)
    assert matrix_loss(labels, form(SIMILAR), bound) == pytest.approx(terms.mean())
    assert epl.expected_loss(labels, psm=SIMILAR, loss=bound) == pytest.approx(terms.mean())
