"""A search as one step of longer work."""

import numpy as np
import pytest

import epluribus as epl
import strategies
from epluribus import minimize
from epluribus.search._minimize import minimize_within


@pytest.mark.parametrize("loss", ["vi", "nid"])
def test_as_a_step_of_longer_work_a_time_limit_only_ends_the_search(loss):
    """A time limit that is never reached changes nothing; with one, `minimize` itself runs on."""
    draws = strategies.random_draws(np.random.default_rng(0), 40, 30, 4)
    plain = minimize(draws, loss, rng=1)
    capped = minimize_within(epl.Draws(draws), loss, 1e6, rng=1)
    np.testing.assert_array_equal(capped.labels, plain.labels)
    assert [run.start for run in capped.runs] == [run.start for run in plain.runs]
    assert len(minimize(draws, loss, rng=1, time_limit=1e6).runs) > len(plain.runs)
    assert not minimize_within(epl.Draws(draws), loss, 1e-9, rng=1).converged
