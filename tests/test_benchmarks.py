"""The benchmarks keep working, and their samples keep their hashes."""

import hashlib
import sys
from pathlib import Path

import pytest

import epluribus as epl

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def modules(monkeypatch):
    if not FOLDER.is_dir():
        pytest.skip("the benchmarks are not part of the source distribution")
    monkeypatch.syspath_prepend(str(FOLDER))
    import run
    import samples

    yield run, samples
    for name in ("run", "samples"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["small", "medium"])
def test_samples_keep_their_hashes_and_the_search_its_losses(modules, name):
    run, samples = modules
    z = samples.make(name)
    assert hashlib.sha256(z.tobytes()).hexdigest()[:16] == samples.SHA256[name]
    draws = epl.Draws(z)
    for loss in ("vi", "binder", "nvi", "nid", "id", "omari"):
        known = run.BEST_KNOWN[name, loss]
        best = epl.minimize(draws, loss, rng=1)
        assert best.expected_loss <= known * (1 + 1e-6) + 1e-6


def test_micro_keeps_its_hash(modules):
    z = modules[1].make("micro")
    assert hashlib.sha256(z.tobytes()).hexdigest()[:16] == modules[1].SHA256["micro"]
