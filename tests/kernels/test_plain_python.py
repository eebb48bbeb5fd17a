"""The kernels give the same answers without compilation."""

import os
import subprocess
import sys

CODE = """
import numpy as np, epluribus as epl
rng = np.random.default_rng(0)
truth = rng.integers(3, size=9)
z = np.where(rng.random((12, 9)) < 0.8, truth, rng.integers(3, size=(12, 9)))
from epluribus.engine import Engine, Settings
from epluribus.engine.execution import copied
def show(done):
    print(done.state.labels.tolist(), done.n_moves, round(done.change, 9))
for name in epl.losses.available():
    best = epl.minimize(z, name, rng=1, n_starts=3)
    print(name, best.labels.tolist(), round(best.expected_loss, 9))
    print("exact", epl.exact(z[:, :6], name).labels.tolist(), epl.exact(z[:, :6], name, k=2).labels)
    draws = epl.Draws(z)
    for kind in ("tables", "members", "pairs")[: 3 if name == "binder" else 2]:
        engine = Engine(draws.item_major, draws.weights, epl.losses.get(name), kind)
        merged = engine.merge(np.arange(9))
        print(kind, merged.tolist())
        state = engine.start(np.arange(9) % 4)
        for thorough in (False, True):
            show(engine.sweep(state, np.arange(9), Settings(k_max=5), thorough=thorough))
        # Away from there: what is nudged is not a partition at which all pushes are in vain.
        spare = copied(state)
        spare, change = engine.lift(spare, np.array([0, 4, 8]))
        print(spare.labels.tolist(), round(change, 9))
        show(engine.nudge(spare, 9, Settings(k_min=2)))
        show(engine.nudge(engine.start(np.arange(9)), 9))
for name in ("binder", "vi_lb"):
    best = epl.minimize(psm=epl.psm(z), loss=name, rng=1)
    print(name, best.labels.tolist(), round(best.expected_loss, 9))
print(epl.chips(z, n_starts=3, rng=1).probability.round(9).tolist())
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
