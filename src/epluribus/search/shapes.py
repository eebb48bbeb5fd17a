"""A lower bound on the expected loss that is a sum over the clusters of the estimate.

The *shape* of a partition is the sizes of its clusters; 12 items have 77 shapes. A loss sees two partitions a
and z through three sums: of f2 over the shape of a, of f3 over the shape of z, and of f1 over the cells of
their contingency table. The cells are the clusters of the meet of a and z, and have a shape too. Hence

    loss(a, z) = value[shape of z, shape of a, shape of the meet],

a table of at most 77**3 entries, whatever f0 may be. Whether a and z are equal, so that the loss may have to
be 0, can be read from the shapes as well: they are if their meet has no more clusters than either of them.

Let J(m) be the sum of f1 over the shape m. For each pair of shapes z and a we take a line in J that is
nowhere above the value,

    value[z, a, m] >= level[z, a] + slope[z, a] J(m)    for all shapes m that a meet of a and z can have.

Any slope will do if the level is the smallest value[z, a, m] - slope J(m). We add this up over the draws z_t,
with shares w_t whose sum is 1. J is a sum over cells, and each cell is in one cluster of a, so that

    psi(a) >= sum_t w_t level[z_t, a] + sum over the clusters g of a of cost(g),
    cost(g) = sum_t w_t slope[z_t, a] sum_h f1(n_gh).

Among the partitions of one shape, what a set of items costs as a cluster does not depend on the other
clusters. The best way to divide a set into clusters of given sizes follows from the best ways for smaller
sets, and 12 items have only 4096 sets: `_kernels/subsets.py`.

Where the value is linear in J for given shapes, it is the line, and the bound is the expected loss itself. So
it is for every linear loss and, among the others, for ID, NID and one minus the adjusted Rand index, whose
denominators depend on the shapes alone. For NVI, the 0-1 loss or a user's own the line is a bound, and
partitions that it does not rule out are compared with the draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from epluribus._typing import FloatArray, IntArray
from epluribus.losses.base import Loss
from epluribus.losses.values import values_from_sums

CODE = np.array([0, 0, 1, 7, 23, 42, 73, 60, 34, 12, 39, 18, 20])
"""Code of a cluster of n items, n = 0..12. The code of a shape is their sum over its clusters: different for
any two shapes of the same number of items, and at most 146, so that one byte holds it. Found by trial."""
_LINEAR = 1e-13
"""A value this close to its line, relative to the terms it is made of, is on the line."""


@dataclass(frozen=True)
class Shapes:
    """All shapes of partitions of a number of items."""

    sizes: list[IntArray]
    """The sizes of the clusters of each shape, the largest first."""
    times: IntArray
    """(n_shapes, n_items + 1) how many clusters of each size it has."""
    n_clusters: IntArray
    """(n_shapes,) number of clusters."""
    codes: IntArray
    """(n_shapes,) sum of `CODE` over the clusters."""
    finer: NDArray[np.bool_]
    """finer[a, m]: whether clusters of the sizes in m can be put together to those of a."""

    def sums(self, f: FloatArray) -> FloatArray:
        """(n_shapes,) sum over the clusters of a function of their sizes, given as a table."""
        return self.times @ f

    def with_codes(self, codes: IntArray) -> IntArray:
        """The numbers of the shapes with these codes."""
        order = np.argsort(self.codes)
        return order[np.searchsorted(self.codes, codes, sorter=order)]


@lru_cache(maxsize=16)
def all_shapes(n_items: int) -> Shapes:
    """The shapes of `n_items` items, from one cluster to all apart."""
    sizes = list(_divisions(n_items, n_items))
    number = {shape: i for i, shape in enumerate(sizes)}
    times = np.array([np.bincount(shape, minlength=n_items + 1) for shape in sizes])
    finer = np.eye(len(sizes), dtype=np.bool_)
    # A shape comes after those it can be put together to, since its largest clusters are smaller. From the
    # end, the shapes finer than a are those finer than a with one of its clusters divided in two.
    for a in range(len(sizes) - 1, -1, -1):
        for size in set(sizes[a]):
            for part in range(1, size // 2 + 1):
                rest = list(sizes[a])
                rest.remove(size)
                divided = tuple(sorted([*rest, part, size - part], reverse=True))
                finer[a] |= finer[number[divided]]
    return Shapes(
        [np.array(shape, dtype=np.int64) for shape in sizes],
        times,
        times.sum(axis=1),
        times @ CODE[: n_items + 1],
        finer,
    )


def _divisions(n: int, largest: int) -> Iterator[tuple[int, ...]]:
    """The ways to write n as a sum of numbers up to `largest`, in falling order: 3, 2+1, 1+1+1."""
    if n == 0:
        yield ()
    for first in range(min(n, largest), 0, -1):
        for rest in _divisions(n - first, first):
            yield (first, *rest)


@dataclass(frozen=True)
class Lines:
    """The lines in J below the losses, for the shapes z of the draws and all shapes a of an estimate."""

    slope: FloatArray
    """(n_kinds, n_shapes) by shape of the draw and of the estimate."""
    level: FloatArray
    """(n_kinds, n_shapes) value of the line at J = 0."""
    excess: FloatArray
    """(n_kinds, n_shapes, n_shapes) loss above the line, by shape of the meet; never negative."""
    scale: float
    """The largest of the terms of which the bounds are made."""


def lines_below(loss: Loss, n_items: int, kinds: IntArray) -> Lines:
    """Lines in J below the loss, for draws whose shapes have the numbers `kinds`."""
    shapes = all_shapes(n_items)
    joint = shapes.sums(loss.tables(n_items)[0])
    values, possible = _values(loss, n_items, kinds)
    # An infinite value is above any line. Where there is no other, any line will do.
    finite = possible & np.isfinite(values)
    slope = _slope(joint, np.where(finite, values, 0.0), finite)
    above = values - slope[:, :, None] * joint
    level = np.where(finite, above, np.inf).min(axis=2)
    level[np.isinf(level)] = 0.0
    excess = np.where(possible, above - level[:, :, None], 0.0)
    # What only rounding errors separate from the line is on it.
    terms = np.abs(level) + np.abs(slope) * np.abs(joint).max()
    excess[excess.max(axis=2) <= _LINEAR * terms] = 0.0
    return Lines(slope, level, excess, float(terms.max()))


def _slope(joint: FloatArray, values: FloatArray, finite: NDArray[np.bool_]) -> FloatArray:
    """Slope of the line through the values at the smallest and at the largest J.

    Below a concave function of J, such as NVI, no line is higher anywhere between these two.
    """
    ends = [
        np.where(finite, joint, np.inf).argmin(axis=2),
        np.where(finite, joint, -np.inf).argmax(axis=2),
    ]
    width = joint[ends[1]] - joint[ends[0]]
    low, high = (np.take_along_axis(values, at[:, :, None], axis=2)[:, :, 0] for at in ends)
    return np.divide(high - low, width, out=np.zeros_like(width), where=width > 0)


def _values(loss: Loss, n_items: int, kinds: IntArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """value[z, a, m] for draws of the shapes `kinds`, and which of the shapes m a meet can have.

    The values of other shapes are 0.
    """
    shapes = all_shapes(n_items)
    f1, f2, f3 = loss.tables(n_items)
    joint, size, group = shapes.sums(f1), shapes.sums(f2), shapes.sums(f3)
    k = shapes.n_clusters
    values = np.zeros((len(kinds), len(k), len(k)))
    possible = np.zeros(values.shape, dtype=np.bool_)
    for row, z in enumerate(kinds):
        # The meet is finer than both, and has at most one cluster for each pair of their clusters. A few of
        # these shapes are the meet of no two partitions; they can only lower the bound.
        possible[row] = shapes.finer & shapes.finer[z] & (k <= k[z] * k[:, None])
        a, m = np.nonzero(possible[row])
        equal = (k[m] == k[a]) & (k[m] == k[z])
        values[row, a, m] = values_from_sums(
            loss, n_items, joint[m], size[a], float(group[z]), equal
        )
    return values, possible
