"""Ctrl-C in the midst of threads is raised again: half the work gives no result."""

import _thread
import signal
import threading

import numpy as np
import pytest

import epluribus as epl
from epluribus import _parallel

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
