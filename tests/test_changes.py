"""What differs between two partitions, in words."""

import numpy as np
import pytest

import epluribus as epl
from epluribus.changes import find_changes

A = np.repeat([0, 1, 2, 3], [20, 15, 10, 5])


def moved(labels, items, to):
    out = labels.copy()
    out[items] = to
    return out


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (np.where(A == 1, 0, A), "clusters 0 (20 items) and 1 (15) are one"),
        (moved(A, np.arange(8), 4), "cluster 0 (20 items) is split into 12 and 8"),
        (moved(A, [0], 1), "item 0 moves to cluster 1"),
        (moved(A, [0], 7), "item 0 is alone"),
        (moved(A, [1, 2], 2), "items 1 and 2 move to cluster 2"),
        (moved(A, np.arange(5), 1), "5 items of cluster 0 (20 items) move to cluster 1"),
    ],
)
def test_one_change(other, words):
    assert epl.what_differs(A, other) == f"in the second, {words}"
    # The names of the clusters do not matter.
    assert epl.what_differs(A + 3, 9 - other) == f"in the second, {words}"


def test_several_changes_the_largest_first():
    other = moved(np.where(A == 1, 0, A), [40, 49], [9, 3])
    text = epl.what_differs(A, other, names=[f"n{i}" for i in range(50)], other="mine")
    assert text == "in mine, clusters 0 (20 items) and 1 (15) are one and item n40 is alone"
    found = find_changes(A, other)
    assert [change.kind for change in found] == ["merged", "alone"]
    assert found[0].size == 15
    many = moved(A, [0, 20, 35, 36, 45, 21], [1, 2, 3, 0, 1, 3])
    assert epl.what_differs(A, many).endswith("; 2 smaller changes")


def test_equal_and_unrelated():
    assert epl.what_differs(A, A[::-1][::-1]) == "the two are equal"
    shuffled = np.random.default_rng(0).permutation(A)
    assert epl.what_differs(A, shuffled) == "the second has little in common with the first"
    assert epl.what_differs([0, 0, 1], [0, 1, 2]).startswith("in the second, ")


def test_random_partitions_account_for_every_item():
    """Items outside all changes are those whose company is the same, up to the items that moved."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        a, b = (epl.partition.as_labels(rng.integers(0, 4, 20)) for _ in range(2))
        touched = {int(i) for change in find_changes(a, b) for i in change.items}
        same = [
            i for i in range(20) if set(np.flatnonzero(a == a[i])) == set(np.flatnonzero(b == b[i]))
        ]
        assert touched.isdisjoint(same)


def test_other_lengths_are_refused():
    with pytest.raises(ValueError, match=r"'b' must have 3 items; got 2"):
        epl.what_differs([0, 0, 1], [0, 1])


def test_large_clusters_that_exchange_few_items_have_much_in_common():
    first = np.repeat([0, 1, 2], 1000)
    second = first.copy()
    # A new cluster has two items of each: it links the two.
    second[[0, 1, 1000, 1001]] = 3
    words = epl.what_differs(first, second)
    assert "little in common" not in words
    assert words == "in the second, clusters 0 (1,000 items) and 1 (1,000) are regrouped into 3"


def test_many_small_parts_are_counted():
    second = np.zeros(100, dtype=int)
    second[:40] = 1 + np.arange(40) // 2
    words = epl.what_differs(np.zeros(100, dtype=int), second)
    assert words.endswith("is split into 60, 2, 2, 2 and 17 more")
