"""The front door: the minimum is found, options are obeyed, the record is true."""

import math
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import epluribus as epl
import oracles
import strategies
from epluribus.constraints import read_constraints
from epluribus.search import comparison, starts
from epluribus.search._minimize import minimize_within
from epluribus.search.constrained import begin
from epluribus.search.local import LocalSearch
from epluribus.search.problem import Problem
from epluribus.search.rounds import Search
from epluribus.search.starts import Start, few_draws, make_start
from epluribus.settings import NO_BOUNDS, Settings
from oracles import xlogx
from strategies import sample

LOSSES = epl.losses.available()


@pytest.fixture
def searching(monkeypatch):
    """Samples of few items are searched like all others, instead of being solved exactly."""
    monkeypatch.setattr(sys.modules["epluribus.search._minimize"], "MAX_ITEMS", 0)


def root_of_vi(joint, size, group, n_items):
    return math.sqrt(max(0.0, size + group - 2.0 * joint) / n_items) + 0.05 * size / n_items


def power_loss(joint, size, group, n_items):
    return (0.7 * size + 1.3 * group - 2.0 * joint) / n_items


def power(n):
    return float(n) ** 1.5


OWN = [
    epl.Loss(root_of_vi, xlogx, xlogx, xlogx, name="nonlinear"),
    epl.Loss(power_loss, power, power, power, name="linear", linear=True),
]
COSTS = ["vi(cost=0.4)", "vi(cost=1.5)", "binder(cost=0.6)", "binder(cost=1.7)"]


@pytest.mark.usefixtures("searching")
@pytest.mark.parametrize("loss", [*LOSSES, *COSTS, *OWN], ids=str)
def test_the_enumerated_minimum_is_reached(loss):
    """Noise, where optima are many, and samples around a truth; with bounds a search may miss."""
    missed = []
    for seed in range(12):  # each kind of sample with each kind of bounds, twice
        rng = np.random.default_rng(seed)
        n, n_draws = int(rng.integers(7, 9)), int(rng.integers(1, 30))
        if seed % 2:
            z = rng.integers(0, rng.integers(2, 6), (n_draws, n))
        else:
            z = strategies.random_draws(rng, n, n_draws, 3)
        k = int(rng.integers(1, n + 1))
        bounds = ({}, {"k_max": k}, {"k_min": k})[seed % 3]
        best = epl.minimize(z, loss, rng=seed, **bounds)
        assert best.runs  # it searched
        assert best.settings.k_min <= best.n_clusters <= best.settings.most(n)
        if best.expected_loss > epl.search.exact(z, loss, **bounds).expected_loss + 1e-9:
            missed.append(tuple(bounds))
    assert len(missed) <= 1
    assert () not in missed


@pytest.mark.usefixtures("searching")
@pytest.mark.parametrize("loss", ["vi", "binder", "nid", "zero_one"])
def test_exactly_k_against_enumeration(loss):
    for seed, k in enumerate(range(1, 10)):
        rng = np.random.default_rng(seed)
        z = strategies.random_draws(rng, 9, 12, 3)
        best = epl.minimize(z, loss, k=k, rng=seed)
        assert best.n_clusters == k
        assert best.expected_loss == pytest.approx(
            epl.search.exact(z, loss, k=k).expected_loss, abs=1e-9
        )


def test_a_trivial_partition_never_beats_the_answer():
    """One cluster has 1.93 here; single moves from a draw end at 2.21."""
    z = np.random.default_rng(392).integers(0, 4, (13, 18))
    assert epl.minimize(z, rng=1).expected_loss <= epl.expected_loss(np.zeros(18), z) + 1e-12
    for seed in range(10):
        z = np.random.default_rng(seed).integers(0, 4, (10, 16))
        for loss in ("vi", "binder", "omari"):
            best = epl.minimize(z, loss, rng=1)
            for labels in (np.zeros(16), np.arange(16), *z):
                assert best.expected_loss <= epl.expected_loss(labels, z, loss) + 1e-12


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("loss", ["binder", "omari"])
def test_more_starts_never_give_a_worse_answer(loss, seed):
    """The rounds of a longer search begin with those of a shorter one."""
    z = np.random.default_rng(seed).integers(0, 5, (60, 40))
    found = [epl.minimize(z, loss, rng=seed, n_starts=n) for n in (6, 12, 30, 90)]
    values = [one.expected_loss for one in found]
    assert values == sorted(values, reverse=True)
    assert len(found[0].runs) < len(found[3].runs)
    for a, b in zip(found[0].runs[:6], found[3].runs, strict=False):
        np.testing.assert_array_equal(a.labels, b.labels)


@pytest.mark.parametrize("longer", [{"n_starts": 24}, {"time_limit": 1e6}])
@pytest.mark.parametrize("loss", ["vi", "nid"])
def test_a_longer_search_has_the_answer_of_the_usual_one(loss, longer, monkeypatch):
    """Some of the draws are searched first here, so that a better partition of these may be worse for all."""
    monkeypatch.setattr(starts, "_DRAWS", (40, 40))
    usual, finish = [], Search._finish

    def finished(search, best):
        usual.append(finish(search, best))
        return usual[-1]

    monkeypatch.setattr(Search, "_finish", finished)
    for seed in range(3):
        z = np.random.default_rng(seed).integers(0, 4, (300, 24))
        short = epl.minimize(z, loss, rng=seed)
        usual.clear()
        long = epl.minimize(z, loss, rng=seed, **longer)
        assert len(usual) == 2
        assert usual[0].value == pytest.approx(short.expected_loss, rel=1e-12)
        assert long.expected_loss <= short.expected_loss * (1 + 1e-12)


def test_runs_say_on_how_many_draws_their_losses_are():
    z = sample(3, n_items=60, n_draws=1500)
    best = epl.minimize(z, rng=0)
    draws = epl.Draws(z)
    assert {run.n_draws for run in best.runs} == {500, draws.n_draws}
    assert best.runs[-1].n_draws == 1500
    assert best.runs[-1].expected_loss == best.expected_loss
    few = epl.minimize(z[:200], rng=0)
    assert {run.n_draws for run in few.runs} == {200}
    for run in few.runs:
        assert run.expected_loss == pytest.approx(epl.expected_loss(run.labels, z[:200]))


@pytest.mark.parametrize("name", LOSSES)
def test_few_items_are_enumerated(name):
    """Wild samples, on which a search can miss: with few items the answer is exact."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = 7 + seed % (6 if epl.losses.get(name).linear else 3)
        z = rng.integers(rng.integers(1, 8), size=(int(rng.integers(1, 15)), n))
        best = epl.minimize(z, name, rng=seed)
        assert best.expected_loss == epl.search.exact(z, name).expected_loss
        assert best.converged
        assert not best.runs


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
    np.testing.assert_array_equal(best.labels, epl.partition.by_size(best.labels))


@pytest.mark.parametrize("name", ["vi", "binder", "nvi"])
@pytest.mark.parametrize("search", ["recombine", "greedy"])
def test_same_rng_same_answer_for_any_n_jobs(name, search):
    z = sample(6, n_items=60, n_draws=400)
    results = [epl.minimize(z, name, search=search, rng=7, n_jobs=n) for n in (1, 2, 5, None, -1)]
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
    for k in (1, 2, 15, 30):
        best = epl.minimize(z, name, k=k, search=search, rng=0)
        assert best.n_clusters == k
        assert epl.minimize(z, name, k_max=k, search=search, rng=0).n_clusters <= k
        assert epl.minimize(z, name, k_min=k, search=search, rng=0).n_clusters >= k


@pytest.mark.parametrize(
    "starts", ["draws", "sequential", "random", "noisy", "together", ["random", "draws"]]
)
@pytest.mark.parametrize("search", ["recombine", "greedy"])
def test_every_kind_of_start(starts, search):
    best = epl.minimize(sample(9), starts=starts, search=search, n_starts=3, rng=0)
    names = {run.start for run in best.runs}
    assert names <= {*([starts] if isinstance(starts, str) else starts), "recombined"}


def test_noisy_starts_disturb_a_draw():
    """With one draw and no sweeps left to make, the start is near the draw, but not the draw itself."""
    z = epl.Draws(np.repeat(np.arange(4), 25)[None])
    problem = Problem.of(z, epl.losses.get("vi"))
    labels = make_start(Start("noisy"), problem, np.random.default_rng(0), NO_BOUNDS)
    assert 0 < epl.loss(labels, z[0], "vi") < 1.5


def test_the_first_draws_searched_are_chosen_by_weight():
    """One of 1500 draws carries 90% of the weight: it counts as much among the few searched first."""
    z = np.random.default_rng(0).integers(4, size=(1500, 16))
    weights = np.ones(1500)
    weights[17] = 9 * 1499
    vi = epl.losses.get("vi")
    part = few_draws(Problem.of(epl.Draws(z, weights=weights), vi), np.random.default_rng(1))
    assert part.total_weight == 500
    assert part.n_draws < 60
    assert part.weights.max() / part.total_weight == pytest.approx(0.9, abs=0.003)
    even = few_draws(Problem.of(epl.Draws(z), vi), np.random.default_rng(1))
    assert even.n_draws == 500
    assert even.weights.max() == 1


def test_given_starts():
    z = sample(9)
    one = epl.minimize(z, starts=z[0], search="greedy", rng=0)
    assert [run.start for run in one.runs] == ["given"]
    three = epl.minimize(z, starts=z[:3], search="greedy", rng=0, k_max=2)
    assert len(three.runs) == 3
    assert [run.start for run in epl.minimize(z, starts=one, search="greedy", rng=0).runs] == [
        "given"
    ]
    assert len(epl.minimize(z, starts=[one, three], search="greedy", rng=0).runs) == 2
    for column in (z[:1].T, pd.DataFrame(z[:1].T)):
        assert len(epl.minimize(z, starts=column, search="greedy", rng=0).runs) == 1
    assert len(epl.minimize(z, starts=pd.DataFrame(z[:3]), search="greedy", rng=0).runs) == 3
    # The default search begins with them, and then makes starts of its own.
    names = [run.start for run in epl.minimize(z, starts=z[:2], rng=0).runs]
    assert names[:2] == ["given", "given"]
    assert "given" not in names[2:]
    assert three.n_clusters <= 2


@pytest.mark.parametrize("loss", LOSSES)
def test_a_search_ends_where_rounding_is_all_that_is_left(loss):
    """All draws are equal and all items apart: the loss is 0, and running sums are not exactly so."""
    best = epl.minimize([np.arange(120)] * 3, loss, rng=1)
    assert best.n_clusters == 120
    assert best.expected_loss == 0.0


@pytest.mark.parametrize("loss", ["vi", "nvi", "id"])
def test_the_answer_is_never_worse_than_a_given_start(loss):
    """Also where the rounds look at some of the draws only."""
    z = sample(2, n_items=25, n_draws=1500, k=4)
    good = epl.minimize(z, loss, n_starts=30, rng=5)
    again = epl.minimize(z, loss, starts=good, rng=0)
    assert again.expected_loss <= good.expected_loss + 1e-12
    assert again.runs[0].start == "given"


def test_time_limit_returns_the_best_so_far():
    z = sample(3, n_items=400, n_draws=2000, k=30)
    best = epl.minimize(z, "nvi", time_limit=1e-6, rng=0)
    assert not best.converged
    assert len(best.labels) == 400
    assert "stopped early" in str(best)


@pytest.mark.parametrize("loss", ["vi", "nid"])
def test_as_a_step_of_longer_work_a_time_limit_only_ends_the_search(loss):
    """A time limit that is never reached changes nothing; with one, `minimize` itself runs on."""
    draws = epl.Draws(strategies.random_draws(np.random.default_rng(0), 40, 30, 4))
    plain = epl.minimize(draws, loss, rng=1)
    capped = minimize_within(draws, loss, 1e6, rng=1)
    np.testing.assert_array_equal(capped.labels, plain.labels)
    assert [run.start for run in capped.runs] == [run.start for run in plain.runs]
    assert len(epl.minimize(draws, loss, rng=1, time_limit=1e6).runs) > len(plain.runs)
    assert not minimize_within(draws, loss, 1e-9, rng=1).converged


@pytest.mark.parametrize("n_doubtful", [15, 20, 40])
@pytest.mark.parametrize("loss", ["vi", "binder", "nvi", "nid", "omari"])
def test_items_that_fit_nowhere_may_be_best_together(loss, n_doubtful):
    """For NVI the doubtful items are best as one cluster, though joining any two of them costs."""
    sure = np.repeat([0, 1, 2], 30)
    doubtful = np.random.default_rng(0).integers(3, size=(300, n_doubtful))
    draws = epl.Draws(np.column_stack([np.tile(sure, (300, 1)), doubtful]))
    best = epl.minimize(draws, loss, rng=2)
    for rest in (3, 3 + np.arange(n_doubtful), 0, 1, 2):
        by_hand = np.r_[sure, np.zeros(n_doubtful, dtype=int) + rest]
        assert best.expected_loss <= epl.expected_loss(by_hand, draws, loss) * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["vi", "nid"])
@pytest.mark.parametrize("expensive", [False, True])
@pytest.mark.parametrize("apart", [False, True])
def test_stirring_keeps_the_partition_or_lowers_the_loss_as_it_says(loss, expensive, apart):
    draws = epl.Draws(np.random.default_rng(5).integers(0, 4, size=(40, 25)), weights=range(40))
    rules = epl.Constraints(cannot_link=[(0, 1)]) if apart else None
    settings = Settings(1, None, constraints=read_constraints(rules, draws, 1, None))
    problem, rng = Problem.of(draws, epl.losses.get(loss)), np.random.default_rng(1)
    search = begin(problem, Start("draws"), rng, settings)
    for _ in range(12):
        before, search = search, search.stirred(expensive=expensive)
        assert search is before or search.value < before.value
        assert search.value == pytest.approx(epl.expected_loss(search.labels, draws, loss))
        assert not apart or search.labels[0] != search.labels[1]


@pytest.mark.parametrize("loss", ["vi", "nid"])
@pytest.mark.parametrize("at", [1, 2, 3, 6])
def test_a_merge_cut_short_does_not_break_the_bounds(monkeypatch, loss, at):
    whole, calls = LocalSearch.combined_with, []

    def cut_short(one, *args):
        calls.append(1)
        if len(calls) == at:
            one.settings.stopper.interrupt()
        return whole(one, *args)

    monkeypatch.setattr(LocalSearch, "combined_with", cut_short)
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
    best = epl.minimize(sample(), name, progress=lambda *args: seen.append(args), rng=0)
    assert [done for done, _, _ in seen] == list(range(1, len(best.runs) + 1))
    # The number of rounds is not known at the beginning: the total grows, and is reached in the end.
    assert all(done <= total for done, total, _ in seen)
    assert seen[-1][0] == seen[-1][1]
    assert {"loss", "clusters"} <= set(seen[-1][2])

    def failing(*_):
        raise RuntimeError("no screen")

    with pytest.warns(UserWarning, match=r"'progress' failed and is off now"):
        epl.minimize(sample(), progress=failing, rng=0)
    with pytest.raises(TypeError, match=r"'progress' must be True, False or a function"):
        epl.minimize(sample(), progress="yes")


# --- several losses ---


def test_several_losses_in_one_call():
    z = sample(10)
    names = ["vi", "binder", "nid"]
    table = epl.search.minimize_all(z, names, rng=0)
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
    assert table.to_pandas()["binder"].tolist() == table.expected_losses[:, 1].tolist()


def test_one_loss_helps_another_out_of_a_trap():
    """From one cluster no single item can leave under VI; under Binder's loss it can."""
    truth = np.repeat([0, 1], 20)
    table = epl.search.minimize_all(
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
        "with at least 4 clusters": {"k_min": 4},
        "with 2 to 4 clusters": {"k_min": 2, "k_max": 4},
    }
    for bound, options in words.items():
        best = epl.minimize(z, rng=0, search="greedy", **options)
        assert best.settings.bound == bound
        assert best.settings.search == best.to_dict()["search"] == "greedy"
    assert epl.minimize(z, k_max=1000, rng=0).settings.k_max is None


def test_draws_without_weight_are_no_references():
    rng = np.random.default_rng(0)
    z = np.where(
        rng.random((300, 120)) < 0.4, rng.integers(5, size=(300, 120)), rng.integers(5, size=120)
    )
    few = epl.minimize(z[:5], rng=1)
    best = epl.minimize(epl.Draws(z, weights=(np.arange(300) < 5).astype(float)), rng=1)
    assert best.expected_loss == pytest.approx(few.expected_loss)


def test_another_order_of_summation_is_no_better_partition():
    """Of a million terms two sums may differ in the eleventh digit, which was searched for without an end."""
    z = np.random.default_rng(1).integers(3, size=(30, 20))
    found = [epl.minimize(z, name, rng=1) for name in ("vi", "binder")]
    found = [replace(one, expected_loss=one.expected_loss * (1 + 1e-11)) for one in found]
    again = comparison._compared(epl.Draws(z), found, np.random.default_rng(1))
    assert again.names == ("vi", "binder")
