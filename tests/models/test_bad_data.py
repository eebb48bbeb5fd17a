"""Bad input gets an error that says what, where and the way out; odd input a right answer."""

import numpy as np
import pytest

from epluribus.models import (
    BernoulliMixture,
    CategoricalMixture,
    CustomModel,
    GaussianMixture,
    LatentBlockModel,
    PoissonMixture,
    StochasticBlockModel,
)
from epluribus.sampling import sample

BAD = [
    (lambda: GaussianMixture([1.0, np.inf]), "'y' must be finite; item 1 .* is inf"),
    (lambda: GaussianMixture([[1.0, np.inf]]), "item 0, column 1"),
    (lambda: GaussianMixture([np.nan, np.nan]), "'y' must have a value in every column; all cells"),
    (lambda: GaussianMixture([1.0, 1e156], prior="paper"), "within 1e150 units of .* = 1; item 1, column 0"),
    (lambda: GaussianMixture([[1.0, 2.0], [1.0, 3.0]]), "must vary .*: 0. Leave"),
    (lambda: GaussianMixture([[1.0, np.nan]] * 9, covariance="full"), "a value in every column"),
    (lambda: GaussianMixture([[1.0, np.nan], [2.0, 1.0]], covariance="full"), "item 0, column 1"),
    (lambda: GaussianMixture([1.0], covariance="ful"), "Did you mean 'full'"),
    (lambda: PoissonMixture([1, -1]), r"'y' must hold 0, 1, 2, ...; item 1 .*is -1. For meas"),
    (lambda: PoissonMixture([1, 0.5]), "is 0.5. For measurements take GaussianMixture"),
    (lambda: PoissonMixture([1, 2], rate=[1, 2]), "'rate' must be one finite number above 0"),
    (lambda: BernoulliMixture([[0, 2]]), "'y' must hold 0 to 1; item 0, column 1 .*is 2"),
    (lambda: BernoulliMixture([[0, 1]], beta=1), "'beta' must be two numbers"),
    (lambda: CategoricalMixture([["a", None]]), "all cells of column 1 .*are missing"),
    (lambda: CategoricalMixture([[["a"], "b"]]), "a category must be a number or text"),
    (lambda: CategoricalMixture([["a"]], weight=0), "'weight' must be a finite number above 0"),
    (lambda: GaussianMixture([]), r"'y' must have shape .*got shape \(0,\)"),
    (lambda: GaussianMixture(["a"]), "'y' must be numbers"),
    (lambda: GaussianMixture([1.0], tau=-1), "'tau' must be a finite number above 0; got -1"),
    (lambda: GaussianMixture([1.0], gamma=0), "'gamma' must be a finite number above 0"),
    (lambda: GaussianMixture([1.0], delta="x"), "'delta' must be a number; got 'x'"),
    (lambda: GaussianMixture([1.0], delta=0), "'delta' must be one finite number above 0"),
    (lambda: GaussianMixture([1.0], mean=[1, 2]), "'mean' must be one finite number or"),
    (lambda: StochasticBlockModel([[0, 1], [0, 0]]), "symmetric for .* Give directed=True"),
    (lambda: StochasticBlockModel([[0, 2], [2, 0]]), "no weights.* counts 2. Give"),
    (lambda: StochasticBlockModel([[0, np.nan], [1, 0]]), "is nan. Decide what a"),
    (lambda: StochasticBlockModel([[1, 0], [0, 0]]), "zero diagonal.*node 0 .* linked to itself"),
    (lambda: StochasticBlockModel(np.zeros((3, 4))), "must be a square matrix.* got shape"),
    (lambda: StochasticBlockModel(np.zeros((0, 0))), "a matrix with rows and columns"),
    (lambda: StochasticBlockModel([(0, 1), (2, 2), (1, 2)]), "no loops; node 2 .*"),
    (lambda: StochasticBlockModel([(0, 1), (1, 0), (1, 2)]), "each edge once.* counts 2"),
    (lambda: StochasticBlockModel([(0, 5)], n_nodes=3), "'n_nodes' must be at least 6.*got 3"),
    (lambda: StochasticBlockModel([(0, 1), (0, -1)], n_nodes=3), "0, 1, 2, ...; got -1"),
    (lambda: StochasticBlockModel([(0, 0.5)], n_nodes=3), "node numbers 0, 1, .*got 0.5"),
    (lambda: StochasticBlockModel([("a", "b")], n_nodes=2), "node numbers .*got 'a'"),
    (lambda: StochasticBlockModel([], n_nodes=0), "'n_nodes' must be at least 1; got 0"),
    (lambda: StochasticBlockModel(np.zeros((0, 2))), "'adjacency' must have at least one node"),
    (lambda: StochasticBlockModel([(0, 1, 2)], n_nodes=3), "no weights.* counts 2"),
    (lambda: StochasticBlockModel([(0, 1), (1,)]), "two nodes in each .* got 1 or 2"),
    (lambda: StochasticBlockModel([[0]], beta=0.5), "'beta' must be two numbers"),
    (lambda: StochasticBlockModel([[0]], beta=(0.5, 0)), "'beta' must be a finite number above 0"),
    (lambda: LatentBlockModel([[0, 3]]), r"'matrix' must hold only 0 and 1.*entry \(0, 1\)"),
    (lambda: LatentBlockModel([0, 1]), "'matrix' must be a matrix with rows and columns"),
    (lambda: LatentBlockModel([["a"]]), "'matrix' must be a matrix of numbers"),
    (lambda: LatentBlockModel([[0]], k_max=(1, 2, 3)), "'k_max' must be one value or two"),
    (lambda: CustomModel(3, 4), "'log_posterior' must be a function of the labels; got 3"),
    (lambda: CustomModel(len, 0), "'n_items' must be at least 1"),
    (lambda: CustomModel(len, 3, prior="uniform"), "'prior' must be an object"),
    (lambda: LatentBlockModel([[0, 1]]).log_marginal([0]), "once for each of: rows, col"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), BAD)
def test_messages(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_a_function_that_returns_nan_is_named():
    model = CustomModel(lambda z: float("nan"), 3)
    with pytest.raises(
        ValueError, match=r"'log_posterior' must return a number.*returned nan for labels"
    ):
        sample(model, n_draws=1, n_chains=1, rng=1)


def test_a_start_that_the_function_forbids_is_named():
    model = CustomModel(lambda z: 0.0 if z.max() == 1 else -np.inf, 3)
    with pytest.raises(
        ValueError, match="'start' must have a finite log posterior; that of chain 0"
    ):
        sample(model, n_draws=1, n_chains=1, rng=1)
    trace = sample(model, n_draws=50, n_chains=1, start=[0, 0, 1], rng=1)
    assert set(trace.n_clusters.ravel()) == {2}


@pytest.mark.parametrize(
    "model",
    [
        GaussianMixture([3.0]),
        StochasticBlockModel([[0]]),
        StochasticBlockModel([[0]], directed=True),
        LatentBlockModel([[1]]),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("moves", ["default", "appendix"])
def test_one_item_is_one_cluster(model, moves):
    trace = sample(model, n_draws=20, moves=moves, rng=1)
    assert (trace.n_clusters == 1).all()
    np.testing.assert_allclose(trace.log_posterior, model.log_posterior(*[[0]] * len(model.sides)))


def test_constant_data_and_isolated_nodes_are_fine():
    trace = sample(GaussianMixture(np.full(10, 7.0)), n_draws=200, rng=1)
    assert np.isfinite(trace.log_posterior).all()
    assert np.bincount(trace.n_clusters.ravel()).argmax() == 1
    lonely = StochasticBlockModel([(0, 1), (0, 2), (1, 2)], n_nodes=6)
    trace = sample(lonely, n_draws=200, rng=1)
    assert trace.draws.n_items == 6
    empty = sample(StochasticBlockModel(np.zeros((4, 4))), n_draws=20, rng=1)
    assert np.isfinite(empty.log_posterior).all()
    flat = sample(LatentBlockModel(np.ones((4, 3))), n_draws=20, rng=1)
    assert np.isfinite(flat.log_posterior).all()
