"""Which items need not be looked at again: those that cannot have come to prefer another cluster.

Most items are far from moving, and most moves change little. When a sweep looks at an item, it remembers the
*gap*: how much more the best other cluster costs than the item's own. Every move announces by how much it
changed, at most, what its two clusters cost any other item. Until these changes have used up the gap, the
item stays where it is, and a sweep passes over it.

An item of which nothing is remembered is never skipped: its entry of `until` is minus infinity. The changes
are counted by

- `own`, for each cluster the sum of the changes for its own items: it may have become dearer to them;
- `drift`, for each cluster the sum of the changes for all other items since the present *epoch* began: it
  may have become cheaper to them. An epoch ends when a sweep begins; its largest drift is then added to the
  clock.

An item of cluster s is skipped while own[s] + clock + largest drift < until, where `until` was made of the
same sum when it was looked at (with the clock at the beginning of the epoch) and the gap. A cluster opened
since is no exception: a new cluster is one of those to which the gap refers. Only an item that is alone has
nothing to gain from a new cluster, and is skipped only if none was opened since, and it is still alone.
"""

from typing import Any, NamedTuple

import numpy as np

from epluribus._kernels.dispatch import part
from epluribus._kernels.reference import by_reference
from epluribus._typing import FloatArray, IntArray

CLOCK, DRIFT, ASIDE, SHIFT, OPENED = 0, 1, 2, 3, 4
"""Entries of `clock`: the clock; the largest drift in this epoch; 1 while moves are made that may be taken
back; the changes that these have made; how often a cluster was opened."""
_ROUNDING = 1.0 + 1e-9
"""The sums grow as long as the search lasts: a billionth of them is far more than their rounding errors."""


@by_reference
class Looks(NamedTuple):
    """What is known about items that were looked at; without entries in an execution that skips none."""

    until: FloatArray
    """(n_items,) the sum of changes at which the item must be looked at again."""
    opened: FloatArray
    """(n_items,) if the item was alone then: how many clusters had been opened; else -1."""
    own: FloatArray
    """(n_items + 1,) changes of what each cluster costs its own items."""
    drift: FloatArray
    """(n_items + 1,) changes of what each cluster costs other items, in this epoch."""
    clock: FloatArray
    """(5,) see `CLOCK` and the other names."""


def no_looks(n_items: int) -> Looks:
    """Nothing has been looked at yet; with `n_items` 0, for an execution that skips none."""
    n = n_items + 1 if n_items > 0 else 0
    return Looks(
        np.full(n_items, -np.inf), np.zeros(n_items), np.zeros(n), np.zeros(n), np.zeros(5)
    )


@part
def may_skip(looks: Looks, i: int, own: int, alone: bool) -> bool:
    """Whether item i, in cluster `own`, perhaps alone, certainly stays there."""
    opened = looks.opened[i]
    if opened >= 0.0 and (not alone or opened != looks.clock[OPENED]):
        return False
    changes = looks.own[own] + looks.clock[CLOCK] + looks.clock[DRIFT]
    return changes * _ROUNDING < looks.until[i]


@part
def remember(looks: Looks, i: int, own: int, alone: bool, gap: float) -> None:
    """Item i, in cluster `own`, perhaps alone, was looked at: any other cluster costs at least `gap` more."""
    # The drift of the epoch so far is not subtracted: that of single clusters may still grow as large.
    looks.opened[i] = looks.clock[OPENED] if alone else -1.0
    looks.until[i] = gap + looks.own[own] + looks.clock[CLOCK]


@part
def count_move(
    looks: Looks,
    i: int,
    a: int,
    b: int,
    left: tuple[float, float],
    joined: tuple[float, float],
    opens: bool,
) -> None:
    """Item i goes from cluster a (-1 for none) to b.

    `left` says by how much at most what cluster a costs an item changes: for items in a, and for all others;
    `joined` the same for b. `opens` is whether b is new.
    """
    looks.until[i] = -np.inf
    if looks.clock[ASIDE] > 0.0:
        looks.clock[SHIFT] += max(left[0], joined[0]) + max(left[1], joined[1])
        return
    looks.clock[OPENED] += opens
    if a >= 0:
        looks.own[a] += left[0]
        looks.drift[a] += left[1]
        looks.clock[DRIFT] = max(looks.clock[DRIFT], looks.drift[a])
    looks.own[b] += joined[0]
    looks.drift[b] += joined[1]
    looks.clock[DRIFT] = max(looks.clock[DRIFT], looks.drift[b])


@part
def rename_looks(looks: Looks, old: int, new: int) -> None:
    """Cluster `old` takes the label of one that has closed."""
    looks.own[new] = looks.own[old]
    looks.drift[new] = max(looks.drift[new], looks.drift[old])


@part
def step_aside(looks: Looks) -> None:
    """From here on moves may be taken back: they count only if `step_back` is told to keep them."""
    looks.clock[ASIDE] = 1.0
    looks.clock[SHIFT] = 0.0


@part
def step_back(looks: Looks, kept: bool) -> None:
    """The moves since `step_aside` are kept, or all of them have been taken back."""
    looks.clock[ASIDE] = 0.0
    # A change of any cluster for any item, own or other, is part of this sum.
    if kept:
        looks.clock[CLOCK] += looks.clock[SHIFT]
        looks.clock[OPENED] += 1.0  # perhaps


def new_epoch(looks: Looks) -> None:
    """Add the largest drift to the clock, and begin with none."""
    looks.clock[CLOCK] += looks.clock[DRIFT]
    looks.clock[DRIFT] = 0.0
    looks.drift[:] = 0.0


def least_gaps(state: Any, items: IntArray) -> FloatArray:
    """A lower bound on the gap of each of the items; minus infinity where nothing is known."""
    looks, own, opened = state.looks, state.labels[items], state.looks.opened[items]
    changes = looks.own[own] + looks.clock[CLOCK] + looks.clock[DRIFT]
    least: FloatArray = looks.until[items] - _ROUNDING * changes
    alone = state.sizes[own] == 1
    least[(opened >= 0) & (~alone | (opened != looks.clock[OPENED]))] = -np.inf
    return least
