"""The kernels give the same answers without compilation."""

import os
import subprocess
import sys

CODE = """
import numpy as np, epluribus as epl
rng = np.random.default_rng(0)
truth = rng.integers(3, size=9)
z = np.where(rng.random((12, 9)) < 0.8, truth, rng.integers(3, size=(12, 9)))
from epluribus.engine import Engine
for name in epl.losses.available():
    best = epl.minimize(z, name, rng=1, n_starts=3)
    print(name, best.labels.tolist(), round(best.expected_loss, 9))
    print("exact", epl.exact(z[:, :6], name).labels.tolist(), epl.exact(z[:, :6], name, k=2).labels)
    draws = epl.Draws(z)
    for kind in ("tables", "members"):
        engine = Engine(draws.item_major, draws.weights, epl.losses.get(name), kind)
        merged = engine.merge(np.arange(9))
        state, n_moves, _ = engine.sweep(engine.start(merged), np.arange(9))
        print(kind, merged.tolist(), state.labels.tolist(), n_moves)
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
