"""Arguments that are nearly right: a clear error, or the right answer."""

import sys

import numpy as np
import pytest

import epluribus as epl
from epluribus._validate import make_rng, need
from epluribus.models import GaussianMixture, StochasticBlockModel

Z = np.random.default_rng(1).integers(3, size=(12, 6))
A, B = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 1, 0, 0])
MODEL = GaussianMixture([1.0, 2.0, 3.0, 4.0])
HUGE = 10**30


def test_a_random_state_is_a_seed():
    """As scikit-learn takes it: the same state, the same answer; another one, another stream."""
    one, two = (make_rng(np.random.RandomState(seed)).random(3) for seed in (1, 2))
    np.testing.assert_array_equal(one, make_rng(np.random.RandomState(1)).random(3))
    assert (one != two).all()
    assert epl.minimize(Z, rng=np.random.RandomState(1)).n_clusters >= 1
    epl.minimize(Z, rng=np.random.Generator(np.random.RandomState(1)._bit_generator))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: epl.minimize(Z, rng=True), TypeError, "'rng' must be None"),
        (lambda: epl.minimize(Z, time_limit=True), TypeError, "'time_limit' must be a number"),
        (lambda: epl.minimize(Z, time_limit="1"), TypeError, "'time_limit' must be a number"),
        (lambda: epl.minimize(Z, k_max=HUGE), ValueError, r"'k_max' must be at most 2\*\*62"),
        (lambda: epl.Draws(Z, items="abcdef"), TypeError, "'items' must be a list of 6 names"),
        (lambda: epl.Draws(Z, items=6), TypeError, "'items' must be a list of 6 names"),
        (lambda: epl.Draws(Z, items=list("aabcde")), ValueError, "'a' is there twice"),
        (
            lambda: epl.Draws(np.array([[1, np.inf]], dtype=object)),
            ValueError,
            "draw 0, item 1 .* has inf, which is not an integer",
        ),
        (
            lambda: StochasticBlockModel([(0, 10**18)]),
            ValueError,
            "node numbers up to 1000000000000000000",
        ),
        (
            lambda: StochasticBlockModel([(0, 1)], n_nodes=10**12),
            MemoryError,
            "smaller 'n_nodes'",
        ),
        (lambda: StochasticBlockModel([(0, 1)], n_nodes=HUGE), ValueError, "'n_nodes' must be at"),
        (lambda: epl.sample(MODEL, n_draws=10**12), MemoryError, "smaller 'n_draws'"),
        (lambda: epl.sample(MODEL, n_draws=HUGE), ValueError, "'n_draws' must be at most"),
        (
            lambda: epl.sample(MODEL, n_chains=10**12),
            MemoryError,
            "smaller 'n_draws' or 'n_chains'",
        ),
        (
            lambda: epl.sample(MODEL, n_draws=10**4, thin=10**18),
            ValueError,
            "must be at most .* steps",
        ),
        (
            lambda: epl.soft_draws(np.full((2, 3, 2), 0.5), n_draws_each=10**12),
            MemoryError,
            "smaller 'n_draws_each'",
        ),
        (lambda: epl.partition.n_partitions(-1), ValueError, "'n_items' must be at least 0"),
        (lambda: epl.partition.n_partitions("x"), TypeError, "'n_items' must be an integer"),
    ],
)
def test_clear_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_one_loss_for_a_consensus():
    pytest.importorskip("sklearn")
    with pytest.raises(TypeError, match="'loss' must be one loss, .* got \\['vi', 'binder'\\]"):
        epl.ConsensusClustering(loss=["vi", "binder"]).fit(Z.T)


def test_one_partition_is_asked_for():
    """A column is one partition; several rows are several."""
    assert epl.loss(A[:, None], B[:, None]) == epl.loss(A, B) > 0
    for call in (
        lambda: epl.expected_loss(np.array([B, A]), Z),
        lambda: epl.credible_ball(Z, Z),
        lambda: epl.uncertainty.items(Z, Z),
        lambda: epl.greedy(Z, start=Z),
    ):
        with pytest.raises(ValueError, match=r"must be one partition, .* got an array of shape"):
            call()


def test_a_package_that_is_there_but_broken(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import nowhere_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"installed but could not be imported \(No module named"):
        need("broken_package", "files", "This")
    monkeypatch.setitem(sys.modules, "broken_package", None)
    with pytest.raises(ImportError, match="'broken_package', which is not installed"):
        need("broken_package", "files", "This")
