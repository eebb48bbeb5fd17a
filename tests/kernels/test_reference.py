"""States that are passed by their address."""

import sys
from typing import NamedTuple

import numpy as np
import pytest

from epluribus._kernels._jit import JIT_ENABLED, OPTIONS
from epluribus._kernels.reference import by_reference


@by_reference
class Inner(NamedTuple):
    """A state within a state."""

    weights: np.ndarray
    factor: float


@by_reference
class Outer(NamedTuple):
    """With an array, a state and a plain tuple."""

    values: np.ndarray
    inner: Inner
    pair: tuple


def total(state):
    """Reads every field, and writes into an array."""
    out = 0.0
    for i in range(state.values.shape[0]):
        out += state.inner.factor * state.inner.weights[i] * state.values[i] + state.pair[0][i]
        state.values[i] = 0
    return out


@pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled")
@pytest.mark.parametrize("options", [OPTIONS, {}])
def test_reads_and_writes_the_fields_and_keeps_no_reference(options):
    from numba import njit

    compiled = njit(**options)(total)
    values, weights, added = np.arange(3), np.array([1.0, 2.0, 4.0]), np.ones(3)
    state = Outer(values.copy(), Inner(weights, 0.5), (added, 1))
    expected = total(Outer(values.copy(), *state[1:]))
    assert compiled(state) == expected == 8.0
    assert state.values.tolist() == [0, 0, 0]
    arrays = [state.values, weights, added]
    before = [sys.getrefcount(array) for array in arrays]
    for _ in range(20):
        compiled(state)
    assert [sys.getrefcount(array) for array in arrays] == before
