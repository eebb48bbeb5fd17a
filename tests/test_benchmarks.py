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
    import hard
    import run
    import samples

    yield run, samples, hard
    for name in ("hard", "run", "samples"):
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
    run, samples, _ = modules
    z = samples.make(name)
    assert hashlib.sha256(z.tobytes()).hexdigest()[:16] == samples.SHA256[name]
    draws = epl.Draws(z)
    for loss in losses:
        known = run.BEST_KNOWN[name, loss]
        best = epl.minimize(draws, loss, rng=1)
        assert best.expected_loss <= known * (1 + (1e-6 if losses[0] == "vi" else 1e-4)) + 1e-6


@pytest.mark.parametrize("name", [*QUICK_TO_MAKE, pytest.param("many", marks=pytest.mark.slow)])
def test_hard_samples_keep_their_shapes_and_hashes(modules, name):
    samples = modules[1]
    z = samples.make_hard(name, seed=1)
    assert z.shape == samples.HARD_SIZES[name][::-1]
    assert hashlib.sha256(z.tobytes()).hexdigest()[:16] == samples.SHA256[name]


def test_a_best_loss_is_known_for_every_hard_sample(modules):
    _, samples, hard = modules
    assert set(hard.BEST_HARD) == set(product(samples.HARD_SIZES, hard.LOSSES))


def test_small_cases_are_the_same_each_time_and_leave_the_exact_solution_on(modules):
    hard = modules[2]
    for number in range(6):
        case, again = hard.small_case(number), hard.small_case(number)
        assert np.array_equal(case.draws.item_major, again.draws.item_major)
        assert (case.bounds, case.loss) == (again.bounds, again.loss)
        assert 8 <= case.draws.n_items <= 11
    before = hard._minimize.MAX_ITEMS
    lines = list(hard.against_exact(n_cases=2))
    assert lines[-3].startswith("| all | 2 |")
    assert hard._minimize.MAX_ITEMS == before > 11
