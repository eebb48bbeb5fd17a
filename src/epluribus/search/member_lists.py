"""The groups of all draws as lists of their members: what `MemberState` reads, made once for each problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from epluribus._kernels.small_clusters import equal_groups, fill_sets, fill_sets_of, hash_groups
from epluribus._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from epluribus.search.problem import Problem


class MemberLists(NamedTuple):
    """The distinct groups of two items or more (`_kernels/small_clusters.py`)."""

    start: IntArray
    """(n_sets + 1,) set b is member[start[b]:start[b + 1]]."""
    member: IntArray
    """Items, ascending in each set."""
    weights: FloatArray
    """(n_sets,) sum of the weights of the draws that have it as a group."""
    first: IntArray
    """(n_items + 1,) the sets that hold item i are sets_of[first[i]:first[i + 1]]."""
    sets_of: IntArray
    """Sets, ascending for each item."""

    @classmethod
    def of(cls, problem: Problem) -> MemberLists:
        """The lists for all draws of a problem without missing labels.

        Sets are numbered by their first item: those of one item then lie mostly side by side in memory.
        """
        rows, n = problem.rows, problem.n_groups
        keys, sizes = np.zeros(n, dtype=np.uint64), np.zeros(n, dtype=np.int32)
        firsts, same = np.zeros(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        # One fixed random number for each item: groups that differ almost surely have different keys.
        number = np.random.default_rng(0).integers(0, 2**64, problem.n_items, dtype=np.uint64)
        hash_groups(rows, number, keys, sizes, firsts)
        slots = np.full(1 << (2 * n).bit_length(), -1, dtype=np.int32)
        equal_groups(keys, sizes, firsts, slots, same)
        del keys, slots
        kept = np.flatnonzero(same == np.arange(n))
        kept = kept[np.argsort(firsts[kept], kind="stable")]
        set_of = np.full(n, -1, dtype=np.int32)
        set_of[kept] = np.arange(len(kept))
        several = same >= 0
        weights = np.bincount(
            set_of[same[several]], problem.group_weights[several], minlength=len(kept)
        )
        start = np.append(0, np.cumsum(sizes[kept], dtype=np.int64))
        member = np.empty(start[-1], dtype=np.int32)
        fill_sets(rows, set_of, start, member, np.empty(len(kept), dtype=np.int64))
        first, sets_of = np.zeros(problem.n_items + 1, dtype=np.int64), np.empty_like(member)
        fill_sets_of(start, member, first, sets_of)
        return cls(start, member, weights.astype(np.float64), first, sets_of)

    @property
    def steps(self) -> float:
        """Members looked at in a sweep."""
        return float((np.diff(self.start).astype(np.float64) ** 2).sum())
