import numpy as np
import pytest

import epluribus as epl
import oracles
from epluribus import partition


def together(labels):
    labels = np.asarray(labels)
    return labels[:, None] == labels[None, :]


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_enumeration(n):
    comp = [labels.tolist() for labels in partition.partitions(n)]
    assert comp == sorted(oracles.all_partitions(n))
    assert len(comp) == partition.n_partitions(n)


def test_meet_join_contingency():
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b = rng.integers(4, size=(2, 9))
        meet, join = partition.meet(a, b), partition.join(a, b)
        np.testing.assert_array_equal(together(meet), together(a) & together(b))
        closure = together(a) | together(b)
        for _ in range(9):
            closure = (closure.astype(int) @ closure.astype(int)) > 0
        np.testing.assert_array_equal(together(join), closure)
        table = partition.contingency(a, b)
        assert table.sum() == 9
        order_a, order_b = partition.canonical(a), partition.canonical(b)
        for g in range(table.shape[0]):
            for h in range(table.shape[1]):
                assert table[g, h] == np.sum((order_a == g) & (order_b == h))


# --- one partition, from whatever the user has ---


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([5, 5, -2, 9], [0, 0, 1, 2]),
        (np.array([10**15, 0, 10**15]), [0, 1, 0]),
        (np.array([200, 200, 3], dtype=np.uint8), [0, 0, 1]),
        ([2.0, 1.0, 2.0], [0, 1, 0]),
        ([-3.0, 1e18, -3.0], [0, 1, 0]),
        (["b", "a", "b"], [0, 1, 0]),
        ([True, False, True], [0, 1, 0]),
        ([("x", 1), ("x", 2), ("x", 1)], None),  # a table of 3 x 2
        (np.array([None, "a"], dtype=object)[[1, 1]], [0, 0]),
        ([[4, 4, 7]], [0, 0, 1]),
        ([[4], [4], [7]], [0, 0, 1]),
        (np.ma.array([1, 2, 1], mask=[False, False, False]), [0, 1, 0]),
        ([{2, 0}, {1}], [0, 1, 0]),
        (({"b"}, {"a", "c"}), [0, 1, 0]),
        ([{1}, {"a"}], [0, 1]),  # no common order: sorted as text
        ({"b": 7, "a": 7, "c": 1}, [0, 0, 1]),
    ],
)
def test_labels_of_every_kind(labels, expected):
    if expected is None:
        with pytest.raises(ValueError, match=r"one partition, .* got an array of shape \(3, 2\)"):
            partition.canonical(labels)
        return
    found = partition.canonical(labels)
    assert found.dtype == np.int64
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("aab", "'labels' must hold one label for each item; got 'aab'"),
        ([], r"got an array of shape \(0,\)"),
        (3, r"got an array of shape \(\)"),
        ([1, 2.5, 0], r"item 1 \(counted from 0\) has 2.5, which is not an integer\.$"),
        ([1.0, np.nan], r"item 1 \(counted from 0\) has a missing value"),
        ([1.0, np.inf], "item 1 .* has inf, which is not an integer"),
        ([0.5, 0.2, 1.0], "item 0 .* For the probabilities of clusters see soft_draws"),
        ([3.5, 2.5], r"which is not an integer\.$"),
        ([1e30, 0.0], r"labels too large for integers: from 0 to 1e\+30"),
        ([1, None, 2], "item 1 .* has a missing value"),
        (np.array([1, 0.5, "a"], dtype=object), "item 1 .* has 0.5, which is not an integer"),
        (np.ma.array([1, 2, 1], mask=[0, 0, 1]), "item 2 .* has a missing value"),
        ([{1, 2}, {2}], "in draw 0 2 is in two sets"),
        (np.array([1j, 2]), "got values of type complex128"),
        (np.array([[1], 2], dtype=object), r"item 0 \(counted from 0\) has \[1\]"),
    ],
)
def test_labels_that_are_refused(labels, message):
    with pytest.raises((TypeError, ValueError), match=message):
        partition.canonical(labels)


@pytest.mark.parametrize(
    ("table", "way_out"),
    [
        ([[1.0, 2.5], [1.0, 3.0]], " Leave such columns out, or name the variable that .* 'var'"),
        ([[1.0, 2.5], [1.5, 3.0]], ""),
    ],
)
def test_columns_that_hold_no_labels(table, way_out):
    with pytest.raises(ValueError, match=rf"item . .*which is not an integer\.{way_out}\.?$"):
        epl.Draws(np.array(table))


def test_partitions_of_the_same_items():
    with pytest.raises(ValueError, match="'b' must have 3 items; got 2"):
        partition.meet([0, 0, 1], [0, 1])


def test_rows_are_widened_only_if_they_must():
    rows = np.array([[0, 1], [0, 0]], dtype=np.uint8)
    assert partition.widen_rows(rows, 2, 255) is rows
    wide = partition.widen_rows(rows, 1, 256)
    assert wide.dtype == np.uint16
    assert wide[0].tolist() == [0, 1]


def test_numbers_of_partitions():
    assert [partition.n_partitions(n) for n in range(8)] == [1, 1, 2, 5, 15, 52, 203, 877]
