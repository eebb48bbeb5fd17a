"""Ctrl-C in the midst of threads is raised again: no result of half the work."""

import _thread
import threading

import numpy as np
import pytest

import epluribus as epl
from epluribus.losses.values import loss_values
from epluribus.uncertainty import _run


@pytest.fixture(scope="module")
def draws():
    return epl.Draws(np.random.default_rng(0).integers(0, 40, (1500, 1500)))


@pytest.mark.parametrize(
    "work",
    [
        lambda d: epl.uncertainty.items(np.arange(d.n_items), d, n_jobs=1),
        lambda d: epl.uncertainty.clusters(np.arange(d.n_items), d, n_jobs=1),
        lambda d: [epl.psm(d, n_jobs=1) for _ in range(50)],
        lambda d: epl.modes(d, rng=1),
        lambda d: epl.certificate(np.zeros(d.n_items, int), d, time_limit=60, n_jobs=1),
        lambda d: epl.certificate(
            np.zeros(300, int), epl.Draws(d.distinct[:7, :300] % 3), loss="binder"
        ),
    ],
    ids=["items", "clusters", "psm", "modes", "certificate", "programme"],
)
def test_interrupt_is_raised(work, draws):
    timer = threading.Timer(0.4, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work(draws)
    finally:
        timer.cancel()


def test_losses_in_parts_are_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    sample = epl.Draws(rng.integers(0, 6, (50, 20)), weights=rng.random(50))
    labels = epl.minimize(sample, rng=1).labels
    whole = {n: epl.uncertainty.items(labels, sample, loss=n) for n in ("vi", "nid")}
    clusters = epl.uncertainty.clusters(labels, sample)
    monkeypatch.setattr(_run, "_STEPS", 1)
    for name, table in whole.items():
        loss = epl.losses.get(name)
        np.testing.assert_array_equal(
            _run.draw_losses(labels, sample, loss), loss_values(labels, sample, loss)
        )
        again = epl.uncertainty.items(labels, sample, loss=name)
        np.testing.assert_array_equal(again.support, table.support)
        np.testing.assert_array_equal(again.contribution, table.contribution)
    again = epl.uncertainty.clusters(labels, sample)
    np.testing.assert_array_equal(again.stability, clusters.stability)
