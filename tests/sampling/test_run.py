"""Running chains: reproducible, resumable, stoppable, and clear about what went wrong."""

import _thread
import copy
import math

import numpy as np
import pandas as pd
import pytest
from numba import njit
from scipy.special import gammaln

from epluribus._kernels.states import PREDICT, REMOVE, SIZE
from epluribus.draws import Draws
from epluribus.models import (
    CustomModel,
    GaussianMixture,
    LatentBlockModel,
    Model,
    PoissonBlockModel,
    PoissonMixture,
    StochasticBlockModel,
)
from epluribus.models.base import make_state
from epluribus.sampling import Allocation, Gibbs, SplitMerge, run, sample
from epluribus.sampling.chain import read_checkpoint
from sampler_cases import PRIORS, make_model


def philox():
    return np.random.Generator(np.random.Philox(3))


MODELS = {
    "gaussian": GaussianMixture(np.r_[np.linspace(0, 2, 12), np.linspace(8, 9, 8)]),
    "sbm": StochasticBlockModel(
        [(i, j) for i in range(12) for j in range(i) if (i * j) % 5 == 1 or i - j == 1], n_nodes=14
    ),
    "directed sbm": StochasticBlockModel(
        [(i, j) for i in range(9) for j in range(9) if i != j and (2 * i + j) % 4 == 0],
        directed=True,
        n_nodes=9,
    ),
    "corrected": PoissonBlockModel(
        [(i, j, 1 + i % 3) for i in range(12) for j in range(i) if (i + j) % 4 == 1],
        degree_corrected=True,
    ),
    "lbm": LatentBlockModel([[(i * j) % 3 == 1 for j in range(7)] for i in range(15)]),
    "full": make_model("full", PRIORS["uniform"][0], 6)[0],
    "gaps": make_model("gaps", PRIORS["uniform"][0], 6)[0],
    "categories": make_model("categories", PRIORS["uniform"][0], 6)[0],
    "counts": make_model("counts", PRIORS["uniform"][0], 6)[0],
    "custom": CustomModel(lambda z: -float(z.sum()), 5),
}


def same(a, b):
    assert np.array_equal(np.asarray(a.draws), np.asarray(b.draws))
    assert np.array_equal(a.draws.chains, b.draws.chains)
    assert np.array_equal(a.log_posterior, b.log_posterior)  # bit for bit
    assert np.array_equal(a.n_clusters, b.n_clusters)
    assert np.array_equal(a.map_labels, b.map_labels)
    assert a.acceptance == b.acceptance
    if a.column_draws is not None:
        assert np.array_equal(np.asarray(a.column_draws), np.asarray(b.column_draws))
    return True


@pytest.mark.parametrize("name", MODELS)
def test_every_model_goes_through_every_move(name):
    model = MODELS[name]
    for moves in ("default", "appendix", [SplitMerge(2), Allocation(2)]):
        trace = sample(model, n_draws=30, moves=moves, rng=1, n_chains=3)
        assert trace.log_posterior.shape == trace.n_clusters.shape == (3, 30)
        assert trace.draws.n_chains == 3
        assert len(trace.draws) == 90
        assert np.array_equal(trace.draws.n_clusters, trace.n_clusters.ravel())
        assert all(0 <= rate <= 1 for rate in trace.acceptance.values())
        labels = [trace.map_labels]
        if name == "lbm":
            labels.append(trace.column_map_labels)
            assert trace.column_draws.n_items == 7
            assert np.array_equal(trace.column_draws.n_clusters, trace.column_n_clusters.ravel())
        np.testing.assert_allclose(model.log_posterior(*labels), trace.map_log_posterior)
        assert trace.map_log_posterior >= trace.log_posterior.max() - 1e-8


@pytest.mark.parametrize("name", MODELS)
def test_one_rng_gives_one_answer_for_any_number_of_threads(name):
    n_draws, burn = (20, 10) if name == "custom" else (60, 2000)  # plain Python is slow
    options = {"n_draws": n_draws, "burn": burn, "n_chains": 3}
    runs = [sample(MODELS[name], rng=7, n_jobs=k, **options) for k in (1, 2, 3)]
    assert same(runs[0], runs[1])
    assert same(runs[0], runs[2])
    other = sample(MODELS[name], rng=8, **options)
    assert not np.array_equal(other.log_posterior, runs[0].log_posterior)


def test_any_bit_generator_works_and_is_saved(tmp_path):
    run = {"burn": 2500, "checkpoint": tmp_path / "a.npz"}
    whole = sample(MODELS["gaussian"], n_draws=60, burn=2500, rng=philox())
    sample(MODELS["gaussian"], n_draws=20, rng=philox(), **run)
    assert same(whole, sample(MODELS["gaussian"], n_draws=60, rng=philox(), **run))


@pytest.mark.parametrize("name", MODELS)
def test_a_longer_run_continues_a_shorter_one_bit_for_bit(name, tmp_path):
    model, path = MODELS[name], tmp_path / "run.npz"
    options = {"burn": 333, "thin": 17, "rng": 5, "n_chains": 2}
    n_draws = 60 if name == "custom" else 9000  # past two refreshes of the running sums
    whole = sample(model, n_draws=n_draws, **options)
    sample(model, n_draws=n_draws // 3, checkpoint=path, **options)
    assert same(whole, sample(model, n_draws=n_draws, checkpoint=path, **options))


@pytest.mark.parametrize("name", ["gaussian", "lbm"])
def test_an_interrupted_run_keeps_its_draws_and_goes_on_bit_for_bit(name, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "_SAVE_EVERY", 1e-3)
    model, path = MODELS[name], tmp_path / "run.npz"
    options = {"n_draws": 20_000, "burn": 500, "thin": 40, "n_chains": 3, "rng": 9, "n_jobs": 2}
    whole = sample(model, **options)

    def look(done, total, info):
        """Interrupt once a checkpoint shows that every chain has kept some draws."""
        if path.exists() and all(snapshot["n_kept"] for snapshot in read_checkpoint(path)[2]):
            raise KeyboardInterrupt

    part = sample(model, checkpoint=path, progress=look, **options)
    assert part.interrupted
    assert "interrupted" in repr(part)
    assert "interrupted" in str(part)
    assert 0 < part.n_draws < 20_000
    assert np.array_equal(part.log_posterior, whole.log_posterior[:, : part.n_draws])
    resumed = sample(model, checkpoint=path, **options)
    assert not resumed.interrupted
    assert same(whole, resumed)
    assert not list(tmp_path.glob(".*"))


def test_a_run_of_default_length_goes_on_until_chains_agree(tmp_path):
    short = sample(MODELS["gaussian"], rng=1)
    assert (short.n_draws, short.settings["extensions"]) == (1000, 0)
    assert "extended" not in str(short)
    # Two far groups: with Gibbs updates alone, the chain from one cluster hardly ever splits them.
    near, far = (
        GaussianMixture(np.repeat([0.0, 60.0], n), tau=0.001, prior="paper") for n in (15, 80)
    )
    options = {"moves": [Gibbs()], "rng": 1}
    longer = sample(near, **options)
    assert (longer.settings["thin"], longer.settings["burn"]) == (2 * 30, 1100 * 30)
    assert "1 time, until the chains agreed" in str(longer)
    stuck = sample(far, checkpoint=tmp_path / "run.npz", **options)
    assert (stuck.n_draws, stuck.settings["extensions"]) == (1000, 3)
    assert (stuck.settings["thin"], stuck.settings["burn"]) == (8 * 160, 7100 * 160)
    assert "3 times, until the limit was reached" in str(stuck)
    assert same(stuck, sample(far, checkpoint=tmp_path / "run.npz", **options))
    exact = sample(far, n_draws=1000, **options)
    assert (exact.settings["extensions"], exact.settings["thin"]) == (0, 160)
    assert sample(far, n_chains=1, **options).settings["extensions"] == 0


def test_an_interrupted_extension_leaves_the_draws_before_it():
    far = GaussianMixture(np.repeat([0.0, 60.0], 1000), tau=0.001, prior="paper")

    def look(done, total, info):
        if total > 2 * 1100 * 2000:
            raise KeyboardInterrupt

    trace = sample(far, moves=[Gibbs()], rng=1, progress=look)
    assert trace.interrupted
    assert (trace.n_draws, trace.settings["extensions"]) == (1000, 0)


@pytest.mark.usefixtures("hears_ctrl_c")
def test_a_signal_from_outside_ends_the_run():
    calls = []

    def signal_at_the_hundredth(labels):
        calls.append(1)
        if len(calls) == 100:
            _thread.interrupt_main()
        return 0.0

    model = CustomModel(signal_at_the_hundredth, 4)
    trace = sample(model, n_draws=10**6, burn=0, thin=1, n_chains=1, rng=1)
    assert trace.interrupted
    assert 0 < trace.n_draws < 10**6


def test_an_interrupt_before_the_first_draw_is_passed_on_and_saved(tmp_path):
    model, path = MODELS["gaussian"], tmp_path / "run.npz"

    def look(done, total, info):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="before the first draw"):
        sample(model, n_draws=5, burn=10**12, rng=1, progress=look, checkpoint=path)
    header, settings, snapshots = read_checkpoint(path)
    assert header["burn"] == settings.burn == 10**12
    assert any(snapshot["arrays"]["clock"][0] > 0 for snapshot in snapshots)


def test_progress_is_called_and_never_ends_a_run(capsys):
    calls = []
    sample(MODELS["gaussian"], n_draws=10, rng=1, progress=lambda *args: calls.append(args))
    done, total, info = calls[-1]
    assert done == total == 2 * (100 * 40 + 10 * 40)
    assert set(info) == {"gibbs", "split", "merge"}

    def broken(done, total, info):
        raise RuntimeError("no")

    with pytest.warns(UserWarning, match="'progress' failed and is off now"):
        sample(MODELS["gaussian"], n_draws=10, rng=1, progress=broken)
    sample(MODELS["gaussian"], n_draws=10, rng=1, progress=True)
    assert capsys.readouterr().err == ""  # not a terminal


def test_starts():
    model = MODELS["gaussian"]
    first = {"n_draws": 1, "burn": 0, "thin": 1, "rng": 3, "moves": [SplitMerge(1)], "n_chains": 3}
    k = sample(model, **first).n_clusters[:, 0]
    assert k[0] in (1, 2)
    assert k[1] >= 19
    labels = np.arange(20) % 4
    same_start = sample(model, start=labels, **first)
    for one in (labels[None], labels[:, None], Draws([labels])):
        assert same(same_start, sample(model, start=one, **first))
    both = sample(MODELS["lbm"], start=(np.arange(15) % 2, np.zeros(7, int)), n_draws=2, rng=1)
    assert both.n_draws == 2


def test_defaults_are_a_cycle_apart():
    trace = sample(MODELS["sbm"], n_draws=5, rng=1)
    assert trace.settings["thin"] == 14 + 14
    assert trace.settings["burn"] == 100 * 28
    trace = sample(MODELS["lbm"], n_draws=2000, rng=1)
    assert trace.settings["thin"] == 15 + 15 + 7 + 7
    assert trace.settings["burn"] == 200 * 44
    many = PoissonMixture(np.zeros(20_000, dtype=int), k_max=2)
    assert sample(many, thin=1, burn=0, rng=1).n_draws == 250


def test_trace_goes_to_text_files_and_xarray(tmp_path):
    trace = sample(MODELS["lbm"], n_draws=25, rng=1)
    text = str(trace)
    for part in ("2 chains of 25 draws", "of columns", "accepted", "best seen", "R-hat"):
        assert part in text
    assert repr(trace) == "Trace(n_chains=2, n_draws=25, n_items=15)"
    data = trace.to_xarray()
    assert data["labels"].dims == ("chain", "draw", "item")
    assert data["labels"].shape == (2, 25, 15)
    assert data["column_labels"].shape == (2, 25, 7)
    assert np.array_equal(data["log_posterior"], trace.log_posterior)
    trace.save(tmp_path / "draws.npz")
    with np.load(tmp_path / "draws.npz") as file:
        assert np.array_equal(file["labels"].reshape(50, 15), np.asarray(trace.draws))
        assert np.array_equal(file["map_labels"], trace.map_labels)
        assert file["column_labels"].shape == (2, 25, 7)


def test_names_stay_with_the_draws(tmp_path):
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = networkx.Graph([("c", "a"), ("a", "b")])
    trace = sample(StochasticBlockModel(graph), n_draws=20, rng=1)
    assert trace.draws.items == ("c", "a", "b")
    trace.save(tmp_path / "draws.npz")
    assert Draws(tmp_path / "draws.npz").items == ("c", "a", "b")
    frame = pd.DataFrame(np.eye(4, 3, dtype=int), index=[*"abcd"], columns=[*"xyz"])
    both = sample(LatentBlockModel(frame), n_draws=20, rng=1)
    both.save(tmp_path / "both.npz")
    assert Draws(tmp_path / "both.npz").items == tuple("abcd")
    with np.load(tmp_path / "both.npz") as file:
        assert file["column_items"].tolist() == [*"xyz"]


def test_chains_that_disagree_are_named():
    far = GaussianMixture(np.r_[np.zeros(15), np.full(15, 60.0)], tau=0.001, prior="paper")
    stuck = sample(far, n_draws=100, burn=0, thin=1, moves=[Gibbs()], rng=1)
    with pytest.warns(UserWarning, match=r"The chains disagree\. .*do not report the answer"):
        report = stuck.diagnostics()
    assert not report.ok
    assert "differ by" in " ".join(report.problems)
    good = sample(MODELS["gaussian"], n_draws=2000, rng=1).diagnostics()
    assert good.ok
    assert max(good.rhat.values()) < 1.01
    few = sample(MODELS["gaussian"], n_draws=40, rng=1, n_chains=1)
    with pytest.warns(UserWarning, match="worth only .* independent ones"):
        few.diagnostics()
    assert np.isnan(few.diagnostics(warn=False).agreement.difference)


def test_a_chain_that_is_off_is_named_and_the_best_one_can_be_continued():
    far = GaussianMixture(np.r_[np.zeros(15), np.full(15, 60.0)], prior="paper", tau=0.001)
    options = {"n_draws": 100, "burn": 0, "thin": 1, "moves": [Gibbs()], "rng": 1}
    stuck = sample(far, **options)
    text = " ".join(stuck.diagnostics(warn=False).problems)
    better, worse = np.argsort(-stuck.log_posterior[:, 50:].mean(axis=1))
    assert f"Chain {worse} (counted from 0) is off: its log posterior is " in text
    assert f"below that of chain {better}" in text
    assert "start=trace" in text
    again = sample(far, start=stuck, **options)
    assert again.settings["start"].startswith(
        f"all chains from the last draw of chain {better} (counted from 0) of"
    )
    assert "does not show that they have found the posterior" in str(again)
    first = np.asarray(stuck.draws)[better * 100 + 99]
    assert np.ptp(again.log_posterior[:, 0]) < 50
    assert first.max() + 1 == pytest.approx(again.n_clusters[:, 0].mean(), abs=1.5)
    both = sample(MODELS["lbm"], n_draws=5, rng=1)
    assert sample(MODELS["lbm"], n_draws=5, start=both, rng=1).n_draws == 5
    assert sample(far, **options).settings["start"] == "dispersed"


def test_bad_checkpoints(tmp_path):
    model, path = MODELS["gaussian"], tmp_path / "run.npz"
    again = {"n_draws": 10, "thin": 3, "rng": 1, "checkpoint": path}
    sample(model, **again)
    with pytest.raises(ValueError, match="made with other values of 'model'"):
        sample(GaussianMixture(np.arange(20.0)), **again)
    for name, value in {"thin": 4, "moves": "appendix", "rng": 2, "n_chains": 3, "burn": 5}.items():
        with pytest.raises(ValueError, match=rf"made with other values of '{name}'\. Repeat"):
            sample(model, **(again | {name: value}))
    with pytest.raises(ValueError, match="'n_draws' must be at least 10; got 5"):
        sample(model, **(again | {"n_draws": 5}))
    path.write_text("hello")
    with pytest.raises(ValueError, match="could not be read as a checkpoint"):
        sample(model, **again)


def test_an_error_in_a_thread_is_raised():
    calls = []

    def breaks_later(labels):
        calls.append(1)
        if len(calls) > 50:
            raise ZeroDivisionError("in the model")
        return 0.0

    with pytest.raises(ZeroDivisionError, match="in the model"):
        sample(CustomModel(breaks_later, 4), n_draws=100, rng=1)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "custom"])
def test_compiled_and_plain_python_make_the_same_draws(name):
    model = MODELS[name]
    moves = [Gibbs(), SplitMerge(3), Allocation(3)]
    compiled = sample(model, n_draws=15, thin=20, burn=0, moves=moves, rng=4)
    plain = copy.copy(model)
    plain.compiled = False
    python = sample(plain, n_draws=15, thin=20, burn=0, moves=moves, rng=4)
    assert np.array_equal(np.asarray(compiled.draws), np.asarray(python.draws))
    np.testing.assert_allclose(compiled.log_posterior, python.log_posterior, atol=1e-9)


@njit
def answer_counts(what, i, g, m):
    """Poisson counts with rates from Gamma(a, b): the contract of `epluribus._kernels.likelihood`."""
    n, s, before = m.own[SIZE, g], m.stat[g, 0], m.stat[g, 1]
    n, s = (n, s - m.x[i, 0]) if what == REMOVE else (n + 1, s + m.x[i, 0])
    a, b = m.hyper[0], m.hyper[1]
    after = 0.0
    if n > 0:
        after = a * math.log(b) - math.lgamma(a) + math.lgamma(a + s) - (a + s) * math.log(b + n)
    if what != PREDICT:
        m.stat[g, 0], m.stat[g, 1] = s, after
    return before - after if what == REMOVE else after - before


class Counts(Model):
    """A model of a user: the function above and what it needs."""

    def __init__(self, y, a, b):
        self.y, self.a, self.b = np.asarray(y, dtype=float), a, b
        self.twin = PoissonMixture(y, shape=a, rate=b, prior=PRIORS["uniform"][0])
        self.sides = self.twin.sides

    def states(self, partitions):
        shape = (partitions[0].slots, 2)
        hyper = [self.a, self.b]
        return (make_state(partitions[0], answer_counts, shape, x=self.y[:, None], hyper=hyper),)

    def _log_likelihood(self, *labels):
        return self.twin._log_likelihood(*labels) + float(gammaln(self.y + 1).sum())


def test_a_compiled_model_of_a_user_goes_through_every_move():
    model = Counts([0, 1, 0, 2, 30, 35, 28], 1.2, 0.8)
    options = {"n_draws": 40, "thin": 15, "burn": 0, "rng": 1}
    options["moves"] = [Gibbs(), SplitMerge(2, scans=2), Allocation(3)]
    compiled = sample(model, **options)
    model.compiled = False
    assert np.array_equal(np.asarray(compiled.draws), np.asarray(sample(model, **options).draws))
    fresh = [model.log_posterior(z) for z in np.asarray(compiled.draws)]
    np.testing.assert_allclose(compiled.log_posterior.ravel(), fresh, atol=1e-8)
