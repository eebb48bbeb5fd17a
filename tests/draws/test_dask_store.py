"""Draws on a real Dask cluster of two workers, one of which is lost in the middle."""

import os
import signal
from types import SimpleNamespace

import dask.array
import distributed
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import epluribus as epl
from epluribus._parallel import Stopped, Stopper
from epluribus._progress import Progress
from epluribus.draws import store as dask_store
from epluribus.search import _minimize as entrance
from epluribus.search import large
from epluribus.settings import Settings
from epluribus.uncertainty import credible_ball, error, items

# A lost worker leaves sockets of the others behind, which is what the test is about.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def samples_stay_on_the_workers(monkeypatch):
    monkeypatch.setattr(dask_store, "_SLICE", 1 << 18)


def sample(n=900, n_draws=600):
    rng = np.random.default_rng(0)
    z = np.tile(rng.integers(5, size=n), (n_draws, 1))
    moved = rng.random(z.shape) < 0.2
    z[moved] = rng.integers(5, size=int(moved.sum()))
    z[400] = z[3]  # equal draws in different slices
    return z


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("draws") / "z.zarr"
    labels = xr.DataArray(sample(), dims=("draw", "item"), name="labels").chunk(draw=100)
    labels.to_dataset().to_zarr(path, consolidated=False)
    return xr.open_zarr(path, consolidated=False)["labels"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("draws") / "z.parquet"
    pd.DataFrame(sample(), columns=[f"z[{i}]" for i in range(900)]).to_parquet(path)
    return path


def forms(store, table):
    # An open file cannot go to a worker: what is in it is read here and sent.
    return {"memory": sample(), "dask": store.data, "zarr": store, "parquet": table}


@pytest.mark.parametrize("form", ["memory", "dask", "zarr", "parquet"])
def test_draws_and_what_is_said_about_them(client, store, table, form):
    here, there = epl.Draws(sample()), epl.Draws(forms(store, table)[form], client=client)
    assert len(there.store.parts) > 1
    assert (there.n_distinct, there.store.groups) == (here.n_distinct, here.store.groups)
    for name in ("index", "weights", "n_clusters"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
    np.testing.assert_array_equal(there[7], here[7])
    labels = sample()[0]
    assert epl.expected_loss(labels, there) == pytest.approx(epl.expected_loss(labels, here))
    if form != "zarr":  # what follows is the same wherever the labels came from
        return
    assert credible_ball(labels, there).radius == credible_ball(labels, here).radius
    np.testing.assert_allclose(items(labels, there).support, items(labels, here).support)
    assert str(error(labels, there)) == str(error(labels, here))
    np.testing.assert_array_equal(
        there.store.columns(np.array([500, 2])), here.store.columns(np.array([500, 2]))
    )
    for part in (lambda d: d.thin(50), lambda d: d[::-1], lambda d: d[[5, 5, 440]]):
        np.testing.assert_array_equal(np.asarray(part(there)), np.asarray(part(here)))
        np.testing.assert_array_equal(part(there).weights, part(here).weights)
    np.testing.assert_array_equal(there.to_local().item_major, here.item_major)


def test_all_labels_are_not_brought_together_silently(client):
    with pytest.raises(MemoryError, match="Dask"):
        np.asarray(epl.Draws(sample(), client=client).item_major)


def test_small_samples_are_treated_like_local_ones(client, monkeypatch):
    monkeypatch.undo()
    here, there = epl.Draws(sample()), epl.Draws(sample(), client=client)
    np.testing.assert_array_equal(epl.psm(there), epl.psm(here))
    np.testing.assert_array_equal(there.item_major, here.item_major)


def test_few_items_are_searched_here(client):
    ref = epl.minimize(sample(), rng=1)
    np.testing.assert_array_equal(
        epl.minimize(epl.Draws(sample(), client=client), rng=1).labels, ref.labels
    )


@pytest.mark.parametrize("loss", ["vi", "binder", "nvi"])
def test_very_many_items_are_searched_where_they_are(client, store, loss, monkeypatch):
    monkeypatch.setattr(entrance, "LARGE", 300)
    monkeypatch.setattr(large, "_FEW", 150)
    monkeypatch.setattr(large, "_TASK", 16)
    best = epl.minimize(epl.Draws(store, client=client), loss, rng=1)
    assert best.runs[-1].start == "few items"
    assert best.expected_loss == pytest.approx(epl.expected_loss(best, sample(), loss), rel=1e-12)
    if loss == "nvi":  # in memory these are searched with all items
        assert epl.loss(best, epl.minimize(sample(), loss, rng=1)) < 0.05
    else:
        np.testing.assert_array_equal(best.labels, epl.minimize(sample(), loss, rng=1).labels)


def test_a_worker_lost_in_the_middle_changes_nothing(client, store, monkeypatch):
    monkeypatch.setattr(entrance, "LARGE", 300)
    monkeypatch.setattr(large, "_FEW", 150)
    ref = epl.minimize(sample(), rng=1)
    assert ref.runs[-1].start == "few items"
    draws = epl.Draws(store, client=client)
    [victim, *_] = client.run(os.getpid).values()
    look, looks = large.LargeRefiner._look, []

    def fatal(self, *args, **named):
        looks.append(1)
        if len(looks) == 2:  # the slices have been read and used once
            os.kill(victim, signal.SIGKILL)
        return look(self, *args, **named)

    monkeypatch.setattr(large.LargeRefiner, "_look", fatal)
    np.testing.assert_array_equal(epl.minimize(draws, rng=1).labels, ref.labels)
    assert len(looks) >= 2


def test_where_workers_do_not_find_the_data(client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    xr.Dataset({"labels": (("draw", "item"), sample())}).to_zarr("z.zarr", consolidated=False)
    # Workers began in another folder: relative paths are made absolute.
    assert epl.Draws("z.zarr", client=client).n_distinct == epl.Draws(sample()).n_distinct
    array = dask.array.from_zarr(tmp_path / "z.zarr", component="labels")
    (tmp_path / "z.zarr").rename(tmp_path / "elsewhere.zarr")
    with pytest.warns(UserWarning, match="one cluster, in 600 draws.* find the data"):
        epl.Draws(array, client=client)


def test_what_fails_on_a_worker_is_told_with_its_cause(client):
    def broken(_):
        raise ZeroDivisionError("broken chunk")

    array = dask.array.from_array(sample(), chunks=(100, -1)).map_blocks(broken, dtype=int)
    with pytest.raises(
        RuntimeError, match=r"cluster at tcp.* failed, ZeroDivisionError: broken chunk"
    ):
        epl.Draws(array, client=client)
    with pytest.raises(ValueError, match=r"must hold labels .*, which is not an integer"):
        epl.Draws(sample() + 0.5, client=client)


@pytest.mark.parametrize("kind", [float, object])
def test_missing_labels_are_refused(client, kind):
    z = sample(30).astype(kind)
    z[3, 3] = np.nan if kind is float else None
    with pytest.raises(ValueError, match="'client' must be None for draws with missing labels"):
        epl.Draws(z, client=client)


def test_modes_of_draws_on_a_cluster(client):
    here, there = epl.Draws(sample()), epl.Draws(sample(), client=client)
    np.testing.assert_array_equal(epl.modes(there, rng=1).labels, epl.modes(here, rng=1).labels)


class Cluster:
    """A cluster that has lost its workers; after some time the stopper is told to end the work."""

    scheduler = SimpleNamespace(address="tcp://127.0.0.1:8786")

    def __init__(self, stopper=None):
        self.stopper, self.asked = stopper, 0

    def scheduler_info(self):
        self.asked += 1
        if self.stopper is not None and self.asked == 3:
            self.stopper.interrupt()
        return {"workers": {}}


def test_without_workers_it_does_not_wait_forever(monkeypatch):
    def never(_, timeout):
        raise TimeoutError(timeout)

    monkeypatch.setattr(distributed, "wait", never)
    monkeypatch.setattr(dask_store, "_ALONE", 0.0)
    with pytest.raises(RuntimeError, match="has had no workers"):
        dask_store.results(Cluster(), [])
    # Ctrl-C is heard meanwhile.
    monkeypatch.setattr(dask_store, "_ALONE", np.inf)
    stopper = Stopper()
    with pytest.raises(Stopped):
        dask_store.results(Cluster(stopper), [], stopper)


def test_passes_end_early_though_workers_are_quick(client):
    draws, settings = epl.Draws(sample(), client=client), Settings()
    rng = np.random.default_rng(0)
    bar = Progress(False, 0, "minimize vi", settings.stopper)
    refiner = large.LargeRefiner(draws, epl.losses.vi(), rng, settings, bar)
    now = refiner._count(sample()[0])
    settings.stopper.interrupt()
    with pytest.raises(Stopped):
        refiner._look(now, may_open=True)
    with pytest.raises(Stopped):
        refiner._count(now.labels)


def test_time_is_up_before_a_draw_came(client, monkeypatch):
    monkeypatch.setattr(entrance, "LARGE", 300)
    draws = epl.Draws(sample(), client=client)

    def ended(*_):
        raise Stopped

    monkeypatch.setattr(dask_store, "results", ended)
    with pytest.raises(TimeoutError, match="'time_limit' was over before"):
        epl.minimize(draws, rng=1, time_limit=60)


def test_a_client_that_was_closed(client):
    with distributed.Client(client.scheduler.address) as other:
        draws = epl.Draws(sample(), client=other)
    with pytest.raises(ValueError, match="'client' must be connected.* read the draws with it"):
        epl.expected_loss(np.zeros(900, int), draws)
    with pytest.raises(ValueError, match="'client' must be connected"):
        epl.Draws(sample(), client=other)
