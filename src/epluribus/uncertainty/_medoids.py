"""Central draws of groups of draws, by their distances alone: where the search for modes begins.

Here too: a quick look at whether draws fall into groups, for a line beside an answer.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.partition import relabel
from epluribus.search.problem import Problem
from epluribus.search.starts import completed
from epluribus.uncertainty._mode_rule import Sample

_LINKAGES = ("ward", "average")
"""Linkages whose groups are starts."""
_ROUNDS = 20
"""Largest number of rounds of assignment and choice of centers."""
_QUICK_DRAWS, _QUICK_ITEMS, _QUICK_LINKED, _QUICK_MODES = 400, 500, 100, 4
"""Numbers of draws, items, draws compared with each other, and modes of a quick look."""


def some_draws(draws: Draws, size: int, rng: Generator) -> Draws:
    """A random part of the draws, in their order; all of them if the part has no weight."""
    if draws.n_draws <= size:
        return draws
    rows = np.sort(rng.choice(draws.n_draws, size, replace=False))
    return draws[rows] if draws.draw_weights[rows].any() else draws


def distances(part: Draws, loss: Loss, most: int) -> tuple[list[FloatArray], FloatArray, IntArray]:
    """Trees of draws spread evenly over the part, the losses between them, and their numbers."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    last, size = part.n_draws - 1, min(most, part.n_draws)
    columns = part.index[np.linspace(0, last, size).astype(int)]
    if not part.weights[columns].any():  # they are chosen by their weights
        columns = np.flatnonzero(part.weights)[:size]
    table = part.item_major.take(columns, axis=1)
    missing = part.has_missing
    rows = (column.astype(np.int64) - missing for column in table.T)
    distance = np.stack([loss_values(row, table, loss, missing=missing) for row in rows])
    # A loss with a cost other than 1 is not symmetric, but a linkage needs symmetric distances.
    distance = np.maximum(0.0, distance + distance.T) / 2.0
    np.fill_diagonal(distance, 0.0)
    pairs = squareform(distance, checks=False)
    trees = [linkage(pairs, kind) for kind in _LINKAGES] if len(columns) > 1 else []
    return trees, distance, columns


def as_modes(draws: Draws, columns: IntArray, loss: Loss) -> IntArray:
    """(n, n_items) some distinct draws; items that they have not seen go where they cost least."""
    rows = draws.distinct[columns].astype(np.int64)
    if not draws.has_missing:
        return rows
    problem, rng = Problem.of(draws, loss), np.random.default_rng(0)
    return np.stack([completed(problem, row, rng) for row in rows])


def centers_of(distance: FloatArray, mass: FloatArray, groups: IntArray) -> IntArray:
    """The medoid of each group: the draw with the smallest sum of losses to the others."""
    out = []
    for group in np.unique(groups):
        mine = np.flatnonzero(groups == group)
        out.append(mine[(distance[np.ix_(mine, mine)] @ mass[mine]).argmin()])
    return np.array(out)


def far_apart(distance: FloatArray, mass: FloatArray, m: int, rng: Generator) -> IntArray:
    """Draws chosen in turn, with probability proportional to the loss to those before (k-means++)."""
    chosen, chance = [int(rng.choice(len(mass), p=mass / mass.sum()))], mass
    while len(chosen) < m:
        chance = mass * distance[:, chosen].min(axis=1)
        if not chance.sum() > 0:  # every draw is one of the chosen
            break
        chosen.append(int(rng.choice(len(mass), p=chance / chance.sum())))
    return np.array(chosen)


def settle(distance: FloatArray, mass: FloatArray, centers: IntArray) -> tuple[IntArray, float]:
    """Central draws after assignment and choice of the center were repeated, and their V."""
    for _ in range(_ROUNDS):
        new = centers_of(distance, mass, distance[:, centers].argmin(axis=1))
        if np.array_equal(new, centers):
            break
        centers = new
    return centers, float(distance[:, centers].min(axis=1) @ mass)


def quick_look(draws: Draws, loss: Loss, best: IntArray) -> tuple[int, bool]:
    """The largest number of groups up to four that pass the rule with draws as modes; whether diffuse.

    For a line beside an answer: some draws, some items, the medoids of linkages as modes, no search.
    """
    from scipy.cluster.hierarchy import fcluster

    rng = np.random.default_rng(0)
    part = some_draws(draws, _QUICK_DRAWS, rng)
    items = np.sort(rng.permutation(draws.n_items)[:_QUICK_ITEMS])
    if len(items) < draws.n_items:
        part, best = part.select_items(items), relabel(best[items])
    judge = Sample(part, loss, rng)
    trees, distance, columns = distances(part, loss, _QUICK_LINKED)
    mass = part.weights[columns]
    for m in range(min(_QUICK_MODES, len(columns)), 1, -1):
        for tree in trees:
            groups = fcluster(tree, m, criterion="maxclust")
            centers = settle(distance, mass, centers_of(distance, mass, groups))[0]
            modes = as_modes(part, columns[centers], loss)
            if len(modes) == m and judge.admits(modes):
                return m, False
    return 1, judge.diffuse(best)[1]
