"""The kernels give the same answers without compilation."""

import subprocess
import sys

CODE = """
import numpy as np, epluribus as epl
rng = np.random.default_rng(0)
truth = rng.integers(3, size=9)
z = np.where(rng.random((12, 9)) < 0.8, truth, rng.integers(3, size=(12, 9)))
from epluribus.search import objective
for walks in (False, True):
    objective.walking_pays = lambda *_: walks
    for name in epl.losses.available():
        best = epl.minimize(z, name, rng=1, n_starts=3)
        print(name, best.labels.tolist(), round(best.expected_loss, 9))
"""


def test_same_answers_with_the_jit_off():
    import os

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
