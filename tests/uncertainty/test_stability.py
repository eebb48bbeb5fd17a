import numpy as np
import pytest

import epluribus as epl
import oracles
import strategies
from epluribus.uncertainty import stability


def test_every_setting_is_a_search_of_its_own():
    z = strategies.random_draws(np.random.default_rng(0), 30, 80, 4).reshape(2, 40, 30)
    found = stability(z, rng=3)
    assert found.settings == (
        "all draws", "binder", "omari", "vi(cost=0.5)", "vi(cost=0.8)", "vi(cost=1.2)",
        "vi(cost=1.5)", "first half", "second half", "seed 1", "seed 2",
    )  # fmt: skip
    flat = z.reshape(80, 30)
    for row, loss, distance, agreement in zip(
        found.labels.tolist(), found.expected_losses, found.distances, found.agreement, strict=True
    ):
        first = found.labels[0].tolist()
        assert loss == pytest.approx(oracles.expected_loss("vi", row, flat.tolist()))
        assert distance == pytest.approx(oracles.loss("vi", first, row), abs=1e-12)
        assert agreement == pytest.approx(1 - oracles.pairs_apart(first, row) / 435)
    assert found.expected_losses[0] == pytest.approx(epl.minimize(z, rng=0).expected_loss)
    half = epl.minimize(z[:, :20], rng=0)
    assert epl.expected_loss(found.labels[7], z[:, :20]) == pytest.approx(half.expected_loss)
    costly = epl.losses.vi(cost=1.5)
    best = epl.minimize(z, costly, rng=0).expected_loss
    assert epl.expected_loss(found.labels[6], z, costly) == pytest.approx(best)


def test_same_rng_same_table_and_choices():
    z = strategies.random_draws(np.random.default_rng(1), 25, 60, 3)
    first, second = (stability(z, "binder", rng=1, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(first.labels, second.labels)
    few = stability(z, "nvi", other_losses=["vi"], halves=False, n_seeds=0, rng=1)
    assert few.settings == ("all draws", "vi")
    assert len(few) == 2
    one = stability([[0, 0, 1]], other_losses=[], costs=[1], n_seeds=0)
    assert one.settings == ("all draws", "second half")


def test_halves_are_those_of_each_chain():
    """Two chains, alike: A in the first half, mostly B in the second, mostly A in all but the first third."""
    a, b = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]
    chain = [a] * 10 + [b] * 6 + [a] * 4
    found = stability([chain, chain], other_losses=[], costs=[], n_seeds=0, rng=0)
    assert found.settings == ("all draws", "first half", "second half")
    np.testing.assert_array_equal(found.labels, [a, a, b])


def test_every_built_in_loss_with_a_cost_is_tried_with_others():
    z = strategies.random_draws(np.random.default_rng(3), 8, 20, 3)
    options = {"other_losses": [], "halves": False, "n_seeds": 0, "rng": 0}
    found = stability(z, "binder(cost=0.8)", costs=(0.5, 0.8, 1), **options)
    assert found.settings == ("all draws", "binder(cost=0.5)", "binder")
    own = epl.Loss(*(getattr(epl.losses.vi(), f) for f in ("f0", "f1", "f2", "f3")), name="mine")
    assert stability(z, own, **options).settings == ("all draws",)


def test_printing():
    z = strategies.random_draws(np.random.default_rng(2), 8, 20, 3)
    found = stability(z, costs=[], n_seeds=0, rng=0)
    assert "expected loss: vi on all draws; distance: vi to the first row" in str(found)
    assert repr(found).startswith("Stability(n_settings=5, largest_distance=")
    assert found.to_pandas().columns[0] == "setting"


def test_bad_arguments_are_refused_in_words():
    with pytest.raises(ValueError, match=r"'n_seeds' must be at least 0; got -1"):
        stability([[0, 1]], n_seeds=-1)
    with pytest.raises(ValueError, match=r"'cost' must be a number between 0 and 2"):
        stability([[0, 1]], costs=[3])


def test_progress_and_time_limit():
    z = strategies.random_draws(np.random.default_rng(5), 40, 50, 4)
    seen = []
    options = {"other_losses": ["binder"], "costs": [], "halves": False, "n_seeds": 0, "rng": 1}
    found = stability(z, progress=lambda *step: seen.append(step), **options)
    assert [(done, total, info["setting"]) for done, total, info in seen] == [
        (1, 2, "all draws"),
        (2, 2, "binder"),
    ]
    assert found.converged.all()
    assert "cut short" not in str(found)
    late = stability(z, time_limit=1e-9, **options)
    assert not late.converged.any()
    assert late.settings == ("all draws", "binder")
    assert str(late).endswith("cut short by the time limit: all draws and binder")
