"""A joint test of the Gaussian model and its sampler (Geweke 2004, doi:10.1198/016214504000001132).

Data and partition are drawn jointly in two ways: partition from the prior, then data given it; and
a chain that alternates moves of the partition given the data with fresh data given the partition.
Both have the same distribution, whatever the sampler's mistakes in normalizing; means of test functions are
compared by z-scores at level 1e-4 in all (Bonferroni)."""

import numpy as np
from scipy.stats import norm

from epluribus._kernels.states import LABEL
from epluribus.diagnostics import ess
from epluribus.models import DirichletProcess, GaussianMixture
from epluribus.sampling.chain import Chain, RunSettings
from epluribus.sampling.moves import make_schedule

N, T = 5, 20_000
TAU, SHAPE, RATE, THETA = 0.4, 2.0, 1.5, 1.2


def draw_data(labels, rng):
    """Data of each row of labels."""
    precision = np.take_along_axis(rng.gamma(SHAPE, 1 / RATE, labels.shape), labels, axis=1)
    standard = np.take_along_axis(rng.normal(size=labels.shape), labels, axis=1)
    return (standard / np.sqrt(TAU) + rng.normal(size=labels.shape)) / np.sqrt(precision)


def draw_labels(rng):
    """Rows from the Chinese restaurant process: a new table, or that of a random earlier customer."""
    labels = np.zeros((T, N), dtype=np.int64)
    for i in range(1, N):
        earlier = labels[np.arange(T), rng.integers(0, i, T)]
        is_new = rng.random(T) < THETA / (i + THETA)
        labels[:, i] = np.where(is_new, labels[:, :i].max(axis=1) + 1, earlier)
    return labels


def features(labels, y):
    """Bounded functions of data, partition and both, one column each."""
    same = labels[:, 0] == labels[:, 1]
    n_clusters = 1 + np.count_nonzero(np.diff(np.sort(labels, axis=1), axis=1), axis=1)
    columns = [
        n_clusters,
        same,
        np.tanh(y[:, 0]),
        np.tanh(y[:, 0]) * np.tanh(y[:, 1]),
        same * np.exp(-abs(y[:, 0] - y[:, 1])),
        np.exp(-y.var(axis=1)),
    ]
    return np.column_stack(columns)


def test_the_joint_distribution_is_kept():
    rng = np.random.default_rng(21)
    labels = draw_labels(rng)
    direct = features(labels, draw_data(labels, rng))

    prior = DirichletProcess(THETA)
    model = GaussianMixture(np.zeros(N), tau=TAU, gamma=SHAPE, delta=RATE, mean=0, prior=prior)
    settings = RunSettings(n_draws=1, burn_in=10**9, thin=1)
    chain = Chain(model, (np.zeros(N, int),), make_schedule("default", model), settings, rng)
    stop = np.zeros(1, dtype=np.uint8)
    (state,) = chain.states
    labels, y = np.empty((T, N), dtype=np.int64), np.empty((T, N))
    for t in range(T):
        y[t] = draw_data(state.own[LABEL, None, :-1], rng)[0]
        state.x[:, 0] = y[t] / model.unit[0]
        # New data: back to step 0, where everything is computed from the labels; half a cycle of
        # moves.
        chain.clock[:] = 0
        chain.clock[1] = t % 2
        chain.run_until(5, stop)
        labels[t] = state.own[LABEL, :-1]
    walk = features(labels, y)

    for a, b in zip(direct.T, walk.T, strict=True):
        error = np.sqrt(a.var() / T + b.var() / ess(b))
        z_score = (a.mean() - b.mean()) / error
        assert abs(z_score) < norm.isf(1e-4 / 2 / direct.shape[1])
