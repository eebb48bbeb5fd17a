"""The page of an estimate from draws with missing labels."""

import numpy as np

import epluribus as epl


def test_the_page_says_what_is_missing(tmp_path):
    rng = np.random.default_rng(1)
    truth = np.arange(20) % 2
    z = np.where(rng.random((30, 20)) < 0.1, 1 - truth, truth)
    draws = epl.Draws(np.ma.masked_array(z, rng.random(z.shape) < 0.5))
    path = tmp_path / "page.html"
    epl.minimize(draws, rng=1).report(draws, path, rng=1)
    low, high = draws.n_seen.min(), draws.n_seen.max()
    assert f"for the items that it has seen, {low} to {high} of 20 items" in path.read_text()
