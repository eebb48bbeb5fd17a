"""The benchmarks keep working, and their samples keep their hashes."""

import hashlib
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import epluribus as epl

FOLDER = Path(__file__).parents[1] / "benchmarks"
QUICK_TO_MAKE = (
    "diffuse", "very_diffuse", "nested", "two_modes", "restaurant_2", "restaurant_20", "giant",
    "iid", "tiny_noise",
)  # fmt: skip


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


NONLINEAR = "nvi", "nid", "id", "omari"


@pytest.mark.parametrize(
    ("name", "losses"),
    [
        ("small", ("vi", "binder", *NONLINEAR)),
        ("medium", ("vi", "binder")),
        pytest.param("medium", NONLINEAR, marks=pytest.mark.slow),
    ],
)
def test_samples_keep_their_hashes_and_the_search_its_losses(modules, name, losses):
    run, samples = modules
    z = samples.make(name)
    assert hashlib.sha256(z.tobytes()).hexdigest()[:16] == samples.SHA256[name]
    draws = epl.Draws(z)
    for loss in losses:
        known = run.BEST[f"{name} {loss}"]
        best = epl.minimize(draws, loss, rng=1)
        assert best.expected_loss <= known * (1 + (1e-6 if losses[0] == "vi" else 1e-4)) + 1e-6


@pytest.mark.parametrize("name", [*QUICK_TO_MAKE, pytest.param("many", marks=pytest.mark.slow)])
def test_hard_samples_keep_their_shapes_and_hashes(modules, name):
    samples = modules[1]
    z = samples.make_hard(name, seed=1)
    assert z.shape == samples.HARD_SIZES[name][::-1]
    assert hashlib.sha256(z.tobytes()).hexdigest()[:16] == samples.SHA256[name]


def test_a_best_loss_is_known_for_every_hard_sample(modules):
    run, samples = modules
    assert {f"{n} {loss}" for n, loss in product(samples.HARD_SIZES, run.LOSSES)} <= set(run.BEST)


def test_small_cases_are_the_same_each_time_and_leave_the_exact_solution_on(modules):
    run = modules[0]
    for number in range(6):
        (draws, *case), (again, *other) = run.small_case(number), run.small_case(number)
        assert np.array_equal(draws.item_major, again.item_major)
        assert case == other
        assert 8 <= draws.n_items <= 11
    before = run._minimize.MAX_ITEMS
    lines = list(run.against_exact(2))
    assert lines[-1].startswith("| all | 2 of 2 |")
    assert run._minimize.MAX_ITEMS == before > 11


@pytest.mark.parametrize("kind", ["k_min", "cannot_link", "sources", "contiguity"])
def test_what_is_asked_for_can_be_had(modules, kind):
    draws, options = modules[0].question(kind, 30, 1)
    assert epl.minimize(draws, rng=1, n_starts=1, **options).settings.bound
