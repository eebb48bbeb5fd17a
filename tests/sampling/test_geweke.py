"""A joint test of the Gaussian model and its sampler (Geweke 2004, doi:10.1198/016214504000001132).

Data and partition are drawn jointly in two ways: partition from the prior, then data given it; and
a chain that alternates moves of the partition given the data with fresh data given the partition.
Both have the same distribution, whatever the sampler's mistakes in normalizing; means of test functions are
compared by z-scores at level 1e-4 in all (Bonferroni)."""

import numpy as np
from scipy.stats import norm

from epluribus.diagnostics import ess
from epluribus.models import DirichletProcess, GaussianMixture
from epluribus.sampling.chain import Chain, RunSettings
from epluribus.sampling.moves import make_schedule

N, TAU, SHAPE, RATE = 5, 0.4, 2.0, 1.5
PRIOR = DirichletProcess(1.2)


def draw_data(labels, rng):
    precision = rng.gamma(SHAPE, 1 / RATE, N)[labels]
    mean = (rng.normal(size=N) / np.sqrt(TAU))[labels] / np.sqrt(precision)
    return mean + rng.normal(size=N) / np.sqrt(precision)


def draw_labels(rng):
    labels = [0]
    for i in range(1, N):
        weights = np.r_[np.bincount(labels), 1.2] / (i + 1.2)
        labels.append(int(rng.choice(weights.size, p=weights)))
    return np.array(labels)


def features(labels, y):
    """Bounded functions of data, partition and both."""
    same = labels[0] == labels[1]
    return (
        len(set(labels.tolist())),
        float(same),
        np.tanh(y[0]),
        np.tanh(y[0]) * np.tanh(y[1]),
        same * np.exp(-abs(y[0] - y[1])),
        np.exp(-np.var(y)),
    )


def test_the_joint_distribution_is_kept():
    rng = np.random.default_rng(21)
    labels = [draw_labels(rng) for _ in range(20_000)]
    direct = np.array([features(z, draw_data(z, rng)) for z in labels])

    model = GaussianMixture(np.zeros(N), tau=TAU, gamma=SHAPE, delta=RATE, prior=PRIOR)
    schedule = make_schedule("default", model)
    settings = RunSettings(n_draws=1, burn_in=10**9, thin=1)
    chain = Chain(model, (np.zeros(N, int),), schedule, settings, rng)
    stop = np.zeros(1, dtype=np.uint8)
    walk = np.empty((20_000, direct.shape[1]))
    for t in range(len(walk)):
        z = chain.partitions[0].labels
        chain.states[0].values[:, 0] = draw_data(np.unique(z, return_inverse=True)[1], rng)
        # New data: back to step 0, where everything is computed from the labels; half a cycle of
        # moves.
        chain.clock[:] = 0
        chain.clock[1] = t % 2
        chain.run_until(5, stop)
        walk[t] = features(z, chain.states[0].values[:, 0])

    for column in range(direct.shape[1]):
        a, b = direct[:, column], walk[:, column]
        error = np.sqrt(a.var() / len(a) + b.var() / ess(b))
        z_score = (a.mean() - b.mean()) / error
        assert abs(z_score) < norm.isf(1e-4 / 2 / direct.shape[1])
