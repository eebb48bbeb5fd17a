import itertools
import sys

import numpy as np
import pytest
from hypothesis import given

import epluribus as epl
import oracles
import strategies

LOSSES = epl.losses.available()


def sample(seed=0, n_items=30, n_draws=60, k=5):
    return strategies.random_draws(np.random.default_rng(seed), n_items, n_draws, k)


# --- expected loss ---


@pytest.mark.parametrize("name", LOSSES)
@given(z=strategies.draws())
def test_expected_loss_is_the_mean_over_draws(name, z):
    labels = epl.partition.canonical(np.arange(z.shape[1]) % 3).tolist()
    values = epl.expected_loss(labels, z, name, per_draw=True)
    ref = [oracles.loss(name, labels, row) for row in z.tolist()]
    np.testing.assert_allclose(values, ref, atol=1e-10)
    assert epl.expected_loss(labels, z, name) == pytest.approx(np.mean(ref), abs=1e-10)


@pytest.mark.parametrize("name", LOSSES)
@given(z=strategies.draws())
def test_invariances(name, z):
    rng = np.random.default_rng(z.size)
    labels = rng.integers(3, size=z.shape[1])
    value = epl.expected_loss(labels, z, name)
    items, rows = rng.permutation(z.shape[1]), rng.permutation(len(z))
    close = {"abs": 1e-12, "rel": 1e-12}
    assert epl.expected_loss(7 - labels, z * 3 + 1, name) == pytest.approx(value, **close)
    assert epl.expected_loss(labels[items], z[:, items], name) == pytest.approx(value, **close)
    assert epl.expected_loss(labels, z[rows], name) == pytest.approx(value, **close)
    assert epl.expected_loss(labels, np.tile(z, (3, 1)), name) == pytest.approx(value, **close)


def test_expected_loss_wants_as_many_items():
    with pytest.raises(ValueError, match=r"'labels' must have 3 items; got 2"):
        epl.expected_loss([0, 1], [[0, 1, 1]])


# --- greedy ---


def greedy_oracle(name, labels, z, orders):
    """Algorithm 1 by trying every cluster and recomputing the loss from scratch."""
    labels = list(labels)
    for order in orders:
        changed = False
        for i in order:
            own = labels[i]
            best, best_value = own, oracles.expected_loss(name, labels, z)
            k = max(labels) + 1
            for s in range(k + (labels.count(own) > 1)):
                if s != own:
                    trial = [*labels[:i], s, *labels[i + 1 :]]
                    value = oracles.expected_loss(name, trial, z)
                    if value < best_value - 1e-11:
                        best, best_value = s, value
            labels[i] = best
            changed |= best != own
            if own not in labels:  # the last cluster takes the empty label
                labels = [own if label == k - 1 else label for label in labels]
        if not changed:
            break
    return oracles.canonical(labels)


@pytest.mark.parametrize("name", LOSSES)
def test_greedy_is_algorithm_1(name):
    for seed in range(3):
        z = sample(seed, n_items=8, n_draws=7, k=3)
        start = np.random.default_rng(seed).integers(4, size=8)
        rng = np.random.default_rng(seed)
        orders = [rng.permutation(8) for _ in range(20)]
        ref = greedy_oracle(name, oracles.canonical(start.tolist()), z.tolist(), orders)
        comp = epl.greedy(z, start, name, rng=seed)
        assert comp.labels.tolist() == ref
        assert comp.converged


@pytest.mark.parametrize("name", LOSSES)
def test_greedy_goes_down_and_ends_where_no_move_helps(name):
    z = sample(1)
    run = epl.greedy(z, np.arange(30), name, rng=3)
    values = [step.expected_loss for step in run.trace]
    assert all(b <= a + 1e-12 for a, b in itertools.pairwise(values))
    assert run.expected_loss == pytest.approx(values[-1], abs=1e-12)
    assert run.trace[-1].n_clusters == run.n_clusters == run.labels.max() + 1
    assert run.n_sweeps == len(run.trace) - 1
    objective = epl.search.objective.Engine.of(epl.Draws(z), epl.losses.get(name))
    state = objective.start(run.labels)
    for i in range(30):
        assert objective.changes(state, i).min() >= -1e-6


def test_greedy_obeys_k_max():
    z = sample(2)
    for k_max in (1, 2, 3):
        start = np.arange(30) % k_max
        for name in ("vi", "nid"):
            assert epl.greedy(z, start, name, k_max=k_max, rng=1).n_clusters <= k_max
    with pytest.raises(ValueError, match=r"'start' must have at most k_max=2 clusters; it has 30"):
        epl.greedy(z, np.arange(30), k_max=2)
    with pytest.raises(ValueError, match=r"'k_max' must be at least 1; got 0. None means no bound"):
        epl.greedy(z, np.zeros(30), k_max=0)
    with pytest.raises(ValueError, match=r"'start' must have 30 items; got 3"):
        epl.greedy(z, [0, 1, 2])


def test_greedy_opens_clusters_beyond_its_room():
    """From one cluster to many: the state grows as it goes."""
    z = np.tile(np.arange(40), (5, 1))
    run = epl.greedy(z, np.zeros(40), "binder", rng=0)
    assert run.n_clusters == 40
    assert run.expected_loss == 0.0


def test_exact_ties_do_not_depend_on_rounding():
    """Two draws, each as good as the other: an item moves only if the loss falls."""
    z = [[0, 0, 1, 1], [0, 1, 0, 1]]
    for name in ("binder", "vi"):
        start = [0, 0, 1, 1]
        assert epl.greedy(z, start, name, rng=0).labels.tolist() == start


# --- minimize ---


@pytest.mark.parametrize("name", LOSSES)
def test_minimize_reaches_the_enumerated_minimum(name, monkeypatch):
    """200 random samples a loss, by the search itself: the short cut for few items is off."""
    # `epluribus.search.minimize` by name is the function, not its module
    monkeypatch.setattr(sys.modules["epluribus.search.minimize"], "_EXACT_ITEMS", 0)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n_items = int(rng.integers(1, 8))
        z = strategies.random_draws(rng, n_items, int(rng.integers(1, 12)), min(3, n_items))
        draws = epl.Draws(z)
        best = epl.minimize(draws, name, rng=seed)
        ref = epl.exact(draws, name)
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


@pytest.mark.parametrize("name", ["vi", "binder", "omari"])
def test_minimize_reaches_the_minimum_of_nine_items(name):
    z = sample(3, n_items=9, n_draws=12, k=4)
    ref = epl.exact(z, name).expected_loss
    assert epl.minimize(z, name, rng=0).expected_loss == pytest.approx(ref, abs=1e-9)


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
    for seed in range(10):
        z = sample(seed, n_items=7, n_draws=9, k=3)
        for k in (2, 3, 5):
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
    from epluribus.engine import Engine
    from epluribus.search.starts import make_start

    z = epl.Draws(np.zeros((1, 100), int))
    truth = np.repeat(np.arange(4), 25)
    objective = Engine.of(z, epl.losses.get("vi"))
    rng = np.random.default_rng(0)
    labels = make_start("noisy", z, objective, rng, k_min=1, k_max=100, map_labels=truth)
    assert 0 < epl.loss(labels, truth, "vi") < epl.loss(labels, z[0], "vi")
    best = epl.minimize(z, starts="noisy", map_labels=truth, search="greedy", n_starts=2, rng=0)
    assert best.n_clusters == 1
    with pytest.raises(ValueError, match=r"'map_labels' must have 100 items; got 2"):
        epl.minimize(z, starts="noisy", map_labels=[0, 1])


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
    best = epl.minimize(z, "nvi", time_limit=0.05, rng=0)
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
    from epluribus.search._minimize import _Search

    whole, calls = _Search._merge, []

    def cut_short(self, objective, runs):
        calls.append(1)
        if len(calls) == at:
            self.stopper.interrupt()
        return whole(self, objective, runs)

    monkeypatch.setattr(_Search, "_merge", cut_short)
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
        ({"k_max": 2.5}, TypeError, "'k_max' must be a whole number; got 2.5"),
        ({"k_max": True}, TypeError, "'k_max' must be a whole number; got True"),
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
    assert "expected loss under" in str(table)


# --- exact ---


@pytest.mark.parametrize("name", ["vi", "omari"])
def test_exact_against_the_oracle(name):
    z = sample(0, n_items=6, n_draws=5, k=3)
    ref = min(
        oracles.expected_loss(name, labels, z.tolist()) for labels in oracles.all_partitions(6)
    )
    assert epl.exact(z, name).expected_loss == pytest.approx(ref)
    assert epl.exact(z, name, k_max=1).n_clusters == 1


def test_exact_refuses_many_items():
    with pytest.raises(ValueError, match=r"at most 12 items to try all partitions; it has 13"):
        epl.exact([list(range(13))])


# --- recombination ---


def test_recombine_parts_what_single_moves_cannot():
    """Two true clusters sit together: no single item can leave, the meet with a draw parts them."""
    truth = np.repeat([0, 1, 2], 20)
    z = np.tile(truth, (30, 1))
    stuck = np.where(truth == 2, 1, truth)
    assert epl.greedy(z, stuck, "vi", rng=0).n_clusters == 2
    run = epl.search.recombine(z, [stuck, z[0]], "vi", rng=0)
    np.testing.assert_array_equal(run.labels, truth)
    assert run.expected_loss == 0.0
    with pytest.raises(ValueError, match=r"'partitions' must hold at least one partition"):
        epl.search.recombine(z, [])
