"""The kernels give the same answers without compilation."""

import os
import subprocess
import sys

CODE = """
import numpy as np, epluribus as epl
rng = np.random.default_rng(0)
truth = rng.integers(3, size=9)
z = np.where(rng.random((12, 9)) < 0.8, truth, rng.integers(3, size=(12, 9)))
from epluribus._parallel import NEVER
from epluribus.search.members import MemberState
from epluribus.search.pairs import PairCosts
from epluribus.search.pairs import PairState
from epluribus.search.problem import Problem
from epluribus.search.state import RatioState
from epluribus.search.state import Bounds, TableState
def pairs(problem, labels):
    return PairState(PairCosts.of(problem), labels)
for name in epl.losses.available():
    best = epl.minimize(z, name, rng=1, n_starts=3, search="greedy")
    print(name, best.labels.tolist(), round(best.expected_loss, 9))
    print("exact", epl.search.exact(z[:, :6], name).labels.tolist(), epl.search.exact(z[:, :6], name, k=2).labels)
    draws = epl.Draws(z)
    problem = Problem.of(draws, epl.losses.get(name))
    linear = (TableState, MemberState, pairs)[: 3 if name == "binder" else 2]
    for make in linear if problem.loss.linear else (RatioState,):
        state = make(problem, np.arange(9))
        print(round(state.merge(Bounds(1, 9, NEVER)), 9), state.labels.tolist())
        state = make(problem, np.arange(9) % 4)
        print(round(state.move(np.array([0, 4, 8]), np.array([1, 4, 4])), 9))
        for quick in (True, False):
            done = state.sweep(np.arange(9), Bounds(1, 5, NEVER), quick=quick)
            print(state.labels.tolist(), done.n_moves, round(done.change, 9))
        if make is RatioState:
            done = state.move_pairs(np.arange(9), Bounds(1, 5, NEVER))
            print(state.labels.tolist(), done.n_moves, round(done.change, 9))
print(epl.search.greedy(np.tile(z, 2), np.arange(18) % 4, rng=1).labels.tolist())
for name in ("binder", "vi_lb"):
    best = epl.minimize(psm=epl.psm(z), loss=name, rng=1)
    print(name, best.labels.tolist(), round(best.expected_loss, 9))
print(epl.uncertainty.chips(z, n_starts=3, rng=1).probability.round(9).tolist())
trace = epl.sample(epl.models.GaussianMixture([0.1, -0.2, 5.0, 5.3]), n_draws=5, burn=50, rng=1)
print(trace.draws.n_clusters.tolist())
"""


def test_same_answers_with_the_jit_off():
    results = []
    for off in ("0", "1"):
        out = subprocess.run(
            [sys.executable, "-W", "error", "-c", CODE],
            capture_output=True,
            text=True,
            env={**os.environ, "NUMBA_DISABLE_JIT": off},
            check=False,
        )
        assert out.returncode == 0, out.stderr
        results.append(out.stdout)
    assert results[0] == results[1]
