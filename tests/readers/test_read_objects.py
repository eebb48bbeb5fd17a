"""What samplers, scikit-learn and networkx hold in memory."""

import numpy as np
import pytest

import epluribus as epl
from io_cases import MU, Z3, Z, same


def test_arrays_by_name(tmp_path):
    """As NumPyro's get_samples(group_by_chain=True) gives them."""
    samples = {"mu": MU, "z": Z3, "alpha": MU[:, :, 0]}
    same(epl.Draws(samples))
    same(epl.Draws(samples, var="z"))
    same(epl.Draws({"z": Z}), chains=1)
    same(epl.Draws({"z": Z, "labels": Z3}))
    np.savez(tmp_path / "samples.npz", **samples)
    same(epl.read_draws(tmp_path / "samples.npz"))


@pytest.mark.parametrize(
    ("samples", "var", "message"),
    [
        ({"z": Z, "c": Z}, None, r"'var' must name .*: 'z' has .*, of which 'z', 'c' could be"),
        ({"mu": MU[0], "s": MU[0]}, None, r"'z' has 'mu', 's', of which none could be it"),
        ({"alpha": MU[0, 0]}, None, r"of which none could be it"),
        ({"z": Z}, "c", r"'var' must be one of 'z' in 'z'; got 'c'"),
    ],
)
def test_arrays_by_name_refused_in_words(samples, var, message):
    with pytest.raises(ValueError, match=message):
        epl.Draws(samples, var=var)


def same_partitions(draws, ref):
    np.testing.assert_array_equal(np.asarray(draws), np.asarray(epl.Draws(ref)))


def as_sets(row, names):
    return [{n for n, label in zip(names, row, strict=True) if label == g} for g in np.unique(row)]


@pytest.mark.parametrize("kind", [set, frozenset])
def test_lists_of_sets(kind):
    partitions = [[kind(group) for group in as_sets(row, range(4))] for row in Z]
    draws = same(epl.Draws(partitions), chains=1)
    assert draws.items is None
    same_partitions(epl.Draws(iter(Z.tolist())), Z)  # read only once
    assert epl.loss(partitions[0], partitions[3], "vi") == pytest.approx(epl.loss(Z[0], Z[3], "vi"))


def test_named_items_are_sorted():
    names = ["d", "a", "c", "b"]
    order = np.argsort(names)
    for draws in (
        epl.Draws([as_sets(row, names) for row in Z]),
        epl.Draws([dict(zip(names, row.tolist(), strict=True)) for row in Z]),
    ):
        same_partitions(draws, Z[:, order])
        assert draws.items == ("a", "b", "c", "d")
    assert epl.Draws([as_sets(row, [10, 2, 30, 4]) for row in Z]).items == ("2", "4", "10", "30")
    assert epl.Draws([[{"b", 1}, {"a"}]]).items == ("1", "a", "b")
    with pytest.raises(ValueError, match=r"'items' must be in the order .* item 0 is 'a'; got 'd'"):
        epl.Draws([as_sets(row, names) for row in Z], items=names)
    assert epl.Draws([as_sets(row, names) for row in Z], items=list("wxyz")).items == tuple("wxyz")


@pytest.mark.parametrize(
    ("partitions", "message"),
    [
        ([[{0, 1}, {1, 2}]], r"'z' must hold partitions; in draw 0 1 is in two sets"),
        ([[{0, 1}, {2}], [{0, 1}]], r"same items in every draw; 2 is in only one of draws 0 and 1"),
        ([{"a": 0}, {"b": 0}], r"same items in every draw; 'a' is in only one of draws 0 and 1"),
    ],
)
def test_sets_refused_in_words(partitions, message):
    with pytest.raises(ValueError, match=message):
        epl.Draws(partitions)
