"""Random samples of partitions for hypothesis and for plain loops."""

import numpy as np
from hypothesis import strategies as st


def random_draws(rng, n_items, n_draws, k):
    """Draws around a random truth: each item keeps its label with probability 0.7."""
    truth = rng.integers(k, size=n_items)
    noise = rng.integers(k, size=(n_draws, n_items))
    return np.where(rng.random((n_draws, n_items)) < 0.7, truth, noise)


def sample(seed=0, n_items=30, n_draws=60, k=5):
    return random_draws(np.random.default_rng(seed), n_items, n_draws, k)


@st.composite
def draws(draw, max_items=9, max_draws=8):
    n_items = draw(st.integers(1, max_items))
    n_draws = draw(st.integers(1, max_draws))
    k = draw(st.integers(1, n_items))
    seed = draw(st.integers(0, 2**32 - 1))
    return random_draws(np.random.default_rng(seed), n_items, n_draws, k)
