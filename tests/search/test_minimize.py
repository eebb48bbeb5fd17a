"""The front door: the minimum is found, options are obeyed, the record is true."""

import numpy as np
import pytest

import epluribus as epl
import oracles
import strategies
from epluribus.engine import NO_BOUNDS, Engine
from epluribus.search.phases import Search
from epluribus.search.starts import few_draws, make_start
from search_cases import LOSSES, sample


@pytest.mark.parametrize("name", LOSSES)
def test_the_enumerated_minimum_is_reached(name):
    """Samples around a truth, with just more items than are enumerated by the search itself."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        z = strategies.random_draws(rng, 8, int(rng.integers(1, 12)), 3)
        best = epl.minimize(z, name, rng=seed)
        assert best.runs  # it searched
        ref = epl.exact(z, name)
        assert best.expected_loss == pytest.approx(ref.expected_loss, abs=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_few_items_are_enumerated(name):
    """Wild samples, on which a search can miss: with at most 7 items the answer is exact."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        z = rng.integers(rng.integers(1, 8), size=(int(rng.integers(1, 15)), 7))
        best = epl.minimize(z, name, rng=seed)
        assert best.expected_loss == epl.exact(z, name).expected_loss
        assert best.converged


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("search", ["recombine", "greedy"])
def test_minimize_is_never_worse_than_any_draw(name, search):
    z = sample(5)
    best = epl.minimize(z, name, search=search, rng=0)
    assert best.expected_loss <= min(epl.expected_loss(row, z, name) for row in z) + 1e-12
    assert best.expected_loss == pytest.approx(
        oracles.expected_loss(name, best.labels.tolist(), z.tolist()), abs=1e-9
    )
    assert best.converged
    assert best.sizes.sum() == 30
    np.testing.assert_array_equal(best.labels, epl.partition.canonical(best.labels))


def test_zero_one_finds_the_mode():
    z = [[0, 0, 1], [0, 1, 1], [0, 1, 1], [0, 1, 2]]
    best = epl.minimize(z, "zero_one", rng=0)
    assert best.labels.tolist() == [0, 1, 1]
    assert best.expected_loss == 0.5


@pytest.mark.parametrize("name", ["vi", "binder", "nvi"])
@pytest.mark.parametrize("search", ["recombine", "greedy"])
def test_same_rng_same_answer_for_any_n_jobs(name, search):
    z = sample(6, n_items=60, n_draws=400)
    results = [epl.minimize(z, name, search=search, rng=7, n_jobs=n) for n in (1, 2, 5, None)]
    for other in results[1:]:
        np.testing.assert_array_equal(other.labels, results[0].labels)
        assert other.expected_loss == results[0].expected_loss
        assert [r.expected_loss for r in other.runs] == [r.expected_loss for r in results[0].runs]
    generator = epl.minimize(z, name, search=search, rng=np.random.default_rng(7))
    np.testing.assert_array_equal(generator.labels, results[0].labels)


@pytest.mark.parametrize("name", ["vi", "binder", "nid", "omari"])
@pytest.mark.parametrize("search", ["recombine", "greedy"])
def test_k_and_k_max_are_obeyed(name, search):
    z = sample(8)
    for k in (1, 2, 7, 15, 30):
        best = epl.minimize(z, name, k=k, search=search, rng=0)
        assert best.n_clusters == k
        assert epl.minimize(z, name, k_max=k, search=search, rng=0).n_clusters <= k


def test_exact_k_against_enumeration():
    for seed in range(3):
        z = sample(seed, n_items=7, n_draws=9, k=3)
        for k in (2, 5):
            best = epl.minimize(z, "vi", k=k, rng=0)
            ref = min(
                epl.expected_loss(labels, z, "vi")
                for labels in epl.partition.partitions(7)
                if labels.max() + 1 == k
            )
            assert best.expected_loss == pytest.approx(ref)


@pytest.mark.parametrize("starts", ["draws", "sequential", "random", "noisy", ["random", "draws"]])
@pytest.mark.parametrize("search", ["recombine", "greedy"])
def test_every_kind_of_start(starts, search):
    best = epl.minimize(sample(9), starts=starts, search=search, n_starts=3, rng=0)
    names = {run.start for run in best.runs}
    assert names <= {*([starts] if isinstance(starts, str) else starts), "recombined"}


def test_noisy_starts_disturb_the_given_map():
    """With one draw and no sweeps left to make, the start is near the MAP and not near the draw."""
    z = epl.Draws(np.zeros((1, 100), int))
    truth = np.repeat(np.arange(4), 25)
    engine = Engine.of(z, epl.losses.get("vi"))
    labels = make_start("noisy", z, engine, np.random.default_rng(0), NO_BOUNDS, truth)
    assert 0 < epl.loss(labels, truth, "vi") < epl.loss(labels, z[0], "vi")
    best = epl.minimize(z, starts="noisy", map_labels=truth, search="greedy", n_starts=2, rng=0)
    assert best.n_clusters == 1
    with pytest.raises(ValueError, match=r"'map_labels' must have 100 items; got 2"):
        epl.minimize(z, starts="noisy", map_labels=[0, 1])


def test_the_first_draws_searched_are_chosen_by_weight():
    """One of 500 draws carries 90 % of the weight: it counts as much among the few searched first."""
    z = np.random.default_rng(0).integers(4, size=(500, 12))
    weights = np.ones(500)
    weights[17] = 9 * 499
    draws = epl.Draws(z, weights=weights)
    full = Engine.of(draws, epl.losses.get("vi"))
    part = few_draws(draws, np.random.default_rng(1), full)
    assert part.n_draws < full.n_draws
    assert part.weights.max() / part.total_weight == pytest.approx(0.9, abs=0.07)
    even = few_draws(epl.Draws(z), np.random.default_rng(1), full)
    assert even.weights.max() == 1


def test_given_starts():
    z = sample(9)
    one = epl.minimize(z, starts=z[0], search="greedy", rng=0)
    assert [run.start for run in one.runs] == ["given"]
    three = epl.minimize(z, starts=z[:3], search="greedy", rng=0, k_max=2)
    assert len(three.runs) == 3
    assert three.n_clusters <= 2
    with pytest.raises(ValueError, match=r"'starts' must have 30 items; got 2"):
        epl.minimize(z, starts=[0, 1])
    with pytest.raises(ValueError, match=r"'starts' must be one or more of .* it is empty"):
        epl.minimize(z, starts=[])
    with pytest.raises(ValueError, match=r"'starts' must be one of 'draws'.*got 'drwas'. Did you"):
        epl.minimize(z, starts="drwas")


def test_time_limit_returns_the_best_so_far():
    z = sample(3, n_items=400, n_draws=2000, k=30)
    best = epl.minimize(z, "nvi", time_limit=1e-6, rng=0)
    assert not best.converged
    assert len(best.labels) == 400
    assert "stopped early" in str(best)


@pytest.mark.parametrize("n_doubtful", [15, 20, 40])
@pytest.mark.parametrize("loss", ["vi", "binder", "nvi", "nid", "omari"])
def test_items_that_fit_nowhere_may_be_best_together(loss, n_doubtful):
    """For NVI the doubtful items are best as one cluster, though joining any two of them costs."""
    sure = np.repeat([0, 1, 2], 30)
    doubtful = np.random.default_rng(0).integers(3, size=(300, n_doubtful))
    draws = epl.Draws(np.column_stack([np.tile(sure, (300, 1)), doubtful]))
    best = epl.minimize(draws, loss, rng=1)
    for rest in (3, 3 + np.arange(n_doubtful), 0, 1, 2):
        by_hand = np.r_[sure, np.zeros(n_doubtful, dtype=int) + rest]
        assert best.expected_loss <= epl.expected_loss(by_hand, draws, loss) * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["vi", "nid"])
@pytest.mark.parametrize("at", [1, 2, 3, 6])
def test_a_merge_cut_short_does_not_break_the_bounds(monkeypatch, loss, at):
    whole, calls = Search._merge, []

    def cut_short(self, objective, runs):
        calls.append(1)
        if len(calls) == at:
            self.stopper.interrupt()
        return whole(self, objective, runs)

    monkeypatch.setattr(Search, "_merge", cut_short)
    z = np.random.default_rng(5).integers(0, 9, size=(60, 25))
    for bounds in ({"k_max": 3}, {"k": 3}):
        calls.clear()
        best = epl.minimize(z, loss, rng=1, **bounds)
        assert len(calls) >= at
        assert best.interrupted
        assert best.n_clusters <= 3
        assert best.n_clusters == 3 or "k" not in bounds


def test_interrupt_returns_the_best_so_far():
    z = sample(3, n_items=200, n_draws=300, k=10)
    calls = []

    def interrupt(done, total, info):
        calls.append((done, total, info))
        raise KeyboardInterrupt

    best = epl.minimize(z, "vi", progress=interrupt, rng=0, n_jobs=1)
    assert calls
    assert best.interrupted
    assert not best.converged
    assert len(best.labels) == 200


@pytest.mark.parametrize("name", ["vi", "nvi"])
def test_progress(name):
    seen = []
    epl.minimize(sample(), name, progress=lambda *args: seen.append(args), rng=0, n_starts=3)
    assert [done for done, _, _ in seen] == list(range(1, seen[0][1] + 1))
    assert {"loss", "clusters"} <= set(seen[-1][2])

    def failing(*_):
        raise RuntimeError("no screen")

    with pytest.warns(UserWarning, match=r"'progress' failed and is off now"):
        epl.minimize(sample(), progress=failing, rng=0)
    with pytest.raises(TypeError, match=r"'progress' must be True, False or a function"):
        epl.minimize(sample(), progress="yes")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k": 0}, ValueError, "'k' must be at least 1; got 0"),
        ({"k": 31}, ValueError, "'k' must be at most the number of items, 30; got 31"),
        ({"k": 2, "k_max": 3}, ValueError, "Give 'k' .* or 'k_max' .* not both"),
        ({"k_max": 0}, ValueError, "'k_max' must be at least 1; got 0. None means no bound"),
        ({"k_max": 2.5}, TypeError, "'k_max' must be an integer; got 2.5"),
        ({"k_max": True}, TypeError, "'k_max' must be an integer; got True"),
        ({"n_starts": 0}, ValueError, "'n_starts' must be at least 1"),
        ({"n_jobs": 0}, ValueError, "'n_jobs' must be at least 1; got 0. None means all cores"),
        ({"search": "gredy"}, ValueError, "'search' must be one of .*Did you mean 'greedy'"),
        ({"rng": "seed"}, TypeError, "'rng' must be None, a non-negative integer"),
        ({"rng": -1}, ValueError, "'rng' must be None, a non-negative integer"),
        ({"time_limit": 0}, ValueError, "'time_limit' must be a finite number above 0"),
        ({"loss": []}, ValueError, "'loss' must name at least one loss"),
    ],
)
def test_bad_options_are_refused_in_words(options, error, message):
    with pytest.raises(error, match=message):
        epl.minimize(sample(), **options)


def test_printing():
    best = epl.minimize(sample(), rng=0)
    text = str(best)
    assert text.splitlines()[0] == f"{best.n_clusters} clusters of 30 items"
    assert "(vi, 60 draws)" in text
    assert "Estimate(n_clusters=" in repr(best)
    assert "Run(expected_loss=" in repr(best.runs[0])
    many = epl.minimize(np.arange(40)[None], rng=0)
    assert "and 28 more" in str(many)


# --- several losses ---


def test_several_losses_in_one_call():
    z = sample(10)
    names = ["vi", "binder", "nid"]
    table = epl.minimize(z, names, rng=0)
    assert table.names == tuple(names)
    assert len(table) == 3
    for i, a in enumerate(table):
        assert a.expected_loss == pytest.approx(table.expected_losses[i, i])
        for j, b in enumerate(table):
            assert table.expected_losses[i, j] == pytest.approx(
                epl.expected_loss(a.labels, z, b.loss)
            )
            assert table.distances[i, j] == pytest.approx(epl.loss(a.labels, b.labels, "vi"))
        assert table.expected_losses[:, i].argmin() == i or table.expected_losses[
            :, i
        ].min() == pytest.approx(table.expected_losses[i, i])
    assert table["binder"] is table[1]
    alone = epl.minimize(z, "binder", rng=0)  # shares its starts with the call for several losses
    assert [r.expected_loss for r in alone.runs] == [r.expected_loss for r in table[1].runs][
        : len(alone.runs)
    ]
    assert "E: expected loss under each loss" in str(table)


def test_one_loss_helps_another_out_of_a_trap():
    """From one cluster no single item can leave under VI; under Binder's loss it can."""
    truth = np.repeat([0, 1], 20)
    table = epl.minimize(
        np.tile(truth, (5, 1)), ["vi", "binder"], search="greedy", starts=np.zeros(40, int), rng=0
    )
    assert table["vi"].runs[0].n_clusters == 1
    np.testing.assert_array_equal(table["vi"].labels, truth)
    assert table["vi"].expected_loss == 0.0
    assert table["vi"].runs[-1].start == "other loss"


def test_the_estimate_remembers_what_was_asked_for():
    z = sample(1)
    words = {
        "": {},
        "with exactly 3 clusters": {"k": 3},
        "with at most 4 clusters": {"k_max": 4},
    }
    for bound, options in words.items():
        best = epl.minimize(z, rng=0, search="greedy", **options)
        assert best.settings.bound == bound
        assert best.settings.search == best.to_dict()["search"] == "greedy"
    assert epl.minimize(z, k_max=1000, rng=0).settings.k_max is None
