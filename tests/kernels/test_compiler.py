"""Kernels and other compiled functions in one process."""

import gc

import numpy as np
import pytest
from numba.core.errors import TypingError

from epluribus._kernels._jit import JIT_ENABLED, KERNEL, WHOLE
from epluribus._kernels.dispatch import routine

pytestmark = pytest.mark.skipif(not (JIT_ENABLED and WHOLE), reason="not compiled in our own way")


def kernel(function):
    """Compiled as kernels are, but not kept on disk."""
    from numba import njit

    return njit(**KERNEL)(function)


def share(values, total):
    """Operators and functions that Numba resolves by the types of their arguments."""
    out = 0.0
    for i in range(values.shape[0]):
        out += max(values[i], 0) / total + abs(np.int64(values[i]) // 2)
    return out


@pytest.mark.parametrize("kernel_first", [True, False])
def test_what_kernels_remember_of_types_is_not_for_others(kernel_first):
    from numba import njit

    # Division by zero: kernels follow IEEE rules, other functions raise an exception, in any order.
    ours, theirs = kernel(share), njit(share)
    values = np.array([3, -5, 8])
    for function in (ours, theirs) if kernel_first else (theirs, ours):
        assert function(values, 2.0) == share(values, 2.0)
    assert ours(values[:1], 0.0) == np.inf
    with pytest.raises(ZeroDivisionError):
        theirs(values, 0.0)


def test_numba_is_asked_once_what_operators_make_of_the_same_types(monkeypatch):
    from epluribus._kernels import _compiler

    asked, ask = [], _compiler._Context.resolve_function_type

    def note(self, func, *arguments):
        asked.append(str(func))
        return ask(self, func, *arguments)

    monkeypatch.setattr(_compiler._Context, "resolve_function_type", note)
    values = np.arange(4, dtype=np.uint16)
    expected = share(values, 1.5)
    assert kernel(share)(values, 1.5) == expected
    assert any("getitem" in one for one in asked)
    asked.clear()
    assert kernel(share)(values, 1.5) == expected
    assert not any("built-in" in one for one in asked)


@routine
def squared(x):
    return x * x


@routine
def norm(x, y):
    return squared(x) + squared(y)


def test_routines_are_compiled_once_for_all_kernels():
    from epluribus._kernels import _compiler

    before = set(_compiler._loaded)
    assert kernel(lambda x: norm(x, 1.0))(2.0) == 5.0
    assert kernel(lambda x: norm(2.0, x) + squared(x))(3.0) == 22.0
    new = [name for name in _compiler._loaded if name not in before]
    assert len(new) == 2
    # What is called comes first: code is complete when it is loaded.
    assert "squared" in new[0]
    assert "norm" in new[1]


@pytest.mark.parametrize("wanted", [True, False])
def test_garbage_is_looked_for_after_compiling_as_before(wanted, monkeypatch):
    from epluribus._kernels import _compiler

    during, ask = [], _compiler._Context.resolve_function_type

    def note(self, *arguments):
        during.append(gc.isenabled())
        return ask(self, *arguments)

    monkeypatch.setattr(_compiler._Context, "resolve_function_type", note)
    monkeypatch.setattr(_compiler._Types, "found", {})
    enabled = gc.isenabled()
    try:
        (gc.enable if wanted else gc.disable)()
        kernel(share)(np.arange(3), 1.0)
        assert gc.isenabled() == wanted
        with pytest.raises(TypingError):
            kernel(lambda x: x.no_such_thing)(1)
        assert gc.isenabled() == wanted
    finally:
        (gc.enable if enabled else gc.disable)()
    assert during
    assert not any(during)
