"""The groups of all draws as lists of their members: what `MemberState` reads, made once for each problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from epluribus._typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    from epluribus.search.problem import Problem


class MemberLists(NamedTuple):
    """The distinct groups of two items or more (`_kernels/members.py`)."""

    start: IntArray
    """(n_sets + 1,) set b is member[start[b]:start[b + 1]]."""
    member: AnyArray
    """Items, ascending in each set."""
    weights: FloatArray
    """(n_sets,) sum of the weights of the draws that have it as a group."""
    first: IntArray
    """(n_items + 1,) the sets that hold item i are sets_of[first[i]:first[i + 1]]."""
    sets_of: AnyArray
    """Sets of each item."""

    @classmethod
    def of(cls, problem: Problem) -> MemberLists:
        """The lists for all draws of a problem without missing labels."""
        rows, (n, n_draws) = problem.rows, problem.rows.shape
        # One fixed random number for each item: groups with the same sum almost surely have the same items.
        number = np.random.default_rng(0).integers(0, 2**64, n, dtype=np.uint64)
        keys = np.zeros(problem.n_groups, dtype=np.uint64)
        np.add.at(keys, rows.ravel(), np.repeat(number, n_draws))
        several = np.flatnonzero(np.bincount(rows.ravel()) > 1)
        distinct, same = np.unique(keys[several], return_inverse=True)
        weights = np.bincount(same, problem.group_weights[several], minlength=len(distinct))
        # One group of each set tells its members.
        group, set_of = np.empty(len(distinct), dtype=np.int64), np.full(len(keys), -1)
        group[same] = several
        set_of[group] = np.arange(len(group))
        items, columns = np.nonzero(set_of[rows] >= 0)
        sets = set_of[rows[items, columns]]
        member = items[np.argsort(sets, kind="stable")].astype(np.int32)
        start = np.append(0, np.cumsum(np.bincount(sets, minlength=len(distinct))))
        first = np.append(0, np.cumsum(np.bincount(items, minlength=n)))
        return cls(start, member, weights.astype(np.float64), first, sets.astype(np.int32))
