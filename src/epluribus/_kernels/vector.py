"""Adding rows of single-precision numbers, eight at a time.

Plain loops that add into an array are not vectorized well, because the compiler cannot know that the sum
and the rows do not overlap in memory. This operation leaves it no doubt by loading whole vectors; it more
than doubles the speed of the search.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj
from numpy.typing import NDArray

from epluribus._kernels._jit import JIT_ENABLED
from epluribus._kernels.dispatch import part

_make_array: Any = arrayobj.make_array
_fill_array: Any = arrayobj.populate_array

LANES = 8
"""Floats in a vector: one AVX register, or two of SSE or NEON. Rows are padded to a multiple of it."""


def _add_lanes_plain(
    total: NDArray[np.float32],  # OUT
    at: int,
    rows: NDArray[np.float32],
    row0: int,
    row1: int,
    row2: int,
    row3: int,
) -> None:
    """Add entries at..at+LANES-1 of the four rows that start at row0..row3 to `total`."""
    # In pairs, exactly as the compiled version adds: both give the same rounding errors.
    lanes = slice(at, at + np.uint64(LANES))
    total[lanes] += (rows[row0:][lanes] + rows[row1:][lanes]) + (
        rows[row2:][lanes] + rows[row3:][lanes]
    )


@intrinsic
def _add_lanes_vector(
    _typing: Any, total: Any, _at: Any, rows: Any, _row0: Any, _row1: Any, _row2: Any, _row3: Any
) -> Any:
    """The same with explicit vector loads and one store."""
    # LLVM's vector type: eight floats are loaded from each of four rows, added in pairs, and stored.
    index = types.uint64
    signature = types.void(total, index, rows, index, index, index, index)
    vector = ir.VectorType(ir.FloatType(), LANES)

    def load(builder: Any, pointer: Any) -> Any:
        value = builder.load(builder.bitcast(pointer, vector.as_pointer()))
        # A row may start at any float. Without this LLVM would assume an address divisible by 32, and
        # the program could crash.
        value.align = 4
        return value

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        first = _make_array(sig.args[0])(context, builder, args[0]).data
        data = _make_array(sig.args[2])(context, builder, args[2]).data
        # The address of entry `at` of a row is data + row + at; the sum of four goes to total + at.
        offset = args[1]
        r0, r1, r2, r3 = (
            load(builder, builder.gep(data, [builder.add(r, offset)])) for r in args[3:]
        )
        four = builder.fadd(builder.fadd(r0, r1), builder.fadd(r2, r3))
        target = builder.gep(first, [offset])
        done = builder.fadd(load(builder, target), four)
        builder.store(done, builder.bitcast(target, vector.as_pointer())).align = 4
        return context.get_dummy_value()

    return signature, generate


add_lanes: Any = _add_lanes_vector if JIT_ENABLED else _add_lanes_plain


def _flat_plain(array: NDArray[Any]) -> NDArray[Any]:
    """The entries of a contiguous array, in one row; not a copy."""
    return array.reshape(-1)


@intrinsic
def _flat_view(_typing: Any, array: Any) -> Any:
    """The same. Numba's own `reshape` takes long to compile: it is made for any array."""
    if array.layout != "C":
        return None  # the kernel is not compiled
    row = array.copy(ndim=1)

    def generate(context: Any, builder: Any, _sig: Any, args: Any) -> Any:
        whole = _make_array(array)(context, builder, args[0])
        flat = _make_array(row)(context, builder)
        _fill_array(
            flat,
            data=whole.data,
            shape=[whole.nitems],
            strides=[whole.itemsize],
            itemsize=whole.itemsize,
            meminfo=whole.meminfo,
            parent=whole.parent,
        )
        return flat._getvalue()

    return row(array), generate


flat: Any = _flat_view if JIT_ENABLED else _flat_plain


BLOCK = 128
"""Draws added up in single precision before the sum goes on in double: this bounds the rounding error."""


@part
def add_block(
    z: NDArray[np.unsignedinteger],
    begin: np.uint64,
    end: np.uint64,
    gain: NDArray[np.float32],
    used: np.uint64,
    single: NDArray[np.float32],  # OUT (width,)
) -> None:
    """The sum over draws begin..end-1 of the rows of `gain` of an item with labels z, for `used` clusters.

    Four draws and eight clusters at a time. Indices are unsigned, so that the compiled code need not check
    for negative ones.
    """
    one, two, three, lanes = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(LANES)
    # Row (t, v) of `gain` begins at (t groups + v) width. Entries beyond K belong to no cluster and are
    # never read: adding whole vectors is quicker than treating a remainder.
    groups, width, rows = np.uint64(gain.shape[1]), np.uint64(gain.shape[2]), flat(gain)
    for s in range(used):
        single[s] = 0.0
    t = begin
    while t + three < end:
        row0 = (t * groups + np.uint64(z[t])) * width
        row1 = ((t + one) * groups + np.uint64(z[t + one])) * width
        row2 = ((t + two) * groups + np.uint64(z[t + two])) * width
        row3 = ((t + three) * groups + np.uint64(z[t + three])) * width
        at = np.uint64(0)
        while at < used:
            add_lanes(single, at, rows, row0, row1, row2, row3)
            at += lanes
        t += np.uint64(4)
    while t < end:  # the last one to three draws of the block
        row0 = (t * groups + np.uint64(z[t])) * width
        for s in range(used):
            single[s] += rows[row0 + s]
        t += one
