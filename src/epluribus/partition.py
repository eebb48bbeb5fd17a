"""Partitions as arrays of labels: canonical form, contingency table, meet, join, enumeration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from epluribus.draws import as_labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from epluribus._typing import IntArray, LabelsLike

__all__ = ["canonical", "contingency", "join", "meet", "n_partitions", "partitions"]


def canonical(labels: LabelsLike) -> IntArray:
    """Labels 0, 1, ... in order of first appearance; two partitions are the same iff these are equal.

    Examples
    --------
    >>> from epluribus.partition import canonical
    >>> canonical(["b", "a", "b", "c"])
    array([0, 1, 0, 2])
    """
    return as_labels(labels)


def contingency(a: LabelsLike, b: LabelsLike) -> IntArray:
    """Number of items in cluster g of `a` and h of `b`, clusters in order of first appearance.

    Examples
    --------
    >>> from epluribus.partition import contingency
    >>> contingency([0, 0, 1], [0, 1, 1])
    array([[1, 1],
           [0, 1]])
    """
    first, second = _pair(a, b)
    shape = (int(first.max()) + 1, int(second.max()) + 1)
    table = np.zeros(shape, dtype=np.int64)
    np.add.at(table, (first, second), 1)
    return table


def meet(a: LabelsLike, b: LabelsLike) -> IntArray:
    """Items are together iff they are together in both: the coarsest common refinement.

    Examples
    --------
    >>> from epluribus.partition import meet
    >>> meet([0, 0, 0, 1], [0, 0, 1, 1])
    array([0, 0, 1, 2])
    """
    first, second = _pair(a, b)
    return as_labels(first * (int(second.max()) + 1) + second)


def join(a: LabelsLike, b: LabelsLike) -> IntArray:
    """The finest partition that both refine: chains of items together in either are together.

    Examples
    --------
    >>> from epluribus.partition import join
    >>> join([0, 0, 1, 2, 3], [0, 1, 1, 2, 2])
    array([0, 0, 0, 1, 1])
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first, second = _pair(a, b)
    k = int(first.max()) + 1
    size = k + int(second.max()) + 1
    edges = coo_array((np.ones(len(first), dtype=np.int8), (first, second + k)), shape=(size, size))
    component = connected_components(edges, directed=False)[1]
    return as_labels(component[first])


def partitions(n_items: int) -> Iterator[IntArray]:
    """All partitions of `n_items` items in canonical form, in lexicographic order.

    Examples
    --------
    >>> from epluribus.partition import partitions
    >>> [labels.tolist() for labels in partitions(3)]
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 1, 2]]
    """
    labels = np.zeros(n_items, dtype=np.int64)
    while True:
        yield labels.copy()
        # The last item whose label can grow: labels may exceed the largest before them by one.
        highest = np.maximum.accumulate(labels)
        i = n_items - 1
        while i > 0 and labels[i] == highest[i - 1] + 1:
            i -= 1
        if i <= 0:
            return
        labels[i] += 1
        labels[i + 1 :] = 0


def n_partitions(n_items: int) -> int:
    """Number of partitions of `n_items` items (Bell number).

    Examples
    --------
    >>> from epluribus.partition import n_partitions
    >>> n_partitions(9)
    21147
    """
    row = [1]
    for _ in range(n_items):
        new = [row[-1]]
        for value in row:
            new.append(new[-1] + value)
        row = new
    return row[0]


def _pair(a: LabelsLike, b: LabelsLike) -> tuple[IntArray, IntArray]:
    first = as_labels(a, argument="a")
    return first, as_labels(b, len(first), argument="b")
