"""Arguments that are nearly right: a clear error, or the right answer."""

import sys

import numpy as np
import pytest

import epluribus as epl
from epluribus._validate import make_rng, need
from epluribus.models import GaussianMixture, StochasticBlockModel

Z = np.random.default_rng(1).integers(3, size=(12, 6))
MODEL = GaussianMixture([1.0, 2.0, 3.0, 4.0])
HUGE = 10**30
SOFT = np.full((2, 3, 2), 0.5)


def test_a_random_state_is_a_seed():
    """As scikit-learn takes it: the same state, the same answer; another one, another stream."""
    one, two = (make_rng(np.random.RandomState(seed)).random(3) for seed in (1, 2))
    np.testing.assert_array_equal(one, make_rng(np.random.RandomState(1)).random(3))
    assert (one != two).all()
    assert epl.minimize(Z, rng=np.random.RandomState(1)).n_clusters >= 1
    epl.minimize(Z, rng=np.random.Generator(np.random.RandomState(1)._bit_generator))


EDGE = StochasticBlockModel


@pytest.mark.parametrize(
    ("error", "message", "function", "arguments", "options"),
    [
        (TypeError, "'rng' must be None", epl.minimize, [Z], {"rng": True}),
        (TypeError, "'time_limit' must be a number", epl.minimize, [Z], {"time_limit": True}),
        (TypeError, "'time_limit' must be a number", epl.minimize, [Z], {"time_limit": "1"}),
        (ValueError, "'time_limit' must be a finite", epl.certificate, [Z[0], Z], {"time_limit": -1}),
        (ValueError, r"'k_max' must be at most 2\*\*62", epl.minimize, [Z], {"k_max": HUGE}),
        (TypeError, "'items' must be a list of 6 names", epl.Draws, [Z], {"items": "abcdef"}),
        (TypeError, "'items' must be a list of 6 names", epl.Draws, [Z], {"items": 6}),
        (ValueError, "'a' is there twice", epl.Draws, [Z], {"items": list("aabcde")}),
        (ValueError, "node numbers up to 1000000000000000000", EDGE, [[(0, 10**18)]], {}),
        (MemoryError, "smaller 'n_nodes'", EDGE, [[(0, 1)]], {"n_nodes": 10**12}),
        (ValueError, "'n_nodes' must be at", EDGE, [[(0, 1)]], {"n_nodes": HUGE}),
        (MemoryError, "smaller 'n_draws'", epl.sample, [MODEL], {"n_draws": 10**12}),
        (ValueError, "'n_draws' must be at most", epl.sample, [MODEL], {"n_draws": HUGE}),
        (MemoryError, "smaller 'n_draws' or 'n_ch", epl.sample, [MODEL], {"n_chains": 10**12}),
        (ValueError, "at most .* steps", epl.sample, [MODEL], {"n_draws": 10**4, "thin": 10**18}),
        (MemoryError, "smaller 'n_draws_each'", epl.soft_draws, [SOFT], {"n_draws_each": 10**12}),
        (ValueError, "'n_items' must be at least 0", epl.partition.n_partitions, [-1], {}),
        (TypeError, "'n_items' must be an integer", epl.partition.n_partitions, ["x"], {}),
    ],
)  # fmt: skip
def test_clear_errors(error, message, function, arguments, options):
    with pytest.raises(error, match=message):
        function(*arguments, **options)


def test_one_loss_for_a_consensus():
    pytest.importorskip("sklearn")
    with pytest.raises(TypeError, match="'loss' must be one loss, .* got \\['vi', 'binder'\\]"):
        epl.ConsensusClustering(loss=["vi", "binder"]).fit(Z.T)


def test_a_package_that_is_there_but_broken(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import nowhere_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"installed but cannot be imported \(No module named"):
        need("broken_package", "files", "This")
    monkeypatch.setitem(sys.modules, "broken_package", None)
    with pytest.raises(ImportError, match="'broken_package', which is not installed"):
        need("broken_package", "files", "This")
