"""Samples that several tests of the search share."""

import numpy as np

import epluribus as epl
import strategies

LOSSES = epl.losses.available()


def sample(seed=0, n_items=30, n_draws=60, k=5):
    return strategies.random_draws(np.random.default_rng(seed), n_items, n_draws, k)
