"""Losses and samples that every execution of the engine is tried on."""

import numpy as np

import epluribus as epl
import strategies
from epluribus.engine import Engine

KINDS = ("tables", "members")


def odd(n):
    return (n % 3) * 1.7 - 0.3 * n


def square(n):
    return float(n * n)


def linear(joint, size, group, n_items):  # noqa: ARG001
    return 0.5 * size + group - 1.3 * joint


def own(name, f1, f2):
    return epl.Loss(linear, f1, f2, square, name=name, linear=True)


# f1(1) other than 0, sizes that all cost the same, sizes of which the largest is cheapest
OWN = {
    "power": own("power", lambda n: n**1.5 + 0.7 * n, lambda n: n**1.3 + 3.0 * (n > 0)),
    "odd": own("odd", odd, odd),
    "flat": own("flat", square, lambda n: 3.0 * n),
    "concave": own("concave", square, lambda n: -2.0 * n * n),
}
LOSSES = [*epl.losses.available(), "vi(cost=0.6)", "binder(cost=0.6)", *OWN]


def get(name):
    return OWN[name] if name in OWN else epl.losses.get(name)


def make(draws, name, kind):
    return Engine(draws.item_major, draws.weights, get(name), kind)


def random_sample(seed):
    """A small sample with anything from one to N clusters, whole or fractional weights."""
    rng = np.random.default_rng(seed)
    n_items, n_draws = int(rng.integers(2, 40)), int(rng.integers(1, 15))
    k = int(rng.integers(1, n_items + 1))
    weights = rng.integers(1, 4, size=n_draws) if seed % 2 else rng.random(n_draws) + 0.1
    return epl.Draws(strategies.random_draws(rng, n_items, n_draws, k), weights=weights), rng


def micro(n_items, n_draws, seed=0):
    """Clusters of one to five items; a tenth of the items go over to a neighbouring cluster."""
    rng = np.random.default_rng(seed)
    truth = np.sort(rng.integers(n_items // 3, size=n_items))
    z = np.where(rng.random((n_draws, n_items)) < 0.1, truth + 1, truth)
    return z[:, rng.permutation(n_items)]
