"""Draws on a real Dask cluster of two workers, one of which is lost in the middle."""

import os
import signal

import numpy as np
import pytest

import epluribus as epl
from epluribus.engine import dask_passes
from epluribus.search import _minimize as entrance
from epluribus.search import large
from epluribus.uncertainty import credible_ball, error, items

distributed = pytest.importorskip("distributed")
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


def sample(n=900, n_draws=600):
    rng = np.random.default_rng(0)
    z = np.tile(rng.integers(5, size=n), (n_draws, 1))
    moved = rng.random(z.shape) < 0.2
    z[moved] = rng.integers(5, size=int(moved.sum()))
    z[400] = z[3]  # equal draws in different slices
    return z


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    zarr = pytest.importorskip("zarr")
    path = tmp_path_factory.mktemp("draws") / "z.zarr"
    array = zarr.create_array(path, shape=(600, 900), chunks=(100, 900), dtype=np.int64)
    array[:] = sample()
    return array


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    pandas = pytest.importorskip("pandas")
    path = tmp_path_factory.mktemp("draws") / "z.parquet"
    pandas.DataFrame(sample(), columns=[f"z[{i}]" for i in range(900)]).to_parquet(path)
    return path


def forms(store, table):
    import dask.array

    # An open file cannot go to a worker: what is in it is read here and sent.
    return {
        "memory": sample(),
        "dask": dask.array.from_zarr(store),
        "zarr": store,
        "parquet": table,
    }


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
    if form not in ("memory", "zarr"):  # what follows is the same wherever the labels came from
        return
    assert credible_ball(labels, there).radius == credible_ball(labels, here).radius
    np.testing.assert_allclose(items(labels, there).support, items(labels, here).support)
    assert str(error(labels, there)) == str(error(labels, here))
    np.testing.assert_array_equal(
        there.store.columns(np.array([500, 2])), here.store.columns(np.array([500, 2]))
    )
    np.testing.assert_array_equal(np.asarray(there.thin(50)), np.asarray(here.thin(50)))


def test_all_labels_are_not_brought_together_silently(client):
    with pytest.raises(MemoryError, match="Dask"):
        np.asarray(epl.Draws(sample(), client=client).item_major)


def test_few_items_are_searched_here(client):
    ref = epl.minimize(sample(), rng=1)
    np.testing.assert_array_equal(epl.minimize(sample(), rng=1, client=client).labels, ref.labels)


def test_a_worker_lost_in_the_middle_changes_nothing(client, store, monkeypatch):
    monkeypatch.setattr(entrance, "LARGE", 300)
    monkeypatch.setattr(large, "_FEW", 150)
    ref = epl.minimize(sample(), rng=1)
    assert ref.runs[-1].start == "few items"
    draws = epl.Draws(store, client=client)
    [victim, *_] = client.run(os.getpid).values()
    look, looks = dask_passes.DaskPasses.look, []

    def fatal(self, *args):
        looks.append(1)
        if len(looks) == 2:  # the slices have been read and used once
            os.kill(victim, signal.SIGKILL)
        return look(self, *args)

    monkeypatch.setattr(dask_passes.DaskPasses, "look", fatal)
    np.testing.assert_array_equal(epl.minimize(draws, rng=1).labels, ref.labels)
    assert len(looks) >= 2


def test_what_is_no_client():
    with pytest.raises(TypeError, match="'client' must be"):
        epl.Draws(sample(), client="localhost:8786")
