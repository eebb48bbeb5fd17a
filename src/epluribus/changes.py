"""What differs between two partitions, in words.

Two clusters, one of each partition, are linked if they share at least half of the smaller one and at least
two items. Clusters that are linked, directly or through others, belong together: several to one were
merged, one to several was split, several to several were regrouped. Items outside linked cells moved, to the
cluster with which most of their new company was before. The largest changes come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from epluribus._text import count, sentence_list
from epluribus._typing import IntArray, LabelsLike
from epluribus.partition import as_labels, matched

__all__ = ["Change", "find_changes", "what_differs"]

EQUAL = "the two are equal"
"""What is said of partitions that do not differ."""

_SHOWN = 4
"""Changes that are told; the others are counted."""
_LOOSE = 3
"""If more than one item in this many moved or was regrouped, the partitions have little in common."""
_MANY = 8
"""Of fewer items every change is told."""
_PARTS = 4
"""Parts of a cluster whose sizes are told; more, unless it is one more, are counted."""
_NAMED = 3
"""Items that are named; of more only the number is given."""


class Change(NamedTuple):
    """One difference between a first and a second partition."""

    kind: str
    """"merged", "split", "regrouped", "moved" or "alone"."""
    size: int
    """Number of items concerned: for a merge those of all but the largest cluster, for a split those of all
    but the largest part, for regrouped clusters those that did not stay with most of their own."""
    first: tuple[int, ...]
    """Clusters of the first partition."""
    second: tuple[int, ...]
    """Clusters of the second partition; for moved items, the cluster of the first that they moved to."""
    items: IntArray
    """The items concerned."""


def find_changes(first: IntArray, second: IntArray) -> list[Change]:
    """The changes from one partition to another, both with canonical labels, the largest first.

    Examples
    --------
    >>> import numpy as np
    >>> found = find_changes(np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 0, 0, 0, 1]))
    >>> found[0].kind, found[0].first, found[0].second, found[0].size
    ('merged', (0, 1), (0,), 2)
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    sizes_a, sizes_b = np.bincount(first), np.bincount(second)
    # The cells of the contingency table that are not empty, and each item's cell.
    cells, cell_of, shared = np.unique(
        np.stack([first, second]), axis=1, return_inverse=True, return_counts=True
    )
    cell_of = cell_of.ravel()
    g, h = cells
    # Two clusters of one item are linked if they are that item.
    fewest = np.minimum(2, np.maximum(sizes_a[g], sizes_b[h]))
    linked = (2 * shared >= np.minimum(sizes_a[g], sizes_b[h])) & (shared >= fewest)
    # Clusters of the first partition, then those of the second, as the nodes of a graph.
    n_a, n = len(sizes_a), len(sizes_a) + len(sizes_b)
    graph = coo_array((np.ones(int(linked.sum())), (g[linked], n_a + h[linked])), shape=(n, n))
    component = connected_components(graph, directed=False)[1]
    # Cells that are the largest of a cluster on either side: their items have stayed together.
    by_share = np.argsort(shared, kind="stable")
    largest_of_a, home_cell = np.zeros(n_a, dtype=np.int64), np.zeros(len(sizes_b), dtype=np.int64)
    largest_of_a[g[by_share]] = home_cell[h[by_share]] = by_share  # the largest is written last
    number_of = np.arange(len(g))
    stayed = (largest_of_a[g] == number_of) & (home_cell[h] == number_of)
    changes = []
    # Only components of more than two clusters are changes.
    for number in np.flatnonzero(np.bincount(component) > 2):
        nodes = np.flatnonzero(component == number)
        mine, theirs = nodes[nodes < n_a], nodes[nodes >= n_a] - n_a
        own = linked & (component[g] == number)
        kind = "merged" if len(theirs) == 1 else "split" if len(mine) == 1 else "regrouped"
        # What moves if the largest part stays where it is, or each of the largest.
        rest = shared[own & stayed].sum() if kind == "regrouped" else shared[own].max()
        size = int(shared[own].sum() - rest)
        items = np.flatnonzero(own[cell_of])
        changes.append(Change(kind, size, tuple(mine.tolist()), tuple(theirs.tolist()), items))
    # For each cluster of the second partition, the cluster of the first that most of its items come from.
    home = g[home_cell]
    moves: dict[tuple[str, int, int], list[int]] = {}
    for i in np.flatnonzero(~linked[cell_of]):
        kind = "alone" if sizes_b[second[i]] == 1 else "moved"
        moves.setdefault((kind, int(first[i]), int(home[second[i]])), []).append(int(i))
    for (kind, origin, target), own_items in moves.items():
        items = np.array(own_items)
        changes.append(Change(kind, len(items), (origin,), (target,), items))
    # Stable: of equal sizes, merges and splits come before single items.
    return sorted(changes, key=lambda change: -change.size)


def what_differs(
    a: LabelsLike, b: LabelsLike, *, names: Sequence[str] | None = None, other: str = "the second"
) -> str:
    """How the second partition differs from the first, in words: merged, split, moved.

    Parameters
    ----------
    a, b : array_like of shape (n_items,)
        The partitions. Clusters are numbered as in `a`.
    names : sequence of str, optional
        Names of the items; their numbers by default.
    other : str, default "the second"
        What the second partition is called.

    Returns
    -------
    str
        Without a full stop; at most four changes, the largest first.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.what_differs([0, 0, 0, 1, 1, 2], [0, 0, 0, 0, 0, 1])
    'in the second, clusters 0 (3 items) and 1 (2) are one'
    >>> epl.what_differs([0, 0, 1, 1], [1, 1, 0, 0])
    'the two are equal'
    """
    first = as_labels(a, argument="a")
    second = matched(b, a, "b", other="'a'")
    found = find_changes(first, second)
    if not found:
        return EQUAL
    sizes = np.bincount(first)
    # Where most items moved or were regrouped, a list of changes would mislead.
    loose = sum(c.size for c in found if c.kind in ("moved", "regrouped", "alone"))
    if len(first) >= _MANY and _LOOSE * loose > len(first):
        return f"{other} has little in common with the first"
    parts = [_phrase(change, sizes, second, names) for change in found[:_SHOWN]]
    hidden = len(found) - _SHOWN
    if hidden > 0:
        parts.append(count(hidden, "smaller change"))
    return f"in {other}, {sentence_list(parts) if len(parts) < 3 else '; '.join(parts)}"


def _phrase(change: Change, sizes: IntArray, second: IntArray, names: Sequence[str] | None) -> str:
    """One change in words."""
    # "cluster 0 (20 items)" once, then only the numbers.
    clusters = [
        f"{k} ({count(int(sizes[k]), 'item') if number == 0 else f'{sizes[k]:,}'})"
        for number, k in enumerate(change.first)
    ]
    which = f"cluster{'s' if len(clusters) > 1 else ''} {sentence_list(clusters)}"
    if change.kind == "merged":
        return f"{which} are one"
    if change.kind == "split":
        parts = np.sort(np.bincount(second[change.items])[list(change.second)])[::-1]
        shown = [f"{size:,}" for size in parts]
        if len(parts) > _PARTS + 1:
            shown[_PARTS:] = [f"{len(parts) - _PARTS:,} more"]
        return f"{which} is split into {sentence_list(shown)}"
    if change.kind == "regrouped":
        return f"{which} are regrouped into {len(change.second)}"
    own = [str(i) if names is None else str(names[i]) for i in change.items]
    who = f"item{'s' if len(own) > 1 else ''} {sentence_list(own)}"
    if len(own) > _NAMED:
        who = f"{count(len(own), 'item')} of {which}"
    if change.kind == "alone":
        return f"{who} {'is' if len(own) == 1 else 'are each'} alone"
    where = "another cluster" if change.second == change.first else f"cluster {change.second[0]}"
    return f"{who} {'moves' if len(own) == 1 else 'move'} to {where}"
