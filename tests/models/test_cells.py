"""Tables of categories and counts, in every form in which users have them."""

import numpy as np
import pandas as pd
import pytest

from epluribus.models import (
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    PoissonMixture,
)
from epluribus.models.tables import read_categories
from epluribus.sampling.chain import fingerprint


def test_categories_in_every_guise_are_one_model():
    rows = [["b", 1], ["a", None], [None, 2], ["a", 1]]
    mask = [[False, False], [False, True], [True, False], [False, False]]
    forms = [
        rows,
        np.array(rows, dtype=object),
        pd.DataFrame(rows),
        pd.DataFrame({0: pd.Categorical(["b", "a", None, "a"]), 1: [1.0, np.nan, 2.0, 1.0]}),
        pd.DataFrame({0: ["b", "a", pd.NA, "a"], 1: pd.array([1, None, 2, 1], dtype="Int64")}),
        np.ma.array([["b", 1], ["a", 7], ["x", 2], ["a", 1]], mask=mask, dtype=object),
    ]
    models = [CategoricalMixture(form) for form in forms]
    assert all(model.categories == [["a", "b"], [1, 2]] for model in models)
    assert len({fingerprint(model) for model in models}) == 1


def test_numbers_are_equal_whatever_their_type():
    codes, names = read_categories([[1], [1.0], [np.int8(1)], [True], [0.5], ["1"]], "y")
    assert names == [[0.5, 1, "1"]]
    assert codes.ravel().tolist() == [1, 1, 1, 1, 0, 2]


def test_integers_are_read_as_their_list_is():
    table = np.random.default_rng(1).integers(-3, 4, (30, 3))
    quick, slow = CategoricalMixture(table), CategoricalMixture(table.tolist())
    assert quick.categories == slow.categories
    assert fingerprint(quick) == fingerprint(slow)


def test_new_categories_are_named():
    model = CategoricalMixture([["a"], ["b"]])
    assert model._read([["b"], [None]]).ravel().tolist() == [1, -1]
    with pytest.raises(ValueError, match=r"column 0 .* has 'c', which is not among \['a', 'b'\]"):
        model._read([["c"]])
    with pytest.raises(ValueError, match="'new' must have as many columns .*, 1; got 2"):
        model._read([["a", "b"]])


def test_one_category_says_nothing():
    model = CategoricalMixture([["a", 0], ["a", 1], ["a", 0]])
    alone = CategoricalMixture([[0], [1], [0]])
    for z in ([0, 0, 0], [0, 1, 0], [0, 1, 2]):
        np.testing.assert_allclose(model.log_marginal(z), alone.log_marginal(z))


def test_zeros_and_ones_in_every_guise_are_one_model():
    rows = [[1, 0], [0, None], [1, 1]]
    mask = [[False, False], [False, True], [False, False]]
    forms = [
        rows,
        np.ma.array([[1, 0], [0, 9], [1, 1]], mask=mask),
        pd.DataFrame(rows, dtype="Int64"),
    ]
    assert len({fingerprint(BernoulliMixture(form)) for form in forms}) == 1
    booleans = BernoulliMixture(np.array([[True, False], [False, True]]))
    assert fingerprint(booleans) == fingerprint(BernoulliMixture([[1.0, 0.0], [0.0, 1.0]]))
    # A Beta prior with equal parameters is a Dirichlet prior of two categories.
    same = BernoulliMixture(rows, beta=(0.7, 0.7)), CategoricalMixture(rows, weight=0.7)
    np.testing.assert_allclose(same[0].log_marginal([0, 0, 1]), same[1].log_marginal([0, 0, 1]))


def test_counts_have_a_prior_of_their_own_size():
    y = np.array([[0, 400], [2, 600], [1, 500]])
    model = PoissonMixture(y)
    np.testing.assert_allclose(model.rate, [1.0, 1 / 500])
    zeros = PoissonMixture([0, 0, 0])
    assert np.isfinite(zeros.log_posterior([0, 1, 1]))
    large = PoissonMixture([10**9, 10**9 + 5, 3 * 10**9])
    assert np.isfinite(large.log_posterior([0, 0, 1]))
    one = PoissonMixture(np.ma.array([1, 5, 2], mask=[0, 1, 0]))
    assert one.values.ravel().tolist() == [1, -1, 2]


def test_names_of_items_are_kept():
    frame = pd.DataFrame({"a": [1, 0], "b": [0, 1]}, index=["x", "y"])
    for make in (GaussianMixture, CategoricalMixture, BernoulliMixture, PoissonMixture):
        assert make(frame).sides[0].items == ("x", "y")
        assert make(frame.to_numpy()).sides[0].items is None
