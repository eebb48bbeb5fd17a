"""Which items move: from the estimate to a mode, to the edge of the ball, to the answer of one chain.

The clusters of the other partition are paired with those of the estimate so that as many items as possible
stay where they are. An item moves if its cluster there is not the partner of its own cluster here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from epluribus._text import count, sentence_list
from epluribus._typing import IntArray
from epluribus.changes import EQUAL, what_differs
from epluribus.partition import relabel
from epluribus.report.facts import Facts
from epluribus.report.pictures import short
from epluribus.uncertainty._parameters import partners

_ROWS, _NAMES = 12, 60
"""Most groups of items that are listed for one partition, and most names in each."""
_CELLS = 4 * 10**6
"""Above this many pairs of clusters they are not paired, which takes cubic time."""


class Group(NamedTuple):
    """Items that move together."""

    origin: str
    """Where they are in the estimate: "cluster 3"."""
    target: str
    """Where they are in the other partition: "cluster 0", or "a new cluster of 5"."""
    size: int
    """How many they are."""
    names: str
    """Their names, the first 60."""


class Moves(NamedTuple):
    """How another partition differs from the estimate."""

    title: str
    """What the other partition is."""
    text: str
    """The difference in a sentence; empty if there is none."""
    n_moved: int | None
    """Number of items that move; None if there are too many clusters to tell."""
    groups: tuple[Group, ...]
    """The largest groups of items that move together."""
    n_hidden: int
    """Number of groups that are not listed."""


def find_moves(labels: IntArray, other: IntArray, names: Sequence[str], title: str) -> Moves:
    """Which items of the estimate move in another partition; items with a label of -1 there are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.report.moves import find_moves
    >>> found = find_moves(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 1]), "abcde", "mode 1")
    >>> found.n_moved, found.groups
    (1, (Group(origin='cluster 0', target='cluster 1', size=1, names='c'),))
    """
    seen = np.flatnonzero(other >= 0)
    first, second = labels[seen], relabel(other[seen])
    known = [names[i] for i in seen.tolist()]
    # The words number the clusters by their first items, which may differ where items are left out.
    same = len(seen) == len(labels)
    text = what_differs(first, second, names=known, other="it") if same else ""
    text = f"{text[:1].upper()}{text[1:]}." if text and text != EQUAL else ""
    if (int(labels.max()) + 1) * (int(second.max()) + 1) > _CELLS:
        return Moves(title, text, None, (), 0)
    home = partners(second, first)
    moved = np.flatnonzero(home[second] != first)
    sizes = np.bincount(second)
    # One group for each pair of an old and a new cluster, the largest first.
    pairs, group, counts = np.unique(
        np.stack([first[moved], second[moved]]), axis=1, return_inverse=True, return_counts=True
    )
    group = group.ravel()
    groups = []
    for g in np.argsort(-counts, kind="stable")[:_ROWS]:
        origin, there = pairs[:, g].tolist()
        target = (
            f"cluster {home[there]}" if home[there] >= 0 else f"a new cluster of {sizes[there]:,}"
        )
        own = [short(known[i]) for i in moved[group == g]]
        more = f" and {len(own) - _NAMES:,} more" if len(own) > _NAMES else ""
        listed = ", ".join(own[:_NAMES]) + more
        groups.append(Group(f"cluster {origin}", target, len(own), listed))
    return Moves(title, text, len(moved), tuple(groups), max(0, len(counts) - _ROWS))


def mode_moves(facts: Facts) -> list[Moves]:
    """For each of several modes, which items move."""
    modes = facts.modes
    if modes is None or modes.n_modes < 2:
        return []
    return [
        find_moves(
            facts.best.labels, mode, facts.draws.item_names, f"Mode {m} (weight {weight:.2f})"
        )
        for m, (mode, weight) in enumerate(zip(modes.labels, modes.weights, strict=True))
    ]


def ball_moves(facts: Facts) -> list[Moves]:
    """For each partition at the edge of the ball, which items move; one at several edges is listed once."""
    ball = facts.ball
    if ball is None:
        return []
    edges: dict[bytes, tuple[IntArray, list[str]]] = {}
    bounds = (ball.horizontal, ball.upper, ball.lower)
    for name, bound in zip(
        ("most distant", "fewest clusters", "most clusters"), bounds, strict=True
    ):
        edges.setdefault(bound[0].tobytes(), (bound[0], []))[1].append(name)
    return [
        find_moves(
            facts.best.labels, bound, facts.draws.item_names, sentence_list(names).capitalize()
        )
        for bound, names in edges.values()
    ]


def chain_moves(facts: Facts) -> list[Moves]:
    """Where chains disagree, which items move in the answer of each chain."""
    return [
        find_moves(
            facts.best.labels,
            one.labels,
            facts.draws.item_names,
            f"Chain {chain} alone: {count(one.n_clusters, 'cluster')}",
        )
        for chain, one in enumerate(facts.by_chain or ())
    ]
