"""Labels that are not in memory, read block by block: dask arrays, and files behind xarray, zarr or h5py.

What is kept of a block is its canonical form in the smallest type that holds it: one byte a label
with up to 256 clusters, where samplers write eight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.partition import canonical_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

__all__ = ["is_elsewhere", "read_blocks"]

_BLOCK_CELLS = 1 << 22
"""Labels read at a time, if the chunks of the array allow it: 32 MB as 8-byte integers."""


def is_elsewhere(array: Any) -> bool:
    """Whether `array` can be sliced and need not be in memory."""
    if isinstance(array, np.ndarray | list | tuple):
        return False
    sliceable = all(hasattr(array, name) for name in ("shape", "dtype", "ndim", "__getitem__"))
    return sliceable and getattr(array.dtype, "kind", "") in "iufb" and array.ndim in (2, 3)


def read_blocks(
    array: Any, to_integers: Callable[[NDArray[Any], int], NDArray[Any]]
) -> NDArray[np.unsignedinteger[Any]]:
    """Canonical labels, one draw a row; chains, the first of three dimensions, one after the other.

    `to_integers` checks a block, given the number of its first draw.
    """
    n_items = array.shape[-1]
    out = np.empty((int(np.prod(array.shape[:-1])), n_items), dtype=np.uint8)
    begin = 0
    for rows in _rows(array):
        block, k = canonical_table(to_integers(np.asarray(rows), begin))
        needed = np.min_scalar_type(max(int(k.max()) - 1, 0))
        if needed.itemsize > out.dtype.itemsize:
            out = out.astype(needed)
        out[begin : begin + len(block)] = block
        begin += len(block)
    return out


def _rows(array: Any) -> Iterator[Any]:
    """Slices of some draws each, whole chunks where the array has chunks."""
    n_draws, n_items = array.shape[-2:]
    step = max(1, _BLOCK_CELLS // n_items)
    if getattr(array, "chunks", None) is not None:
        # Sizes of all chunks (dask, xarray) or of one (zarr, h5py): a chunk cut in two is read twice.
        sizes = array.chunks[-2]
        of_draws = max(sizes) if isinstance(sizes, tuple) else sizes
        step = max(1, step // of_draws) * of_draws
    spans = [slice(begin, begin + step) for begin in range(0, n_draws, step)]
    if array.ndim == 2:
        yield from (array[span] for span in spans)
    else:
        yield from (array[chain, span] for chain in range(array.shape[0]) for span in spans)
