"""Passes over draws on a GPU, by CuPy.

The labels are copied to the device once, if they fit; otherwise they follow, range by range of items, in
every pass. Costs are added up as in `_kernels/scan.py`, one warp per item and one lane per cluster: single
precision within a block of draws, double precision from block to block. Where they cannot tell two clusters
apart, neither engine decides by them, so that the answer does not depend on the engine.

What the operations of a device must do is written down in plain NumPy in the tests (`numpy_device.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.vector import BLOCK
from epluribus._parallel import Stopped, Stopper, in_background
from epluribus._typing import FloatArray, IntArray
from epluribus._validate import need
from epluribus.draws.store import LocalStore
from epluribus.engine.passes import Frozen, Looked, Rest, blocks, nothing_yet

_ITEMS = 1 << 18
"""Items in a range: their costs for 30 clusters take 60 MB."""
_SHARE = 0.6
"""Part of the free memory of the device that the labels may take, or the costs of a range of items."""
_THREADS = 256
"""Threads in a block: eight warps."""

_SOURCE = """
extern "C" __global__ void add_costs(
    const LABEL* table, long long n_items, int n_draws, const int* labels,
    const float* gain, const float* own, long long groups, long long width, int used,
    double* cost, double* own_cost)
{
    const long long i = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (i >= n_items) return;
    const LABEL* z = table + i * n_draws;
    for (int first = 0; first < used; first += 32) {
        const int s = first + lane;
        double total = 0.0;
        for (int begin = 0; begin < n_draws; begin += BLOCK) {
            const int end = min(begin + BLOCK, n_draws);
            float single = 0.0f;
            for (int at = begin; at < end; at += 32) {
                const int t = at + lane;
                const long long mine = t < end ? (long long)z[t] : 0;
                const int n = min(32, end - at);
                for (int q = 0; q < n; q++) {
                    const long long v = __shfl_sync(0xffffffffu, mine, q);
                    if (s < used) single += gain[((at + q) * groups + v) * width + s];
                }
            }
            total += single;
        }
        if (s < used) cost[i * width + s] += total;
    }
    const int label = labels[i];
    if (label < 0) return;
    double total = 0.0;
    for (int t = lane; t < n_draws; t += 32) total += own[(t * groups + z[t]) * width + label];
    for (int step = 16; step > 0; step /= 2) total += __shfl_down_sync(0xffffffffu, total, step);
    if (lane == 0) own_cost[i] += total;
}

extern "C" __global__ void count(
    const LABEL* table, long long n_items, int n_draws, const int* labels,
    long long groups, int k, int* counts)
{
    const long long n = n_items * n_draws, step = gridDim.x * (long long)blockDim.x;
    for (long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x; at < n; at += step) {
        const int s = labels[at / n_draws];
        if (s >= 0) atomicAdd(counts + ((at % n_draws) * groups + table[at]) * k + s, 1);
    }
}
"""

_GAPS = """
extern "C" __global__ void find_gaps(
    const double* cost, const double* own, const int* labels, long long n_items, long long width,
    const long long* sizes, int k, const double* size, long long* target, double* gap)
{
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n_items) return;
    const int mine = labels[i];
    const bool alone = mine >= 0 && sizes[mine] == 1;
    const int n = alone || mine < 0 ? k : k + 1;
    int best = -1;
    const double infinity = __longlong_as_double(0x7ff0000000000000LL);
    double low = infinity, second = infinity;
    for (int s = 0; s < n; s++) {
        if (s == mine) continue;
        const double value = cost[i * width + s] + size[sizes[s]];
        if (value < low) { second = low; low = value; best = s; }
        else if (value < second) second = value;
    }
    target[i] = best;
    gap[i] = mine >= 0 ? low - (own[i] + size[sizes[mine] - 1]) : second - low;
}
"""


class Device(Protocol):
    """Where arrays are, and what is done with them there."""

    name: str

    @property
    def free(self) -> float:
        """Bytes of memory."""

    def put(self, array: Any) -> Any:
        """The array on the device."""

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array of zeros on the device."""

    def get(self, array: Any) -> Any:
        """The array here."""

    def add_costs(
        self, table: Any, labels: Any, gain: Any, own: Any, used: int, cost: Any, own_cost: Any
    ) -> None:
        """Add what the draws of the table cost its items, as in `Gains.add`."""

    def find_gaps(self, cost: Any, own: Any, labels: Any, rest: Rest) -> tuple[Any, Any]:
        """Targets and gaps, as in `_kernels/scan.find_gaps`."""

    def count(self, table: Any, labels: Any, counts: Any) -> None:
        """Add the items of the table to contingency tables."""


class CupyDevice:
    """A GPU of NVIDIA."""

    def __init__(self) -> None:
        self._cupy = cupy = need("cupy", "gpu", "engine='gpu'")
        try:
            found = cupy.cuda.runtime.getDeviceCount() > 0
            why = "there is none"
        except cupy.cuda.runtime.CUDARuntimeError as error:
            found, why = False, str(error)
        if not found:
            raise RuntimeError(
                f"engine='gpu' needs a GPU that CUDA can use, and none was found: {why}. "
                "Leave 'engine' out to use the processor."
            )
        self.name: str = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()

    @property
    def free(self) -> float:
        """Bytes of memory."""
        pool = self._cupy.get_default_memory_pool()
        return float(self._cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes())

    def put(self, array: Any) -> Any:
        """The array on the device."""
        return self._cupy.asarray(array)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array of zeros on the device."""
        return self._cupy.zeros(shape, dtype=dtype)

    def get(self, array: Any) -> Any:
        """The array here."""
        return self._cupy.asnumpy(array)

    def add_costs(
        self, table: Any, labels: Any, gain: Any, own: Any, used: int, cost: Any, own_cost: Any
    ) -> None:
        """Add what the draws of the table cost its items."""
        n, n_draws = table.shape
        _, groups, width = gain.shape
        sizes = np.int64(n), np.int32(n_draws)
        shape = np.int64(groups), np.int64(width), np.int32(used)
        grid = (-(-n * 32 // _THREADS),)
        kernel = _compiled("add_costs", table.dtype.itemsize)
        kernel(grid, (_THREADS,), (table, *sizes, labels, gain, own, *shape, cost, own_cost))

    def find_gaps(self, cost: Any, own: Any, labels: Any, rest: Rest) -> tuple[Any, Any]:
        """Targets and gaps."""
        n, width = cost.shape
        target, gap = self.zeros((n,), np.int64), self.zeros((n,), np.float64)
        sizes, size = self.put(rest.sizes), self.put(rest.size)
        shape, k = (np.int64(n), np.int64(width)), np.int32(rest.n_clusters)
        kernel = _compiled("find_gaps", 0)
        grid = (-(-n // _THREADS),)
        kernel(grid, (_THREADS,), (cost, own, labels, *shape, sizes, k, size, target, gap))
        return target, gap

    def count(self, table: Any, labels: Any, counts: Any) -> None:
        """Add the items of the table to contingency tables."""
        n, n_draws = table.shape
        _, groups, k = counts.shape
        shape = np.int64(n), np.int32(n_draws)
        grid = (min(65535, -(-n * n_draws // _THREADS)),)
        kernel = _compiled("count", table.dtype.itemsize)
        kernel(grid, (_THREADS,), (table, *shape, labels, np.int64(groups), np.int32(k), counts))


@cache
def _compiled(name: str, itemsize: int) -> Any:
    """A function of the device, for labels of so many bytes."""
    cupy = need("cupy", "gpu", "engine='gpu'")
    if itemsize == 0:
        return cupy.RawKernel(_GAPS, name)
    label = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int"}[itemsize]
    return cupy.RawKernel(_SOURCE.replace("LABEL", label).replace("BLOCK", str(BLOCK)), name)


class GpuPasses:
    """Like `LocalPasses`, on a device.

    Parameters
    ----------
    store : LocalStore
        The draws.
    device : Device
    stopper : Stopper
        What ends a pass early; `Stopped` is then raised.
    on_done : callable
        Called when a part of a pass is done, with its share.
    """

    def __init__(
        self,
        store: LocalStore,
        device: Device,
        stopper: Stopper,
        on_done: Callable[[float], Any] = lambda _: None,
    ) -> None:
        self.store, self._device = store, device
        self._stopper, self._on_done = stopper, on_done
        self._copying = in_background(self._copied)  # a few items are searched meanwhile

    def _copied(self) -> list[Any] | None:
        """All labels on the device; None if they do not fit."""
        n_bytes = sum(part.table.nbytes for part in self.store.slices)
        fits = n_bytes <= _SHARE * self._device.free
        return [self._device.put(part.table) for part in self.store.slices] if fits else None

    def _part(self, number: int, some: slice | IntArray) -> Any:
        """Labels of some items in the draws of a slice, on the device."""
        tables = self._copying.result()
        if tables is not None:
            return tables[number][some if isinstance(some, slice) else self._device.put(some)]
        return self._device.put(np.ascontiguousarray(self.store.slices[number].table[some]))

    def _ranges(self, n: int, n_bytes: float, *, copied: bool) -> list[tuple[int, int]]:
        """Ranges of n items, of which each takes `n_bytes` on the device, besides its labels if `copied`."""
        if copied:
            n_bytes += max(part.table.shape[1] * part.table.itemsize for part in self.store.slices)
        return blocks(n, int(max(1, min(_ITEMS, _SHARE * self._device.free / n_bytes))))

    def _done(self, share: float) -> None:
        self._on_done(share)
        if self._stopper.stopped:
            raise Stopped

    def count(self, labels: IntArray, k: int) -> NDArray[np.int32]:
        """(n_draws, groups, k) contingency tables of all draws; a label of -1 is not counted."""
        store, device = self.store, self._device
        mine = device.put(labels.astype(np.int32))
        out = np.empty((store.n_distinct, store.groups, k), dtype=np.int32)
        for number, part in enumerate(store.slices):
            counts = device.zeros((part.table.shape[1], store.groups, k), np.int32)
            for block in self._ranges(store.n_items, 4.0, copied=self._copying.result() is None):
                some = slice(*block)
                device.count(self._part(number, some), mine[some], counts)
            out[part.columns] = device.get(counts)
            self._done(part.table.shape[1] / store.n_distinct)
        return out

    def look(self, labels: IntArray, frozen: Frozen, items: IntArray | None = None) -> Looked:
        """Look at all items, or at some of them."""
        store, device, (gain, own, used) = self.store, self._device, frozen.gains
        n, width = store.n_items if items is None else len(items), gain.shape[2]
        found = nothing_yet(n)
        gains = [(device.put(gain[p.columns]), device.put(own[p.columns])) for p in store.slices]
        copied = self._copying.result() is None or items is not None
        for begin, end in self._ranges(n, 8.0 * width + 32, copied=copied):
            some = slice(begin, end) if items is None else items[begin:end]
            mine = device.put(labels[some].astype(np.int32))
            cost = device.zeros((end - begin, width), np.float64)
            own_cost: FloatArray = device.zeros((end - begin,), np.float64)
            for number, parts in enumerate(gains):
                device.add_costs(self._part(number, some), mine, *parts, used, cost, own_cost)
            gaps = device.find_gaps(cost, own_cost, mine, frozen.rest)
            for out, values in zip(found, gaps, strict=True):
                out[begin:end] = device.get(values)
            self._done((end - begin) / n)
        return found
