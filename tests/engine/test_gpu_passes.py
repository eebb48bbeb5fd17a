"""Passes on a GPU: the logic by its twin in NumPy everywhere, the compiled functions where there is a GPU."""

import numpy as np
import pytest

import epluribus as epl
from epluribus import losses
from epluribus._parallel import Stopped, Stopper
from epluribus.draws.store import LocalStore, Slice
from epluribus.engine import Engine
from epluribus.engine.gpu_passes import CupyDevice, GpuPasses
from epluribus.engine.passes import Frozen, LocalPasses
from numpy_device import NumpyDevice


def has_gpu():
    try:
        CupyDevice()
    except (ImportError, RuntimeError):
        return False
    return True


DEVICES = [
    pytest.param(NumpyDevice, id="numpy"),
    pytest.param(
        CupyDevice, id="gpu", marks=pytest.mark.skipif(not has_gpu(), reason="no GPU here")
    ),
]


def case(k=9, n=400, seed=0, dtype=np.uint8):
    rng = np.random.default_rng(seed)
    table = rng.integers(k, size=(n, 150)).astype(dtype)
    labels = rng.integers(k - 1, size=n)
    labels[3] = k - 1  # alone
    return LocalStore(
        [Slice(0, table[:, :128].copy()), Slice(128, table[:, 128:].copy())], k
    ), labels


@pytest.mark.parametrize("make", DEVICES)
@pytest.mark.parametrize("loss", ["vi", "binder", "nvi"])
@pytest.mark.parametrize(("k", "dtype"), [(9, np.uint8), (70, np.uint16)])
@pytest.mark.parametrize("placed", [True, False])
def test_a_device_finds_what_threads_find(make, loss, k, dtype, placed):
    store, labels = case(k, dtype=dtype)
    engine = Engine(store.rows(np.arange(400)), np.ones(150), losses.get(loss), "tables")
    frozen = Frozen.of(engine, engine.start(labels))
    if not placed:
        labels = np.where(np.arange(400) < 100, -1, labels)
    ref = LocalPasses(store, 1, Stopper(), lambda _: None)
    comp = GpuPasses(store, make(), Stopper())
    np.testing.assert_array_equal(comp.count(labels, k), ref.count(labels, k))
    looked, expected = comp.look(labels, frozen), ref.look(labels, frozen)
    np.testing.assert_allclose(looked.gap, expected.gap, atol=frozen.margin)
    clear = np.abs(expected.gap) > frozen.margin
    assert (looked.target == expected.target)[clear].mean() > 0.99


@pytest.mark.parametrize("make", DEVICES)
def test_where_no_cluster_may_be_opened(make):
    store, labels = case()
    engine = Engine(store.rows(np.arange(400)), np.ones(150), losses.get("binder"), "tables")
    frozen = Frozen.of(engine, engine.start(labels), closed=True)
    ref = LocalPasses(store, 1, Stopper(), lambda _: None)
    comp = GpuPasses(store, make(), Stopper())
    looked, expected = comp.look(labels, frozen), ref.look(labels, frozen)
    np.testing.assert_allclose(looked.gap, expected.gap, atol=frozen.margin)
    assert looked.target.max() < 9
    assert expected.target.max() < 9
    costs = engine.costs(engine.start(labels), np.arange(400))[:, :9]
    others = np.where(np.arange(9) == labels[:, None], np.inf, costs).min(axis=1)
    np.testing.assert_allclose(
        expected.gap, others - costs[np.arange(400), labels], atol=frozen.margin
    )


def test_what_does_not_fit_the_device_follows_range_by_range():
    store, labels = case()
    engine = Engine(store.rows(np.arange(400)), np.ones(150), losses.get("vi"), "tables")
    frozen = Frozen.of(engine, engine.start(labels))
    shares = []
    small = GpuPasses(store, NumpyDevice(free=20_000), Stopper(), shares.append)
    large = GpuPasses(store, NumpyDevice(), Stopper())
    np.testing.assert_array_equal(small.count(labels, 9), large.count(labels, 9))
    assert sum(shares) == pytest.approx(1.0)
    np.testing.assert_allclose(
        small.look(labels, frozen).gap, large.look(labels, frozen).gap, rtol=1e-12
    )
    assert sum(shares) == pytest.approx(2.0)
    assert len(shares) > 4


def test_a_stopped_pass_ends():
    store, labels = case()
    stopper = Stopper()
    stopper.interrupt()
    with pytest.raises(Stopped):
        GpuPasses(store, NumpyDevice(), stopper).count(labels, 9)


@pytest.mark.skipif(has_gpu(), reason="there is a GPU here")
def test_without_a_gpu_the_error_says_what_to_do():
    with pytest.raises((ImportError, RuntimeError), match=r"epluribus\[gpu\]|Leave 'engine' out"):
        epl.minimize([[0, 0, 1], [0, 1, 1]], engine="gpu")
    with pytest.raises(ValueError, match="'engine' must be"):
        epl.minimize([[0, 0, 1], [0, 1, 1]], engine="tpu")
