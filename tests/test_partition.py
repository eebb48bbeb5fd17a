import numpy as np
import pandas as pd
import pytest
import xarray as xr

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
    assert len(comp) == partition.n_partitions(n) == {1: 1, 2: 2, 5: 52, 8: 4140}[n]


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
        (np.ma.array([[4], [4], [7]], mask=np.zeros((3, 1))), [0, 0, 1]),
        ([["a"], ["a"], ["b"]], [0, 0, 1]),
        (pd.Series([4, 4, 7], index=[5, 1, 3]), [0, 0, 1]),
        (pd.Series([4, 4, 7], dtype="Int64"), [0, 0, 1]),
        (pd.DataFrame({"cluster": [4, 4, 7]}), [0, 0, 1]),
        (pd.DataFrame([[4, 4, 7]]), [0, 0, 1]),
        (xr.DataArray([[4, 4, 7]], dims=("draw", "item")), [0, 0, 1]),
        (epl.Draws([[0, 1, 1], [4, 4, 7]])[1:], [0, 0, 1]),
        (epl.minimize([[4, 4, 7]]), [0, 0, 1]),
        (epl.minimize([[4, 4, 7]]).to_xarray(), [0, 0, 1]),
        (epl.search.greedy([[4, 4, 7]], start=[0, 0, 1]), [0, 0, 1]),
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
        (
            "aab",
            "'labels' must be one partition, with a label for each item; got 'aab'. Give a list",
        ),
        ([], r"got an array of shape \(0,\), which is empty"),
        (3, r"one partition, .* got 3\. Give a list or an array of labels"),
        (None, "got None. Give a list or an array of labels"),
        ({0, 1}, r"got \{0, 1\}\. Give a list or an array of labels"),
        ([1, 2.5, 0], r"item 1 \(counted from 0\) has 2.5, which is not an integer\.$"),
        ([1.0, np.nan], r"item 1 \(counted from 0\) has a missing value"),
        ([1.0, np.inf], "item 1 .* has inf, which is not an integer"),
        ([0.5, 0.2, 1.0], "item 0 .* For the probabilities of clusters see soft_draws"),
        ([1e30, 0.0], r"labels too large for integers: 1e\+30"),
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


TWO = np.array([[0, 0, 1], [0, 1, 1]])
ONE = r"Give one of them, such as z\[0\]; minimize finds one partition for many"


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (TWO, rf"got an array of shape \(2, 3\)\. {ONE}"),
        (TWO[None], rf"got an array of shape \(1, 2, 3\)\. {ONE}"),
        (pd.DataFrame(TWO), r"got an array of shape \(2, 3\)\. .* such as z\.iloc\[0\]; minimize"),
        ([[0, 0, 1], [0, 1]], f"got rows of different lengths. {ONE}"),
        (epl.Draws(TWO), rf"got Draws\(n_draws=2, .*\)\. {ONE}\. The estimate comes before"),
        (epl.Draws(TWO[[0, 0]]), rf"got Draws\(n_draws=2, .*\)\. {ONE}"),
        (lambda: epl.search.minimize_all(TWO, ["vi", "binder"]), rf"got an array of shape \(2, 3\)\. {ONE}"),
        (lambda: [epl.minimize(TWO), epl.minimize(TWO)], f"got a list of 2 estimates. {ONE}"),
        (lambda: epl.modes(TWO, n_modes=2, rng=1), rf"got an array of shape \(2, 3\)\. {ONE}"),
    ],
)  # fmt: skip
def test_several_partitions_are_not_one(labels, message):
    """Nothing is dropped without a word, wherever one partition is asked for."""
    labels = labels() if callable(labels) else labels
    calls = {
        "labels": [partition.canonical, lambda labels: epl.expected_loss(labels, TWO)],
        "a": [
            lambda labels: epl.loss(labels, TWO[0]),
            lambda labels: partition.meet(labels, TWO[0]),
        ],
        "b": [lambda labels: epl.loss(TWO[0], labels)],
        "best": [
            lambda labels: epl.credible_ball(labels, TWO),
            lambda labels: epl.uncertainty.items(labels, TWO),
            lambda labels: epl.uncertainty.clusters(labels, TWO),
            lambda labels: epl.uncertainty.error(labels, TWO),
            lambda labels: epl.certificate(labels, TWO),
            lambda labels: epl.plots.histogram(labels, [5.0, 6.0, 1.0]),
        ],
        "start": [lambda labels: epl.search.greedy(TWO, start=labels)],
    }
    for argument, functions in calls.items():
        for call in functions:
            with pytest.raises(
                (TypeError, ValueError), match=f"'{argument}' must be one partition.*{message}"
            ):
                call(labels)


def test_columns_are_partitions_of_their_rows():
    """A column of N labels is not N draws of one item, for which every loss is 0."""
    a, b = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    ref = epl.loss(a, b)
    assert ref > 0
    assert epl.loss(a[:, None], b[:, None]) == epl.loss(a[None], b[None]) == ref
    assert epl.expected_loss(a[:, None], [b]) == ref


@pytest.mark.parametrize(
    ("table", "way_out"),
    [
        ([[1.0, 2.5], [1.0, 3.0]], " Leave such columns out, or name the variable that .* 'var'"),
        ([[1.0, 2.5], [1.5, 3.0]], " Measurements need a model, such as .*'epluribus sample'.*"),
    ],
)
def test_columns_that_hold_no_labels(table, way_out):
    with pytest.raises(ValueError, match=rf"item . .*which is not an integer\.{way_out}\.?$"):
        epl.Draws(np.array(table))
