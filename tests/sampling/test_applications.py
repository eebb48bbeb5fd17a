"""Four dispersed chains on the paper's data: they agree, and K has the distribution of long reference runs.

The probabilities come from independent runs of a prototype, up to 160 000 sweeps long; 0.06 is more than
four standard errors.
"""

import numpy as np
import pytest

from epluribus.datasets import load_congress_votes, load_french_blogs, load_galaxies
from epluribus.models import GaussianMixture, LatentBlockModel, StochasticBlockModel
from epluribus.sampling import sample


def check(trace, expected, rhat):
    report = trace.diagnostics()
    assert max(report.rhat.values()) <= rhat
    p = np.bincount(trace.n_clusters.ravel(), minlength=40) / trace.n_clusters.size
    for k, value in expected.items():
        assert abs(p[k] - value) < 0.06
    return p


def test_galaxies_have_four_clusters():
    model = GaussianMixture(load_galaxies() / 1000, prior="paper")
    trace = sample(model, n_draws=2000, n_chains=4, rng=1)
    p = check(trace, {2: 0.001, 3: 0.202, 4: 0.571, 5: 0.189, 6: 0.032}, 1.01)
    assert p.argmax() == 4


@pytest.mark.slow
def test_the_paper_s_sampler_finds_the_same():
    model = GaussianMixture(load_galaxies() / 1000, prior="paper")
    options = {"burn": 1_000_000, "thin": 100, "n_chains": 4, "moves": "appendix"}
    trace = sample(model, n_draws=40_000, rng=1, **options)
    p = check(trace, {3: 0.202, 4: 0.571, 5: 0.189}, 1.05)
    assert p.argmax() == 4


@pytest.mark.slow
def test_blogs_have_seventeen_clusters(shared_data):
    blogs = load_french_blogs(shared_data)
    model = StochasticBlockModel(blogs.edges, n_nodes=blogs.n_nodes)
    trace = sample(model, n_draws=40_000, burn=804_000, n_chains=4, rng=1)
    p = check(trace, {15: 0.02, 16: 0.24, 17: 0.42, 18: 0.27, 19: 0.06}, 1.01)
    assert p.argmax() == 17


@pytest.mark.slow
def test_members_have_six_clusters():
    votes = load_congress_votes().yeas
    model = LatentBlockModel(votes, beta=(1, 1), prior="poisson", k_max=(30, 16))
    trace = sample(model, n_draws=30_000, burn=1_365_000, n_chains=4, rng=1)
    p = check(trace, {6: 0.51, 7: 0.40, 8: 0.08}, 1.01)
    assert p.argmax() == 6
    columns = np.bincount(trace.column_n_clusters.ravel()) / trace.column_n_clusters.size
    assert columns.argmax() == 12
    assert abs(columns[11:14].sum() - 0.92) < 0.04
