"""Ctrl-C in the midst of threads is raised again: half the work gives no result."""

import _thread
import signal
import threading

import numpy as np
import pytest

import epluribus as epl
from epluribus import _parallel
from epluribus.draws.expected import draw_losses
from epluribus.losses.values import loss_values

pytestmark = pytest.mark.usefixtures("hears_ctrl_c")


@pytest.fixture(scope="module")
def draws():
    return epl.Draws(np.random.default_rng(0).integers(0, 4, (40, 60)))


@pytest.mark.parametrize(
    "work",
    [
        lambda d: epl.uncertainty.items(d[0], d),
        lambda d: epl.uncertainty.clusters(d[0], d),
        lambda d: epl.psm(d),
        lambda d: epl.psm(d, sparse=True),
        lambda d: epl.modes(d, rng=1),
        lambda d: epl.certificate(d[0], d, loss="vi"),
        lambda d: epl.certificate(d[0], d, loss="binder"),
        lambda d: epl.uncertainty.error(d[0], epl.Draws(d, chains=np.arange(40) // 20)),
    ],
    ids=["items", "clusters", "psm", "sparse", "modes", "vi", "binder", "error"],
)
def test_interrupt_while_threads_work_is_raised(work, draws, monkeypatch):
    """The sign: the calling thread begins to wait for its workers. Then Ctrl-C is pressed, once."""
    wait = _parallel.wait

    def pressed(*args, **options):
        monkeypatch.setattr(_parallel, "wait", wait)
        signal.raise_signal(signal.SIGINT)
        return wait(*args, **options)

    monkeypatch.setattr(_parallel, "wait", pressed)
    with pytest.raises(KeyboardInterrupt):
        work(draws)
    assert _parallel.wait is wait


def test_interrupt_while_the_solver_works_is_raised(monkeypatch):
    """The sign: the solver is called. It would go on forever, and is left to itself."""
    import scipy.optimize

    z = np.random.default_rng(0).integers(2, size=(7, 20))
    ended = threading.Event()

    def solver(*_args, **_options):
        _thread.interrupt_main()
        ended.wait()

    monkeypatch.setattr(scipy.optimize, "linprog", solver)
    with pytest.raises(KeyboardInterrupt):
        epl.certificate(z[0], z, loss="binder", time_limit=None)
    ended.set()


def test_losses_in_parts_are_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    sample = epl.Draws(rng.integers(0, 6, (50, 20)), weights=rng.random(50))
    labels = epl.minimize(sample, rng=1).labels
    whole = {n: epl.uncertainty.items(labels, sample, loss=n) for n in ("vi", "nid")}
    clusters = epl.uncertainty.clusters(labels, sample)
    monkeypatch.setattr(_parallel, "_STEPS", 1)
    for name, table in whole.items():
        loss = epl.losses.get(name)
        np.testing.assert_array_equal(
            draw_losses(labels, sample, loss), loss_values(labels, sample.item_major, loss)
        )
        again = epl.uncertainty.items(labels, sample, loss=name)
        np.testing.assert_array_equal(again.support, table.support)
        np.testing.assert_array_equal(again.contribution, table.contribution)
    again = epl.uncertainty.clusters(labels, sample)
    np.testing.assert_array_equal(again.stability, clusters.stability)
