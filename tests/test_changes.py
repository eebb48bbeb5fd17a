"""What differs between two partitions, in words."""

import re

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import epluribus as epl

A = np.repeat([0, 1, 2, 3], [20, 15, 10, 5])


def moved(labels, items, to):
    out = labels.copy()
    out[items] = to
    return out


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (np.where(A == 1, 0, A), "cluster 1 (15 items) joins cluster 0"),
        (moved(A, np.arange(8), 4), "of cluster 0 (20 items) 12 stay and 8 form new cluster 4"),
        (moved(A, [0], 1), "of cluster 0 (20 items) 19 stay and item 0 goes to cluster 1"),
        (moved(A, [0], 7), "of cluster 0 (20 items) 19 stay and item 0 is alone"),
        (moved(A, [1, 2], 2), "of cluster 0 (20 items) 18 stay and items 1 and 2 go to cluster 2"),
        (
            moved(A, [0, 1, 20, 21], 4),
            "of cluster 0 (20 items) 18 stay and items 0 and 1 go to new cluster 4; "
            "of cluster 1 (15 items) 13 stay and items 20 and 21 go to new cluster 4",
        ),
        (
            moved(np.where(A == 1, 0, A), [40], 9),
            "cluster 1 (15 items) joins cluster 0; "
            "of cluster 2 (10 items) 9 stay and item 40 is alone",
        ),
    ],
)
def test_one_change(other, words):
    assert epl.changes.what_differs(A, other) == f"in the second, {words}"
    # The names of the clusters do not matter.
    assert epl.changes.what_differs(A + 3, 9 - other) == f"in the second, {words}"


def test_names_of_items_and_of_the_other():
    text = epl.changes.what_differs(
        A, moved(A, [0], 1), names=[f"n{i}" for i in range(50)], other="mine"
    )
    assert text == "in mine, of cluster 0 (20 items) 19 stay and item n0 goes to cluster 1"


def test_equal_partitions_and_an_item_that_stays():
    assert epl.changes.what_differs(A, 7 - A) == "the two are equal"
    found = epl.changes.what_differs([0, 0, 1], [0, 1, 1])
    assert found == "in the second, of cluster 0 (2 items) 1 stays and item 1 goes to cluster 1"


def test_no_item_is_said_to_move_that_did_not():
    """On random pairs: as many items move as the two are apart, each from its cluster and to its new company."""
    rng = np.random.default_rng(1)
    for _ in range(2000):
        n = int(rng.integers(2, 9))
        a, b = (epl.partition.by_size(rng.integers(0, 3, n)) for _ in range(2))
        text = epl.changes.what_differs(a, b, names=[f"n{i}" for i in range(n)])
        if np.array_equal(a, b):
            assert text == "the two are equal"
            continue
        table = epl.partition.contingency(a, b)
        n_moved, said = n - table[linear_sum_assignment(table, maximize=True)].sum(), 0
        for line in text.removeprefix("in the second, ").split("; "):
            g = int(re.search(r"cluster (\d+)", line)[1])
            own = set(np.flatnonzero(a == g).tolist())
            assert f"({len(own)} item" in line
            if "joins" in line:
                said += len(own)
                assert len({int(b[i]) for i in own}) == 1
                continue
            said += sum(int(x) for x in re.findall(r" (\d+) (?:go|form)", line))
            for listed, what in re.findall(r"items? ((?:n\d(?:, | and )?)+) (is|go|form)", line):
                items = [int(x) for x in re.findall(r"\d", listed)]
                said += len(items)
                assert set(items) <= own
                assert len({int(b[i]) for i in items}) == 1
                assert (what == "is") == ((b == b[items[0]]).sum() == 1)
        assert said == n_moved


def test_many_clusters_are_counted():
    second = np.zeros(100, dtype=int)
    second[:40] = 1 + np.arange(40) // 2
    words = epl.changes.what_differs(np.zeros(100, dtype=int), second)
    assert words.startswith(
        "in the second, of cluster 0 (100 items) 60 stay, items 0 and 1 form new"
    )
    assert words.endswith("and 34 items go to 17 more clusters")
    pairs = np.repeat(np.arange(3000), 2)
    words = epl.changes.what_differs(pairs, np.arange(6000))
    assert words == "in the second, 3,000 of 3,000 clusters are different"
    six = np.repeat(np.arange(6), 3)
    words = epl.changes.what_differs(six, np.arange(18))
    assert words.endswith("; 4 items of 2 other clusters move")


def test_items_are_called_by_their_own_names():
    named = {"ann": 0, "bob": 0, "cy": 0, "dee": 1}
    assert "item cy goes to" in epl.changes.what_differs(named, [0, 0, 1, 1])
    assert "item cy goes to" in epl.changes.what_differs(
        [0, 0, 0, 1], dict(zip(named, [0, 0, 1, 1], strict=True))
    )


def test_names_that_say_item_are_not_called_items_again():
    names = [f"item {i}" for i in range(4)]
    told = epl.changes.what_differs([0, 0, 0, 0], [0, 0, 1, 1], names=names)
    assert "2 stay and item 2 and item 3 form new cluster 1" in told
