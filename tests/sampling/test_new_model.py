"""The skeleton of the developer page is a model that works."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import nbinom

from enumerate_paths import transition_matrix
from epluribus._kernels.advance import advance
from epluribus.models import PartitionPrior
from epluribus.sampling import Allocation, Gibbs, SplitMerge, sample
from oracles_models import mixture_prior, normalized, partitions

PAGE = Path(__file__).parents[2] / "docs" / "developer" / "new-model.md"


@pytest.fixture(scope="module")
def page():
    if not PAGE.is_file():
        pytest.skip("the documentation is not beside the tests")
    code = re.search(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL).group(1)
    module = types.ModuleType("new_model_page")
    sys.modules["new_model_page"] = module
    exec(compile(code, str(PAGE), "exec"), module.__dict__)
    yield module
    del sys.modules["new_model_page"]


def oracle(y, labels, a, b):
    """By the chain rule: each count is negative binomial given those before it in its cluster."""
    total = 0.0
    for g in set(labels):
        shape, rate = a, b
        for value in np.asarray(y)[np.asarray(labels) == g]:
            total += nbinom.logpmf(value, shape, rate / (rate + 1))
            shape, rate = shape + value, rate + 1
    return total


def test_skeleton_is_exact(page):
    y, prior = [0, 3, 1, 5], PartitionPrior(0.7, "uniform", 6)
    model = page.CountMixture(y, 1.2, 0.8, prior)
    pmf = mixture_prior(4, 0.7, dict.fromkeys(range(1, 7), 1 / 6))
    log = {(z,): oracle(y, z, 1.2, 0.8) + np.log(pmf[z]) for z in partitions(4)}
    posterior = normalized(log)
    pi = np.array(list(posterior.values()))
    for move in ("gibbs", "split-merge", "allocation"):
        flow = pi[:, None] * transition_matrix(model, posterior, move, 0)
        assert np.abs(flow - flow.T).max() < 1e-14


@pytest.mark.slow
def test_skeleton_compiles_and_leaves_the_disk_cache_alone(page):
    model = page.CountMixture([0, 1, 0, 2, 30, 35, 28])
    trace = sample(model, n_draws=2000, rng=1)
    best = max(partitions(7), key=lambda z: model.log_posterior(z))
    assert trace.map_labels.tolist() == list(best)
    assert not any("Dispatcher" in str(signature) for signature in advance.signatures)


def test_skeleton_makes_the_same_draws_compiled_and_in_plain_python(page):
    model = page.CountMixture([0, 1, 0, 2, 30, 35, 28])
    moves = [Gibbs(), SplitMerge(2, scans=0), SplitMerge(2, scans=2), Allocation(3)]
    compiled = sample(model, n_draws=20, thin=15, burn_in=0, moves=moves, rng=1)
    model.compiled = False
    plain = sample(model, n_draws=20, thin=15, burn_in=0, moves=moves, rng=1)
    assert np.array_equal(np.asarray(compiled.draws), np.asarray(plain.draws))
